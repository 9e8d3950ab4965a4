// SPDX-License-Identifier: MIT
//! The assertions in the RTL can fire: with a fault planted in it they end the simulation.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Reads from the first clock on, fills sides from the third, and gives one back now and then.
const MAIN: &str = r#"
#include "Vpingpong_buffer.h"
#include "verilated.h"
#include <memory>

int main() {
  VerilatedContext context;
  auto top = std::make_unique<Vpingpong_buffer>(&context);
  top->rst_ni = 1;
  top->clk_i = 0;
  top->eval();
  top->rst_ni = 0;
  top->eval();
  top->rst_ni = 1;
  for (int clock = 0; clock < 100; ++clock) {
    top->write_valid_i = clock >= 2;
    top->write_last_i = clock % 3 == 2;
    top->read_valid_i = 1;
    top->read_address_i = 0;
    top->release_i = clock % 20 == 19;
    for (int level = 0; level < 2; ++level) {
      top->clk_i = level;
      top->eval();
    }
  }
  return 0;
}
"#;

/// Simulates the module with one text in it replaced. What is written to standard error if that fails.
fn simulate(right: &str, wrong: &str) -> Result<(), String> {
    let rtl = Path::new(pimlico_rtl::FOLDER);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = fs::read_to_string(rtl.join("bank/pingpong_buffer.sv")).expect("it is there");
    assert_eq!(text.matches(right).count(), 1, "`{right}` stands once in the RTL");
    let module = folder.path().join("pingpong_buffer.sv");
    fs::write(&module, text.replace(right, wrong)).expect("writable");
    let main = folder.path().join("main.cpp");
    fs::write(&main, MAIN).expect("writable");
    let built = Command::new("verilator")
        .args(["--cc", "--exe", "--build", "--assert", "-Wno-fatal", "-GDEPTH=4"])
        .args(["-CFLAGS", "-O0", "--top-module", "pingpong_buffer", "-o", "simulation", "--Mdir"])
        .arg(folder.path().join("build"))
        .arg(format!("+incdir+{}", rtl.display()))
        .args([&module, &main])
        .args(["prim/ram_1p.sv", "bank/pingpong_buffer_checks.sv"].map(|file| rtl.join(file)))
        .output()
        .expect("verilator runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let run = Command::new(folder.path().join("build/simulation")).output().expect("it runs");
    if run.status.success() {
        return Ok(());
    }
    let [out, err] = [run.stdout, run.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
    Err(out + &err)
}

#[test]
fn the_assertions_of_the_ping_pong_buffer_can_fire() {
    let as_it_is = "|(write_select & ~full_q)";
    assert_eq!(simulate(as_it_is, as_it_is), Ok(()));
    for (right, wrong, assertion) in [
        // The side in use is filled.
        (as_it_is, "1'b1", "assert_write_free"),
        // A side is read that holds nothing.
        ("|(read_select & full_q)", "1'b1", "assert_read_full"),
        // The side that is filled is read.
        (
            "read_valid_i && read_ready_o ? read",
            "read_valid_i && read_ready_o ? write",
            "assert_sides_apart",
        ),
        // The ports lose each other.
        ("read_side_q ^ |releases", "read_side_q", "assert_order"),
        // A filling without an end.
        ("write_last_i || filled == count_t'(DEPTH - 1)", "filled == '1", "assert_words"),
    ] {
        let message = simulate(right, wrong).expect_err(assertion);
        assert!(message.contains(assertion), "{assertion}: {message}");
    }
}
