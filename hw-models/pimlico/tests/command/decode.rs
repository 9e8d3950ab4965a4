// SPDX-License-Identifier: MIT
//! `pimlico run l3 decode` and `run l3 layer` as a user meets them: documents, messages, exit status.

use crate::common;
use pimlico_model::checkpoint::tiny;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pimlico(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(["run", "l3"].iter().chain(arguments))
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the command runs")
}

fn decode(arguments: &[&str]) -> serde_json::Value {
    let output = pimlico(&[&["decode", "--json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    common::document(&output.stdout)
}

fn refused(arguments: &[&str]) -> String {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn the_stable_keys_are_there() {
    let report = decode(&["--tokens", "4"]);
    assert_eq!((&report["system"], &report["model"]), (&"l3".into(), &"tiny".into()));
    assert_eq!((&report["backend"], &report["seed"]), (&"fast".into(), &1.into()));
    assert_eq!(report["tck_ns"], 0.625);
    let text = report["text"].as_str().expect("text");
    assert!(text.starts_with("in a small town ") && text.len() > 17, "{text}");
    let operators = report["operators"].as_array().expect("a list");
    let names: Vec<_> = operators.iter().map(|operator| &operator["operator"]).collect();
    assert_eq!(names, ["qkv", "append", "attention", "projection", "ffn1", "ffn2", "lm_head"]);
    // Adding K and V computes nothing.
    let append = &operators[1];
    assert_eq!((&append["macs"], &append["slots"]["used"]), (&0.into(), &0.into()));
    assert_eq!(append["cycles"], report["append"]["cycles"]);
    for operator in operators.iter().filter(|operator| operator["operator"] != "append") {
        for key in ["cycles", "ns", "macs", "energy_pj"] {
            assert!(operator[key].as_f64().expect("a number") > 0.0, "{key}");
        }
        assert!(operator["slots"]["used"].as_u64().expect("a number") > 0);
        for lost in ["row_switch", "refresh", "fill_drain", "bubble"] {
            assert!(operator["slots"]["lost"][lost].is_u64(), "{lost}");
        }
        for share in ["bank_read", "bank_pu", "bus", "adder_unit", "softmax_unit"] {
            assert!(operator["utilisation"][share].is_f64(), "{share}");
        }
        assert!(operator["commands"]["RD_ALL_BANK"].is_u64());
        for error in ["max_ulp", "max_relative", "rms_relative"] {
            assert!(operator["error"][error].is_f64(), "{error}");
        }
    }
    for key in ["cycles", "ns", "energy_pj"] {
        assert!(report["total"][key].is_number(), "{key}");
    }
    assert_eq!(report["agreement"]["compared"], 4);
    assert_eq!(report["agreement"]["equal"], 4);
    assert!(report["agreement"]["parted"].is_null());
    assert_eq!(report["layers"].as_array().expect("a list").len(), 3);
    let through = report["prompt_tokens"].as_u64().expect("a number") + 3;
    assert_eq!(report["tokens"].as_array().expect("a list").len() as u64, through);
    assert_eq!(report["pin_violations"], 0);
}

#[test]
fn the_table_begins_with_the_text() {
    let output = pimlico(&["decode", "--tokens", "4", "--prompt", "once upon a"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("\nonce upon a time"), "{text}");
    assert!(text.contains("4 of 4 choices"), "{text}");
    assert!(text.contains("\n lm_head "), "{text}");
}

#[test]
fn options_reach_the_decoder() {
    let cycles = |arguments: &[&str]| decode(arguments)["total"]["cycles"].as_u64().expect("one");
    let plain = cycles(&["--tokens", "2"]);
    assert!(cycles(&["--tokens", "2", "--faw-banks", "4"]) > plain);
    let warm = |seed| {
        let arguments = ["--tokens", "12", "--temperature", "2", "--seed", seed];
        decode(&arguments)["text"].clone()
    };
    assert_eq!(warm("1"), warm("1"));
    assert_ne!(warm("1"), warm("2"));
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| -> String {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("it can be written");
        file.to_str().expect("text").to_owned()
    };
    let weights = write("weights.bin", tiny::WEIGHTS);
    let tokenizer = write("tokenizer.bin", tiny::TOKENIZER);
    let cut = write("cut.bin", &tiny::WEIGHTS[..tiny::WEIGHTS.len() - 1]);
    let empty = write("empty.bin", b"");
    let config = write("config.json", br#"{"model_type": "llama"}"#);
    let tensors = write("model.safetensors", b"\x02\0\0\0\0\0\0\0{]");

    let of = |weights: &str, tokenizer: &str, more: &[&str]| {
        let files = ["decode", "--weights", weights, "--tokenizer", tokenizer];
        refused(&[&files, more].concat())
    };
    assert!(of(&cut, &tokenizer, &[]).contains("cut.bin: byte 28: 157567 bytes of weights"));
    assert!(of(&empty, &tokenizer, &[]).contains("empty.bin: byte 0: 0 bytes in all"));
    assert!(of(&weights, &empty, &[]).contains("empty.bin: byte 0"));
    assert!(of("nowhere.bin", &tokenizer, &[]).contains("nowhere.bin: No such file"));
    assert!(of(&tensors, &tokenizer, &[]).contains("expected --config FILE"));
    let absent = of(&tensors, &tokenizer, &["--config", &config]);
    assert!(absent.contains("config.json: hidden_size: absent, expected a size"), "{absent}");
    let long = ["--prompt", "the", "--tokens", "999"];
    assert!(of(&weights, &tokenizer, &long).contains("the model's context"));
    assert!(refused(&["decode", "--prompt", "É"]).contains("character 'É' at byte 0"));
    assert!(refused(&["decode", "--weights", "a"]).contains("--tokenizer FILE"));
    assert!(refused(&["decode", "--model", "opt-66b"]).contains("unexpected argument '--model'"));
    assert!(refused(&["attention", "--prompt", "a"]).contains("goes with `pimlico run` l3 decode"));
    assert!(refused(&["attention", "--config", &config]).contains("hidden_size: absent"));
}

#[test]
fn a_config_gives_the_shapes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("config.json");
    let config = br#"{"model_type": "qwen2", "hidden_size": 512, "intermediate_size": 999,
        "num_hidden_layers": 3, "num_attention_heads": 8, "num_key_value_heads": 2,
        "vocab_size": 1000}"#;
    std::fs::write(&file, config).expect("it can be written");
    let file = file.to_str().expect("text");
    let output =
        pimlico(&["attention", "--config", file, "--heads", "8", "--context", "20", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report = common::document(&output.stdout);
    assert_eq!((&report["head_dim"], &report["group"]), (&64.into(), &4.into()));
    assert_eq!(report["model"], file);
    assert!(refused(&["attention", "--config", file, "--heads", "9"]).contains("has 1 to 8"));
}

#[test]
fn a_layer_runs_on_any_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("config.json");
    let config = br#"{"model_type": "llama", "hidden_size": 96, "intermediate_size": 130,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 3,
        "vocab_size": 100}"#;
    std::fs::write(&file, config).expect("it can be written");
    let file = file.to_str().expect("text");
    let run = |threads| {
        let arguments = ["layer", "--config", file, "--context", "90", "--json"];
        let output = pimlico(&[&arguments[..], &["--threads", threads]].concat());
        assert_eq!(output.status.code(), Some(0));
        common::document(&output.stdout)
    };
    let report = run("1");
    assert_eq!(run("4"), report);
    let operators = report["operators"].as_array().expect("a list");
    let names: Vec<_> = operators.iter().map(|operator| &operator["operator"]).collect();
    assert_eq!(names, ["qkv", "append", "attention", "projection", "ffn1", "ffn2"]);
    assert_eq!(operators[4]["macs"], 2 * 130 * 96);
    assert_eq!((&report["heads"], &report["hidden"]), (&6.into(), &96.into()));
    for wrong in ["--batch 2", "--context 5,6", "--vcd a.vcd", "--group 2", "--rows 3"] {
        let wrong: Vec<_> = wrong.split(' ').collect();
        let message = refused(&[&["layer", "--config", file], &wrong[..]].concat());
        assert!(message.contains(wrong[0]), "{message}");
    }
    assert!(refused(&["layer", "--context", "0"]).contains("attention: context of 0"));
}

#[cfg(feature = "rtl")]
#[test]
fn a_token_is_the_same_in_model_and_rtl() {
    let run = |backend| {
        let arguments = ["--prompt", "", "--tokens", "1", "--backend", backend];
        let mut report = decode(&arguments);
        let document = report.as_object_mut().expect("an object");
        document.remove("backend");
        (document.remove("mismatches"), report)
    };
    let (mismatches, lockstep) = run("lockstep");
    assert_eq!(mismatches, Some(0.into()));
    assert_eq!(lockstep, run("fast").1);
}

#[test]
fn every_operator_runs_on_every_system() {
    let of = |words: &str| {
        let words: Vec<_> = words.split(' ').collect();
        let output = Command::new(env!("CARGO_BIN_EXE_pimlico")).arg("run").args(words).output();
        let output = output.expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        common::document(&output.stdout)
    };
    let text = of("l3 decode --channels 2 --ranks 2 --tokens 4 --json");
    assert_eq!((&text["ranks"]["channels"], &text["ranks"]["used"]), (&2.into(), &4.into()));
    assert_eq!(text["agreement"]["equal"], 4);
    assert_eq!(text["host_pins"]["violations"], 0);
    let shared = of("l3 decode --channels 2 --ranks 2 --tokens 4 --mdq shared --json");
    assert_eq!(shared["text"], text["text"]);

    let layer = "aim layer --model llama-3.2-1b --context 40 --channels 16 --timing-only --json";
    let layer = of(layer);
    let operators = layer["operators"].as_array().expect("a list");
    let names: Vec<_> = operators.iter().map(|operator| &operator["operator"]).collect();
    let expected = ["qkv", "append", "score", "softmax", "context", "projection", "ffn1", "ffn2"];
    assert_eq!(names, expected);
    assert_eq!(layer["roll_up"]["model"]["layers"], 16);
    let attention = of("aim attention --context 40 --heads 3 --group 1 --timing-only --json");
    let notes = attention["notes"].to_string();
    assert!(notes.contains("timing only: 1 of 3 heads were run"), "{notes}");
}

#[test]
fn layers_are_streamed_into_the_banks() {
    let stays = decode(&["--tokens", "4"]);
    let streamed = |arguments: &str| {
        let words: Vec<_> = arguments.split(' ').collect();
        let report = decode(&[&["--tokens", "4", "--residency"], words.as_slice()].concat());
        assert_eq!(report["logits_sha256"], stays["logits_sha256"], "{arguments}");
        assert_eq!(report["text"], stays["text"], "{arguments}");
        assert_eq!(report["pin_violations"], 0, "{arguments}");
        report["residency"].clone()
    };
    let number = |of: &serde_json::Value, key: &str| of[key].as_u64().expect("a number");
    let whole = streamed("whole --ranks 2");
    streamed("pipeline --ranks 3");
    let least = number(&whole, "kept_rows") + number(&whole, "layer_rows");
    let one = streamed(&format!("pipeload --ranks 2 --loaders 1 --bank-rows {least}"));
    assert_eq!((number(&one, "peak_rows"), number(&one, "slots")), (least, 1));
    let bytes = (least + 1) * number(&whole, "row_bytes") / 1024;
    let limited = format!("pipeload --ranks 2 --memory-limit {bytes}K --disk 1G --pin 0");
    assert_eq!(number(&streamed(&limited), "limit_rows"), least + 1);

    for (arguments, expected) in [
        (
            format!("--residency pipeload --ranks 2 --bank-rows {}", least - 1),
            format!("limit of {} rows of the banks: this model needs {least} ", least - 1),
        ),
        ("--residency whole".to_owned(), "--residency: expected two ranks or more".to_owned()),
        ("--ranks 2 --loaders 1".to_owned(), "--loaders: it goes with --residency".to_owned()),
        (
            "--ranks 2 --residency whole --pin 1".to_owned(),
            "--pin: it goes with --residency pipeload".to_owned(),
        ),
        (
            "--ranks 2 --residency pipeload --loaders 0".to_owned(),
            "--loaders 0: expected 1 to ".to_owned(),
        ),
        (
            "--ranks 2 --residency pipeload --stream-head".to_owned(),
            "--stream-head: not built for layers in the banks".to_owned(),
        ),
    ] {
        let words = ["decode"].into_iter().chain(arguments.split(' '));
        let message = refused(&words.collect::<Vec<_>>());
        assert!(message.contains(&expected), "{message}");
    }
}

/// Text with all weights in the banks, and the same with layers streamed in several ways: one hash of the logits.
fn streamed_as_it_stays(model: &[&str]) {
    let stays = decode(model);
    for how in [
        "--ranks 2 --residency whole",
        "--ranks 3 --residency pipeline",
        "--ranks 2 --residency pipeload --loaders 3 --disk 500M",
        "--ranks 2 --residency pipeload --loaders 1 --pin 2 --backend model",
    ] {
        let words: Vec<_> = how.split(' ').collect();
        let streamed = decode(&[model, words.as_slice()].concat());
        assert_eq!(streamed["logits_sha256"], stays["logits_sha256"], "{how}");
        assert_eq!(streamed["text"], stays["text"], "{how}");
        assert_eq!(
            (&streamed["pin_violations"], &streamed["host_pins"]["violations"]),
            (&0.into(), &0.into())
        );
    }
}

#[test]
fn safetensors_of_each_type_are_streamed_into_the_banks() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for dtype in ["f32", "f16", "bf16"] {
        let shape = "--dim 64 --hidden 96 --layers 3 --heads 4 --kv-heads 2 --vocab 260";
        let files = "--config c.json --tokenizer t -o m.safetensors";
        let make = format!("stream make {shape} --format safetensors --dtype {dtype} {files}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
        let made = command.args(make.split(' ')).current_dir(folder.path()).output();
        assert_eq!(made.expect("it runs").status.code(), Some(0), "{dtype}");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let [weights, config, tokenizer] = ["m.safetensors", "c.json", "t"].map(path);
        let files = ["--weights", &weights, "--config", &config, "--tokenizer", &tokenizer];
        streamed_as_it_stays(&[&files[..], &["--prompt", "ab", "--tokens", "2"]].concat());
    }
}

/// 260 thousand parameters that tell stories (huggingface.co/karpathy/tinyllamas).
#[test]
fn stories_are_streamed_into_the_banks() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/weights");
    let folder = std::env::var_os("PIMLICO_WEIGHTS").map_or(beside, PathBuf::from);
    let files = ["stories260K.bin", "tok512.bin"].map(|name| folder.join(name));
    if !files.iter().all(|file| file.exists()) {
        return eprintln!("left out: no stories260K.bin and tok512.bin in PIMLICO_WEIGHTS");
    }
    let [weights, tokenizer] = files.map(|file| file.display().to_string());
    let files = ["--weights", &weights, "--tokenizer", &tokenizer];
    let text = ["--prompt", "Once upon a time", "--tokens", "8"];
    streamed_as_it_stays(&[&files[..], &text].concat());
}
