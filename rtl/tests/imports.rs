// SPDX-License-Identifier: MIT
//! Imports of the crates with many modules run strictly down: the modules stand in the order that the root, `lib.rs` or
//! `main.rs`, documents, each imports from those below it, and from the module that owns a name, not from the root.
//! Within a folder of the device no file reaches itself by way of others; elsewhere a folder is taken as one. The crates
//! with fewer modules, and the units, have no circle between modules.

mod code;

use code::{Module, Sources, code, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The words and marks of a source that paths are made of.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let len = if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            tokens.push(&rest[..len]);
        }
        rest = &rest[len..];
    }
    tokens
}

/// All paths of a tree of imports, or of a path in an expression, that begins with `tokens`. Returns how
/// many of them it takes.
fn paths(tokens: &[&str], prefix: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = 0;
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| *token != "}") {
                    at += paths(&tokens[at..], &path, found);
                    at += usize::from(tokens.get(at) == Some(&","));
                }
                return at + 1;
            }
            Some(token) => path.push((*token).to_owned()),
            None => return at,
        }
        at += 1;
        if tokens.get(at) != Some(&"::") {
            break;
        }
        at += 1;
    }
    if tokens.get(at) == Some(&"as") {
        at += 2;
    }
    found.push(path);
    at
}

/// The modules of this crate that a module names.
fn named(of: &Module, sources: &Sources) -> BTreeSet<Module> {
    let code = code(&sources[of]);
    let tokens = tokens(&code);
    let is_child = |name: &str| {
        let mut child = of.clone();
        child.push(name.to_owned());
        sources.contains_key(&child)
    };
    let mut modules = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = at == 0 || !["::", "."].contains(&tokens[at - 1]);
        let is_path = tokens.get(at + 1) == Some(&"::");
        let own = ["crate", "super", "self"].contains(&tokens[at]) || is_child(tokens[at]);
        if !(begins && is_path && own) {
            at += 1;
            continue;
        }
        let mut found = Vec::new();
        at += paths(&tokens[at..], &[], &mut found);
        for path in found {
            modules.insert(owner(of, &path, sources));
        }
    }
    modules.remove(of);
    modules
}

/// The module to which a path leads from another; empty for the root.
fn owner(from: &Module, path: &[String], sources: &Sources) -> Module {
    let mut module = from.clone();
    let mut names = path.iter().peekable();
    match path[0].as_str() {
        "crate" => {
            module.clear();
            names.next();
        }
        "self" => {
            names.next();
        }
        _ => {
            while names.next_if(|name| *name == "super").is_some() {
                module.pop();
            }
        }
    }
    for name in names {
        module.push(name.clone());
        if !sources.contains_key(&module) {
            module.pop();
            break;
        }
    }
    module
}

/// What is wrong with the imports of a crate, of which `order` are the modules from the top down; `within` folders as
/// well, or between them alone.
fn faults(sources: &Sources, order: &[String], within: bool) -> Vec<String> {
    let name = |module: &Module| module.join("::");
    let mut faults = Vec::new();
    let tops: BTreeSet<&String> = sources.keys().filter_map(|module| module.first()).collect();
    if tops != order.iter().collect() || tops.len() != order.len() {
        faults.push(format!("the root has {tops:?}, and documents {order:?}"));
    }
    let place = |module: &Module| order.iter().position(|top| *top == module[0]);
    let mut graph = BTreeMap::new();
    for module in sources.keys().filter(|module| !module.is_empty()) {
        let named = named(module, sources);
        for other in &named {
            if other.is_empty() {
                faults.push(format!("{} reaches something through the root", name(module)));
            } else if other[0] != module[0] && place(other) <= place(module) {
                faults.push(format!("{} imports from {} above it", name(module), name(other)));
            }
        }
        if within {
            graph.insert(module.clone(), named);
        }
    }
    faults.extend(circle(graph));
    faults
}

/// What is in a circle of a graph, or above one.
fn circle(mut graph: BTreeMap<Module, BTreeSet<Module>>) -> Option<String> {
    // What imports from nothing that is left is no part of a circle.
    while let Some(leaf) = graph
        .iter()
        .find(|(_, named)| named.iter().all(|other| !graph.contains_key(other)))
        .map(|(module, _)| module.clone())
    {
        graph.remove(&leaf);
    }
    let names: Vec<_> = graph.keys().map(|module| module.join("::")).collect();
    (!names.is_empty()).then(|| format!("in or above a circle: {}", names.join(", ")))
}

