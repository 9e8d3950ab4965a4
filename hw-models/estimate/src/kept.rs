// SPDX-License-Identifier: MIT
//! Results that stand in the repository, each with a digest of what it is of, so that no tool is needed where
//! that has not changed: `hierarchy.json`, the parts of the rank, and `netlists.json`, what synthesis makes
//! of them. `scripts/estimate clock --keep` writes both.

use crate::cache::{Hash, netlist_scripts};
use crate::hierarchy::Part;
use crate::memory::Memory;
use crate::{Area, Library, PYOSYS, UnitSpec, rtl};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

static HIERARCHY: &str = include_str!("../kept/hierarchy.json");
static NETLISTS: &str = include_str!("../kept/netlists.json");

/// The folder of the files, in the tree that the program was built from.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kept")
}

/// The parts of the rank, and the RTL that they are of.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Hierarchy {
    /// Of all sources.
    pub digest: String,
    /// The parts.
    pub parts: Vec<Part>,
}

impl Hierarchy {
    /// What is kept.
    pub fn kept() -> Self {
        serde_json::from_str(HIERARCHY).expect("a kept hierarchy")
    }

    /// Parts of the present RTL.
    pub fn new(parts: Vec<Part>) -> Self {
        Self { digest: short(rtl::digest(&rtl::sources())), parts }
    }

    /// The parts, if they are of the present RTL.
    pub fn present(self) -> Option<Vec<Part>> {
        let present = short(rtl::digest(&rtl::sources()));
        (self.digest == present).then_some(self.parts)
    }

    /// Writes it.
    pub fn write(&self) -> io::Result<()> {
        let parts = lines(&self.parts);
        let text = format!("{{\n\"digest\": \"{}\",\n\"parts\": [{parts}]\n}}\n", self.digest);
        std::fs::write(folder().join("hierarchy.json"), text)
    }
}

/// What a netlist takes, with cells sized for their loads.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Netlist {
    /// The unit.
    pub unit: String,
    /// Of its sources, its parameters, and the flow.
    pub digest: String,
    /// Gate equivalents.
    pub ge: f64,
    /// Flip-flops and latches.
    pub flip_flops: u64,
    /// The shortest clock period in FO4.
    pub period_fo4: f64,
    /// Its memories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Memory>,
}

impl Netlist {
    /// Of an area with timing, in a library of so many ns an FO4.
    pub fn new(spec: &UnitSpec, area: &Area, fo4_ns: f64) -> Option<Self> {
        // So many digits as two runs have in common.
        let round = |value: f64| (value * 10.0).round() / 10.0;
        Some(Self {
            unit: spec.unit.clone(),
            digest: digest(spec),
            ge: round(area.ge),
            flip_flops: area.flip_flops,
            period_fo4: round(area.timing.as_ref()?.period_ns / fo4_ns),
            memories: area.memories.clone(),
        })
    }
}

/// Netlists in a library.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Netlists {
    /// Name of the library.
    pub library: String,
    /// Of what the library says.
    pub library_digest: String,
    /// The netlists, by unit.
    pub netlists: Vec<Netlist>,
}

impl Netlists {
    /// What is kept.
    pub fn kept() -> Self {
        serde_json::from_str(NETLISTS).expect("kept netlists")
    }

    /// Netlists in a library.
    pub fn new(library: &Library, mut netlists: Vec<Netlist>) -> Self {
        netlists.sort_by(|a, b| a.unit.cmp(&b.unit));
        netlists.dedup();
        let library_digest = library_digest(library);
        Self { library: library.name.clone(), library_digest, netlists }
    }

    /// Whether they are in this library.
    pub fn are_in(&self, library: &Library) -> bool {
        self.library_digest == library_digest(library)
    }

    /// The netlist of a unit, if it is of the present RTL and flow.
    pub fn present(&self, spec: &UnitSpec) -> Option<&Netlist> {
        let digest = digest(spec);
        let is_it = |netlist: &&Netlist| netlist.unit == spec.unit && netlist.digest == digest;
        self.netlists.iter().find(is_it)
    }

    /// Writes them.
    pub fn write(&self) -> io::Result<()> {
        let Self { library, library_digest, netlists } = self;
        let netlists = lines(netlists);
        let text = format!(
            "{{\n\"library\": \"{library}\",\n\"library_digest\": \"{library_digest}\",\n\
             \"netlists\": [{netlists}]\n}}\n"
        );
        std::fs::write(folder().join("netlists.json"), text)
    }
}

/// A line for each entry.
fn lines(entries: &[impl Serialize]) -> String {
    let line = |entry| format!("\n{}", serde_json::to_string(entry).expect("plain data"));
    entries.iter().map(line).collect::<Vec<_>>().join(",")
}

/// The first digits of a digest, which tell it from any other here.
fn short(digest: String) -> String {
    digest.chars().take(16).collect()
}

/// Of what a netlist is made of: sources, parameters, and what is done with them in any library.
pub fn digest(spec: &UnitSpec) -> String {
    let mut hash = Hash::default();
    hash.add(rtl::digest(&rtl::closure(&rtl::sources(), &spec.module)).as_bytes());
    hash.add(PYOSYS.as_bytes());
    hash.add(netlist_scripts(spec).as_bytes());
    short(hash.name())
}

fn library_digest(library: &Library) -> String {
    let mut hash = Hash::default();
    hash.add(&library.text);
    short(hash.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    const RENEW: &str = "run `scripts/estimate clock --keep`";

    #[test]
    fn the_kept_hierarchy_is_of_the_present_rtl() {
        assert!(Hierarchy::kept().present().is_some(), "{RENEW}");
    }

    #[test]
    fn every_kept_netlist_is_of_the_present_rtl() {
        let kept = Netlists::kept();
        let plan = clock::plan(&Hierarchy::kept().parts).expect("a clock of every module");
        let units: Vec<UnitSpec> = plan.into_iter().map(|unit| unit.spec).collect();
        let stale: Vec<_> = units.iter().filter(|spec| kept.present(spec).is_none()).collect();
        let names: Vec<_> = stale.iter().map(|spec| spec.unit.as_str()).collect();
        assert!(stale.is_empty(), "{names:?}: {RENEW}");
        let others = kept.netlists.iter().filter(|n| !units.iter().any(|u| u.unit == n.unit));
        assert_eq!(others.map(|netlist| &netlist.unit).collect::<Vec<_>>(), [""; 0], "{RENEW}");
    }

    #[test]
    fn a_file_has_a_line_for_each_entry_and_comes_back() {
        let kept = Hierarchy::kept();
        let text = format!("[{}]", lines(&kept.parts));
        assert_eq!(serde_json::from_str::<Vec<Part>>(&text).expect("parts"), kept.parts);
        assert_eq!(text.lines().count(), kept.parts.len() + 1);
    }
}
