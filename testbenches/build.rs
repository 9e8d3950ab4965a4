// SPDX-License-Identifier: MIT
//! Verilates every unit of `pimlico-units` and compiles the result, with a binding, into one library.
//!
//! The structs and enums of the models are checked against the RTL's package. For each unit: Verilator
//! makes C++ of the RTL; its ports and probed registers are checked against the unit's declaration; a
//! binding is generated that moves all of them at once; one translation unit holds it all. Verilator runs
//! only where a source of the unit has changed, the compiler only where Verilator's output has.

#[cfg(feature = "rtl")]
#[path = "build/binding.rs"]
mod binding;
#[cfg(feature = "rtl")]
#[path = "build/coverage.rs"]
mod coverage;
#[cfg(feature = "rtl")]
#[path = "build/header.rs"]
mod header;
#[cfg(feature = "rtl")]
#[path = "build/inputs.rs"]
mod inputs;
#[cfg(feature = "rtl")]
#[path = "build/lanes.rs"]
mod lanes;
#[cfg(feature = "rtl")]
#[path = "build/library.rs"]
mod library;
#[cfg(feature = "rtl")]
#[path = "build/objects.rs"]
mod objects;
#[cfg(feature = "rtl")]
#[path = "build/package.rs"]
mod package;
#[cfg(feature = "rtl")]
#[path = "build/source.rs"]
mod source;
#[cfg(feature = "rtl")]
#[path = "build/verilate.rs"]
mod verilate;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=shim");
    println!("cargo::rerun-if-env-changed=PIMLICO_RTL");
    println!("cargo::rerun-if-env-changed=PIMLICO_UNITS");
    println!("cargo::rerun-if-env-changed=RUSTC_WORKSPACE_WRAPPER");
    #[cfg(feature = "rtl")]
    if !is_clippy() {
        build();
    }
}

/// Clippy links nothing, so that it needs no library.
#[cfg(feature = "rtl")]
fn is_clippy() -> bool {
    let wrapper = std::env::var_os("RUSTC_WORKSPACE_WRAPPER").map(std::path::PathBuf::from);
    wrapper.is_some_and(|wrapper| wrapper.file_stem().is_some_and(|name| name == "clippy-driver"))
}

#[cfg(feature = "rtl")]
fn build() {
    use std::path::{Path, PathBuf};

    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    // Another RTL than ours can be put to the test: one's own, or one with a fault in it.
    let rtl =
        std::env::var_os("PIMLICO_RTL").map_or(PathBuf::from(pimlico_rtl::FOLDER), PathBuf::from);
    let verilator = verilate::Verilator::find(&rtl).unwrap_or_else(|error| fail(&error));
    println!("cargo::rerun-if-changed={}", rtl.display());
    let sources = verilate::sources(&rtl).unwrap_or_else(|error| fail(&error));
    let mut units = pimlico_units::units();
    let differences = package::differences(&units, pimlico_units::TYPES, &sources, &out);
    let differences = differences.unwrap_or_else(|error| fail(&error));
    if !differences.is_empty() {
        let list = differences.join("\n  ");
        fail(&format!("rtl and hw-models declare types differently:\n  {list}"));
    }

    // For work on a few modules, named with commas between them: the others are not there, and whoever asks for
    // one panics.
    if let Ok(modules) = std::env::var("PIMLICO_UNITS") {
        units.retain(|unit| modules.split(',').any(|module| module == unit.module));
    }

    // The tests simulate less than is compiled for them: at -O1 that takes half the time.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let mut compiler = cc::Build::new();
    compiler
        .cpp(true)
        .std("gnu++17")
        .opt_level(if is_release { 2 } else { 1 })
        .debug(false)
        .warnings(false)
        .define("VM_TRACE", "1")
        .include("shim")
        .include(verilator.include())
        .include(verilator.include().join("vltstd"));
    if coverage::COUNTED {
        // Its C++ is the larger by far: less is spent on each line of it.
        compiler.define("VM_COVERAGE", "1").opt_level(1);
    }
    let sources = inputs::Sources::read(sources).unwrap_or_else(|error| fail(&error));
    // What a design has many of comes first: the design is made around it.
    let libraries = library::libraries(&units, &out);
    let jobs = libraries.iter().map(|library| library.job(&sources)).collect::<Result<Vec<_>, _>>();
    let jobs = jobs.unwrap_or_else(|error| fail(&error));
    verilator.run_all(&jobs, &out).unwrap_or_else(|error| fail(&error));

    let own = units.iter().map(|unit| verilate::job(unit, &sources, &libraries, &out));
    let lanes = units.iter().filter(|unit| lanes::has(unit));
    let lanes = lanes.map(|unit| lanes::job(unit, &sources, &out));
    let jobs = own.chain(lanes).collect::<Result<Vec<_>, _>>();
    let jobs = jobs.unwrap_or_else(|error| fail(&error));
    verilator.run_all(&jobs, &out).unwrap_or_else(|error| fail(&error));

    let mut dirs = Vec::new();
    for library in &libraries {
        let dir = out.join(&library.name);
        write(&dir.join(objects::SOURCE), library.translation_unit(&dir));
        dirs.push(dir);
    }
    for unit in &units {
        let name = binding::identifier(unit);
        let dir = out.join(&name);
        let verilated = header::Verilated::read(&dir, &name, &binding::scope(unit));
        let differences = verilated.differences(unit);
        if !differences.is_empty() {
            let list = differences.join("\n  ");
            fail(&format!("rtl and hw-models declare {} differently:\n  {list}", unit.name));
        }
        write(&dir.join(objects::SOURCE), binding::translation_unit(unit, &dir));
        dirs.push(dir);
    }
    for unit in units.iter().filter(|unit| lanes::has(unit)) {
        let dir = out.join(lanes::identifier(unit));
        write(&dir.join(objects::SOURCE), lanes::translation_unit(unit, &dir));
        dirs.push(dir);
    }
    let table = out.join("table.cpp");
    write(&table, binding::table(&units) + &lanes::table(&units));
    let objects = objects::compile(&compiler, Path::new("shim"), &dirs);
    if coverage::COUNTED {
        compiler.file(verilator.include().join("verilated_cov.cpp"));
    }
    compiler
        .file(verilator.include().join("verilated_threads.cpp"))
        .file(verilator.include().join("verilated_dpi.cpp"))
        .file(table)
        .objects(objects)
        .compile("pimlico_rtl");
}

#[cfg(feature = "rtl")]
fn write(file: &std::path::Path, text: String) {
    std::fs::write(file, text).expect("OUT_DIR is writable");
}

/// Ends the build with a message.
#[cfg(feature = "rtl")]
fn fail(message: &str) -> ! {
    println!("cargo::error={}", message.replace('\n', " "));
    eprintln!("{message}");
    std::process::exit(1);
}
