//! Recognises entries that are meant to be allowed, not blocked. Tables state this in a separate column.

/// Words that mean "allow" if they are the whole field.
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

/// Keys of JSON objects whose value may mean "allow".
pub const KEYS: [&str; 8] =
    ["action", "verdict", "policy", "decision", "disposition", "type", "list", "mode"];

/// Names of columns and keys that are switches: 1, yes or true means that the row allows.
const SWITCHES: [&str; 7] =
    ["allow", "allowed", "allowlisted", "whitelist", "whitelisted", "trusted", "exempt"];

/// True if this is the name of such a switch.
pub fn is_switch(name: &[u8]) -> bool {
    SWITCHES.iter().any(|switch| name.eq_ignore_ascii_case(switch.as_bytes()))
}

/// True if this value of a switch means yes.
pub fn is_on(value: &[u8]) -> bool {
    ["1", "yes", "y", "true", "on"].iter().any(|on| value.eq_ignore_ascii_case(on.as_bytes()))
}

/// True if the value of this key may mean "allow".
pub fn is_key(name: &str) -> bool {
    KEYS.iter().any(|key| name.eq_ignore_ascii_case(key))
}

/// True if this field says that its row allows.
pub fn says_so(field: &[u8]) -> bool {
    WORDS.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()))
}

/// The end of the names, before the family, of sets that filterd exports from lists that allow. No list name
/// contains a dot.
pub const EXPORTED: &str = ".allow";

/// True if this is the name of such a set.
pub fn is_exported_set(name: &[u8]) -> bool {
    let base = name.strip_suffix(b"_4").or_else(|| name.strip_suffix(b"_6"));
    base.is_some_and(|base| base.ends_with(EXPORTED.as_bytes()))
}
