// SPDX-License-Identifier: MIT
//! Traces and serving systems: `trace`, `serve`, `sweep serving`, `sweep latency`.

use crate::{json, number, pimlico, refused, stdout};
use std::fs;
use std::path::Path;

/// A file in the folder in which commands run.
fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn a_trace_is_served_and_its_document_is_the_same_on_any_threads() {
    let line = "serve --model gpt-175b --trace longbench --requests 12 --policy l3 --json";
    let first = json(&format!("{line} --threads 1"));
    let mut second = json(&format!("{line} --threads 2"));
    assert_eq!((number(&first, "violations"), number(&first, "trace.requests")), (0.0, 12.0));
    assert!(number(&first, "tokens_per_s") > 0.0 && number(&first, "watched_tasks") > 0.0);
    assert!(number(&first, "ttft_ns.p99") >= number(&first, "ttft_ns.p50"));
    second["wall_s"] = first["wall_s"].clone();
    assert_eq!(first, second);
}

#[test]
fn every_policy_serves_and_those_that_there_are_not_are_named() {
    for policy in ["gpu-only", "hbm-pim", "r-pim", "cpu-offload", "l3-naive", "l3-interleave"] {
        let line =
            format!("serve --model opt-66b --trace dolphin --requests 8 --policy {policy} --json");
        let report = json(&line);
        assert_eq!((&report["policy"], &report["violations"]), (&policy.into(), &0.into()));
    }
    let message = refused("serve --policy neupims --trace longbench --requests 1");
    assert!(
        message.contains("l3 has gpu-only, hbm-pim, r-pim, cpu-offload, l3-naive"),
        "{message}"
    );
}

#[test]
fn modules_serve_and_their_document_is_the_same_on_any_threads() {
    let line = "serve --system lol-pim --trace musique --requests 40 --json";
    let first = json(&format!("{line} --threads 1"));
    let mut second = json(&format!("{line} --threads 2"));
    assert_eq!((number(&first, "violations"), number(&first, "output_tokens")), (0.0, 1280.0));
    assert_eq!((number(&first, "parallel.tp"), number(&first, "parallel.pp")), (8.0, 4.0));
    let shares = first["stages"].as_object().expect("shares of time");
    let all: f64 = shares.values().filter_map(serde_json::Value::as_f64).sum();
    assert!((all - 1.0).abs() < 1e-9, "{all}");
    second["wall_s"] = first["wall_s"].clone();
    assert_eq!(first, second);
    for policy in ["pim-hfa", "gpu-lol-pim"] {
        let report = json(&format!("{line} --policy {policy}"));
        assert_eq!((&report["policy"], &report["violations"]), (&policy.into(), &0.into()));
    }
}

#[test]
fn what_modules_cannot_do_is_refused() {
    let of = |flags: &str| refused(&format!("serve --system lol-pim --trace musique {flags}"));
    assert!(of("--model qwen1.5-72b --nodes 2").contains(
        "the weights of qwen1.5-72b take 144576000000 bytes; 16 modules have 137438953472"
    ));
    assert!(of("--policy l3").contains("lol-pim has lol-pim, pim-hfa, gpu-lol-pim"));
    assert!(of("--dimms 2").contains("--dimms: it does nothing with --system lol-pim"));
    assert!(of("--window 1:2").contains("--window: it does nothing without --plot"));
    assert!(of("--predictor learned").contains("--predictor: it does nothing with --system"));
    assert!(of("--admission reserve").contains("lol-pim has lazy and static"));
    assert!(of("--tp 8 --pp 2").contains("--tp 8 --pp 2: there are 32 modules"));
    assert!(of("--epu-lanes 3").contains("--epu-lanes 3: expected a power of two"));
    assert!(of("--softmax-passes 3").contains("--softmax-passes 3: expected 1 or 2"));
    assert!(of("--micro-batches 0").contains("--micro-batches 0: expected one, stages, or 1 to"));
    assert!(of("--micro-batches two").contains("expected one, stages, or a number"));
    assert!(of("--sub-batches tokens").contains("--sub-batches: it does nothing"));
    assert!(of("--max-context 1000").contains("for requests of up to 1000 tokens"));
    let l3 = refused("serve --trace longbench --requests 1 --nodes 2");
    assert!(l3.contains("--nodes: it does nothing with --system l3"), "{l3}");
    assert!(refused("serve --admission static").contains("l3 has reserve and lazy"));
}

