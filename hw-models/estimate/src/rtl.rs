// SPDX-License-Identifier: MIT
//! The RTL that is synthesised: that of the tree from which the program was built, or of a folder.

use crate::hash::Hash;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

static RTL: pimlico_rtl::Sources = pimlico_rtl::sources!();

/// Files and what they hold, each after those that it uses. A file is named as its module.
pub type Sources<'a> = Vec<(&'a Path, &'a [u8])>;

/// The sources that `pimlico.f` lists, in its order, without the checkers.
pub fn sources() -> Sources<'static> {
    let of_synthesis = RTL.iter().filter(|(path, _)| is_synthesised(path));
    of_synthesis.map(|(path, text)| (Path::new(path), text.as_bytes())).collect()
}

/// The SHA-256 of the tree's RTL, checkers and comments included.
pub fn sha256() -> String {
    pimlico_rtl::sha256(RTL)
}

/// The sources of a folder that has a `pimlico.f`, as the tree's `rtl` has.
#[derive(Clone, Debug)]
pub struct Files(Vec<(PathBuf, Vec<u8>)>);

/// A folder has no RTL.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", file.display())]
pub struct NoFile {
    /// The file that is missing, or that cannot be read.
    pub file: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Files {
    /// Reads them.
    pub fn read(folder: &Path) -> Result<Self, NoFile> {
        let read = |path: &str| {
            let file = folder.join(path);
            std::fs::read(&file).map_err(|error| NoFile { file, error })
        };
        let list = read("pimlico.f")?;
        let list = String::from_utf8_lossy(&list);
        let files = synthesised(&list).map(|path| Ok((PathBuf::from(path), read(path)?)));
        Ok(Self(files.collect::<Result<_, _>>()?))
    }

    /// What they hold.
    pub fn sources(&self) -> Sources<'_> {
        self.0.iter().map(|(path, contents)| (path.as_path(), contents.as_slice())).collect()
    }
}

/// The paths in a list of sources, without the checkers, which are empty in synthesis.
fn synthesised(list: &str) -> impl Iterator<Item = &str> {
    list.lines().filter_map(|line| line.strip_prefix("rtl/")).filter(|path| is_synthesised(path))
}

fn is_synthesised(path: &str) -> bool {
    path.ends_with(".sv") && !path.ends_with("_checks.sv")
}

/// The end of a module's ports.
const END_OF_PORTS: &[u8] = b"\n);\n";

/// Writes sources to a folder; returns the files. Of a module that is a part for itself the ports alone: Yosys would
/// elaborate what is in each of its instances, for nothing.
pub fn write(
    sources: &Sources<'_>,
    folder: &Path,
    is_part: impl Fn(&str) -> bool,
) -> io::Result<Vec<PathBuf>> {
    let write = |(path, contents): &(&Path, &[u8])| {
        let file = folder.join(path.file_name().expect("a file"));
        let module = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let end = contents.windows(END_OF_PORTS.len()).position(|text| text == END_OF_PORTS);
        match end.filter(|_| is_part(module)) {
            Some(at) => {
                let ports = &contents[..at + END_OF_PORTS.len()];
                std::fs::write(&file, [ports, b"endmodule\n"].concat())?;
            }
            None => std::fs::write(&file, contents)?,
        }
        Ok(file)
    };
    sources.iter().map(write).collect()
}

/// The source of a module.
fn text<'a>(sources: &Sources<'a>, module: &str) -> Option<&'a str> {
    let named = |(path, _): &&(&Path, &[u8])| path.file_stem() == Some(module.as_ref());
    std::str::from_utf8(sources.iter().find(named)?.1).ok()
}

/// Whether there is a module of this name.
pub(crate) fn has_module(sources: &Sources<'_>, name: &str) -> bool {
    let head = format!("module {name} ");
    text(sources, name).is_some_and(|text| code(text).any(|line| line.starts_with(&head)))
}

/// Of these values those of parameters that a module declares and that are not their defaults. A default is a
/// number or another parameter; any other is none.
pub fn overrides(
    sources: &Sources<'_>,
    module: &str,
    values: &BTreeMap<String, i64>,
) -> Option<BTreeMap<String, i64>> {
    let declared = code(text(sources, module)?).filter_map(|line| {
        let (_, declaration) = line.split_once("parameter ")?;
        let (name, default) = declaration.split_once('=')?;
        let default = default.trim().trim_end_matches(',').trim();
        Some((name.split_whitespace().next_back()?, default))
    });
    let declared: BTreeMap<&str, &str> = declared.collect();
    let number = |text: &str| text.strip_prefix("1'b").unwrap_or(text).parse::<i64>().ok();
    let default = |name: &str| {
        let default = *declared.get(name)?;
        number(default)
            .or_else(|| values.get(default).copied().or_else(|| number(declared.get(default)?)))
    };
    let is_override =
        |name: &str, value| declared.contains_key(name) && default(name) != Some(value);
    let overrides = values.iter().filter(|(name, value)| is_override(name, **value));
    Some(overrides.map(|(name, value)| (name.clone(), *value)).collect())
}

