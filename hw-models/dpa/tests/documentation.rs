// SPDX-License-Identifier: MIT
//! What a type of a port, a field or a code is stands in the RTL's package and in its Rust twin in the same
//! words.

use std::collections::BTreeMap;

const PACKAGE: &str = pimlico_rtl::text!("pimlico_pkg.sv");
const TWINS: [&str; 7] = [
    include_str!("../src/types/aim.rs"),
    include_str!("../src/types/configuration.rs"),
    include_str!("../src/types/pins.rs"),
    include_str!("../src/types/program.rs"),
    include_str!("../src/types/requests.rs"),
    include_str!("../src/types/results.rs"),
    include_str!("../src/types/run.rs"),
];

/// The documentation of each type of the package, by its name, and of its items, by `type.item`.
type Documented = BTreeMap<String, String>;

/// Reads the structs and enums of the package.
fn package(text: &str) -> Documented {
    let mut documented = Documented::new();
    let mut doc = Vec::new();
    let (mut own, mut items) = (String::new(), Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim());
            continue;
        }
        if line.starts_with("typedef") && line.ends_with('{') {
            (own, items) = (paragraph(&doc), Vec::new());
        } else if let Some(name) = line.strip_prefix("} ") {
            let name = name.trim_end_matches(';');
            documented.insert(name.to_owned(), std::mem::take(&mut own));
            for (item, doc) in items.drain(..) {
                documented.insert(format!("{name}.{item}"), doc);
            }
        } else if let Some(item) = line.split([',', ';', '=']).next().map(str::trim)
            && !item.is_empty()
            && !item.starts_with("//")
        {
            let item = item.split_whitespace().last().expect("an item has a name").to_owned();
            items.push((item, doc.first().copied().unwrap_or_default().to_owned()));
        }
        doc.clear();
    }
    documented
}

/// Reads the twins of the package's types.
fn twins(text: &str) -> Documented {
    let mut documented = Documented::new();
    let (mut doc, mut own, mut twin) = (Vec::new(), None, None);
    for line in text.lines() {
        let code = line.trim();
        if let Some(text) = code.strip_prefix("///") {
            doc.push(text.trim());
        } else if let Some(attribute) = code.strip_prefix("#[signal(") {
            let value = |key: &str| {
                let (_, rest) = attribute.split_once(&format!("{key} = \""))?;
                rest.split('"').next().map(str::to_owned)
            };
            own = value("sv").map(|name| (name, value("prefix").unwrap_or_default()));
        } else if line.starts_with("pub struct") || line.starts_with("pub enum") {
            twin = own.take();
            if let Some((name, _)) = &twin {
                documented.insert(name.clone(), plain(&paragraph(&doc)));
            }
            doc.clear();
        } else if line.starts_with('}') {
            (twin, own) = (None, None);
            doc.clear();
        } else if !code.starts_with("#[") {
            if let Some((name, prefix)) = &twin
                && let Some(item) = code.split([':', '=']).next().map(str::trim)
                && !item.is_empty()
            {
                let item = item.trim_start_matches("pub ").trim_end_matches(',');
                let first = plain(doc.first().copied().unwrap_or_default());
                documented.insert(format!("{name}.{prefix}{item}"), first);
            }
            doc.clear();
        }
    }
    documented
}

/// The first paragraph of a documentation, in one line.
fn paragraph(doc: &[&str]) -> String {
    let lines: Vec<&str> = doc.iter().take_while(|line| !line.is_empty()).copied().collect();
    lines.join(" ")
}

/// A text without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// What differs between the two, a line each.
fn differences(package: &Documented, twins: &Documented) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, doc) in package {
        match twins.get(name) {
            Some(twin) if !doc.ends_with('.') => {
                differences.push(format!("{name} does not end in its first line: {twin}"));
            }
            Some(twin) if twin == doc => {}
            Some(twin) => {
                differences.push(format!("{name} is \"{doc}\" in the RTL, \"{twin}\" in Rust"));
            }
            None => differences.push(format!("{name} has no twin")),
        }
    }
    differences
}

#[test]
fn types_are_documented_in_the_same_words() {
    let package = package(PACKAGE);
    let twins: Documented = TWINS.into_iter().flat_map(twins).collect();
    assert!(package.len() > 200, "{} types and items", package.len());
    let differences = differences(&package, &twins);
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn a_difference_is_found() {
    let twins: Documented = TWINS.into_iter().flat_map(twins).collect();
    let of_pins = |text: String| {
        let mut package = package(&text);
        package.retain(|name, _| name.starts_with("pins_t"));
        differences(&package, &twins)
    };
    let planted = |from: &str, to: &str| {
        assert!(PACKAGE.contains(from), "{from}");
        of_pins(PACKAGE.replacen(from, to, 1))
    };
    assert_eq!(of_pins(PACKAGE.to_owned()), [""; 0]);
    assert_eq!(
        planted("/// Row of the command; MRS: the opcode.", "/// Bank of the command."),
        [
            "pins_t.row is \"Bank of the command.\" in the RTL, \"Row of the command; MRS: the opcode.\" in Rust"
        ]
    );
    assert_eq!(
        planted(
            "/// Row of the command; MRS: the opcode.",
            "// Row of the command; MRS: the opcode."
        ),
        ["pins_t.row does not end in its first line: Row of the command; MRS: the opcode."]
    );
    assert_eq!(
        planted("bank_t        bank;", "bank_t        banks;"),
        ["pins_t.banks has no twin"]
    );
}
