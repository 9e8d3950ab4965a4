// SPDX-License-Identifier: MIT
//! Results that have been computed before, by the content of all that they come from.

use crate::{Area, Job, Library, Tools, rtl, yosys};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache(Option<PathBuf>);

impl Cache {
    /// In a folder, which need not exist; or none.
    pub fn new(folder: Option<&Path>) -> Self {
        Self(folder.map(Path::to_owned))
    }

    /// The file of a result.
    fn file(&self, tools: &Tools, job: &Job, library: &Library, clock_ns: f64) -> Option<PathBuf> {
        let mut hash = Sha256::new();
        let mut add = |part: &[u8]| {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        };
        for (path, contents) in rtl::sources() {
            add(path.as_os_str().as_encoded_bytes());
            add(contents);
        }
        add(&library.text);
        add(tools.yosys.as_bytes());
        add(yosys::script(job, library, Path::new(""), &[""; 0]).as_bytes());
        add(yosys::abc_script().as_bytes());
        add(&clock_ns.to_le_bytes());
        let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.0.as_ref()?.join(name + ".json"))
    }

    /// A result, if it is there and whole.
    pub fn get(&self, tools: &Tools, job: &Job, library: &Library, clock_ns: f64) -> Option<Area> {
        let text = std::fs::read(self.file(tools, job, library, clock_ns)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Keeps a result. That it cannot be kept is no failure: it is computed again.
    pub fn put(&self, tools: &Tools, job: &Job, library: &Library, clock_ns: f64, area: &Area) {
        let Some(file) = self.file(tools, job, library, clock_ns) else { return };
        let Some(folder) = file.parent() else { return };
        let keep = || {
            std::fs::create_dir_all(folder)?;
            let mut new = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut new, area)?;
            new.persist(&file)?;
            Ok::<_, std::io::Error>(())
        };
        let _ = keep();
    }
}
