// SPDX-License-Identifier: MIT
//! Synthesis: from RTL to a netlist of cells, and its area.

use crate::tools::{ToolError, Tools};
use crate::{FullAdder, Library, UnitSpec, rtl};
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

/// What ABC does about loads once it has mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// Nothing: the smallest area, however many inputs an output drives.
    #[default]
    AsMapped,
    /// Buffers before more than twelve inputs, larger cells where the slowest path gains by them, smaller
    /// ones where it does not lose. ABC sees the load of what it maps, and not that of flip-flops and full
    /// adders.
    ForLoads,
}

/// ABC's script.
pub fn abc_script(sizing: Sizing) -> String {
    let mapped = format!(
        "strash\n{RESTRUCTURE}\n{RESTRUCTURE}\n&get -n\n&st\n&dch\n&nf -R 1000 -F 10 -a\n&put\ntopo\n"
    );
    match sizing {
        Sizing::AsMapped => mapped,
        Sizing::ForLoads => mapped + "buffer -p -N 12\ntopo\nupsize\ndnsize\n",
    }
}

/// The module of the RTL whose place a cell of the library takes.
const FULL_ADDER: &str = "full_adder";

/// What takes the place of the RTL's full adder: the library's, where it has one and no input is
/// constant, else gates.
pub fn full_adder_map(adder: Option<&FullAdder>) -> String {
    let gates = "assign sum_o = a_i ^ b_i ^ c_i;\n  \
                 assign carry_o = (a_i & b_i) | (c_i & (a_i | b_i));\n";
    let body = adder.map_or(format!("  {gates}"), |FullAdder { cell, inputs: [a, b, c], sum, carry }| {
        format!(
            "  generate if (_TECHMAP_CONSTMSK_a_i_ | _TECHMAP_CONSTMSK_b_i_ | _TECHMAP_CONSTMSK_c_i_) begin\n  \
             {gates}  end else begin\n  \
             \\{cell} cell_i (.\\{a} (a_i), .\\{b} (b_i), .\\{c} (c_i), .\\{sum} (sum_o), .\\{carry} (carry_o));\n  \
             end endgenerate\n"
        )
    });
    let constants =
        ["a_i", "b_i", "c_i"].map(|port| format!("  parameter _TECHMAP_CONSTMSK_{port}_ = 0;\n"));
    format!(
        "module {FULL_ADDER} (input a_i, input b_i, input c_i, output sum_o, output carry_o);\n\
         {}{body}endmodule\n",
        constants.concat()
    )
}

/// The script of Yosys. Full adders that the RTL names become cells before anything else looks at them:
/// those that Yosys finds or makes by itself (in what `booth` or `alumacc` make of a `*`) stay logic, as
/// a cell for each of them costs area.
pub fn script(
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    sources: &[impl AsRef<Path>],
) -> String {
    let (top, liberty) = (spec.module, library.file.display());
    let folder = folder.display();
    let mut script = format!("read_slang --blackboxed-module {FULL_ADDER} --top {top}");
    for (name, value) in spec.parameters {
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
         opt -full\n\
         techmap -map {folder}/full_adder.v t:{FULL_ADDER}\n\
         opt -full\n\
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
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    sizing: Sizing,
) -> Result<Cells, ToolError> {
    let file = |name: &str| folder.join(name);
    let write = |name: &str, text: &str| {
        std::fs::write(file(name), text)
            .map_err(|error| ToolError::File { file: file(name), error })
    };
    let sources =
        rtl::write(folder).map_err(|error| ToolError::File { file: folder.to_owned(), error })?;
    write("abc.script", &abc_script(sizing))?;
    write("full_adder.v", &full_adder_map(library.full_adder.as_ref()))?;
    write("synthesis.ys", &script(spec, library, folder, &sources))?;
    tools.yosys(&spec.unit, &file("synthesis.ys"))?;
    let text = std::fs::read_to_string(file("stat.json"))
        .map_err(|error| ToolError::File { file: file("stat.json"), error })?;
    let what = "counts of cells";
    cells(&text).ok_or(ToolError::Output { tool: "Yosys", unit: spec.unit.clone(), what })
}

/// The cells that Yosys counted.
fn cells(text: &str) -> Option<Cells> {
    let document: Value = serde_json::from_str(text).ok()?;
    let by_type = document.get("design")?.get("num_cells_by_type")?.as_object()?;
    by_type.iter().map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect()
}
