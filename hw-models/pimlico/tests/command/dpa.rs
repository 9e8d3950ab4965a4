// SPDX-License-Identifier: MIT
//! `pimlico dpa` as a user meets it.

use crate::common;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn dpa(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .arg("dpa")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command runs")
}

fn succeeds(arguments: &[&str], folder: &Path) -> String {
    let output = dpa(arguments, folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// What a wrong call says.
fn refused(arguments: &[&str], folder: &Path) -> String {
    let output = dpa(arguments, folder);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

const SCORE: &str = "# Scores of 16 tokens each, in rows of 32 tokens
loop all/32 {
  loop part/16 {
    mac_score row=0+1@2 column=0+1@1 first last opens@1,2
    rd_result place=0+16@1+32@2 first@1,2
  }
}
end
";

#[test]
fn a_program_goes_from_text_to_words_and_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    fs::write(folder.join("score.txt"), SCORE).expect("writable");
    let said = succeeds(&["assemble", "score.txt", "score.bin"], folder);
    assert_eq!(said, "score.bin: 7 words, 56 bytes\n");
    assert_eq!(fs::read(folder.join("score.bin")).expect("written").len(), 56);
    let text = succeeds(&["disassemble", "score.bin"], folder);
    let without_comment = SCORE.split_once('\n').expect("a line").1;
    assert_eq!(text, without_comment);
    fs::write(folder.join("again.txt"), text).expect("writable");
    succeeds(&["assemble", "again.txt", "again.bin"], folder);
    let read = |name: &str| fs::read(folder.join(name)).expect("written");
    assert_eq!(read("score.bin"), read("again.bin"));
}

#[test]
fn a_program_is_expanded_for_each_request() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    fs::write(folder.join("score.txt"), SCORE).expect("writable");
    fs::write(folder.join("rows"), "# of two requests\n1 0 22\n\n2 1 34 # moved\n2 0 33\n")
        .expect("writable");
    let rows = ["--va2pa", "rows"];
    let text =
        succeeds(&[&["expand", "score.txt", "--tcur", "1=5,2=40"], &rows[..]].concat(), folder);
    for expected in [
        "score.txt: 7 words, 56 bytes",
        "request 1, T_cur 5: 2 commands\n",
        "request 2, T_cur 40: 6 commands\n",
        " mac_score |       1 |    0 |  22 |       |      0 |    0 | first last opens |      5 ",
        " rd_result |       2 |    0 |     |    32 |      0 |    0 |                  |      8 ",
    ] {
        assert!(text.contains(expected), "{text}");
    }

    succeeds(&["assemble", "score.txt", "score.bin"], folder);
    let arguments = ["expand", "score.bin", "--json", "--tcur", "2=40", "--limit", "3"];
    let document = common::document(succeeds(&[&arguments[..], &rows].concat(), folder).as_bytes());
    let request = &document["requests"][0];
    assert_eq!((&request["request"], &request["tcur"]), (&2.into(), &40.into()));
    assert_eq!(request["complete"], false);
    assert_eq!(request["commands"].as_array().map(Vec::len), Some(3));
    assert_eq!(request["commands"][2]["row"], 33);
    assert_eq!(request["commands"][2]["column"], 1);
    assert!(succeeds(&["expand", "score.bin", "--tcur", "0=9"], folder).contains("virtual rows"));
}

#[test]
fn several_passes_need_no_context() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let build = ["build", "--op", "attention", "-o", "a.bin"];
    assert!(succeeds(&build, folder).contains("contexts up to 131072 in one pass"));
    let several = succeeds(&[&build[..], &["--passes", "several"]].concat(), folder);
    assert!(several.contains("contexts up to 262144 in blocks of 131072"), "{several}");
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    for (name, text) in [
        ("score.txt", SCORE),
        ("wrong.txt", "nop\n  loop 2 [\n"),
        ("zero.txt", "loop all/32 {\n  mac_score row=3\n}\nend"),
        ("open.txt", "finish\n"),
        ("rows", "0 0 7\n"),
        ("twice", "0 0 7\n0 1 3\n0 0 8\n"),
        ("few", "0 1\n"),
        ("many", "0 0 1 2\n"),
        ("large", "0 0 65535\n"),
        ("wide", "1 40000 0\n2 40000 1\n"),
    ] {
        fs::write(folder.join(name), text).expect("writable");
    }
    fs::write(folder.join("odd.bin"), [0; 9]).expect("writable");
    fs::write(folder.join("long.bin"), vec![0; 98305]).expect("writable");
    fs::write(folder.join("zero.bin"), [0; 8]).expect("writable");
    fs::write(folder.join("latin.txt"), b"nop\n  \xE4").expect("writable");
    for (arguments, expected) in [
        (&["assemble", "none.txt", "a.bin"][..], "none.txt: No such file"),
        (&["assemble", "wrong.txt", "a.bin"], "wrong.txt:2:10: expected `{`"),
        (&["assemble", "latin.txt", "a.bin"], "latin.txt:2:3: expected text in UTF-8"),
        (&["assemble", "/dev/zero", "a.bin"], "/dev/zero: more than 4194304 bytes"),
        (&["assemble", "score.txt", "none/a.bin"], "none/a.bin: No such file"),
        (&["disassemble", "odd.bin"], "odd.bin: 9 bytes, expected words of eight bytes"),
        (&["disassemble", "long.bin"], "long.bin: more than 98304 bytes"),
        (&["expand", "score.txt", "--tcur", "0=9,0=8"], "--tcur: request 0 is given twice"),
        (
            &["expand", "score.txt", "--tcur", "0=9", "--va2pa", "twice"],
            "virtual row 0 of request 0",
        ),
        (&["expand", "score.txt", "--tcur", "0=9", "--va2pa", "few"], "few:1:4: expected a row"),
        (
            &["expand", "score.txt", "--tcur", "0=9", "--va2pa", "many"],
            "many:1:7: expected the end",
        ),
        (
            &["expand", "score.txt", "--tcur", "0=9", "--va2pa", "large"],
            "large:1:5: expected a row",
        ),
        (
            &["expand", "score.txt", "--tcur", "0=9", "--va2pa", "wide"],
            "take 80002 entries of 49152",
        ),
    ] {
        let message = refused(arguments, folder);
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(expected), "{message}");
    }
    // A fault of the program is a check that fails, and what was dispatched before it is there.
    for (arguments, expected) in [
        (&["zero.bin", "--tcur", "0=1"][..], "zero.bin: word 0: request 0: unknown opcode"),
        (&["zero.txt", "--tcur", "0=0"], "zero.txt:1:1: request 0: zero or over-long"),
        (&["open.txt", "--tcur", "0=1"], "open.txt: word 1: request 0: past the end"),
        (&["zero.txt", "--tcur", "0=9", "--va2pa", "rows"], "zero.txt:2:3: request 0: Va2Pa miss"),
    ] {
        let output = dpa(&[&["expand"], arguments].concat(), folder);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), message.lines().count()), (Some(1), 1), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("then a fault at "));
    }
    for tcur in ["16=1", "0=1048576", "0", "x=1"] {
        assert!(refused(&["expand", "score.txt", "--tcur", tcur], folder).contains("expected"));
    }
    assert!(!folder.join("a.bin").exists(), "no partial output");
}

