// SPDX-License-Identifier: MIT
//! Waveforms of model and RTL: equal byte for byte where nothing differs, and where something does, equal up
//! to the port and cycle of the report.

use pimlico_ports::{Instances, Model, Open, Unit};
use pimlico_testbenches::cosim::{self, Failure};
use pimlico_testbenches::{AnyBench, Bench, Lockstep, OracleError, Waveforms, Window, benches};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::rank::{AdderUnit, AdderUnitIn, AdderUnitOut, AdderUnitProbe};
use rayon::prelude::*;
use std::fs;
use std::path::Path;

fn read(folder: &Path, name: &str, side: &str) -> String {
    let file = folder.join(format!("{}.{side}.vcd", name.replace(':', ".")));
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Units of each kind, as far as waveforms go: a function, scalars and arrays with probed registers, structs and enums, a
/// memory, a design with libraries.
const OF_EACH_KIND: [&str; 5] =
    ["fp_add", "adder_unit", "rank_controller", "pingpong_buffer", "aim_channel"];

#[test]
fn waves_of_runs_that_pass_are_equal() {
    check_waves(benches().into_iter().filter(|b| OF_EACH_KIND.contains(&b.unit.name.as_str())));
}

#[test]
#[ignore = "makes the RTL of all units with waveforms: run by scripts/prove"]
fn waves_of_all_units_that_pass_are_equal() {
    check_waves(benches().into_iter());
}

fn check_waves(benches: impl Iterator<Item = AnyBench>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let benches: Vec<AnyBench> = benches.collect();
    assert!(benches.len() >= OF_EACH_KIND.len());
    benches.into_par_iter().for_each(|bench| {
        bench.trace(None, 1, folder.path(), folder.path()).expect("writable");
        let name = &bench.unit.name;
        let [model, rtl, inside] =
            ["model", "rtl", "inside"].map(|side| read(folder.path(), name, side));
        assert!(model == rtl, "{name}");
        let scopes = |text: &str| -> Vec<String> {
            let scopes = text.lines().filter_map(|line| line.trim().strip_prefix("$scope module "));
            scopes.take(2).map(|scope| scope.trim_end_matches(" $end").to_owned()).collect()
        };
        assert_eq!(scopes(&model), ["TOP", bench.unit.module], "{name}");
        assert_eq!(scopes(&inside)[0], "TOP", "{name}: a viewer lays one over the other");
        let again = format!("pimlico cosim {} --seed 1 --cycles ", cosim::alone(name));
        assert!(model.contains(&again), "{name}");
        assert!(model.matches("\n#").count() > 200 && inside.len() > 1000, "{name}");
    });
}

/// An adder unit that loses the last bit of a lane's sum if that is large.
#[derive(Clone)]
struct Wrong(AdderUnit<Binary16>);

impl Unit for Wrong {
    const MODULE: &'static str = "adder_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = AdderUnit::<Binary16>::PARAMETERS;
    type In = AdderUnitIn<Binary16>;
    type Out = AdderUnitOut<Binary16>;
    type Probe = AdderUnitProbe<Binary16>;
}

impl Model for Wrong {
    fn new() -> Self {
        Self(AdderUnit::new())
    }

    fn reset(&mut self) {
        self.0.reset();
    }

    fn probe(&self) -> Self::Probe {
        self.0.probe()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        self.0.mark_open(open);
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let mut output = self.0.step(input);
        for lane in &mut output.lanes_o[5..] {
            let bits = lane.to_bits();
            *lane = Fp::from_bits(if bits & 0x4000 == 0 { bits } else { bits & !1 });
        }
        output
    }
}

impl Bench for Wrong {
    fn arrange(inputs: &mut [Self::In]) {
        AdderUnit::<Binary16>::arrange(inputs);
    }

    fn oracle(_: &[Self::In], _: &[Self::Out]) -> Result<u64, OracleError> {
        Ok(0)
    }
}

#[test]
fn waves_of_a_fault_differ_first_where_the_report_says() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 1..4 {
        let outcome = cosim::run::<Wrong>(1_000_000, seed, folder.path(), |_| {});
        let report = outcome.expect("writable").failure.expect("the fault is found");
        let Failure::Mismatch(shrunk) = report.shrunk else { panic!("no oracle says anything") };
        assert!(shrunk.port.starts_with("lanes_o["), "{}", shrunk.port);
        assert_eq!(first_difference(folder.path()), (shrunk.cycle, shrunk.port));

        // And those of the episode as it was found.
        let Failure::Mismatch(first) = report.first else { panic!("no oracle says anything") };
        cosim::trace::<Wrong>(Some(report.cycle), seed, folder.path(), folder.path())
            .expect("writable");
        assert_eq!(first_difference(folder.path()), (first.cycle, first.port));
    }
}

#[test]
fn a_mismatch_of_outputs_that_settle_is_in_the_waves() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = Waveforms::of("adder_unit", folder.path());
    let mut lockstep = Lockstep::<Wrong>::new(1, 1);
    let window = Window { from: 0, cycle_ps: 1000 };
    lockstep.watch(0, &files, window, "seed 1").expect("writable");
    let lanes = [Fp::from_bits(0x6401); 8]; // 1025: large, and its last bit set
    // A sum of 0 + 1025 + 0, by one lane after the other.
    let mismatch = (0..10).find_map(|cycle| {
        let input = AdderUnitIn {
            begin_i: cycle == 0,
            accumulate_i: [cycle == 1, cycle == 3],
            x_i: [lanes, [Fp::ZERO; 8]],
            ..Default::default()
        };
        let mut outputs = [AdderUnitOut::default()];
        lockstep
            .settle(&[input], &mut outputs)
            .err()
            .or_else(|| lockstep.step(&[input], &mut outputs).err())
    });
    let mismatch = mismatch.expect("the fault is found");
    lockstep.finish().expect("writable");
    assert_eq!(first_difference(folder.path()), (mismatch.cycle, mismatch.port));
}

/// The cycle of the first line in which the adder unit's waveforms differ, and the port that it is of.
fn first_difference(folder: &Path) -> (u64, String) {
    let [one, other] = ["model", "rtl"].map(|side| read(folder, "adder_unit", side));
    let mut time = 0;
    for (one_line, other_line) in one.lines().zip(other.lines()) {
        if one_line != other_line {
            // One of them may have another value of a port; the other goes on with what follows it.
            let ports = [one_line, other_line].map(|line| declared(&one, line));
            let first = ports.into_iter().flatten().min().expect("a change of a port");
            return (time / 1000, first.1);
        }
        if let Some(number) = one_line.strip_prefix('#') {
            time = number.parse().expect("a time");
        }
    }
    panic!("they do not differ");
}

/// The place and the name of the port whose change is on this line.
fn declared(text: &str, line: &str) -> Option<(usize, String)> {
    let code = match line.strip_prefix('b') {
        Some(vector) => vector.split_once(' ')?.1,
        None => line.strip_prefix(['0', '1', 'x'])?,
    };
    let mut declarations = text.lines().filter_map(|line| line.strip_prefix("$var wire "));
    let words =
        |declaration: &str| -> Vec<String> { declaration.split(' ').map(str::to_owned).collect() };
    let place = declarations.position(|declaration| words(declaration)[1] == code)?;
    let mut declarations = text.lines().filter_map(|line| line.strip_prefix("$var wire "));
    Some((place, words(declarations.nth(place)?)[2].clone()))
}
