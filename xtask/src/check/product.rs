//! The product's Rust files as the lints of names and prose see them: types, functions, doc comments, help texts, messages.
//!
//! Read as tokens, so comments and strings cannot mislead. Code for tests is left out.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};

use super::source;

/// The crates of which the product is made.
const CRATES: [&str; 3] = ["filter-common", "filter-daemon", "filter-ebpf"];

/// Attributes without texts for a user.
const SILENT: [&str; 6] = ["allow", "cfg", "cfg_attr", "derive", "expect", "serde"];

/// Types derived from these show their doc comments as help.
const SHOWN: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];

/// What one file has.
#[derive(Debug, Default)]
pub struct Product {
    /// From the root of the work tree.
    pub path: String,
    /// Names of structs, enums, traits and unions.
    pub types: Vec<Text>,
    pub functions: Vec<Function>,
    /// Whole doc comments of items, as one text each.
    pub docs: Vec<Text>,
    /// Those doc comments that `--help` shows.
    pub help: Vec<Text>,
    /// String literals as the program sees them.
    pub literals: Vec<Text>,
}

/// A text, and the line where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub line: usize,
    pub text: String,
}

/// A function or method.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub line: usize,
    pub name: String,
    pub receiver: Receiver,
    /// Its result is a plain bool.
    pub is_bool: bool,
}

/// How a method takes `self`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// A function without `self`.
    Missing,
    /// `&self`, or `self` of a type that can be copied.
    Shared,
    /// `&mut self` or `mut self`.
    Mutable,
}

/// All files of the product.
pub fn files(root: &Path) -> Result<Vec<Product>> {
    let paths = source::paths(root, "rs")?;
    let read = |path: String| {
        let text = fs::read_to_string(root.join(&path)).with_context(|| format!("cannot read {path}"))?;
        parse(path, &text)
    };
    paths.into_iter().filter(|path| is_product(path)).map(read).collect()
}

fn is_product(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_crate = parts.next().is_some_and(|name| CRATES.contains(&name));
    is_crate && parts.next() == Some("src") && parts.all(|part| part != "tests" && part != "tests.rs")
}

/// Reads `text` as the file at `path`.
pub fn parse(path: String, text: &str) -> Result<Product> {
    let tokens: TokenStream = text.parse().map_err(|error| anyhow!("{path} is not Rust: {error}"))?;
    let mut product = Product { path, ..Product::default() };
    product.read(tokens, false);
    Ok(product)
}

/// The attributes before an item.
#[derive(Debug, Default)]
struct Attributes {
    doc: Option<Text>,
    /// The item is for tests alone.
    is_test: bool,
    /// Its doc comments are help.
    is_help: bool,
}

impl Product {
    /// Reads tokens; `is_help` says whether doc comments among them are shown to users.
    fn read(&mut self, tokens: TokenStream, is_help: bool) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let mut attributes = Attributes::default();
            at = self.attributes(&tokens, at, &mut attributes);
            if attributes.is_test {
                at = end_of_item(&tokens, at);
                continue;
            }
            let is_help = is_help || attributes.is_help;
            self.note_doc(attributes.doc, is_help);
            at = if attributes.is_help { self.item(&tokens, at) } else { self.token(&tokens, at, is_help) };
        }
    }

    /// Reads the attributes from `at` on and returns where they end.
    fn attributes(&mut self, tokens: &[TokenTree], mut at: usize, attributes: &mut Attributes) -> usize {
        while is_mark(tokens.get(at), '#') {
            let inner = usize::from(is_mark(tokens.get(at + 1), '!'));
            let Some(TokenTree::Group(group)) = tokens.get(at + 1 + inner) else { break };
            if inner == 0 {
                self.attribute(group, attributes);
            }
            at += 2 + inner;
        }
        at
    }

    fn attribute(&mut self, group: &Group, attributes: &mut Attributes) {
        let tokens: Vec<_> = group.stream().into_iter().collect();
        let name = tokens.first().map(ToString::to_string).unwrap_or_default();
        match (name.as_str(), &tokens[..]) {
            ("doc", [_, _, TokenTree::Literal(literal)]) => attributes.add(literal),
            ("cfg", [_, TokenTree::Group(inside)]) => {
                attributes.is_test |= inside.stream().to_string() == "test";
            }
            ("derive", [_, TokenTree::Group(inside)]) => {
                attributes.is_help |= inside.stream().into_iter().any(|token| is_shown(&token));
            }
            (silent, _) if SILENT.contains(&silent) => {}
            _ => self.read(group.stream(), false),
        }
    }

    fn note_doc(&mut self, doc: Option<Text>, is_help: bool) {
        if let Some(doc) = doc {
            if is_help {
                self.help.push(doc.clone());
            }
            self.docs.push(doc);
        }
    }

    /// Reads an item whose doc comments are help, and returns where it ends.
    fn item(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        let end = end_of_item(tokens, at);
        self.read(tokens[at..end].iter().cloned().collect(), true);
        end
    }

    /// Reads one token, with what follows where it names something, and returns the next one's place.
    fn token(&mut self, tokens: &[TokenTree], at: usize, is_help: bool) -> usize {
        match &tokens.get(at) {
            Some(TokenTree::Group(group)) => self.read(group.stream(), is_help),
            Some(TokenTree::Literal(literal)) => self.literals.extend(text_of(literal)),
            Some(TokenTree::Ident(word)) => self.word(&word.to_string(), &tokens[at + 1..]),
            Some(TokenTree::Punct(_)) | None => {}
        }
        at + 1
    }

    fn word(&mut self, word: &str, rest: &[TokenTree]) {
        let Some(TokenTree::Ident(name)) = rest.first() else { return };
        let line = name.span().start().line;
        match word {
            "struct" | "enum" | "trait" | "union" => self.types.push(Text { line, text: name.to_string() }),
            "fn" => self.functions.push(Function::of(line, name.to_string(), &rest[1..])),
            _ => {}
        }
    }
}

