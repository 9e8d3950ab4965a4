// SPDX-License-Identifier: MIT
//! Wrong input is refused in one line.

use crate::refused;

#[test]
fn wrong_input_is_refused_in_one_line() {
    for (arguments, expected) in [
        (
            "run l3 attention --model gpt-9",
            "invalid value 'gpt-9' for '--model <NAME>'; the nearest: gpt-89b, gpt3-7b, gpt-175b; \
             `pimlico run l3 attention --help` lists all",
        ),
        ("run l3 attention --heads 0", "--heads 0"),
        ("run l3 attention --heads 97", "gpt-175b has 1 to 96"),
        ("run l3 attention --context 0", "context of 0 tokens"),
        ("run l3 attention --context 99999999999", "context of 99999999999 tokens"),
        ("run l3 attention --head-dim 257", "head dimension 257"),
        ("run l3 attention --group 0", "--group 0"),
        ("run l3 gemv", "required arguments were not provided: --rows <R> --cols <C>"),
        (
            "run l3 attention --rows 5",
            "'--rows' found; it goes with `pimlico run` l3 gemv, aim gemv, lp5 gemv",
        ),
        ("run l3 fc --rows 5", "unexpected argument '--rows' found"),
        ("run l3 attention --tp 2", "'--tp' found; it goes with `pimlico run` l3 fc, aim fc"),
        ("run l3 fc --tp 0", "--tp 0: expected 1 to 1024 modules"),
        (
            "run l3 gemv --rows 9 --cols 9 --heads 2",
            "'--heads' found; it goes with `pimlico run` l3 attention,",
        ),
        ("run l3 layer --batch 2", "unexpected argument '--batch' found"),
        (
            "run l3 decode --context 9",
            "it goes with `pimlico run` l3 attention, l3 layer, aim attention",
        ),
        ("run l3 attention --dimms 5", "5 DIMMs on a channel: expected 1 to 4"),
        ("run l3 attention --ranks 0", "0 ranks on a DIMM: expected 1 to 4"),
        ("run aim attention --ranks 2", "unexpected argument '--ranks' found"),
        ("run l3 decode --ranks 5", "5 ranks on a DIMM: expected 1 to 4"),
        (
            "run l3 attention --dimms 2 --mdq shared",
            "--mdq shared: it goes with several ranks on a DIMM",
        ),
        (
            "run l3 attention --threads 2",
            "--threads: with `run l3 attention`, it goes with several ranks",
        ),
        (
            "run l3 attention --channels 2 --vcd x.vcd",
            "--vcd: with `run l3 attention`, it goes with one rank",
        ),
        (
            "run l3 attention --heads 96 --context 200000",
            "rank 0 of 1: weights, K and V of 1 layer(s) take",
        ),
        ("run l3 layer --layers 97", "--layers 97: gpt-175b has 1 to 96"),
        (
            "run l3 layer --context 16384 --layers 3",
            "rank 0 of 1: weights, K and V of 3 layer(s) take",
        ),
        (
            "run aim program",
            "unrecognized subcommand 'program'; there are attention, gemv, fc, layer, decode",
        ),
        ("run l4 gemv", "unrecognized subcommand 'l4'; there are l3, aim, lp5"),
        ("run l3 gemv --rowz 9", "'--rowz' found; tip: a similar argument exists: '--rows'"),
        ("run aim attention --sums binary32", "unexpected argument '--sums' found"),
        ("run aim attention --context 0", "context of 0 tokens"),
        ("run aim attention --head-dim 0", "head dimension 0"),
        ("run aim attention --context 99999999999", "hold 1 to 261888 of head dimension 128"),
        ("run aim gemv --rows 300000 --cols 4", "elements of the GPR"),
        ("run aim layer --program x", "unexpected argument '--program' found"),
        ("run aim attention --context 9 --context-max 8", "--context-max 8: expected 9 or more"),
        ("sweep io-buffers --tp 0", "--tp 0: expected 1 to 1024 modules"),
        ("sweep io-buffers --contexts 0", "context of 0 tokens"),
        ("run l3 gemv --rows 0 --cols 5", "matrix of 0 x 5"),
        ("run l3 gemv --rows 99999999999 --cols 99999999999", "rows of the banks"),
        ("run l3 attention --batch 0", "--batch"),
        ("run l3 attention --batch 2 --context 1,2", "--batch"),
        ("run l3 attention --poll 0", "0 is not in 1..=65536"),
        ("run l3 attention --poll 65537", "65537 is not in 1..=65536"),
        ("run aim attention --poll 9", "unexpected argument '--poll' found"),
        ("run l3 attention --vcd /nowhere/x.vcd", "/nowhere/x.vcd"),
        (
            "sweep programs --model lama3.1-8b",
            "'lama3.1-8b' for '--model <NAME>'; the nearest: llama-3.1-8b,",
        ),
        ("sweep batch --model gpt-9", "'gpt-9' for '--model <NAME>'; the nearest: gpt-89b,"),
        (
            "cosim bank_up",
            "bank_up: no such unit; the nearest: bank_pu, bank_pu:x16, bank_state; `pimlico cosim --list` lists all",
        ),
        ("cosim fp_mul:bf16 nothing", "no such unit; "),
        ("estimate area softmaxunit", "the nearest: softmax_unit"),
        ("schema runn", "the nearest: run; `pimlico schema` lists all"),
        ("sweep batch --memory 0", "--memory 0: expected a multiple"),
        ("sweep batch --system l3 --memory 12", "--memory 12: expected a multiple"),
        ("sweep batch --memory 99999999999999999", "--memory 99999999999999999"),
        ("sweep batch --memory 8", "qwen1.5-7b in 8 GiB: the weights take"),
        ("sweep batch --max-context 30000", "30000 tokens: qmsum has prompts of up to 30456"),
        ("sweep batch --max-context 9999999999999999999", "9999999999999999999 tokens takes"),
        ("sweep batch --generate 0", "tokens generated: expected 1 or more"),
        ("sweep batch --generate 9999999999999999999", "9999999999999999999 tokens generated"),
        ("sweep batch --chunk-rows 0", "chunks of 0 rows"),
        ("sweep batch --requests 0", "requests: expected 1 or more"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(expected), "{arguments}: {message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    for arguments in [
        "",
        "run l3 attention --bogus",
        "run l3 attention --context many",
        "run l3 attention --backend x",
        "cosim",
    ] {
        refused(arguments);
    }
}

/// What the build lacks is refused in one line, which says how to build it.
#[cfg(not(feature = "cosim"))]
fn not_built(arguments: &str, feature: &str) {
    let message = refused(arguments);
    assert!(message.contains("apt-get install verilator"), "{message}");
    assert!(message.contains(&format!("--features pimlico/{feature}`")), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[cfg(not(feature = "rtl"))]
#[test]
fn back_ends_that_need_verilator_say_so() {
    for arguments in [
        "run l3 attention --backend rtl",
        "run aim fc --backend lockstep",
        "fp mul 3C01 4201 --backend rtl",
    ] {
        not_built(arguments, "rtl");
    }
}

#[cfg(not(feature = "cosim"))]
#[test]
fn co_simulation_without_benches_says_so() {
    not_built("cosim --all", "cosim");
}
