//! Decides which targets of an add must not be blocked because this host needs them, and warns of targets
//! that may not be intended.

use crate::blocklist::{Reach, Targets};
use crate::command::render::figure::count;
use crate::control::wire::{self, Changed, Failure, MOST_GUARDED, Needed, words};
use crate::daemon::guard::{GuardView, GuardedTarget};
use crate::source::well_known;
use crate::text::Explanation;

/// The most reasons that are listed.
const MOST_TOLD: usize = 10;

/// The most targets that are looked up among the ranges that many hosts need.
const MOST_LOOKED_UP: usize = Changed::MOST_NAMED_ONE_BY_ONE as usize;

/// Facts about an add beyond its changes.
#[derive(Debug, Default)]
pub struct GuardReport {
    /// How many targets were left out, because all their addresses are guarded.
    pub left_out: u64,
    /// The guarded addresses of these targets.
    pub refused: Vec<GuardedTarget>,
    /// Guarded addresses within blocked targets. They pass.
    pub around: Vec<GuardedTarget>,
    /// Targets that the operator may not have intended.
    pub warnings: Vec<String>,
    /// How many targets belong to services that many hosts need, by the owner of the service.
    pub needed: Vec<Needed>,
}

impl GuardReport {
    /// Removes guarded targets from `targets`, which a list with this reach will block. Fails if nothing else
    /// remains, or if a prefix is too wide.
    pub fn of(
        targets: &mut Targets,
        reach: Reach,
        is_wide: bool,
        guarded: GuardView<'_>,
    ) -> Result<Self, Failure> {
        let remedy = "to block it all the same, pass --wide; addresses this host depends on still pass";
        must_be_meant(targets, is_wide, |why| Explanation::new(why, remedy))?;
        let whole = guarded.guards_all_of(targets);
        let refused = guarded.covered_by(&whole);
        if !whole.is_empty() {
            *targets = targets.iter().filter(|target| !whole.contains(*target)).collect();
            if targets.is_empty() {
                return Err(all_guarded(&refused));
            }
        }
        let around = guarded.covered_by(&reach.all_of(targets));
        let counted = well_known::counted(targets);
        let warnings = warnings(targets, &counted);
        let needed = counted.into_iter().map(|(whose, count)| Needed { whose, count }).collect();
        Ok(Self { left_out: whole.len() as u64, refused, around, warnings, needed })
    }
}

impl From<&GuardedTarget> for wire::Guarded {
    fn from(guarded: &GuardedTarget) -> Self {
        let GuardedTarget { target, address, why } = guarded;
        Self { target: target.to_string(), address: address.to_string(), why: why.to_string() }
    }
}

/// The first guarded addresses in the form of the protocol.
pub fn told(all: &[GuardedTarget]) -> Vec<wire::Guarded> {
    all.iter().take(MOST_GUARDED).map(Into::into).collect()
}

fn all_guarded(refused: &[GuardedTarget]) -> Failure {
    let mut lines: Vec<_> = refused
        .iter()
        .take(MOST_TOLD)
        .map(|one| format!("{} was not blocked: {}", one.address, one.why))
        .collect();
    let more = refused.len().saturating_sub(MOST_TOLD);
    lines.extend((more > 0).then(|| format!("and {} more", count(more as u64))));
    let remedy = "filterd never blocks addresses this host depends on, and no option overrides that\nsee all of them: filterd allow list --list guard";
    Failure::Guarded(Explanation::new(lines.join("\n"), remedy))
}

/// Warnings about servers of lists that an operator blocks.
pub fn of_servers(servers: &[GuardedTarget]) -> impl Iterator<Item = String> + '_ {
    servers.iter().take(MOST_TOLD).map(|GuardedTarget { address, why, .. }| {
        format!("{address} is blocked, although {why}: fetching fails until you remove it")
    })
}

/// Refuses to allow very wide prefixes without `--wide`.
pub fn allows_too_much(targets: &Targets, is_wide: bool) -> Result<(), Failure> {
    must_be_meant(targets, is_wide, |why| {
        Explanation::new(
            format!("{why}: every blocked source in it would pass"),
            "to allow it all the same, pass --wide\nto let everything pass for a while: filterd pause 5m",
        )
    })
}