impl Attributes {
    /// Adds a line of a doc comment.
    fn add(&mut self, literal: &Literal) {
        let Some(line) = text_of(literal) else { return };
        match &mut self.doc {
            None => self.doc = Some(line),
            Some(doc) => doc.text = format!("{}\n{}", doc.text, line.text),
        }
    }
}

impl Function {
    /// Reads the signature behind a name.
    fn of(line: usize, name: String, rest: &[TokenTree]) -> Self {
        let rest = &rest[end_of_generics(rest)..];
        let Some((TokenTree::Group(arguments), result)) = rest.split_first() else {
            return Self { line, name, receiver: Receiver::Missing, is_bool: false };
        };
        let is_bool = match result {
            [dash, head, TokenTree::Ident(word), end, ..] => {
                is_mark(Some(dash), '-') && is_mark(Some(head), '>') && word == "bool" && ends_type(end)
            }
            _ => false,
        };
        Self { line, name, receiver: receiver(arguments.stream()), is_bool }
    }
}

/// Behind `<…>`, if it begins with one. The head of an arrow in it ends nothing.
fn end_of_generics(tokens: &[TokenTree]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        let is_arrow = at > 0 && is_mark(tokens.get(at - 1), '-');
        depth += i32::from(is_mark(Some(token), '<')) - i32::from(is_mark(Some(token), '>') && !is_arrow);
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    0
}

fn receiver(arguments: TokenStream) -> Receiver {
    let mut is_mutable = false;
    for token in arguments {
        match token {
            TokenTree::Ident(word) if word == "self" => {
                return if is_mutable { Receiver::Mutable } else { Receiver::Shared };
            }
            TokenTree::Ident(word) if word == "mut" => is_mutable = true,
            // `&` and a lifetime.
            TokenTree::Punct(mark) if ['&', '\''].contains(&mark.as_char()) => {}
            TokenTree::Ident(_) if !is_mutable => {}
            TokenTree::Punct(_) | TokenTree::Ident(_) | TokenTree::Group(_) | TokenTree::Literal(_) => break,
        }
    }
    Receiver::Missing
}

fn ends_type(token: &TokenTree) -> bool {
    is_group(token, Delimiter::Brace)
        || is_mark(Some(token), ';')
        || matches!(token, TokenTree::Ident(word) if word == "where")
}

/// Behind the next braces or semicolon; of a field, a variant or a match arm behind the next comma.
fn end_of_item(tokens: &[TokenTree], at: usize) -> usize {
    let rest = &tokens[at..];
    let is_comma = |token: &TokenTree| is_mark(Some(token), ',');
    let is_end = |token: &TokenTree| is_group(token, Delimiter::Brace) || is_mark(Some(token), ';');
    let is_item = rest.iter().take_while(|token| !is_comma(token)).any(is_item_word);
    let end = rest.iter().position(|token| is_end(token) || (!is_item && is_comma(token)));
    end.map_or(tokens.len(), |length| at + length + 1)
}

/// Words that begin an item or a statement, after its visibility.
const ITEMS: [&str; 12] =
    ["const", "enum", "fn", "impl", "let", "mod", "static", "struct", "trait", "type", "union", "use"];

fn is_item_word(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if ITEMS.contains(&word.to_string().as_str()))
}

fn is_shown(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(word) if SHOWN.contains(&word.to_string().as_str()))
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn is_group(token: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == delimiter)
}