/// `pimlico run l3` with a program; its exit status, what it prints and what it complains of.
fn run(arguments: &[&str], folder: &Path) -> (Option<i32>, Value, String) {
    run_on("l3", arguments, folder)
}

/// The same of a system.
fn run_on(system: &str, arguments: &[&str], folder: &Path) -> (Option<i32>, Value, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(["run", system])
        .args(arguments)
        .arg("--json")
        .current_dir(folder)
        .output()
        .expect("the command runs");
    let printed = match &*output.stdout {
        [] => Value::Null,
        printed => common::document(printed),
    };
    (output.status.code(), printed, String::from_utf8(output.stderr).expect("text"))
}

#[test]
fn an_operators_program_is_built_and_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let build = ["build", "--op", "attention", "--model", "llama-3.1-8b", "--context-max", "4096"];
    let said = succeeds(&[&build[..], &["-o", "a.bin"]].concat(), folder);
    assert_eq!(
        said,
        "a.bin: 39 words, 312 bytes; 4 query heads of 128, contexts up to 4096 in one pass\n"
    );
    succeeds(&[&build[..], &["--text", "-o", "a.txt"]].concat(), folder);
    let text = fs::read_to_string(folder.join("a.txt")).expect("written");
    assert_eq!(text, succeeds(&["disassemble", "a.bin"], folder));
    let said = succeeds(&[&build[..], &["--static", "-o", "s.bin"]].concat(), folder);
    let words = fs::read(folder.join("s.bin")).expect("written").len() / 8;
    assert!(words > 12288 && said.contains(&format!("{words} words")), "{said}");
    succeeds(&["build", "--op", "gemv", "--rows", "50", "--cols", "4200", "-o", "m.bin"], folder);

    // One program for every context; it is the one that is built otherwise.
    let job = ["attention", "--model", "llama-3.1-8b", "--heads", "4", "--context-max", "4096"];
    for context in ["1", "700", "4096"] {
        let job = [&job[..], &["--context", context]].concat();
        let (status, own, errors) = run(&[&job[..], &["--program", "a.bin"]].concat(), folder);
        assert_eq!((status, errors.as_str()), (Some(0), ""));
        assert_eq!((Some(0), own, errors), run(&job, folder));
    }
    let (status, own, _) =
        run(&["gemv", "--rows", "50", "--cols", "4200", "--program", "m.bin"], folder);
    let (_, built, _) = run(&["gemv", "--rows", "50", "--cols", "4200"], folder);
    assert_eq!((status, own), (Some(0), built));

    // A fault has its status and its word.
    let job = ["attention", "--model", "llama-3.1-8b", "--heads", "4", "--context", "700"];
    let (status, out, errors) = run(&[&job[..], &["--program", "a.bin"]].concat(), folder);
    assert_eq!((status, out), (Some(1), Value::Null));
    assert_eq!(
        errors,
        "pimlico: a.bin: request 0 stopped at word 33 of the command buffer: Va2Pa miss: no row for the \
         virtual row\n"
    );
    // So has a program that is not that of the operator.
    let (status, _, errors) = run(&["attention", "--context", "20", "--program", "a.bin"], folder);
    assert_eq!(status, Some(1));
    assert!(errors.contains("more words of operands"), "{errors}");

    for (arguments, expected) in [
        (&["--op", "gemv"][..], "expected --rows R and --cols C"),
        (&["--op", "attention", "--group", "9"], "--group 9: expected 1 to 8"),
        (&["--op", "attention", "--rows", "9"], "they go with --op gemv"),
        (&["--op", "attention", "--context-max", "0"], "context of 0 tokens"),
        (&["--op", "attention", "--context-max", "9999999"], "expected 1 to 1048575"),
        (&["--op", "attention", "--model", "x"], "invalid value 'x' for '--model <NAME>'"),
        (
            &["--op", "attention", "--passes", "several", "--context-max", "131072"],
            "one pass takes up to 131072",
        ),
        (&["--op", "gemv", "--rows", "16", "--cols", "9000000"], "the command buffer has 12288"),
    ] {
        let errors = refused(&[&["build", "-o", "x.bin"], arguments].concat(), folder);
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
        assert!(!folder.join("x.bin").exists());
    }
}

