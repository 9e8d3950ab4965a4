// SPDX-License-Identifier: MIT
//! `pimlico run SYSTEM decode --prefill host` as a user meets it: one text under every policy, on every system.

use super::{json, pimlico};
use crate::common;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The policies, each with its buffers; none where all weights are copied before.
const POLICIES: [(&str, Option<u64>); 4] =
    [("duplicate", None), ("facil", Some(0)), ("ddb", Some(2)), ("owr", Some(1))];

fn refused(arguments: &str) -> String {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(message.lines().count(), 1, "{arguments}: {message}");
    message
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("a number, not {value}"))
}

/// Holds the report of a text to its policy.
fn check_policy(report: &Value, (policy, buffers): (&str, Option<u64>)) {
    let prefill = &report["prefill"];
    let of = |key: &str| number(&prefill[key]);
    assert_eq!(prefill["policy"], policy);
    let (weights, buffer) = (of("weight_bytes"), of("buffer_bytes"));
    assert_eq!(of("extra_bytes"), buffers.map_or(weights, |count| count * buffer), "{policy}");
    assert_eq!(of("buffers"), buffers.unwrap_or(0), "{policy}");
    let is_copied = buffers.is_some_and(|count| count > 0);
    // The head is not.
    assert_eq!(of("copied_bytes") > 0, is_copied, "{policy}");
    assert!(of("copied_bytes") < weights && buffer < weights);
    assert_eq!(report["pin_violations"], 0);
    assert_eq!(report["judged"]["differing"], 0);
}

/// Systems whose elements are of one format have the same logits behind the prompt: their layouts differ, what lies in them
/// does not. And they are those of an image.
#[test]
fn every_policy_on_every_system_has_the_logits_of_an_image() {
    let image = |elements: &str| {
        let report = json(&format!("layout prefill --policy owr --elements {elements} --json"));
        report["logits_sha256"].clone()
    };
    let [binary16, bfloat16] = ["binary16", "bfloat16"].map(image);
    assert_ne!(binary16, bfloat16);
    for (system, expected) in [
        ("l3 decode", &binary16),
        ("l3 decode --ranks 2 --dimms 2", &binary16),
        ("aim decode", &binary16),
        ("aim decode --channels 4 --groups 2", &binary16),
        ("lp5 decode --elements binary16", &binary16),
        ("lp5 decode", &bfloat16),
    ] {
        let mut text = None;
        for of_policy in POLICIES {
            let (policy, _) = of_policy;
            let how = format!(
                "--tokens 4 --prefill host --policy {policy} --copy-threads 2 --compute-threads 3"
            );
            let report = json(&format!("run {system} {how} --json"));
            check_policy(&report, of_policy);
            assert_eq!(report["prefill"]["logits_sha256"], *expected, "{system} {policy}");
            let text_of = &report["prefill"]["text_sha256"];
            let all = (text_of.clone(), report["text"].clone(), report["logits_sha256"].clone());
            assert_eq!(*text.get_or_insert_with(|| all.clone()), all, "{system} {policy}");
            let tokens = report["tokens"].as_array().expect("tokens");
            assert_eq!(tokens.len(), 11 + 3, "{system}");
            // Of the prompt, K and V are all that the device takes.
            assert!(tokens[..11].iter().all(|t| t["cycles"] == t["append_cycles"]), "{system}");
            assert!(tokens[11..].iter().all(|t| t["cycles"] != t["append_cycles"]), "{system}");
            assert!(tokens.iter().all(|token| number(&token["append_cycles"]) > 0), "{system}");
            let loaded = &report["prefill"]["loaded"];
            match system.starts_with("aim") {
                true => assert!(loaded.is_null()),
                false => {
                    assert!(number(&loaded["bytes"]) >= number(&report["prefill"]["weight_bytes"]))
                }
            }
        }
    }
}

/// Without a host that takes the prompt, the device does, token by token: the text is the same, logits are near.
#[test]
fn a_prompt_is_the_devices_unless_it_is_said() {
    for system in ["l3", "aim", "lp5"] {
        let elements = if system == "lp5" { "--elements binary16" } else { "" };
        let run =
            |how: &str| json(&format!("run {system} decode {elements} --tokens 5 {how} --json"));
        let (device, host) = (run(""), run("--prefill host"));
        assert_eq!(run("--prefill device")["logits_sha256"], device["logits_sha256"]);
        assert!(device.get("prefill").is_none());
        assert_eq!(host["prefill"]["policy"], "ddb");
        assert_eq!(device["text"], host["text"]);
        assert_ne!(device["logits_sha256"], host["logits_sha256"]);
        for report in [device, host] {
            assert_eq!(report["agreement"]["equal"], report["agreement"]["compared"], "{system}");
        }
    }
}

