// SPDX-License-Identifier: MIT
//! A simulation for another simulator: the netlist, its cells in Verilog, the inputs, and a test bench
//! that counts the transitions of every net, to be compared with those that were counted here.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `netlist.v` | what synthesis wrote |
//! | `cells.v` | the cells, made from the library's functions, with delays as parameters |
//! | `bench.v` | the test bench; it prints a number for each net |
//! | `inputs.hex` | the ports' bits, a line for each clock, and a 1 before them where it is counted |
//! | `toggles` | the numbers that were counted here |
//! | `nets` | the nets' names |
//!
//! Without delays the test bench looks at each net but clocks at the end of each clock, and any models of
//! the cells will do, such as those that come with the library. All flip-flops begin at 0, as they do here:
//! the test bench makes them take it before the reset.

use super::cells::Cell;
use super::design::Gates;
use super::function::{Function, Truth};
use super::netlist::{Net, ONE};
use super::{Activity, CLOCK, Delays, RESET, Stimulus};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::io;
use std::path::Path;

/// Writes the files to a folder, which is made.
pub fn write(
    folder: &Path,
    netlist: &str,
    activity: &Activity<'_>,
    stimulus: &Stimulus,
    delays: Delays,
) -> io::Result<()> {
    let Activity { design, counts } = activity;
    std::fs::create_dir_all(folder)?;
    let file = |name: &str, text: &str| std::fs::write(folder.join(name), text);
    // Synthesis leaves names that are others'.
    let outputs = design.gates.iter().flat_map(|gate| gate.outputs.iter().flatten());
    let ports = design.inputs.iter().flat_map(|(_, bits)| *bits);
    let driven: HashSet<Net> = outputs.chain(ports).chain([&design.clock]).copied().collect();
    let nets: Vec<Net> = (ONE + 1..design.nets.len())
        .filter(|net| Some(*net) != design.reset)
        .filter(|net| driven.contains(net) || !design.nets[*net].sinks.is_empty())
        .collect();
    let toggles = nets.iter().fold(String::new(), |mut text, net| {
        let count: u64 = counts.iter().map(|counts| counts.toggles[*net]).sum();
        let _ = writeln!(text, "{count}");
        text
    });
    file("netlist.v", netlist)?;
    file("cells.v", &cells(design))?;
    file("bench.v", &bench(design, &nets, stimulus, delays))?;
    file("inputs.hex", &inputs(stimulus))?;
    file("toggles", &toggles)?;
    let names = nets.iter().map(|net| design.netlist.nets[*net].as_str());
    file("nets", &names.flat_map(|name| [name, "\n"]).collect::<String>())
}

/// The cells, made of their tables. An output is a primitive, which is evaluated as one and so has no
/// hazards of its own, with the delays of the instance.
fn cells(design: &Gates) -> String {
    let names = design.netlist.instances.iter().map(|instance| instance.cell.as_str());
    let used: BTreeMap<&str, &Cell> =
        names.zip(design.gates.iter().map(|gate| gate.cell)).collect();
    let mut text = String::from("`timescale 1ps/1ps\n");
    for (name, cell) in used {
        let mut variables: Vec<&str> = cell.inputs.iter().map(|pin| pin.name.as_str()).collect();
        let outputs = cell.outputs.iter().map(|pin| format!("output {}", pin.name));
        let inputs = variables.iter().map(|name| format!("input {name}"));
        let ports: Vec<_> = inputs.chain(outputs).collect();
        let mut module = format!("module {name} ({});\n", ports.join(", "));
        if let Some(register) = &cell.register {
            let clock = variables[register.clock];
            let edge = if register.is_rising { "posedge" } else { "negedge" };
            variables.push("register_q");
            module += "  reg register_q;\n  wire next_w, clear_w, preset_w;\n";
            let never = Truth::of(&Function::Constant(false), variables.len());
            for (wire, truth) in [
                ("next", &register.next),
                ("clear", register.clear.as_ref().unwrap_or(&never)),
                ("preset", register.preset.as_ref().unwrap_or(&never)),
            ] {
                let of = format!("{name}_{wire}");
                module += &instance(&mut text, &of, "", &format!("{wire}_w"), truth, &variables);
            }
            let _ = writeln!(
                module,
                "  always @({edge} {clock} or posedge clear_w or posedge preset_w)\n    \
                 if (clear_w) register_q <= 1'b0;\n    \
                 else if (preset_w) register_q <= 1'b1;\n    \
                 else register_q <= next_w;"
            );
        }
        for (n, output) in cell.outputs.iter().enumerate() {
            let _ = writeln!(module, "  parameter RISE{n} = 1, FALL{n} = 1;");
            let delays = format!("#(RISE{n}, FALL{n}) ");
            let of = format!("{name}_{}", output.name);
            module +=
                &instance(&mut text, &of, &delays, &output.name, &output.function, &variables);
        }
        text += &module;
        text += "endmodule\n";
    }
    text
}

