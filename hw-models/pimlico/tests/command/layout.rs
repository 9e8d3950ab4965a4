// SPDX-License-Identifier: MIT
//! `pimlico layout` as a user meets it: a model to an image and back, and one line and no file where something is wrong.

use crate::common;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn pimlico(arguments: &str, folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pimlico"));
    command.args(arguments.split_whitespace()).current_dir(folder).output().expect("it runs")
}

fn told(arguments: &str, folder: &Path) -> String {
    let output = pimlico(arguments, folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// Bytes of memory, as `layout convert` tells them.
fn image_bytes(told: &str) -> u64 {
    let (before, _) = told.split_once(" bytes of memory").expect("bytes");
    let (_, digits) = before.rsplit_once(" in ").expect("a number");
    digits.replace(' ', "").parse().expect("a number")
}

/// What a command says in one line; it leaves no other file behind.
fn refused(status: i32, arguments: &str, folder: &Path) -> String {
    let files = || fs::read_dir(folder).expect("a folder").count();
    let before = files();
    let output = pimlico(arguments, folder);
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(status), 0), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert_eq!(files(), before, "{arguments}");
    message
}

#[test]
fn an_image_is_the_model_in_every_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let make = "stream make --dim 96 --hidden 1100 --layers 2 --heads 4 --kv-heads 2 --vocab 300";
    told(&format!("{make} -o s.bin"), folder);
    for dtype in ["f32", "f16", "bf16"] {
        told(
            &format!(
                "{make} --format safetensors --dtype {dtype} --config s.json -o {dtype}.safetensors"
            ),
            folder,
        );
    }
    let mut images = Vec::new();
    for (weights, how) in [
        ("s.bin", "bfloat16, rounded from binary32"),
        ("f32.safetensors --config s.json", "bfloat16, rounded from binary32"),
        ("f16.safetensors --config s.json", "bfloat16, rounded once from binary16"),
        ("bf16.safetensors --config s.json", "bfloat16, as stored"),
        ("f16.safetensors --config s.json --elements binary16", "binary16, as stored"),
    ] {
        let tells = told(&format!("layout convert {weights} -o i.lp5"), folder);
        assert!(tells.contains("15 matrices") && tells.contains(how), "{tells}");
        let weights = weights.replace("--elements binary16", "");
        let tells = told(&format!("layout check i.lp5 {weights}"), folder);
        // Two layers of Q, K, V, O and three of the feed-forward network, and the head.
        assert!(tells.contains("717 696 elements of 15"), "{tells}");
        images.push(fs::read(folder.join("i.lp5")).expect("an image"));
    }
    // Names of tensors stand in the header, which is padded to 4096 bytes.
    assert_eq!(images[1][4096..images[1].len() - 32], images[3][4096..images[3].len() - 32]);
    assert_ne!(images[1][4096..images[1].len() - 32], images[4][4096..images[4].len() - 32]);
    let maps = ["row:16,col:6,bg:2,bank:2,ch:2,byte:5", "row:14,rank:1,bank:4,col:7,byte:5"];
    for map in maps {
        let words = ["layout", "convert", "s.bin", "-o", "m.lp5", "--map", &map.replace(',', " ")];
        let output = Command::new(env!("CARGO_BIN_EXE_pimlico"))
            .args(words)
            .current_dir(folder)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        told("layout check m.lp5 s.bin", folder);
    }
    // Through a pipe it is the same.
    let piped = pimlico("layout convert s.bin -o -", folder);
    assert!(piped.stdout == images[0], "standard output");
}

