//! Makes docs/reference/control.md and its JSON schema from the types of the wire. `CONTROL_DOCS=write cargo test -p
//! filter-daemon --lib control::wire::document` writes them again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::method::Method;
use super::{Failure, VERSION, visit_all};

/// The generated part of the document lies between these lines.
const BEGIN: &str = "<!-- generated from the types: begin -->\n";
const END: &str = "<!-- generated from the types: end -->\n";

/// Methods that only a new filterd uses when it takes over. They are not documented.
const BETWEEN_DAEMONS: [&str; 2] = ["io.filterd.HandOver", "io.filterd.TakeOver"];

/// Is called with every method.
pub trait Visitor {
    /// Is called once for each method.
    fn visit<M: Method + JsonSchema>(&mut self)
    where
        M::Reply: JsonSchema;
}

/// All methods with their names and the schemas of parameters and reply.
#[derive(Default)]
struct Methods(Vec<(&'static str, Value, Value)>);

impl Visitor for Methods {
    fn visit<M: Method + JsonSchema>(&mut self)
    where
        M::Reply: JsonSchema,
    {
        self.0.push((M::NAME, schema::<M>(), schema::<M::Reply>()));
    }
}

#[test]
fn the_documents_say_what_the_types_say() {
    let mut methods = Methods::default();
    visit_all(&mut methods);
    let schemas = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of filterd's control socket",
        "version": VERSION,
        "error": schema::<Failure>(),
        "methods": methods.0.iter().map(|(name, parameters, reply)| {
            ((*name).to_owned(), json!({"parameters": parameters, "reply": reply}))
        }).collect::<Map<_, _>>(),
    });
    let written = serde_json::to_string_pretty(&schemas).unwrap() + "\n";
    must_be(&docs("control.schema.json"), &written);
    let page = docs("control.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page marks where the generated part begins");
    let (_, after) = rest.split_once(END).expect("the page marks where it ends");
    must_be(&page, &format!("{before}{BEGIN}{}{END}{after}", told(&methods.0)));
}

#[test]
fn every_field_says_what_it_means() {
    let mut methods = Methods::default();
    visit_all(&mut methods);
    for (method, parameters, reply) in &methods.0 {
        for (what, fields) in [parameters, reply].into_iter().flat_map(objects) {
            for (name, field) in fields {
                let meaning = meaning(field);
                assert!(meaning.split(' ').count() > 1, "{method}: {what}.{name} says {meaning:?}");
            }
        }
    }
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference").join(name)
}

/// Checks that the file has this content, or writes it if `CONTROL_DOCS=write` asks for it.
fn must_be(path: &Path, wanted: &str) {
    if std::env::var("CONTROL_DOCS").is_ok_and(|word| word == "write") {
        fs::write(path, wanted).unwrap();
    }
    let found = fs::read_to_string(path).unwrap_or_default();
    let differs = found.lines().zip(wanted.lines()).position(|(one, other)| one != other);
    assert!(
        found == wanted,
        "{} differs from the types, from line {} on: CONTROL_DOCS=write writes it again",
        path.display(),
        differs.unwrap_or(0) + 1
    );
}

/// Returns the schema of a type and of all types in it, without links of rustdoc.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plain(&mut schema);
    schema
}