#[test]
fn npus_serve_and_their_document_is_the_same_on_any_threads() {
    let line = "serve --system neupims --trace sharegpt --requests 60 --json";
    let first = json(&format!("{line} --threads 1"));
    let mut second = json(&format!("{line} --threads 2"));
    assert_eq!((number(&first, "violations"), number(&first, "parallel.tp")), (0.0, 4.0));
    assert!(number(&first, "ttft_ns.p50") > 0.0 && number(&first, "itl_ns.p50") > 0.0);
    assert!(number(&first, "cost_entries.run") > 20.0);
    second["wall_s"] = first["wall_s"].clone();
    assert_eq!(first, second);
    let speed = |flags: &str| {
        let report = json(&format!("{line} {flags}"));
        assert_eq!(report["violations"], 0, "{flags}");
        let shares = report["devices"].as_object().expect("shares");
        let shares: Vec<f64> = shares.values().filter_map(serde_json::Value::as_f64).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{flags}: {shares:?}");
        number(&report, "tokens_per_s")
    };
    let [fed, unlimited] =
        ["", "--pim-issue unlimited"].map(|feed| speed(&format!("--policy npu-pim {feed}")));
    let neupims = number(&first, "tokens_per_s");
    assert!(neupims > unlimited && unlimited > fed, "{neupims} {unlimited} {fed}");
    assert!(speed("--policy npu-only") > speed("--policy npu-only --npu-attention arrays"));
    assert!(speed("--mha algorithm") > neupims);
    assert!(speed("--link-gbps 16") < neupims && speed("--kv-append on") <= neupims);
    let few = json(&format!("{line} --batch 7 --closed-loop 20"));
    assert_eq!((number(&few, "batch.max"), &few["violations"]), (7.0, &0.into()));
    let stages = json(&format!("{line} --model gpt3-30b --mha algorithm"));
    let names = |of: &serde_json::Value| of["name"].as_str().expect("a name").to_owned();
    let resources = stages["resources"].as_array().expect("resources");
    let resources: Vec<String> = resources.iter().map(names).collect();
    assert_eq!(resources, ["prompts_0", "prompts_1", "stage_0", "stage_1"]);
}

#[test]
fn what_npus_cannot_do_is_refused() {
    let of = |flags: &str| refused(&format!("serve --system neupims --trace alpaca {flags}"));
    assert!(of("--policy l3").contains("neupims has npu-only, npu-pim, neupims"));
    assert!(of("--model gpt-175b --pp 1").contains("the weights of gpt-175b take"));
    assert!(of("--model llama-3.1-8b").contains("expected a model of one K and V head"));
    assert!(of("--tp 5").contains("gpt3-7b: 32 heads cannot be divided over 5 devices"));
    assert!(of("--batch 0").contains("--batch 0: expected 1 to 65536"));
    assert!(of("--model gpt3-30b --batch 1").contains("2 stages have a request each"));
    assert!(of("--pim-issue 0").contains("expected unlimited, or 1 to 1024 commands"));
    assert!(of("--pim-issue 1").contains("--pim-issue: it does nothing with --policy neupims"));
    assert!(of("--policy npu-pim --interleave on").contains("--interleave: it does nothing"));
    assert!(of("--npu-attention arrays").contains("--npu-attention: it does nothing"));
    assert!(of("--nodes 2").contains("--nodes: it does nothing with --system neupims"));
    assert!(of("--plot a.svg").contains("--plot: it does nothing with --system neupims"));
    assert!(of("--admission lazy").contains("--admission: neupims has reserve"));
    assert!(of("--link-gbps nan").contains("expected gigabytes a second"));
    let l3 = refused("serve --trace longbench --requests 1 --batch 4");
    assert!(l3.contains("--batch: it does nothing with --system l3"), "{l3}");
    let head = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
    fs::write(file("long.csv"), format!("{head}0,40000,6\n")).expect("a file");
    let long = refused("serve --system neupims --trace long.csv");
    assert!(long.contains("K and V of the shortest request, 40006 tokens of gpt3-7b"), "{long}");
}

