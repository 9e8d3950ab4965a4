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
use pimlico_units::bank::TreePu;
use pimlico_units::rank::PimChip;
use std::path::{Path, PathBuf};

/// The module that a design has many of, if it has one.
pub fn of(design: &str) -> Option<&'static str> {
    match design {
        "pim_module" | "pim_dimm" => Some("pim_chip"),
        "aim_channel" | "aim_hub" => Some("tree_pu"),
        _ => None,
    }
}

/// What is said to Verilator about a design that uses libraries: each has an output that depends on none of
/// the inputs it goes back to, which Verilator cannot know.
pub const USER: &str = r#"lint_off -rule UNOPTFLAT -file "*"
lint_off -file "*_library.sv"
tracing_off -file "*/arith/*.sv"
"#;

/// Of a module that has others many times: they are compiled once each.
const CONFIGURATION: &str = r#"`verilator_config
no_inline -module "bank_pu"
tracing_off -file "*"
"#;
/// Of one that has not.
const PLAIN: &str = "`verilator_config\ntracing_off -file \"*\"\n";

/// A library: a set of parameters of the module.
pub struct Library {
    unit: UnitInfo,
    /// Its name, and that of its folder.
    pub name: String,
    /// The module with flat ports around the one of the RTL, and its file.
    top: String,
    flat: PathBuf,
}

/// The libraries that designs use: chips with each format of sums, PUs of an AiM.
pub fn libraries(designs: &[UnitInfo], out: &Path) -> Vec<Library> {
    let units =
        [PimChip::<Binary16>::info(), PimChip::<Binary32>::info(), TreePu::<Binary16>::info()];
    let is_used = |unit: &UnitInfo| designs.iter().any(|it| of(it.module) == Some(unit.module));
    let library = |unit: UnitInfo| {
        // Verilator refuses two underscores in a row.
        let name = format!("{}_library", identifier(&unit).replace("__", "_"));
        let top = format!("{name}_flat");
        let flat = out.join(format!("{top}.sv"));
        Library { unit, name, top, flat }
    };
    units.into_iter().filter(is_used).map(library).collect()
}

impl Library {
    /// How Verilator makes it, and in which folder.
    pub fn job(&self, sources: &Sources) -> Result<(Module<'_>, String), String> {
        crate::write(&self.flat, self.flat());
        let mut sources = sources.of(self.unit.module)?;
        sources.push(self.flat.clone());
        let module = Module {
            name: self.top.clone(),
            configuration: if self.repeats() { CONFIGURATION } else { PLAIN }.to_owned(),
            repeats: self.repeats(),
            library: Some(&self.name),
            sources,
            ..Default::default()
        };
        Ok((module, self.name.clone()))
    }

    /// Whether it has another module many times.
    fn repeats(&self) -> bool {
        self.unit.module == "pim_chip"
    }

    fn flat(&self) -> String {
        let Self { unit, top, .. } = self;
        let module = unit.module;
        let set: Vec<String> = unit.parameters.iter().map(|(n, v)| format!(".{n}({v})")).collect();
        format!(
            "module {top} (\n{}\n);\n  {module} #({}) u_{module} ({});\nendmodule\n",
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
    let module = of(top).unwrap_or_default();
    let libraries: Vec<_> = libraries.iter().filter(|it| it.unit.module == module).collect();
    let chooser = out.join(format!("{module}_chosen_library.sv"));
    crate::write(&chooser, choose(&libraries));
    let wrappers = libraries.iter().map(|it| out.join(&it.name).join(format!("{}.sv", it.name)));
    let own = sources.of_without(top, module)?;
    Ok(own.into_iter().chain(wrappers).chain([chooser]).collect())
}

/// The module in place of the RTL's.
fn choose(libraries: &[&Library]) -> String {
    let Some(Library { unit, .. }) = libraries.first() else { return String::new() };
    let module = unit.module;
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
        "module {module} #({}) (\n{}\n);\n{choices}endmodule\n",
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
