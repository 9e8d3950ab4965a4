// SPDX-License-Identifier: MIT
//! Random input: RTL against model in every cycle.

use super::CosimArguments;
use super::coverage::{self, CoverageDocument};
use super::duts::Dut;
use crate::failure::Failure;
use crate::files::OutputFolder;
use crate::output::{self, Table, grouped};
use crate::schema::Kind;
use crate::verilated;
use pimlico_testbenches::build::Waves;
use pimlico_testbenches::cosim::{CosimOutcome, Failure as CosimFailure, MismatchReport, alone};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    seed: u64,
    mismatches: usize,
    units: Vec<UnitDocument>,
}

#[derive(Serialize)]
struct UnitDocument {
    unit: &'static str,
    name: String,
    parameters: BTreeMap<&'static str, i64>,
    cycles: u64,
    oracle_checks: u64,
    mismatches: usize,
    first_mismatch: Option<MismatchDocument>,
    /// With `--coverage`.
    coverage: Option<CoverageDocument>,
}

#[derive(Serialize)]
struct MismatchDocument {
    cycle: u64,
    port: String,
    model: String,
    rtl: String,
    /// Set where model and RTL agree and the reference does not.
    expected: Option<String>,
    again: String,
    /// Of model, RTL, and all that is inside the RTL.
    vcd: [String; 3],
}

/// Compares the chosen units, on all cores.
pub fn compare(arguments: &CosimArguments, duts: &[Dut]) -> Result<(), Failure> {
    if arguments.cycles == 0 {
        return Err(Failure::Input("--cycles 0: nothing would be compared".to_owned()));
    }
    let waves = arguments.vcd.as_deref().map(OutputFolder::open).transpose()?;
    OutputFolder::open(&arguments.report)?; // where a mismatch is shown
    let units: Vec<_> = duts.iter().map(|dut| &dut.bench.unit).collect();
    verilated::prepare(&units, Waves::Without)?;
    if waves.is_some() {
        verilated::prepare(&units, Waves::With)?;
    }
    write_waves(duts.iter().map(|dut| (dut, None)).collect(), arguments, waves.as_ref())?;
    let bar = output::progress(arguments.cycles * duts.len() as u64, "cycles");
    let progress = |cycles, failed: Option<String>| {
        bar.inc(cycles);
        if let Some(failed) = failed {
            bar.suspend(|| output::complain(&failed));
        }
    };
    let outcomes: io::Result<Vec<CosimOutcome>> =
        duts.par_iter().map(|dut| dut.random(arguments, &progress)).collect();
    bar.finish_and_clear();
    let outcomes = outcomes.map_err(|e| Failure::file(&arguments.report, &e))?;

    let cycles = outcomes.iter().map(|outcome| outcome.failure.as_ref().map(|f| f.cycle));
    let failed = duts.iter().zip(cycles).filter(|(_, cycle)| cycle.is_some());
    write_waves(failed.collect(), arguments, waves.as_ref())?;
    waves.map_or(Ok(()), OutputFolder::whole)?;
    coverage::write_missing(duts, &outcomes, &arguments.report)?;
    let document = document(duts, &outcomes, arguments);
    output::report(arguments.format, (Kind::Cosim, &document), &table(duts, &outcomes).into())?;
    let failures: Vec<_> = duts
        .iter()
        .zip(&outcomes)
        .filter_map(|(dut, outcome)| {
            let failure = outcome.failure.as_ref()?;
            Some(describe(failure, &again(dut, outcome, arguments)))
        })
        .collect();
    if failures.is_empty() { Ok(()) } else { Err(Failure::Check(failures.join("\n"))) }
}

/// With `--vcd`, writes the waveforms of some units: of the episode with a cycle of the run, see
/// [`trace`](pimlico_testbenches::cosim::trace).
fn write_waves(
    of: Vec<(&Dut, Option<u64>)>,
    arguments: &CosimArguments,
    waves: Option<&OutputFolder>,
) -> Result<(), Failure> {
    let (Some(waves), Some(folder)) = (waves, &arguments.vcd) else { return Ok(()) };
    let write = |(dut, cycle): &(&Dut, Option<u64>)| {
        dut.bench.trace(*cycle, arguments.seed, waves.path(), folder)
    };
    of.par_iter().try_for_each(write).map_err(|e| waves.failed(&e))?;
    waves.check()
}

fn table(duts: &[Dut], outcomes: &[CosimOutcome]) -> Table {
    let mut header = vec!["unit", "cycles compared", "checked by oracle", "mismatches"];
    if outcomes.iter().any(|outcome| outcome.coverage.is_some()) {
        header.extend(coverage::COLUMNS);
    }
    output::table(
        &header,
        duts.iter().zip(outcomes).map(|(dut, outcome)| {
            let mut row = vec![
                dut.name.clone(),
                grouped(outcome.cycles),
                grouped(outcome.checked),
                usize::from(outcome.failure.is_some()).to_string(),
            ];
            row.extend(outcome.coverage.iter().flat_map(coverage::columns));
            row
        }),
    )
}

fn document(duts: &[Dut], outcomes: &[CosimOutcome], arguments: &CosimArguments) -> Document {
    let units: Vec<_> = duts
        .iter()
        .zip(outcomes)
        .map(|(dut, outcome)| UnitDocument {
            unit: dut.unit,
            name: dut.name.clone(),
            parameters: dut.parameters(),
            cycles: outcome.cycles,
            oracle_checks: outcome.checked,
            mismatches: usize::from(outcome.failure.is_some()),
            first_mismatch: outcome
                .failure
                .as_ref()
                .map(|report| mismatch(report, again(dut, outcome, arguments))),
            coverage: outcome.coverage.as_ref().map(CoverageDocument::of),
        })
        .collect();
    let mismatches = units.iter().map(|unit| unit.mismatches).sum();
    Document { seed: arguments.seed, mismatches, units }
}

fn mismatch(report: &MismatchReport, again: String) -> MismatchDocument {
    let (port, model, rtl, expected) = match &report.first {
        CosimFailure::Mismatch(m) => (m.port.clone(), m.model.clone(), m.rtl.clone(), None),
        CosimFailure::Oracle { error, .. } => {
            let got = format!("0x{:04x}", error.got);
            (error.port.to_owned(), got.clone(), got, Some(format!("0x{:04x}", error.expected)))
        }
    };
    let vcd = report.waveforms.files().map(|file| file.display().to_string());
    MismatchDocument { cycle: report.cycle, port, model, rtl, expected, again, vcd }
}

/// The command that fails in the same way, and no later.
fn again(dut: &Dut, outcome: &CosimOutcome, arguments: &CosimArguments) -> String {
    let CosimArguments { seed, own, .. } = arguments;
    let unit = alone(&dut.name);
    format!("pimlico cosim {unit} --seed {seed} --cycles {}{}", outcome.cycles, own.words())
}

fn describe(report: &MismatchReport, again: &str) -> String {
    let MismatchReport { first, cycle, shrunk, waveforms } = report;
    format!(
        "{first}\n  found in cycle {cycle} of the run; again: {again}\nthe shortest that still \
         fails, from reset: {shrunk}\n  waveforms: {waveforms}"
    )
}
