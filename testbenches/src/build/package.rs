// SPDX-License-Identifier: MIT
//! The structs and enums of the RTL's package, and their comparison with those of `hw-models`.
//!
//! Names are read from the package's text. Widths, the place of each field and the code of each item come
//! from Verilator, which elaborates a module that prints them, so that whatever the package computes them
//! from is the same as in the RTL.

use super::source::{self, Typedef};
use pimlico_ports::{PortInfo, Shape, UnitInfo};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, iter};

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;

/// File of the package.
const FILE: &str = "pimlico_pkg.sv";
/// Name of the package.
const PACKAGE: &str = "pimlico_pkg";
/// What a line that Verilator prints for us begins with.
const MARK: &str = "pimlico_types:";

/// What differs between the structs and enums of `hw-models`, those on the ports of `units` and `others`,
/// and the package among `sources`, a line each; `dir` is for a file in between.
pub fn differences(
    units: &[UnitInfo],
    others: &[Shape],
    sources: &[PathBuf],
    dir: &Path,
) -> Result<Vec<String>, String> {
    let mut differences = Vec::new();
    let ports = units.iter().flat_map(ports).map(|(_, port)| port.shape);
    let types = types(ports.chain(others.iter().copied()), &mut differences);
    let package = sources.iter().find(|file| file.ends_with(FILE));
    let package = package.ok_or_else(|| format!("{FILE} is not among the sources of the RTL"))?;
    let text = read(package)?;
    let declared = source::typedefs(&source::words(&text));

    let mut named_alike = BTreeMap::new();
    for (name, shape) in &types {
        let before = differences.len();
        compare_names(name, shape, &declared, &mut differences);
        if differences.len() == before {
            named_alike.insert(*name, *shape);
        }
    }
    for (name, _) in declared.iter().filter(|(name, _)| !types.contains_key(name)) {
        differences.push(format!("{name} is missing in hw-models"));
    }
    match measure(&named_alike, package, dir) {
        Ok(measures) => compare_measures(&named_alike, &measures, &mut differences)?,
        // Verilator may stop at what is known already.
        Err(_) if !differences.is_empty() => {}
        Err(error) => return Err(error),
    }
    let names: Vec<&str> = declared.iter().map(|(name, _)| *name).collect();
    for unit in units {
        compare_ports(unit, &names, sources, &mut differences)?;
    }
    Ok(differences)
}

/// The ports and probed registers of a unit, each with the module that declares it.
fn ports(unit: &UnitInfo) -> impl Iterator<Item = (&'static str, &'static PortInfo)> {
    let own = unit.inputs.iter().chain(unit.outputs).zip(iter::repeat(unit.module));
    let probed = unit.probes.iter().zip(iter::repeat(unit.probed.0));
    own.chain(probed).map(|(port, module)| (module, port))
}

/// All structs and enums, by name.
fn types(
    shapes: impl Iterator<Item = Shape>,
    differences: &mut Vec<String>,
) -> BTreeMap<&'static str, Shape> {
    let mut types = BTreeMap::new();
    for shape in shapes {
        shape.for_each(&mut |shape| {
            let (Shape::Struct { name, .. } | Shape::Enum { name, .. }) = *shape else { return };
            if *types.entry(name).or_insert(*shape) != *shape {
                let difference = format!("{name} is two different types in hw-models");
                if !differences.contains(&difference) {
                    differences.push(difference);
                }
            }
        });
    }
    types
}

/// The name of a struct or an enum, or of an array of them.
fn name_of(shape: &Shape) -> Option<&'static str> {
    match shape {
        Shape::Struct { name, .. } | Shape::Enum { name, .. } => Some(name),
        Shape::Array(element, _) => name_of(element),
        Shape::Bits(_) | Shape::Number { .. } => None,
    }
}