fn must_be_meant(
    targets: &Targets,
    is_wide: bool,
    explain: impl Fn(String) -> Explanation,
) -> Result<(), Failure> {
    let too_wide = targets.others.iter().find_map(words::too_wide).filter(|_| !is_wide);
    too_wide.map_or(Ok(()), |why| Err(Failure::Refused(explain(why))))
}

/// Warnings about targets that many hosts need: one by one, or as counts if there are many targets.
fn warnings(targets: &Targets, counted: &[(String, u64)]) -> Vec<String> {
    if targets.len() > MOST_LOOKED_UP {
        return well_known::sentence("the targets include", counted.iter().cloned()).into_iter().collect();
    }
    let known = targets.iter().filter_map(|target| {
        let known = well_known::of(target)?;
        let words = known.words();
        Some(match known.is_within(target) {
            true => format!("{target} contains addresses that many hosts need: {words}"),
            false => format!("{target}: {words}"),
        })
    });
    known.take(MOST_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::IpAddr;
    use std::sync::Arc;

    use filter_common::target::Target;

    use super::*;

    fn guarding(words: &[&str], is_wide: bool) -> Result<(Vec<String>, GuardReport), Failure> {
        let all = [("192.0.2.1", "its own"), ("192.0.2.254", "a gateway"), ("2001:db8::1", "its own")];
        let all: BTreeMap<IpAddr, Arc<str>> =
            all.into_iter().map(|(address, why)| (address.parse().unwrap(), why.into())).collect();
        let mut targets: Targets = words.iter().map(|word| word.parse::<Target>().unwrap()).collect();
        let guarding = GuardReport::of(&mut targets, Reach::AS_GIVEN, is_wide, GuardView::of(&all))?;
        Ok((targets.iter().map(|target| target.to_string()).collect(), guarding))
    }

    fn refusal(words: &[&str]) -> String {
        let failure = guarding(words, false).expect_err("it is refused");
        format!("{failure:?}")
    }

    #[test]
    fn guarded_target_is_left_out_or_refused() {
        let (left, told) = guarding(&["192.0.2.1", "203.0.113.7"], false).unwrap();
        assert_eq!(left, ["203.0.113.7"]);
        assert_eq!((told.left_out, told.refused.len(), told.around.len()), (1, 1, 0));
        let told = refusal(&["192.0.2.1", "2001:db8::1"]);
        assert!(told.starts_with("Guarded") && told.contains("192.0.2.1 was not blocked"), "{told}");
        assert!(guarding(&["192.0.2.2"], false).unwrap().1.refused.is_empty());
    }

    #[test]
    fn prefix_is_blocked_around_guarded_addresses() {
        let (left, told) = guarding(&["192.0.2.0/24", "192.0.2.1", "2001:db8::/64"], false).unwrap();
        assert_eq!(left, ["2001:db8::/64", "192.0.2.0/24"]);
        let around: Vec<_> =
            told.around.iter().map(|one| format!("{} {}", one.target, one.address)).collect();
        assert_eq!(
            around,
            ["192.0.2.0/24 192.0.2.1", "192.0.2.0/24 192.0.2.254", "2001:db8::/64 2001:db8::1"]
        );
    }

    #[test]
    fn very_wide_target_needs_the_flag() {
        for wide in ["0.0.0.0/0", "::/0", "10.0.0.0/7", "2000::/15"] {
            assert!(refusal(&["203.0.113.7", wide]).contains(wide), "{wide}");
            assert!(guarding(&[wide], true).is_ok(), "{wide}");
        }
        assert!(guarding(&["10.0.0.0/8", "2001::/16"], false).is_ok());
    }

    #[test]
    fn shared_networks_get_a_warning() {
        let (_, told) = guarding(&["1.1.1.1", "203.0.113.7", "104.16.0.0/12"], false).unwrap();
        assert_eq!(told.warnings.len(), 2, "{:?}", told.warnings);
        assert!(told.warnings[0].contains("Cloudflare"), "{:?}", told.warnings);
    }
}
