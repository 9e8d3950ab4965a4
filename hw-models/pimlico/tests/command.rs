// SPDX-License-Identifier: MIT
//! The command as a user meets it: documents, messages, exit status.

mod common;

use std::process::{Command, Output, Stdio};

fn pimlico(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the command runs")
}

fn json(arguments: &str) -> serde_json::Value {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    common::document(&output.stdout)
}

/// The one line that a wrong call gives; clap's own messages have more.
fn refused(arguments: &str) -> String {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn run_prints_the_stable_keys() {
    let report = json("run l3 attention --model gpt-175b --heads 2 --context 100 --json");
    assert_eq!(report["system"], "l3");
    assert_eq!(report["model"], "gpt-175b");
    assert_eq!(report["backend"], "fast");
    assert_eq!((&report["tck_ns"], &report["gear"]), (&0.625.into(), &2.into()));
    assert_eq!(report["pin_violations"], 0);
    assert_eq!(report["host_pins"]["violations"], 0);
    assert!(report["host_pins"]["commands"].as_u64().is_some_and(|commands| commands > 500));
    let operators = report["operators"].as_array().expect("a list");
    assert_eq!(operators.len(), 1);
    let attention = &operators[0];
    assert_eq!(attention["operator"], "attention");
    // Score: 4 RDs for each of 7 chunks of 16 tokens; context: one for four tokens.
    assert_eq!(attention["slots"]["used"], 2 * (4 * 7 + 25));
    assert_eq!(attention["commands"]["RD_ALL_BANK"], 2 * (4 * 7 + 25));
    assert_eq!(attention["macs"], 2 * 2 * 100 * 128);
    assert_eq!(attention["slots"]["lost"]["bubble"], 0);
    for lost in ["row_switch", "refresh", "fill_drain", "bubble"] {
        assert!(attention["slots"]["lost"][lost].is_u64(), "{lost}");
    }
    for share in ["bank_read", "bank_pu", "bus", "adder_unit", "softmax_unit"] {
        let value = attention["utilisation"][share].as_f64().expect("a number");
        assert!(value > 0.1 && value < 1.0, "{share} {value}");
    }
    for stage in ["score", "softmax", "context", "output_from_scores", "output"] {
        for error in ["max_ulp", "max_relative", "rms_relative"] {
            assert!(report["stages"][stage][error].is_f64(), "{stage} {error}");
        }
    }
    assert_eq!(attention["error"], report["stages"]["output"]);
    assert_eq!(report["total"]["cycles"], attention["cycles"]);
}

/// The number at a path of keys.
fn number(of: &serde_json::Value, path: &str) -> f64 {
    let value = path.split('.').fold(of, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path}: a number"))
}

#[test]
fn what_is_read_is_not_what_is_of_use() {
    let read_and_use = |head_dim: u64| {
        let line = format!("run l3 attention --context 2048 --head-dim {head_dim}");
        let report = json(&format!("{line} --json"));
        let slots = &report["operators"][0]["slots"];
        let lost = slots["lost"].as_object().expect("causes").values();
        let lost: u64 = lost.map(|count| count.as_u64().expect("slots")).sum();
        let of_use = slots["of_use"].as_u64().expect("slots");
        assert_eq!(of_use + lost, report["total"]["cycles"].as_u64().expect("tCK").div_ceil(8));
        assert_eq!(slots["used"], of_use + slots["lost"]["padding"].as_u64().expect("slots"));
        // 512 multiply-accumulates in a slot.
        assert_eq!(of_use, (2 * 2048 * head_dim).div_ceil(512));
        let share = |of: &str| number(&report, &format!("total.{of}_gb_per_s")) / 204.8;
        let of_row = number(&report["operators"][0], "utilisation.bank_pu");
        assert!((share("use") - of_row).abs() < 1e-9, "the total and the row agree");
        let read_of_row = number(&report["operators"][0], "utilisation.bank_read");
        assert!((share("read") - read_of_row).abs() < 1e-9, "the total and the row agree");
        let text = String::from_utf8(pimlico(&line).stdout).expect("text");
        assert!(text.contains(" banks read, % | of use, % |") && !text.contains("bank PUs, %"));
        let notes = report["notes"].to_string();
        assert_eq!(notes.contains("padding"), head_dim != 128, "{notes}");
        for (of, words) in [("read", "bank PUs read"), ("use", "of use are")] {
            let gb_per_s = number(&report, &format!("total.{of}_gb_per_s"));
            let percent = 100.0 * gb_per_s / 204.8;
            let words = format!("{words} {gb_per_s:.1} GB/s, {percent:.1} %");
            assert!(text.contains(&words), "{words}: {text}");
        }
        (share("read"), share("use"))
    };
    assert_eq!(read_and_use(128).0, read_and_use(128).1);
    // Half of the banks hold no V: 2 words of K are of use to each 4 of V.
    let (read, of_use) = read_and_use(64);
    assert!((of_use / read - 2.0 / 3.0).abs() < 1e-3, "{read} {of_use}");
    let (read, of_use) = read_and_use(33);
    assert!(of_use < 0.36 * read, "{read} {of_use}");
}

#[test]
fn power_is_energy_over_time_beside_what_the_paper_grants() {
    let line = "run l3 attention --context 1024 --heads 2";
    let report = json(&format!("{line} --json"));
    let ns = number(&report, "total.ns");
    for (energy, of) in [("energy_least_pj", "least"), ("energy_pj", "most")] {
        let watts = number(&report, &format!("total.{energy}")) / ns / 1000.0;
        let rank = number(&report, &format!("total.power.rank_w.{of}"));
        let dimm = number(&report, &format!("total.power.dimm_w.{of}"));
        assert!((rank - watts).abs() < 1e-9 && (dimm - 2.0 * watts).abs() < 1e-9, "{watts}");
    }
    assert!(number(&report, "total.energy_least_pj") < 0.8 * number(&report, "total.energy_pj"));
    let peak = |of| number(&report, &format!("total.power.chip_peak.{of}"));
    assert_eq!((peak("banks"), peak("jedec_banks")), (16.0, 4.0));
    assert!(((peak("open_a") - 0.052) / (peak("jedec_a") - 0.052) - 4.0).abs() < 1e-9);
    let four = json(&format!("{line} --faw-banks 4 --json"));
    assert_eq!(number(&four, "total.power.chip_peak.open_a"), peak("jedec_a"));
    let text = String::from_utf8(pimlico(line).stdout).expect("text");
    assert!(text.contains("L3 grants a DIMM 10 W"), "{text}");
    assert!(text.contains("peak current of a chip: rows of 16 banks"), "{text}");
    // Two ranks take as much as two.
    let two = json("run l3 attention --context 1024 --heads 2 --ranks 2 --json");
    let of = |report: &serde_json::Value| number(report, "total.power.rank_w.most");
    assert!((of(&two) / of(&report) - 1.0).abs() < 0.05, "{} {}", of(&two), of(&report));
    assert!(json("run aim attention --context 40 --channels 1 --json")["total"]["power"].is_null());
}

#[test]
fn what_sets_programs_up_has_an_account_of_its_own() {
    let report = json("run l3 attention --context 1000 --heads 2 --json");
    let set_up = &report["set_up"];
    let of = |kind: &str, key: &str| set_up[kind][key].as_u64().expect("a number");
    for kind in ["programs", "rows", "requests", "starts", "operands"] {
        let (bursts, bytes) = (of(kind, "bursts"), of(kind, "bytes"));
        assert!(bursts > 0 && bytes > 0 && bytes <= 64 * bursts, "{kind}");
        assert_eq!(of(kind, "cycles"), 4 * bursts, "{kind}");
    }
    // A program for both heads, 4 rows of the banks, a START and a query for each.
    assert_eq!(of("programs", "bytes") % 8, 0);
    assert_eq!(of("rows", "bytes"), 2 * 4);
    assert_eq!((of("starts", "bursts"), of("operands", "bursts")), (2, 2 * 4));
    assert_eq!(set_up["in_total"], true);
    let text = pimlico("run l3 attention --context 1000 --heads 2").stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("What the host wrote so that the programs could run"), "{text}");
    let aim = json("run aim attention --context 1000 --channels 2 --json");
    assert_eq!(
        (&aim["set_up"]["in_total"], &aim["set_up"]["programs"]["bursts"]),
        (&false.into(), &0.into())
    );
    assert!(number(&aim, "set_up.link_ns") > 0.0 && number(&aim, "set_up.programs.bytes") > 0.0);
}

