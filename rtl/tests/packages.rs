// SPDX-License-Identifier: MIT
//! No source of a package names a file outside of it, so that each package can be built where it is unpacked. Other
//! packages are reached through their crates: files of the RTL through `pimlico_rtl`.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Paths that are looked for when a program runs, and do without.
const OPTIONAL: &str = "shared/weights";

fn root() -> PathBuf {
    Path::new(pimlico_rtl::FOLDER).parent().expect("the repository").to_owned()
}

/// The strings of a list in a manifest.
fn list(manifest: &Path, key: &str) -> Vec<String> {
    let text = fs::read_to_string(manifest).expect("a manifest");
    let list = text.split(&format!("\n{key} = [")).nth(1);
    let list = list.and_then(|list| list.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The Rust sources of a package, without those that are left out of it.
fn sources(package: &Path) -> Vec<PathBuf> {
    let left_out = list(&package.join("Cargo.toml"), "exclude");
    let mut sources = Vec::new();
    let mut folders = vec![package.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the package") {
            let path = entry.expect("an entry").path();
            let is_package = path.join("Cargo.toml").exists();
            if path.is_dir() && !is_package && !path.ends_with("target") {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs")
                && !left_out.iter().any(|file| package.join(file) == path)
            {
                sources.push(path);
            }
        }
    }
    sources
}

/// The paths that begin with a step up in a source, each with what they are relative to: the folder of the source or
/// that of the package.
fn upward<'a>(text: &'a str, source: &'a Path, package: &'a Path) -> Vec<(&'a str, &'a Path)> {
    let beside = source.parent().expect("a folder");
    let mut paths = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("\"../").into_iter().chain(rest.find("\"/../")).min() {
        let before = rest[..at].trim_end();
        let path = rest[at + 1..].split('"').next().unwrap_or_default();
        let includes = ["include_str!(", "include_bytes!(", "include!(", "concat!(", "path ="];
        let is_beside = includes.iter().any(|include| before.ends_with(include));
        paths.push((path.trim_start_matches('/'), if is_beside { beside } else { package }));
        rest = &rest[at + 1 + path.len()..];
    }
    paths
}

/// Whether a path leads out of `package`.
fn leaves(path: &str, from: &Path, package: &Path) -> bool {
    let mut place = from.to_owned();
    for component in Path::new(path).components() {
        match component {
            Component::ParentDir => drop(place.pop()),
            component => place.push(component),
        }
    }
    !place.starts_with(package)
}

/// What a source names outside of its package.
fn outside<'a>(text: &'a str, source: &'a Path, package: &'a Path) -> Vec<&'a str> {
    let paths = upward(text, source, package).into_iter();
    let paths = paths.filter(|(path, from)| leaves(path, from, package));
    paths.map(|(path, _)| path).filter(|path| !path.ends_with(OPTIONAL)).collect()
}

#[test]
fn no_source_names_a_file_outside_of_its_package() {
    let members = list(&root().join("Cargo.toml"), "members");
    assert!(members.len() > 10, "{members:?}");
    let mut found = Vec::new();
    for package in members.iter().map(|member| root().join(member)) {
        let sources = sources(&package);
        assert!(!sources.is_empty(), "{}", package.display());
        for source in sources {
            let text = fs::read_to_string(&source).expect("a source");
            let paths = outside(&text, &source, &package).into_iter();
            found.extend(paths.map(|path| format!("{}: {path}", source.display())));
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_path_that_leads_out_is_found() {
    let package = Path::new("/repository/package");
    let source = package.join("src/deep/file.rs");
    // Each path begins with a quotation mark of its own, which this file has nowhere.
    let outside = |text: &str| outside(&text.replace('\'', "\""), &source, package).len();
    assert_eq!(outside("include_str!('../../data/table.toml')"), 0);
    assert_eq!(outside("include_str!('../../../data/table.toml')"), 1);
    assert_eq!(outside("include_bytes!(\n    '../../../other/a'\n)"), 1);
    assert_eq!(outside("#[path = '../file.rs']"), 0);
    assert_eq!(outside("concat!(env!('CARGO_MANIFEST_DIR'), '/../rtl')"), 1);
    assert_eq!(outside("folder.join('../rtl'); folder.join('src/../rtl')"), 1);
    assert_eq!(outside("let beside = '../shared/weights';"), 0);
}
