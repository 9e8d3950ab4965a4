// SPDX-License-Identifier: MIT
//! `pimlico spd` as a user meets it, and its image as another tool reads it.

use crate::common;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Output};

fn spd(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .arg("spd")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the command runs")
}

fn succeeds(arguments: &[&str], folder: &Path) -> String {
    let output = spd(arguments, folder);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// The one line that a wrong call gives.
fn refused(arguments: &[&str], folder: &Path) -> String {
    let output = spd(arguments, folder);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let message = String::from_utf8(output.stderr).expect("text");
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn an_image_is_written_and_shown() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    assert_eq!(succeeds(&["write", "a.spd"], folder), "a.spd: 512 bytes, spoofed\n");
    assert_eq!(succeeds(&["write", "a.spd"], folder), "a.spd: 512 bytes, spoofed\n");
    succeeds(&["write", "honest.spd", "--honest"], folder);
    assert_eq!(fs::read(folder.join("a.spd")).expect("written").len(), 512);
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 2, "nothing else is left");

    let text = succeeds(&["show", "a.spd"], folder);
    assert!(text.starts_with("a.spd: spoofed values, CRCs 0x"), "{text}");
    for row in [
        "(module) ok\nPIMLICO-L3-3200, serial number 1: DDR4 module of type 0x0e, one buffer chip with",
        "CL        |              23 |         14.375 |                  22",
        "spoofed by 1 tCK",
    ] {
        assert!(text.contains(row), "{text}");
    }
    let document = |file| common::document(succeeds(&["show", file, "--json"], folder).as_bytes());
    let (spoofed, honest) = (document("a.spd"), document("honest.spd"));
    assert_eq!((&spoofed["values"], &honest["values"]), (&"spoofed".into(), &"honest".into()));
    assert_eq!(spoofed["true_tck"], honest["true_tck"]);
    assert_eq!(honest["true_tck"], honest["advertised_tck"]);
    assert_eq!(spoofed["crc"]["ok"], true);
    assert_eq!((&spoofed["module_type"], &honest["module_type"]), (&"0x0e".into(), &"0x0e".into()));
    for (name, own, advertised) in
        [("CL", 22, 23), ("WL", 16, 15), ("WR", 24, 25), ("WTR_S", 4, 5), ("RP", 22, 22)]
    {
        assert_eq!(spoofed["true_tck"][name], own, "{name}");
        assert_eq!(spoofed["advertised_tck"][name], advertised, "{name}");
    }
}

#[test]
fn the_spoofed_image_is_checked_against_the_honest_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = succeeds(&["check"], folder.path());
    assert!(text.starts_with("re-layout on ddr4-3200, tCK 0.625 ns, seed 1: "), "{text}");
    for row in ["| honest, no | ", "later, and from RD to WR"] {
        assert!(text.contains(row), "{text}");
    }
    let document = succeeds(&["check", "--json", "--seed", "7"], folder.path());
    let document = common::document(document.as_bytes());
    assert_eq!((&document["seed"], &document["failures"]), (&7.into(), &serde_json::json!([])));
    let [plain, honest, spoofed] = [0, 1, 2].map(|i| &document["configurations"][i]);
    let none = &serde_json::json!({});
    assert_eq!((&plain["chip_violations"], &spoofed["chip_violations"]), (none, none));
    assert!(honest["chip_violations"]["CWL"].as_u64().is_some_and(|count| count > 0));
    assert_eq!((&spoofed["spd"], &spoofed["relayout"]), (&"spoofed".into(), &true.into()));
    assert_eq!((&spoofed["stored_right"], &spoofed["read_right"]), (&true.into(), &true.into()));
    assert_eq!(spoofed["latency_tck"]["write_at_chips"], plain["latency_tck"]["write_at_chips"]);
    assert_eq!(spoofed["utilisation"], plain["utilisation"]);
    let [jedec, honest, spoofed] = [3, 4, 5].map(|i| &document["configurations"][i]);
    assert_eq!((&jedec["host"], &jedec["stored_right"]), (&"jedec".into(), &false.into()));
    for (trained, read_tck) in [(honest, 1), (spoofed, 0)] {
        assert_eq!((&trained["host"], &trained["read_right"]), (&"trained".into(), &true.into()));
        let found = serde_json::json!({ "write_tck": -1, "read_tck": read_tck });
        assert_eq!(trained["trained"], found);
    }
}

