//! Checks whether the kernel accepts a name for an interface.

/// The kernel's IFNAMSIZ without the terminating zero.
const LONGEST: usize = 15;

/// Checks whether an interface can have this name.
///
/// # Errors
/// If the kernel would not give any interface such a name.
pub fn check_interface_name(name: &str) -> Result<(), InterfaceNameError> {
    if name.is_empty() {
        return Err(InterfaceNameError::Empty);
    }
    if name == "." || name == ".." {
        return Err(InterfaceNameError::Dots);
    }
    if let Some((parent, _)) = name.split_once(':') {
        return Err(InterfaceNameError::Alias { parent: parent.into() });
    }
    if let Some(character) = name.chars().find(|c| *c == '/' || c.is_whitespace() || c.is_control()) {
        return Err(InterfaceNameError::Character { character });
    }
    // The kernel would allow both, but the operator means several interfaces. filterd would wait for one that
    // never appears.
    if name.contains(',') {
        let names = name.split(',').filter(|name| !name.is_empty()).map(str::to_owned);
        return Err(InterfaceNameError::Several { names: names.collect() });
    }
    if name.contains(['*', '?', '[', ']']) || name.ends_with('+') {
        return Err(InterfaceNameError::Pattern);
    }
    if name.len() > LONGEST {
        return Err(InterfaceNameError::TooLong);
    }
    Ok(())
}

impl InterfaceNameError {
    /// The name that was probably meant, or advice.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Alias { parent } => format!("did you mean {parent}?"),
            Self::Character { character } if character.is_whitespace() => {
                "write one name for each item, as in [eth0, eth1]".into()
            }
            Self::Several { names } => format!("write [{}]", names.join(", ")),
            Self::Pattern => "write each name: `ip link` shows them".into(),
            Self::Empty | Self::Dots | Self::TooLong | Self::Character { .. } => {
                "see all names: ip link".into()
            }
        }
    }
}

/// The reason why no interface can have such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceNameError {
    /// There is no name.
    #[error("the name of an interface is empty")]
    Empty,
    /// The name stands for a folder.
    #[error("no interface has the name . or ..")]
    Dots,
    /// The label of an address, which is not an interface itself.
    #[error("names with a colon are labels of addresses, not interfaces")]
    Alias {
        /// The interface that has the address.
        parent: String,
    },
    /// A character that no name can contain.
    #[error("the name of an interface cannot have {character:?}")]
    Character {
        /// The first such character.
        character: char,
    },
    /// Several names separated by commas.
    #[error("these are several names: write each as its own item")]
    Several {
        /// The names, one by one.
        names: Vec<String>,
    },
    /// A pattern of shells or firewalls, which stands for many names.
    #[error("the name of an interface is not a pattern: * ? [ ] and a final + are not supported")]
    Pattern,
    /// The name is too long.
    #[error("the name of an interface has at most {LONGEST} bytes")]
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_kernel_gives_are_taken() {
        for name in ["eth0", "enp0s31f6", "wg-home", "a+b", "br.100", "büro", "veth0123456789a"] {
            assert_eq!(check_interface_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_it_refuses_are_refused() {
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "a b",
            "eth0\n",
            "eth0:1",
            "a\u{a0}b",
            "veth0123456789ab",
            "büroübersicht12",
            "eth0,eth1",
            "eth0,",
            "eth*",
            "eth?",
            "eth[01]",
            "ppp+",
        ] {
            assert!(check_interface_name(name).is_err(), "{name}");
        }
    }
}
