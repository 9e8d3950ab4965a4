// SPDX-License-Identifier: MIT
//! `run` on modules, layers and several ranks, and on the back ends that need no RTL.

use crate::{json, pimlico, refused};

#[test]
fn a_module_runs_attention_operator_by_operator() {
    let run = |io_buffers: &str| {
        json(&format!(
            "run aim attention --model qwen1.5-7b --context 600 --heads 2 --channels 2 --json \
             --io-buffers {io_buffers}"
        ))
    };
    let report = run("ping-pong");
    assert_eq!((&report["system"], &report["tck_ns"]), (&"aim".into(), &0.5.into()));
    assert!(report.get("gear").is_none(), "a channel has no core");
    assert_eq!(report["module"]["channels"], 2);
    assert_eq!(report["pin_violations"], 0);
    let operators = report["operators"].as_array().expect("a list");
    let names: Vec<_> = operators.iter().map(|operator| &operator["operator"]).collect();
    assert_eq!(names, ["score", "softmax", "context"]);
    // 19 groups of 32 tokens, 8 columns each; 4 groups of 32 elements, 38 columns each.
    assert_eq!(operators[0]["slots"]["used"], 2 * 19 * 8);
    assert_eq!(operators[0]["commands"]["RD_RESULT"], 2 * 19);
    assert_eq!(operators[2]["slots"]["used"], 2 * 4 * 38);
    for operator in [&operators[0], &operators[2]] {
        assert_eq!(
            (&operator["slots"]["lost"]["io"], &operator["exact"]["differing"]),
            (&0.into(), &0.into())
        );
        for lost in ["row_switch", "refresh", "fill_drain", "bubble"] {
            assert!(operator["slots"]["lost"][lost].is_u64(), "{lost}");
        }
    }
    let single = run("single");
    assert!(single["operators"][0]["slots"]["lost"]["io"].as_u64() > Some(100));
    let text = pimlico("run aim attention --context 40 --channels 1").stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("1 channels, I/O buffers ping-pong") && !text.contains("gear"));
}

#[test]
fn a_layer_runs_on_both_systems() {
    // 48 x 2048: on the rank 3 chunks of 64 bursts, on the module one group of 128 columns.
    for (system, slots) in [("l3 fc", 3 * 64), ("aim fc --channels 8", 128)] {
        let report = json(&format!("run {system} --model llama-3.2-1b --tp 64 --json"));
        assert_eq!(report["tp"], 64);
        assert_eq!(report["shapes"]["qkv"], serde_json::json!([48, 2048]));
        let operators = report["operators"].as_array().expect("a list");
        let names: Vec<_> = operators.iter().map(|operator| &operator["operator"]).collect();
        assert_eq!(names, ["qkv", "projection", "ffn1", "ffn2"]);
        assert_eq!(operators[0]["slots"]["used"], slots, "{system}");
    }
    let head = json("run l3 fc --model llama-3.2-1b --tp 512 --lm-head --json");
    assert_eq!(head["operators"][4]["operator"], "lm_head");
}