#[test]
fn a_wrong_image_or_model_is_told_in_a_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    told("layout convert -o tiny.lp5", folder);
    told("layout check tiny.lp5", folder);
    for target in ["column-major", "row-major"] {
        let tells = told(&format!("layout check tiny.lp5 --target {target}"), folder);
        assert!(tells.contains(&format!("{target} copies are the same byte by byte")), "{tells}");
    }
    refused(2, "layout check tiny.lp5 --target rows", folder);
    // Each matrix is in rows of all banks of its own: 128 KiB for each of them.
    let needed = image_bytes(&told("layout convert --cma 1G -o fits.lp5", folder));
    let message = refused(2, "layout convert --cma 1M -o n.lp5", folder);
    let expected = format!(
        "{needed} bytes of contiguous memory that is not cacheable, expected at most 1048576"
    );
    assert!(message.contains("--cma: tiny: ") && message.contains(&expected), "{message}");
    refused(2, "layout convert --cma 1 -o n.lp5", folder);
    let image = fs::read(folder.join("tiny.lp5")).expect("an image");
    let write = |bytes: &[u8]| fs::write(folder.join("w.lp5"), bytes).expect("written");
    write(b"");
    // Every place of an image: magic, length, header, memory, digest.
    for at in [0, 17, 23, 40, 4095, 5000, image.len() - 1] {
        let mut wrong = image.clone();
        wrong[at] ^= 0x20;
        write(&wrong);
        let message = refused(2, "layout check w.lp5", folder);
        assert!(message.contains("w.lp5: "), "byte {at}: {message}");
    }
    for length in [0, 15, 16, 20, 100, 5000, image.len() - 1] {
        write(&image[..length]);
        refused(2, "layout check w.lp5", folder);
    }
    write(&[&image[..], &[0]].concat());
    assert!(refused(2, "layout check w.lp5", folder).contains("by its header"));
    // Another model: of other matrices, and of other weights.
    let make = "stream make --dim 32 --hidden 64 --layers 3 --heads 2 --vocab 300";
    for (seed, name) in [(1, "a"), (2, "b")] {
        told(&format!("{make} --seed {seed} -o {name}.bin"), folder);
    }
    assert!(refused(2, "layout check tiny.lp5 a.bin", folder).contains("expected"));
    told("layout convert a.bin -o a.lp5", folder);
    assert!(refused(1, "layout check a.lp5 b.bin", folder).contains("row 0, column 0"));
    // Weights that 16 bits do not hold, a file that ends, and no room.
    let mut weights = fs::read(folder.join("a.bin")).expect("weights");
    let at = weights.len() - 4 * 512 * 16 - 4 * 32 - 4;
    weights[at..at + 4].copy_from_slice(&f32::MAX.to_le_bytes());
    fs::write(folder.join("max.bin"), &weights).expect("written");
    let message = refused(2, "layout convert max.bin -o n.lp5", folder);
    assert!(message.contains("expected one that bfloat16 holds"), "{message}");
    weights.truncate(weights.len() / 2);
    fs::write(folder.join("half.bin"), &weights).expect("written");
    refused(2, "layout convert half.bin -o n.lp5", folder);
    refused(2, "layout convert a.bin --map row:5,byte:5 -o n.lp5", folder);
    refused(2, "layout convert a.bin --map row:x -o n.lp5", folder);
    refused(2, "layout convert a.safetensors -o n.lp5", folder);
    refused(2, "layout convert a.bin --config a.json -o n.lp5", folder);
    refused(2, "layout convert none.bin -o n.lp5", folder);
    refused(2, "layout convert a.bin -o none/n.lp5", folder);
}

