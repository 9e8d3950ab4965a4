// SPDX-License-Identifier: MIT
//! A public type has a name of its own in its crate: what is read as `Control` or `Module` is one thing there.

mod code;

use code::{Module, Sources, code, read};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The public types that a source declares.
fn types(source: &str) -> Vec<String> {
    let code = code(source);
    let words: Vec<_> = code
        .split(|c: char| !c.is_alphanumeric() && !"_()$".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut types = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "pub") {
        let declared = match words[at + 1..] {
            ["unsafe", "trait", name, ..] => Some(name),
            ["struct" | "enum" | "trait" | "type" | "union", name, ..] => Some(name),
            _ => None,
        };
        // A macro has `$name`, and a tuple `Name(`.
        let named = declared.filter(|name| !name.starts_with('$'));
        types.extend(named.and_then(|name| name.split('(').next()).map(str::to_owned));
    }
    types
}

/// The names that are declared in several modules of a crate, each with the modules.
fn repeated(sources: &Sources) -> Vec<String> {
    let mut modules: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (module, source) in sources {
        for name in types(source) {
            modules.entry(name).or_default().push(module.join("::"));
        }
    }
    modules.retain(|_, modules| modules.len() > 1);
    modules.iter().map(|(name, modules)| format!("{name} in {}", modules.join(", "))).collect()
}

#[test]
fn a_public_type_has_a_name_of_its_own_in_its_crate() {
    let root = Path::new(pimlico_rtl::FOLDER).parent().expect("the repository");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    let members = manifest.split("members = [").nth(1).and_then(|list| list.split(']').next());
    let members = members.expect("a list").split('"').skip(1).step_by(2);
    let (mut found, mut read_types) = (Vec::new(), 0);
    for member in members {
        let mut sources = Sources::new();
        read(&root.join(member).join("src"), &Module::new(), &mut sources);
        read_types += sources.values().map(|source| types(source).len()).sum::<usize>();
        found.extend(repeated(&sources).into_iter().map(|name| format!("{member}: {name}")));
    }
    assert!(read_types > 400, "{read_types}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_is_declared_twice_is_found() {
    let of = |first: &str, second: &str| {
        let module = |name: &str| vec![name.to_owned()];
        repeated(&Sources::from([
            (module("a"), first.to_owned()),
            (module("b"), second.to_owned()),
        ]))
        .join("; ")
    };
    let found = "Row in a, b";
    assert_eq!(of("pub struct Row;", "pub enum Row { A }"), found);
    assert_eq!(of("pub struct Row(u8);", "pub type Row<T> = Vec<T>;"), found);
    assert_eq!(of("pub trait Row: Sized {}", "pub unsafe trait Row {}"), found);
    assert_eq!(of("pub struct Row<'a>(&'a str);", "const Q: char = '\"'; pub struct Row;"), found);
    assert_eq!(of("pub struct Row;", "pub(crate) struct Row; struct Row; use a::Row;"), "");
    assert_eq!(
        of("pub struct Row;", "// pub struct Row;\nconst T: &str = \"pub struct Row\";"),
        ""
    );
    assert_eq!(of("pub struct Row;", "const T: &str = r#\"a\" pub struct Row \"#;"), "");
    assert_eq!(of("pub struct $name;", "pub struct $name;"), "");
    let tests = "#[cfg(test)]\nmod tests { const A: &str = \"}\"; pub struct Row; }";
    assert_eq!(of("pub struct Row;", tests), "");
}
