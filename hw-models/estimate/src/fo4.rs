// SPDX-License-Identifier: MIT
//! Delays counted in inverters.
//!
//! An inverter that drives four of itself (FO4) is the usual measure of a process' speed: what a path
//! takes in FO4 hardly depends on the process, so that it says what the path takes in another. It is a rule,
//! not an analysis: cells with many transistors in a row and wires do not shrink alike.

use crate::liberty::{Inverter, Library};
use crate::tools::{ToolError, Tools};
use std::fmt::Write;
use std::path::Path;

/// FO4 of a 28 nm process in ps, on the safe side.
///
/// No foundry publishes it. By the rule of Ho, Mai and Horowitz ("The Future of Wires", Proceedings of the
/// IEEE 89(4), 2001) it is 360 ps per um of drawn gate length, and 500 ps in the worst corner: 10 and 14
/// ps. The default library, which has 99 ps in a typical corner at 180 nm, shrinks to 15 ps with the
/// gate length. As voltages have hardly fallen since 90 nm, gates have got faster by less than they got shorter,
/// so that this is 14 ps and two fifths.
///
/// It is that of a logic process. Logic in a DRAM process is slower, which no paper here puts a figure to.
pub const NODE_28NM_PS: f64 = 20.0;

/// What the shortest clock period comes to in another process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtNode {
    /// It in FO4.
    pub period_fo4: f64,
    /// What is left of the clock period in ns: negative where it is too short.
    pub slack_ns: f64,
    /// The highest clock in MHz.
    pub highest_mhz: f64,
}

impl AtNode {
    /// Of a period of so many ns in a library of so many ns an FO4, where an FO4 takes `node_ps` ps and the
    /// clock's period is `clock_ns` ns.
    pub fn new(period_ns: f64, library_ns: f64, node_ps: f64, clock_ns: f64) -> Self {
        let period_fo4 = period_ns / library_ns;
        let at_node_ns = period_fo4 * node_ps / 1e3;
        Self { period_fo4, slack_ns: clock_ns - at_node_ns, highest_mhz: 1e3 / at_node_ns }
    }
}

/// Inverters of the chain, an even number: the first have the edge that comes in, and the last no load.
const STAGES: usize = 16;
/// Module of the chain.
const TOP: &str = "fo4";

/// A chain of inverters, each of which drives four.
pub(crate) fn netlist(Inverter { cell, input, output }: &Inverter) -> String {
    let mut text = format!("module {TOP} (n0, n{STAGES});\n  input n0;\n  output n{STAGES};\n");
    for stage in 0..STAGES {
        let next = stage + 1;
        if next < STAGES {
            let _ = writeln!(text, "  wire n{next};");
        }
        let _ =
            writeln!(text, "  \\{cell} s{stage} (.\\{input} (n{stage}), .\\{output} (n{next}));");
        for load in 0..3 {
            let _ = writeln!(text, "  \\{cell} l{next}_{load} (.\\{input} (n{next}));");
        }
    }
    text + "endmodule\n"
}

/// OpenSTA's script: the path through the chain.
fn script(library: &Library, folder: &Path) -> String {
    let (liberty, folder) = (library.file.display(), folder.display());
    format!(
        "read_liberty \"{liberty}\"\n\
         set_cmd_units -time ns\n\
         read_verilog {folder}/fo4.v\n\
         link_design {TOP}\n\
         create_clock -name clk -period 1000\n\
         set_input_delay 0 -clock clk [all_inputs]\n\
         set_output_delay 0 -clock clk [all_outputs]\n\
         report_checks -path_delay max -digits 6\n\
         exit\n"
    )
}

/// FO4 of a library in ns, by a chain of this inverter.
pub(crate) fn measure(
    tools: &Tools,
    library: &Library,
    inverter: &Inverter,
) -> Result<f64, ToolError> {
    let folder = tempfile::tempdir().map_err(ToolError::temporary)?;
    let write = |name: &str, text: String| {
        let file = folder.path().join(name);
        let written = std::fs::write(&file, text);
        written.map(|()| file).map_err(ToolError::temporary)
    };
    write("fo4.v", netlist(inverter))?;
    let script = write("fo4.tcl", script(library, folder.path()))?;
    let unit = format!("a chain of {}", inverter.cell);
    let report = tools.sta(&unit, &script).map_err(|e| e.with(library, folder.path()))?;
    let none = ToolError::Output { tool: "OpenSTA", unit, what: "delay of each inverter" };
    parse(&report).ok_or(none)
}

/// The mean of a rise and a fall in the middle of the chain, from OpenSTA's report: a line for each inverter
/// with its delay first, then the time, the edge and its pin.
fn parse(report: &str) -> Option<f64> {
    let delay = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [delay, _, "^" | "v", pin, _] = words.as_slice() else { return None };
        pin.starts_with('s').then(|| delay.parse().ok())?
    };
    let delays: Vec<f64> = report.lines().filter_map(delay).collect();
    let middle = (delays.len() == STAGES).then(|| &delays[STAGES / 2 - 1..=STAGES / 2])?;
    let fo4 = middle.iter().sum::<f64>() / 2.0;
    (fo4.is_finite() && fo4 > 0.0).then_some(fo4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_carried_to_another_node_by_its_inverters() {
        // 20 ns of 0.1 ns are 200 FO4, at 20 ps 4 ns.
        let AtNode { period_fo4, slack_ns, highest_mhz } = AtNode::new(20.0, 0.1, 20.0, 5.0);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(period_fo4, 200.0) && near(slack_ns, 1.0) && near(highest_mhz, 250.0));
        // Half as fast it is too slow.
        assert!(near(AtNode::new(20.0, 0.1, 40.0, 5.0).slack_ns, -3.0));
        assert!(near(AtNode::new(20.0, 0.1, 25.0, 5.0).slack_ns, 0.0));
    }

    #[test]
    fn each_inverter_drives_four() {
        let [cell, input, output] = ["INV", "A", "Y"].map(str::to_owned);
        let text = netlist(&Inverter { cell, input, output });
        for stage in 1..=STAGES {
            let drives = format!("(.\\A (n{stage}))");
            let passes = format!("(.\\A (n{stage}), ");
            let (loads, next) = (text.matches(&drives).count(), text.matches(&passes).count());
            assert_eq!(loads + next, if stage < STAGES { 4 } else { 3 }, "stage {stage}");
            assert_eq!(text.matches(&format!(".\\Y (n{stage}))")).count(), 1);
        }
    }

    /// A report with these delays.
    fn report(delays: &[f64]) -> String {
        let line = |(n, delay): (usize, &f64)| {
            format!("   {delay:.6}    9.000000 {} s{n}/Y (INVX1)\n", ["v", "^"][n % 2])
        };
        let path: String = delays.iter().enumerate().map(line).collect();
        format!(
            "   0.000000    0.000000   clock clk (rise edge)\n   0.000000    0.000000 ^ n0 (in)\n\
             {path}   0.000000    9.000000 ^ n16 (out)\n              9.0   data arrival time\n"
        )
    }

    #[test]
    fn the_middle_of_the_chain_is_read() {
        let mut delays = [0.5; STAGES];
        (delays[7], delays[8]) = (0.12, 0.08);
        assert!((parse(&report(&delays)).expect("a chain") - 0.1).abs() < 1e-12);
        assert_eq!(parse(&report(&delays[1..])), None);
        assert_eq!(parse(&report(&[0.0; STAGES])), None);
        assert_eq!(parse("No paths found."), None);
    }
}
