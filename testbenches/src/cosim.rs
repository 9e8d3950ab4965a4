// SPDX-License-Identifier: MIT
//! Random co-simulation of a unit: RTL against model, both against the oracle.
//!
//! A run is a sequence of *episodes*, each a reset and some cycles of random input. All
//! of it follows from the seed. The first episode that fails is shrunk to the shortest and simplest
//! input that still fails, and the waveforms of that are written.

use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, Coverage, points};
use crate::lockstep::Lockstep;
use crate::rtl::Window;
use crate::watch::Waveforms;
use pimlico_ports::{InputHistory, Instances, Mismatch, Model};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::io;
use std::path::Path;

/// Cycles of shrinking, at the most: half a minute of a whole channel, and far less of most units.
const SHRINKING: u64 = 500_000;

/// Cycles that an episode has to have to be shown where none fails, and how many are looked at.
const SHOWN: usize = 100;
const LOOKED_AT: usize = 16;

/// Duration of a cycle in the waveforms, in ps. Units know no clock; this one reads well.
const CYCLE_PS: u64 = 1000;

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// RTL and model differ.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// RTL and model agree, and the reference does not.
    #[error("RTL and model of {unit} agree, and are wrong: {error}\n{inputs}")]
    Oracle {
        /// Name of the unit.
        unit: String,
        /// The wrong output.
        error: OracleError,
        /// The inputs up to its cycle.
        inputs: InputHistory,
    },
}

impl Failure {
    /// The failure in one line, without its unit and cycle.
    pub fn brief(&self) -> String {
        match self {
            Self::Mismatch(mismatch) => mismatch.difference(),
            Self::Oracle { error, .. } => {
                let OracleError { port, got, expected, what, .. } = error;
                format!("{port} model and rtl {got:04x}, golden {expected:04x} ({what})")
            }
        }
    }

    /// An assertion in the RTL has failed.
    pub fn is_assertion(&self) -> bool {
        matches!(self, Self::Mismatch(mismatch) if mismatch.port == Mismatch::ASSERTION)
    }
}

/// What a run says on its way.
pub enum Progress<'a> {
    /// So many cycles have been compared.
    Compared(u64),
    /// A failure that occurred in this cycle of the run, and will be shrunk now.
    Failed(u64, &'a Failure),
}

