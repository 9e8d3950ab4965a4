// SPDX-License-Identifier: MIT
//! Gated clocks and falling edges.

use super::*;

ports! {
    /// A register that takes another's value where it is let.
    unit Gated: "gated" {
        inputs GatedIn {
            /// The next edge passes.
            a_i: bool,
            /// What the first register takes.
            b_i: bool,
        }
        outputs GatedOut {
            /// The second register.
            y_o: bool,
        }
        probes GatedProbe {}
    }
}

#[derive(Clone)]
struct Gated {
    first: bool,
    second: bool,
}

impl Unit for Gated {
    const MODULE: &'static str = "gated";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = GatedIn;
    type Out = GatedOut;
    type Probe = GatedProbe;
}

impl Model for Gated {
    fn new() -> Self {
        Self { first: false, second: false }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> GatedProbe {
        GatedProbe::default()
    }

    fn step(&mut self, input: &GatedIn) -> GatedOut {
        let y_o = self.second;
        if input.a_i {
            self.second = self.first;
        }
        self.first = input.b_i;
        GatedOut { y_o }
    }
}

/// What it takes beside the other cells: a gate that must never change by its enable, and a flip-flop for
/// the falling edge.
const CELLS: &str = r#"
  cell(AN) { area : 3; cell_leakage_power : 12;
    pin(A) { direction : input; capacitance : 2; }
    pin(B) { direction : input; capacitance : 3; }
    pin(Y) { direction : output; function : "A B";
      timing() { related_pin : "A B"; timing_sense : positive_unate;
        cell_rise(scalar) { values ("50"); } rise_transition(scalar) { values ("5"); }
        cell_fall(scalar) { values ("50"); } fall_transition(scalar) { values ("5"); } }
      internal_power() { related_pin : "A";
        rise_power(scalar) { values ("1.5"); } fall_power(scalar) { values ("2.5"); } }
      internal_power() { related_pin : "B"; power(scalar) { values ("100"); } } } }
  cell(NF) { area : 7; cell_leakage_power : 30;
    ff(IQ, IQN) { clocked_on : "(!CKN)"; next_state : "D"; clear : "!RN"; }
    pin(CKN) { direction : input; capacitance : 2; clock : true;
      internal_power() { rise_power(scalar) { values ("6"); } fall_power(scalar) { values ("7"); } } }
    pin(D) { direction : input; capacitance : 1; }
    pin(RN) { direction : input; capacitance : 1; }
    pin(Q) { direction : output; function : "IQ";
      timing() { related_pin : "CKN"; timing_type : falling_edge;
        cell_rise(scalar) { values ("6"); } rise_transition(scalar) { values ("5"); }
        cell_fall(scalar) { values ("6"); } fall_transition(scalar) { values ("5"); } }
      internal_power() { related_pin : "CKN";
        rise_power(scalar) { values ("11"); } fall_power(scalar) { values ("10"); } } } }
}
"#;

fn library() -> String {
    LIBRARY.trim_end().strip_suffix('}').expect("a library").to_owned() + CELLS
}

const GATED: &str = r"
module gated(clk_i, rst_ni, a_i, b_i, y_o);
  input clk_i; input rst_ni; input a_i; input b_i; output y_o;
  wire enable; wire gated; wire first;
  NF g1 ( .CKN(clk_i), .D(a_i), .RN(rst_ni), .Q(enable) );
  AN g2 ( .A(clk_i), .B(enable), .Y(gated) );
  FF g3 ( .CK(clk_i), .D(b_i), .RN(rst_ni), .Q(first) );
  FF g4 ( .CK(gated), .D(first), .RN(rst_ni), .Q(y_o) );
endmodule
";

const INPUTS: [(u8, u8); 6] = [(1, 1), (0, 1), (1, 0), (1, 1), (0, 0), (0, 0)];

fn power_of_gated(netlist: &str, options: Options) -> Result<UnitPower, String> {
    let mut tape = Tape::new::<Gated>(10_000, 100);
    for (a, b) in INPUTS {
        tape.record(Phase::Score, &GatedIn { a_i: a != 0, b_i: b != 0 });
    }
    power_of(&library(), netlist, &tape.replay::<Gated>(100), options)
}

