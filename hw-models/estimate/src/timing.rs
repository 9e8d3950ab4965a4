// SPDX-License-Identifier: MIT
//! Static timing analysis of a netlist.

use crate::liberty::Library;
use crate::memory::{Memory, MemoryPorts, SETUP_FO4};
use crate::tools::{ToolError, Tools};
use crate::unit::UnitSpec;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the paths of a netlist allow.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Timing {
    /// What is left of the clock period in ns, by the worst path: negative where it is too short. Of half a
    /// period, where a clock gate's flip-flop takes the other edge.
    pub slack_ns: f64,
    /// The shortest clock period in ns: what the slowest path takes, or twice as much where it has half a
    /// period.
    pub period_ns: f64,
    /// Cells on the worst path, register to register, or from or to a port.
    pub path: Vec<String>,
}

/// Changes with what is read from the same reports, so that older results do not count.
pub(crate) const READING: &str = "all groups and clocks, shortest period";

/// Steps to the shortest period, at the most: paths have a whole period or half of one, so that two do.
const MOST_STEPS: usize = 8;
/// Slack in ns that counts as none: more than OpenSTA's digits leave open.
const NO_SLACK_NS: f64 = 1e-3;

/// A path as OpenSTA reports it: the worst of its group, clock gates being a group of their own.
#[derive(Clone, Debug, PartialEq)]
struct PathReport {
    slack_ns: f64,
    /// From the edge that launches to the one that captures.
    window_ns: f64,
    cells: Vec<String>,
}

impl PathReport {
    /// The clock period that leaves it no slack, where it has this one.
    fn period_ns(&self, clock_ns: f64) -> f64 {
        (self.window_ns - self.slack_ns) * clock_ns / self.window_ns
    }
}

/// The script of OpenSTA. Inputs come with the edge of the clock and outputs are due with the next;
/// wires have no load, as there is no layout. Gated clocks are as early as the clock, those that come by a
/// port of their own (`clk_tck_i`) too. Data of memories come after their access time, and what goes to
/// them has to be there its set-up time before the edge. A clock that leaves is no path. Times are ns,
/// whatever the library's unit.
pub(crate) fn script(
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    clock_ns: f64,
    macros: Macros,
) -> String {
    let (top, liberty, folder) = (&spec.module, library.file.display(), folder.display());
    let Macros { access_ns, setup_ns } = macros;
    let macros = match access_ns > 0.0 {
        true => format!(
            "set_input_delay {access_ns} -clock clk [get_ports *_RD_DATA*]\n\
             set_output_delay {setup_ns} -clock clk [get_ports {{*_RD_ADDR* *_RD_EN* *_WR_*}}]\n"
        ),
        false => String::new(),
    };
    format!(
        "read_liberty \"{liberty}\"\n\
         set_cmd_units -time ns\n\
         read_verilog {folder}/netlist.v\n\
         link_design {top}\n\
         create_clock -name clk -period {clock_ns} [get_ports clk_*]\n\
         set_input_delay 0 -clock clk [all_inputs]\n\
         set_output_delay 0 -clock clk [all_outputs]\n\
         {macros}\
         set reset [get_ports -quiet rst_ni]\n\
         if {{[llength $reset] > 0}} {{set_false_path -from $reset}}\n\
         set outs [get_ports -quiet {{*_clk_i *_clk_*_i *_clk_*_o *_RD_CLK* *_WR_CLK*}}]\n\
         if {{[llength $outs] > 0}} {{set_false_path -to $outs}}\n\
         report_checks -path_delay max -digits 4\n\
         exit\n"
    )
}

/// Times of a unit's memories in ns, of its slowest: nothing where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Macros {
    access_ns: f64,
    setup_ns: f64,
}

impl Macros {
    /// Those of memories, where an FO4 takes so many ns.
    pub fn new(memories: &[Memory], fo4_ns: f64) -> Self {
        let access_fo4 = memories.iter().map(Memory::access_fo4).fold(0.0, f64::max);
        Self { access_ns: access_fo4 * fo4_ns, setup_ns: SETUP_FO4 * fo4_ns }
    }

    /// Times that change with the model of memories.
    pub(crate) fn of_the_model() -> Self {
        let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
        let memory = Memory { name: String::new(), words: 123, bits: 456, ports, is_clocked: true };
        Self::new(&[memory], 1.0)
    }
}

/// What the paths of the netlist in `folder` allow.
pub fn analyse(
    tools: &Tools,
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    clock_ns: f64,
    macros: Macros,
) -> Result<Timing, ToolError> {
    let file = folder.join("timing.tcl");
    let paths = |clock_ns: f64| {
        std::fs::write(&file, script(spec, library, folder, clock_ns, macros))
            .map_err(ToolError::temporary)?;
        let what = "path";
        let none = ToolError::Output { tool: "OpenSTA", unit: spec.unit.clone(), what };
        let report = tools.sta(&spec.unit, &file).map_err(|e| e.with(library, folder))?;
        parse(&report).ok_or(none)
    };
    let at_clock = paths(clock_ns)?;
    let period_ns = shortest_period(clock_ns, at_clock.clone(), paths)?;
    let worst = at_clock.into_iter().min_by(|a, b| a.slack_ns.total_cmp(&b.slack_ns));
    let PathReport { slack_ns, cells, .. } = worst.expect("at least one, as `parse` promises");
    Ok(Timing { slack_ns, period_ns, path: cells })
}