/// An instance of a primitive for a function, which is declared in `text`: of those variables on which
/// the function depends, so that what is unknown elsewhere does not matter.
fn instance(
    text: &mut String,
    name: &str,
    delays: &str,
    output: &str,
    truth: &Truth,
    variables: &[&str],
) -> String {
    let support: Vec<usize> = truth.support(variables.len()).collect();
    if support.is_empty() {
        return format!("  assign {delays}{output} = 1'b{};\n", u8::from(truth.at(0)));
    }
    let names: Vec<_> = support.iter().map(|n| variables[*n]).collect();
    let inputs = names.join(", ");
    let _ = writeln!(text, "primitive {name} (o, {inputs});\n  output o;\n  input {inputs};");
    *text += "  table\n";
    for row in 0..1_u32 << support.len() {
        let bit = |n: usize| row >> n & 1;
        let state = support.iter().enumerate().fold(0, |state, (n, at)| state | bit(n) << at);
        let bits: Vec<_> = (0..support.len()).map(|n| bit(n).to_string()).collect();
        let _ = writeln!(text, "    {} : {};", bits.join(" "), u8::from(truth.at(state)));
    }
    *text += "  endtable\nendprimitive\n";
    format!("  {name} {delays}u_{output} ({output}, {inputs});\n")
}

/// A line for each clock: the bits of the ports from the last to the first, in hexadecimal digits, with
/// whether it is counted in front.
fn inputs(stimulus: &Stimulus) -> String {
    let mut text = String::new();
    for (clock, phase) in stimulus.phases.iter().enumerate() {
        let words = stimulus.inputs.clock(clock);
        let mut bits = Vec::new();
        let mut word = 0;
        for port in stimulus.inputs.ports {
            let bit = |bit: usize| words[word + bit / 32] >> (bit % 32) & 1 != 0;
            bits.extend((0..port.width as usize).map(bit));
            word += port.words();
        }
        bits.push(phase.is_some());
        let digit = |bits: &[bool]| {
            let value = bits.iter().rev().fold(0, |value, bit| 2 * value + u32::from(*bit));
            char::from_digit(value, 16).expect("four bits")
        };
        text.extend(bits.chunks(4).rev().map(digit));
        text.push('\n');
    }
    text
}

