// SPDX-License-Identifier: MIT
//! Processor time of whole runs of the command: data made, written into the banks, run, read back and judged.
//! `scripts/speed` prints them beside those of other simulators.
//!
//! Read the ratios of one run, not the figures of two: the machine may be shared.

mod processor_time;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use processor_time::ProcessorTime;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Multiply-accumulates of a matrix of 4096 x 4096.
const MATRIX: u64 = 4096 * 4096;

/// Name, words of the command, and what it is counted in: multiply-accumulates, tCK, or nothing for a time.
const FIGURES: [(&str, &str, u64); 13] = [
    (
        "attention, 24 heads of 16K",
        "l3 attention --model gpt-175b --heads 24 --context 16384",
        24 * 2 * 128 * 16_384,
    ),
    (
        "attention, 24 heads of 16K on two ranks",
        "l3 attention --model gpt-175b --heads 24 --context 16384 --ranks 2 --threads 1",
        24 * 2 * 128 * 16_384,
    ),
    ("gemv on l3", "l3 gemv --rows 4096 --cols 4096", MATRIX),
    ("gemv on an AiM channel", "aim gemv --rows 4096 --cols 4096 --channels 1", MATRIX),
    ("attention, a head of 128K", "l3 attention --model gpt-175b --heads 1 --context 131072", 0),
    ("layer on a rank", "l3 layer --model gpt-175b --context 16384", 0),
    (
        "layer on 64 ranks",
        "l3 layer --model gpt-175b --context 16384 --channels 16 --dimms 2 --ranks 2",
        0,
    ),
    ("layer on a rank, timing", "l3 layer --model gpt-175b --context 16384 --timing-only", LAYER),
    ("attention, timing", DIFFERENT, 2 * 128 * TOKENS),
    ("attention, timing, channel-cycles", DIFFERENT, 0),
    (
        "attention on AiM channels, timing, channel-cycles",
        "aim attention --heads 1 --head-dim 128 --context 131072 --channels 16 --timing-only",
        0,
    ),
    ("gemv, timing", "l3 gemv --rows 49152 --cols 12288 --timing-only", 49_152 * 12_288),
    ("row buffers, channel-tCK", ROW_BUFFERS, 12 * 200_000),
];

/// Twelve runs of a channel of NeuPIMs of 200 000 tCK each, in eight of which MEM is saturated.
const ROW_BUFFERS: &str = "sweep row-buffers --unwatched --tck 200000 --threads 1";

/// Multiply-accumulates of a layer of GPT-175B at 16K: its matrices, and the heads' K and V.
const LAYER: u64 = 12 * 12_288 * 12_288 + 2 * 16_384 * 12_288;

/// Heads of contexts that all differ, so that no piece is used twice.
const DIFFERENT: &str =
    "l3 attention --model gpt-175b --heads 1 --context 16001,16402,16803,17204,17605 --timing-only";
const TOKENS: u64 = 16_001 + 16_402 + 16_803 + 17_204 + 17_605;

/// A layer's heads, each of another context, and its matrices: what the layer computes, with no piece used twice.
fn layer_of_different_pieces() -> (Vec<String>, u64) {
    let contexts = (0..96).map(|head| 16_004 + 8 * head);
    let tokens: u64 = contexts.clone().sum();
    let contexts: Vec<_> = contexts.map(|context| context.to_string()).collect();
    let heads = format!(
        "l3 attention --model gpt-175b --heads 1 --context {} --timing-only",
        contexts.join(",")
    );
    let matrices = [(36_864, 12_288), (12_288, 12_288), (49_152, 12_288), (12_288, 49_152)];
    let of_matrix =
        |(rows, columns)| format!("l3 gemv --rows {rows} --cols {columns} --timing-only");
    let runs = [heads].into_iter().chain(matrices.map(of_matrix)).collect();
    (runs, 12 * 12_288 * 12_288 + 2 * 128 * tokens)
}

/// Runs the command, `run` unless it is a sweep; what it prints.
fn pimlico(words: &str) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args((!words.starts_with("sweep ")).then_some("run"));
    command.args(words.split(' ')).arg("--json").stderr(Stdio::inherit());
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{words}");
    output.stdout
}

fn figures(criterion: &mut Criterion<ProcessorTime>) {
    for (name, words, mut count) in FIGURES {
        if name.ends_with("channel-cycles") {
            let report: Value = serde_json::from_slice(&pimlico(words)).expect("JSON");
            // Of a rank, or of all AiM channels.
            let channels = if words.contains("--channels 16") { 16 } else { 1 };
            count = channels * report["total"]["cycles"].as_u64().expect("a number");
        }
        measure(criterion, name, &[words], count);
    }
    let (runs, count) = layer_of_different_pieces();
    let runs: Vec<_> = runs.iter().map(String::as_str).collect();
    measure(criterion, "layer of different pieces, timing", &runs, count);
}

/// Runs of the command one after the other, and how many there are of what they are counted in.
fn measure(criterion: &mut Criterion<ProcessorTime>, name: &str, runs: &[&str], count: u64) {
    let mut group = criterion.benchmark_group("figures");
    group.sampling_mode(SamplingMode::Flat);
    if count > 0 {
        group.throughput(Throughput::Elements(count));
    }
    let all = || runs.iter().for_each(|words| drop(pimlico(words)));
    group.bench_function(name, |bencher| bencher.iter(all));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(ProcessorTime(libc::RUSAGE_CHILDREN))
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_secs(1))
        .sample_size(10);
    targets = figures
}
criterion_main!(benches);
