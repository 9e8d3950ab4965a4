// SPDX-License-Identifier: MIT
//! What a port or a parameter is stands in the RTL and in the declaration of its unit in the same words.

use pimlico_ports::{PortInfo, UnitInfo};
use pimlico_rtl::{FOLDER, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Ports that every unit has and none declares.
const COMMON: [&str; 2] = ["clk_i", "rst_ni"];

/// The documentation of each parameter and port of a module: the `///` lines above it.
#[derive(Default)]
struct Header {
    parameters: BTreeMap<String, Vec<String>>,
    ports: BTreeMap<String, Vec<String>>,
}

impl Header {
    /// Reads the header of `module` from its source.
    fn read(module: &str, source: &str) -> Self {
        let mut header = Self::default();
        let mut doc = Vec::new();
        let lines = source.lines().map(str::trim);
        let lines = lines.skip_while(|line| !line.starts_with(&format!("module {module} ")));
        for line in lines.take_while(|line| *line != ");") {
            if let Some(text) = line.strip_prefix("///") {
                doc.push(text.trim().to_owned());
                continue;
            }
            let declarations = match line.split_whitespace().next() {
                Some("parameter") => Some(&mut header.parameters),
                Some("input" | "output") => Some(&mut header.ports),
                _ => None,
            };
            if let Some(declarations) = declarations {
                declarations.insert(name(line).to_owned(), std::mem::take(&mut doc));
            }
            doc.clear();
        }
        assert!(!header.ports.is_empty(), "{module}: no ports found");
        header
    }
}

/// The name that a line declares: the last word before a default or a comma.
fn name(line: &str) -> &str {
    let declaration = line.split(['=', ',']).next().unwrap_or(line);
    declaration.split_whitespace().last().expect("a declaration has a name")
}

/// Every module with its room, `bank/bank_pu`, and its file. Modules of checks alone are left out.
fn modules() -> BTreeMap<String, PathBuf> {
    let mut modules = BTreeMap::new();
    for room in std::fs::read_dir(FOLDER).expect("the RTL is there") {
        let room = room.expect("an entry").path();
        let files = std::fs::read_dir(&room).into_iter().flatten();
        for file in files.map(|file| file.expect("an entry").path()) {
            let name = file.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
            if file.extension().is_some_and(|end| end == "sv") && !name.ends_with("_checks") {
                let room = room.file_name().and_then(|room| room.to_str()).expect("a name");
                modules.insert(format!("{room}/{name}"), file);
            }
        }
    }
    modules
}

/// The source of a module.
fn source(module: &str) -> String {
    let mut modules = modules().into_iter();
    let file = modules.find(|(name, _)| name.ends_with(&format!("/{module}")));
    let (_, file) = file.expect("a file has the module's name");
    std::fs::read_to_string(file).expect("a file can be read")
}

/// What is wrong with the first line of a documentation, which lists and reports show by itself.
fn complaint(doc: &[String]) -> Option<&'static str> {
    let vague = ["Its", "Their", "They", "It", "Which", "Whose", "The same"];
    match doc.first() {
        None => Some("is not documented"),
        Some(line) if !line.ends_with('.') => Some("does not end in its first line"),
        Some(line) if vague.iter().any(|word| line.starts_with(&format!("{word} "))) => {
            Some("does not name its object")
        }
        Some(_) => None,
    }
}

/// The differences between a unit's declaration and its RTL, and what cannot be read alone.
fn differences(unit: &UnitInfo, header: &Header) -> Vec<String> {
    let mut differences = Vec::new();
    let mut differ = |name: &str, what: &str| {
        differences.push(format!("{}.{name} {what}", unit.module));
    };
    for (name, doc) in header.parameters.iter().chain(&header.ports) {
        if let Some(complaint) = complaint(doc) {
            differ(name, complaint);
        }
    }
    for (name, _) in unit.parameters {
        if !header.parameters.contains_key(*name) {
            differ(name, "is a parameter of the declaration alone");
        }
    }
    let declared: Vec<&PortInfo> = unit.inputs.iter().chain(unit.outputs).collect();
    for port in &declared {
        // In Rust names are marked as code.
        let ours = port.doc.trim().replace('`', "");
        match header.ports.get(port.name).and_then(|doc| doc.first()) {
            Some(line) if *line == ours => {}
            Some(line) => {
                differ(port.name, &format!("is \"{line}\" in the RTL, \"{ours}\" in Rust"))
            }
            None => differ(port.name, "has no documentation in the RTL"),
        }
    }
    for name in header.ports.keys().filter(|name| !COMMON.contains(&name.as_str())) {
        if !declared.iter().any(|port| port.name == name) {
            differ(name, "is a port of the RTL alone");
        }
    }
    differences
}

#[test]
fn ports_and_parameters_are_documented_in_the_same_words() {
    let mut units = pimlico_units::units();
    units.dedup_by_key(|unit| unit.module);
    let differences: Vec<String> = units
        .iter()
        .flat_map(|unit| differences(unit, &Header::read(unit.module, &source(unit.module))))
        .collect();
    assert!(
        differences.is_empty(),
        "{} differences:\n{}",
        differences.len(),
        differences.join("\n")
    );
}

#[test]
fn a_difference_is_found() {
    let unit = pimlico_units::units().into_iter().find(|unit| unit.module == "fp_max");
    let unit = unit.expect("fp_max is a unit");
    let source = source("fp_max");
    let differences = |from: &str, to: &str| {
        assert!(source.contains(from), "{from}");
        differences(&unit, &Header::read("fp_max", &source.replacen(from, to, 1)))
    };
    assert_eq!(differences("fp_max", "fp_max"), [""; 0]);
    assert_eq!(
        differences("/// First operand.", "/// Second operand."),
        ["fp_max.a_i is \"Second operand.\" in the RTL, \"First operand.\" in Rust"]
    );
    assert_eq!(
        differences("/// First operand.", "// First operand."),
        ["fp_max.a_i is not documented", "fp_max.a_i has no documentation in the RTL"]
    );
    assert_eq!(
        differences("/// Width of the exponent field.", "/// Its width."),
        ["fp_max.EXP_BITS does not name its object"]
    );
    assert_eq!(
        differences("/// Width of the exponent field.", "/// Width of the\n  /// exponent field."),
        ["fp_max.EXP_BITS does not end in its first line"]
    );
    assert_eq!(
        differences("parameter  int unsigned STAGES", "parameter  int unsigned LEVELS"),
        ["fp_max.STAGES is a parameter of the declaration alone"]
    );
    assert_eq!(differences("WIDTH-1:0] b_i", "WIDTH-1:0] c_i").len(), 2);
}

#[test]
fn the_table_of_the_rtl_has_every_module() {
    let text = text!("README.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let (mut listed, mut with_bench) = (BTreeSet::new(), BTreeSet::new());
    for row in rows {
        let (name, cells) = row.split_once("` |").expect("a row begins with a module");
        assert!(listed.insert(name.to_owned()), "{name} is listed twice");
        let checked = cells.trim_end_matches(" |").rsplit(" | ").next().expect("a last cell");
        if checked.starts_with("`cosim`") {
            let (_, module) = name.split_once('/').expect("a room");
            with_bench.insert(module.to_owned());
        }
    }
    assert_eq!(listed, modules().into_keys().collect());
    let units = pimlico_units::units().into_iter().map(|unit| unit.module.to_owned());
    assert_eq!(with_bench, units.collect());
}
