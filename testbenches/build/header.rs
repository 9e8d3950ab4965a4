// SPDX-License-Identifier: MIT
//! The ports of a Verilated module, read from its header, and their comparison with a declaration.

use pimlico_ports::{PortInfo, UnitInfo};
use std::collections::BTreeMap;
use std::path::Path;

/// Names and widths of what a Verilated module has.
#[derive(Debug, Default)]
pub struct Verilated {
    inputs: BTreeMap<String, u32>,
    outputs: BTreeMap<String, u32>,
    registers: BTreeMap<String, u32>,
}

impl Verilated {
    /// Reads the headers that Verilator left in `dir`.
    pub fn read(dir: &Path, name: &str, scope: &str) -> Self {
        let read = |file: String| {
            let path = dir.join(file);
            std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        Self::parse(&read(format!("V{name}.h")), &read(format!("V{name}___024root.h")), scope)
    }

    /// Reads the text of the model's header and of its root's header.
    pub fn parse(model: &str, root: &str, scope: &str) -> Self {
        let mut verilated = Self::default();
        for line in model.lines().map(str::trim) {
            // For example VL_IN64(&row_i,63,0); and VL_OUTW(&lanes_o,127,0,4);
            let (ports, rest) = if let Some(rest) = line.strip_prefix("VL_IN") {
                (&mut verilated.inputs, rest)
            } else if let Some(rest) = line.strip_prefix("VL_OUT") {
                (&mut verilated.outputs, rest)
            } else {
                continue;
            };
            let Some((_, arguments)) = rest.split_once("(&") else { continue };
            let mut arguments = arguments.split([',', ')']);
            let (Some(name), Some(msb)) = (arguments.next(), arguments.next()) else { continue };
            if let Ok(msb) = msb.parse::<u32>() {
                ports.insert(name.to_owned(), msb + 1);
            }
        }
        for line in root.lines().map(str::trim) {
            // For example QData/*63:0*/ bank_pu__DOT__acc_q;
            let Some((_, rest)) = line.split_once("/*") else { continue };
            let Some((range, name)) = rest.split_once("*/ ") else { continue };
            let Some(name) = name.trim_end_matches(';').strip_prefix(scope) else { continue };
            let Some((msb, _)) = range.split_once(':') else { continue };
            if let Ok(msb) = msb.parse::<u32>() {
                verilated.registers.insert(name.to_owned(), msb + 1);
            }
        }
        verilated
    }

    /// What differs from a unit's declaration, a line each.
    pub fn differences(&self, unit: &UnitInfo) -> Vec<String> {
        let mut differences = Vec::new();
        let mut inputs = self.inputs.clone();
        for clock in ["clk_i", "rst_ni"] {
            if inputs.remove(clock) != Some(1) {
                differences.push(format!("input {clock} (1 bit) is missing in rtl"));
            }
        }
        compare("input", &inputs, unit.inputs, true, &mut differences);
        compare("output", &self.outputs, unit.outputs, true, &mut differences);
        compare("register", &self.registers, unit.probes, false, &mut differences);
        differences
    }
}

/// Compares one direction; `complete` asks that the RTL has no more than what is declared.
fn compare(
    kind: &str,
    rtl: &BTreeMap<String, u32>,
    declared: &[PortInfo],
    complete: bool,
    differences: &mut Vec<String>,
) {
    for port in declared {
        match rtl.get(port.name) {
            None => differences.push(format!("{kind} {} is missing in rtl", port.name)),
            Some(&width) if width != port.width => differences.push(format!(
                "{kind} {} is {} bits wide in hw-models, {width} in rtl",
                port.name, port.width
            )),
            Some(_) => {}
        }
    }
    if complete {
        for name in rtl.keys().filter(|name| declared.iter().all(|port| port.name != **name)) {
            differences.push(format!("{kind} {name} is missing in hw-models"));
        }
    }
}
