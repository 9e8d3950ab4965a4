// SPDX-License-Identifier: MIT
//! The three lists of the RTL's sources hold the files that are there, each once and in one order, and a
//! file holds the module or package that it is named after.

use pimlico_rtl::{FOLDER, Sources};
use std::fs;
use std::path::{Path, PathBuf};

/// A list's name, and how its lines name a file.
const LISTS: [(&str, &str); 3] =
    [("pimlico.f", "rtl/"), ("pimlico.core", "- "), ("Bender.yml", "- ")];

fn rtl() -> PathBuf {
    PathBuf::from(FOLDER)
}

/// The files that a list names, relative to `rtl/`.
fn listed(list: &str, prefix: &str) -> Vec<String> {
    let text = fs::read_to_string(rtl().join(list)).expect(list);
    let file = |line: &str| line.trim().strip_prefix(prefix).map(str::to_owned);
    text.lines().filter_map(file).filter(|file| is_source(file)).collect()
}

/// What the crate has of a file that is there.
const INCLUDED: Sources = pimlico_rtl::sources!();

/// Headers are included by the files that use them.
fn is_source(file: &str) -> bool {
    [".sv", ".v"].iter().any(|extension| file.ends_with(extension))
}

/// The files below `rtl/`, sorted.
fn present() -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![rtl()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let file = path.strip_prefix(rtl()).expect("it is below").to_str().expect("UTF-8");
                files.push(file.to_owned());
            }
        }
    }
    files.retain(|file| is_source(file));
    files.sort();
    files
}

#[test]
fn every_list_holds_every_file_once() {
    for (list, prefix) in LISTS {
        let mut files = listed(list, prefix);
        files.sort();
        assert_eq!(files, present(), "{list} (left) and the files in rtl/ (right)");
    }
}

#[test]
fn the_lists_have_one_order() {
    let [first, others @ ..] = LISTS.map(|(list, prefix)| (list, listed(list, prefix)));
    for (list, files) in others {
        assert_eq!(files, first.1, "{list} (left) and {} (right)", first.0);
    }
}

#[test]
fn a_file_holds_the_module_or_package_that_it_is_named_after_and_no_other() {
    for file in present() {
        let text = fs::read_to_string(rtl().join(&file)).expect(&file);
        let declared = |line: &str| {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let keyword = words.next().filter(|&w| w == "module" || w == "package");
            keyword.and_then(|_| words.next()).map(str::to_owned)
        };
        let names: Vec<_> = text.lines().filter_map(declared).collect();
        let stem = Path::new(&file).file_stem().and_then(|stem| stem.to_str()).expect("a name");
        assert_eq!(names, [stem], "{file}");
    }
}

#[test]
fn checkers_stand_last_are_bound_and_are_left_out_of_synthesis() {
    let files = listed("pimlico.f", "rtl/");
    let is_checker = |file: &String| file.ends_with("_checks.sv");
    assert!(files.iter().skip_while(|file| !is_checker(file)).all(is_checker), "pimlico.f");
    for file in files.iter().filter(|file| is_checker(file)) {
        let text = fs::read_to_string(rtl().join(file)).expect(file);
        let code: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
        let guarded = code.iter().skip_while(|line| line.starts_with("//"));
        let guarded: Vec<_> = guarded.skip_while(|line| line.starts_with("`include")).collect();
        assert_eq!(guarded.first(), Some(&&"`ifndef SYNTHESIS"), "{file}");
        assert_eq!(guarded.last(), Some(&&"`endif"), "{file}");
        let unit = file.replace("_checks.sv", "");
        let name = unit.rsplit('/').next().unwrap_or(&unit);
        // This one is instantiated by the others.
        if name != "handshake" {
            assert!(rtl().join(format!("{unit}.sv")).exists(), "{file} has no unit beside it");
            let bind = format!("bind {name} {name}_checks ");
            assert!(code.iter().any(|line| line.starts_with(&bind)), "{file}: {bind}");
        }
    }
}

#[test]
fn a_file_stands_behind_those_that_it_instantiates() {
    let files = listed("pimlico.f", "rtl/");
    let name = |file: &str| file.rsplit('/').next().unwrap_or(file).replace(".sv", "");
    for (place, file) in files.iter().enumerate() {
        let text = fs::read_to_string(rtl().join(file)).expect(file);
        for later in &files[place + 1..] {
            let later = name(later);
            let instance = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some(later.as_str())
                    && words.next().is_some_and(|word| word.starts_with(['#', 'u']))
            };
            assert!(!text.lines().any(instance), "{file} stands before {later}");
        }
    }
}

#[test]
fn the_crate_includes_the_list_all_sources_and_all_headers() {
    let mut headers = Vec::new();
    for room in fs::read_dir(rtl()).expect("a readable folder") {
        let files = fs::read_dir(room.expect("an entry").path()).into_iter().flatten();
        let files = files.map(|file| file.expect("an entry").path());
        let path = |file: PathBuf| file.strip_prefix(FOLDER).expect("below").display().to_string();
        headers.extend(files.map(path).filter(|file| file.ends_with(".svh")));
    }
    headers.sort();
    let list = ["pimlico.f".to_owned()].into_iter();
    let there: Vec<_> = list.chain(listed("pimlico.f", "rtl/")).chain(headers).collect();
    let included: Vec<_> = INCLUDED.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(included, there);
    for (path, text) in INCLUDED {
        assert_eq!(fs::read_to_string(rtl().join(path)).expect(path), *text);
    }
}

#[test]
#[cfg(feature = "sha256")]
fn the_digest_is_that_of_sha256sum() {
    let command = "LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d ' ' -f 1";
    let find = "find * -name '*.sv' -o -name '*.svh' -o -name '*.f'";
    let shell = std::process::Command::new("sh")
        .args(["-c", &format!("{find} | {command}")])
        .current_dir(FOLDER)
        .output()
        .expect("a shell");
    let digest = String::from_utf8(shell.stdout).expect("digits");
    assert_eq!(pimlico_rtl::sha256(INCLUDED), digest.trim());
}
