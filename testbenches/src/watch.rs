// SPDX-License-Identifier: MIT
//! Waveforms of model and RTL, side by side.

use crate::rtl::Window;
use pimlico_ports::UnitInfo;
use pimlico_ports::wave::{Cycle, UnitScope, Wave};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// The waveforms of a unit.
///
/// Those of model and RTL show ports and probed registers. Both come from the same writer, under the same
/// names and at the same times, with `x` where the contract leaves a value open, so that they are equal
/// byte for byte up to the first mismatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waveforms {
    /// The model's.
    pub model: PathBuf,
    /// The RTL's.
    pub rtl: PathBuf,
    /// All that is inside the RTL, as Verilator writes it.
    pub inside: PathBuf,
}

impl Waveforms {
    /// Those of a unit in `folder`.
    pub fn of(unit: &str, folder: &Path) -> Self {
        let name = unit.replace(':', ".");
        let file = |what| folder.join(format!("{name}.{what}.vcd"));
        Self { model: file("model"), rtl: file("rtl"), inside: file("inside") }
    }

    /// Has those of a unit written to `folder`, which is made if need be: all of them, or none.
    pub fn write<T>(
        unit: &str,
        folder: &Path,
        write: impl FnOnce(&Self) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        let written = all_or_none(folder, |staged| write(&Self::of(unit, staged)))?;
        Ok((Self::of(unit, folder), written))
    }

    /// The files.
    pub fn files(&self) -> [&Path; 3] {
        [&self.model, &self.rtl, &self.inside]
    }
}

/// The scope that holds the unit, in all of its waveforms: the one that Verilator writes, so that a viewer can lay one
/// file over the other.
const OUTERMOST: &str = "TOP";

/// Has files written to a temporary folder and moves them to `folder`, which is made if need be: all of
/// them, or none where one cannot be written.
pub fn all_or_none<T>(folder: &Path, write: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let staged = Staged::near(folder)?;
    let written = write(staged.path())?;
    staged.move_to(folder)?;
    Ok(written)
}

/// Folders that files are written to before they are moved. Who makes or removes one holds the lock, so that
/// [`discard_staged`] finds each.
static STAGED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn all_staged() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    STAGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One of them.
struct Staged(Option<TempDir>);

impl Staged {
    /// In the first folder on the way up from `folder` that is there.
    fn near(folder: &Path) -> io::Result<Self> {
        let near = folder.ancestors().find(|near| near.is_dir());
        let folder = near.unwrap_or(Path::new("."));
        let mut all = all_staged();
        let new = tempfile::Builder::new().prefix(".pimlico-").tempdir_in(folder)?;
        all.insert(new.path().to_owned());
        Ok(Self(Some(new)))
    }

    fn path(&self) -> &Path {
        self.0.as_ref().expect("there until it is dropped").path()
    }

    /// Moves all files to `folder`, which is made if need be, or none.
    fn move_to(self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|near| !near.exists()).collect();
        move_all(self.path(), folder).inspect_err(|_| {
            for folder in missing {
                let _ = fs::remove_dir(folder); // it is empty, or was not made
            }
        })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let Some(folder) = self.0.take() else { return };
        let mut all = all_staged();
        all.remove(folder.path());
        let _ = folder.close();
    }
}

/// Removes all files that are not in their place yet, and lets none be made: for a program that is about to end by a
/// signal.
pub fn discard_staged() {
    let all = all_staged();
    for folder in all.iter() {
        let _ = fs::remove_dir_all(folder);
    }
    std::mem::forget(all);
}

/// Moves the files of a folder to another one; none if another thing has the name of one of them.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let entries: io::Result<Vec<fs::DirEntry>> = fs::read_dir(from)?.collect();
    let moves: Vec<[PathBuf; 2]> =
        entries?.into_iter().map(|entry| [entry.path(), to.join(entry.file_name())]).collect();
    for [_, file] in &moves {
        if fs::metadata(file).is_ok_and(|found| !found.is_file()) {
            return Err(io::Error::other(format!("{} is not a regular file", file.display())));
        }
    }
    moves.iter().try_for_each(|[from, to]| {
        // Where a name leads to a file elsewhere, that is the one to replace; its mode stays.
        let to = fs::canonicalize(to).unwrap_or_else(|_| to.clone());
        if let Ok(old) = fs::metadata(&to) {
            fs::set_permissions(from, old.permissions())?;
        }
        fs::rename(from, to)
    })
}