/// A failure, shrunk and written down.
#[derive(Clone, Debug)]
pub struct MismatchReport {
    /// The failure as it occurred first. Its cycle counts from the episode's reset.
    pub first: Failure,
    /// Cycle of the run in which it occurred.
    pub cycle: u64,
    /// The failure after shrinking.
    pub shrunk: Failure,
    /// Waveforms of the shrunk failure.
    pub waveforms: Waveforms,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct CosimOutcome {
    /// Name of the unit.
    pub unit: String,
    /// Cycles compared.
    pub cycles: u64,
    /// Values that the oracle has checked.
    pub checked: u64,
    /// The first failure.
    pub failure: Option<MismatchReport>,
    /// What was reached up to there, if that was asked for.
    pub coverage: Option<Coverage>,
}

/// Compares `cycles` cycles of unit `M`. Waveforms of a failure go to the folder `report`, which is
/// made if need be. `progress` is told how far the run is, and of a failure before that is shrunk.
pub fn run<M: Bench>(
    cycles: u64,
    seed: u64,
    report: &Path,
    progress: impl FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    compare(&mut Episode::<M>::new(seed), cycles, seed, report, progress)
}

/// The same, with coverage.
///
/// # Panics
///
/// If the RTL was not built for it; see [`coverage::AVAILABLE`](crate::coverage::AVAILABLE).
pub fn run_covered<M: Bench>(
    cycles: u64,
    seed: u64,
    report: &Path,
    progress: impl FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    let mut bins = Bins::default();
    M::plan(&mut bins);
    let mut bench = Episode::<M> { bins: Some(bins), ..Episode::new(seed) };
    let first = bench.lockstep.coverage()?;
    let mut outcome = compare(&mut bench, cycles, seed, report, progress)?;
    let points = points::since(&first, bench.lockstep.coverage()?);
    outcome.coverage = bench.bins.map(|bins| Coverage { points, bins });
    Ok(outcome)
}

/// What the input of a run reaches of the bench's plan, by the model alone.
pub fn reach<M: Bench>(cycles: u64, seed: u64) -> Bins {
    let mut bins = Bins::default();
    M::plan(&mut bins);
    let mut runner = runner(&M::name(), seed);
    let mut model = M::new();
    let mut done = 0;
    while done < cycles {
        let tree = M::episodes().new_tree(&mut runner);
        let inputs = tree.expect("the strategy rejects nothing").current();
        model.reset();
        let outputs: Vec<M::Out> = inputs.iter().map(|input| model.step(input)).collect();
        M::cover(&inputs, &outputs, &mut bins);
        done += inputs.len() as u64;
    }
    bins
}

fn compare<M: Bench>(
    bench: &mut Episode<M>,
    cycles: u64,
    seed: u64,
    report: &Path,
    mut progress: impl FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    let mut outcome =
        CosimOutcome { unit: M::name(), cycles: 0, checked: 0, failure: None, coverage: None };
    let mut runner = runner(&M::name(), seed);
    while outcome.cycles < cycles {
        let tree = M::episodes().new_tree(&mut runner);
        let tree = tree.expect("the strategy rejects nothing");
        // Drawn in full and then cut, so that a shorter run is the beginning of a longer one.
        let mut inputs = tree.current();
        inputs.truncate(usize::try_from(cycles - outcome.cycles).unwrap_or(usize::MAX));
        match bench.run(&inputs) {
            Ok(checked) => {
                outcome.cycles += inputs.len() as u64;
                outcome.checked += checked;
                progress(Progress::Compared(outcome.cycles));
            }
            Err((cycle, failure)) => {
                outcome.cycles += cycle + 1;
                let cycle = outcome.cycles - 1;
                progress(Progress::Failed(cycle, &failure));
                outcome.failure = Some(investigate(bench, tree, (cycle, failure), seed, report)?);
                break;
            }
        }
    }
    Ok(outcome)
}

/// The random generator of the run of the unit of this name.
fn runner(name: &str, seed: u64) -> TestRunner {
    let mut bytes = [0u8; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    for (byte, letter) in bytes[8..].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config::default(), rng)
}

/// What episodes run on.
struct Episode<M: Model> {
    lockstep: Lockstep<M>,
    outputs: Vec<M::Out>,
    /// Where the bench marks what episodes have reached.
    bins: Option<Bins>,
}

impl<M: Bench> Episode<M> {
    fn new(seed: u64) -> Self {
        Self { lockstep: Lockstep::new(1, seed), outputs: Vec::new(), bins: None }
    }

