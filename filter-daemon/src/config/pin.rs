//! The name of a link's pin: the name of its interface with dots (`eth0.100`) replaced. The BPF file system
//! allows no dots in names, so they become colons, which no interface name has. The code that pins and the
//! code that finds earlier pins share this module.

use std::path::Path;

use super::check_interface_name;

/// The name of the pin for this interface's link.
pub fn of(interface: &str) -> String {
    interface.replace('.', ":")
}

/// The interface whose link is pinned at this path. None if filterd would not use this name.
pub fn interface(pin: &Path) -> Option<String> {
    spelled(pin.file_name()?.to_str()?)
}

/// The interface whose pin has this name. None if filterd would not use this name.
pub fn spelled(name: &str) -> Option<String> {
    Some(name.replace(':', "."))
        .filter(|interface| of(interface) == name && check_interface_name(interface).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_name_survives_the_round_trip() {
        for interface in ["eth0", "eth0.100", "a.b.c", "br-1"] {
            assert!(!of(interface).contains('.'));
            assert_eq!(spelled(&of(interface)).as_deref(), Some(interface));
        }
        for other in ["", ":", "::", "eth0.100", "eth0 1"] {
            assert_eq!(spelled(other), None, "{other:?}");
        }
    }
}
