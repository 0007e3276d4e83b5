//! What the operator means: a configuration and the files that it names.

use std::collections::BTreeMap;

use super::prefix::Prefix;
use super::reference::{Reference, Wanted};

/// The list of the configuration's own `block`.
pub const CONFIG: &str = "config";

/// The list of its own `allow`.
pub const CONFIG_ALLOW: &str = "config-allow";

/// What is in a file; nothing if there is none.
type Content = Option<Vec<Prefix>>;

/// The configuration as it is meant to be, and the files as they are.
#[derive(Clone, Debug)]
pub struct Plan {
    pub enforce: bool,
    pub keep: bool,
    pub block: Vec<Prefix>,
    pub allow: Vec<Prefix>,
    /// Name and file of each list.
    pub lists: Vec<(String, String)>,
    pub files: BTreeMap<String, Content>,
}

impl Plan {
    /// Nothing is blocked, and there are no files.
    pub fn new() -> Self {
        let (block, allow, lists, files) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
        Self { enforce: true, keep: false, block, allow, lists, files }
    }

    /// The configuration file.
    pub fn text(&self) -> String {
        let quoted = |targets: &[Prefix]| -> String {
            let words: Vec<_> = targets.iter().map(|target| format!("\"{target}\"")).collect();
            words.join(", ")
        };
        let lists = self.lists.iter().map(|(name, file)| {
            format!("{{name: {name}, path: $HOME/{file}, include_special: true, include_wide: true, max_shrink: 100%}}")
        });
        let lists: Vec<_> = lists.collect();
        format!(
            "enforce: {}\non_exit: {}\nblock: [{}]\nallow: [{}]\nlists: [{}]\n",
            self.enforce,
            if self.keep { "keep" } else { "detach" },
            quoted(&self.block),
            quoted(&self.allow),
            lists.join(", ")
        )
    }

    /// Does one of its lists have no file?
    pub fn is_incomplete(&self) -> bool {
        self.lists.iter().any(|(_, file)| self.content(file).is_none())
    }

    /// What its lists want when it is read: by a filterd that knows what `before` was, or by a new one.
    /// A list without a file keeps what it had, under its old name, too.
    pub fn read(&self, before: Option<(&Self, &Reference)>) -> BTreeMap<String, Wanted> {
        let kept = |name: &str, file: &str| {
            let (plan, reference) = before?;
            if let Some(kept) = reference.configured.get(name) {
                return Some(kept.clone());
            }
            let is_renamed = |old: &&(String, String)| old.1 == file && !self.has(&old.0);
            let (old, _) = plan.lists.iter().find(is_renamed)?;
            reference.configured.get(old).cloned()
        };
        let own = (CONFIG.to_owned(), Wanted::all(&self.block));
        let lists = self.lists.iter().map(|(name, file)| {
            let wanted = self.content(file).map(|targets| Wanted::all(targets));
            (name.clone(), wanted.or_else(|| kept(name, file)).unwrap_or_default())
        });
        std::iter::once(own).chain(lists).collect()
    }

    /// What its own `allow` allows.
    pub fn allowed(&self) -> Wanted {
        Wanted::all(&self.allow)
    }

    /// Is there a list of this name?
    pub fn has(&self, name: &str) -> bool {
        self.lists.iter().any(|(own, _)| own == name)
    }

    pub fn content(&self, file: &str) -> Option<&Vec<Prefix>> {
        self.files.get(file)?.as_ref()
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}
