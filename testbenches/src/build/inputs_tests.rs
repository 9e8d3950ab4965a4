// SPDX-License-Identifier: MIT
//! What is taken to be the inputs of a unit.

use super::*;

const TEXTS: [(&str, &str); 6] = [
    ("pkg.sv", "package pkg; endpackage"),
    ("leaf.sv", "module leaf; endmodule // not middle"),
    ("middle.sv", "module middle import pkg::*; (); leaf u_leaf (); endmodule"),
    ("top.sv", "module top; /* other */ middle #(.N(2)) u_middle (.*); endmodule"),
    ("other.sv", "module other; leaf u_leaf (); endmodule"),
    ("watcher.sv", "module watcher; endmodule\nbind middle watcher u_watcher (.*);"),
];

fn written(folder: &Path, texts: &[(&str, &str)]) -> Vec<PathBuf> {
    let write = |(name, text): &(&str, &str)| {
        fs::write(folder.join(name), text).expect("writable");
        PathBuf::from(name)
    };
    texts.iter().map(write).collect()
}

fn stems(files: Result<Vec<PathBuf>, BuildError>) -> Vec<String> {
    let stem = |file: &PathBuf| file.file_stem().map(|s| s.to_string_lossy().into_owned());
    files.expect("it is there").iter().filter_map(stem).collect()
}

#[test]
fn a_module_is_made_of_what_it_names_and_of_what_is_bound_to_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = written(folder.path(), &TEXTS);
    let sources = Sources::read(folder.path(), files, &[]).expect("all are there");
    let of = |top: &str| stems(sources.of(top));
    assert_eq!(of("leaf"), ["leaf"]);
    assert_eq!(of("middle"), ["pkg", "leaf", "middle", "watcher"]);
    assert_eq!(of("top"), ["pkg", "leaf", "middle", "top", "watcher"]);
    assert_eq!(of("other"), ["leaf", "other"]);
    assert_eq!(stems(sources.of_without("top", &["middle"])), ["top"]);
    assert_eq!(stems(sources.of_without("top", &["leaf", "pkg"])), ["middle", "top", "watcher"]);
    let missing = sources.of("nothing").expect_err("there is no such module");
    assert!(matches!(missing, BuildError::NoModule { module, .. } if module == "nothing"));
}

#[test]
fn files_of_the_users_own_belong_to_every_module_and_replace_those_of_their_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let own = tempfile::tempdir().expect("a temporary folder");
    let texts =
        [("leaf.sv", "module leaf; endmodule"), ("my.sv", "module mine; middle u (); endmodule")];
    let files: Vec<PathBuf> =
        written(own.path(), &texts).iter().map(|file| own.path().join(file)).collect();
    let sources = Sources::read(folder.path(), written(folder.path(), &TEXTS), &files);
    let sources = sources.expect("all are there");
    assert!(sources.has_own());
    assert_eq!(stems(sources.of("mine")), ["pkg", "middle", "watcher", "leaf", "my"]);
    let top = sources.of("other").expect("it is there");
    assert!(top.contains(&files[0]) && !top.contains(&PathBuf::from("leaf.sv")));
    // What a module is made of shows in its digest.
    let digest = |file: &Path| sources.add_to(Digest::default(), file).name();
    assert_ne!(digest(&files[0]), digest(&files[1]));
}