#[test]
fn the_text_says_what_the_host_took() {
    let told = pimlico("run lp5 decode --tokens 2 --prefill host --policy owr").stdout;
    let told = String::from_utf8(told).expect("text");
    for there in [
        "Prompt on the host: policy owr, threads: copy 1, compute 1",
        "weights loaded out of the banks: ",
        "SHA-256 of the logits behind the prompt ",
        "SHA-256 of the text ",
        "temperature 0, elements bfloat16, sums binary32",
        "norms, attention, activation and choices are the host's",
        "choices from the first on are those of float64",
    ] {
        assert!(told.contains(there), "{there}: {told}");
    }
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    for (arguments, expected) in [
        ("l3 decode --policy ddb", "--policy: it goes with --prefill host"),
        ("aim decode --policy facil --prefill device", "--policy: it goes with --prefill host"),
        ("lp5 decode --buffer 1M", "--buffer: it goes with --prefill host"),
        ("lp5 decode --copy-threads 2", "--copy-threads: it goes with --prefill host"),
        ("l3 decode --compute-threads 2", "--compute-threads: it goes with --prefill host"),
        ("l3 decode --prefill host --policy two", "invalid value 'two'"),
        ("l3 decode --prefill phone", "invalid value 'phone'"),
        ("l3 decode --prefill host --copy-threads 0", "expected 1 to 64 threads"),
        ("aim decode --prefill host --compute-threads 65", "expected 1 to 64 threads"),
        (
            "aim decode --prefill host --buffer 4K --policy duplicate",
            "it goes with --policy ddb or owr",
        ),
        (
            "aim decode --prefill host --buffer 4K",
            "buffer of 4096 bytes: Q, K, V, O of layer 0 takes 6144, expected at least as many",
        ),
        ("lp5 decode --prefill host --buffer 12Q", "--buffer"),
        (
            "l3 decode --ranks 2 --residency pipeline --prefill host",
            "it does not go with --residency",
        ),
        ("l3 decode --prefill host --tokens 4000", "the model's context"),
        ("l3 gemv --rows 1 --cols 1 --prefill host", "unexpected argument '--prefill'"),
        ("lp5 decode --normalise late", "unexpected argument '--normalise'"),
        ("lp5 decode --sums binary16", "--sums: with --elements bfloat16 expected"),
    ] {
        let message = refused(&format!("run {arguments}"));
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}

/// A load of cacheable weights is no MAC: there is no text.
#[test]
fn text_with_cacheable_weights_ends_with_the_counts() {
    for (how, found) in
        [("", "MACs of channel 0 are "), ("--prefetch off", "MACs of channel 0 are ")]
    {
        let output = pimlico(&format!("run lp5 decode --tokens 3 --attribute cacheable {how}"));
        let message = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(output.stdout.is_empty());
        assert!(
            message.contains("cacheable weights, matrix of ") && message.contains(found),
            "{message}"
        );
    }
}

/// 260 thousand parameters that tell stories (huggingface.co/karpathy/tinyllamas).
#[test]
fn stories_are_float64s_after_a_prompt_on_the_host() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/weights");
    let folder = std::env::var_os("PIMLICO_WEIGHTS").map_or(beside, PathBuf::from);
    let files = ["stories260K.bin", "tok512.bin"].map(|name| folder.join(name));
    if !files.iter().all(|file| file.is_file()) {
        return eprintln!("left out: no stories260K.bin and tok512.bin in PIMLICO_WEIGHTS");
    }
    let [weights, tokenizer] = files.map(|file| file.display().to_string());
    for (system, policy, is_exact) in [
        ("l3 decode", POLICIES[2], true),
        ("aim decode", POLICIES[1], true),
        ("lp5 decode --elements binary16 --sums binary32", POLICIES[3], true),
        ("lp5 decode", POLICIES[0], false),
    ] {
        let (name, _) = policy;
        let words = format!("run {system} --tokens 200 --prefill host --policy {name} --json");
        let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
            .args(words.split_whitespace())
            .args(["--weights", &weights, "--tokenizer", &tokenizer])
            .args(["--prompt", "Once upon a time"])
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{words}");
        let report = common::document(&output.stdout);
        check_policy(&report, policy);
        let agreement = &report["agreement"];
        assert_eq!(agreement["compared"], 200, "{words}");
        // With 8 bits of a weight no count is promised; where they part is.
        assert_eq!(agreement["equal"] == 200, agreement["parted"].is_null(), "{words}");
        assert!(!is_exact || agreement["equal"] == 200, "{words}: {agreement}");
    }
}
