//! Records which lists of the previous configuration are gone or renamed on trial. Their copies stay for the
//! rollback. A start within the trial ignores the copies of removed lists, and uses those of renamed lists
//! under their new names.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::matching::KnownList;
use crate::control::wire::reload::Renamed;

/// Maps lists of the previous configuration that changed to their names on trial, or to none if they are not
/// part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartedLists(BTreeMap<Arc<str>, Option<Arc<str>>>);

impl PartedLists {
    /// As a reload finds it: `gone` lists and `renamed` lists.
    pub fn by_reload(gone: &[String], renamed: &[Renamed]) -> Self {
        let gone = gone.iter().map(|name| (name.as_str().into(), None));
        let renamed = renamed.iter().map(|list| (list.from.as_str().into(), Some(list.to.as_str().into())));
        Self(gone.chain(renamed).collect())
    }

    /// Updates this after a start within the trial read its configuration. `goes_on` returns a list's name in
    /// it. `before` are all lists of the previous configuration.
    pub fn by_start<'a>(
        &self,
        before: impl Iterator<Item = &'a Arc<str>>,
        goes_on: impl Fn(&str) -> Option<Arc<str>>,
    ) -> Self {
        let now = |name: &'a Arc<str>| (name, self.name_of(name).and_then(|tried| goes_on(tried)));
        let others = before.map(now).filter(|(name, now)| now.as_ref() != Some(*name));
        Self(others.map(|(name, now)| (name.clone(), now)).collect())
    }

    /// Renames the record of a previous list to its name on trial. Returns none if the list is not part of
    /// it.
    pub fn on_trial(&self, before: KnownList) -> Option<KnownList> {
        let name = self.name_of(&before.name)?.clone();
        Some(KnownList { name, ..before })
    }

    fn name_of<'a>(&'a self, before: &'a Arc<str>) -> Option<&'a Arc<str>> {
        self.0.get(before).map_or(Some(before), Option::as_ref)
    }

    /// The text form: one line for each list.
    pub fn lines(&self) -> String {
        let line = |(name, now): (&Arc<str>, &Option<Arc<str>>)| match now {
            Some(now) => format!("renamed {name} {now}\n"),
            None => format!("gone {name}\n"),
        };
        self.0.iter().map(line).collect()
    }

    /// Reads the text form. Unknown lines, which a newer filterd may write, are ignored.
    pub fn read(lines: &str) -> Self {
        let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
            ["gone", name] => Some((name.into(), None)),
            ["renamed", name, now] => Some((name.into(), Some(now.into()))),
            _ => None,
        };
        Self(lines.lines().filter_map(line).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parted() -> PartedLists {
        let renamed = Renamed { from: "drop".into(), to: "spamhaus".into() };
        PartedLists::by_reload(&["friends".into()], &[renamed])
    }

    #[test]
    fn parted_lists_round_trip() {
        assert_eq!(parted().lines(), "renamed drop spamhaus\ngone friends\n");
        assert_eq!(PartedLists::read(&parted().lines()), parted());
        assert_eq!(PartedLists::read("gone friends\nsold drop\nrenamed drop spamhaus"), parted());
        assert_eq!(PartedLists::read(""), PartedLists::default());
    }

    #[test]
    fn list_removed_on_trial_stays_removed_after_starts() {
        let before: Vec<Arc<str>> = ["drop", "friends", "ssh"].map(Into::into).into();
        let goes_on = |name: &str| (name != "ssh").then(|| name.into());
        let after = parted().by_start(before.iter(), goes_on);
        assert_eq!(after.lines(), "renamed drop spamhaus\ngone friends\ngone ssh\n");
        let called_as_before = |_: &str| Some("drop".into());
        let after = parted().by_start(before[..2].iter(), called_as_before);
        assert_eq!(after.lines(), "gone friends\n");
    }
}
