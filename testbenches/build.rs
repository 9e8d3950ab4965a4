// SPDX-License-Identifier: MIT
//! Compiles the part of Verilator's run time that the crate `verilated` needs and leaves out.
//!
//! The RTL itself is Verilated when it is first wanted: see `src/build`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=VERILATOR_ROOT");
    #[cfg(feature = "rtl")]
    threads();
}

#[cfg(feature = "rtl")]
fn threads() {
    use std::path::PathBuf;
    use std::process::Command;
    use std::{env, process};

    let of_command = || {
        let output = Command::new("verilator").args(["--getenv", "VERILATOR_ROOT"]).output();
        let output = output.unwrap_or_else(|error| {
            println!("cargo::error=cannot run verilator ({error}): install it with `apt-get install verilator`, or build without the feature `rtl`");
            process::exit(1);
        });
        PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
    };
    let root = env::var_os("VERILATOR_ROOT").map_or_else(of_command, PathBuf::from);
    let include = root.join("include");
    cc::Build::new()
        .cpp(true)
        .std("gnu++17")
        .warnings(false)
        .include(&include)
        .include(include.join("vltstd"))
        .file(include.join("verilated_threads.cpp"))
        .compile("pimlico_verilated_threads");
}
