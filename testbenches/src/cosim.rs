// SPDX-License-Identifier: MIT
//! Random co-simulation of a unit: RTL against model, both against the oracle.
//!
//! A run is a sequence of *episodes*, each a reset and some cycles of random input. All
//! of it follows from the seed. The first episode that fails is shrunk to the shortest and simplest
//! input that still fails, and the waveforms of that are written.

use crate::bench::{Bench, OracleError};
use crate::coverage::{Bins, Coverage, points};
use crate::rig::{Draw, Inputs, On, Rig};
use crate::rtl::Window;
use crate::watch::Waveforms;
use pimlico_ports::{InputHistory, Mismatch};
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

/// What `pimlico cosim` calls this parameter set alone: a module's name by itself means all of its sets.
pub fn alone(unit: &str) -> String {
    if unit.contains(':') { unit.to_owned() } else { format!("{unit}:") }
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
    mut progress: impl FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    run_on(rig::<M>, (cycles, seed), report, &mut progress)
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
    mut progress: impl FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    run_covered_on(rig::<M>, (cycles, seed), report, &mut progress)
}

/// What the input of a run reaches of the bench's plan, by the model alone.
pub fn reach<M: Bench>(cycles: u64, seed: u64) -> Bins {
    reach_on(rig::<M>, cycles, seed)
}

/// Writes the waveforms of an episode of a run to `folder`: of the one with this cycle of the run, or the
/// first that is not very short. `again` stands in their headers as the folder to write them to again.
pub fn trace<M: Bench>(
    cycle: Option<u64>,
    seed: u64,
    folder: &Path,
    again: &Path,
) -> io::Result<()> {
    trace_on(rig::<M>, (cycle, seed), folder, again)
}

/// What makes the rig of a unit, with the registers of the RTL as a seed has them.
pub(crate) type MakeRig = fn(seed: u64) -> Box<dyn Rig>;

/// Of unit `M`.
pub(crate) fn rig<M: Bench>(seed: u64) -> Box<dyn Rig> {
    Box::new(On::<M>::new(seed))
}

/// [`run`], of the unit with this rig.
pub(crate) fn run_on(
    rig: MakeRig,
    (cycles, seed): (u64, u64),
    report: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    Run { make: rig, rig: rig(seed), seed, bins: None }.compare(cycles, report, progress)
}