#[test]
fn a_token_s_time_has_its_k_and_v_written() {
    for system in ["l3", "aim"] {
        let report = json(&format!(
            "run {system} layer --model llama-3.2-1b --context 64 --timing-only --json"
        ));
        let operators = report["operators"].as_array().expect("a list");
        let append = operators.iter().find(|operator| operator["operator"] == "append");
        let append = append.expect("it is an operator")["cycles"].as_u64().expect("tCK");
        assert!(append > 0, "{system}");
        let cycles = operators.iter().map(|operator| operator["cycles"].as_u64().expect("tCK"));
        let sum: u64 = cycles.sum();
        assert_eq!(report["roll_up"]["layer"]["cycles"], sum, "{system}");
        assert_eq!(report["total"]["cycles"], sum, "{system}");
    }
    let text = pimlico("run l3 decode --tokens 2").stdout;
    let text = String::from_utf8_lossy(&text);
    assert!(text.contains("% of the total"), "{text}");
}

#[test]
fn options_reach_the_rank() {
    let cycles = |options: &str| {
        let report = json(&format!("run l3 attention --context 600 --json {options}"));
        report["total"]["cycles"].as_u64().expect("a number")
    };
    let plain = cycles("");
    assert!(cycles("--faw-banks 8") > plain + 50);
    assert!(cycles("--faw-banks 4") > cycles("--faw-banks 8") + 100);
    assert!(cycles("--context 6000 --dram ddr4-3200-16gb") > cycles("--context 6000") + 300);
    assert!(cycles("--refresh off") <= plain);
    assert!(cycles("--sums binary32") > plain);
    assert!(cycles("--batch 3") > 2 * plain);
    let batch = json("run l3 attention --context 50,60 --head-dim 64 --json");
    assert_eq!(batch["contexts"], serde_json::json!([50, 60]));
    let late = json("run l3 attention --context 64 --json --normalise late --distribution peaked");
    assert_eq!((&late["normalise"], &late["distribution"]), (&"late".into(), &"peaked".into()));
    let shared = json("run l3 attention --model llama-3.1-8b --heads 4 --context 64 --json");
    assert_eq!(shared["group"], 4);
    assert_eq!(shared["load"]["bytes"], 2 * 64 * 256);
}