fn bench(design: &Gates, nets: &[Net], stimulus: &Stimulus, delays: Delays) -> String {
    let clocks = stimulus.phases.len();
    let ports = stimulus.inputs.ports;
    let width: u32 = ports.iter().map(|port| port.width).sum();
    // Long enough for the longest path.
    let longest = design.nets.iter().flat_map(|net| net.delay_ps).max().unwrap_or(1).max(1);
    let half_ps = (design.levels as u64 + 2) * u64::from(longest);
    let mut text = format!(
        "`timescale 1ps/1ps\nmodule bench;\n  reg clk, rst, counts;\n  \
         reg [{width}:0] line [0:{}];\n  reg [{width}:0] in;\n  \
         integer clock, net;\n  integer count [0:{}];\n  reg [{}:0] before;\n  {} dut (.{CLOCK}(clk)",
        clocks.saturating_sub(1),
        nets.len().saturating_sub(1),
        nets.len().saturating_sub(1),
        design.netlist.module
    );
    if design.reset.is_some() {
        let _ = write!(text, ", .{RESET}(rst)");
    }
    let mut low = 0;
    for port in ports {
        let _ = write!(text, ", .{}(in[{}:{low}])", port.name, low + port.width - 1);
        low += port.width;
    }
    text += ");\n";
    let name = |net: &Net| &design.netlist.nets[*net];
    let counted = |text: &mut String, n: usize, net: &Net| {
        let net = name(net);
        let _ = writeln!(text, "  always @(dut.{net} ) if (counts) count[{n}] = count[{n}] + 1;");
    };
    if delays == Delays::Zero {
        let is_clock = |net: &Net| design.nets[*net].is_clock;
        for (n, net) in nets.iter().enumerate().filter(|(_, net)| is_clock(net)) {
            counted(&mut text, n, net);
        }
        text += "  task look;\n    begin\n";
        for (n, net) in nets.iter().enumerate().filter(|(_, net)| !is_clock(net)) {
            let net = name(net);
            let _ = writeln!(
                text,
                "      if (counts && dut.{net} !== before[{n}]) count[{n}] = count[{n}] + 1;\n      \
                 before[{n}] = dut.{net} ;"
            );
        }
        text += "    end\n  endtask\n";
    } else {
        text += "  task look; begin end endtask\n";
        for (n, net) in nets.iter().enumerate() {
            counted(&mut text, n, net);
        }
        for (gate, instance) in design.gates.iter().zip(&design.netlist.instances) {
            for (n, net) in gate.outputs.iter().enumerate() {
                let Some(net) = *net else { continue };
                let [fall, rise] = design.nets[net].delay_ps;
                let name = &instance.name;
                let _ = writeln!(
                    text,
                    "  defparam dut.{name} .RISE{n} = {rise}, dut.{name} .FALL{n} = {fall};"
                );
            }
        }
    }
    text += &zeros(design);
    // The ports change behind the edge, when the flip-flops have seen what was before it.
    let _ = write!(
        text,
        "  initial begin\n    $readmemh(\"inputs.hex\", line);\n    counts = 0; before = 0;\n    \
         for (net = 0; net < {}; net = net + 1) count[net] = 0;\n    \
         rst = 1; in = 0; #1 take_zeros; #1 rst = 0; #{half_ps} rst = 1; #1 release_zeros;\n    \
         #{half_ps} look;\n    \
         for (clock = 0; clock < {clocks}; clock = clock + 1) begin\n      \
         counts = line[clock][{width}]; clk = 1;\n      \
         in <= line[clock];\n      #{half_ps} clk = 0;\n      #{half_ps} look;\n    end\n    \
         for (net = 0; net < {}; net = net + 1) $display(\"%0d\", count[net]);\n    \
         $finish(0);\n  end\nendmodule\n",
        nets.len(),
        nets.len()
    );
    text
}

/// Tasks that make all flip-flops take a 0 from their inputs, and leave the inputs and a high clock to the
/// netlist again.
fn zeros(design: &Gates) -> String {
    let mut inputs = BTreeSet::new();
    for gate in &design.gates {
        let Some(register) = &gate.cell.register else { continue };
        let matters = register.next.support(gate.inputs.len());
        inputs.extend(matters.map(|input| gate.inputs[input]));
    }
    let ports: BTreeSet<Net> = design.inputs.iter().flat_map(|(_, bits)| *bits).copied().collect();
    let name = |net: Net| &design.netlist.nets[net];
    let clocks: Vec<Net> =
        (0..design.nets.len()).filter(|&n| design.nets[n].is_clock && n != design.clock).collect();
    let mut text = String::from("  task take_zeros;\n    begin\n");
    let inputs = || inputs.iter().filter(|net| **net > ONE && !ports.contains(net));
    for net in inputs() {
        let _ = writeln!(text, "      force dut.{} = 0;", name(*net));
    }
    for value in [0, 1, 0] {
        let _ = writeln!(text, "      clk = {value};");
        for net in &clocks {
            let _ = writeln!(text, "      force dut.{} = {value};", name(*net));
        }
        text += "      #1;\n";
    }
    text += "      clk = 1;\n";
    for net in &clocks {
        let _ = writeln!(text, "      release dut.{} ;", name(*net));
    }
    text += "    end\n  endtask\n  task release_zeros;\n    begin\n";
    for net in inputs() {
        let _ = writeln!(text, "      release dut.{} ;", name(*net));
    }
    text += "    end\n  endtask\n";
    text
}
