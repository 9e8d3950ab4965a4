// SPDX-License-Identifier: MIT
//! The choices of a device: what is built for each, and how attention does on it.

use super::{Alternative, Built, ErrorReport, Options, POWER_CONTEXT, Run, Units, head_of_rank};
use crate::estimate::flow::{self, Flow};
use crate::estimate::power::WINDOW;
use crate::estimate::power_report::working;
use crate::estimate::workload::{AimWhat, Workload};
use crate::failure::Failure;
use crate::models::find_model;
use crate::output::{self, grouped};
use crate::sweep::cores;
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, Normalise, Options as DeviceOptions, SumFormat};
use pimlico_estimate::{device, memory};
use pimlico_workload::io_buffers::Assumptions;
use pimlico_workload::io_buffers::{self, Side, Study};
use pimlico_workload::numerics::{self, NumericsRow};
use pimlico_workload::subnormals;

/// Bank PUs of a rank.
const BANK_PUS: u64 = device::BANKS * device::CHIPS;

/// Side of the global buffer of an AiM channel, in bytes.
const GLOBAL_BUFFER: u64 = 2 << 10;

/// Elements of the heads that are run on the AiM channels.
const AIM_MODEL: &str = "qwen1.5-7b";

fn units(named: &[(&str, u64)]) -> Result<Units, Failure> {
    named.iter().map(|&(name, count)| Ok((flow::spec(name)?, count))).collect()
}

/// What a head did.
fn run_of(row: &NumericsRow) -> Run {
    let error = row.stages.output_from_scores;
    Run {
        workload: format!("{} tokens, {}", grouped(row.context as u64), row.distribution),
        cycles: row.cycles,
        ns: None,
        error: Some(ErrorReport {
            max_ulp: error.max_ulp,
            max_relative: error.max_relative,
            rms_relative: error.rms_relative,
        }),
    }
}

/// Runs of heads on ranks of some kinds, kind by kind.
fn runs(options: &Options, kinds: &[(Normalise, SumFormat)]) -> Result<Vec<Vec<Run>>, Failure> {
    let Options { head_dim, context, seed, .. } = options;
    let bar = output::progress((2 * kinds.len() * context.iter().sum::<usize>()) as u64, "tokens");
    let rank = (Config::ddr4_3200(), DeviceOptions::default());
    let heads = (*head_dim, context.as_slice());
    let progress = |done, _| bar.set_position(done);
    let rows = numerics::compare_kinds(&rank, heads, *seed, kinds, cores(), progress);
    bar.finish_and_clear();
    let rows = rows.map_err(|e| Failure::Input(e.to_string()))?;
    check_pins(&rows)?;
    let of_kind = |n: usize| rows.iter().skip(n).step_by(kinds.len());
    Ok((0..kinds.len()).map(|n| of_kind(n).map(run_of).collect()).collect())
}

fn check_pins(rows: &[NumericsRow]) -> Result<(), Failure> {
    match rows.iter().map(|row| row.pin_violations).sum() {
        0 => Ok(()),
        count => Err(Failure::Check(format!("{count} violations at the DRAM's pins"))),
    }
}

/// What the error of a head is relative to.
fn error_note() -> String {
    "a head's attention on a rank of DDR4-3200, cycles in tCK; error of the output against float64 of the \
     same scores, relative to its largest element"
        .to_owned()
}

/// Subnormal numbers kept, or flushed to zero.
pub fn subnormals(options: &Options, flow: &Flow) -> Result<Built, Failure> {
    let Options { head_dim, context, seed, .. } = options;
    let bar = output::progress(2 * context.len() as u64, "heads");
    let rows = subnormals::compare(*head_dim, context, *seed, || bar.inc(1));
    bar.finish_and_clear();
    let rows = rows.map_err(|e| Failure::Input(e.to_string()))?;
    check_pins(&rows.iter().map(|[kept, _]| kept.clone()).collect::<Vec<_>>())?;
    let runs = |n: usize| rows.iter().map(|row| run_of(&row[n])).collect();
    let kept = units(&[("bank_pu", BANK_PUS), ("adder_unit", 1), ("softmax_unit", 1)])?;
    let mut flushed = units(&[("bank_pu:flush", BANK_PUS), ("softmax_unit:flush", 1)])?;
    let mut adder = flow::spec("adder_unit")?;
    adder.unit += ":flush";
    adder.parameters.insert("SUBNORMALS".to_owned(), 0);
    flushed.insert(1, (adder, 1));
    let alternatives = vec![
        Alternative::new(flow, "kept".to_owned(), kept, runs(0))?,
        Alternative::new(flow, "flushed to zero".to_owned(), flushed, runs(1))?,
    ];
    let of_rank = |alternative: Alternative| {
        alternative.with_power_of_rank(flow, *seed, DeviceOptions::default())
    };
    let alternatives = alternatives.into_iter().map(of_rank).collect::<Result<_, _>>()?;
    let how = "flushed: computed operation by operation in the device's order; the device itself keeps \
               subnormal numbers, and takes as many tCK whatever it computes";
    let notes = vec![error_note(), how.to_owned()];
    Ok(Built { alternatives, power_of: head_of_rank(), notes })
}

