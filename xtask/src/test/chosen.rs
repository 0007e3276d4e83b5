//! The words after `cargo xtask test`: names of layers, and parts of tests' names.

/// Which tests to run.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Chosen {
    layers: Vec<String>,
    parts: Vec<String>,
}

impl Chosen {
    /// A word that names a layer chooses that layer. Any other word is part of the names of tests.
    pub fn read(words: &[String], layers: &[&str]) -> Self {
        let (layers, parts) = words.iter().cloned().partition(|word| layers.contains(&word.as_str()));
        Self { layers, parts }
    }

    pub fn is_everything(&self) -> bool {
        self.layers.is_empty() && self.parts.is_empty()
    }

    pub fn has_every_layer(&self) -> bool {
        self.layers.is_empty()
    }

    pub fn has_layer(&self, layer: &str) -> bool {
        self.layers.is_empty() || self.layers.iter().any(|chosen| chosen == layer)
    }

    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    pub fn holds(&self, layer: &str, name: &str) -> bool {
        let whole = format!("{layer}::{name}");
        self.has_layer(layer) && (self.parts.is_empty() || self.parts.iter().any(|part| whole.contains(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_choose_layers_and_parts_of_names() {
        for (words, name, is_chosen) in [
            (&[][..], "network::vlan::five", true),
            (&["network"], "network::vlan::five", true),
            (&["network"], "units::net::five", false),
            (&["vlan"], "network::vlan::five", true),
            (&["vlan"], "network::ports::one", false),
            (&["network", "vlan", "ports"], "network::ports::one", true),
            (&["network::vlan"], "network::vlan::five", true),
            (&["units", "vlan"], "network::vlan::five", false),
        ] {
            let words: Vec<_> = words.iter().map(ToString::to_string).collect();
            let chosen = Chosen::read(&words, &["network", "units"]);
            let (layer, test) = name.split_once("::").unwrap();
            assert_eq!(chosen.holds(layer, test), is_chosen, "{words:?} {name}");
        }
    }
}
