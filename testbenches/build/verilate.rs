// SPDX-License-Identifier: MIT
//! Finding and running Verilator.

use pimlico_ports::UnitInfo;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest Verilator that the generated code is known to work with.
const OLDEST: (u32, u32) = (5, 6);

/// What is to be Verilated.
pub struct Module<'a> {
    pub name: &'a str,
    pub parameters: &'a [(&'a str, i64)],
    /// Verilator's configuration file.
    pub configuration: String,
    /// Options of its own.
    pub options: &'a [&'a str],
    /// It becomes a library of this name.
    pub library: Option<&'a str>,
}

impl Default for Module<'_> {
    fn default() -> Self {
        let configuration = "`verilator_config\n".to_owned();
        Self { name: "", parameters: &[], configuration, options: &[], library: None }
    }
}

/// An installed Verilator.
pub struct Verilator {
    root: PathBuf,
}

impl Verilator {
    /// The one that `VERILATOR_ROOT` names, or the one on the path.
    pub fn find() -> Result<Self, String> {
        println!("cargo::rerun-if-env-changed=VERILATOR_ROOT");
        println!("cargo::rerun-if-env-changed=PATH");
        let install = "install it with `apt-get install verilator`, or build without the feature \
                       `rtl`";
        let output = |argument: &str| {
            let output = Command::new("verilator").args(argument.split(' ')).output();
            let output = output.map_err(|e| format!("cannot run verilator ({e}): {install}"))?;
            Ok::<_, String>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let version = output("--version")?;
        match parse_version(&version) {
            Some(found) if found >= OLDEST => {}
            _ => {
                return Err(format!("found {version:?}, need Verilator 5.006 or later: {install}"));
            }
        }
        let root = match env::var_os("VERILATOR_ROOT") {
            Some(root) => PathBuf::from(root),
            None => PathBuf::from(output("--getenv VERILATOR_ROOT")?),
        };
        Ok(Self { root })
    }

    /// Where Verilator's headers and run-time sources are.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Makes C++ of a module in an empty `dir`, every class being prefixed with `V{name}`.
    pub fn run(
        &self,
        module: &Module<'_>,
        name: &str,
        sources: &[PathBuf],
        dir: &Path,
    ) -> Result<(), String> {
        let Module { name: module, parameters, configuration, options, library } = module;
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let file = dir.join("configuration.vlt");
        fs::write(&file, configuration).map_err(|e| e.to_string())?;
        // Registers hold random bits before the reset, so that one that it misses shows. Of those without
        // reset the units' benches know when they count; the rank's begins where the models' do.
        let is_rank = *module == RANK || library.is_some();
        let initial = if is_rank { "0" } else { "unique" };
        let is_repeating = *module == REPEATING || library.is_some();
        let mut command = Command::new("verilator");
        command
            .args(["--cc", "--trace", "--assert", "-O3", "-Wall"])
            .args(["--x-assign", "unique", "--x-initial", initial])
            .args(["--timescale-override", "1ps/1ps"])
            .args(if is_repeating { &["-fno-gate"][..] } else { &[] })
            .args(library.iter().flat_map(|name| ["--lib-create", *name]))
            .args(*options)
            .args(["--prefix", &format!("V{name}"), "--top-module", module])
            .arg("--Mdir")
            .arg(dir)
            .args(parameters.iter().map(|(name, value)| format!("-G{name}={value}")))
            .arg(file)
            .args(sources);
        let output = command.output().map_err(|e| format!("cannot run verilator: {e}"))?;
        if output.status.success() {
            Ok(())
        } else {
            let messages = String::from_utf8_lossy(&output.stderr);
            Err(format!("verilator rejects {name}:\n{messages}"))
        }
    }
}

/// The part of Verilator's version before and after the point.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.strip_prefix("Verilator ")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What is said to Verilator about a unit, without a word about it in the RTL: the probed registers are
/// visible from C++.
pub fn probe_configuration(unit: &UnitInfo) -> String {
    let lines = unit.probes.iter().map(|probe| {
        format!("public_flat_rd -module \"{}\" -var \"{}\"\n", unit.probed.0, probe.name)
    });
    let repeated = match unit.module {
        RANK => crate::library::USER,
        REPEATING => REPEATED,
        _ => "",
    };
    format!("`verilator_config\n{}{repeated}", lines.collect::<String>())
}

/// The whole rank.
pub const RANK: &str = "pim_module";

/// The module in which others are many times. They are compiled once each: not inlined, and without the
/// optimisation that ties an instance's inputs to the registers around it, which makes five times as much
/// C++. Neither are they in its waveforms, which would be most of what is left.
const REPEATING: &str = "pim_chip";
const REPEATED: &str = r#"no_inline -module "bank_pu"
tracing_off -file "*/arith/*.sv"
tracing_off -file "*/prim/pipe.sv"
tracing_off -file "*/bank/bank_pu.sv"
"#;

/// The RTL's sources in order: those that `pimlico.f` in `dir` lists, with `dir` for its `rtl`.
pub fn sources(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let list = dir.join("pimlico.f");
    let text = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_prefix("rtl/"))
        .map(|file| dir.join(file))
        .collect())
}