/// Compares which fields or items a type has, and which type a field is of.
fn compare_names(
    name: &str,
    shape: &Shape,
    declared: &[(&str, Typedef<'_>)],
    differences: &mut Vec<String>,
) {
    let types: Vec<&str> = declared.iter().map(|(name, _)| *name).collect();
    let rtl = declared.iter().find(|(declared, _)| *declared == name).map(|(_, typedef)| typedef);
    match (shape, rtl) {
        (Shape::Struct { fields, .. }, Some(Typedef::Struct(rtl))) => {
            let own: Vec<&str> = fields.iter().map(|(field, _)| *field).collect();
            let theirs: Vec<&str> = rtl.iter().map(|(_, field)| *field).collect();
            if own != theirs {
                differences.push(format!(
                    "struct {name} has the fields {} in hw-models, {} in rtl",
                    own.join(", "),
                    theirs.join(", ")
                ));
                return;
            }
            for ((field, shape), (kind, _)) in fields.iter().zip(rtl) {
                let what = format!("struct {name}: {field}");
                compare_types(&what, shape, kind, &types, differences);
            }
        }
        (Shape::Enum { items, .. }, Some(Typedef::Enum(rtl))) => {
            let own: Vec<&str> = items.iter().map(|(item, _)| *item).collect();
            let mut missing = |of: &[&str], from: &[&str], side| {
                for item in of.iter().filter(|item| !from.contains(item)) {
                    differences.push(format!("enum {name}: {item} is missing in {side}"));
                }
            };
            missing(&own, rtl, "rtl");
            missing(rtl, &own, "hw-models");
        }
        (Shape::Struct { .. }, Some(Typedef::Enum(_))) => {
            differences.push(format!("{name} is a struct in hw-models, an enum in rtl"));
        }
        (Shape::Enum { .. }, Some(Typedef::Struct(_))) => {
            differences.push(format!("{name} is an enum in hw-models, a struct in rtl"));
        }
        _ => differences.push(format!("{name} is missing in {FILE}")),
    }
}

/// Compares the type of a field or a port with what it is declared as in the RTL; `types` are the package's.
fn compare_types(
    what: &str,
    shape: &Shape,
    rtl: &str,
    types: &[&str],
    differences: &mut Vec<String>,
) {
    let own = name_of(shape);
    if own != Some(rtl) && (own.is_some() || types.contains(&rtl)) {
        let own = own.map_or_else(|| format!("{} bits", shape.width()), str::to_owned);
        differences.push(format!("{what} is {own} in hw-models, {rtl} in rtl"));
    }
}

/// Compares the type of each port with what stands in the unit's source.
fn compare_ports(
    unit: &UnitInfo,
    types: &[&str],
    sources: &[PathBuf],
    differences: &mut Vec<String>,
) -> Result<(), String> {
    let mut texts = BTreeMap::new();
    for (module, _) in ports(unit) {
        let file = sources.iter().find(|file| file.file_stem().is_some_and(|stem| stem == module));
        let file =
            file.ok_or_else(|| format!("{module}.sv is not among the sources of the RTL"))?;
        if !texts.contains_key(module) {
            texts.insert(module, read(file)?);
        }
    }
    let words: BTreeMap<_, _> =
        texts.iter().map(|(module, text)| (*module, source::words(text))).collect();
    for (module, port) in ports(unit) {
        // One that is not there is reported where names and widths are compared.
        if let Some(rtl) = source::declared_type(&words[module], port.name) {
            let what = format!("{}: {}", unit.name, port.name);
            let own = source::declared_names(&words[module]);
            let types: Vec<&str> =
                types.iter().copied().filter(|name| !own.contains(name)).collect();
            let rtl = if own.contains(&rtl) { "a type of its own" } else { rtl };
            compare_types(&what, &port.shape, rtl, &types, differences);
        }
    }
    Ok(())
}

/// What Verilator says of types: lines of words, the last of which is a value.
type Measures = BTreeMap<String, String>;

/// Compares widths, places and codes.
fn compare_measures(
    types: &BTreeMap<&'static str, Shape>,
    measures: &Measures,
    differences: &mut Vec<String>,
) -> Result<(), String> {
    let rtl =
        |what: &str| measures.get(what).ok_or_else(|| format!("verilator does not say: {what}"));
    for (name, shape) in types {
        let (own, theirs) = (shape.width().to_string(), rtl(&format!("width {name}"))?);
        if own != *theirs {
            differences.push(format!("{name} is {own} bits wide in hw-models, {theirs} in rtl"));
        }
        match shape {
            Shape::Struct { fields, .. } => {
                let mut lsb = shape.width();
                for (field, shape) in *fields {
                    lsb -= shape.width();
                    let own = range(lsb, shape.width());
                    let theirs = range_of_ones(rtl(&format!("field {name} {field}"))?);
                    if own != theirs {
                        differences.push(format!(
                            "struct {name}: {field} is {own} in hw-models, {theirs} in rtl"
                        ));
                    }
                }
            }
            Shape::Enum { items, .. } => {
                let count = rtl(&format!("items {name}"))?;
                if *count != items.len().to_string() {
                    differences.push(format!(
                        "enum {name} has {} items in hw-models, {count} in rtl",
                        items.len()
                    ));
                }
                for (item, code) in *items {
                    let theirs = rtl(&format!("item {name} {item}"))?;
                    if *theirs != code.to_string() {
                        differences.push(format!(
                            "enum {name}: {item} is {code} in hw-models, {theirs} in rtl"
                        ));
                    }
                }
            }
            Shape::Bits(_) | Shape::Number { .. } | Shape::Array(..) => {}
        }
    }
    Ok(())
}

fn range(lsb: u32, width: u32) -> String {
    format!("[{}:{lsb}]", lsb + width - 1)
}

/// The bits that are set in a hexadecimal number.
fn range_of_ones(hex: &str) -> String {
    let digits = hex.chars().rev().filter_map(|digit| digit.to_digit(16));
    let bits = digits.flat_map(|digit| (0..4).map(move |bit| digit >> bit & 1 == 1));
    let ones: Vec<u32> = bits.zip(0..).filter(|(bit, _)| *bit).map(|(_, at)| at).collect();
    ones.first().map_or_else(|| "no bit".to_owned(), |lsb| range(*lsb, ones.len() as u32))
}

/// Has Verilator elaborate `types` of `package`.
fn measure(
    types: &BTreeMap<&'static str, Shape>,
    package: &Path,
    dir: &Path,
) -> Result<Measures, String> {
    let file = dir.join("pimlico_types.sv");
    fs::write(&file, module(types)).map_err(|e| format!("{}: {e}", file.display()))?;
    let output = Command::new("verilator")
        .args(["--lint-only", "-Wno-fatal", "-Wno-ENUMVALUE", "--top-module", "pimlico_types"])
        .args([package, &file])
        .output()
        .map_err(|e| format!("cannot run verilator: {e}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("verilator rejects {}:\n{text}", package.display()));
    }
    let said = text.lines().filter_map(|line| Some(line.split_once(MARK)?.1.trim()));
    let measures = said.filter_map(|line| line.rsplit_once(' '));
    Ok(measures.map(|(what, value)| (what.to_owned(), value.to_owned())).collect())
}

/// A module that prints the measures of `types` where it is elaborated.
fn module(types: &BTreeMap<&'static str, Shape>) -> String {
    let mut text = "module pimlico_types;\n".to_owned();
    for (name, shape) in types {
        let sv = format!("{PACKAGE}::{name}");
        let _ = writeln!(text, "  $info(\"{MARK} width {name} %0d\", $bits({sv}));");
        match shape {
            Shape::Struct { fields, .. } => {
                for (field, _) in *fields {
                    let _ = write!(
                        text,
                        "  function automatic logic [$bits({sv})-1:0] {name}__{field}();
    {sv} value;
    value = '0;
    value.{field} = '1;
    return value;
  endfunction
  $info(\"{MARK} field {name} {field} %h\", {name}__{field}());
"
                    );
                }
            }
            Shape::Enum { items, .. } => {
                let _ = writeln!(text, "  {sv} {name}__item;");
                let _ = writeln!(text, "  $info(\"{MARK} items {name} %0d\", {name}__item.num());");
                for (item, _) in *items {
                    let _ = writeln!(
                        text,
                        "  $info(\"{MARK} item {name} {item} %0d\", 64'({PACKAGE}::{item}));"
                    );
                }
            }
            Shape::Bits(_) | Shape::Number { .. } | Shape::Array(..) => {}
        }
    }
    text + "endmodule\n"
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}