#[test]
fn programs_of_a_module_are_built_and_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let build = ["build", "--system", "aim", "--op", "attention", "--channels", "2"];
    let build = [&build[..], &["--head-dim", "32", "--context-max", "2048"]].concat();
    let said = succeeds(&[&build[..], &["-o", "a.bin"]].concat(), folder);
    assert!(said.ends_with("; 1 query head(s) of 32, 2 channels, contexts up to 2048\n"), "{said}");
    succeeds(&[&build[..], &["--text", "-o", "a.txt"]].concat(), folder);
    let text = fs::read_to_string(folder.join("a.txt")).expect("written");
    assert_eq!(text, succeeds(&["disassemble", "a.bin"], folder));
    assert_eq!(text.lines().filter(|line| *line == "end").count(), 3, "{text}");

    // One file for every context; it is what is built otherwise, on every back end.
    let job = ["attention", "--head-dim", "32", "--heads", "2", "--channels", "2"];
    for (context, backend) in [("1", "fast"), ("1500", "fast"), ("40", "model")] {
        let of = ["--context", context, "--context-max", "2048", "--backend", backend];
        let job = [&job[..], &of].concat();
        let (status, own, errors) =
            run_on("aim", &[&job[..], &["--program", "a.txt"]].concat(), folder);
        assert_eq!((status, errors.as_str()), (Some(0), ""));
        assert_eq!((Some(0), own, errors), run_on("aim", &job, folder), "{context}");
    }
    let shape = ["--rows", "40", "--cols", "1100", "--channels", "2"];
    let single = [&shape[..], &["--io-buffers", "single"]].concat();
    for (shape, backend) in [(&single, "fast"), (&single, "model")] {
        let build =
            [&["build", "--system", "aim", "--op", "gemv", "-o", "m.bin"], &shape[..]].concat();
        succeeds(&build, folder);
        let job = [&["gemv", "--backend", backend], &shape[..]].concat();
        let own = run_on("aim", &[&job[..], &["--program", "m.bin"]].concat(), folder);
        assert_eq!((own.0, own.2.as_str()), (Some(0), ""));
        assert_eq!(own, run_on("aim", &job, folder));
    }

    // A fault has its program and its word of the file, on every back end.
    let context = ["attention", "--head-dim", "32", "--channels", "2", "--context", "90"];
    let lines: Vec<_> = text.lines().collect();
    let ends: Vec<_> = (0..lines.len()).filter(|&n| lines[n] == "end").collect();
    let mut rowless = lines.clone();
    rowless.insert(ends[1] + 1, "mac_score row=4000 word=1");
    fs::write(folder.join("rowless.txt"), rowless.join("\n")).expect("writable");
    // A `}` is no word, and a command whose fields grow is two.
    let loops = |line: &&&str| line.trim() != "}";
    let modified = |line: &&&str| line.contains('+');
    let before = &lines[..=ends[1]];
    let word = before.iter().filter(loops).count() + before.iter().filter(modified).count();
    for backend in ["fast", "model"] {
        let arguments = ["--backend", backend, "--program", "rowless.txt"];
        let (status, out, errors) = run_on("aim", &[&context[..], &arguments].concat(), folder);
        assert_eq!((status, out), (Some(1), Value::Null));
        let expected = format!("pimlico: rowless.txt: context, word {word}: Va2Pa miss: ");
        assert!(errors.starts_with(&expected) && errors.lines().count() == 1, "{errors} {text}");
    }
    // Four loops in each other are counted and not run.
    let endless = "loop 65536 {\n".repeat(4) + "close_all\n" + &"}\n".repeat(4) + "end\n";
    fs::write(folder.join("endless.txt"), endless).expect("writable");
    let job = ["gemv", "--rows", "9", "--cols", "9", "--program", "endless.txt"];
    let (status, _, errors) = run_on("aim", &job, folder);
    assert_eq!(status, Some(1));
    assert_eq!(errors, "pimlico: endless.txt: product: more than 1048576 commands\n");

    // What are no programs of the operator is wrong input.
    for (file, text) in [
        ("two.txt", lines[..=ends[1]].join("\n")),
        ("more.txt", text.clone() + "nop\n"),
        ("none.txt", String::new()),
    ] {
        fs::write(folder.join(file), text).expect("writable");
    }
    fs::write(folder.join("odd.bin"), [0; 9]).expect("writable");
    for (file, expected) in [
        (
            "two.txt",
            "two.txt: 2 words `end`: expected 3, one behind each program: score, softmax, context",
        ),
        ("more.txt", "expected the end of the file behind the last `end`"),
        ("none.txt", "none.txt: 0 words `end`: expected 3"),
        ("odd.bin", "odd.bin: 9 bytes, expected words of eight bytes each"),
        ("missing.txt", "missing.txt: No such file"),
    ] {
        let (status, out, errors) =
            run_on("aim", &[&context[..], &["--program", file]].concat(), folder);
        assert_eq!((status, out), (Some(2), Value::Null), "{errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
    }
    for (options, expected) in [
        (["--head-pipeline", "on"].as_slice(), "--program: it does not go with --head-pipeline on"),
        (&["--timing-only"], "--program: it does not go with --timing-only"),
        (&["--context-max", "80"], "--context-max 80: expected 90 or more"),
        (&["--context-max", "9999999"], "context of 9999999 tokens"),
    ] {
        let arguments = [&context[..], &["--program", "a.txt"], options].concat();
        let (status, _, errors) = run_on("aim", &arguments, folder);
        assert_eq!(status, Some(2), "{errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
    }
    for (arguments, expected) in [
        (&["--op", "gemv"][..], "expected --rows R and --cols C"),
        (&["--op", "attention", "--rows", "9"], "they go with --op gemv"),
        (&["--op", "attention", "--context-max", "0"], "context of 0 tokens"),
        (&["--op", "attention", "--context-max", "9999999"], "hold 1 to 261888"),
        (&["--op", "attention", "--group", "2"], "it goes with --shared-rows on"),
        (&["--op", "attention", "--shared-rows", "on", "--group", "0"], "--group 0: expected 1"),
        (
            &["--op", "attention", "--shared-rows", "on", "--group", "9", "--context-max", "64"],
            "the global buffers hold 8 at once",
        ),
        (&["--op", "attention", "--passes", "one"], "--passes: it goes with --system l3"),
        (&["--op", "attention", "--sums", "binary16"], "--sums: it goes with --system l3"),
        (&["--op", "gemv", "--rows", "9", "--cols", "9", "--static"], "--static: it goes with"),
        (&["--op", "attention", "--groups", "3"], "--groups 3: expected a number that divides 16"),
        (&["--op", "attention", "--groups", "0"], "--groups 0: expected a number that divides 16"),
        (&["--op", "attention", "--device", "ddr4-3200"], "of --system l3, not of aim"),
        (&["--op", "attention", "--device", "none.toml"], "none.toml: no such file"),
        (&["--op", "gemv", "--rows", "300000", "--cols", "9"], "elements of the GPR"),
    ] {
        let errors =
            refused(&[&["build", "--system", "aim", "-o", "x.bin"], arguments].concat(), folder);
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{errors}");
        assert!(!folder.join("x.bin").exists());
    }
    let errors = refused(&["build", "--op", "attention", "--channels", "2", "-o", "x.bin"], folder);
    assert!(errors.contains("--channels: it goes with --system aim"), "{errors}");
}
