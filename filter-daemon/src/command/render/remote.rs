//! How to end what another system has decided.

/// The most targets that a suggested command names.
const MOST: usize = 5;

/// The remedy for entries of a list that follows CrowdSec.
pub fn end_decisions<'a>(targets: impl IntoIterator<Item = &'a str>, list: &str) -> String {
    let mut commands = Vec::new();
    let mut targets = targets.into_iter();
    for target in targets.by_ref().take(MOST) {
        // With --ip, cscli would also delete decisions on ranges around the address.
        commands.push(format!("cscli decisions delete --value {target}"));
    }
    let more = if targets.next().is_some() { " and so on" } else { "" };
    format!("`{}`{more} on the host of CrowdSec, which list `{list}` follows", commands.join("; "))
}
