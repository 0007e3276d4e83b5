//! Import cycles between sibling modules of the daemon: each imports the other, directly or through others.
//!
//! A module and everything inside it count as one here, because parents name their children and children use their
//! parents' types. So cycles are looked for among the top modules, and inside each module among its direct children.

use std::collections::{BTreeMap, BTreeSet};

use super::rules::{FILE, Rules};
use super::source::{File, Name};

const PACKAGE: &str = "filter-daemon/src/";

type Module = Vec<String>;

/// From each sibling to each sibling that it imports, with the place of the first such import.
type Edges = BTreeMap<(String, String), String>;

/// One line for each cycle that is not listed, and for each listed one that does not exist.
pub fn complaints(files: &[File], rules: &Rules) -> Vec<String> {
    let files: Vec<_> = files.iter().filter(|file| file.path.starts_with(PACKAGE)).collect();
    let edges = Modules::of(&files).edges();
    let found = cycles(&edges);
    let listed = |cycle: &BTreeSet<String>| rules.cycles.iter().any(|other| other.modules == *cycle);
    let unlisted = found.iter().filter(|cycle| !listed(cycle)).map(|cycle| complaint(cycle, &edges));
    let idle = rules.cycles.iter().filter(|cycle| !found.contains(&cycle.modules));
    let idle = idle.map(|cycle| format!("{FILE}: there is no cycle {}", names(&cycle.modules)));
    unlisted.chain(idle).collect()
}

fn names(modules: &BTreeSet<String>) -> String {
    modules.iter().map(|module| format!("`{module}`")).collect::<Vec<_>>().join(", ")
}

/// Names an import for each step, to show where the cycle can be cut.
fn complaint(cycle: &BTreeSet<String>, edges: &Edges) -> String {
    let within = edges.iter().filter(|((from, to), _)| cycle.contains(from) && cycle.contains(to));
    let steps: Vec<_> = within.map(|((from, to), place)| format!("\n    {from} → {to}: {place}")).collect();
    format!("cycle {}{}", names(cycle), steps.concat())
}

/// The modules that have files, and what these re-export.
struct Modules<'a> {
    files: BTreeMap<Module, &'a File>,
}

impl<'a> Modules<'a> {
    fn of(files: &[&'a File]) -> Self {
        let module = |file: &&'a File| {
            let inside = file.path.strip_prefix(PACKAGE).unwrap_or(&file.path).trim_end_matches(".rs");
            let mut module: Module = inside.split('/').map(ToOwned::to_owned).collect();
            module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
            (module, *file)
        };
        Self { files: files.iter().map(module).collect() }
    }

    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (from, file) in &self.files {
            for name in file.names.iter().filter(|name| !name.is_test && name.path[0] == "crate") {
                let to = self.definer(&name.path[1..]);
                if let Some(edge) = siblings(from, &to) {
                    edges.entry(edge).or_insert_with(|| place(file, name));
                }
            }
        }
        edges
    }

    /// The module that defines what a path names, seen through the re-exports of its parents.
    fn definer(&self, path: &[String]) -> Module {
        let lengths = (0..=path.len()).rev();
        let known = lengths.map(|length| &path[..length]).find(|module| self.files.contains_key(*module));
        let module = known.unwrap_or(&[]).to_vec();
        let Some(thing) = path.get(module.len()) else { return module };
        let child = self.child_with(&module, thing);
        child.map_or(module.clone(), |child| [module, vec![child]].concat())
    }

    /// `use child::Thing` in the parent's file says that Thing is the child's.
    fn child_with(&self, parent: &Module, thing: &str) -> Option<String> {
        let names = self.files.get(parent)?.names.iter();
        let relative = names.map(|name| match name.path.split_first() {
            Some((first, rest)) if first == "crate" => rest.strip_prefix(&parent[..]).unwrap_or(&[]),
            _ => &name.path[..],
        });
        let mut passed_on =
            relative.filter(|path| path.len() > 1 && path.last().is_some_and(|last| last == thing));
        let is_child = |child: &&[String]| self.files.contains_key(&[&parent[..], &child[..1]].concat());
        passed_on.find(is_child).map(|path| path[0].clone())
    }
}

