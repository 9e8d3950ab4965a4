// SPDX-License-Identifier: MIT
//! The C++ compiler.

use super::BuildError;
use super::cache::Digest;
use super::coverage;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, thread};

/// What Verilated code includes of ours, beside it.
pub const SHIM: (&str, &str) = ("pimlico.h", include_str!("../../shim/pimlico.h"));

/// What all Verilated code includes. GCC compiles it once: to read it takes longer than to compile a small unit. Others read
/// the text each time: what Clang compiles of it is good for the folder alone in which it is made, and this one is made under
/// another name than it has in the end.
const HEADER: (&str, &str) = (
    "verilated_unit.h",
    "#include <cstring>\n#include <new>\n#include \"verilated.h\"\n#include \"verilated_syms.h\"\n#include \"verilated_vcd_c.h\"\n",
);

/// Verilator's sources for the time of the run, beside those of coverage.
const RUNTIME: [&str; 4] =
    ["verilated.cpp", "verilated_vcd_c.cpp", "verilated_threads.cpp", "verilated_dpi.cpp"];

/// Passes of GCC that take 30 to 40 % of the time that -O1 takes for large units. They make most units some 5 % faster, and a
/// channel of 32 banks by up to a quarter.
const SLOW_PASSES: [&str; 4] =
    ["-fno-tree-dominator-opts", "-fno-tree-dse", "-fno-tree-fre", "-fno-tree-pta"];

/// For a shared library, whose names are its own.
const SHARED: [&str; 2] = ["-shared", "-Wl,-Bsymbolic"];

/// What a library of a compiler other than GCC is linked with: Clang asks it whether an atomic value has locks, GCC knows.
const ATOMIC: &str = "-latomic";

/// The compiler that `CXX` names, or `c++`, with the flags of `CXXFLAGS` before its own.
pub struct Compiler {
    program: OsString,
    version: String,
    is_gcc: bool,
    flags: Vec<String>,
    /// Verilator's headers and sources.
    include: PathBuf,
}

impl Compiler {
    /// Finds it.
    pub fn find(include: &Path) -> Result<Self, BuildError> {
        let program = env::var_os("CXX").unwrap_or_else(|| "c++".into());
        let output = Command::new(&program).arg("--version").output();
        let output = output.map_err(|e| {
            let name = program.to_string_lossy();
            BuildError::Tool(format!(
                "cannot run {name} ({e}): install a C++ compiler with `apt-get install g++`"
            ))
        })?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        // A debug build simulates less than is compiled for it: at -O1 that takes half the time. So does the C++ that
        // counts, which is the larger by far.
        let is_quick = cfg!(debug_assertions) || coverage::COUNTED;
        let own = env::var("CXXFLAGS").unwrap_or_default();
        let mut flags: Vec<String> = own.split_whitespace().map(str::to_owned).collect();
        flags.push(if is_quick { "-O1" } else { "-O2" }.to_owned());
        let is_gcc = version.contains("Free Software Foundation");
        if is_quick && is_gcc {
            flags.extend(SLOW_PASSES.map(str::to_owned));
        }
        let fixed =
            ["-std=gnu++17", "-fPIC", "-fvisibility=hidden", "-pthread", "-w", "-DVM_TRACE=1"];
        flags.extend(fixed.map(str::to_owned));
        // What Verilated code prints, a failed assertion for instance, goes to standard error.
        flags.push("-DVL_PRINTF(...)=fprintf(stderr,__VA_ARGS__)".to_owned());
        if coverage::COUNTED {
            flags.push("-DVM_COVERAGE=1".to_owned());
        }
        Ok(Self { program, version, is_gcc, flags, include: include.to_owned() })
    }

    /// What its output depends on beside its input.
    pub fn add_to(&self, digest: Digest) -> Digest {
        let digest = digest.add(self.program.as_encoded_bytes()).add(&self.version);
        self.flags.iter().fold(digest, Digest::add).add(SHIM.1).add(HEADER.1)
    }