fn plain(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // These say nothing to a reader: the formats and lower bounds of Rust's numbers.
            let of_rust = |name: &str, value: &Value| {
                // A field may have this name, too; its value is no string then.
                name == "format" && value.is_string() || name == "minimum" && *value == json!(0)
            };
            fields.retain(|name, value| !of_rust(name, value));
            for (name, value) in fields {
                if let (Value::String(text), "description") = (&mut *value, name.as_str()) {
                    *text = without_links(text);
                } else {
                    plain(value);
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Turns [`X`](y) and [`X`] into `X`.
fn without_links(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some((before, link)) = rest.split_once("[`") {
        let Some((name, behind)) = link.split_once("`]") else { break };
        _ = write!(plain, "{before}`{name}`");
        rest = behind.strip_prefix('(').and_then(|target| Some(target.split_once(')')?.1)).unwrap_or(behind);
    }
    (plain + rest).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes all methods, then each type that their fields use, once.
fn told(methods: &[(&str, Value, Value)]) -> String {
    let mut text = String::new();
    let mut parts: BTreeMap<String, Value> = BTreeMap::new();
    for (name, parameters, reply) in methods.iter().filter(|(name, ..)| !BETWEEN_DAEMONS.contains(name)) {
        _ = write!(text, "\n### {name}\n\n{}\n", purpose(name));
        match named(&parameters["$ref"]) {
            Some(other) => {
                let anchor = other.to_lowercase();
                _ = write!(text, "\nParameters: those of [io.filterd.{other}](#iofilterd{anchor}).\n");
            }
            None => text += &table("Parameters", parameters),
        }
        let shared = reply["title"].as_str().filter(|title| *title != OWN);
        match shared {
            Some(title) => _ = write!(text, "\nReply: [{title}](#{}).\n", title.to_lowercase()),
            None => text += &table("Reply", reply),
        }
        let own = shared.map(|title| (title.to_owned(), reply.clone()));
        let made_of =
            [parameters, reply].into_iter().filter_map(|schema| schema.get("$defs")?.as_object()).flatten();
        let is_method =
            |title: &str| methods.iter().any(|(name, ..)| name.strip_prefix("io.filterd.") == Some(title));
        let made_of =
            made_of.filter(|(title, part)| part["description"] != AS_IT_TRAVELS || !is_method(title));
        for (title, part) in made_of.map(|(title, part)| (title.clone(), part.clone())).chain(own) {
            let words =
                |part: &Value| (part["properties"].clone(), part["oneOf"].clone(), part["enum"].clone());
            let before = parts.insert(title.clone(), part.clone());
            assert!(
                before.is_none_or(|before| words(&before) == words(&part)),
                "two parts are called {title}"
            );
        }
    }
    text += "\n## Types\n";
    for (title, part) in &parts {
        _ = write!(text, "\n### {title}\n\n{}\n{}{}", meaning(part), table("", part), choices(part));
    }
    text + "\n"
}

/// The name of a reply type that only one method has.
const OWN: &str = "Reply";

/// The description of all parameter types.
const AS_IT_TRAVELS: &str = "The parameters on the wire.";

/// Writes the values that an enum has on the wire.
fn choices(part: &Value) -> String {
    let choice = |one: &Value| Some(format!("- `{}`: {}\n", one["const"].as_str()?, meaning(one)));
    let told: String = part["oneOf"].as_array().into_iter().flatten().filter_map(choice).collect();
    if told.is_empty() { told } else { format!("\n{told}") }
}

/// Returns the purpose of a method: the first paragraph of its file, without the name.
fn purpose(method: &str) -> String {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/control/wire")).unwrap();
    let heads = files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok()).map(|text| {
        let head = text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
        head.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    });
    let mut told = heads.filter(|head| head.contains(&format!("`{method}`")));
    let told = told.next().unwrap_or_else(|| panic!("the file of {method} says what it is for"));
    let words = told.split_once("`: ").map_or(told.as_str(), |(_, words)| words);
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

/// Writes a table of the fields of a type, if it has any.
fn table(title: &str, schema: &Value) -> String {
    let Some(fields) = schema["properties"].as_object().filter(|fields| !fields.is_empty()) else {
        return String::new();
    };
    let required: Vec<_> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let title = if title.is_empty() { String::new() } else { format!("\n{title}:\n") };
    let mut text = format!("{title}\n| field | type | meaning |\n|---|---|---|\n");
    for (name, field) in fields {
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        _ = writeln!(text, "| `{name}`{optional} | {} | {} |", kind(field), meaning(field));
    }
    text
}

/// Returns the fields of a type and of all types in it, by type name; the name of the type itself is empty.
fn objects(schema: &Value) -> Vec<(String, &Map<String, Value>)> {
    let own = schema.get("properties").and_then(Value::as_object).map(|fields| (String::new(), fields));
    let parts = schema.get("$defs").and_then(Value::as_object).into_iter().flatten();
    let parts = parts.filter_map(|(name, part)| Some((name.clone(), part.get("properties")?.as_object()?)));
    own.into_iter().chain(parts).collect()
}

/// Returns the name of the type that a reference means.
fn named(reference: &Value) -> Option<String> {
    Some(reference.as_str()?.rsplit('/').next()?.to_owned())
}

/// Returns the type of a field in one or two words.
fn kind(field: &Value) -> String {
    if let Some(name) = named(&field["$ref"]) {
        return name;
    }
    let any = field["anyOf"].as_array().into_iter().flatten();
    if let Some(one) = any.map(kind).find(|kind| kind != "null") {
        return one;
    }
    let words: Vec<_> = match &field["type"] {
        Value::String(word) => vec![word.as_str()],
        Value::Array(words) => {
            words.iter().filter_map(Value::as_str).filter(|word| *word != "null").collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    match words.as_slice() {
        ["array"] => format!("array of {}", kind(&field["items"])),
        [] => "object".to_owned(),
        words => words.join(" or "),
    }
}

fn meaning(field: &Value) -> String {
    field["description"].as_str().unwrap_or_default().replace('|', "\\|")
}