    /// Runs an episode. Returns how many values the oracle has checked, or the cycle of the failure.
    fn run(&mut self, inputs: &[M::In]) -> Result<u64, (u64, Failure)> {
        self.lockstep.reset();
        self.outputs.clear();
        for input in inputs {
            let mut output = [M::Out::default()];
            let step = self.lockstep.step(&[*input], &mut output);
            step.map_err(|mismatch| (mismatch.cycle, Failure::Mismatch(mismatch)))?;
            self.outputs.push(output[0]);
        }
        let checked = M::oracle(inputs, &self.outputs)
            .map_err(|error| (error.cycle, wrong::<M>(error, inputs)))?;
        if let Some(bins) = &mut self.bins {
            M::cover(inputs, &self.outputs, bins);
        }
        Ok(checked)
    }
}

/// What an oracle says of a run with these inputs.
fn wrong<M: Bench>(error: OracleError, inputs: &[M::In]) -> Failure {
    let inputs = InputHistory::of(0, inputs.iter().take(error.cycle as usize + 1));
    Failure::Oracle { unit: M::name(), error, inputs }
}

/// Shrinks a failure and writes its waveforms.
fn investigate<M: Bench>(
    bench: &mut Episode<M>,
    mut tree: impl ValueTree<Value = Vec<M::In>>,
    (cycle, first): (u64, Failure),
    seed: u64,
    report: &Path,
) -> io::Result<MismatchReport> {
    let (mut shortest, mut shrunk) = (tree.current(), first.clone());
    cut(&mut shortest, &shrunk);
    // Verilator writes a line each time an assertion fails.
    let mut cycles_left = if first.is_assertion() { 0 } else { SHRINKING };
    while cycles_left > 0 && tree.simplify() {
        let mut inputs = tree.current();
        loop {
            cycles_left = cycles_left.saturating_sub(inputs.len() as u64);
            match bench.run(&inputs) {
                Err((_, failure)) => {
                    cut(&mut inputs, &failure);
                    // Simpler inputs may fail later.
                    if inputs.len() <= shortest.len() {
                        (shortest, shrunk) = (inputs, failure);
                    }
                    break;
                }
                Ok(_) if cycles_left > 0 && tree.complicate() => inputs = tree.current(),
                Ok(_) => break,
            }
        }
    }
    let about = format!(
        "seed {seed}, shrunk\npimlico cosim {} --seed {seed} --cycles {} --report {}",
        M::name(),
        cycle + 1,
        report.display()
    );
    let (waveforms, shown) = Waveforms::write(&M::name(), report, |files| {
        write_waves::<M>(&shortest, seed, files, &about)
    })?;
    if let Some(mismatch) = shown {
        shrunk = Failure::Mismatch(mismatch);
    }
    Ok(MismatchReport { first, cycle, shrunk, waveforms })
}

/// What comes behind a mismatch has no part in it. A judge may want more than the cycle that it names.
fn cut<I>(inputs: &mut Vec<I>, failure: &Failure) {
    if let Failure::Mismatch(mismatch) = failure {
        inputs.truncate(mismatch.cycle as usize + 1);
    }
}

/// Writes the waveforms under `inputs`, from the start of a run; `about` stands in their headers. Returns the
/// mismatch that ends them, if one does.
fn write_waves<M: Model>(
    inputs: &[M::In],
    seed: u64,
    files: &Waveforms,
    about: &str,
) -> io::Result<Option<Box<Mismatch>>> {
    let mut lockstep = Lockstep::<M>::new(1, seed);
    lockstep.watch(0, files, Window { from: 0, cycle_ps: CYCLE_PS }, about)?;
    let step = |input: &M::In| lockstep.step(&[*input], &mut [M::Out::default()]).err();
    let mismatch = inputs.iter().find_map(step);
    lockstep.finish()?;
    Ok(mismatch)
}

/// Writes the waveforms of an episode of a run to `folder`: of the one with this cycle of the run, or the
/// first that is not very short. `again` stands in their headers as the folder to write them to again.
pub fn trace<M: Bench>(
    cycle: Option<u64>,
    seed: u64,
    folder: &Path,
    again: &Path,
) -> io::Result<()> {
    let (unit, again) = (M::name(), again.display());
    let mut runner = runner(&unit, seed);
    let (mut number, mut end) = (0, 0);
    let inputs = loop {
        let tree = M::episodes().new_tree(&mut runner);
        let inputs = tree.expect("the strategy rejects nothing").current();
        number += 1;
        end += inputs.len() as u64;
        let is_shown = match cycle {
            Some(cycle) => cycle < end,
            None => inputs.len() >= SHOWN || number == LOOKED_AT,
        };
        if is_shown {
            break inputs;
        }
    };
    let about =
        format!("seed {seed}\npimlico cosim {unit} --seed {seed} --cycles {end} --vcd {again}");
    write_waves::<M>(&inputs, seed, &Waveforms::of(&unit, folder), &about)?;
    Ok(())
}