/// Which of the modules of the root, each with what is below it, import from which others.
fn between(sources: &Sources) -> BTreeMap<Module, BTreeSet<Module>> {
    let top = |module: &Module| module[..1].to_vec();
    let mut graph: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for module in sources.keys().filter(|module| !module.is_empty()) {
        let others = named(module, sources);
        let others = others.iter().filter(|other| !other.is_empty()).map(top);
        let own = top(module);
        graph.entry(own.clone()).or_default().extend(others.filter(|other| *other != own));
    }
    graph
}

/// The first column of the table of modules in the documentation of the root.
fn documented(lib: &str) -> Vec<String> {
    let rows = lib.lines().filter_map(|line| line.strip_prefix("//! | "));
    let names = rows.filter_map(|row| row.split(" |").next());
    let is_name = |name: &&str| name.contains('`');
    names.filter(is_name).map(|name| name.replace(['`', '[', ']'], "")).collect()
}

#[test]
fn no_module_reaches_itself_by_way_of_others() {
    let root = Path::new(pimlico_rtl::FOLDER).parent().expect("the repository");
    for (package, most) in [
        ("golden", 5),
        ("hw-models/dpa", 5),
        ("hw-models/model", 5),
        ("hw-models/ports", 5),
        ("hw-models/ports/derive", 3),
        ("hw-models/units", 5),
    ] {
        let mut sources = Sources::new();
        read(&root.join(package).join("src"), &Module::new(), &mut sources);
        assert!(sources.len() > most, "{package}");
        assert_eq!(circle(between(&sources)), None, "{package}");
    }
}

#[test]
fn imports_run_strictly_down() {
    let root = Path::new(pimlico_rtl::FOLDER).parent().expect("the repository");
    for (package, most, within) in [
        ("hw-models/backends", 3, false),
        ("hw-models/device", 20, true),
        ("hw-models/host", 5, false),
        ("hw-models/serving", 12, false),
        ("hw-models/stream", 8, false),
        ("hw-models/workload", 20, false),
        ("hw-models/estimate", 15, false),
        ("hw-models/pimlico", 20, false),
        ("testbenches", 15, false),
    ] {
        let mut sources = Sources::new();
        read(&root.join(package).join("src"), &Module::new(), &mut sources);
        let order = documented(&sources[&Module::new()]);
        assert!(order.len() > most && sources.len() > order.len(), "{package}: {order:?}");
        assert_eq!(faults(&sources, &order, within), Vec::<String>::new(), "{package}");
    }
}

/// What is found in a crate of such files.
fn found(files: &[(&str, &str)]) -> String {
    let module =
        |name: &str| name.split('/').filter(|n| !n.is_empty()).map(str::to_owned).collect();
    let sources = files.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect();
    faults(&sources, &["top", "middle", "bottom"].map(str::to_owned), true).join("; ")
}

#[test]
fn what_does_not_run_down_is_found() {
    let of = |top: &str, middle: &str, bottom: &str, leaf: &str| {
        let leaf = ("middle/leaf", leaf);
        found(&[("", ""), ("top", top), ("middle", middle), ("bottom", bottom), leaf])
    };
    let down = "use crate::{bottom::{self, A}, middle::leaf};\n// crate::X\nconst T: &str = \"crate::Y\\\"\";";
    let own = "#[cfg(test)]\nmod tests {\n use crate::top::A;\n}\nuse leaf::{A, B as C};";
    assert_eq!(of(down, own, "fn f() { self::g() }", "use crate::bottom;"), "");
    let through = "top reaches something through the root";
    assert_eq!(of("use crate::A;", "", "", ""), through);
    assert_eq!(of("use crate::{middle::A, B};", "", "", ""), through);
    assert_eq!(of("fn f() { super::A }", "", "", ""), through);
    let above = "bottom imports from middle::leaf above it";
    assert_eq!(of("", "", "fn f() -> crate::middle::leaf::A {}", ""), above);
    let circle = "in or above a circle: middle, middle::leaf";
    assert_eq!(of("", "use leaf::A;", "", "use super::B;"), circle);
    assert_eq!(of("", "fn f() { leaf::f() }", "", "fn f() { super::f() }"), circle);
    let both = of("use crate::bottom;", "", "use crate::top;", "");
    assert_eq!(both, "bottom imports from top above it; in or above a circle: bottom, top");
    assert!(found(&[("", ""), ("top", ""), ("middle", "")]).contains("documents"));
}
