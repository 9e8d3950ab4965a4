// SPDX-License-Identifier: MIT
//! A module of which a design has many instances, Verilated once, as a library.
//!
//! Verilator makes C++ of every instance of a module anew, as far as it finds them different: of a rank with
//! 128 bank PUs 32 MB for each set of parameters, which take 50 s to make and 150 s to compile. A chip by
//! itself takes 6 and 15 s, and a rank around eight of a library's chips 2 and 20 s.
//!
//! The design sees a module of the same name, in place of the one in the RTL, that chooses a library by its
//! parameters. A library's ports are vectors: the wrapper that Verilator makes has no types of a package.

use crate::binding::{self, identifier};
use crate::inputs::Sources;
use crate::verilate::Module;
use pimlico_ports::{PortInfo, Unit, UnitInfo};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::rank::PimChip;
use std::path::{Path, PathBuf};

/// The module that is a library.
pub const MODULE: &str = "pim_chip";

/// What is said to Verilator about a design that uses libraries: each has an output that depends on none of
/// the inputs it goes back to, which Verilator cannot know.
pub const USER: &str = r#"lint_off -rule UNOPTFLAT -file "*"
lint_off -file "*_library.sv"
tracing_off -file "*/arith/*.sv"
"#;

const CONFIGURATION: &str = r#"`verilator_config
no_inline -module "bank_pu"
tracing_off -file "*"
"#;

/// A library: a set of parameters of the module.
pub struct Library {
    unit: UnitInfo,
    /// Its name, and that of its folder.
    pub name: String,
    /// The module with flat ports around the one of the RTL, and its file.
    top: String,
    flat: PathBuf,
}

/// The libraries: chips with each format of sums.
pub fn libraries(out: &Path) -> Vec<Library> {
    let units = [PimChip::<Binary16>::info(), PimChip::<Binary32>::info()];
    let library = |unit: UnitInfo| {
        // Verilator refuses two underscores in a row.
        let name = format!("{}_library", identifier(&unit).replace("__", "_"));
        let top = format!("{name}_flat");
        let flat = out.join(format!("{top}.sv"));
        Library { unit, name, top, flat }
    };
    units.map(library).into()
}

impl Library {
    /// How Verilator makes it, and in which folder.
    pub fn job(&self, sources: &Sources) -> Result<(Module<'_>, String), String> {
        crate::write(&self.flat, self.flat());
        let mut sources = sources.of(MODULE)?;
        sources.push(self.flat.clone());
        let module = Module {
            name: self.top.clone(),
            configuration: CONFIGURATION.to_owned(),
            library: Some(&self.name),
            sources,
            ..Default::default()
        };
        Ok((module, self.name.clone()))
    }

    fn flat(&self) -> String {
        let Self { unit, top, .. } = self;
        let set: Vec<String> = unit.parameters.iter().map(|(n, v)| format!(".{n}({v})")).collect();
        format!(
            "module {top} (\n{}\n);\n  {MODULE} #({}) u_{MODULE} ({});\nendmodule\n",
            declarations(unit),
            set.join(", "),
            connections(unit),
        )
    }

    /// One translation unit: what Verilator has made.
    pub fn translation_unit(&self, dir: &Path) -> String {
        format!("{}#include \"{}.cpp\"\n", binding::includes(dir), self.name)
    }
}

/// The sources of the design `top` that uses `libraries`, in place of those of the module.
pub fn sources(
    top: &str,
    sources: &Sources,
    libraries: &[Library],
    out: &Path,
) -> Result<Vec<PathBuf>, String> {
    let chooser = out.join(format!("{MODULE}_chosen_library.sv"));
    crate::write(&chooser, choose(libraries));
    let wrappers = libraries.iter().map(|it| out.join(&it.name).join(format!("{}.sv", it.name)));
    let own = sources.of_without(top, MODULE)?;
    Ok(own.into_iter().chain(wrappers).chain([chooser]).collect())
}

/// The module in place of the RTL's.
fn choose(libraries: &[Library]) -> String {
    let Some(Library { unit, .. }) = libraries.first() else { return String::new() };
    let parameters: Vec<String> =
        unit.parameters.iter().map(|(name, v)| format!("parameter int {name} = {v}")).collect();
    let choices: String = libraries
        .iter()
        .map(|Library { unit, name, .. }| {
            let set: Vec<String> =
                unit.parameters.iter().map(|(name, value)| format!("{name} == {value}")).collect();
            let (set, ports) = (set.join(" && "), connections(unit));
            format!("  if ({set}) begin : gen_{name}\n    {name} u_library ({ports});\n  end\n")
        })
        .collect();
    format!(
        "module {MODULE} #({}) (\n{}\n);\n{choices}endmodule\n",
        parameters.join(", "),
        declarations(unit),
    )
}

fn declarations(unit: &UnitInfo) -> String {
    let declare = |direction: &str, ports: &[PortInfo]| -> Vec<String> {
        let declare =
            |port: &PortInfo| format!("  {direction} logic [{}:0] {}", port.width - 1, port.name);
        ports.iter().map(declare).collect()
    };
    let clock = vec!["  input logic clk_i".to_owned(), "  input logic rst_ni".to_owned()];
    [clock, declare("input", unit.inputs), declare("output", unit.outputs)].concat().join(",\n")
}

fn connections(unit: &UnitInfo) -> String {
    let ports = unit.inputs.iter().chain(unit.outputs).map(|port| port.name);
    let names = ["clk_i", "rst_ni"].into_iter().chain(ports);
    names.map(|name| format!(".{name}({name})")).collect::<Vec<_>>().join(", ")
}
