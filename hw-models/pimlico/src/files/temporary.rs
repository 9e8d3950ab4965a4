// SPDX-License-Identifier: MIT
//! Temporary files and folders: none is left when the command ends, nor when it is interrupted.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};
use std::collections::BTreeSet;
use std::ffi::c_int;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;
use tempfile::{Builder, NamedTempFile, TempDir};

/// How their names begin: who finds one behind a command that was killed knows what it is.
const PREFIX: &str = ".pimlico-";

/// All that there are. Who makes, moves or removes one holds the lock, so that a signal finds each.
static ALL: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A lock of what stays right where a thread panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes one.
fn make<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<Option<T>> {
    watch_signals();
    let mut all = lock(&ALL);
    let made = make().map_err(without_path)?;
    all.insert(path(&made).to_owned());
    Ok(Some(made))
}

/// The same without the name of the temporary file, which means nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((what, _)) => io::Error::new(error.kind(), what.to_owned()),
        None => error,
    }
}

/// A temporary file.
pub(super) struct TemporaryFile(Option<NamedTempFile>);

impl TemporaryFile {
    /// A new file in a folder: for the owner alone, or for whom the umask says.
    pub(super) fn new_in(folder: &Path, is_private: bool) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        if !is_private {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666)); // and what the umask leaves
        }
        make(|| builder.tempfile_in(folder), NamedTempFile::path).map(Self)
    }

    fn named(&self) -> &NamedTempFile {
        self.0.as_ref().expect("not moved yet")
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.named().path()
    }

    /// The file.
    pub(super) fn file(&self) -> &File {
        self.named().as_file()
    }

    /// Moves it to its place.
    pub(super) fn persist(mut self, place: &Path) -> io::Result<()> {
        let mut all = lock(&ALL);
        let file = self.0.take().expect("not moved yet");
        all.remove(file.path());
        file.persist(place).map(drop).map_err(|failed| failed.error)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let Some(file) = self.0.take() else { return };
        let mut all = lock(&ALL);
        all.remove(file.path());
        let _ = file.close();
    }
}

/// A temporary folder.
pub(super) struct TemporaryFolder(Option<TempDir>);

impl TemporaryFolder {
    /// A new folder in another one.
    pub(super) fn new_in(folder: &Path) -> io::Result<Self> {
        make(|| Builder::new().prefix(PREFIX).tempdir_in(folder), TempDir::path).map(Self)
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        self.0.as_ref().expect("there until it is dropped").path()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let Some(folder) = self.0.take() else { return };
        let mut all = lock(&ALL);
        all.remove(folder.path());
        let _ = folder.close();
    }
}

/// The folder of all temporary files of a command and of the tools that it runs.
pub struct Scratch(#[expect(dead_code, reason = "removed with this")] TemporaryFolder);

impl Scratch {
    /// Makes it, where the environment says; from here on libraries make their files in it.
    pub fn new() -> Result<Self, Failure> {
        let place = std::env::temp_dir();
        let folder = TemporaryFolder::new_in(&place);
        let folder = folder.map_err(|e| Failure::file(&place, &e))?;
        tempfile::env::override_temp_dir(folder.path()).expect("one of them for a command");
        Ok(Self(folder))
    }
}

/// Has signals that end the command remove all first, and end the tools that it runs. A limit of the size of files is an
/// error of who writes, as a full disk is.
fn watch_signals() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
        let ends = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|&signal| !is_ignored(signal));
        let Ok(mut signals) = Signals::new(ends) else { return };
        std::thread::spawn(move || signals.forever().next().map(end));
    });
}

/// Whether who started the command has it go on after a signal, as `nohup` does.
fn is_ignored(signal: c_int) -> bool {
    // SAFETY: all zeros is a value of the type.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the action is not changed, and `action` is there to be written.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Removes all and ends the command by the signal.
fn end(signal: c_int) {
    let all = lock(&ALL); // and keeps it: nothing new is made
    pimlico_estimate::tools::end();
    for path in all.iter() {
        remove(path);
    }
    #[cfg(feature = "rtl")]
    pimlico_testbenches::discard_staged();
    let _ = low_level::emulate_default_handler(signal);
}

/// Removes a file or a folder in which a tool that was just ended may still make one.
fn remove(path: &Path) {
    if fs::remove_file(path).is_ok() {
        return;
    }
    for _ in 0..50 {
        if fs::remove_dir_all(path).is_ok() || !path.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
