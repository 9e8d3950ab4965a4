// SPDX-License-Identifier: MIT
//! The ports of a Verilated module, read from its header, and their comparison with a declaration.

use super::BuildError;
use pimlico_ports::{PortInfo, UnitInfo};
use std::collections::BTreeMap;
use std::path::Path;

/// Where a port goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Input,
    Output,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }
}

/// Names and widths of what a Verilated module has.
#[derive(Debug, Default)]
pub struct Verilated {
    ports: BTreeMap<String, (Direction, u32)>,
    registers: BTreeMap<String, u32>,
}

impl Verilated {
    /// Reads the headers that Verilator left in `folder`.
    pub fn read(folder: &Path, name: &str, scope: &str) -> Result<Self, BuildError> {
        let read = |file: String| {
            let path = folder.join(file);
            std::fs::read_to_string(&path).map_err(BuildError::file(&path))
        };
        let model = read(format!("V{name}.h"))?;
        let root = read(format!("V{name}___024root.h"))?;
        Ok(Self::parse(&model, &root, scope))
    }

    /// Reads the text of the model's header and of its root's header.
    fn parse(model: &str, root: &str, scope: &str) -> Self {
        let mut verilated = Self::default();
        for line in model.lines().map(str::trim) {
            // For example VL_IN64(&row_i,63,0); and VL_OUTW(&lanes_o,127,0,4);
            let (direction, rest) = if let Some(rest) = line.strip_prefix("VL_IN") {
                (Direction::Input, rest)
            } else if let Some(rest) = line.strip_prefix("VL_OUT") {
                (Direction::Output, rest)
            } else {
                continue;
            };
            let Some((_, arguments)) = rest.split_once("(&") else { continue };
            let mut arguments = arguments.split([',', ')']);
            let (Some(name), Some(msb)) = (arguments.next(), arguments.next()) else { continue };
            if let Ok(msb) = msb.parse::<u32>() {
                verilated.ports.insert(name.to_owned(), (direction, msb + 1));
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

    /// Whether it has all registers that are probed.
    pub fn has_probes(&self, unit: &UnitInfo) -> bool {
        unit.probes.iter().all(|probe| self.registers.get(probe.name) == Some(&probe.width))
    }

    /// What differs from the ports that a unit declares, a line each.
    pub fn ports_that_differ(&self, unit: &UnitInfo) -> Vec<String> {
        let mut differences = Vec::new();
        let mut ports = self.ports.clone();
        let clocks = ["clk_i", "rst_ni"].map(|name| (Direction::Input, name, 1));
        let declared = |direction, ports: &'static [PortInfo]| {
            ports.iter().map(move |port| (direction, port.name, port.width))
        };
        let inputs = declared(Direction::Input, unit.inputs);
        let outputs = declared(Direction::Output, unit.outputs);
        for (direction, name, width) in clocks.into_iter().chain(inputs).chain(outputs) {
            let kind = direction.name();
            match ports.remove(name) {
                None => differences.push(format!("{kind} {name} is missing in rtl")),
                Some((other, _)) if other != direction => differences
                    .push(format!("{name} is an {kind} in hw-models, an {} in rtl", other.name())),
                Some((_, other)) => differences.extend(width_differs(kind, name, width, other)),
            }
        }
        let others = ports.iter().map(|(name, (direction, _))| {
            format!("{} {name} is missing in hw-models", direction.name())
        });
        differences.extend(others);
        differences
    }

    /// What differs from the registers that a unit declares, a line each.
    pub fn registers_that_differ(&self, unit: &UnitInfo) -> Vec<String> {
        let mut differences = Vec::new();
        for probe in unit.probes {
            match self.registers.get(probe.name) {
                None => differences.push(format!("register {} is missing in rtl", probe.name)),
                Some(&width) => {
                    differences.extend(width_differs("register", probe.name, probe.width, width));
                }
            }
        }
        differences
    }
}

fn width_differs(kind: &str, name: &str, own: u32, rtl: u32) -> Option<String> {
    let differs = || format!("{kind} {name} is {own} bits wide in hw-models, {rtl} in rtl");
    (own != rtl).then(differs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_ports::Unit;
    use pimlico_units::arith::{Binary16, FpMul};

    const HEADER: &str = "
    VL_IN8(&clk_i,0,0);
    VL_IN8(&rst_ni,0,0);
    VL_IN16(&a_i,15,0);
    VL_IN16(&b_i,15,0);
    VL_OUT16(&result_o,15,0);
    ";

    fn differences(header: &str) -> Vec<String> {
        Verilated::parse(header, "", "").ports_that_differ(&FpMul::<Binary16, 3>::info())
    }

    #[test]
    fn every_port_that_differs_is_named_once() {
        assert!(differences(HEADER).is_empty());
        let cases = [
            ("VL_IN16(&b_i,15,0);", "", "input b_i is missing in rtl"),
            (
                "VL_IN16(&b_i,15,0)",
                "VL_OUT16(&b_i,15,0)",
                "b_i is an input in hw-models, an output in rtl",
            ),
            ("&b_i,15", "&b_i,7", "input b_i is 16 bits wide in hw-models, 8 in rtl"),
            ("VL_IN8(&clk_i,0,0);", "", "input clk_i is missing in rtl"),
            (
                "&result_o,15",
                "&result_o,16",
                "output result_o is 16 bits wide in hw-models, 17 in rtl",
            ),
        ];
        for (right, wrong, said) in cases {
            assert_eq!(differences(&HEADER.replace(right, wrong)), [said]);
        }
        let more = format!("{HEADER}VL_OUT8(&flags_o,4,0);\n");
        assert_eq!(differences(&more), ["output flags_o is missing in hw-models"]);
    }
}
