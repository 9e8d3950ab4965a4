// SPDX-License-Identifier: MIT
//! Static timing analysis of a netlist.

use crate::tools::{ToolError, Tools};
use crate::{Job, Library};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The slowest path.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Timing {
    /// What is left of the clock period in ns: negative where it is too short.
    pub slack_ns: f64,
    /// Cells on the path, register to register, or from or to a port.
    pub path: Vec<String>,
}

/// The script of OpenSTA. Inputs come with the edge of the clock and outputs are due with the next;
/// wires have no load, as there is no layout. Times are ns, whatever the library's unit.
pub(crate) fn script(job: &Job, library: &Library, folder: &Path, clock_ns: f64) -> String {
    let (top, liberty, folder) = (job.module, library.file.display(), folder.display());
    format!(
        "read_liberty \"{liberty}\"\n\
         set_cmd_units -time ns\n\
         read_verilog {folder}/netlist.v\n\
         link_design {top}\n\
         create_clock -name clk -period {clock_ns} clk_i\n\
         set_input_delay 0 -clock clk [all_inputs]\n\
         set_output_delay 0 -clock clk [all_outputs]\n\
         set_false_path -from rst_ni\n\
         report_checks -path_delay max -digits 4\n\
         exit\n"
    )
}

/// The slowest path of the netlist in `folder`.
pub fn analyse(
    tools: &Tools,
    job: &Job,
    library: &Library,
    folder: &Path,
    clock_ns: f64,
) -> Result<Timing, ToolError> {
    let file = folder.join("timing.tcl");
    std::fs::write(&file, script(job, library, folder, clock_ns))
        .map_err(|error| ToolError::File { file: file.clone(), error })?;
    let report = tools.sta(&job.unit, &file)?;
    let what = "path";
    parse(&report).ok_or(ToolError::Output { tool: "OpenSTA", unit: job.unit.clone(), what })
}

/// The path and its slack in OpenSTA's report: a line for each cell, with its name in brackets.
fn parse(report: &str) -> Option<Timing> {
    let slack = report.lines().find(|line| line.contains("slack ("))?;
    let slack_ns = slack.split_whitespace().next()?.parse().ok()?;
    let arrival = report.lines().take_while(|line| !line.contains("data arrival time"));
    let cell = |line: &str| {
        let cell = line.rsplit_once('(')?.1.trim_end().strip_suffix(')')?;
        let is_pin = line.contains('/') && line.split_whitespace().count() > 3;
        is_pin.then(|| cell.to_owned())
    };
    Some(Timing { slack_ns, path: arrival.filter_map(cell).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slack_and_the_cells_are_found() {
        let report = "\
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
        let path = vec!["AOI21X1".to_owned(), "INVX1".to_owned()];
        assert_eq!(parse(report), Some(Timing { slack_ns: 29.776, path }));
        assert_eq!(parse("No paths found."), None);
    }
}