#[test]
fn operators_are_spread_over_ranks() {
    let layer = "run l3 layer --model llama-3.2-1b --context 64 --json";
    let report = json(&format!("{layer} --channels 4 --dimms 2 --ranks 2 --layers 2"));
    let ranks = &report["ranks"];
    assert_eq!(
        (&ranks["channels"], &ranks["dimms"], &ranks["ranks"]),
        (&4.into(), &2.into(), &2.into())
    );
    assert_eq!(ranks["used"], 16);
    assert_eq!(report["total"]["peak_gb_per_s"], 16.0 * 204.8);
    let operators = report["operators"].as_array().expect("a list");
    assert_eq!(operators[1]["operator"], "append");
    let attention = &operators[2]["ranks"];
    // Eight K and V heads on sixteen ranks.
    assert_eq!((&attention["used"], &attention["imbalance"]), (&8.into(), &2.0.into()));
    let total = report["total"]["cycles"].as_u64().expect("a number");
    assert_eq!(report["roll_up"]["token"]["cycles"], 2 * total);
    assert_eq!(report["roll_up"]["model"]["layers"], 16);
    let text = pimlico("run l3 gemv --rows 64 --cols 40 --channels 2 --threads 1").stdout;
    let text = String::from_utf8_lossy(&text);
    for expected in
        ["2 channel(s) of 1 DIMM(s) of 1 rank(s)", "busiest / mean", "2 of 2", "of 409.6"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert_eq!(json("run l3 attention --context 40 --json")["ranks"]["used"], 1);
}

#[test]
fn threads_change_nothing_of_a_module() {
    for words in [
        "run aim attention --context 300,77 --heads 6 --group 2 --channels 4 --groups 2",
        "run aim layer --model llama-3.2-1b --context 100 --timing-only",
    ] {
        let run = |threads| json(&format!("{words} --threads {threads} --json"));
        let report = run(1);
        assert_eq!(run(2), report, "{words}");
        assert_eq!(run(5), report, "{words}");
    }
}

#[test]
fn a_matrix_costs_a_module_the_same_without_data() {
    let words = "run aim gemv --rows 300 --cols 5000 --channels 2 --json";
    let [data, timing] = ["", " --timing-only"].map(|flag| json(&format!("{words}{flag}")));
    for key in ["cycles", "slots", "commands", "link"] {
        let [data, timing] = [&data, &timing].map(|report| &report["operators"][0][key]);
        assert_eq!(data, timing, "{key}");
        assert_ne!(*data, serde_json::Value::Null, "{key}");
    }
    assert_eq!(data["load"], timing["load"]);
    assert!(timing["notes"].to_string().contains("there were no data"), "{}", timing["notes"]);
}

#[test]
fn ranks_of_a_dimm_share_its_data_lines() {
    let run = |mdq| {
        json(&format!("run l3 attention --heads 2 --context 700 --ranks 2 --mdq {mdq} --json"))
    };
    let (private, shared) = (run("private"), run("shared"));
    assert_eq!(
        (&private["ranks"]["mdq"], &shared["ranks"]["mdq"]),
        (&"private".into(), &"shared".into())
    );
    let of = |report: &serde_json::Value, key: &str| report["operators"][0]["ranks"][key].clone();
    assert_eq!(of(&private, "mdq_waited_tck"), 0);
    let waited_tck = of(&shared, "mdq_waited_tck").as_u64().expect("a number");
    let cycles = |report: &serde_json::Value| report["total"]["cycles"].as_u64().expect("a number");
    assert!(waited_tck > 0 && cycles(&shared) > cycles(&private), "{shared}");
    assert!(of(&shared, "mdq_least_tck").as_u64().is_some_and(|tck| tck < cycles(&shared)));
    let text = pimlico("run l3 attention --heads 2 --context 40 --ranks 2 --mdq shared").stdout;
    let text = String::from_utf8_lossy(&text);
    for expected in ["MDQ shared | waited, tCK", "note: MDQ shared: bursts of a DIMM's ranks"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn the_cycle_model_reports_what_the_engine_does() {
    for arguments in [
        "l3 attention --context 70",
        "l3 attention --context 33 --head-dim 64 --normalise late --sums binary32 --faw-banks 4",
        "l3 gemv --rows 40 --cols 300",
    ] {
        let run = |backend| {
            let mut report = json(&format!("run {arguments} --json --backend {backend}"));
            report.as_object_mut().expect("an object").remove("backend");
            report
        };
        assert_eq!(run("model"), run("fast"), "{arguments}");
    }
}

#[test]
fn the_hub_of_a_module_has_the_results_of_the_engine() {
    for arguments in [
        "attention --context 70 --channels 2",
        "gemv --rows 40 --cols 300 --channels 2 --io-buffers single",
        "decode --tokens 1 --channels 2",
    ] {
        let run = |backend| {
            let report = json(&format!("run aim {arguments} --json --backend {backend}"));
            assert_eq!(report["pin_violations"], 0);
            let operators = report["operators"].as_array().expect("a list").iter();
            let of_operator = |operator: &serde_json::Value| {
                ["operator", "error", "exact"].map(|key| operator[key].clone())
            };
            (report["text"].clone(), operators.map(of_operator).collect::<Vec<_>>())
        };
        assert_eq!(run("model"), run("fast"), "{arguments}");
    }
    let message = refused("run aim gemv --rows 4 --cols 4 --backend model");
    assert!(message.contains("channels = 16, expected 2"), "{message}");
}
