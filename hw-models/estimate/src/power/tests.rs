// SPDX-License-Identifier: MIT
//! Small netlists whose power is calculated by hand.

mod clocks;

use super::*;
use pimlico_ports::{Model, Open, Unit, ports};
use std::path::Path;

ports! {
    /// Two inputs and what becomes of them a clock later.
    unit Small: "small" {
        inputs SmallIn {
            /// One.
            a_i: bool,
            /// The other.
            b_i: bool,
        }
        outputs SmallOut {
            /// Both, a clock later.
            y_o: bool,
        }
        probes SmallProbe {}
    }
}

#[derive(Clone)]
struct Small {
    both: bool,
}

impl Unit for Small {
    const MODULE: &'static str = "small";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = SmallIn;
    type Out = SmallOut;
    type Probe = SmallProbe;
}

impl Model for Small {
    fn new() -> Self {
        Self { both: false }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> SmallProbe {
        SmallProbe::default()
    }

    fn step(&mut self, input: &SmallIn) -> SmallOut {
        let y_o = std::mem::replace(&mut self.both, input.a_i && input.b_i);
        SmallOut { y_o }
    }
}

/// The same, whose output is open where it is 1.
#[derive(Clone)]
struct Loose(Small);

impl Unit for Loose {
    const MODULE: &'static str = "small";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = SmallIn;
    type Out = SmallOut;
    type Probe = SmallProbe;
}

impl Model for Loose {
    fn new() -> Self {
        Self(Small::new())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.0.both {
            open.port("y_o").mark();
        }
    }

    fn probe(&self) -> SmallProbe {
        self.0.probe()
    }

