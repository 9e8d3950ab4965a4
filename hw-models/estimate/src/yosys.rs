// SPDX-License-Identifier: MIT
//! Synthesis: from RTL to a netlist of cells, and its area.

use crate::tools::{ToolError, Tools};
use crate::{Job, Library, rtl};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a netlist consists of: of each cell how many.
pub type Cells = BTreeMap<String, u64>;

/// Optimisation and mapping by ABC. Restructuring comes before mapping, where it costs the least: of the
/// scripts that were tried on the bank PU (`map`, `map -a`, `amap`, `&nf` with and without), this gives
/// the smallest area at a delay that is not worse than that of Yosys' own script.
const RESTRUCTURE: &str = "balance -l; resub -K 6 -l; rewrite -l; resub -K 6 -N 2 -l; refactor -l; \
     resub -K 8 -l; balance -l; resub -K 8 -N 2 -l; rewrite -l; resub -K 10 -l; rewrite -z -l; \
     resub -K 10 -N 2 -l; balance -l; resub -K 12 -l; refactor -z -l; resub -K 12 -N 2 -l; \
     rewrite -z -l; balance -l";

/// ABC's script.
pub fn abc_script() -> String {
    format!(
        "strash\n{RESTRUCTURE}\n{RESTRUCTURE}\n&get -n\n&st\n&dch\n&nf -R 1000 -F 10 -a\n&put\ntopo\n"
    )
}

/// The script of Yosys. Multipliers are Booth's; adders stay logic, as mapping them to full-adder cells
/// costs area.
pub fn script(job: &Job, library: &Library, folder: &Path, sources: &[impl AsRef<Path>]) -> String {
    let (top, liberty) = (job.module, library.file.display());
    let folder = folder.display();
    let mut script = format!("read_slang --top {top}");
    for (name, value) in job.parameters {
        let _ = write!(script, " -G {name}={value}");
    }
    for source in sources {
        let _ = write!(script, " {}", source.as_ref().display());
    }
    let _ = write!(
        script,
        "\nhierarchy -top {top}\n\
         chformal -remove\n\
         synth -flatten -run begin:fine -top {top}\n\
         wreduce\nbooth\n\
         synth -run fine:check\n\
         opt -purge\n\
         dfflibmap -liberty \"{liberty}\"\n\
         abc -liberty \"{liberty}\" -script {folder}/abc.script\n\
         setundef -zero\nsplitnets\nopt_clean -purge\n\
         tee -q -o {folder}/stat.json stat -json -liberty \"{liberty}\"\n\
         write_verilog -noattr -noexpr {folder}/netlist.v\n"
    );
    script
}

/// Synthesises a unit into `folder`, where its netlist is then.
pub fn synthesise(
    tools: &Tools,
    job: &Job,
    library: &Library,
    folder: &Path,
) -> Result<Cells, ToolError> {
    let file = |name: &str| folder.join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(file(name), text)
            .map_err(|error| ToolError::File { file: file(name), error })
    };
    let sources =
        rtl::write(folder).map_err(|error| ToolError::File { file: folder.to_owned(), error })?;
    write("abc.script", &abc_script())?;
    write("synthesis.ys", &script(job, library, folder, &sources))?;
    tools.yosys(&job.unit, &file("synthesis.ys"))?;
    let text = std::fs::read_to_string(file("stat.json"))
        .map_err(|error| ToolError::File { file: file("stat.json"), error })?;
    let what = "counts of cells";
    cells(&text).ok_or(ToolError::Output { tool: "Yosys", unit: job.unit.clone(), what })
}

/// The cells that Yosys counted.
fn cells(text: &str) -> Option<Cells> {
    let document: Value = serde_json::from_str(text).ok()?;
    let by_type = document.get("design")?.get("num_cells_by_type")?.as_object()?;
    by_type.iter().map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect()
}
