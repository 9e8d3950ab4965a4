// SPDX-License-Identifier: MIT
//! What needs the RTL: back ends.

use crate::channels::anonymous;
use crate::fp::fed;
use crate::{json, pimlico, stdout};

#[test]
fn back_ends_report_the_same() {
    let run = |backend| {
        let mut report = json(&format!("run l3 attention --context 70 --json --backend {backend}"));
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
fn gemvs_around_groups_of_eight_are_the_engines_on_the_rtl_of_a_channel() {
    // At and beside the ends of groups of eight.
    for words in [1, 2, 7, 8, 9, 16, 17, 31, 32] {
        let commands = ["composite", "fine"][words % 2];
        let gemv =
            format!("run neupims gemv --rows 33 --cols {} --commands {commands}", 16 * words);
        let fast = anonymous(&gemv);
        assert_eq!(fast["outputs"]["differing"], 0, "{gemv}");
        assert_eq!(anonymous(&format!("{gemv} --backend lockstep")), fast, "{gemv}");
        if words % 16 < 2 {
            assert_eq!(anonymous(&format!("{gemv} --backend rtl")), fast, "{gemv}");
        }
    }
    let attention = "run neupims attention --context 33 --tp 16";
    let lockstep = format!("{attention} --backend lockstep");
    assert_eq!(anonymous(&lockstep), anonymous(attention));
}

#[test]
fn a_channel_of_32_banks_as_one_design_is_the_engine() {
    for (words, more) in
        [(1, ""), (32, "--commands fine --precharge bank"), (40, "--memory blocked")]
    {
        let gemv = format!("run neupims gemv --rows 40 --cols {} {more}", 16 * words);
        let fast = anonymous(&gemv);
        assert_eq!(fast["outputs"]["differing"], 0, "{gemv}");
        for backend in ["rtl", "lockstep"] {
            let whole = format!("{gemv} --backend {backend} --lockstep channel");
            assert_eq!(anonymous(&whole), fast, "{whole}");
        }
    }
}

#[test]
fn layers_are_streamed_into_banks_of_the_rtl() {
    let make = "stream make --dim 32 --hidden 48 --layers 2 --heads 2 --vocab 260 -o banks.bin --tokenizer banks.tok";
    assert_eq!(pimlico(make).status.code(), Some(0));
    let run = |how: &str| {
        let files = "--weights banks.bin --tokenizer banks.tok --prompt a --tokens 1";
        json(&format!("run l3 decode {files} {how} --json"))
    };
    let stays = run("");
    let fast = run("--ranks 2 --residency pipeload --loaders 2");
    let lockstep = run("--ranks 2 --residency pipeload --loaders 2 --backend lockstep");
    assert_eq!(lockstep["logits_sha256"], stays["logits_sha256"]);
    assert_eq!(lockstep["residency"], fast["residency"]);
    assert_eq!((&lockstep["pin_violations"], &lockstep["mismatches"]), (&0.into(), &0.into()));
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
