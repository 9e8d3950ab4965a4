// SPDX-License-Identifier: MIT
//! A module of which a design has many instances, Verilated once, as a library.
//!
//! Verilator makes C++ of every instance of a module anew, as far as it finds them different: of a rank with
//! 128 bank PUs 32 MB for each set of parameters, which take 50 s to make and 150 s to compile. A chip by
//! itself takes 6 and 15 s, and a rank around eight of a library's chips 2 and 20 s. Of a channel of NeuPIMs, row
//! buffers, PUs and the controller are libraries: it is the same whatever banks there are.
//!
//! The design sees a module of the same name, in place of the one in the RTL, that chooses a library by its
//! parameters. A library's ports are vectors: the wrapper that Verilator makes has no types of a package.
//!
//! What is a library for designs is not made again for its own bench, which is bound to the same object.

use super::BuildError;
use super::binding::{self, identifier};
use super::designs::{libraries_of, repeated};
use super::inputs::Sources;
use super::verilate::{self, Module};
use pimlico_ports::{PortInfo, Unit, UnitInfo};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::bank::TreePu;
use pimlico_units::channel::ChannelController;
use pimlico_units::channel::pim_channel::{BankRows, ChannelPu};
use pimlico_units::rank::PimChip;
use std::path::{Path, PathBuf};

/// A library: a set of parameters of the module.
pub struct Library {
    unit: UnitInfo,
    /// Its name, and that of its wrapper, `NAME.sv`.
    pub name: String,
    /// The module with flat ports around the one of the RTL.
    top: String,
}

/// The units that designs use as libraries.
fn units() -> [UnitInfo; 7] {
    [
        PimChip::<Binary16>::info(),
        PimChip::<Binary32>::info(),
        TreePu::<Binary16>::info(),
        ChannelController::<32, 32>::info(),
        <ChannelPu<Binary16>>::info(),
        <ChannelPu<Binary32>>::info(),
        BankRows::info(),
    ]
}

/// The libraries that `design` with these parameters uses: those with its format of sums.
pub fn libraries(design: &str, parameters: &[(String, i64)]) -> Vec<Library> {
    let has = |(name, value): &(&str, i64)| {
        parameters.iter().all(|(other, given)| other != name || given == value)
    };
    let is_used = |unit: &UnitInfo| {
        libraries_of(design).contains(&unit.module) && unit.parameters.iter().all(has)
    };
    units().into_iter().filter(is_used).map(Library::new).collect()
}

/// The library that designs use as this unit, if there is one.
pub fn that_is(unit: &UnitInfo) -> Option<Library> {
    units().into_iter().find(|library| library.name == unit.name).map(Library::new)
}

impl Library {
    fn new(unit: UnitInfo) -> Self {
        // Verilator refuses two underscores in a row.
        let name = format!("{}_library", identifier(&unit).replace("__", "_"));
        Self { unit, top: format!("{name}_flat"), name }
    }

    /// How Verilator makes it.
    pub fn module(&self, sources: &Sources) -> Result<Module<'_>, BuildError> {
        Ok(Module {
            name: self.top.clone(),
            prefix: self.name.clone(),
            configuration: verilate::probe_configuration(&self.unit),
            repeats: repeated(self.unit.module).is_some(),
            library: Some(&self.name),
            sources: sources.of(self.unit.module)?,
            generated: vec![(format!("{}.sv", self.top), self.flat())],
            is_own: sources.has_own(),
            ..Default::default()
        })
    }

    /// Where the unit is in it, as a module's name is where it is by itself.
    pub fn place(&self) -> String {
        format!("{}__DOT__u_{}", self.top, self.unit.module)
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

    /// One translation unit: what Verilator has made in `folder`.
    pub fn translation_unit(&self, folder: &Path) -> Result<String, BuildError> {
        Ok(format!("{}#include \"{}.cpp\"\n", binding::includes(folder)?, self.name))
    }
}

/// The sources of the design `top`, but for the modules of which it uses libraries.
pub fn sources_of(top: &str, sources: &Sources) -> Result<Vec<PathBuf>, BuildError> {
    sources.of_without(top, libraries_of(top))
}

/// What stands in place of those modules, with the names of its files.
pub fn choosers(libraries: &[Library]) -> impl Iterator<Item = (String, String)> {
    let of_module = libraries.chunk_by(|library, next| library.unit.module == next.unit.module);
    of_module.map(|libraries| {
        (format!("{}_chosen_library.sv", libraries[0].unit.module), choose(libraries))
    })
}

/// The module in place of the RTL's.
fn choose(libraries: &[Library]) -> String {
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
