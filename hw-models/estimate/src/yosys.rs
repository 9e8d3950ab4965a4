// SPDX-License-Identifier: MIT
//! Synthesis: from RTL to a netlist of cells, and its area.

use crate::liberty::{FullAdder, Library};
use crate::memory::{self, FLIP_FLOP_WORDS, Memory, MemoryPorts};
use crate::tools::{ToolError, Tools};
use crate::unit::UnitSpec;
use crate::{hierarchy, rtl};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// What a netlist consists of: of each cell how many.
pub type CellCounts = BTreeMap<String, u64>;

/// What synthesis makes of a unit.
#[derive(Debug, PartialEq)]
pub struct SynthesisResult {
    /// Its cells.
    pub cells: CellCounts,
    /// Its memories, whose ports are ports of the netlist.
    pub memories: Vec<Memory>,
}

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
    /// Buffers before more than twelve inputs, behind gates and flip-flops, larger cells where the slowest path
    /// gains by them, smaller ones where it does not lose. ABC sees the load of what it maps, and not that of
    /// flip-flops and full adders.
    ForLoads,
}

/// Constraints for ABC: what drives the inputs of the logic, which are ports and outputs of flip-flops. Without
/// a driver ABC takes them to drive any load, and puts no buffers behind them. The smallest inverter stands
/// for it: ABC wants a cell of one input, and flip-flops drive about as much.
pub fn abc_constraints(library: &Library, sizing: Sizing) -> String {
    match (&library.inverter, sizing) {
        (Some(inverter), Sizing::ForLoads) => format!("set_driving_cell {}\n", inverter.cell),
        _ => String::new(),
    }
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

/// Read ports of a memory, at the most: with more of them it is registers that are searched. What is never
/// written is a table, and logic.
const MOST_READS: u64 = 2;

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

/// The script of Yosys. A memory of more than [`FLIP_FLOP_WORDS`] words is a macro: it is taken out, and its
/// ports become ports of the netlist, as those of the instances do that are parts of their own. Full adders that the RTL names become cells before anything else looks at them:
/// those that Yosys finds or makes by itself (in what `booth` or `alumacc` make of a `*`) stay logic, as
/// a cell for each of them costs area.
pub fn script(
    sources: &rtl::Sources<'_>,
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    files: &[impl AsRef<Path>],
) -> String {
    let (top, liberty) = (&spec.module, library.file.display());
    let folder = folder.display();
    let others = match spec.alone {
        true => hierarchy::black_boxes(sources, top),
        false => format!(" --blackboxed-module {FULL_ADDER}"),
    };
    let mut script = format!("read_slang --top {top}{others}");
    for (name, value) in &spec.parameters {
        let _ = write!(script, " -G {name}={value}");
    }
    for file in files {
        let _ = write!(script, " {}", file.as_ref().display());
    }
    if spec.alone {
        // Of instances of one module the widest decides, where they differ in parameters.
        script += "\ndelete =A:blackbox=1\n\
                   hierarchy -generate * i:*_i i:*_ni o:*_o\n\
                   expose -evert";
    }
    let _ = write!(
        script,
        "\nhierarchy -top {top}\n\
         chformal -remove\n\
         synth -flatten -run begin:fine -top {top}\n\
         select -set macros t:$mem_v2 r:SIZE>{FLIP_FLOP_WORDS} %i r:RD_PORTS<={MOST_READS} %i r:WR_PORTS>0 %i\n\
         tee -q -o {folder}/memories.il dump @macros\n\
         expose -evert @macros\n\
         opt -full\n\
         techmap -map {folder}/full_adder.v t:{FULL_ADDER}\n\
         opt -full\n\
         wreduce\nbooth\n\
         synth -run fine:check\n\
         opt -purge\n\
         dfflibmap -liberty \"{liberty}\"\n\
         abc -liberty \"{liberty}\" -constr {folder}/abc.constr -script {folder}/abc.script\n\
         setundef -zero\nsplitnets\nopt_clean -purge\n\
         rename -unescape x:*\n\
         tee -q -o {folder}/stat.json stat -json -liberty \"{liberty}\"\n\
         write_verilog -noattr -noexpr -simple-lhs {folder}/netlist.v\n"
    );
    script
}

/// Synthesises a unit into `folder`, where its netlist is then.
pub fn synthesise(
    tools: &Tools,
    sources: &rtl::Sources<'_>,
    spec: &UnitSpec,
    library: &Library,
    folder: &Path,
    sizing: Sizing,
) -> Result<SynthesisResult, ToolError> {
    let file = |name: &str| folder.join(name);
    let write =
        |name: &str, text: &str| std::fs::write(file(name), text).map_err(ToolError::temporary);
    let read = |name: &str| std::fs::read_to_string(file(name)).map_err(ToolError::temporary);
    let is_part = |name: &str| spec.alone && hierarchy::is_part(name, &spec.module);
    let files = rtl::write(sources, folder, is_part).map_err(ToolError::temporary)?;
    write("abc.script", &abc_script(sizing))?;
    write("abc.constr", &abc_constraints(library, sizing))?;
    write("full_adder.v", &full_adder_map(library.full_adder.as_ref()))?;
    write("synthesis.ys", &script(sources, spec, library, folder, &files))?;
    tools.yosys(&spec.unit, &file("synthesis.ys")).map_err(|e| e.with(library, folder))?;
    let none = |what| ToolError::Output { tool: "Yosys", unit: spec.unit.clone(), what };
    let cells = cells(&read("stat.json")?).ok_or_else(|| none("counts of cells"))?;
    let memories = memories(&read("memories.il")?).ok_or_else(|| none("memories"))?;
    Ok(SynthesisResult { cells, memories })
}

/// The cells that Yosys counted.
fn cells(text: &str) -> Option<CellCounts> {
    let document: Value = serde_json::from_str(text).ok()?;
    let by_type = document.get("design")?.get("num_cells_by_type")?.as_object()?;
    by_type.iter().map(|(name, count)| Some((name.clone(), count.as_u64()?))).collect()
}

/// The memories that Yosys took out, in its own language.
fn memories(text: &str) -> Option<Vec<Memory>> {
    let cells = text.split("cell $mem_v2 ").skip(1);
    Some(memory::join(cells.map(memory).collect::<Option<_>>()?))
}

/// A memory: its name, then a line for each parameter and each port.
fn memory(text: &str) -> Option<Memory> {
    let field = |kind: &str, name: &str| {
        let start = format!("{kind} \\{name} ");
        text.lines().find_map(|line| line.trim().strip_prefix(&start))
    };
    let number = |name| field("parameter", name)?.parse::<u64>().ok();
    let bits = |name| Some(field("parameter", name)?.split_once('\'')?.1);
    let reset = field("connect", "RD_ARST")?.split_once('\'')?.1.contains('1');
    Some(Memory {
        name: text.split_whitespace().next()?.trim_start_matches('\\').to_owned(),
        words: number("SIZE")?,
        bits: number("WIDTH")?,
        ports: MemoryPorts {
            reads: number("RD_PORTS")?,
            writes: number("WR_PORTS")?,
            are_shared: field("connect", "RD_ADDR")? == field("connect", "WR_ADDR")?,
        },
        is_clocked: !bits("RD_CLK_ENABLE")?.contains('0') && !reset,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = r"
  cell $mem_v2 \u_scores.gen_element[1].words_q
    parameter \MEMID 1
    parameter \WIDTH 16
    parameter \SIZE 256
    parameter \RD_PORTS 1
    parameter \RD_CLK_ENABLE 1'1
    parameter \WR_PORTS 1
    connect \RD_ARST 1'0
    connect \RD_ADDR \read_address_i
    connect \WR_ADDR \write_address_i
  end
";

    #[test]
    fn memories_are_read_with_their_ports() {
        let read = |text: &str| memories(text).expect("a memory");
        let ports = MemoryPorts { reads: 1, writes: 1, are_shared: false };
        let name = "u_scores.words_q".to_owned();
        let expected = Memory { name, words: 256, bits: 16, ports, is_clocked: true };
        assert_eq!(read(DUMP), std::slice::from_ref(&expected));
        assert!(read(&DUMP.replace("write_address", "read_address"))[0].ports.are_shared);
        assert!(!read(&DUMP.replace("RD_CLK_ENABLE 1'1", "RD_CLK_ENABLE 1'0"))[0].is_clocked);
        let both = DUMP.to_owned() + &DUMP.replace("[1]", "[0]");
        assert_eq!(read(&both), [Memory { bits: 32, ..expected }]);
        assert_eq!(read(""), []);
        assert_eq!(memories(&DUMP.replace("SIZE", "size")), None);
    }
}
