// SPDX-License-Identifier: MIT
//! Keys and figures of the report of `run`.

use crate::{json, number, pimlico};

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