#[test]
fn polling_seldom_costs_up_to_a_poll_for_each_run() {
    let cycles = |poll: u64| {
        let report =
            json(&format!("run l3 attention --context 600 --refresh off --json --poll {poll}"));
        assert_eq!(report["host_pins"]["violations"], 0);
        report["total"]["cycles"].as_u64().expect("a number")
    };
    // One run, whose operands all go out before it: what is left is to find its end. Looks cannot follow each other
    // sooner than they are answered: CL, a tCK of re-layout, a burst.
    let (often, answer_tck) = (cycles(1), 22 + 1 + 4 + 1);
    assert_eq!(cycles(16), often);
    for poll in [32, 64, 256, 1024, 4096] {
        let cycles = cycles(poll);
        assert!((often - answer_tck..=often + poll).contains(&cycles), "{poll}: {cycles} {often}");
    }
    assert_eq!(
        cycles(64),
        json("run l3 attention --context 600 --refresh off --json")["total"]["cycles"]
    );
    assert!(cycles(65536) > 65536);
}

#[test]
fn polling_too_seldom_for_the_results_fails() {
    let output = pimlico("run l3 gemv --rows 4096 --cols 32 --poll 65536");
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("looks at the status too seldom"), "{message}");
}

#[test]
fn a_matrix_is_multiplied() {
    let report = json("run l3 gemv --rows 100 --cols 300 --io-buffers single --json");
    assert_eq!(report["operators"][0]["operator"], "gemv");
    assert_eq!((&report["rows"], &report["io_buffers"]), (&100.into(), &"single".into()));
    assert_eq!(report["operators"][0]["slots"]["used"], 7 * 10);
    assert!(report.get("stages").is_none());
    let text = pimlico("run l3 gemv --rows 20 --cols 30").stdout;
    assert!(String::from_utf8_lossy(&text).starts_with("matrix of 20 x 30 times a vector on l3"));
}

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
fn a_report_says_its_gear() {
    let mut cycles = Vec::new();
    for gear in ["1", "2", "4"] {
        let of_gear = format!("run l3 attention --context 64 --gear {gear}");
        let report = json(&format!("{of_gear} --json"));
        assert_eq!(report["gear"].to_string(), gear);
        cycles.push(report["total"]["cycles"].as_u64().expect("a number"));
        let text = String::from_utf8(pimlico(&of_gear).stdout).expect("text");
        assert!(text.contains(&format!("\nback end fast, gear {gear}, seed 1, ")), "{text}");
    }
    assert!(cycles.is_sorted_by(|a, b| a < b), "{cycles:?}");
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
fn io_buffers_are_compared() {
    let comparison =
        json("sweep io-buffers --contexts 1024 --channels 2 --tp 64 --refresh off --json");
    let rows = comparison["rows"].as_array().expect("a list");
    let names: Vec<_> = rows.iter().map(|row| &row["operator"]).collect();
    assert_eq!(names, ["score", "context", "ffn1", "ffn2"]);
    for row in rows {
        let reduction = row["reduction_percent"].as_f64().expect("a number");
        assert!(reduction > 0.0 && reduction < 80.0, "{row}");
        assert!(row["paper_percent"].is_f64());
        assert_eq!(row["ping_pong"]["slots"]["lost"]["io"], 0);
    }
}

#[test]
fn gains_of_io_buffers_are_compared_by_what_is_assumed() {
    let small = "sweep io-buffers --contexts 64,1024 --channels 2 --tp 512,1024 --refresh off";
    let gains = json(&format!("{small} --assumptions --json"));
    assert_eq!((&gains["context"], &gains["tp"]), (&1024.into(), &512.into()));
    let rows = gains["rows"].as_array().expect("a list");
    let single = |row: &serde_json::Value| row["operators"][0]["single"]["cycles"].as_u64();
    let named = |name: &str| rows.iter().find(|row| row["name"] == name).expect(name);
    let papers = named("mode change, a token of K in a row");
    assert_eq!(papers["assumptions"]["k_row_tokens"], 1);
    assert!(single(papers) > single(named("but no mode change")));
    for row in rows {
        let operators = row["operators"].as_array().expect("a list");
        assert_eq!(operators.len(), 4, "{row}");
    }
    let off = "--mode-change off --k-row-tokens 1 --order output-stationary --tile 512";
    let comparison = json(&format!("{small} {off} --page-bytes 1024 --pu-clocks 8 --json"));
    let assumed = &comparison["assumptions"];
    assert_eq!((&assumed["order"], &assumed["tile"]), (&"output-stationary".into(), &512.into()));
    assert_eq!((&assumed["page_bytes"], &assumed["pu_clocks"]), (&1024.into(), &8.into()));
    refused("sweep io-buffers --assumptions --tile 512");
    refused("sweep io-buffers --pu-clocks 27");
}

#[test]
fn single_buffers_of_an_aim_pay_for_mode_changes() {
    let cycles = |flags: &str| {
        let line = "run aim gemv --rows 64 --cols 300 --channels 1 --refresh off";
        json(&format!("{line} {flags} --json"))["total"]["cycles"].as_u64().expect("a number")
    };
    let [off, on] = ["off", "on"].map(|on| format!("--io-buffers single --mode-change {on}"));
    assert!(cycles(&on) > cycles(&off));
    assert_eq!(cycles("--mode-change on"), cycles("--mode-change off"));
}

/// SK hynix' public AiM simulator takes 414 and 18 432 tCK.
#[test]
fn without_the_pus_pipeline_an_aim_takes_what_the_public_simulator_takes() {
    for (rows, tck) in [(16, 418), (1024, 18_436)] {
        let matrix = format!("run aim gemv --rows {rows} --cols 1024 --channels 1");
        let buffers = "--io-buffers single --refresh off --pu-clocks 1";
        let report = json(&format!("{matrix} {buffers} --json"));
        assert_eq!(report["total"]["cycles"], tck);
        assert_eq!(report["module"]["pu_clocks"], 1);
    }
    refused("run aim gemv --rows 9 --cols 9 --pu-clocks 27");
    refused("run aim gemv --rows 9 --cols 9 --channels 2 --pu-clocks 1 --backend model");
}

#[test]
fn heads_of_an_aim_may_share_rows_and_run_beside_softmax() {
    let line = "run aim attention --heads 4 --group 4 --context 300 --channels 2 --json";
    let of = |flags: &str| json(&format!("{line} {flags}"));
    let off = of("--head-pipeline off --shared-rows off --softmax-lanes 2");
    assert_eq!(off["module"], of("")["module"]);
    for flags in ["--softmax-lanes 16", "--head-pipeline on", "--shared-rows on"] {
        let report = of(flags);
        assert!(number(&report, "total.cycles") < number(&off, "total.cycles"), "{flags}");
        assert_eq!(report["judged"]["differing"], 0, "{flags}");
    }
    // Of two K and V heads side by side one has fewer queries: they run as the other's do.
    let uneven = "run aim attention --heads 5 --group 4 --groups 2 --channels 16 --context 1100";
    let uneven = json(&format!("{uneven} --shared-rows on --json"));
    assert_eq!(uneven["judged"]["differing"], 0);
    let hub = of("--shared-rows on --backend model");
    assert_eq!((&hub["judged"]["differing"], &hub["pin_violations"]), (&0.into(), &0.into()));
    let on_hub = "run aim attention --channels 2 --backend model";
    for flags in ["--softmax-lanes 4", "--head-pipeline on"] {
        refused(&format!("{on_hub} {flags}"));
    }
    refused("run aim attention --head-pipeline on --shared-rows on");
    refused("run aim attention --softmax-lanes 3");
}

#[test]
fn numerics_are_compared() {
    let comparison = json("sweep numerics --head-dim 128 --context 64,2000 --json");
    let rows = comparison["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2 * 2 * 4);
    assert!(rows.iter().all(|row| row["bubble"] == 0 && row["pin_violations"] == 0));
    refused("sweep numerics --head-dim 0");
    refused("sweep numerics --context 0");
}

#[test]
fn a_vendors_choices_are_compared() {
    let report = json("sweep vendor --quick --tokens 2 --json");
    let rows = report["rows"].as_array().expect("a list");
    let left_out = report["left_out"].as_array().expect("a list");
    assert_eq!((rows.len() + left_out.len(), &report["sweep"]), (9, &"vendor".into()));
    for row in rows {
        let cells = row["cells"].as_array().expect("a list");
        let choice = |cell: &serde_json::Value| {
            ["chip_gbit", "faw_banks", "mdq"].map(|key| cell[key].to_string()).join(" ")
        };
        let choices: Vec<_> = cells.iter().map(choice).collect();
        let expected = ["8 16", "8 4", "16 16", "16 4"]
            .into_iter()
            .flat_map(|chips| ["private", "shared"].map(|mdq| format!("{chips} \"{mdq}\"")));
        assert_eq!(choices, expected.collect::<Vec<_>>());
        let tck = |cell: usize| cells[cell]["tck"].as_u64().expect("a number");
        assert!(tck(0) < tck(2) && tck(0) <= tck(1), "{row}");
        assert!(cells[1]["least_tck"].is_u64() == row["on_both_ranks"].as_bool().expect("one"));
        assert!(cells[0]["slots"]["lost"]["bubble"].is_u64());
    }
    refused("sweep vendor --quick --tokens 0");
    refused("sweep vendor --quick --weights nowhere");
}

#[test]
fn a_seed_reproduces_a_run() {
    let run = |seed| pimlico(&format!("run l3 attention --context 50 --json --seed {seed}")).stdout;
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

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
            "'--rows' found; it goes with `pimlico run` l3 gemv, aim gemv",
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
            "run l3 decode --threads 2",
            "it goes with `pimlico run` l3 attention, l3 gemv, l3 fc, l3 layer",
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
        ("run l4 gemv", "unrecognized subcommand 'l4'; there are l3, aim"),
        ("run l3 gemv --rowz 9", "'--rowz' found; tip: a similar argument exists: '--rows'"),
        ("run aim attention --sums binary32", "unexpected argument '--sums' found"),
        ("run aim attention --context 0", "context of 0 tokens"),
        ("run aim attention --head-dim 0", "head dimension 0"),
        ("run aim attention --context 99999999999", "hold 1 to 261888 of head dimension 128"),
        ("run aim gemv --rows 300000 --cols 4", "elements of the GPR"),
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
            "bank_up: no such unit; the nearest: bank_pu, bank_pu:x16; `pimlico cosim --list` lists all",
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

#[test]
fn batches_grow_with_lazy_allocation() {
    let report = json("sweep batch --memory 128 --max-context 32768 --requests 100 --json");
    assert_eq!(report["paper_increase_percent"], 380.0);
    let points = report["points"].as_array().expect("a list");
    let tasks: Vec<_> =
        points.iter().map(|point| point["task"].as_str().expect("a name")).collect();
    assert_eq!(tasks, ["qmsum", "hotpotqa", "musique"]);
    for point in points {
        assert_eq!(point["ranks"], 256);
        assert_eq!(point["static"]["batch"], 7.0); // (128 GiB - 15.4 GB) / 16 GiB
        // The layout that runs has three rows where the other has two.
        let (streams, module) = (&point["max_rows"], &point["module"]["max_rows"]);
        assert_eq!((streams, module), (&2048.into(), &3072.into()));
        assert_eq!(point["module"]["static"]["batch"], 4.0);
        let [increase, lengths] = ["increase_percent", "lengths_percent"]
            .map(|key| point[key].as_f64().expect("a number"));
        assert!(0.0 < increase && increase <= lengths, "{increase} {lengths}");
    }
}

#[test]
fn a_waveform_is_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("rank.vcd");
    let output = pimlico(&format!("run l3 attention --context 33 --vcd {}", file.display()));
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(file).expect("it was written");
    for name in
        ["rank", "commands", "chip7_bank0_bank_pu", "adder_unit", "tree_o[0]", "result_o[3]"]
    {
        assert!(text.contains(&format!(" {name} ")), "{name}");
    }
}

#[test]
fn units_are_listed() {
    let text = String::from_utf8(pimlico("cosim --list").stdout).expect("text");
    for unit in ["fp_mul", "fp_add:bfloat16", "bank_pu", "adder_unit"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{unit} ("))), "{unit}");
    }
}

/// Runs `pimlico` with standard input.
fn fed(arguments: &str, input: &str) -> Output {
    use std::io::Write;
    let mut child = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).expect("text")
}

#[test]
fn operations_are_computed() {
    assert_eq!(stdout(&pimlico("fp add 3C00 0x3c00")), "4000\n");
    assert_eq!(stdout(&pimlico("fp mul 0001 3800")), "0000\n"); // a tie, to even
    assert_eq!(stdout(&pimlico("fp mul 0400 3800 --subnormals 0")), "0000\n");
    assert_eq!(stdout(&pimlico("fp mul 0400 3800")), "0200\n");
    assert_eq!(stdout(&pimlico("fp add 3F80 3F80 --format bf16")), "4000\n");
    assert_eq!(stdout(&pimlico("fp recip 4200")), "3555\n");
    assert_eq!(stdout(&pimlico("fp exp BC00")), "35e3\n");
    assert_eq!(stdout(&pimlico("fp max 8000 0000")), "0000\n");
    assert_eq!(stdout(&fed("fp recip", "4200\n4000\n")), "3555\n3800\n");
    assert_eq!(stdout(&fed("fp add", "3C00 3C00\n\n7BFF 7BFF\n")), "4000\n7c00\n");
}

#[test]
fn expected_results_are_checked() {
    let right = "3C00 3C00 4000 00\n7E01 3C00 FFFF 10\n"; // any NaN equals any NaN
    let output = fed("fp add --check", right);
    assert_eq!((stdout(&output), output.status.code()), ("2 checked, 0 different\n", Some(0)));
    let output = fed("fp add --check", "3C00 3C00 4001 00\n3C00 3C00 4000 00\n");
    let expected = "3c00 3c00: 4000, expected 4001\n2 checked, 1 different\n";
    assert_eq!((stdout(&output), output.status.code()), (expected, Some(1)));
    assert_eq!(fed("fp add --check", "").status.code(), Some(1));
    assert_eq!(fed("fp add --check", "3C00 3C00\n").status.code(), Some(2));
}

#[test]
fn wrong_operands_are_refused_in_one_line() {
    for (arguments, expected) in [
        ("fp add 3C00", "2 operands expected, 1 given"),
        ("fp add 3C00 hello", "`hello` is no hexadecimal number"),
        ("fp add 3C00 13C00", "`13C00` is no"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    refused("fp add 0 0 --subnormals 2");
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

#[cfg(not(feature = "rtl"))]
#[test]
fn what_needs_verilator_says_so() {
    for arguments in
        ["run l3 attention --backend rtl", "run aim fc --backend lockstep", "cosim --all"]
    {
        let message = refused(arguments);
        assert!(message.contains("apt-get install verilator"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[cfg(feature = "rtl")]
mod with_rtl {
    use super::*;

    #[test]
    fn back_ends_report_the_same() {
        let run = |backend| {
            let mut report =
                json(&format!("run l3 attention --context 70 --json --backend {backend}"));
            let document = report.as_object_mut().expect("an object");
            document.remove("backend");
            (document.remove("mismatches"), report)
        };
        let (none, fast) = run("fast");
        assert_eq!(none, None);
        assert_eq!(run("rtl").1, fast);
        let (mismatches, lockstep) = run("lockstep");
        assert_eq!(mismatches, Some(0.into()));
        assert_eq!(lockstep, fast);
    }

    #[test]
    fn operations_are_computed_by_the_rtl() {
        assert_eq!(stdout(&pimlico("fp mul 3C01 4201 --backend rtl")), "4203\n");
        for options in ["", "--subnormals 0", "--format bf16", "--format bf16 --subnormals 0"] {
            let cases = "0001 3800\n7C00 0000\n3555 4201\n83FF 3BFF\n";
            let first: String = cases.lines().map(|line| format!("{}\n", &line[..4])).collect();
            for (op, cases) in [
                ("add", cases),
                ("mul", cases),
                ("max", cases),
                ("exp", first.as_str()),
                ("recip", first.as_str()),
            ] {
                let run = |backend| fed(&format!("fp {op} {options} --backend {backend}"), cases);
                let (rtl, model) = (run("rtl"), run("model"));
                assert_eq!(rtl.stdout, model.stdout, "{op} {options}");
                assert_eq!(stdout(&rtl).lines().count(), 4);
            }
        }
    }

    #[test]
    fn pairs_of_operands_are_counted() {
        let report = json("cosim fp_add --stratified --json");
        assert_eq!(report["operands"], "stratified");
        assert_eq!(report["mismatches"], 0);
        for unit in report["units"].as_array().expect("a list") {
            assert_eq!(unit["cases"], 1 << 24);
        }
        assert_eq!(report["left_out"][0], "fp_add:stages1");
        assert!(refused("cosim adder_unit --exhaustive").contains("adder_unit:sum32_gear1: only"));
    }

    #[test]
    fn cosim_prints_the_stable_keys() {
        let report = json("cosim bank_pu fp_mul:bfloat16 --cycles 5000 --seed 9 --json");
        assert_eq!(report["seed"], 9);
        assert_eq!(report["mismatches"], 0);
        let units = report["units"].as_array().expect("a list");
        assert_eq!(units.len(), 7); // bank_pu in six variants
        for unit in units {
            assert_eq!(unit["cycles"], 5000);
            assert_eq!(unit["mismatches"], 0);
            assert!(unit["first_mismatch"].is_null());
            assert!(unit["coverage"].is_null(), "nobody asked for it");
            assert!(unit["oracle_checks"].as_u64().expect("a number") > 0);
        }
    }

    #[test]
    fn cosim_refuses_what_it_does_not_know() {
        assert!(refused("cosim fp_sub").contains("fp_sub: no such unit; the nearest: fp_mul,"));
        assert!(refused("cosim --all --cycles 0").contains("nothing would be compared"));
    }

    #[cfg(not(feature = "coverage"))]
    #[test]
    fn coverage_needs_a_build_for_it() {
        let message = refused("cosim fp_add: --coverage");
        assert!(message.contains("run `scripts/coverage`"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }

    #[cfg(feature = "coverage")]
    #[test]
    fn coverage_is_in_parts_of_1_and_lists_what_is_missing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cosim = |cycles: u32| {
            let report = folder.path().display();
            json(&format!(
                "cosim adder_unit: --coverage --cycles {cycles} --report {report} --json"
            ))
        };
        let part = |report: &serde_json::Value, kind: &str| {
            report["units"][0]["coverage"][kind].as_f64().expect("a number")
        };
        let [short, long] = [20, 20_000].map(cosim);
        for kind in ["line", "toggle", "functional"] {
            assert!((0.0..=1.0).contains(&part(&short, kind)), "{kind}");
            assert!(part(&short, kind) <= part(&long, kind), "{kind}");
        }
        assert!(part(&short, "functional") < 0.9 && part(&long, "functional") > 0.9);
        assert!(part(&long, "toggle") > 0.9);
        let missing = std::fs::read_to_string(folder.path().join("adder_unit.coverage.txt"));
        assert!(missing.expect("it was written").contains("Bins that were not hit: "));
    }

    #[test]
    fn cosim_writes_waveforms() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let arguments = format!("cosim adder_unit --cycles 1000 --vcd {}", folder.path().display());
        assert_eq!(pimlico(&arguments).status.code(), Some(0));
        let read = |side: &str| {
            let file = folder.path().join(format!("adder_unit.{side}.vcd"));
            std::fs::read_to_string(file).expect("it was written")
        };
        let (model, rtl) = (read("model"), read("rtl"));
        assert!(model == rtl, "ports of model and RTL are written alike");
        assert!(model.contains(" lanes_o[7] [15:0] ") && model.contains("bxxxxxxxxxxxxxxxx "));
        assert!(model.contains("pimlico cosim adder_unit --seed 1 --cycles "), "how to repeat it");
        assert!(read("inside").contains(" lanes_o "), "what Verilator writes");
    }

    #[test]
    fn waveforms_that_cannot_be_written_leave_nothing_behind() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("adder_unit.rtl.vcd");
        std::fs::create_dir(&file).expect("writable");
        let output =
            pimlico(&format!("cosim adder_unit --cycles 9 --vcd {}", folder.path().display()));
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
        assert!(message.contains("adder_unit.rtl.vcd is not a regular file"), "{message}");
        let left = std::fs::read_dir(folder.path()).expect("it is there");
        assert_eq!(left.count(), 1, "nothing but what was there");
    }
}

#[test]
fn run_draws_a_picture() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("run.svg");
    let run = format!("run l3 attention --context 300 --json --plot {}", file.display());
    json(&run);
    let svg = std::fs::read_to_string(&file).expect("it was written");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    // The parts of the timeline with something in them, and a bar with four slots' colours at least.
    for text in ["banks", "data bus", "adder unit", "softmax unit", "attention", "row switch"] {
        assert!(svg.contains(text), "{text}");
    }
    assert!(svg.matches("<polygon").count() >= 4 && svg.matches("<rect").count() >= 10);

    let message = refused("run l3 attention --context 100 --plot /nowhere/x.svg");
    assert!(message.starts_with("pimlico: /nowhere/x.svg: "), "{message}");
}