#[test]
fn flags_that_do_nothing_are_refused() {
    let of = |flags: &str| refused(&format!("serve --trace longbench --requests 2 {flags}"));
    assert!(of("--policy gpu-only --placement same").contains("--placement: it does nothing"));
    assert!(of("--policy hbm-pim --overlap on").contains("--overlap: it does nothing"));
    assert!(of("--policy gpu-only --rank-gib 4").contains("--rank-gib: it does nothing"));
    assert!(of("--policy r-pim --costs exact").contains("--costs: it does nothing"));
    assert!(of("--policy l3-naive --predictor learned").contains("--predictor: it does nothing"));
    assert!(
        of("--policy l3-naive --sub-batches ranksets").contains("--sub-batches: it does nothing")
    );
    assert!(
        of("--policy gpu-only --sub-batches tokens").contains("--sub-batches: it does nothing")
    );
    assert!(of("--closed-loop 0").contains("--closed-loop"));
    assert!(of("--closed-loop 2 --offline").contains("cannot be used with"));
    assert!(of("--window 1:2").contains("--window: it does nothing"));
    assert!(of("--dp 3 --tp 2").contains("--dp 3: 16 channels"));
    assert!(of("--tp 8 --dp 2").contains("there are 8"));
    assert!(of("--rate nan").contains("--rate NaN"));
    assert!(
        of("--policy gpu-only --model gpt-175b --tp 2").contains("the 2 GPUs of a replica have")
    );
    assert!(
        refused("sweep serving --study costs --requests 3").contains("--requests: it does nothing")
    );
    assert!(
        refused("sweep serving --study gpu-validation --kernels nowhere.csv")
            .contains("nowhere.csv")
    );
    assert!(refused("serve --trace nowhere.csv").contains("nowhere.csv: no such file"));
}

