// SPDX-License-Identifier: MIT
//! Sources of a crate as the tests of names and imports read them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A module's path without `crate`: `["rank", "run"]`.
pub type Module = Vec<String>;

/// Sources by module.
pub type Sources = BTreeMap<Module, String>;

/// A source without comments, strings and what is compiled for tests alone.
pub fn code(source: &str) -> String {
    let plain = plain(source);
    let mut code = String::new();
    let mut rest = plain.as_str();
    while let Some(at) = rest.find("#[cfg(test)]") {
        code.push_str(&rest[..at]);
        rest = &rest[at + item_len(&rest[at..])..];
    }
    code + rest
}

/// A source without comments, strings and quotation marks.
fn plain(source: &str) -> String {
    let mut plain = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let mark = ["'\"'", "'\\\"'"].into_iter().find(|mark| rest.starts_with(mark));
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |at| at + 2)
        } else if let Some(mark) = mark {
            mark.len()
        } else if c == '"' {
            string_len(rest)
        } else {
            plain.push(c);
            c.len_utf8()
        };
        rest = &rest[skip..];
    }
    plain
}

/// How long the string is that `text` begins with.
fn string_len(text: &str) -> usize {
    let mut len = 1;
    while let Some(at) = text[len..].find(['"', '\\']) {
        let is_escape = text.as_bytes()[len + at] == b'\\';
        len += at + if is_escape { 2 } else { 1 };
        if !is_escape {
            return len;
        }
    }
    text.len()
}

/// How long the item is that `text` begins with: to its semicolon or the end of its block.
fn item_len(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Reads the sources below a folder, of which `module` is the path, but those of tests.
pub fn read(folder: &Path, module: &Module, sources: &mut Sources) {
    for entry in fs::read_dir(folder).expect("a folder of the crate") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let mut of = module.clone();
        if path.is_dir() {
            of.push(stem);
            read(&path, &of, sources);
            continue;
        }
        if stem == "tests" {
            continue;
        }
        if !["mod", "lib", "main"].contains(&stem.as_str()) {
            of.push(stem);
        }
        sources.insert(of, fs::read_to_string(&path).expect("a source"));
    }
}
