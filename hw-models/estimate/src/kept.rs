// SPDX-License-Identifier: MIT
//! Results that stand in the repository, each with a digest of what it is of, so that no tool is needed where
//! that has not changed: `hierarchy.json`, the parts of the rank at each gear, and what synthesis makes of them
//! in two libraries, `netlists.json` and `netlists_osu035.json`. `scripts/estimate clock --keep` writes them.

use crate::area::Area;
use crate::cache::netlist_scripts;
use crate::device::Design;
use crate::hash::Hash;
use crate::hierarchy::Part;
use crate::liberty::Library;
use crate::memory::Memory;
use crate::rtl::{self, Sources};
use crate::tools::{DEFAULT_LIBRARY, PYOSYS, SECOND_LIBRARY};
use crate::unit::UnitSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

static HIERARCHY: &str = include_str!("../kept/hierarchy.json");

/// A library with whose netlists results are kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    /// Where a package installs the library.
    pub liberty: &'static str,
    file: &'static str,
    text: &'static str,
}

/// The libraries, the default one first.
pub static LIBRARIES: [Kept; 2] = [
    Kept {
        liberty: DEFAULT_LIBRARY,
        file: "netlists.json",
        text: include_str!("../kept/netlists.json"),
    },
    Kept {
        liberty: SECOND_LIBRARY,
        file: "netlists_osu035.json",
        text: include_str!("../kept/netlists_osu035.json"),
    },
];

impl Kept {
    /// The netlists.
    pub fn netlists(&self) -> Netlists {
        serde_json::from_str(self.text).expect("kept netlists")
    }

    /// The file of the netlists.
    pub fn path(&self) -> PathBuf {
        folder().join(self.file)
    }

    /// What the file of others holds.
    pub fn text_of(netlists: &Netlists) -> String {
        let Netlists { library, library_digest, netlists } = netlists;
        let netlists = lines(netlists);
        format!(
            "{{\n\"library\": \"{library}\",\n\"library_digest\": \"{library_digest}\",\n\
             \"netlists\": [{netlists}]\n}}\n"
        )
    }
}

/// The folder of the files, in the tree that the program was built from.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kept")
}

/// The parts of designs, and the RTL that they are of.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Hierarchy {
    /// Of all sources.
    digest: String,
    designs: Vec<Parts>,
}

/// The parts of a design.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Parts {
    top: String,
    parameters: BTreeMap<String, i64>,
    parts: Vec<Part>,
}

impl Hierarchy {
    /// What is kept.
    pub fn kept() -> Self {
        serde_json::from_str(HIERARCHY).expect("a kept hierarchy")
    }

    /// Parts in these sources, by design.
    pub fn new(
        sources: &Sources<'_>,
        designs: impl IntoIterator<Item = (Design, Vec<Part>)>,
    ) -> Self {
        let designs = designs.into_iter().map(|(design, parts)| {
            let (top, parameters) = (design.top().to_owned(), design.parameters());
            Parts { top, parameters, parts }
        });
        Self { digest: short(rtl::digest(sources)), designs: designs.collect() }
    }

    /// Whether it is of these sources.
    pub fn is_of(&self, sources: &Sources<'_>) -> bool {
        self.digest == short(rtl::digest(sources))
    }

    /// The parts of a design: none if it is not there.
    pub fn parts(&self, design: Design) -> &[Part] {
        let (top, parameters) = (design.top(), design.parameters());
        let is_it = |of: &&Parts| of.top == top && of.parameters == parameters;
        self.designs.iter().find(is_it).map_or(&[], |of| &of.parts)
    }

    /// Its file.
    pub fn path() -> PathBuf {
        folder().join("hierarchy.json")
    }

