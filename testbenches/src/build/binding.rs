// SPDX-License-Identifier: MIT
//! The C++ that binds a Verilated module: see `shim/pimlico.h` for what it implements.

use super::BuildError;
use super::designs;
use pimlico_ports::{PortInfo, UnitInfo};
use std::path::Path;

/// The unit's name as a C++ identifier.
pub fn identifier(unit: &UnitInfo) -> String {
    unit.name.replace(':', "__")
}

/// What stands before the names of the probed registers in Verilator's root class; `place` is the unit's in it.
pub fn scope(unit: &UnitInfo, place: &str) -> String {
    match unit.probed.1 {
        "" => format!("{place}__DOT__"),
        path => format!("{place}__DOT__{path}__DOT__"),
    }
}

/// Whether an input is a clock beside `clk_i`: 1 where it has an edge with that of `clk_i`.
fn is_clock(port: &PortInfo) -> bool {
    port.name.starts_with("clk_") && port.name.ends_with("_i")
}

/// Where a unit is in what Verilator has made.
pub struct Model<'a> {
    /// What the names of the classes have behind their `V`.
    pub prefix: &'a str,
    /// Its place in the root class: of a top module its name.
    pub place: &'a str,
    /// Its waveforms can be written.
    pub is_traced: bool,
}

/// The text that binds a model, behind its code or its headers, as the unit; without registers to probe their words are 0.
pub fn text(unit: &UnitInfo, model: &Model<'_>, has_probes: bool) -> String {
    let Model { prefix, place, is_traced } = model;
    let ports = |ports: &[PortInfo], call: &str, of: &str| {
        ports
            .iter()
            .map(|p| format!("    {call}(top.{of}{}, words);\n", p.name))
            .collect::<String>()
    };
    let inputs: String = unit
        .inputs
        .iter()
        .map(|p| {
            let of = if is_clock(p) { "clocks" } else { "top" };
            format!("    pimlico::take({of}.{}, words);\n", p.name)
        })
        .collect();
    let each_clock = |line: &dyn Fn(&str) -> String| -> String {
        unit.inputs.iter().filter(|p| is_clock(p)).map(|p| line(p.name)).collect()
    };
    let clocks = each_clock(&|clock| format!("    CData {clock} = 0;\n"));
    let lower = each_clock(&|clock| format!("    top.{clock} = 0;\n"));
    let raise = each_clock(&|clock| format!("    top.{clock} = clocks.{clock};\n"));
    let memories = designs::has_rank(unit.module);
    let outputs = ports(unit.outputs, "pimlico::put", "");
    let begins_with_zeros = designs::begins_with_zeros(unit.module);
    let probes = if has_probes { unit.probes } else { &[] };
    let probes = ports(probes, "pimlico::put", &format!("rootp->{}", scope(unit, place)));
    format!(
        r#"#include "pimlico.h"

namespace {{
struct Ports {{
  using Model = V{prefix};
  static constexpr bool kBeginsWithZeros = {begins_with_zeros};
  static constexpr bool kHasMemories = {memories};
  static constexpr bool kIsTraced = {is_traced};
  struct Clocks {{
{clocks}  }};
  static void inputs([[maybe_unused]] Model& top, [[maybe_unused]] Clocks& clocks,
                     [[maybe_unused]] const uint32_t* words) {{
{inputs}  }}
  static void lower([[maybe_unused]] Model& top) {{
{lower}  }}
  static void raise([[maybe_unused]] Model& top, [[maybe_unused]] const Clocks& clocks) {{
{raise}  }}
  static void outputs(Model& top, [[maybe_unused]] uint32_t* words) {{
{outputs}{probes}  }}
}};
}}  // namespace

PIMLICO_SHOWN const PimlicoUnit pimlico_unit = pimlico::unit<Ports>();
"#
    )
}

/// Includes the headers of a model whose code is compiled elsewhere.
pub fn headers(prefix: &str) -> String {
    format!("#include \"V{prefix}.h\"\n#include \"V{prefix}___024root.h\"\n")
}

/// Includes what Verilator generated in `folder`. What runs once for an instance is compiled without optimisation, as
/// Verilator's own makefiles do, and in a debug build what writes waveforms: together they are more than half of the text.
pub fn includes(folder: &Path) -> Result<String, BuildError> {
    let failed = BuildError::file(folder);
    let entries = std::fs::read_dir(folder).map_err(&failed)?;
    let names =
        entries.map(|entry| Ok(entry.map_err(&failed)?.file_name().to_string_lossy().into_owned()));
    let mut generated = names.collect::<Result<Vec<String>, BuildError>>()?;
    generated.retain(|file| file.starts_with('V') && file.ends_with(".cpp"));
    generated.sort();
    let is_slow = |file: &String| {
        let is_trace = cfg!(debug_assertions) && file.contains("__Trace__");
        is_trace || file.ends_with("__Slow.cpp") || file.ends_with("__Syms.cpp")
    };
    let (slow, fast): (Vec<_>, Vec<_>) = generated.into_iter().partition(is_slow);
    let include = |files: Vec<String>| -> String {
        files.iter().map(|file| format!("#include \"{file}\"\n")).collect()
    };
    Ok(format!(
        "{}#pragma GCC push_options\n#pragma GCC optimize (\"O0\")\n{}#pragma GCC pop_options\n",
        include(fast),
        include(slow)
    ))
}