#[test]
fn an_element_is_shown_step_by_step() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let show = |arguments: &str| told(&format!("layout show {arguments}"), folder.path());
    let printed = show("--rows 16384 --cols 100 --element 9001,7 --first-row 5 --json");
    let shown = common::document(printed.as_bytes());
    // v = 562, B = 562 mod 64 = 50 = channel 2, group 0, bank 3; p = 8: tile 1, register 0; s = 8 * 100 + 7 * 8.
    for (key, value) in [
        ("vector", 562),
        ("lane", 9),
        ("bank_number", 50),
        ("output_tile", 1),
        ("output_register", 0),
        ("burst", 856),
        ("channel", 2),
        ("bank_group", 0),
        ("bank", 3),
        ("bank_row", 5 + 13),
        ("bank_column", 24),
        ("byte", 18),
        ("host_column_major", 2 * (7 * 16384 + 9001)),
        ("host_row_major", 2 * (9001 * 100 + 7)),
        // Column 24 is 12 lines of two; bank 3, channel 2.
        ("pim_offset", 13 * 131_072 + (12 << 12) + (3 << 10) + (2 << 6) + 18),
    ] {
        assert_eq!(shown[key], value, "{key}");
    }
    assert!(show("--rows 64 --cols 3 --element 48,0").contains("vector of 16 rows, v"));
    for wrong in [
        "--rows 64 --cols 3 --element 64,0",
        "--rows 64 --cols 3 --element 0,3",
        "--rows 64 --cols 3 --element 0",
        "--rows 0 --cols 3 --element 0,0",
        "--rows 2147483648 --cols 2147483648 --element 0,0",
        "--rows 64 --cols 3 --element 0,0 --first-row 65536",
        "--rows 64 --cols 3 --element 0,0 --map bg:1",
    ] {
        refused(2, &format!("layout show {wrong}"), folder.path());
    }
}

#[test]
fn a_prompt_has_the_same_logits_under_every_policy() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let make = "stream make --dim 96 --hidden 1100 --layers 3 --heads 4 --kv-heads 2 --vocab 300";
    told(&format!("{make} -o s.bin --tokenizer s.tok"), folder);
    told("layout convert s.bin -o s.lp5", folder);
    let prefill = |arguments: &str| {
        let model = "--weights s.bin --tokenizer s.tok --prompt tell";
        let told = told(&format!("layout prefill {model} {arguments} --json"), folder);
        common::document(told.as_bytes())
    };
    let number = |report: &serde_json::Value, key: &str| {
        report[key].as_u64().unwrap_or_else(|| panic!("{key} of {report}"))
    };
    let layer = 2 * (2 * 96 * 96 + 2 * 48 * 96 + 3 * 1100 * 96);
    let (all, largest) = (3 * layer + 2 * 300 * 96, 2 * 1100 * 96);
    let host = told("stream run --weights s.bin --tokenizer s.tok --prompt tell --json", folder);
    let host = common::document(host.as_bytes());
    let mut hash = None;
    for (policy, extra, copied) in [
        ("duplicate", all, 0),
        ("facil", 0, 0),
        ("ddb", 2 * largest, 3 * layer),
        ("owr", largest, 3 * layer),
    ] {
        for more in ["", "--copy-threads 2 --compute-threads 3", "--image s.lp5"] {
            let report = prefill(&format!("--policy {policy} {more}"));
            let found = ["extra_bytes", "copied_bytes", "weight_bytes"].map(|k| number(&report, k));
            assert_eq!(found, [extra, copied, all], "{policy} {more}");
            assert_eq!(report["prompt_tokens"], host["prompt_tokens"]);
            let logits = report["logits_sha256"].as_str().expect("a hash").to_owned();
            assert_eq!(*hash.get_or_insert_with(|| logits.clone()), logits, "{policy} {more}");
        }
    }
    let larger = prefill("--policy ddb --buffer 1M");
    assert_eq!(number(&larger, "extra_bytes"), 2 << 20);
    // Elements of 16 bits in another format are other weights.
    let other = prefill("--policy owr --elements binary16")["logits_sha256"].clone();
    assert_eq!(prefill("--policy ddb --elements binary16")["logits_sha256"], other);
    assert_ne!(hash.as_deref(), other.as_str());

    let report = prefill("--policy ddb --trace t.json");
    let trace = fs::read(folder.join("t.json")).expect("a trace");
    let trace: serde_json::Value = serde_json::from_slice(&trace).expect("JSON");
    let spans = trace["spans"].as_array().expect("spans");
    let copies = spans.iter().filter(|span| span["loader"] == 0).count();
    assert_eq!((spans.len(), copies), (42, 21));
    let share = report["copy_hidden_share"].as_f64().expect("a share");
    assert!((0.0..=1.0).contains(&share), "{share}");
}