/// [`run_covered`], of the unit with this rig.
pub(crate) fn run_covered_on(
    make: MakeRig,
    (cycles, seed): (u64, u64),
    report: &Path,
    progress: &mut dyn FnMut(Progress<'_>),
) -> io::Result<CosimOutcome> {
    let mut rig = make(seed);
    let mut bins = Bins::default();
    rig.plan(&mut bins);
    let first = rig.coverage()?;
    let mut run = Run { make, rig, seed, bins: Some(bins) };
    let mut outcome = run.compare(cycles, report, progress)?;
    let points = points::since(&first, run.rig.coverage()?);
    outcome.coverage = run.bins.map(|bins| Coverage { points, bins });
    Ok(outcome)
}

/// [`reach`], of the unit with this rig.
pub(crate) fn reach_on(rig: MakeRig, cycles: u64, seed: u64) -> Bins {
    let mut rig = rig(seed);
    let mut bins = Bins::default();
    rig.plan(&mut bins);
    let mut runner = runner(&rig.name(), seed);
    let mut done = 0;
    while done < cycles {
        let inputs = rig.draw(&mut runner).current();
        rig.model(&inputs);
        rig.cover(&inputs, &mut bins);
        done += inputs.len() as u64;
    }
    bins
}

/// [`trace`], of the unit with this rig.
pub(crate) fn trace_on(
    make: MakeRig,
    (cycle, seed): (Option<u64>, u64),
    folder: &Path,
    again: &Path,
) -> io::Result<()> {
    let rig = make(seed);
    let (unit, again) = (rig.name(), again.display());
    let mut runner = runner(&unit, seed);
    let (mut number, mut end) = (0, 0);
    let inputs = loop {
        let inputs = rig.draw(&mut runner).current();
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
    let about = format!(
        "seed {seed}\npimlico cosim {} --seed {seed} --cycles {end} --vcd {again}",
        alone(&unit)
    );
    write_waves(rig, &inputs, &Waveforms::of(&unit, folder), &about)?;
    Ok(())
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

/// Writes the waveforms under `inputs`, from the start of a run on this rig; `about` stands in their headers. Returns the
/// mismatch that ends them, if one does.
fn write_waves(
    mut rig: Box<dyn Rig>,
    inputs: &Inputs,
    files: &Waveforms,
    about: &str,
) -> io::Result<Option<Box<Mismatch>>> {
    rig.watch(files, Window { from: 0, cycle_ps: CYCLE_PS }, about)?;
    let mismatch = rig.compare(inputs).err();
    rig.finish()?;
    Ok(mismatch)
}

/// A run, episode by episode.
struct Run {
    make: MakeRig,
    rig: Box<dyn Rig>,
    seed: u64,
    /// Where the bench marks what episodes have reached.
    bins: Option<Bins>,
}

impl Run {
    fn compare(
        &mut self,
        cycles: u64,
        report: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> io::Result<CosimOutcome> {
        let unit = self.rig.name();
        let mut runner = runner(&unit, self.seed);
        let mut outcome =
            CosimOutcome { unit, cycles: 0, checked: 0, failure: None, coverage: None };
        while outcome.cycles < cycles {
            let tree = self.rig.draw(&mut runner);
            // Drawn in full and then cut, so that a shorter run is the beginning of a longer one.
            let mut inputs = tree.current();
            inputs.truncate(usize::try_from(cycles - outcome.cycles).unwrap_or(usize::MAX));
            match self.episode(&inputs) {
                Ok(checked) => {
                    outcome.cycles += inputs.len() as u64;
                    outcome.checked += checked;
                    progress(Progress::Compared(outcome.cycles));
                }
                Err((cycle, failure)) => {
                    outcome.cycles += cycle + 1;
                    let cycle = outcome.cycles - 1;
                    progress(Progress::Failed(cycle, &failure));
                    outcome.failure = Some(self.investigate(tree, (cycle, failure), report)?);
                    break;
                }
            }
        }
        Ok(outcome)
    }

    /// Runs an episode. Returns how many values the oracle has checked, or the cycle of the failure.
    fn episode(&mut self, inputs: &Inputs) -> Result<u64, (u64, Failure)> {
        let rig = &mut self.rig;
        rig.reset();
        rig.compare(inputs).map_err(|mismatch| (mismatch.cycle, Failure::Mismatch(mismatch)))?;
        let checked = rig.judge(inputs).map_err(|error| {
            let inputs = inputs.history(error.cycle as usize + 1);
            (error.cycle, Failure::Oracle { unit: rig.name(), error, inputs })
        })?;
        if let Some(bins) = &mut self.bins {
            rig.cover(inputs, bins);
        }
        Ok(checked)
    }

    /// Shrinks a failure and writes its waveforms.
    fn investigate(
        &mut self,
        mut tree: Draw,
        (cycle, first): (u64, Failure),
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
                match self.episode(&inputs) {
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
        let (unit, seed) = (self.rig.name(), self.seed);
        let about = format!(
            "seed {seed}, shrunk\npimlico cosim {} --seed {seed} --cycles {} --report {}",
            alone(&unit),
            cycle + 1,
            report.display()
        );
        let (waveforms, shown) = Waveforms::write(&unit, report, |files| {
            write_waves((self.make)(seed), &shortest, files, &about)
        })?;
        if let Some(mismatch) = shown {
            shrunk = Failure::Mismatch(mismatch);
        }
        Ok(MismatchReport { first, cycle, shrunk, waveforms })
    }
}

/// What comes behind a mismatch has no part in it. A judge may want more than the cycle that it names.
fn cut(inputs: &mut Inputs, failure: &Failure) {
    if let Failure::Mismatch(mismatch) = failure {
        inputs.truncate(mismatch.cycle as usize + 1);
    }
}