/// The shortest clock period, in which no path has less than no slack. Each path that is found is a bound; at
/// the largest of them another may be worse, as paths have different shares of a period.
fn shortest_period<E>(
    clock_ns: f64,
    mut paths: Vec<PathReport>,
    report: impl Fn(f64) -> Result<Vec<PathReport>, E>,
) -> Result<f64, E> {
    let mut period_ns = clock_ns;
    for _ in 0..MOST_STEPS {
        let bounds = paths.iter().map(|path| path.period_ns(period_ns));
        period_ns = bounds.fold(0.0, f64::max);
        // A path of no cells takes no time.
        if period_ns < NO_SLACK_NS {
            break;
        }
        paths = report(period_ns)?;
        if paths.iter().all(|path| path.slack_ns > -NO_SLACK_NS) {
            break;
        }
    }
    Ok(period_ns)
}

/// The paths in OpenSTA's report, at least one.
fn parse(report: &str) -> Option<Vec<PathReport>> {
    let paths = report.split("Startpoint:").skip(1);
    paths.map(path).collect::<Option<Vec<_>>>().filter(|paths| !paths.is_empty())
}

/// A path: a line for each cell, with its name in brackets, and the edges of the clock at both ends, with
/// their times in the second column.
fn path(report: &str) -> Option<PathReport> {
    let slack = report.lines().find(|line| line.contains("slack ("))?;
    let slack_ns = slack.split_whitespace().next()?.parse().ok()?;
    let is_edge = |line: &&str| line.contains("clock ") && line.trim_end().ends_with(" edge)");
    let edges = report.lines().filter(is_edge);
    let times: Option<Vec<f64>> =
        edges.map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    let times = times?;
    let window_ns = times.last()? - times.first()?;
    let arrival = report.lines().take_while(|line| !line.contains("data arrival time"));
    let cell = |line: &str| {
        let cell = line.rsplit_once('(')?.1.trim_end().strip_suffix(')')?;
        let is_pin = line.contains('/') && line.split_whitespace().count() > 3;
        is_pin.then(|| cell.to_owned())
    };
    let cells = arrival.filter_map(cell).collect();
    (window_ns > 0.0).then_some(PathReport { slack_ns, window_ns, cells })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
Startpoint: _5790_ (rising edge-triggered flip-flop clocked by clk')
Path Group: **clock_gating_default**
   20.0000   20.0000   clock clk' (rise edge)
    0.2500   20.2500 ^ _5790_/Q (DFFSR)
    0.0000   20.2500 ^ _2977_/A (AND2X2)
           20.2500   data arrival time

   40.0000   40.0000   clock clk (rise edge)
    0.0000   40.0000   clock gating setup time
---------------------------------------------------------
           19.7500   slack (MET)

Startpoint: a_i[3] (input port clocked by clk)
  Delay    Time   Description
---------------------------------------------------------
   0.0000    0.0000   clock clk (rise edge)
   0.0000    0.0000 ^ a_i[3] (in)
   0.1260    5.2450 ^ _1313_/Y (AOI21X1)
   0.0620    5.3070 v _1314_/Y (INVX1)
           10.2240   data arrival time

  40.0000   40.0000   clock clk (rise edge)
---------------------------------------------------------
           29.7760   slack (MET)
";

    #[test]
    fn slack_window_and_cells_of_each_path_are_found() {
        let cells = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let gate =
            PathReport { slack_ns: 19.75, window_ns: 20.0, cells: cells(&["DFFSR", "AND2X2"]) };
        let port =
            PathReport { slack_ns: 29.776, window_ns: 40.0, cells: cells(&["AOI21X1", "INVX1"]) };
        assert!((gate.period_ns(40.0) - 0.5).abs() < 1e-9, "twice 0.25 ns");
        assert!((port.period_ns(40.0) - 10.224).abs() < 1e-9);
        assert_eq!(parse(REPORT), Some(vec![gate, port]));
        assert_eq!(parse("No paths found."), None);
        assert_eq!(parse(&REPORT.replace("slack (", "")), None);
    }

    /// What OpenSTA would report of paths of so many ns that have so much of a period: the worst.
    fn worst(paths: &[(f64, f64)], clock_ns: f64) -> Vec<PathReport> {
        let path = |&(ns, share): &(f64, f64)| {
            let window_ns = clock_ns * share;
            PathReport { slack_ns: window_ns - ns, window_ns, cells: Vec::new() }
        };
        let all = paths.iter().map(path);
        all.min_by(|a, b| a.slack_ns.total_cmp(&b.slack_ns)).into_iter().collect()
    }

    #[test]
    fn the_shortest_period_has_room_for_half_of_one() {
        // Of half a period, 6 ns are worth 12; whichever is the worst at the clock that was asked for.
        for (paths, period) in [
            ([(10.0, 1.0), (6.0, 0.5)], 12.0),
            ([(10.0, 1.0), (4.0, 0.5)], 10.0),
            ([(10.0, 1.0), (11.0, 0.5)], 22.0),
        ] {
            for clock_ns in [0.1, 5.0, 11.0, 1000.0] {
                let report = |clock_ns: f64| Ok::<_, ()>(worst(&paths, clock_ns));
                let found = shortest_period(clock_ns, worst(&paths, clock_ns), report);
                let found = found.expect("reports");
                assert!((found - period).abs() < 2.1e-3, "{paths:?} {clock_ns}: {found}");
            }
        }
        let nothing = |clock_ns: f64| Ok::<_, ()>(worst(&[(0.0, 1.0)], clock_ns));
        assert_eq!(shortest_period(5.0, worst(&[(0.0, 1.0)], 5.0), nothing), Ok(0.0));
    }
}