#[test]
fn a_prefill_that_cannot_be_is_told_in_a_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let make = "stream make --dim 96 --hidden 1100 --layers 2 --heads 4 --vocab 300";
    told(&format!("{make} -o s.bin --tokenizer s.tok"), folder);
    told("layout convert -o tiny.lp5", folder);
    let image = fs::read(folder.join("tiny.lp5")).expect("an image");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("written");
    for (name, at) in [("header.lp5", 40), ("memory.lp5", 5000), ("sha.lp5", image.len() - 1)] {
        let mut wrong = image.clone();
        wrong[at] ^= 0x20;
        write(name, &wrong);
    }
    write("short.lp5", &image[..image.len() / 2]);
    let model = "--weights s.bin --tokenizer s.tok";
    let long = format!("--prompt {}", "ab".repeat(600));
    for (arguments, expected) in [
        (
            format!("{model} --policy ddb --buffer 100K"),
            "--buffer: buffer of 102400 bytes: gate of layer 0 takes 211200, expected at least as many",
        ),
        (format!("{model} --policy owr --buffer 206K"), "of layer 0 takes 211200"),
        (format!("{model} --policy ddb --buffer 0K"), "expected a whole number"),
        (format!("{model} --policy owr {long}"), "tokens: expected 1 to"),
        ("--policy ddb --copy-threads 0".to_owned(), "expected 1 to 64 threads"),
        ("--policy ddb --compute-threads 0".to_owned(), "expected 1 to 64 threads"),
        ("--policy owr --compute-threads 0 --copy-threads 0".to_owned(), "expected 1 to 64"),
        ("--policy facil --compute-threads 65".to_owned(), "expected 1 to 64 threads"),
        ("--policy facil --buffer 1M".to_owned(), "--buffer: it goes with --policy ddb or owr"),
        ("--policy duplicate --trace t".to_owned(), "--trace: it goes with --policy ddb or owr"),
        ("--policy ddb --image header.lp5".to_owned(), "header.lp5: header"),
        ("--policy ddb --image memory.lp5".to_owned(), "memory.lp5: SHA-256 differs"),
        ("--policy ddb --image sha.lp5".to_owned(), "sha.lp5: SHA-256 differs"),
        ("--policy ddb --image short.lp5 --trace t".to_owned(), "expected"),
        (format!("{model} --policy ddb --image tiny.lp5 --trace t"), "tiny.lp5: "),
        ("--policy ddb --image none.lp5".to_owned(), "none.lp5"),
        ("--policy ddb --image tiny.lp5 --elements binary16".to_owned(), "cannot be used with"),
        ("--policy ddb --trace none/t".to_owned(), "none"),
        ("--policy ddb --map row:5,byte:5".to_owned(), "map"),
        ("--policy two".to_owned(), "invalid value 'two'"),
        ("--weights s.bin --policy ddb".to_owned(), "--weights FILE and --tokenizer FILE"),
    ] {
        let message = refused(2, &format!("layout prefill {arguments}"), folder);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
    assert!(!folder.join("t").exists());
}

