// SPDX-License-Identifier: MIT
//! Units with two operands and no registers, several side by side in one Verilated module: what
//! makes it possible to try all pairs of operands.

use crate::binding;
use crate::inputs::Sources;
use crate::verilate::Module;
use pimlico_ports::{PortInfo, UnitInfo};
use std::path::Path;

/// Instances in a module. More than a few gain nothing.
const LANES: usize = 8;

/// Whether the unit is one of those.
pub fn has(unit: &UnitInfo) -> bool {
    let is = |port: &PortInfo, name| port.name == name && port.width == 16;
    unit.parameters.contains(&("STAGES", 0))
        && matches!(unit.inputs, [a, b] if is(a, "a_i") && is(b, "b_i"))
        && matches!(unit.outputs, [result] if is(result, "result_o"))
}

/// Name of the module.
pub fn identifier(unit: &UnitInfo) -> String {
    format!("{}_lanes", binding::identifier(unit))
}

/// How Verilator makes it.
pub fn job(
    unit: &UnitInfo,
    sources: &Sources,
    out: &Path,
) -> Result<(Module<'static>, String), String> {
    let name = identifier(unit);
    let file = out.join(format!("{name}.sv"));
    crate::write(&file, module(unit));
    let mut sources = sources.of(unit.module)?;
    sources.push(file);
    Ok((Module { name: name.clone(), sources, ..Default::default() }, name))
}

/// The module: one operand for all lanes, one for each.
pub fn module(unit: &UnitInfo) -> String {
    let parameters: Vec<String> =
        unit.parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    format!(
        r#"module {name} (
  input  logic [15:0]            a_i,
  input  logic [{lanes}-1:0][15:0] b_i,
  output logic [{lanes}-1:0][15:0] result_o
);
  for (genvar i = 0; i < {lanes}; i++) begin : gen_lane
    {module} #({parameters}) u_lane (
      .clk_i(1'b0), .rst_ni(1'b1), .a_i, .b_i(b_i[i]), .result_o(result_o[i])
    );
  end
endmodule
"#,
        name = identifier(unit),
        lanes = LANES,
        module = unit.module,
        parameters = parameters.join(", "),
    )
}

/// One translation unit: Verilator's output and its binding.
pub fn translation_unit(unit: &UnitInfo, dir: &Path) -> String {
    let name = identifier(unit);
    format!(
        r#"{includes}#include "pimlico.h"

extern "C" const PimlicoLanes pimlico_{name} = pimlico::lanes<V{name}>("{unit}");
"#,
        includes = binding::includes(dir),
        unit = unit.name
    )
}

/// The table of all of them.
pub fn table(units: &[UnitInfo]) -> String {
    let names: Vec<String> = units.iter().filter(|unit| has(unit)).map(identifier).collect();
    let declare = |n| format!("extern \"C\" const PimlicoLanes pimlico_{n};\n");
    let declarations: String = names.iter().map(declare).collect();
    let entries: String = names.iter().map(|n| format!("    &pimlico_{n},\n")).collect();
    format!(
        r#"
{declarations}
extern "C" const PimlicoLanes* const pimlico_lanes[] = {{
{entries}    nullptr,
}};
"#
    )
}
