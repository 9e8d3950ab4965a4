// SPDX-License-Identifier: MIT
//! The C++ that binds a Verilated module: see `shim/pimlico.h` for what it implements.

use pimlico_ports::{PortInfo, UnitInfo};
use std::fmt::Write;
use std::path::Path;

/// The unit's name as a C++ identifier.
pub fn identifier(unit: &UnitInfo) -> String {
    unit.name.replace(':', "__")
}

/// What stands before the names of the probed registers in Verilator's root class.
pub fn scope(unit: &UnitInfo) -> String {
    match unit.probed.1 {
        "" => format!("{}__DOT__", unit.module),
        path => format!("{}__DOT__{path}__DOT__", unit.module),
    }
}

/// Whether an input is a clock beside `clk_i`: 1 where it has an edge with that of `clk_i`.
fn is_clock(port: &PortInfo) -> bool {
    port.name.starts_with("clk_") && port.name.ends_with("_i")
}

/// One translation unit: Verilator's output for the unit and its binding.
pub fn translation_unit(unit: &UnitInfo, dir: &Path) -> String {
    let name = identifier(unit);
    let mut text = includes(dir);
    let class = format!("V{name}");
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
    let memories = crate::verilate::has_rank(unit.module);
    let outputs = ports(unit.outputs, "pimlico::put", "");
    let probes = ports(unit.probes, "pimlico::put", &format!("rootp->{}", scope(unit)));
    let _ = write!(
        text,
        r#"#include "pimlico.h"

namespace {{
struct Ports {{
  using Model = {class};
  static constexpr bool kHasMemories = {memories};
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

extern "C" const PimlicoUnit pimlico_unit_{name} = pimlico::unit<Ports>("{}");
"#,
        unit.name
    );
    text
}

/// Includes what Verilator generated in `dir`.
pub fn includes(dir: &Path) -> String {
    let mut generated: Vec<String> = std::fs::read_dir(dir)
        .expect("verilator wrote there")
        .map(|entry| entry.expect("a readable folder").file_name().to_string_lossy().into_owned())
        .filter(|file| file.starts_with('V') && file.ends_with(".cpp"))
        .collect();
    generated.sort();
    generated.iter().map(|file| format!("#include \"{file}\"\n")).collect()
}

/// The table of all units.
pub fn table(units: &[UnitInfo]) -> String {
    let names: Vec<String> = units.iter().map(identifier).collect();
    let declarations: String = names
        .iter()
        .map(|n| format!("extern \"C\" const PimlicoUnit pimlico_unit_{n};\n"))
        .collect();
    let entries: String = names.iter().map(|n| format!("    &pimlico_unit_{n},\n")).collect();
    format!(
        r#"#include "pimlico.h"

{declarations}
extern "C" const PimlicoUnit* const pimlico_units[] = {{
{entries}    nullptr,
}};
"#
    )
}
