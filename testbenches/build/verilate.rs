// SPDX-License-Identifier: MIT
//! Finding and running Verilator.

use crate::inputs::{self, Sources, Stamp};
use crate::library::{self, Library};
use crate::{binding, coverage};
use pimlico_ports::UnitInfo;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

/// The oldest Verilator that the generated code is known to work with.
const OLDEST: (u32, u32) = (5, 6);

/// What is to be Verilated.
pub struct Module<'a> {
    pub name: String,
    pub parameters: &'a [(&'a str, i64)],
    /// Verilator's configuration file.
    pub configuration: String,
    /// Options of its own.
    pub options: &'a [&'a str],
    /// It becomes a library of this name.
    pub library: Option<&'a str>,
    /// It has another module many times.
    pub repeats: bool,
    /// The files that it is made of, in order.
    pub sources: Vec<PathBuf>,
}

impl Default for Module<'_> {
    fn default() -> Self {
        let configuration = "`verilator_config\n".to_owned();
        Self {
            name: String::new(),
            parameters: &[],
            configuration,
            options: &[],
            library: None,
            repeats: false,
            sources: Vec::new(),
        }
    }
}

/// An installed Verilator.
pub struct Verilator {
    root: PathBuf,
    version: String,
    /// The folder of the RTL, to which the names of included files are relative.
    rtl: PathBuf,
}

impl Verilator {
    /// The one that `VERILATOR_ROOT` names, or the one on the path.
    pub fn find(rtl: &Path) -> Result<Self, String> {
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
        Ok(Self { root, version, rtl: rtl.to_owned() })
    }

    /// Where Verilator's headers and run-time sources are.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Makes C++ of modules, each in the folder of its name in `out`, as many at a time as cargo allows.
    pub fn run_all(&self, jobs: &[(Module<'_>, String)], out: &Path) -> Result<(), String> {
        let at_a_time = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(Ok(())));
        let work = || {
            while let Some((module, name)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                if let Err(error) = self.run(module, name, &out.join(name)) {
                    next.store(jobs.len(), Ordering::Relaxed);
                    *failed.lock().expect("nobody panics with it") = Err(error);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..at_a_time {
                scope.spawn(work);
            }
        });
        failed.into_inner().expect("nobody panics with it")
    }

    /// Makes C++ of a module in `dir`, every class being prefixed with `V{name}`. What is there already
    /// stays if nothing that it was made from has changed.
    fn run(&self, module: &Module<'_>, name: &str, dir: &Path) -> Result<(), String> {
        let Module { name: module, parameters, configuration, options, library, repeats, sources } =
            module;
        // Registers hold random bits before the reset, so that one that it misses shows. Of those without
        // reset the units' benches know when they count; those of a rank or channel begin where the models' do.
        let is_design = library::of(module).is_some() || library.is_some();
        let initial = if is_design { "0" } else { "unique" };
        let mut arguments: Vec<String> = ["--cc", "--trace", "--assert", "-O3", "-Wall"]
            .into_iter()
            // Assertions read the reset at a clock's edge; scripts/lint holds the design to the rule.
            .chain(["-Wno-SYNCASYNCNET"])
            .chain(["--x-assign", "unique", "--x-initial", initial])
            .chain(["--timescale-override", "1ps/1ps"])
            .chain(repeats.then_some("-fno-gate"))
            .chain(library.iter().flat_map(|name| ["--lib-create", *name]))
            .chain(options.iter().copied())
            .chain(["--prefix", &format!("V{name}"), "--top-module", module])
            .map(str::to_owned)
            .collect();
        arguments.push(format!("+incdir+{}", self.rtl.display()));
        arguments.extend(parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
        arguments.extend(sources.iter().map(|source| source.display().to_string()));

        let stamp = Stamp::of(dir);
        let made_with = [&arguments[..], &[configuration.clone(), self.version.clone()]].concat();
        if stamp.holds(&made_with) {
            return Ok(());
        }
        stamp.remove();
        let _ = fs::remove_dir_all(dir);
        fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        let file = dir.join("configuration.vlt");
        fs::write(&file, configuration).map_err(|e| e.to_string())?;
        let mut command = Command::new("verilator");
        command.arg("--Mdir").arg(dir).arg(file).args(&arguments);
        let output = command.output().map_err(|e| format!("cannot run verilator: {e}"))?;
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(format!("verilator rejects {name}:\n{messages}"));
        }
        let list = dir.join(format!("V{name}__ver.d"));
        let list = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
        stamp.write(&made_with, &inputs::dependencies(&list))
    }
}

/// How a unit is made, and in which folder.
pub fn job(
    unit: &UnitInfo,
    sources: &Sources,
    libraries: &[Library],
    out: &Path,
) -> Result<(Module<'static>, String), String> {
    let configuration = probe_configuration(unit) + &coverage::left_out(unit, sources.files());
    let module = Module {
        name: unit.module.to_owned(),
        parameters: unit.parameters,
        configuration,
        options: coverage::options(unit),
        library: None,
        repeats: unit.module == REPEATING,
        sources: match unit.module {
            module if library::of(module).is_some() => {
                library::sources(module, sources, libraries, out)?
            }
            module => sources.of(module)?,
        },
    };
    Ok((module, binding::identifier(unit)))
}

/// The part of Verilator's version before and after the point.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.strip_prefix("Verilator ")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What is said to Verilator about a unit, without a word about it in the RTL: the probed registers are
/// visible from C++, and the checkers are not in waveforms.
fn probe_configuration(unit: &UnitInfo) -> String {
    let lines = unit.probes.iter().map(|probe| {
        format!("public_flat_rd -module \"{}\" -var \"{}\"\n", unit.probed.0, probe.name)
    });
    let repeated = match unit.module {
        module if library::of(module).is_some() => library::USER,
        REPEATING => REPEATED,
        _ => "",
    };
    let checkers = "tracing_off -file \"*_checks.sv\"\n";
    format!("`verilator_config\n{checkers}{}{repeated}", lines.collect::<String>())
}

/// Whether a module has the whole rank in it.
pub fn has_rank(module: &str) -> bool {
    ["pim_module", "pim_dimm"].contains(&module)
}

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
