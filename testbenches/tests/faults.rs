// SPDX-License-Identifier: MIT
//! The checks themselves: a fault of one bit is found, shrunk and written down.

use pimlico_ports::{Instances, Model, Unit};
use pimlico_testbenches::cosim::{self, Failure, Progress};
use pimlico_testbenches::{Bench, Lockstep, OracleError, Rtl};
use pimlico_units::arith::{Binary16, FpAdd, FpAddIn, FpAddOut, FpAddProbe, FpMul};

/// A model of the adder that is wrong for sums that are an odd subnormal number.
#[derive(Clone)]
struct Wrong;

impl Unit for Wrong {
    const MODULE: &'static str = "fp_add";
    const PARAMETERS: &'static [(&'static str, i64)] = FpAdd::<Binary16, 0>::PARAMETERS;
    type In = FpAddIn<Binary16>;
    type Out = FpAddOut<Binary16>;
    type Probe = FpAddProbe<Binary16>;
}

impl Model for Wrong {
    fn new() -> Self {
        Self
    }

    fn reset(&mut self) {}

    fn probe(&self) -> Self::Probe {
        FpAddProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let sum = (input.a_i + input.b_i).to_bits();
        let wrong = if sum & 0x7C01 == 1 { sum ^ 1 } else { sum };
        FpAddOut { result_o: pimlico_units::arith::Fp::from_bits(wrong), ..Default::default() }
    }
}

impl Bench for Wrong {
    fn oracle(_: &[Self::In], _: &[Self::Out]) -> Result<u64, OracleError> {
        Ok(0)
    }
}

#[test]
fn a_fault_is_found_shrunk_and_written_down() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut said = Vec::new();
    let progress = |event: Progress<'_>| {
        if let Progress::Failed(cycle, failure) = event {
            said.push((cycle, failure.brief()));
        }
    };
    let outcome = cosim::run::<Wrong>(1_000_000, 1, folder.path(), progress).expect("writable");
    let report = outcome.failure.expect("the fault is found");
    assert_eq!(said, [(report.cycle, report.first.brief())], "said before it is shrunk");
    assert!(said[0].1.starts_with("result_o model 0x"), "{}", said[0].1);
    assert_eq!(report.cycle + 1, outcome.cycles);

    let Failure::Mismatch(shrunk) = report.shrunk else { panic!("an oracle that says nothing") };
    assert_eq!((shrunk.port.as_str(), shrunk.cycle), ("result_o", 0), "shrunk to one cycle");
    assert_ne!(shrunk.model, shrunk.rtl);
    assert_eq!(shrunk.inputs.cycles.len(), 1);

    for file in report.waveforms.files() {
        let text = std::fs::read_to_string(file).expect("it was written");
        for port in ["clk_i", "rst_ni", "a_i", "b_i", "result_o"] {
            assert!(text.contains(&format!(" {port} ")), "{port} in {}", file.display());
        }
    }

    // The same seed fails in the same cycle, and not before.
    let again = cosim::run::<Wrong>(outcome.cycles, 1, folder.path(), |_| {}).expect("writable");
    assert_eq!(again.failure.map(|r| r.cycle), Some(report.cycle));
    let before = cosim::run::<Wrong>(report.cycle, 1, folder.path(), |_| {}).expect("writable");
    assert!(before.failure.is_none());
}

#[test]
fn a_mismatch_has_the_last_inputs_of_its_instance() {
    let mut both = Lockstep::<Wrong>::new(2, 1);
    let number = |bits| pimlico_units::arith::Fp::from_bits(bits);
    // The model is wrong for the least subnormal number, and for no normal one.
    let a = |cycle: u32, instance| match (cycle, instance) {
        (11, 1) => 1,
        _ => 0x3C00 + 2 * cycle + instance,
    };
    let mut outputs = [FpAddOut::default(); 2];
    let failed = (0..12).find_map(|cycle| {
        let inputs = [0, 1].map(|i| FpAddIn { a_i: number(a(cycle, i)), ..Default::default() });
        both.step(&inputs, &mut outputs).err()
    });
    let failed = failed.expect("the last cycle differs");
    assert_eq!((failed.unit.as_str(), failed.instance, failed.cycle), ("fp_add", 1, 11));
    let (first, cycles) = (failed.inputs.first, failed.inputs.cycles);
    assert_eq!((first, cycles.len()), (4, 8));
    for (ports, cycle) in cycles.iter().zip(4..) {
        assert_eq!(ports[0], ("a_i", format!("{:04x}", a(cycle, 1))), "cycle {cycle}");
    }
}

#[test]
fn an_oracle_catches_what_rtl_and_model_agree_on() {
    let inputs = [FpAddIn::<Binary16>::default()];
    let wrong = FpAddOut { result_o: pimlico_units::arith::Fp::NAN, ..Default::default() };
    let error = FpAdd::<Binary16, 0>::oracle(&inputs, &[wrong]).expect_err("0 + 0 is 0");
    assert_eq!((error.got, error.expected), (0x7E00, 0));
}

/// An adder that its oracle wants to be even.
#[derive(Clone)]
struct Doubted(FpAdd<Binary16, 0>);

impl Unit for Doubted {
    const MODULE: &'static str = "fp_add";
    const PARAMETERS: &'static [(&'static str, i64)] = FpAdd::<Binary16, 0>::PARAMETERS;
    type In = FpAddIn<Binary16>;
    type Out = FpAddOut<Binary16>;
    type Probe = FpAddProbe<Binary16>;
}

impl Model for Doubted {
    fn new() -> Self {
        Self(FpAdd::new())
    }

    fn reset(&mut self) {}

    fn probe(&self) -> Self::Probe {
        self.0.probe()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        self.0.step(input)
    }
}

impl Bench for Doubted {
    fn oracle(_: &[Self::In], outputs: &[Self::Out]) -> Result<u64, OracleError> {
        let odd = outputs.iter().position(|output| output.result_o.to_bits() & 1 == 1);
        odd.map_or(Ok(0), |cycle| {
            let got = outputs[cycle].result_o.to_bits();
            let (cycle, expected, what) = (cycle as u64, got & !1, "even".to_owned());
            Err(OracleError { cycle, port: "result_o", got, expected, what })
        })
    }
}

#[test]
fn the_report_of_an_oracle_has_the_inputs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let outcome = cosim::run::<Doubted>(1000, 1, folder.path(), |_| {}).expect("writable");
    let report = outcome.failure.expect("the oracle objects");
    let Failure::Oracle { error, inputs, .. } = &report.shrunk else { panic!("they agree") };
    let (_, values) = inputs.cycles.last().expect("at least that cycle")[0].clone();
    let line = format!("    cycle {}: a_i={values} b_i=", error.cycle);
    assert!(report.shrunk.to_string().contains(&line), "{}", report.shrunk);
    assert_eq!(inputs.first + inputs.cycles.len() as u64, error.cycle + 1);
}

#[test]
fn instances_may_end_in_any_order() {
    let mut first = Rtl::<FpMul<Binary16, 3>>::new(3, 1);
    let mut second = Lockstep::<FpAdd<Binary16, 3>>::new(2, 1);
    let mut outputs = [FpAddOut::default(); 2];
    second.step(&[FpAddIn::default(); 2], &mut outputs).expect("no mismatch");
    drop(second);
    first.reset();
    drop(first);
}