/// The figures of a small copy, which a document has, and how orders and stores differ.
#[test]
fn a_copy_is_timed_and_is_the_matrix() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copied = |arguments: &str| -> serde_json::Value {
        let told = told(&format!("layout copy {arguments} --json"), folder.path());
        common::document(told.as_bytes())
    };
    let number = |report: &serde_json::Value, path: &str| {
        report.pointer(path).and_then(serde_json::Value::as_f64).expect(path)
    };
    let matrix = "--rows 8192 --cols 192";
    let report = copied(matrix);
    assert_eq!((&report["differing"], &report["pin_violations"]), (&0.into(), &0.into()));
    assert!(number(&report, "/reads/moved_share") > 0.85);
    // All of it is in the cache until the end, so that nothing is written back beside reads.
    assert!((2.9..3.6).contains(&number(&report, "/passes")), "{}", report["passes"]);
    for pass in ["/reads", "/copy"] {
        let shares = report.pointer(&format!("{pass}/shares")).and_then(|it| it.as_object());
        let shares = shares.expect("shares").values().filter_map(serde_json::Value::as_f64);
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9, "{pass}");
    }
    let bursts = 8192 / 16 * 192;
    let found =
        ["load_bursts", "fill_bursts", "write_bursts"].map(|key| report["copy"][key].clone());
    assert_eq!(found, [bursts; 3].map(serde_json::Value::from));
    let past = copied(&format!("{matrix} --stores non-temporal"));
    assert!(number(&past, "/copy/tck") < 0.95 * number(&report, "/copy/tck"));
    assert_eq!((&past["copy"]["fill_bursts"], &past["differing"]), (&0.into(), &0.into()));
    let by_bank = copied("--rows 1024 --cols 256 --order bank-major --threads 1 --loads 16");
    assert!(number(&by_bank, "/reads/moved_share") < 0.14 && by_bank["differing"] == 0);
    // Of four channels one is read at a time: the others are asked for nothing, which is no refresh.
    let shares = |key: &str| number(&by_bank, &format!("/reads/shares/{key}"));
    assert!(shares("host") > 0.6 && shares("refresh") < 0.05, "{by_bank}");
    let by_rows = copied("--rows 200 --cols 70 --target row-major --fills 2");
    assert_eq!((&by_rows["target"], &by_rows["differing"]), (&"row-major".into(), &0.into()));
    assert_eq!(
        (&report["target"], &by_rows["pin_violations"]),
        (&"column-major".into(), &0.into())
    );
    let of_rank = copied("--system l3 --rows 1024 --cols 1024");
    assert_eq!((&of_rank["differing"], &of_rank["pin_violations"]), (&0.into(), &0.into()));
    assert!(number(&of_rank, "/reads/moved_share") > 0.9 && of_rank.get("copy").is_none());
    let text = told("layout copy --rows 100 --cols 9", folder.path());
    assert!(
        text.contains("a matrix of 100 x 9 on lp5") && text.contains("the copy takes"),
        "{text}"
    );
}

#[test]
fn a_copy_that_cannot_be_is_told_in_a_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let spec = told("schema layout-copy", folder);
    assert!(spec.contains("layout-copy/1"));
    for (arguments, expected) in [
        ("--rows 8", "--cols"),
        ("--rows 8 --cols 0", "invalid value '0'"),
        ("--rows 8 --cols 8 --model llama-3.2-1b", "cannot be used with"),
        ("--model none", "none"),
        ("--rows 8 --cols 8 --threads 0", "invalid value '0'"),
        ("--rows 8 --cols 8 --loads 0", "invalid value '0'"),
        ("--rows 8 --cols 8 --order column", "invalid value 'column'"),
        ("--rows 8 --cols 8 --system aim", "invalid value 'aim'"),
        (
            "--rows 40 --cols 8 --stores non-temporal",
            "matrix of 40 rows: expected a multiple of 16, as stores past the cache are whole bursts",
        ),
        (
            "--rows 32 --cols 8 --stores non-temporal --target row-major",
            "row-major order: expected stores that are not non-temporal",
        ),
        ("--rows 8 --cols 8 --target rows", "invalid value 'rows'"),
        ("--rows 8 --cols 8 --system l3 --target row-major", "--target: not with --system l3"),
        ("--rows 1048576 --cols 4096", "it takes"),
        ("--rows 8 --cols 8 --device none.toml", "--device none.toml: no such file"),
        ("--rows 8 --cols 8 --system l3 --device gddr6-aim", "expected \"l3\""),
        ("--rows 8 --cols 8 --system l3 --threads 2", "--threads: not with --system l3"),
    ] {
        let message = refused(2, &format!("layout copy {arguments}"), folder);
        assert!(message.contains(expected), "{arguments}: {message}");
    }
}