    /// What its file holds.
    pub fn text(&self) -> String {
        let of_design = |Parts { top, parameters, parts }: &Parts| {
            let parameters = serde_json::to_string(parameters).expect("plain data");
            let parts = lines(parts);
            format!("\n{{\"top\": \"{top}\", \"parameters\": {parameters}, \"parts\": [{parts}]}}")
        };
        let designs: Vec<_> = self.designs.iter().map(of_design).collect();
        let designs = designs.join(",");
        format!("{{\n\"digest\": \"{}\",\n\"designs\": [{designs}]\n}}\n", self.digest)
    }
}

/// What a netlist takes, with cells sized for their loads.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct NetlistFigures {
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

impl NetlistFigures {
    /// Of an area with timing, in a library of so many ns an FO4, of these sources.
    pub fn new(sources: &Sources<'_>, spec: &UnitSpec, area: &Area, fo4_ns: f64) -> Option<Self> {
        // So many digits as two runs have in common.
        let round = |value: f64| (value * 10.0).round() / 10.0;
        Some(Self {
            unit: spec.unit.clone(),
            digest: digest(sources, spec),
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
    pub netlists: Vec<NetlistFigures>,
}

impl Netlists {
    /// Netlists in a library.
    pub fn new(library: &Library, mut netlists: Vec<NetlistFigures>) -> Self {
        netlists.sort_by(|a, b| a.unit.cmp(&b.unit));
        netlists.dedup();
        let library_digest = library_digest(library);
        Self { library: library.name.clone(), library_digest, netlists }
    }

    /// Whether they are in this library.
    pub fn are_in(&self, library: &Library) -> bool {
        self.library_digest == library_digest(library)
    }

    /// The netlist of a unit, if it is of these sources and the present flow.
    pub fn present(&self, sources: &Sources<'_>, spec: &UnitSpec) -> Option<&NetlistFigures> {
        let digest = digest(sources, spec);
        let is_it =
            |netlist: &&NetlistFigures| netlist.unit == spec.unit && netlist.digest == digest;
        self.netlists.iter().find(is_it)
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
pub fn digest(sources: &Sources<'_>, spec: &UnitSpec) -> String {
    let mut hash = Hash::default();
    hash.add(rtl::digest(&rtl::closure(sources, &spec.module)).as_bytes());
    hash.add(PYOSYS.as_bytes());
    hash.add(netlist_scripts(sources, spec).as_bytes());
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
        let kept = Hierarchy::kept();
        assert!(kept.is_of(&rtl::sources()), "{RENEW}");
        assert!(Design::KEPT.iter().all(|&design| !kept.parts(design).is_empty()), "{RENEW}");
    }

    #[test]
    fn every_kept_netlist_is_of_the_present_rtl() {
        let (sources, hierarchy) = (rtl::sources(), Hierarchy::kept());
        let designs = Design::KEPT.map(|design| (design, hierarchy.parts(design)));
        let plan = clock::plan(&designs).expect("a clock of every module");
        let units: Vec<UnitSpec> = plan.into_iter().map(|unit| unit.spec).collect();
        for library in &LIBRARIES {
            let (file, kept) = (library.file, library.netlists());
            let is_stale = |spec: &&UnitSpec| kept.present(&sources, spec).is_none();
            let stale: Vec<_> = units.iter().filter(is_stale).map(|spec| &spec.unit).collect();
            assert!(stale.is_empty(), "{file}: {stale:?}: {RENEW}");
            let others = kept.netlists.iter().filter(|n| !units.iter().any(|u| u.unit == n.unit));
            let others: Vec<_> = others.map(|netlist| &netlist.unit).collect();
            assert_eq!(others, [""; 0], "{file}: {RENEW}");
        }
    }

    #[test]
    fn a_file_has_a_line_for_each_entry_and_comes_back() {
        let kept = Hierarchy::kept();
        let parts = kept.parts(Design::RANK);
        let text = format!("[{}]", lines(parts));
        assert_eq!(serde_json::from_str::<Vec<Part>>(&text).expect("parts"), parts);
        assert_eq!(text.lines().count(), parts.len() + 1);
    }
}
