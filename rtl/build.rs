// SPDX-License-Identifier: MIT
//! Writes the macros that name files of this folder: by their absolute paths, as a macro that includes a file does so
//! in the crate that calls it.
//!
//! Nothing here depends on what is in a file but the list of sources. So a change of the RTL compiles those crates again
//! that include the file, and no others.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = folder.to_str().expect("a path in UTF-8");
    let mut files = String::new();
    for file in sources(Path::new(folder)) {
        let _ = writeln!(files, "            ({file:?}, $crate::text!({file:?})),");
    }
    let macros = format!(
        r#"/// The text of a file of the RTL, by its path from the folder: `text!("pimlico_pkg.sv")`.
#[macro_export]
macro_rules! text {{
    ($path:expr) => {{
        ::core::include_str!(::core::concat!({folder:?}, "/", $path))
    }};
}}

/// The contract of an RTL module, the Markdown file beside it: `contract!("bank/bank_pu")`.
#[macro_export]
macro_rules! contract {{
    ($module:literal) => {{
        ::core::include_str!(::core::concat!({folder:?}, "/", $module, ".md"))
    }};
}}

/// The list of sources `pimlico.f`, the sources in its order, and the headers: the path of each and its text, as
/// [`Sources`].
#[macro_export]
macro_rules! sources {{
    () => {{
        &[
{files}        ]
    }};
}}
"#
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("macros.rs"), macros).expect("OUT_DIR is writable");
}

/// The paths of the list, of what it lists, and of the headers, which it does not list.
fn sources(folder: &Path) -> Vec<String> {
    const LIST: &str = "pimlico.f";
    println!("cargo::rerun-if-changed={LIST}");
    let text = fs::read_to_string(folder.join(LIST)).expect("the list of sources");
    let listed = text.lines().filter_map(|line| line.strip_prefix("rtl/"));
    let mut headers = headers(folder);
    headers.sort();
    for header in &headers {
        println!("cargo::rerun-if-changed={header}");
    }
    [LIST].into_iter().chain(listed).map(str::to_owned).chain(headers).collect()
}

/// The headers in the rooms.
fn headers(folder: &Path) -> Vec<String> {
    let mut headers = Vec::new();
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.expect("a readable folder").path())
    };
    for room in entries(folder).filter(|path| path.is_dir()) {
        let files = entries(&room).filter(|file| file.extension().is_some_and(|end| end == "svh"));
        let path = |file: PathBuf| {
            file.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned)
        };
        headers.extend(files.map(|file| path(file).expect("a path in UTF-8")));
    }
    headers
}
