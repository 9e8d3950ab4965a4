// SPDX-License-Identifier: MIT
//! Netlists and results that have been made before, by the content of all that they come from.

use super::stimulus::Stimulus;
use super::{Options, UnitPower};
use crate::cache::key;
use crate::hash::Hash;
use crate::liberty::Library;
use crate::rtl;
use crate::tools::{ToolError, Tools};
use crate::unit::UnitSpec;
use crate::yosys::{self, Sizing};
use std::path::{Path, PathBuf};

/// Changes with what is computed from the same netlist and workload.
const VERSION: u64 = 3;

/// A folder of netlists and results.
#[derive(Clone, Debug)]
pub struct Store(Option<PathBuf>);

impl Store {
    /// In a folder, which need not exist; or none.
    pub fn new(folder: Option<&Path>) -> Self {
        Self(folder.map(Path::to_owned))
    }

    /// A unit's netlist, synthesised unless it is there.
    pub fn netlist(
        &self,
        tools: &Tools,
        spec: &UnitSpec,
        library: &Library,
    ) -> Result<String, ToolError> {
        // What an area comes from, but for the clock.
        let sources = rtl::sources();
        let name = key(&sources, &tools.yosys, spec, library, 0.0, Sizing::AsMapped) + ".v";
        if let Some(netlist) = self.get(&name) {
            return Ok(netlist);
        }
        let folder = tempfile::tempdir().map_err(ToolError::temporary)?;
        let sizing = Sizing::AsMapped;
        let made = yosys::synthesise(tools, &sources, spec, library, folder.path(), sizing)?;
        if !made.memories.is_empty() {
            return Err(ToolError::Memories { unit: spec.unit.clone() });
        }
        let file = folder.path().join("netlist.v");
        let netlist = std::fs::read_to_string(&file).map_err(ToolError::temporary)?;
        self.put(&name, &netlist);
        Ok(netlist)
    }

    /// A result: computed unless it is there.
    pub fn power<E>(
        &self,
        netlist: &str,
        library: &Library,
        stimulus: &Stimulus,
        options: Options,
        estimate: impl FnOnce() -> Result<UnitPower, E>,
    ) -> Result<UnitPower, E> {
        let mut hash = Hash::default();
        hash.add(&VERSION.to_le_bytes());
        hash.add(netlist.as_bytes());
        hash.add(&library.text);
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        hash.add(stimulus.unit.as_bytes());
        hash.add(&bytes(stimulus.inputs.words()));
        hash.add(&bytes(stimulus.outputs.words()));
        hash.add(&bytes(stimulus.open.words()));
        let phases = stimulus.phases.iter().map(|phase| phase.map_or(255, |phase| phase as u8));
        hash.add(&phases.collect::<Vec<_>>());
        hash.add(format!("{:?} {} {options:?}", stimulus.clocks, stimulus.clock_ps).as_bytes());
        let name = hash.name() + ".json";
        let kept = self.get(&name).and_then(|text| serde_json::from_str(&text).ok());
        if let Some(power) = kept {
            return Ok(power);
        }
        let power = estimate()?;
        self.put(&name, &serde_json::to_string(&power).expect("plain data"));
        Ok(power)
    }

    fn get(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.as_ref()?.join(name)).ok()
    }

    /// That it cannot be kept is no failure: it is made again.
    fn put(&self, name: &str, text: &str) {
        let Some(folder) = &self.0 else { return };
        let keep = || {
            std::fs::create_dir_all(folder)?;
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            std::io::Write::write_all(&mut new, text.as_bytes())?;
            new.persist(folder.join(name))?;
            Ok::<_, std::io::Error>(())
        };
        let _ = keep();
    }
}
