//! What a link's pin is called: as its interface, but for dots (`eth0.100`), which a BPF file system takes in no name. They
//! are written as colons, which no interface has. (Here, since those who pin and those who find what is left both ask.)

use std::path::Path;

use super::check_interface_name;

/// The name of the pin of this interface's link.
pub fn of(interface: &str) -> String {
    interface.replace('.', ":")
}

/// The interface whose link is pinned there; none if filterd would not have called it so.
pub fn interface(pin: &Path) -> Option<String> {
    spelled(pin.file_name()?.to_str()?)
}

/// The interface whose pin has this name.
pub fn spelled(name: &str) -> Option<String> {
    Some(name.replace(':', "."))
        .filter(|interface| of(interface) == name && check_interface_name(interface).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_dots_comes_back_as_it_was() {
        for interface in ["eth0", "eth0.100", "a.b.c", "br-1"] {
            assert!(!of(interface).contains('.'));
            assert_eq!(spelled(&of(interface)).as_deref(), Some(interface));
        }
        for other in ["", ":", "::", "eth0.100", "eth0 1"] {
            assert_eq!(spelled(other), None, "{other:?}");
        }
    }
}
