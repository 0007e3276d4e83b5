//! Circles: modules that cannot be understood one after the other, because each names the other, or names one that does.
//!
//! Looked for among siblings: the rooms of the daemon, and in each room its files and smaller rooms, each with all that is in
//! it. A module and what lies in it are one thing here: a parent tells what its children are, and they take its types.

use std::collections::{BTreeMap, BTreeSet};

use super::house::House;
use super::source::{File, Name};

const PACKAGE: &str = "filter-daemon/src/";

type Module = Vec<String>;

/// Of two siblings the first names the second, here.
type Edges = BTreeMap<(String, String), String>;

/// One line for each circle that is not listed, and for each listed one that is not there or has no reason.
pub fn complaints(files: &[File], house: &House) -> Vec<String> {
    let files: Vec<_> = files.iter().filter(|file| file.path.starts_with(PACKAGE)).collect();
    let edges = Modules::of(&files).edges();
    let found = circles(&edges);
    let listed = |circle: &BTreeSet<String>| house.circles.iter().any(|other| other.modules == *circle);
    let unlisted = found.iter().filter(|circle| !listed(circle)).map(|circle| told(circle, &edges));
    let idle = house.circles.iter().filter(|circle| !found.contains(&circle.modules));
    let idle = idle.map(|circle| format!("ARCHITECTURE.md: there is no circle {}", names(&circle.modules)));
    let unreasoned = house.circles.iter().filter(|circle| !circle.has_reason);
    let unreasoned = unreasoned
        .map(|circle| format!("ARCHITECTURE.md: the circle {} has no reason", names(&circle.modules)));
    unlisted.chain(idle).chain(unreasoned).collect()
}

fn names(modules: &BTreeSet<String>) -> String {
    modules.iter().map(|module| format!("`{module}`")).collect::<Vec<_>>().join(", ")
}

/// With an import for each step, so that one sees where to cut it.
fn told(circle: &BTreeSet<String>, edges: &Edges) -> String {
    let within = edges.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to));
    let steps: Vec<_> = within.map(|((from, to), place)| format!("\n    {from} → {to}: {place}")).collect();
    format!("circle {}{}", names(circle), steps.concat())
}

/// The modules that have files, and what they pass on under names of their own.
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
                let to = self.home(&name.path[1..]);
                if let Some(edge) = siblings(from, &to) {
                    edges.entry(edge).or_insert_with(|| place(file, name));
                }
            }
        }
        edges
    }

    /// The module in which what a path names is at home: through the parents that pass it on.
    fn home(&self, path: &[String]) -> Module {
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

/// Where two modules part: the two that are siblings. None where one lies in the other.
fn siblings(from: &Module, to: &Module) -> Option<(String, String)> {
    let common = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let up_to = |module: &Module| (module.len() > common).then(|| module[..=common].join("::"));
    Some((up_to(from)?, up_to(to)?))
}

/// Those sets of modules in which each leads to each other.
fn circles(edges: &Edges) -> BTreeSet<BTreeSet<String>> {
    let modules: BTreeSet<_> = edges.keys().map(|(from, _)| from).collect();
    let reached: BTreeMap<_, _> =
        modules.into_iter().map(|module| (module, reached(module, edges))).collect();
    let leads = |from: &String, to: &String| reached.get(from).is_some_and(|modules| modules.contains(to));
    let circle = |module: &&String| -> BTreeSet<String> {
        reached[*module].iter().filter(|other| leads(other, module)).cloned().collect()
    };
    let circles = reached.keys().map(circle);
    circles.filter(|circle| circle.len() > 1).collect()
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
        circles(&Modules::of(&files).edges()).iter().map(|circle| names(circle).replace('`', "")).collect()
    }

    #[test]
    fn rooms_that_name_each_other_are_a_circle_through_whichever_files() {
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
    fn a_longer_way_round_is_a_circle() {
        let files = [("a.rs", "use crate::b;"), ("b.rs", "use crate::c;"), ("c.rs", "use crate::a;")];
        assert_eq!(found(&files), ["a, b, c"]);
    }

    #[test]
    fn a_parent_and_its_children_are_none() {
        let files =
            [("a/mod.rs", "mod x; pub use x::X; fn f() { crate::a::x::g() }"), ("a/x.rs", "use super::Y;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn what_the_parent_passes_on_is_the_childs() {
        let files = [
            ("a/mod.rs", "mod x; mod y; pub use x::X; pub use y::{Y, Z};"),
            ("a/x.rs", "use super::Y;"),
            ("a/y.rs", "use super::X;"),
        ];
        assert_eq!(found(&files), ["a::x, a::y"]);
    }

    #[test]
    fn tests_are_none() {
        let files = [("a.rs", "mod tests { use crate::b; }"), ("b.rs", "use crate::a;")];
        assert!(found(&files).is_empty());
    }

    #[test]
    fn a_circle_is_listed_with_its_reason_or_told() {
        let files = ["a", "b"].map(|name| {
            let other = if name == "a" { "b" } else { "a" };
            source::parse(format!("{PACKAGE}{name}.rs"), &format!("use crate::{other};")).unwrap()
        });
        let told = |list: &str| complaints(&files, &House::read(&format!("### Who may import whom\n{list}")));
        assert!(told("- circle `a`, `b`: halves of one thing\n").is_empty());
        let steps = "circle `a`, `b`\n    a → b: filter-daemon/src/a.rs:1 names crate::b\n    b → a: filter-daemon/src/b.rs:1 names crate::a";
        assert_eq!(told(""), [steps]);
        assert_eq!(told("- circle `a`, `b`\n"), ["ARCHITECTURE.md: the circle `a`, `b` has no reason"]);
        let idle = told("- circle `a`, `b`: so\n- circle `c`, `d`: so\n");
        assert_eq!(idle, ["ARCHITECTURE.md: there is no circle `c`, `d`"]);
    }
}
