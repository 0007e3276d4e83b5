//! Recognises entries that somebody allows, not blocks: a table says so in a column of its own.

/// Words that say so if a field has nothing else.
const WORDS: [&str; 12] = [
    "allow",
    "allowed",
    "allowlist",
    "accept",
    "accepted",
    "permit",
    "permitted",
    "whitelist",
    "whitelisted",
    "trust",
    "trusted",
    "exempt",
];

/// Keys of JSON objects whose value may say so.
pub const KEYS: [&str; 8] =
    ["action", "verdict", "policy", "decision", "disposition", "type", "list", "mode"];

/// Names of columns and keys whose value says whether a row allows: 1, yes or true.
const SWITCHES: [&str; 7] =
    ["allow", "allowed", "allowlisted", "whitelist", "whitelisted", "trusted", "exempt"];

/// Is this the name of such a column or key?
pub fn is_switch(name: &[u8]) -> bool {
    SWITCHES.iter().any(|switch| name.eq_ignore_ascii_case(switch.as_bytes()))
}

/// Is the switch on?
pub fn is_on(value: &[u8]) -> bool {
    ["1", "yes", "y", "true", "on"].iter().any(|on| value.eq_ignore_ascii_case(on.as_bytes()))
}

/// Can the value of this key say so?
pub fn is_key(name: &str) -> bool {
    KEYS.iter().any(|key| name.eq_ignore_ascii_case(key))
}

/// Does this field say that its row allows?
pub fn says_so(field: &[u8]) -> bool {
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}

/// How the name of a set ends that filterd exports from a list that allows, before its family. No list's name has a dot.
pub const EXPORTED: &str = ".allow";

/// Does this name belong to such a set?
pub fn is_exported_set(name: &[u8]) -> bool {
    let base = name.strip_suffix(b"_4").or_else(|| name.strip_suffix(b"_6"));
    base.is_some_and(|base| base.ends_with(EXPORTED.as_bytes()))
}
