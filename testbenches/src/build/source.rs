// SPDX-License-Identifier: MIT
//! SystemVerilog as a sequence of words: enough to find declarations by name.

/// Identifiers (with their package), numbers and single symbols of a text, without comments, in order.
pub fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            words.push(&rest[..length]);
            length
        } else {
            if !first.is_whitespace() {
                words.push(&rest[..first.len_utf8()]);
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_$'".contains(c)
}

/// A type of a package, by the names in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typedef<'a> {
    /// The fields of a packed struct: type and name, the most significant first.
    Struct(Vec<(&'a str, &'a str)>),
    /// The items of an enum.
    Enum(Vec<&'a str>),
}

/// The structs and enums that a package declares, by name.
pub fn typedefs<'a>(words: &[&'a str]) -> Vec<(&'a str, Typedef<'a>)> {
    let mut found = Vec::new();
    let mut rest = words;
    while let Some(at) = rest.iter().position(|word| *word == "typedef") {
        rest = &rest[at + 1..];
        let kind = rest.first().copied().unwrap_or_default();
        if kind != "struct" && kind != "enum" {
            continue;
        }
        let Some(open) = rest.iter().position(|word| *word == "{") else { break };
        let Some(close) = rest.iter().position(|word| *word == "}") else { break };
        let (body, Some(name)) = (&rest[open + 1..close], rest.get(close + 1)) else { break };
        let typedef = if kind == "struct" {
            Typedef::Struct(body.split(|word| *word == ";").flat_map(fields).collect())
        } else {
            Typedef::Enum(
                body.split(|word| *word == ",").filter_map(|i| i.first().copied()).collect(),
            )
        };
        found.push((*name, typedef));
        rest = &rest[close..];
    }
    found
}

/// The fields of a declaration like `logic [3:0] first, last`.
fn fields<'a>(declaration: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let Some(kind) = type_of(declaration) else { return Vec::new() };
    let names = declaration.split(|word| *word == ",").filter_map(|part| part.last());
    names.map(|name| (kind, *name)).collect()
}

/// The names of all types that a text declares.
pub fn declared_names<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == "typedef") {
        let mut depth = 0;
        let end = words[at..].iter().position(|word| {
            depth += i32::from(*word == "{") - i32::from(*word == "}");
            *word == ";" && depth == 0
        });
        names.extend(end.map(|end| words[at + end - 1]));
    }
    names
}

/// The type that `name` is declared with where it stands first, of a port or a variable, without its package.
pub fn declared_type<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let begins = |word: &&str| matches!(*word, ";" | "(" | ")" | "input" | "output" | "begin");
    let at = words.iter().position(|word| *word == name)?;
    let start = words[..at].iter().rposition(|word| begins(word) || word.starts_with("end"));
    type_of(&words[start.map_or(0, |start| start + 1)..at])
}

fn type_of<'a>(declaration: &[&'a str]) -> Option<&'a str> {
    match declaration {
        ["var" | "wire", rest @ ..] => type_of(rest),
        [_, ":", ":", name, ..] | [name, ..] => Some(name),
        [] => None,
    }
}
