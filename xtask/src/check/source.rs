//! The Rust files of the work tree as tokens: the paths they name, and whether they say `unsafe`.
//!
//! Comments and strings are no tokens, so they cannot mislead; what macros are given is seen like everything else.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What modules of tests are called.
const TESTS: &str = "tests";

/// A source file.
#[derive(Debug)]
pub struct File {
    /// From the top of the work tree, with `/`.
    pub path: String,
    pub names: Vec<Name>,
    /// The line of the first `unsafe`.
    pub is_unsafe: Option<usize>,
}

/// A path that a file names, without what `use` renames it to.
#[derive(Debug, PartialEq, Eq)]
pub struct Name {
    pub line: usize,
    /// From the root of its crate, which is then called `crate`, or of another one.
    pub path: Vec<String>,
    /// Named by a test.
    pub is_test: bool,
}

/// All Rust files of the work tree.
pub fn files(root: &Path) -> Result<Vec<File>> {
    let read = |path: String| {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        parse(path, &text)
    };
    paths(root, "rs")?.into_iter().map(read).collect()
}

/// The paths of all files of the work tree with this extension, from its root, sorted.
pub fn paths(root: &Path, extension: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    gather(root, extension, &mut paths)?;
    let inside = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let mut paths: Vec<_> = paths.iter().map(inside).collect();
    paths.sort();
    Ok(paths)
}

fn gather(directory: &Path, extension: &str, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            gather(&path, extension, paths)?;
        } else if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    Ok(())
}

/// Reads `text` as the file at `path`.
pub fn parse(path: String, text: &str) -> Result<File> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{path} is no Rust: {error}"))?;
    let module = module(&path);
    let is_test = module.iter().any(|name| name == TESTS);
    let mut reader = Reader { module, is_test, names: Vec::new(), is_unsafe: None };
    reader.read(tokens);
    Ok(File { path, names: reader.names, is_unsafe: reader.is_unsafe })
}

/// `filter-daemon/src/kernel/link.rs` is the module `kernel::link` of its crate.
fn module(path: &str) -> Vec<String> {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
    let mut module: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    module.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
    module
}

struct Reader {
    /// Where we are, for `self` and `super`.
    module: Vec<String>,
    is_test: bool,
    names: Vec<Name>,
    is_unsafe: Option<usize>,
}

type Tokens = std::iter::Peekable<proc_macro2::token_stream::IntoIter>;

impl Reader {
    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(word) => self.word(&word.to_string(), word.span().start().line, &mut tokens),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    fn word(&mut self, word: &str, line: usize, tokens: &mut Tokens) {
        match word {
            "unsafe" => self.is_unsafe = self.is_unsafe.or(Some(line)),
            "mod" => self.inline_module(tokens),
            "use" => self.tree(&[], tokens),
            _ => self.path(vec![word.to_owned()], line, tokens),
        }
    }

    /// `mod name { … }`: `super` means another module in there.
    fn inline_module(&mut self, tokens: &mut Tokens) {
        let Some(name) = tokens.next() else { return };
        if let Some(TokenTree::Group(group)) = tokens.peek() {
            let inside = group.stream();
            tokens.next();
            let outside = self.is_test;
            self.is_test |= name.to_string() == TESTS;
            self.module.push(name.to_string());
            self.read(inside);
            self.module.pop();
            self.is_test = outside;
        }
    }

    /// What follows `use`, or stands in the braces of one, up to its end.
    fn tree(&mut self, prefix: &[String], tokens: &mut Tokens) {
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => drop(tokens.next()),
                TokenTree::Ident(word) => {
                    let path = [prefix, &[word.to_string()]].concat();
                    self.path(path, word.span().start().line, tokens);
                }
                TokenTree::Group(group) => self.tree(prefix, &mut group.stream().into_iter().peekable()),
                TokenTree::Punct(mark) if mark.as_char() == ';' => return,
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// The rest of a path whose beginning is `path`.
    fn path(&mut self, mut path: Vec<String>, line: usize, tokens: &mut Tokens) {
        while skip_colons(tokens) {
            match tokens.peek() {
                Some(TokenTree::Ident(word)) => {
                    path.push(word.to_string());
                    tokens.next();
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    let inside = group.stream();
                    tokens.next();
                    return self.tree(&path, &mut inside.into_iter().peekable());
                }
                _ => break,
            }
        }
        self.names.push(Name { line, path: self.rooted(path), is_test: self.is_test });
    }

    fn rooted(&self, path: Vec<String>) -> Vec<String> {
        let ups = path.iter().skip_while(|word| *word == "self").take_while(|word| *word == "super").count();
        let relative = path.iter().take_while(|word| ["self", "super"].contains(&word.as_str())).count();
        if relative == 0 {
            return path;
        }
        let kept = self.module.len().saturating_sub(ups);
        let inside = self.module[..kept].iter().chain(&path[relative..]).cloned();
        ["crate".to_owned()].into_iter().chain(inside).collect()
    }
}

fn skip_colons(tokens: &mut Tokens) -> bool {
    let mut ahead = tokens.clone();
    let mut is_colon = || matches!(ahead.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
    let found = is_colon() && is_colon();
    if found {
        tokens.next();
        tokens.next();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let file = parse("filter-daemon/src/kernel/link.rs".to_owned(), text).unwrap();
        file.names.iter().map(|name| name.path.join("::")).filter(|path| path.contains("::")).collect()
    }

    #[test]
    fn a_use_is_read_whole() {
        let text = "use aya::{programs::{Xdp, links::Link as L}, self};\nuse crate::blocklist::Effect;";
        let expected =
            ["aya::programs::Xdp", "aya::programs::links::Link", "aya::self", "crate::blocklist::Effect"];
        assert_eq!(names(text), expected);
    }

    #[test]
    fn path_inside_a_macro_is_seen() {
        assert_eq!(names("fn f() { println!(\"{}\", crate::daemon::name()) }"), ["crate::daemon::name"]);
    }

    #[test]
    fn comments_and_strings_are_not() {
        assert!(names("//! use aya::Ebpf;\n/* aya::Ebpf */ const S: &str = \"aya::Ebpf\";").is_empty());
    }

    #[test]
    fn super_means_the_module_above() {
        assert_eq!(names("use super::pins;"), ["crate::kernel::pins"]);
        assert_eq!(names("use super::super::daemon;"), ["crate::daemon"]);
        assert_eq!(
            names("mod tests { use super::*; use super::super::pins; }"),
            ["crate::kernel::link", "crate::kernel::pins"]
        );
    }

    #[test]
    fn unsafe_is_a_word_of_its_own() {
        let first = |text: &str| parse("a.rs".to_owned(), text).unwrap().is_unsafe;
        assert_eq!(first("#![forbid(unsafe_code)] // unsafe"), None);
        assert_eq!(first("fn f() {\n    unsafe { g() }\n}"), Some(2));
    }
}
