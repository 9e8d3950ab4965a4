// SPDX-License-Identifier: MIT
//! Units with two operands and no registers, several side by side in one Verilated module: what
//! makes it possible to try all pairs of operands.

use super::inputs::Sources;
use super::verilate::Module;
use super::{BuildError, binding};
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
pub fn module(
    unit: &UnitInfo,
    top: &str,
    parameters: &[(String, i64)],
    sources: &Sources,
) -> Result<Module<'static>, BuildError> {
    let name = identifier(unit);
    Ok(Module {
        name: name.clone(),
        prefix: name.clone(),
        sources: sources.of(top)?,
        generated: vec![(format!("{name}.sv"), text(&name, top, parameters))],
        is_own: sources.has_own(),
        ..Default::default()
    })
}

/// The module: one operand for all lanes, one for each.
fn text(name: &str, top: &str, parameters: &[(String, i64)]) -> String {
    let parameters: Vec<String> =
        parameters.iter().map(|(name, value)| format!(".{name}({value})")).collect();
    format!(
        r#"module {name} (
  input  logic [15:0]            a_i,
  input  logic [{lanes}-1:0][15:0] b_i,
  output logic [{lanes}-1:0][15:0] result_o
);
  for (genvar i = 0; i < {lanes}; i++) begin : gen_lane
    {top} #({parameters}) u_lane (
      .clk_i(1'b0), .rst_ni(1'b1), .a_i, .b_i(b_i[i]), .result_o(result_o[i])
    );
  end
endmodule
"#,
        lanes = LANES,
        parameters = parameters.join(", "),
    )
}

/// One translation unit: Verilator's output in `folder`, and its binding.
pub fn translation_unit(unit: &UnitInfo, folder: &Path) -> Result<String, BuildError> {
    Ok(format!(
        r#"{includes}#include "pimlico.h"

PIMLICO_SHOWN const PimlicoLanes pimlico_lanes = pimlico::lanes<V{name}>();
"#,
        includes = binding::includes(folder)?,
        name = identifier(unit),
    ))
}
