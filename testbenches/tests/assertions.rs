// SPDX-License-Identifier: MIT
//! The assertions in the RTL can fire: with a fault planted in it they end the simulation.

use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};
use tempfile::TempDir;

/// Verilator's sources that a simulation is linked with.
const RUNTIME: [&str; 2] = ["verilated.cpp", "verilated_threads.cpp"];

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

/// Runs a tool, which is to succeed; what it puts out.
fn done(command: &mut Command) -> String {
    let output = command.output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Compiler and run time of the simulations: they run for a hundred clocks, so that nothing is optimised.
struct Tools {
    include: PathBuf,
    folder: TempDir,
}

impl Tools {
    /// Compiles the run time.
    fn new() -> Self {
        let root = done(Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]));
        let folder = tempfile::tempdir().expect("a temporary folder");
        let tools = Self { include: Path::new(&root).join("include"), folder };
        RUNTIME.par_iter().for_each(|source| {
            let object = tools.object(source);
            done(tools.compiler().arg("-c").arg(tools.include.join(source)).arg("-o").arg(object));
        });
        tools
    }

    fn compiler(&self) -> Command {
        let mut command = Command::new(env::var_os("CXX").unwrap_or_else(|| "c++".into()));
        command.args(["-O0", "-std=gnu++17", "-w", "-pthread", "-I"]).arg(&self.include);
        command.arg("-I").arg(self.include.join("vltstd"));
        command
    }

    fn object(&self, source: &str) -> PathBuf {
        self.folder.path().join(source).with_extension("o")
    }

    /// Simulates the module with one text in it replaced. What is written if that fails.
    fn simulate(&self, right: &str, wrong: &str) -> Result<(), String> {
        let rtl = Path::new(pimlico_rtl::FOLDER);
        let folder = tempfile::tempdir_in(&self.folder).expect("a temporary folder");
        let text = fs::read_to_string(rtl.join("bank/pingpong_buffer.sv")).expect("it is there");
        assert_eq!(text.matches(right).count(), 1, "`{right}` stands once in the RTL");
        let module = folder.path().join("pingpong_buffer.sv");
        fs::write(&module, text.replace(right, wrong)).expect("writable");
        let build = folder.path().join("build");
        let verilator = ["--cc", "--assert", "-Wno-fatal", "-GDEPTH=4"];
        done(
            Command::new("verilator")
                .args(verilator)
                .args(["--top-module", "pingpong_buffer", "--Mdir"])
                .arg(&build)
                .arg(format!("+incdir+{}", rtl.display()))
                .arg(&module)
                .args(["prim/ram_1p.sv", "bank/pingpong_buffer_checks.sv"].map(|f| rtl.join(f))),
        );
        // In one piece: to read Verilator's headers takes longer than the rest.
        let generated = fs::read_dir(&build).expect("it was made");
        let generated = generated.map(|entry| entry.expect("a readable folder").path());
        let sources = generated.filter(|path| path.extension().is_some_and(|end| end == "cpp"));
        let include = |path: PathBuf| format!("#include \"{}\"\n", path.display());
        let main = build.join("main.cpp");
        fs::write(&main, sources.map(include).collect::<String>() + MAIN).expect("writable");
        let simulation = folder.path().join("simulation");
        let mut compiler = self.compiler();
        compiler.arg(main).args(RUNTIME.map(|source| self.object(source)));
        done(compiler.arg("-o").arg(&simulation));
        let run = Command::new(simulation).output().expect("it runs");
        if run.status.success() {
            return Ok(());
        }
        let [out, err] = [run.stdout, run.stderr].map(|s| String::from_utf8_lossy(&s).into_owned());
        Err(out + &err)
    }
}

#[test]
fn the_assertions_of_the_ping_pong_buffer_can_fire() {
    let as_it_is = "|(write_select & ~full_q)";
    let tools = Tools::new();
    let faults = [
        // None.
        (as_it_is, as_it_is, ""),
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
    ];
    faults.par_iter().for_each(|(right, wrong, assertion)| match tools.simulate(right, wrong) {
        Ok(()) => assert_eq!(*assertion, "", "it did not fire"),
        Err(message) => {
            assert!(!assertion.is_empty() && message.contains(assertion), "{assertion}: {message}");
        }
    });
}
