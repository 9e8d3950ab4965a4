// SPDX-License-Identifier: MIT
//! Random co-simulation of a unit: RTL against model, both against the oracle.
//!
//! A run is a sequence of *episodes*, each a reset and some cycles of random input. All
//! of it follows from the seed. The first episode that fails is shrunk to the shortest and simplest
//! input that still fails, and both waveforms of that are written.

use crate::coverage::{Bins, Coverage, points};
use crate::rtl::Window;
use crate::{Bench, Lockstep, OracleError};
use pimlico_ports::{Instances, Mismatch, Model};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::io;
use std::path::{Path, PathBuf};

/// Steps of shrinking, at the most.
const SHRINKING: usize = 20_000;

/// Duration of a cycle in the waveforms, in ps. Units know no clock; this one reads well.
const CYCLE_PS: u64 = 1000;

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// RTL and model differ.
    #[error("{0}")]
    Mismatch(Box<Mismatch>),
    /// RTL and model agree, and the reference does not.
    #[error("RTL and model of {unit} agree, and are wrong: {error}")]
    Oracle {
        /// Name of the unit.
        unit: String,
        /// The wrong output.
        error: OracleError,
    },
}

impl Failure {
    /// An assertion in the RTL has failed.
    pub fn is_assertion(&self) -> bool {
        matches!(self, Self::Mismatch(mismatch) if mismatch.port == Mismatch::ASSERTION)
    }
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
    /// Waveform of the shrunk failure in the model.
    pub model_vcd: PathBuf,
    /// Waveform of the shrunk failure in the RTL.
    pub rtl_vcd: PathBuf,
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
/// made if need be. `progress` is told after each episode how many cycles have been compared.
pub fn run<M: Bench>(
    cycles: u64,
    seed: u64,
    report: &Path,
    progress: impl FnMut(u64),
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
    progress: impl FnMut(u64),
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
    let mut runner = runner::<M>(seed);
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
    mut progress: impl FnMut(u64),
) -> io::Result<CosimOutcome> {
    let mut outcome =
        CosimOutcome { unit: M::name(), cycles: 0, checked: 0, failure: None, coverage: None };
    let mut runner = runner::<M>(seed);
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
                progress(outcome.cycles);
            }
            Err((cycle, failure)) => {
                outcome.cycles += cycle + 1;
                let at = outcome.cycles - 1;
                outcome.failure = Some(investigate(bench, tree, at, failure, report)?);
                break;
            }
        }
    }
    Ok(outcome)
}

/// The random generator of a unit's run.
fn runner<M: Model>(seed: u64) -> TestRunner {
    let name = M::name();
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
            .map_err(|error| (error.cycle, Failure::Oracle { unit: M::name(), error }))?;
        if let Some(bins) = &mut self.bins {
            M::cover(inputs, &self.outputs, bins);
        }
        Ok(checked)
    }
}

/// Shrinks a failure and writes its waveforms.
fn investigate<M: Bench>(
    bench: &mut Episode<M>,
    mut tree: impl ValueTree<Value = Vec<M::In>>,
    cycle: u64,
    first: Failure,
    report: &Path,
) -> io::Result<MismatchReport> {
    let (mut shortest, mut shrunk) = (tree.current(), first.clone());
    cut(&mut shortest, &shrunk);
    // Verilator writes a line each time an assertion fails.
    let steps = if first.is_assertion() { 0 } else { SHRINKING };
    for _ in 0..steps {
        if !tree.simplify() {
            break;
        }
        let mut inputs = tree.current();
        loop {
            match bench.run(&inputs) {
                Err((_, failure)) => {
                    (shortest, shrunk) = (inputs, failure);
                    cut(&mut shortest, &shrunk);
                    break;
                }
                Ok(_) if tree.complicate() => inputs = tree.current(),
                Ok(_) => break,
            }
        }
    }
    let [model_vcd, rtl_vcd] = write_waves::<M>(&shortest, report)?;
    Ok(MismatchReport { first, cycle, shrunk, model_vcd, rtl_vcd })
}

/// What comes behind a mismatch has no part in it. A judge may want more than the cycle that it names.
fn cut<I>(inputs: &mut Vec<I>, failure: &Failure) {
    if let Failure::Mismatch(mismatch) = failure {
        inputs.truncate(mismatch.cycle as usize + 1);
    }
}

/// Writes the waveforms of model and RTL under `inputs` to `folder`, which is made if need be.
fn write_waves<M: Model>(inputs: &[M::In], folder: &Path) -> io::Result<[PathBuf; 2]> {
    let mut lockstep = Lockstep::<M>::new(1, 0);
    let files = lockstep.watch(0, folder, Window { from: 0, cycle_ps: CYCLE_PS })?;
    for input in inputs {
        if lockstep.step(&[*input], &mut [M::Out::default()]).is_err() {
            break; // the failure that the waveforms are to show
        }
    }
    lockstep.finish()?;
    Ok(files)
}

/// Writes both waveforms of the first episode of a run to `folder`, which is made if need be.
pub fn trace_first<M: Bench>(seed: u64, folder: &Path) -> io::Result<()> {
    let tree = M::episodes().new_tree(&mut runner::<M>(seed));
    let inputs = tree.expect("the strategy rejects nothing").current();
    write_waves::<M>(&inputs, folder).map(|_| ())
}
