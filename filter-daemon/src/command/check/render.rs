//! Formats the findings of `check` as text.

use super::list::{CheckedList, RejectionEffect};
use super::{CheckOutput, counted};
use crate::text::printable;

/// Formats the configuration in one line, and each of its lists in another.
pub fn render(checked: &CheckOutput) -> String {
    let interfaces = match &checked.interfaces[..] {
        [] => "no interface (filterd starts or reloads with it only where `--iface` names one)".to_owned(),
        names => names.join(", "),
    };
    let drops = if checked.enforce { "" } else { ", only counting (`enforce: false`)" };
    let allowed = match checked.allow {
        0 => String::new(),
        some => format!(", allow: {}", counted(some as u64, "target")),
    };
    let mut text = format!(
        "{} is {}: {interfaces}, mode {}{drops}, block: {}{allowed}, {}\n",
        printable::path(&checked.file),
        verdict(&checked.lists),
        checked.mode,
        counted(checked.block as u64, "target"),
        counted(checked.lists.len() as u64, "list"),
    );
    for list in &checked.lists {
        let allowed = if list.allows { " allowed" } else { "" };
        let (found, path) = (found(list), printable::path(&list.path));
        let ports = list.ports.as_ref().map(|ports| format!(" {ports}")).unwrap_or_default();
        let form = if ["", "plain"].contains(&list.format.as_str()) {
            String::new()
        } else {
            format!(", read as {}", list.format)
        };
        text.push_str(&format!("  {}: {found}{allowed}{ports}{form} ({path})\n", list.name));
        if !list.left_out.is_empty() {
            text.push_str(&format!("    not read: {}\n", list.left_out.join(", ")));
        }
    }
    for lapi in &checked.crowdsec {
        let ports = lapi.ports.as_deref().unwrap_or("on all ports");
        text.push_str(&format!(
            "  crowdsec {}: its decisions would block {ports} ({})\n",
            lapi.name, lapi.url
        ));
    }
    text
}

fn verdict(lists: &[CheckedList]) -> String {
    let told = [
        RejectionEffect::Refused,
        RejectionEffect::NotLoaded,
        RejectionEffect::InPart,
        RejectionEffect::HeldBack,
    ]
    .into_iter()
    .filter_map(|fate| {
        let lists = lists.iter().filter(|list| list.would_be == Some(fate)).count() as u64;
        let lists = (lists > 0).then(|| counted(lists, "list"))?;
        Some(match fate {
            RejectionEffect::Refused => format!("filterd would not start for {lists}"),
            RejectionEffect::NotLoaded => format!("{lists} would not be loaded"),
            RejectionEffect::InPart => format!("{lists} would be only partly in force"),
            RejectionEffect::HeldBack => format!("{lists} would not be updated"),
        })
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() { "valid".to_owned() } else { format!("valid, but {}", told.join(", ")) }
}

fn found(list: &CheckedList) -> String {
    let targets = counted(list.targets as u64, "target");
    match (list.would_be, list.rejected) {
        (Some(RejectionEffect::Refused), _) => "MAY NOT BE READ".to_owned(),
        (Some(RejectionEffect::NotLoaded), _) => "WOULD NOT BE LOADED".to_owned(),
        (Some(RejectionEffect::InPart), _) => format!("WOULD BE {targets} ONLY"),
        (Some(RejectionEffect::HeldBack), _) => "WOULD NOT BE UPDATED".to_owned(),
        (None, 0) => format!("{targets}{}", special(list)),
        (None, lines) => format!("{targets}, {} not understood{}", counted(lines, "line"), special(list)),
    }
}

/// Describes ranges that would cut a host off from its own network.
fn special(list: &CheckedList) -> String {
    match list.special {
        0 => String::new(),
        count => format!(
            ", {} left out (private, loopback …; see `include_special`)",
            counted(count, "special range")
        ),
    }
}