fn place(file: &File, name: &Name) -> String {
    format!("{}:{} names {}", file.path, name.line, name.path.join("::"))
}

/// The two siblings that lie above two modules. None where one module lies in the other.
fn siblings(from: &Module, to: &Module) -> Option<(String, String)> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let up_to = |module: &Module| (module.len() > common).then(|| module[..=common].join("::"));
    Some((up_to(from)?, up_to(to)?))
}

/// Those sets of modules in which each leads to each other.
fn cycles(edges: &Edges) -> BTreeSet<BTreeSet<String>> {
    let modules: BTreeSet<_> = edges.keys().map(|(from, _)| from).collect();
    let reached: BTreeMap<_, _> =
        modules.into_iter().map(|module| (module, reached(module, edges))).collect();
    let leads = |from: &String, to: &String| reached.get(from).is_some_and(|modules| modules.contains(to));
    let cycle = |module: &&String| -> BTreeSet<String> {
        reached[*module].iter().filter(|other| leads(other, module)).cloned().collect()
    };
    let cycles = reached.keys().map(cycle);
    cycles.filter(|cycle| cycle.len() > 1).collect()
}

fn reached(from: &String, edges: &Edges) -> BTreeSet<String> {
    let (mut reached, mut waiting) = (BTreeSet::new(), vec![from]);
    while let Some(module) = waiting.pop() {
        let next = edges.keys().filter(|(from, _)| from == module).map(|(_, to)| to);
        waiting.extend(next.filter(|to| reached.insert((*to).clone())));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::source;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| source::parse(format!("{PACKAGE}{path}"), text).unwrap())
            .collect();
        let files: Vec<_> = files.iter().collect();
        cycles(&Modules::of(&files).edges()).iter().map(|cycle| names(cycle).replace('`', "")).collect()
    }

    #[test]
    fn modules_that_import_each_other_are_a_cycle() {
        let files = [
            ("a/x.rs", "use crate::b::Thing;"),
            ("a/mod.rs", ""),
            ("b/mod.rs", ""),
            ("b/y.rs", "use crate::a;"),
        ];
        assert_eq!(found(&files), ["a, b"]);
        assert!(found(&files[..3]).is_empty());
    }

    #[test]
    fn longer_cycles_are_found() {
        let files = [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")];
        assert_eq!(found(&files), ["a, b, c"]);
    }

    #[test]
    fn parents_and_children_are_no_cycle() {
        let files =
            [("a/mod.rs", "mod x; pub use x::X; fn f() { crate::a::x::g() }"), ("a/x.rs", "use super::Y;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn re_exports_count_for_the_defining_child() {
        let files = [
            ("a/mod.rs", "mod x; mod y; pub use x::X; pub use y::{Y, Z};"),
            ("a/x.rs", "use super::Y;"),
            ("a/y.rs", "use super::X;"),
        ];
        assert_eq!(found(&files), ["a::x, a::y"]);
    }

    #[test]
    fn imports_of_tests_do_not_count() {
        let files = [("a.rs", "mod tests { use crate::b; }"), ("b.rs", "use crate::a;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn only_listed_cycles_are_accepted() {
        let files = ["a", "b"].map(|name| {
            let other = if name == "a" { "b" } else { "a" };
            source::parse(format!("{PACKAGE}{name}.rs"), &format!("use crate::{other};")).unwrap()
        });
        let complaints = |list: &str| complaints(&files, &Rules::read(&format!("[cycles]\n{list}")).unwrap());
        assert!(complaints("\"a, b\" = \"halves of one thing\"\n").is_empty());
        let steps = "cycle `a`, `b`\n    a → b: filter-daemon/src/a.rs:1 names crate::b\n    b → a: filter-daemon/src/b.rs:1 names crate::a";
        assert_eq!(complaints(""), [steps]);
        let idle = complaints("\"a, b\" = \"so\"\n\"c, d\" = \"so\"\n");
        assert_eq!(idle, ["xtask/imports.toml: there is no cycle `c`, `d`"]);
    }
}
