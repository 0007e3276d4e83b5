//! Decides whether additions go to the tables that packets read now, independently of plans.

use filter_common::levels::LONGEST_TOLD;
use filter_common::target::Target;

use super::SourceSet;
use crate::blocklist::Targets;
use crate::kernel::networks::is_network;
use crate::kernel::spec::SetSpec;

impl SourceSet {
    /// True if packets judged by `published` would see these targets once they are added.
    pub fn sees(&self, targets: &Targets, published: &SetSpec) -> bool {
        let sees_addresses = targets.addresses.is_empty() || self.sees_addresses(published);
        let sees_nets64 =
            targets.nets64.is_empty() || self.sees_six(published) && published.lengths.contains(&64);
        sees_addresses && sees_nets64 && targets.others.iter().all(|target| self.sees_one(*target, published))
    }

    fn sees_one(&self, target: Target, published: &SetSpec) -> bool {
        match target {
            Target::V4(prefix) if is_network(prefix) => {
                published.networks.is_some() && published.networks == self.networks.spec()
            }
            Target::V4(_) => self.sees_addresses(published),
            Target::V6(prefix) => {
                let is_told = prefix.length() <= LONGEST_TOLD;
                self.sees_six(published) && (is_told || published.lengths.contains(&prefix.length()))
            }
        }
    }

    fn sees_addresses(&self, published: &SetSpec) -> bool {
        published.addresses.is_some() && published.addresses.as_ref() == self.addresses.store.kind()
    }

    fn sees_six(&self, published: &SetSpec) -> bool {
        published.levels.is_some()
            && published.levels == self.levels.spec()
            && published.six.as_ref() == self.six.store.kind()
    }
}