/// The files' names in a row.
impl std::fmt::Display for Waveforms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [model, rtl, inside] = self.files().map(Path::display);
        write!(f, "{model} {rtl} {inside}")
    }
}

/// Waveforms of an instance's model and RTL in the making.
pub(crate) struct Watch {
    /// Model and RTL.
    waves: [Wave<BufWriter<File>>; 2],
    scope: UnitScope,
    pub(crate) instance: usize,
    window: Window,
    /// What went wrong while writing.
    error: Option<io::Error>,
}

impl Watch {
    /// Starts the files of a unit with the same header; `about` says seed and how to write them again.
    pub(crate) fn create(
        unit: &UnitInfo,
        files: &Waveforms,
        instance: usize,
        window: Window,
        about: &str,
    ) -> io::Result<Self> {
        let create = |file: &Path| {
            let mut wave = Wave::new(BufWriter::new(File::create(file)?))?;
            wave.comment(&format!("{}{}\n{about}", unit.name, parameters(unit)))?;
            wave.open(OUTERMOST)?;
            let scope = UnitScope::declare(&mut wave, unit)?;
            wave.close()?;
            wave.begin()?;
            Ok::<_, io::Error>((wave, scope))
        };
        let ((model, scope), (rtl, _)) = (create(&files.model)?, create(&files.rtl)?);
        Ok(Self { waves: [model, rtl], scope, instance, window, error: None })
    }

    /// Writes a cycle of model and RTL.
    pub(crate) fn record(&mut self, number: u64, cycles: [Cycle<'_>; 2]) {
        let Self { waves, scope, window, error, .. } = self;
        if number < window.from {
            return;
        }
        let time = number * window.cycle_ps;
        for (wave, cycle) in waves.iter_mut().zip(&cycles) {
            let mut write = || {
                wave.time(time)?;
                scope.clock(wave, false, true)?;
                scope.change(wave, cycle)?;
                wave.time(time + window.cycle_ps / 2)?;
                scope.clock(wave, true, true)
            };
            if let Err(found) = write() {
                error.get_or_insert(found);
            }
        }
    }

    /// Finishes the files.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self.error {
            Some(error) => Err(error),
            None => self.waves.into_iter().try_for_each(Wave::finish),
        }
    }
}

/// The parameters of a unit, each behind a space.
fn parameters(unit: &UnitInfo) -> String {
    unit.parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_two(folder: &Path) -> io::Result<()> {
        fs::write(folder.join("one"), "1")?;
        fs::write(folder.join("two"), "2")
    }

    #[test]
    fn folders_are_made_and_files_replaced() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let folder = root.path().join("a/b");
        for _ in 0..2 {
            all_or_none(&folder, write_two).expect("writable");
        }
        assert_eq!(fs::read_to_string(folder.join("two")).expect("it was written"), "2");
        assert_eq!(fs::read_dir(&folder).expect("it was made").count(), 2, "and nothing else");
    }

    #[test]
    fn nothing_is_left_of_files_that_cannot_be_written() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let count = || fs::read_dir(root.path()).expect("it is there").count();
        let failed = |folder: &Path| {
            let write = |staged: &Path| write_two(staged).and(Err(io::Error::other("full")));
            all_or_none::<()>(folder, write).expect_err("full").to_string()
        };
        assert_eq!(failed(&root.path().join("a/b")), "full");
        assert_eq!(count(), 0);

        fs::create_dir(root.path().join("two")).expect("writable");
        let error = all_or_none(root.path(), write_two).expect_err("a folder has the name");
        assert!(error.to_string().ends_with("two is not a regular file"), "{error}");
        assert_eq!(count(), 1);

        fs::write(root.path().join("file"), "").expect("writable");
        all_or_none(&root.path().join("file"), write_two).expect_err("a file, no folder");
        all_or_none(&root.path().join("file/a"), write_two).expect_err("a file, no folder");
        assert_eq!(count(), 2);
    }
}