#[test]
fn wrong_input_is_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    succeeds(&["write", "a.spd"], folder);
    let mut image = fs::read(folder.join("a.spd")).expect("written");
    image[25] += 1;
    fs::write(folder.join("changed.spd"), &image).expect("writable");
    fs::write(folder.join("short.spd"), &image[..511]).expect("writable");
    for (arguments, expected) in [
        (["show", "none.spd"], "none.spd: No such file"),
        (["show", "changed.spd"], "changed.spd: CRC of bytes 0-125: 0x"),
        (["show", "short.spd"], "short.spd: 511 bytes, expected 512"),
        (["show", "/dev/zero"], "/dev/zero: 513 bytes, expected 512"),
        (["show", "."], ".: "),
        (["write", "none/a.spd"], "none/a.spd: No such file"),
        (["write", "."], ".: not a regular file"),
        (["write", "/dev/full"], "/dev/full: No space left on device"),
    ] {
        let message = refused(&arguments, folder);
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 3, "nothing else is left");
}

/// `bytes` as `hexdump -C` prints them.
fn hexdump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in bytes.chunks(16).enumerate() {
        let _ = write!(text, "{:08x} ", 16 * line);
        bytes.iter().for_each(|byte| write!(text, " {byte:02x}").expect("room"));
        text += "\n";
    }
    text
}

/// Debian's `decode-dimms`, from the package `i2c-tools`, which `scripts/setup` installs.
#[test]
fn decode_dimms_reads_the_image() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let honest = ["13.750", "22-22-22-52", "22T", "15.000", "2.500", "7.500"];
    let spoofed = ["14.375", "23-22-22-52", "23T", "15.625", "3.125", "8.125"];
    for (flag, [taa, core, cas, twr, twtr_s, twtr_l]) in
        [(Some("--honest"), honest), (None, spoofed)]
    {
        let arguments: Vec<_> = ["write", "a.spd"].into_iter().chain(flag).collect();
        succeeds(&arguments, folder);
        let image = fs::read(folder.join("a.spd")).expect("written");
        fs::write(folder.join("a.hex"), hexdump(&image)).expect("writable");
        let command =
            Command::new("decode-dimms").args(["-x", "a.hex"]).current_dir(folder).output();
        let output = match command {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("skipped: decode-dimms is not installed (apt-get install i2c-tools)");
                return;
            }
            output => output.expect("it runs"),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
            line[name.len()..].trim().to_owned()
        };
        for name in ["EEPROM CRC of bytes 0-125", "EEPROM CRC of bytes 128-253"] {
            assert!(value(name).starts_with("OK (0x"), "{text}");
        }
        assert!(!text.contains("Bad"), "{text}");
        for (name, expected) in [
            ("Fundamental Memory type", "DDR4 SDRAM"),
            ("Module Type", "Reserved (0x0E)"),
            ("Maximum module speed", "3200 MT/s (PC4-25600)"),
            ("Size", "16384 MB"),
            ("Banks x Rows x Columns x Bits", "16 x 16 x 10 x 64"),
            ("SDRAM Device Width", "8 bits"),
            ("Ranks", "2"),
            ("AA-RCD-RP-RAS (cycles)", core),
            ("Supported CAS Latencies", cas),
            ("Minimum Cycle Time (tCKmin)", "0.625 ns"),
            ("Maximum Cycle Time (tCKmax)", "0.625 ns"),
            ("Minimum CAS Latency Time (tAA)", &format!("{taa} ns")),
            ("Minimum RAS to CAS Delay (tRCD)", "13.750 ns"),
            ("Minimum Row Precharge Delay (tRP)", "13.750 ns"),
            ("Minimum Active to Precharge Delay (tRAS)", "32.500 ns"),
            ("Minimum Active to Auto-Refresh Delay (tRC)", "46.250 ns"),
            ("Minimum Recovery Delay (tRFC1)", "350.000 ns"),
            ("Minimum Recovery Delay (tRFC2)", "260.000 ns"),
            ("Minimum Recovery Delay (tRFC4)", "160.000 ns"),
            ("Minimum Four Activate Window Delay (tFAW)", "21.250 ns"),
            ("Minimum Row Active to Row Active Delay (tRRD_S)", "2.500 ns"),
            ("Minimum Row Active to Row Active Delay (tRRD_L)", "5.000 ns"),
            ("Minimum CAS to CAS Delay (tCCD_L)", "5.000 ns"),
            ("Minimum Write Recovery Time (tWR)", &format!("{twr} ns")),
            ("Minimum Write to Read Time (tWTR_S)", &format!("{twtr_s} ns")),
            ("Minimum Write to Read Time (tWTR_L)", &format!("{twtr_l} ns")),
            ("Part Number", "PIMLICO-L3-3200"),
            ("Assembly Serial Number", "0x00000001"),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }
}
