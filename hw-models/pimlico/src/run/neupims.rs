// SPDX-License-Identifier: MIT
//! `pimlico run neupims`: products and attention on channels of NeuPIMs.
//!
//! * [`arguments`]: options of all commands on channels.
//! * [`gemv`]: a matrix times a vector.
//! * [`attention`]: attention of a request.

pub mod arguments;
mod attention;
mod gemv;

use crate::failure::Failure;
use arguments::RunOptions;
use clap::{Args, Subcommand};
use pimlico_device::{DeviceError, Mismatch};
use pimlico_workload::error::WorkloadError;
use pimlico_workload::judge::neupims::Compared;
use pimlico_workload::neupims::Setup;
use pimlico_workload::neupims::report::{PinsReport, SetupReport};
#[cfg(feature = "rtl")]
use {
    pimlico_backends::{neupims, watch::Watch},
    pimlico_testbenches::Waveforms,
    pimlico_workload::neupims::{ChannelDesigns, ChannelsBy},
};

/// Its name.
pub const NAME: &str = "neupims";

/// Arguments of `pimlico run neupims`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct NeupimsRun {
    #[command(subcommand)]
    operator: Operator,
}

#[derive(Subcommand)]
enum Operator {
    /// The attention of a request's heads on one device, in one channel
    Attention(attention::AttentionArguments),
    /// A matrix times a vector
    Gemv(gemv::GemvArguments),
}

/// Runs the command.
pub fn run(command: &NeupimsRun) -> Result<(), Failure> {
    match &command.operator {
        Operator::Attention(arguments) => attention::run(arguments),
        Operator::Gemv(arguments) => gemv::run(arguments),
    }
}

/// Whether all that was checked holds.
fn judged<'a>(
    found: impl IntoIterator<Item = (&'a PinsReport, Option<&'a Compared>)>,
) -> Result<(), Failure> {
    for (pins, compared) in found {
        if let Some(wrong) = pins.wrong() {
            return Err(Failure::Check(wrong));
        }
        if let Some(Compared { results, differing: differing @ 1.., .. }) = compared {
            let message = format!("{differing} of {results} results differ from the reference");
            return Err(Failure::Check(message));
        }
    }
    Ok(())
}

/// The line that says what executed the channels, if it was not the engine.
fn executed(setup: &SetupReport) -> String {
    match setup.scope {
        Some(scope) => {
            let mismatches =
                setup.mismatches.map_or(String::new(), |n| format!(", {n} mismatches"));
            format!("back end {}, {scope}{mismatches}\n", setup.backend)
        }
        None => String::new(),
    }
}

/// What is said of a run that has not come to its end. Of a mismatch waveforms are written: the same is run again.
fn failed(
    error: WorkloadError,
    setup: &Setup,
    options: &RunOptions,
    seed: u64,
    run: impl Fn(&Setup),
) -> Failure {
    let WorkloadError::Device(DeviceError::Mismatch(mismatch)) = error else { return error.into() };
    let words: Vec<_> = std::env::args().skip(1).collect();
    let again = format!("pimlico {}", words.join(" "));
    let waveforms = show(&mismatch, &again, setup, options, seed, run);
    Failure::Check(format!("{mismatch}\n  again: {again}\n  waveforms: {waveforms}"))
}

/// Writes the waveforms around a mismatch; returns their names.
#[cfg(feature = "rtl")]
fn show(
    mismatch: &Mismatch,
    again: &str,
    setup: &Setup,
    options: &RunOptions,
    seed: u64,
    run: impl Fn(&Setup),
) -> String {
    let written = Waveforms::write(&mismatch.unit, &options.report, |files| {
        let (mismatch, command, files) = (mismatch.clone(), again.to_owned(), files.clone());
        let (scope, sums) = (options.scope(), setup.options.sums);
        let tck_ps = setup.spec.tck_ps;
        let designs = ChannelDesigns::new(move |channel| {
            let watch = Watch { mismatch: &mismatch, command: &command, files: &files };
            let design = neupims::watched(scope, sums, (channel, seed), tck_ps, watch);
            design.map_err(|error| error.to_string())
        });
        let by = ChannelsBy { designs: Some(designs), ..setup.by.clone() };
        run(&Setup { by, ..setup.clone() }); // ends in the same mismatch
        Ok(())
    });
    match written {
        Ok((files, ())) => files.to_string(),
        Err(error) => format!("{}: {error}", options.report.display()),
    }
}

/// Without the RTL there is no mismatch.
#[cfg(not(feature = "rtl"))]
fn show(_: &Mismatch, _: &str, _: &Setup, _: &RunOptions, _: u64, _: impl Fn(&Setup)) -> String {
    String::new()
}