#[test]
fn what_is_wrong_in_a_trace_is_named_with_its_line() {
    let head = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
    for (rows, expected) in [
        ("0,5,6\n1,7\n", "wrong.csv:3: num_decode_tokens: not there"),
        ("2,5,6\n1,7,8\n", "wrong.csv:3: arrived_at: 1: before the request above"),
        ("0,0,6\n", "wrong.csv:2: num_prefill_tokens: 0: expected 1 to 131072 tokens"),
    ] {
        fs::write(file("wrong.csv"), format!("{head}{rows}")).expect("a file");
        let message = refused("serve --trace wrong.csv");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn requests_pictures_and_tasks_are_written() {
    let line = "serve --model gpt-175b --trace openthoughts --requests 6 --window 2:4 --requests-out out.csv \
                --plot out.svg --perfetto out.json --json";
    let report = json(line);
    let rows = fs::read_to_string(file("out.csv")).expect("it is there");
    assert_eq!(rows.lines().count(), 7);
    assert!(rows.starts_with("request_id,replica,arrival_ns,"));
    let svg = fs::read_to_string(file("out.svg")).expect("it is there");
    assert!(svg.starts_with("<svg") && svg.contains("rankset 3"), "{svg:.300}");
    let events = fs::read(file("out.json")).expect("it is there");
    let events: serde_json::Value = serde_json::from_slice(&events).expect("JSON");
    let events = events["traceEvents"].as_array().expect("a list");
    let slices = events.iter().filter(|event| event["ph"] == "X").count();
    let arrows = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert!(slices > 2 * 96 && arrows("s") > 0 && arrows("s") == arrows("f"), "{slices}");
    assert_eq!(report["violations"], 0);
    assert!(
        refused("serve --requests 2 --window 900000:900001 --plot b.svg")
            .contains("--window 900000:900001")
    );
}

#[test]
fn stages_of_modules_are_drawn() {
    let line = "serve --system lol-pim --trace musique --requests 40 --plot lol.svg --perfetto lol.json --json";
    let report = json(line);
    let svg = fs::read_to_string(file("lol.svg")).expect("it is there");
    assert!(svg.starts_with("<svg") && svg.contains("stage 3"), "{svg:.300}");
    let events = fs::read(file("lol.json")).expect("it is there");
    let events: serde_json::Value = serde_json::from_slice(&events).expect("JSON");
    let events = events["traceEvents"].as_array().expect("a list");
    // 64 rounds of four stages, each with what its time goes to.
    let names = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    let frames = events.iter().filter_map(|event| event["name"].as_str());
    assert_eq!(frames.filter(|name| name.starts_with("micro-batch ")).count(), 64 * 4);
    assert_eq!((names("products"), names("matrices")), (64 * 4, 64 * 4));
    assert_eq!(names("to the next stage"), 2 * 64 * 3);
    assert_eq!(report["violations"], 0);
}

#[test]
fn exact_costs_are_those_of_the_table_within_its_tolerance() {
    let line = "serve --model gpt-175b --trace longbench --requests 3 --json";
    let (table, exact) = (json(line), json(&format!("{line} --costs exact")));
    let tokens_per_s = |report: &serde_json::Value| number(report, "tokens_per_s");
    assert!((tokens_per_s(&exact) / tokens_per_s(&table) - 1.0).abs() < 0.004);
    let notes = exact["notes"].as_array().expect("notes");
    assert!(
        notes.iter().any(|note| note.as_str().is_some_and(|of| of.contains("every whole chunk")))
    );
}

#[test]
fn assumptions_are_flags() {
    let of = |flags: &str| {
        let report = json(&format!(
            "serve --model gpt-175b --trace openthoughts --requests 30 {flags} --json"
        ));
        assert_eq!(report["violations"], 0);
        report
    };
    let speed = |report: &serde_json::Value| number(report, "tokens_per_s");
    let (tokens, ranksets) = (of(""), of("--sub-batches ranksets"));
    assert_eq!(
        (&tokens["sub_batches"], &ranksets["sub_batches"]),
        (&"tokens".into(), &"ranksets".into())
    );
    assert!(speed(&ranksets) > speed(&tokens));
    let ranks = ["random", "layers", "spread"]
        .map(|placement| speed(&of(&format!("--policy r-pim --placement {placement}"))));
    assert!(ranks[2] > ranks[0] && ranks[2] > ranks[1], "{ranks:?}");
    let modules = |flags: &str| {
        speed(&json(&format!(
            "serve --system lol-pim --trace musique --requests 40 {flags} --json"
        )))
    };
    assert!(modules("--epu-lanes 16 --softmax-passes 1") > modules("--epu-lanes 16"));
    let staged = "--policy pim-hfa --tp 8 --micro-batches";
    assert_eq!(modules(&format!("{staged} 4")), modules(&format!("{staged} stages")));
    assert!(modules(&format!("{staged} 2")) != modules(&format!("{staged} 4")));
}

#[test]
fn schedulers_learn_and_loops_close() {
    let line = "serve --model gpt-175b --trace dolphin --requests 250 --predictor learned --json";
    let report = json(line);
    assert_eq!(report["violations"], 0);
    let seen = number(&report, "predictor.decoding.samples");
    assert!(seen > 400.0, "{seen}");
    let error = number(&report, "predictor.decoding.relative_error");
    assert!((0.0..0.2).contains(&error), "{error}");
    let busiest = json(&line.replace("learned", "learned-busiest"));
    let busiest = number(&busiest, "predictor.busiest.relative_error");
    assert!(busiest < 0.05 && busiest < error, "{busiest} {error}");
    for system in ["l3", "lol-pim"] {
        let trace = if system == "l3" { "dolphin" } else { "musique" };
        let line = format!("serve --system {system} --trace {trace} --requests 20 --closed-loop 3");
        let report = json(&format!("{line} --json"));
        assert_eq!((number(&report, "batch.max"), &report["violations"]), (3.0, &0.into()));
    }
}

#[test]
fn traces_are_made_shown_and_converted() {
    assert_eq!(
        pimlico("trace make --trace dolphin --requests 20 -o made.csv").status.code(),
        Some(0)
    );
    let made = json("trace show --trace made.csv --json");
    assert_eq!(number(&made, "requests"), 20.0);
    let direct = json("trace show --trace dolphin --requests 20 --json");
    assert_eq!(number(&made, "output_mean"), number(&direct, "output_mean"));
    let azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,48,10\n2023-11-16 18:17:04.4799600,31,8\n";
    fs::write(file("azure.csv"), azure).expect("a file");
    let converted = pimlico("trace convert --trace azure.csv -o -");
    let expected = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,48,10\n0.5,31,8\n";
    assert_eq!(stdout(&converted), expected);
}

#[test]
fn studies_stand_beside_the_papers() {
    let overlap = json("sweep serving --study l3-overlap --json");
    let figures = overlap["figures"].as_array().expect("a list");
    assert!(figures.iter().all(|figure| figure["holds"] == true), "{figures:?}");
    let parallel = json("sweep serving --study lol-parallel --requests 60 --json");
    assert_eq!(
        (number(&parallel, "violations"), &parallel["tables"][0]["rows"][7][1]),
        (0.0, &"32, 1".into())
    );
    let lanes = &parallel["figures"][7];
    assert_eq!((&lanes["ours"], &lanes["holds"]), (&32.0.into(), &false.into()));
    assert!(lanes["cause"].as_str().is_some_and(|cause| cause.contains("--softmax-passes 1")));
    let latency = json("sweep latency --json");
    assert!(number(&latency, "latency_ns.slope") > 2.0);
    assert!(stdout(&pimlico("sweep latency --as llmservingsim")).starts_with("{\"slope_ns\": "));
}