/// Code without its comments and the space around its lines: what a netlist depends on.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    lines.map(str::trim).filter(|line| !line.is_empty())
}

/// The sources that a module is made of: its own, and those of all that is named in them.
pub fn closure<'a>(sources: &Sources<'a>, module: &str) -> Sources<'a> {
    let mut needed = BTreeSet::from([module.to_owned()]);
    let mut open = vec![module.to_owned()];
    while let Some(text) = open.pop().map(|module| text(sources, &module).unwrap_or_default()) {
        let words = code(text).flat_map(|line| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned)
        });
        let words: BTreeSet<String> = words.collect();
        for (path, _) in sources {
            let Some(name) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
            if words.contains(name) && needed.insert(name.to_owned()) {
                open.push(name.to_owned());
            }
        }
    }
    let is_needed = |path: &Path| {
        path.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| needed.contains(stem))
    };
    sources.iter().copied().filter(|(path, _)| is_needed(path)).collect()
}

/// A digest of the code of sources, comments aside.
pub fn digest(sources: &Sources<'_>) -> String {
    let mut hash = Hash::default();
    for (path, contents) in sources {
        hash.add(path.as_os_str().as_encoded_bytes());
        let code: Vec<&str> = code(std::str::from_utf8(contents).unwrap_or_default()).collect();
        hash.add(code.join("\n").as_bytes());
    }
    hash.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_there_once() {
        let sources = sources();
        let names: Vec<_> = sources.iter().filter_map(|(path, _)| path.file_name()).collect();
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        assert!(names.contains(&"bank_pu.sv".as_ref()));
        assert!(!names.contains(&"bank_pu_checks.sv".as_ref()));
    }

    #[test]
    fn a_module_is_known_by_its_name_and_a_package_is_none() {
        let has = |name| has_module(&sources(), name);
        assert!(has("systolic_cell") && has("bank_pu"));
        assert!(!has("fp_pkg") && !has("systolic") && !has("bank_pu_checks"));
    }

    #[test]
    fn the_folder_of_the_tree_has_what_is_built_in() {
        let files = Files::read(Path::new(pimlico_rtl::FOLDER)).expect("the RTL");
        assert_eq!(digest(&files.sources()), digest(&sources()));
        let none = tempfile::tempdir().expect("a folder");
        let missing = Files::read(none.path()).expect_err("no list");
        assert_eq!(missing.file, none.path().join("pimlico.f"));
        std::fs::write(none.path().join("pimlico.f"), "rtl/prim/pipe.sv\n").expect("written");
        let missing = Files::read(none.path()).expect_err("no source");
        assert_eq!(missing.file, none.path().join("prim/pipe.sv"));
    }

    #[test]
    fn a_module_is_made_of_what_is_named_in_it_and_in_that() {
        let names = |module: &str| {
            let closure = closure(&sources(), module);
            closure.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names("skid_buffer"), ["prim/skid_buffer.sv"]);
        let bank_pu = names("bank_pu");
        for part in ["prim/clock_gate.sv", "arith/fp_mul.sv", "arith/full_adder.sv"] {
            assert!(bank_pu.contains(&part.to_owned()), "{part}");
        }
        assert!(!bank_pu.contains(&"rank/sequencer.sv".to_owned()));
        let pim_module = names("pim_module");
        assert!(bank_pu.iter().all(|file| pim_module.contains(file)));
    }

    #[test]
    fn a_digest_is_of_the_code_and_not_of_its_comments() {
        let of = |text: &str| digest(&vec![(Path::new("a.sv"), text.as_bytes())]);
        assert_eq!(
            of("module a; // x\n  wire b;\nendmodule"),
            of("// y\nmodule a;\nwire b;\n\nendmodule")
        );
        assert_ne!(of("wire b;"), of("wire c;"));
    }

    #[test]
    fn overrides_are_what_is_declared_and_not_a_default() {
        let sources = sources();
        let of = |module, values: &[(&str, i64)]| {
            let values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
            let overrides = overrides(&sources, module, &values)?;
            Some(overrides.into_iter().collect::<Vec<_>>())
        };
        let width = |width| vec![("WIDTH".to_owned(), width)];
        assert_eq!(of("fifo", &[("WIDTH", 8), ("DEPTH", 16), ("INDEX_BITS", 4)]), Some(vec![]));
        assert_eq!(of("fifo", &[("WIDTH", 9), ("DEPTH", 16)]), Some(width(9)));
        assert_eq!(of("pipe", &[("WIDTH", 2), ("ENABLED", 1)]), Some(width(2)));
        assert_eq!(of("bank_pu", &[("EXP_BITS", 5), ("SUM_EXP_BITS", 5)]), Some(vec![]));
        assert_eq!(of("bank_pu", &[("SUM_EXP_BITS", 5)]), Some(vec![]));
        let wide = of("bank_pu", &[("EXP_BITS", 5), ("SUM_EXP_BITS", 8)]);
        assert_eq!(wide, Some(vec![("SUM_EXP_BITS".to_owned(), 8)]));
        assert_eq!(of("nonesuch", &[]), None);
    }
}
