//! Words of the formats: without them a change at random hardly ever makes anything that means something.

/// Of targets, and of the lines that they stand in.
pub const TARGETS: [&str; 34] = [
    "0.0.0.0", "255.255.255.255", "203.0.113.7", "198.51.100.0/24", "10.0.0.0/8", "0.0.0.0/0", "/0", "/32", "/33", "/128",
    "/129", "/", "-", " - ", "10.0.0.1-10.255.255.254", "::", "::1", "::/0", "2001:db8::/32", "2001:db8:1:2::/64",
    "::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "::ffff:203.0.113.7", "fe80::1%eth0", "01", "\n", "\r\n", " ", "\t", "#",
    ";", ",", "\0", "\u{feff}", "\u{202e}",
];

/// Of the configuration, and of YAML.
pub const CONFIGURATION: [&str; 46] = [
    "interfaces: ", "[eth0]", "mode: ", "auto", "native", "enforce: ", "true", "no", "block: ", "lists: ", "name: ", "path: ",
    "durable: ", "on_exit: ", "keep", "- ", "  ", "\n", "\n  ", ": ", "? ", "{", "}", "[", "]", ", ", "&x ", "*x", "!t ",
    "!!int ", "|\n", ">\n", "---\n", "...\n", "<<: ", "\"", "'", "\\u202e", "~", "#", "fe80::", "10.0.0.1/8", "0x10", "1_0",
    "\u{feff}", "\u{85}",
];

/// Of requests and replies, and of JSON.
pub const WIRE: [&str; 48] = [
    "\"method\":", "\"parameters\":", "\"io.filterd.Add\"", "\"io.filterd.Remove\"", "\"io.filterd.Test\"",
    "\"io.filterd.List\"", "\"io.filterd.Flush\"", "\"io.filterd.Status\"", "\"io.filterd.Reload\"", "\"io.filterd.HandOver\"",
    "\"targets\":", "\"addresses\":", "\"list\":", "\"ttl\":", "\"note\":", "\"after\":", "\"family\":", "\"covering\":",
    "\"continues\":true", "\"error\":", "\"io.filterd.Refused\"", "\"message\":", "\"remedy\":", "\"203.0.113.7\"",
    "\"::/0\"", "\"::1-ffff::\"", "\"manual\"", "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "\\u202e",
    "null", "true", "false", "-0", "1e400", "0.5", "\n", "{}", "[]", "\u{7f}",
];

/// Of the line to the broker.
pub const BROKER: [&str; 38] = [
    "\"Make\":", "\"Discard\":", "\"Prepare\":", "\"Publish\"", "\"Attach\":", "\"Detach\":", "\"Whereabouts\":", "\"Count\"",
    "\"DropPrivileges\"", "\"Rollback\"", "\"Remove\"", "\"map\":", "\"set\":", "\"part\":", "\"Block\"", "\"Addresses\"",
    "\"Networks\"", "\"Six\"", "\"generation\":", "\"words\":", "\"settings\":", "\"maps\":", "\"interface\":", "\"name\":",
    "\"index\":", "\"mode\":", "\"Native\"", "\"Done\"", "\"Attached\":", "\"Counted\":", "\"Ready\":", "\"Failed\":", "{", "}",
    "[", "]", ",", "\"",
];