/// The text of a string literal; `None` for other literals.
fn text_of(literal: &Literal) -> Option<Text> {
    let written = literal.to_string();
    let text = if let Some(raw) = written.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        raw.strip_prefix('"')?.strip_suffix('"')?.to_owned()
    } else {
        unescaped(written.strip_prefix('"')?.strip_suffix('"')?)
    };
    Some(Text { line: literal.span().start().line, text })
}

fn unescaped(written: &str) -> String {
    let (mut text, mut letters) = (String::new(), written.chars().peekable());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => text.push('\n'),
            // A line that continues: its indent is no text.
            Some('\n') => while letters.next_if(|next| next.is_whitespace()).is_some() {},
            Some('x') => {
                letters.by_ref().take(2).for_each(drop);
                text.push(' ');
            }
            Some('u') => {
                letters.by_ref().take_while(|&next| next != '}').for_each(drop);
                text.push(' ');
            }
            Some('t' | 'r' | '0') | None => text.push(' '),
            Some(other) => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn product(text: &str) -> Product {
        parse("filter-daemon/src/a.rs".to_owned(), text).unwrap()
    }

    fn texts(all: &[Text]) -> Vec<&str> {
        all.iter().map(|text| text.text.trim()).collect()
    }

    #[test]
    fn only_the_product_is_read() {
        for (path, is_read) in [
            ("filter-daemon/src/kernel/link.rs", true),
            ("filter-ebpf/src/main.rs", true),
            ("filter-daemon/src/kernel/tests.rs", false),
            ("filter-daemon/src/kernel/tests/link.rs", false),
            ("filter-daemon/build.rs", false),
            ("xtask/src/main.rs", false),
            ("tests/src/main.rs", false),
        ] {
            assert_eq!(is_product(path), is_read, "{path}");
        }
    }

    #[test]
    fn types_are_found_wherever_they_are_declared() {
        let text = "pub struct A;\nenum B { X }\nmod m { pub(crate) trait C {} }\nfn f() { union D { a: u8 } }\n// struct E;\n\
                    #[cfg(test)]\nmod tests { struct F; }\n#[cfg(test)]\nfn f() -> Result<A, B> { struct H; }\nstruct G;";
        assert_eq!(texts(&product(text).types), ["A", "B", "C", "D", "G"]);
    }

    #[test]
    fn signatures_are_read() {
        for (text, receiver, is_bool) in [
            ("fn is_a(&self) -> bool { true }", Receiver::Shared, true),
            ("fn is_a(self) -> bool;", Receiver::Shared, true),
            ("fn is_a(&'a self) -> bool where T: U {}", Receiver::Shared, true),
            ("fn is_a(&mut self) -> bool {}", Receiver::Mutable, true),
            ("fn is_a<T: Fn(u8)>(&mut self, t: T) {}", Receiver::Mutable, false),
            ("fn is_a<T: Fn(u8) -> X<u8>>(&self) -> bool {}", Receiver::Shared, true),
            ("fn is_a(&'a mut self) {}", Receiver::Mutable, false),
            ("fn is_a(mut self) -> Self {}", Receiver::Mutable, false),
            ("fn is_a(other: &Self, myself: &mut T) -> bool {}", Receiver::Missing, true),
            ("fn is_a() -> Option<bool> {}", Receiver::Missing, false),
            ("fn is_a() -> bool::Other {}", Receiver::Missing, false),
        ] {
            let text = format!("impl X {{ {text} }}");
            let functions = product(&text).functions;
            assert_eq!((functions[0].receiver, functions[0].is_bool), (receiver, is_bool), "{text}");
        }
    }

    #[test]
    fn doc_comments_are_whole() {
        let text = "//! Of the file.\n/// One.\n/// Two.\n#[must_use]\npub fn f() {}\n\nstruct A {\n    /// Three.\n    a: u8,\n}\n// No.";
        assert_eq!(texts(&product(text).docs), ["One.\n Two.", "Three."]);
        assert_eq!(product(text).docs[1].line, 8);
    }

    #[test]
    fn help_is_what_clap_shows() {
        let text = "/// Shown\n#[derive(Debug, clap::Args)]\nstruct A {\n    /// Shown, too\n    a: u8,\n}\n\n/// Not shown\nstruct B;";
        assert_eq!(texts(&product(text).help), ["Shown", "Shown, too"]);
    }

    #[test]
    fn literals_are_what_the_program_sees() {
        let text = r##"
            #[error("in an attribute")]
            #[allow(x, reason = "not this")]
            const A: &str = "one \
                two\n\"three\" \u{2026}";
            const B: &str = r#"raw "text""#;
            const C: &[u8] = b"bytes";
            const D: char = 'c';
        "##;
        assert_eq!(texts(&product(text).literals), ["in an attribute", "one two\n\"three\"", "raw \"text\""]);
    }
}