    fn step(&mut self, input: &SmallIn) -> SmallOut {
        self.0.step(input)
    }
}

/// fF, ps, fJ, nW, 2 V. Delays do not depend on anything; an inverter's energy does on its load.
const LIBRARY: &str = r#"
library(small) {
  time_unit : "1ps"; voltage_unit : "1V"; leakage_power_unit : "1nW"; nom_voltage : 2.0;
  capacitive_load_unit (1, ff);
  power_lut_template(load) {
    variable_1 : total_output_net_capacitance; index_1 ("0, 10");
  }
  cell(ND2) { area : 2; cell_leakage_power : 10;
    pin(A) { direction : input; capacitance : 2; }
    pin(B) { direction : input; capacitance : 3; }
    pin(Y) { direction : output; function : "!(A B)";
      timing() { related_pin : "A B"; timing_sense : negative_unate;
        cell_rise(scalar) { values ("2"); } rise_transition(scalar) { values ("5"); }
        cell_fall(scalar) { values ("2"); } fall_transition(scalar) { values ("5"); } }
      internal_power() { related_pin : "A";
        rise_power(scalar) { values ("5"); } fall_power(scalar) { values ("4"); } }
      internal_power() { related_pin : "B";
        rise_power(scalar) { values ("7"); } fall_power(scalar) { values ("6"); } } } }
  cell(IV) { area : 1;
    leakage_power() { when : "A"; value : 4; }
    leakage_power() { when : "!A"; value : 8; }
    pin(A) { direction : input; capacitance : 1; }
    pin(Y) { direction : output; function : "A'";
      timing() { related_pin : "A"; timing_sense : negative_unate;
        cell_rise(scalar) { values ("3"); } rise_transition(scalar) { values ("5"); }
        cell_fall(scalar) { values ("3"); } fall_transition(scalar) { values ("5"); } }
      internal_power() { related_pin : "A";
        rise_power(load) { values ("1, 3"); } fall_power(scalar) { values ("2"); } } } }
  cell(FF) { area : 6; cell_leakage_power : 20;
    ff(IQ, IQN) { clocked_on : "CK"; next_state : "D"; clear : "!RN"; }
    pin(CK) { direction : input; capacitance : 1.5; clock : true;
      internal_power() { rise_power(scalar) { values ("3"); } fall_power(scalar) { values ("2"); } } }
    pin(D) { direction : input; capacitance : 1;
      internal_power() { when : "CK";
        rise_power(scalar) { values ("0.5"); } fall_power(scalar) { values ("0.25"); } }
      internal_power() { when : "!CK"; power(scalar) { values ("1000"); } } }
    pin(RN) { direction : input; capacitance : 1; }
    pin(Q) { direction : output; function : "IQ";
      timing() { related_pin : "CK"; timing_type : rising_edge;
        cell_rise(scalar) { values ("4"); } rise_transition(scalar) { values ("5"); }
        cell_fall(scalar) { values ("4"); } fall_transition(scalar) { values ("5"); } }
      internal_power() { related_pin : "CK";
        rise_power(scalar) { values ("9"); } fall_power(scalar) { values ("8"); } } } }
  cell(LAT) { area : 3; latch(IQ, IQN) { enable : "E"; data_in : "D"; }
    pin(D) { direction : input; capacitance : 1; } pin(E) { direction : input; capacitance : 1; }
    pin(Q) { direction : output; function : "IQ"; } }
}
"#;

const NETLIST: &str = r"
module small(clk_i, rst_ni, a_i, b_i, y_o);
  input clk_i; input rst_ni; input a_i; input b_i; output y_o;
  wire n1; wire n2;
  ND2 g1 ( .A(a_i), .B(b_i), .Y(n1) );
  IV g2 ( .A(n1), .Y(n2) );
  FF g3 ( .CK(clk_i), .D(n2), .RN(rst_ni), .Q(y_o) );
endmodule
";

const OPTIONS: Options = Options {
    delays: Delays::Liberty,
    surroundings: Surroundings { slew_ps: 5.0, wire_ff: 0.0 },
    clock_ns: 10.0,
};

/// Inputs by clock, all of them in the phase of the score.
fn stimulus(inputs: &[(u8, u8)]) -> Stimulus {
    stimulus_of::<Small>(inputs)
}

fn stimulus_of<M: Model<In = SmallIn>>(inputs: &[(u8, u8)]) -> Stimulus {
    let mut tape = Tape::new::<Small>(10_000, 100);
    for (a, b) in inputs {
        let input = SmallIn { a_i: *a != 0, b_i: *b != 0 };
        tape.record(Phase::Score, &input);
    }
    tape.replay::<M>(100)
}

fn power_of(
    library: &str,
    netlist: &str,
    stimulus: &Stimulus,
    options: Options,
) -> Result<UnitPower, String> {
    let cells = Cells::read(library)?;
    let library = Library::from_text(Path::new("small.lib"), library.as_bytes().to_vec())
        .map_err(|error| error.to_string())?;
    let netlist = Netlist::parse(netlist)?;
    estimate(&netlist, &cells, &library, stimulus, options).map_err(|e| e.to_string())
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn power_is_what_a_calculation_by_hand_gives() {
    let stimulus = stimulus(&[(1, 1), (1, 0), (1, 1), (0, 1)]);
    let power = power_of(LIBRARY, NETLIST, &stimulus, OPTIONS).expect("power");
    let score = power.phase(Phase::Score).expect("four clocks");
    assert_eq!((score.clocks, score.counted), (4, 4));
    // Transitions times load: a, b, n1, n2, and the clock's 3 rising and 4 falling edges; half V^2 is 2.
    let switching = 2.0 * (2.0 * 2.0 + 3.0 * 3.0 + 4.0 * 1.0 + 4.0 * 1.0 + 7.0 * 1.5);
    // n1 falls by A (and B), rises by B, falls by B, rises by A; n2 rises twice with a load of 1 and
    // falls twice; so does D, the clock being high; the clock; Q rises, falls and rises.
    let internal = (4.0 + 7.0 + 6.0 + 5.0)
        + (2.0 * 1.2 + 2.0 * 2.0)
        + 2.0 * (0.5 + 0.25)
        + (3.0 * 3.0 + 4.0 * 2.0)
        + (2.0 * 9.0 + 8.0);
    // fJ in four clocks of 10 ns, in mW
    assert!(near(score.power.switching, switching / 40.0 * 1e-3), "{score:?}");
    assert!(near(score.power.internal, internal / 40.0 * 1e-3), "{score:?}");
    // n1 is 0 in two clocks of four.
    assert!(near(score.power.leakage, (10.0 + 20.0 + 6.0) * 1e-6), "{score:?}");
    assert!(near(score.pj_per_clock, 10.0 * score.power.total()));
    assert!(near(score.toggles_per_clock, (2.0 + 3.0 + 4.0 + 4.0 + 3.0) / 4.0));
    assert_eq!(score.glitches, 0.0);
    assert!(near(score.still_ns, 0.005)); // a NAND of 2 ps and an inverter of 3 ps
    assert!(near(power.ge, 4.5)); // areas 2 + 1 + 6, of which a NAND has 2
}

#[test]
fn an_idle_unit_takes_its_clock_and_leaks() {
    let power = power_of(LIBRARY, NETLIST, &stimulus(&[(1, 1), (1, 0)]), OPTIONS).expect("power");
    let idle = power.phase(Phase::Idle).expect("it is always there");
    // Inputs of one bit are 0: n1 is 1.
    assert!(near(idle.power.internal, (3.0 + 2.0) / 10.0 * 1e-3), "{idle:?}");
    assert!(near(idle.power.switching, 2.0 * 2.0 * 1.5 / 10.0 * 1e-3));
    assert!(near(idle.power.leakage, (10.0 + 20.0 + 4.0) * 1e-6));
}

#[test]
fn wires_and_the_clock_period_count() {
    let stimulus = stimulus(&[(1, 1), (1, 0), (1, 1), (0, 1)]);
    let of = |options| {
        let power = power_of(LIBRARY, NETLIST, &stimulus, options).expect("power");
        power.phase(Phase::Score).expect("four clocks").power
    };
    let surroundings = Surroundings { wire_ff: 10.0, ..OPTIONS.surroundings };
    let wired = of(Options { surroundings, ..OPTIONS });
    // Each of a, b, n1, n2 and the clock goes to one pin; the inverter drives 11 fF, and its table ends
    // at 10.
    let toggles = 2.0 + 3.0 + 4.0 + 4.0 + 7.0;
    assert!(near(wired.switching - of(OPTIONS).switching, 2.0 * 10.0 * toggles / 40.0 * 1e-3));
    assert!(near(wired.internal - of(OPTIONS).internal, 2.0 * (3.0 - 1.2) / 40.0 * 1e-3));
    let fast = of(Options { clock_ns: 5.0, ..OPTIONS });
    assert!(near(fast.internal, 2.0 * of(OPTIONS).internal));
    assert!(near(fast.leakage, of(OPTIONS).leakage));
}

/// `y` is 1 but for the time that the inverter takes.
const GLITCH: &str = r"
module small(clk_i, rst_ni, a_i, b_i, y_o);
  input clk_i; input rst_ni; input a_i; input b_i; output y_o;
  wire n1; wire n2; wire n3; wire n4;
  IV g1 ( .A(a_i), .Y(n1) );
  ND2 g2 ( .A(a_i), .B(n1), .Y(n2) );
  ND2 g3 ( .A(a_i), .B(b_i), .Y(n3) );
  IV g4 ( .A(n3), .Y(n4) );
  FF g5 ( .CK(clk_i), .D(n4), .RN(rst_ni), .Q(y_o) );
endmodule
";

#[test]
fn a_pulse_passes_where_it_is_longer_than_the_delay() {
    let stimulus = stimulus(&[(1, 0), (0, 0), (1, 0), (0, 0)]);
    let internal = std::cell::Cell::new(0.0);
    let of = |library: &str, delays| {
        let options = Options { delays, ..OPTIONS };
        let power = power_of(library, GLITCH, &stimulus, options).expect("power");
        let score = power.phase(Phase::Score).expect("four clocks").clone();
        internal.set(score.power.internal);
        (4.0 * score.toggles_per_clock, (12.0 * score.glitches).round())
    };
    // a and n1 change in each clock; n2 falls and rises with each rising edge of a.
    assert_eq!(of(LIBRARY, Delays::Liberty), (4.0 + 4.0 + 4.0, 4.0));
    assert_eq!(of(LIBRARY, Delays::Unit), (12.0, 4.0));
    assert_eq!(of(LIBRARY, Delays::Zero), (8.0, 0.0));
    let without_glitches = internal.get();
    // The inverter takes 3 ps: a gate of 4 ps does not see it.
    let slow = LIBRARY.replace("values (\"2\"); } rise_t", "values (\"4\"); } rise_t");
    let slow = slow.replace("values (\"2\"); } fall_t", "values (\"4\"); } fall_t");
    assert_eq!(of(&slow, Delays::Liberty), (8.0, 0.0));
    assert!(near(internal.get(), without_glitches));
}

#[test]
fn what_settles_is_what_changes_without_delays() {
    let netlist = Netlist::parse(GLITCH).expect("a netlist");
    let cells = Cells::read(LIBRARY).expect("cells");
    let library = Library::from_text(Path::new("small.lib"), LIBRARY.into()).expect("a library");
    let inputs: Vec<_> = (0..64_u32).map(|n| ((n / 3 % 2) as u8, (n * n / 5 % 2) as u8)).collect();
    let stimulus = stimulus(&inputs);
    let count = |delays| {
        let options = Options { delays, ..OPTIONS };
        let activity = simulate(&netlist, &cells, &library, &stimulus, options);
        activity.expect("equal").counts[Phase::Score as usize].clone()
    };
    let (delayed, zero) = (count(Delays::Liberty), count(Delays::Zero));
    let mut settled = delayed.settled.clone();
    settled[netlist.inputs[0].1[0]] = zero.toggles[netlist.inputs[0].1[0]]; // the clock
    assert_eq!(settled, zero.toggles);
    assert!(delayed.toggles.iter().sum::<u64>() > zero.toggles.iter().sum::<u64>());
}

#[test]
fn what_the_contract_leaves_open_is_not_compared() {
    let inputs = stimulus_of::<Loose>(&[(1, 1), (1, 0), (1, 1), (0, 1)]);
    power_of(LIBRARY, NETLIST, &inputs, OPTIONS).expect("power");
    let wrong = NETLIST.replace(".D(n2)", ".D(n1)");
    let error = power_of(LIBRARY, &wrong, &inputs, OPTIONS).expect_err("it differs");
    // Clock 1 is open; in clock 2 y is what D was in clock 1.
    let expected = "small: netlist and model differ in clock 2, port y_o: netlist 1, model 0";
    assert_eq!(error, expected);
}

#[test]
fn a_netlist_that_differs_from_its_model_is_found() {
    let inputs = stimulus(&[(1, 1), (1, 0), (1, 1), (0, 1)]);
    let wrong = NETLIST.replace(".D(n2)", ".D(n1)");
    let error = power_of(LIBRARY, &wrong, &inputs, OPTIONS).expect_err("it differs");
    // In clock 1 y is what D was in clock 0: 0, where the model has 1.
    let expected = "small: netlist and model differ in clock 1, port y_o: netlist 0, model 1";
    assert_eq!(error, expected);
}

#[test]
fn what_a_library_does_not_say_is_an_error() {
    let inputs = stimulus(&[(1, 1)]);
    let error = |library: &str, netlist: &str| {
        power_of(library, netlist, &inputs, OPTIONS).expect_err("wrong")
    };
    let without = |name: &str| LIBRARY.replace(name, "x_unknown");
    assert!(error(&without("internal_power"), NETLIST).contains("expected internal_power"));
    assert!(error(&without("nom_voltage"), NETLIST).contains("expected nom_voltage"));
    assert!(error(&without("leakage_power_unit"), NETLIST).contains("leakage_power_unit"));
    let no_leakage = without("cell_leakage_power").replace("leakage_power()", "x_unknown()");
    assert!(error(&no_leakage, NETLIST).contains("expected cell_leakage_power"));
    let no_capacitance = LIBRARY.replace("capacitance : 3;", "");
    assert!(error(&no_capacitance, NETLIST).contains("pin B: expected a capacitance"));
    let no_delays = LIBRARY.replace("timing()", "x_unknown()");
    assert!(error(&no_delays, NETLIST).contains("expected delays"));
    let no_table = LIBRARY.replace("\"1, 3\"", "\"1, 3, 4\"");
    assert!(error(&no_table, NETLIST).contains("rise_power (load)"));
    assert!(
        error(LIBRARY, &NETLIST.replace("ND2", "ND3")).contains("cell ND3: not in the library")
    );
    let latch = NETLIST.replace("IV g2 ( .A(n1), .Y(n2)", "LAT g2 ( .D(n1), .E(n1), .Q(n2)");
    assert!(error(LIBRARY, &latch).contains("cell LAT: expected logic or a flip-flop"));
}

#[test]
fn a_netlist_that_cannot_be_simulated_is_an_error() {
    let inputs = stimulus(&[(1, 1)]);
    let error = |from: &str, to: &str| {
        let netlist = NETLIST.replace(from, to);
        power_of(LIBRARY, &netlist, &inputs, OPTIONS).expect_err("wrong")
    };
    assert!(error(".B(b_i)", ".B(n2)").contains("without a loop"));
    assert!(error(".CK(clk_i)", ".CK(n2)").contains("its clock from the port clk_i"));
    assert!(error(".Y(n2)", ".Y(n1)").contains("net n1: driven twice"));
    assert!(error(".D(n2), ", "").contains("g3: expected a net at pin D"));
    assert!(error(".D(n2)", ".X(n2)").contains("g3: expected a net at pin D"));
    assert!(error("input b_i", "input b_x").contains("expected a declared net"));
    assert!(error("output y_o", "output [1:0] y_o").contains("expected one bit"));
}

#[test]
fn only_what_the_window_holds_is_counted() {
    let mut tape = Tape::new::<Small>(10_000, 6);
    for n in 0..20 {
        tape.record(Phase::Score, &SmallIn { a_i: n % 2 == 0, b_i: true });
    }
    let stimulus = tape.replay::<Small>(4);
    let counted = stimulus.phases.iter().filter(|phase| **phase == Some(Phase::Score)).count();
    assert_eq!((stimulus.clocks[Phase::Score as usize], counted), (20, 4));
    assert_eq!(stimulus.phases[..6].iter().filter(|phase| phase.is_none()).count(), 2);
    let power = power_of(LIBRARY, NETLIST, &stimulus, OPTIONS).expect("power");
    let score = power.phase(Phase::Score).expect("four clocks");
    assert_eq!((score.clocks, score.counted), (20, 4));
    assert_eq!(score.toggles_per_clock, 4.0); // a, n1, n2 and y, in each
}

#[test]
fn the_default_library_is_understood() {
    let Ok(text) = std::fs::read_to_string(crate::DEFAULT_LIBRARY) else {
        eprintln!("skipped: {} is not installed", crate::DEFAULT_LIBRARY);
        return;
    };
    let cells = Cells::read(&text).expect("a library");
    assert_eq!(cells.volts, 1.8);
    let not_understood: Vec<_> =
        cells.cells.iter().filter(|(_, cell)| cell.is_err()).map(|(name, _)| name).collect();
    assert_eq!(not_understood, ["LATCH", "TBUFX1", "TBUFX2"]);
    let nand = cells.cells["NAND2X1"].as_ref().expect("understood");
    let states = 0..4;
    assert_eq!(
        states.map(|s| nand.outputs[0].function.at(s)).collect::<Vec<_>>(),
        [true, true, true, false]
    );
}