#[test]
fn a_gated_clock_costs_where_its_edges_pass() {
    for delays in [Delays::Zero, Delays::Unit, Delays::Liberty] {
        let power = power_of_gated(GATED, Options { delays, ..OPTIONS }).expect("power");
        let score = power.phase(Phase::Score).expect("six clocks");
        // The clock rises five times and falls six times; three edges pass, into clocks 1, 3 and 4. Transitions
        // times load: a, b, the first register, the enable, the clock, the gated clock.
        let switching = 4.0 + 4.0 + 4.0 + 4.0 * 3.0 + 11.0 * (2.0 + 2.0 + 1.5) + 6.0 * 1.5;
        let enable = 5.0 * 6.0 + 6.0 * 7.0 + 2.0 * (11.0 + 10.0);
        let gate = 3.0 * (1.5 + 2.5);
        // Its input changes while its clock is high, in clocks 0, 2, 3 and 4.
        let first = 5.0 * 3.0 + 6.0 * 2.0 + 2.0 * (0.5 + 0.25) + 2.0 * (9.0 + 8.0);
        // The second's changes in clocks 1, 3 and 4 while its own clock is high, and in clock 5 while that is low.
        let second = 3.0 * (3.0 + 2.0) + (0.5 + 0.25 + 0.5 + 1000.0) + (9.0 + 8.0);
        let internal = enable + gate + first + second;
        // fJ in six clocks of 10 ns, in mW
        assert!(near(score.power.switching, 2.0 * switching / 60.0 * 1e-3), "{score:?}");
        assert!(near(score.power.internal, internal / 60.0 * 1e-3), "{score:?}");
        assert!(near(score.power.leakage, (30.0 + 12.0 + 20.0 + 20.0) * 1e-6));
        // a, b, enable, first, y
        assert_eq!(score.toggles_per_clock, f64::from(4 + 4 + 4 + 4 + 2) / 6.0);
        assert_eq!(score.glitches, 0.0);
        let still_ns = [0.0, 0.001, 0.006][delays as usize];
        assert!(near(score.still_ns, still_ns), "{score:?}");
        // Where no edge passes, only the clock's own pins take something.
        let idle = power.phase(Phase::Idle).expect("it is always there");
        assert!(near(idle.power.internal, (6.0 + 7.0 + 3.0 + 2.0) / 10.0 * 1e-3), "{idle:?}");
        assert!(near(idle.power.switching, 2.0 * 2.0 * (2.0 + 2.0 + 1.5) / 10.0 * 1e-3));
    }
}

#[test]
fn an_inverted_clock_is_its_falling_edge() {
    let inverted =
        GATED.replace("NF g1 ( .CKN(clk_i)", "IV g0 ( .A(clk_i), .Y(n) );\n FF g1 ( .CK(n)");
    let inverted = inverted.replace("wire first;", "wire first; wire n;");
    for delays in [Delays::Zero, Delays::Unit, Delays::Liberty] {
        let power = power_of_gated(&inverted, Options { delays, ..OPTIONS }).expect("power");
        let idle = power.phase(Phase::Idle).expect("it is always there");
        // Two flip-flops of three, and the inverter, which drives 1.5 fF.
        let internal = 2.0 * (3.0 + 2.0) + (1.3 + 2.0);
        assert!(near(idle.power.internal, internal / 10.0 * 1e-3), "{idle:?}");
    }
    let rising =
        inverted.replace(".CK(n)", ".CK(clk_i)").replace("IV g0 ( .A(clk_i), .Y(n) );", "");
    // Then the enable comes while the clock is high.
    for delays in [Delays::Zero, Delays::Unit, Delays::Liberty] {
        let error = power_of_gated(&rising, Options { delays, ..OPTIONS }).expect_err("a glitch");
        let expected =
            "net gated, clock 1: expected a gated clock to change with the port clk_i only";
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_falling_edge_waits_for_the_logic() {
    // Four inverters of 3 ps before the enable; the clock falls after 2 ps.
    let wires = "wire first; wire n1; wire n2; wire n3;";
    let logic = "IV i1 ( .A(a_i), .Y(n1) ); IV i2 ( .A(n1), .Y(n2) ); IV i3 ( .A(n2), .Y(n3) );";
    let slow = GATED.replace("wire first;", wires).replace(".D(a_i)", ".D(n4)");
    let slow =
        slow.replace("NF g1", &format!("wire n4; {logic} IV i4 ( .A(n3), .Y(n4) );\n NF g1"));
    let power = power_of_gated(&slow, Options { clock_ns: 0.004, ..OPTIONS }).expect("power");
    let score = power.phase(Phase::Score).expect("six clocks");
    assert!(near(score.still_ns, 0.012), "{score:?}");
}