    /// Verilator's run time in `folder`: its objects, and its headers, of GCC in its own form too. All are compiled at the same
    /// time.
    pub fn runtime(&self, folder: &Path) -> Result<(), BuildError> {
        let header = folder.join(HEADER.0);
        fs::write(&header, HEADER.1).map_err(BuildError::file(&header))?;
        let precompile = self.is_gcc.then(|| {
            let mut precompile = self.command();
            precompile.args(["-x", "c++-header"]).arg(&header);
            precompile.arg("-o").arg(folder.join(format!("{}.gch", HEADER.0)));
            precompile
        });
        let counts = coverage::COUNTED.then_some("verilated_cov.cpp");
        let objects = RUNTIME.into_iter().chain(counts).map(|source| {
            let mut compile = self.command();
            compile.arg("-c").arg(self.include.join(source));
            compile.arg("-o").arg(folder.join(source).with_extension("o"));
            compile
        });
        let commands: Vec<Command> = precompile.into_iter().chain(objects).collect();
        thread::scope(|scope| {
            let compile = |command| scope.spawn(|| run(command, "Verilator's run time"));
            let running: Vec<_> = commands.into_iter().map(compile).collect();
            let ended = running.into_iter().map(|thread| thread.join());
            ended
                .into_iter()
                .try_for_each(|ended| ended.expect("a compiler's thread does not panic"))
        })
    }

    /// An object of a source, which may include the files of the folder `generated`; `runtime` is that of the run time.
    pub fn object(
        &self,
        source: &Path,
        generated: &Path,
        runtime: &Path,
        object: &Path,
        name: &str,
    ) -> Result<(), BuildError> {
        let mut command = self.command_for(generated, runtime);
        command.arg("-c").arg(source).arg("-o").arg(object);
        run(command, name)
    }

    /// A shared library of a source, which may include the same, and of the run time.
    pub fn library(
        &self,
        source: &Path,
        generated: &Path,
        runtime: &Path,
        library: &Path,
        name: &str,
    ) -> Result<(), BuildError> {
        let mut command = self.command_for(generated, runtime);
        command.args(SHARED).arg(source).args(self.linked(runtime)?).arg("-o").arg(library);
        run(command, name)
    }

    /// The same of objects.
    pub fn link(
        &self,
        objects: &[PathBuf],
        runtime: &Path,
        library: &Path,
        name: &str,
    ) -> Result<(), BuildError> {
        let mut command = self.command();
        command.args(SHARED).args(objects).args(self.linked(runtime)?).arg("-o").arg(library);
        run(command, name)
    }

    /// What every library is linked with: the run time in a folder, and what the compiler's own code wants.
    fn linked(&self, runtime: &Path) -> Result<Vec<OsString>, BuildError> {
        let objects = objects(runtime)?.into_iter().map(PathBuf::into_os_string);
        let atomic = (!self.is_gcc).then(|| ATOMIC.into());
        Ok(objects.chain(atomic).collect())
    }

    /// With the flags and folders of all.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.flags).arg("-I").arg(&self.include);
        command.arg("-I").arg(self.include.join("vltstd"));
        command
    }

    /// For a source of Verilated code, which may include what is in the folder `generated`.
    fn command_for(&self, generated: &Path, runtime: &Path) -> Command {
        let mut command = self.command();
        command.arg("-include").arg(runtime.join(HEADER.0)).arg("-I").arg(generated);
        command
    }
}

/// The objects in a folder.
fn objects(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    let failed = BuildError::file(folder);
    let entries = fs::read_dir(folder).map_err(&failed)?;
    let files = entries.map(|entry| Ok(entry.map_err(&failed)?.path()));
    let mut files = files.collect::<Result<Vec<PathBuf>, BuildError>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "o"));
    files.sort();
    Ok(files)
}

fn run(mut command: Command, name: &str) -> Result<(), BuildError> {
    let tool = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.map_err(|error| BuildError::Tool(format!("cannot run {tool}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().find(|line| line.contains("error")).or(text.lines().next());
    let message = first.unwrap_or("it says nothing").to_owned();
    Err(BuildError::Refused { tool, name: name.to_owned(), message })
}