/// Sums of binary16 or binary32.
pub fn sums(options: &Options, flow: &Flow) -> Result<Built, Failure> {
    let kinds = [SumFormat::Binary16, SumFormat::Binary32].map(|sums| (Normalise::Early, sums));
    let [narrow, wide] = two(runs(options, &kinds)?);
    let alternatives = vec![
        Alternative::new(
            flow,
            "binary16".to_owned(),
            units(&[("bank_pu", BANK_PUS), ("adder_unit", 1)])?,
            narrow,
        )?,
        Alternative::new(
            flow,
            "binary32".to_owned(),
            units(&[("bank_pu:sum32", BANK_PUS), ("adder_unit:sum32", 1)])?,
            wide,
        )?,
    ];
    let of_rank = |(alternative, (normalise, sums)): (Alternative, _)| {
        let device = DeviceOptions { normalise, sums, ..DeviceOptions::default() };
        alternative.with_power_of_rank(flow, options.seed, device)
    };
    let alternatives =
        alternatives.into_iter().zip(kinds).map(of_rank).collect::<Result<_, _>>()?;
    let notes = vec![error_note(), "weights are normalised early".to_owned()];
    Ok(Built { alternatives, power_of: head_of_rank(), notes })
}

/// Weights normalised early, or the context late.
pub fn normalise(options: &Options, flow: &Flow) -> Result<Built, Failure> {
    let kind = |normalise| [SumFormat::Binary16, SumFormat::Binary32].map(|sums| (normalise, sums));
    let [early, late] = [Normalise::Early, Normalise::Late].map(kind);
    let kinds = [early[0], late[0], early[1], late[1]];
    let runs = runs(options, &kinds)?;
    let names = ["early", "late", "early, sums binary32", "late, sums binary32"];
    let softmax = ["softmax_unit", "softmax_unit:late"];
    let alternatives = names.into_iter().zip(runs).enumerate().map(|(n, (name, runs))| {
        let (normalise, sums) = kinds[n];
        let device = DeviceOptions { normalise, sums, ..DeviceOptions::default() };
        Alternative::new(flow, name.to_owned(), units(&[(softmax[n % 2], 1)])?, runs)?
            .with_power_of_rank(flow, options.seed, device)
    });
    let what = "hardware: the softmax unit alone, the same for both formats of sums".to_owned();
    let alternatives = alternatives.collect::<Result<_, _>>()?;
    Ok(Built { alternatives, power_of: head_of_rank(), notes: vec![error_note(), what] })
}

fn two<T: Default>(values: Vec<T>) -> [T; 2] {
    let mut values = values.into_iter();
    std::array::from_fn(|_| values.next().unwrap_or_default())
}

/// Ping-pong or single I/O buffers.
pub fn io_buffers(options: &Options, flow: &Flow) -> Result<Built, Failure> {
    let study = Study {
        config: Config::gddr6_aim(),
        model: AIM_MODEL.to_owned(),
        shapes: find_model(AIM_MODEL)?,
        contexts: options.context.clone(),
        channels: 16,
        tp: Vec::new(),
        refresh: false,
        seed: options.seed,
        assumptions: Assumptions::default(),
    };
    let bar = output::progress(study.len() as u64, "runs");
    let comparison = io_buffers::compare(&study, cores(), |done| bar.set_position(done));
    bar.finish_and_clear();
    let comparison = comparison?;
    let run = |row: &io_buffers::BufferRow, side: &Side| -> Result<Run, Failure> {
        if side.differing + side.pin_violations > 0 {
            let message = format!("{}: results or pins are not as they should be", row.operator);
            return Err(Failure::Check(message));
        }
        let tokens = grouped(row.context.unwrap_or_default() as u64);
        let workload = format!("{}, {tokens} tokens", row.operator);
        Ok(Run { workload, cycles: side.cycles, ns: Some(side.ns), error: None })
    };
    let rows = || comparison.rows.iter();
    let single = rows().map(|row| run(row, &row.single)).collect::<Result<_, _>>()?;
    let ping_pong = rows().map(|row| run(row, &row.ping_pong)).collect::<Result<_, _>>()?;
    let buffer = |bytes| Some(memory::area_mm2(bytes, 28.0));
    let mut alternatives = vec![
        Alternative::new(
            flow,
            "single".to_owned(),
            units(&[("pingpong_buffer:width256_depth1_single", 1)])?,
            single,
        )?,
        Alternative::new(
            flow,
            "ping-pong".to_owned(),
            units(&[("pingpong_buffer:width256_depth1", 1)])?,
            ping_pong,
        )?,
    ];
    alternatives[0].memories_mm2_28nm = buffer(GLOBAL_BUFFER);
    alternatives[1].memories_mm2_28nm = buffer(2 * GLOBAL_BUFFER);
    let what = "an AiM channel: result registers of 16 PUs as synthesised, the global buffer by the model \
                of SRAM, both sides in one macro";
    let runs = format!(
        "heads of {AIM_MODEL} on 16 channels without refresh, cycles of {} ns; all results have the same \
         bits with either, so that there is no error to compare",
        comparison.tck_ns
    );
    let with_power = |(alternative, io_buffers): (Alternative, _)| {
        let what = AimWhat {
            model: AIM_MODEL,
            context: POWER_CONTEXT,
            io_buffers,
            seed: options.seed,
            window: WINDOW,
        };
        let workload = Workload::run_on_channels(what)?;
        alternative.with_power(flow, |spec| workload.stimulus(&spec.unit, WINDOW), working)
    };
    let kinds = [IoBuffers::Single, IoBuffers::PingPong];
    let alternatives =
        alternatives.into_iter().zip(kinds).map(with_power).collect::<Result<_, _>>()?;
    let power_of = format!(
        "score, softmax and context of a head of {AIM_MODEL} of {} tokens, the registers of a channel; \
         no power of the global buffer",
        grouped(POWER_CONTEXT as u64)
    );
    Ok(Built { alternatives, power_of, notes: vec![what.to_owned(), runs] })
}
