// SPDX-License-Identifier: MIT
//! Finding and running Verilator.

use super::BuildError;
use super::cache::Digest;
use super::designs;
use super::inputs::Sources;
use pimlico_ports::UnitInfo;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The oldest Verilator that the generated code is known to work with.
const OLDEST: (u32, u32) = (5, 6);

/// What is to be Verilated.
#[derive(Default)]
pub struct Module<'a> {
    /// Its name.
    pub name: String,
    /// What the names of the classes have behind their `V`.
    pub prefix: String,
    /// Parameters of the module.
    pub parameters: Vec<(String, i64)>,
    /// Verilator's configuration file, without its first line.
    pub configuration: String,
    /// Options of its own.
    pub options: &'a [&'a str],
    /// Its waveforms can be written.
    pub is_traced: bool,
    /// It becomes a library of this name.
    pub library: Option<&'a str>,
    /// It has another module many times.
    pub repeats: bool,
    /// Its registers begin with zeros, and not with random bits.
    pub begins_with_zeros: bool,
    /// The files that it is made of, in order: from the folder of the sources, or generated.
    pub sources: Vec<PathBuf>,
    /// Files that were generated for it: their names, and texts. They belong to the sources, behind the others.
    pub generated: Vec<(String, String)>,
    /// It has files of the user's own, whose style is not ours.
    pub is_own: bool,
}

impl Module<'_> {
    /// What its C++ depends on, without Verilator.
    pub fn add_to(&self, mut digest: Digest, sources: &Sources) -> Digest {
        for argument in self.arguments() {
            digest = digest.add(argument);
        }
        digest = digest.add(&self.configuration);
        for (name, text) in &self.generated {
            digest = digest.add(name).add(text);
        }
        self.sources.iter().fold(digest, |digest, file| sources.add_to(digest, file))
    }

    fn arguments(&self) -> Vec<String> {
        // Registers hold random bits before the reset, so that one that it misses shows. Of those without
        // reset the units' benches know when they count; those of a rank or channel begin where the models' do.
        let initial = if self.begins_with_zeros { "0" } else { "unique" };
        let warnings: &[&str] = if self.is_own {
            &["-Wno-lint", "-Wno-style"]
        } else {
            // Assertions read the reset at a clock's edge; scripts/lint holds the design to the rule.
            &["-Wall", "-Wno-SYNCASYNCNET"]
        };
        // The compiler takes longer for one long function than for what it says in several: by half for a controller.
        let split = ["--output-split-cfuncs", "500"];
        let mut arguments: Vec<String> = ["--cc", "--assert", "-O3"]
            .into_iter()
            .chain(split)
            .chain(self.is_traced.then_some("--trace"))
            .chain(warnings.iter().copied())
            .chain(["--x-assign", "unique", "--x-initial", initial])
            .chain(["--timescale-override", "1ps/1ps"])
            .chain(self.repeats.then_some("-fno-gate"))
            .chain(self.library.iter().flat_map(|name| ["--lib-create", *name]))
            .chain(self.options.iter().copied())
            .chain(["--prefix", &format!("V{}", self.prefix), "--top-module", &self.name])
            .map(str::to_owned)
            .collect();
        arguments.extend(self.parameters.iter().map(|(name, value)| format!("-G{name}={value}")));
        arguments
    }
}

/// An installed Verilator.
pub struct Verilator {
    root: PathBuf,
    version: String,
}

impl Verilator {
    /// The one that `VERILATOR_ROOT` names, or the one on the path.
    pub fn find() -> Result<Self, BuildError> {
        let install = "install it with `apt-get install verilator`";
        let output = |argument: &str| {
            let output = Command::new("verilator").args(argument.split(' ')).output();
            let failed = |e| BuildError::Tool(format!("cannot run verilator ({e}): {install}"));
            let output = output.map_err(failed)?;
            Ok::<_, BuildError>(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let version = output("--version")?;
        if parse_version(&version).is_none_or(|found| found < OLDEST) {
            let message = format!("found {version:?}, need Verilator 5.006 or later: {install}");
            return Err(BuildError::Tool(message));
        }
        let root = match env::var_os("VERILATOR_ROOT") {
            Some(root) => PathBuf::from(root),
            None => PathBuf::from(output("--getenv VERILATOR_ROOT")?),
        };
        Ok(Self { root, version })
    }

    /// What its output depends on beside its input.
    pub fn add_to(&self, digest: Digest) -> Digest {
        digest.add(&self.version)
    }

    /// Where Verilator's headers and run-time sources are.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Makes C++ of a module in `folder`, which also gets its generated sources.
    pub fn run(
        &self,
        module: &Module<'_>,
        sources: &Sources,
        folder: &Path,
    ) -> Result<(), BuildError> {
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            fs::write(&file, text).map_err(BuildError::file(&file)).map(|()| file)
        };
        let configuration = format!("`verilator_config\n{}", module.configuration);
        let mut command = Command::new("verilator");
        // In messages files are named as `rtl/bank/bank_pu.sv`, wherever the folder is.
        let (root, name) = sources.root_and_name();
        command.current_dir(root).arg(format!("+incdir+{}", name.display()));
        command.arg("--Mdir").arg(folder);
        for own in sources.own_folders() {
            command.arg(format!("+incdir+{}", own.display()));
        }
        command.arg(write("configuration.vlt", &configuration)?).args(module.arguments());
        command.args(module.sources.iter().map(|source| name.join(source)));
        for (name, text) in &module.generated {
            command.arg(write(name, text)?);
        }
        let cannot_run = |e| BuildError::Tool(format!("cannot run verilator: {e}"));
        let output = command.output().map_err(cannot_run)?;
        if output.status.success() {
            return Ok(());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        // The first of these; a warning ends it as well.
        let is_complaint = |line: &&str| line.starts_with('%') && !line.contains("Exiting due to");
        Err(BuildError::Refused {
            tool: "verilator".to_owned(),
            name: module.name.clone(),
            message: messages.lines().find(is_complaint).unwrap_or("it says nothing").to_owned(),
        })
    }
}

/// The part of Verilator's version before and after the point.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let number = text.strip_prefix("Verilator ")?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What is said to Verilator about a unit, without a word about it in the RTL: the probed registers are
/// visible from C++, and the checkers are not in waveforms.
pub fn probe_configuration(unit: &UnitInfo) -> String {
    let lines = unit.probes.iter().map(|probe| {
        format!("public_flat_rd -module \"{}\" -var \"{}\"\n", unit.probed.0, probe.name)
    });
    let others = match unit.module {
        module if !designs::libraries_of(module).is_empty() => designs::USES_LIBRARIES,
        module => designs::repeated(module).unwrap_or_default(),
    };
    let checkers = "tracing_off -file \"*_checks.sv\"\n";
    format!("{checkers}{}{others}", lines.collect::<String>())
}
