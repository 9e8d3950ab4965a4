// SPDX-License-Identifier: MIT
//! The spelling that `pimlico run` had before systems and operators were subcommands: `--system l3 --op gemv`. It is
//! read for one release more, with a note that says the present one.

use super::arguments::quoted;
use crate::device;
use std::ffi::{OsStr, OsString};

/// The words of a command in the present spelling, and a note if that is another.
pub fn renewed(words: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let is_run = words.get(1).is_some_and(|word| word == "run");
    let first = words.get(2).and_then(|word| word.to_str());
    let is_former =
        first.is_none_or(|word| word.starts_with('-') && !["-h", "--help"].contains(&word));
    if !is_run || !is_former {
        return (words, None);
    }
    let mut rest = words[2..].to_vec();
    let given = ["--system", "--op"].map(|flag| take(&mut rest, flag));
    let [system, op] = given;
    let system = system.unwrap_or_else(|| system_of(&rest).into());
    let op = op.unwrap_or_else(|| "attention".into());
    let mut renewed = words[..2].to_vec();
    renewed.extend([system, op]);
    renewed.extend(rest);
    let line: Vec<_> = renewed[1..].iter().map(|word| quoted(&word.to_string_lossy())).collect();
    let note = format!(
        "note: `run` without a system and an operator is the former spelling, the present one is `pimlico {}`",
        line.join(" ")
    );
    (renewed, Some(note))
}

/// Takes a flag and its value out of the words.
fn take(words: &mut Vec<OsString>, flag: &str) -> Option<OsString> {
    let at = words.iter().position(|word| word == flag || value(word, flag).is_some())?;
    if let Some(value) = value(&words[at], flag).map(OsStr::to_owned) {
        words.remove(at);
        return Some(value);
    }
    let value = words.get(at + 1).cloned()?;
    words.drain(at..at + 2);
    Some(value)
}

/// The value in `--flag=value`.
fn value<'a>(word: &'a OsStr, flag: &str) -> Option<&'a OsStr> {
    Some(OsStr::new(word.to_str()?.strip_prefix(flag)?.strip_prefix('=')?))
}

/// The system of the device that is named, or else L3.
fn system_of(words: &[OsString]) -> &'static str {
    let mut words = words.to_vec();
    let named = ["--device", "--dram"].iter().find_map(|flag| take(&mut words, flag));
    let spec = named.and_then(|device| device::find(device.to_str()?).ok());
    spec.map_or("l3", |spec| spec.system.name())
}

#[cfg(test)]
mod tests {
    use super::renewed;

    /// The line in the present spelling, if it is another.
    fn present(line: &str) -> Option<String> {
        let words: Vec<_> = line.split_whitespace().map(Into::into).collect();
        let (renewed, note) = renewed(words);
        let renewed: Vec<_> = renewed.iter().map(|word| word.to_string_lossy()).collect();
        let renewed = renewed.join(" ");
        assert_eq!(note.is_some(), renewed != line, "{line}");
        if let Some(note) = &note {
            assert!(note.ends_with(&format!("`{renewed}`")), "{note}");
        }
        note.map(|_| renewed)
    }

    #[test]
    fn former_flags_become_subcommands() {
        for (former, expected) in [
            ("pimlico run", "pimlico run l3 attention"),
            ("pimlico run --context 9", "pimlico run l3 attention --context 9"),
            ("pimlico run --op gemv --rows 9", "pimlico run l3 gemv --rows 9"),
            ("pimlico run --rows 9 --op=gemv --system=aim", "pimlico run aim gemv --rows 9"),
            ("pimlico run --dram gddr6-aim", "pimlico run aim attention --dram gddr6-aim"),
            ("pimlico run --device=ddr4-3200", "pimlico run l3 attention --device=ddr4-3200"),
        ] {
            assert_eq!(present(former).as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_present_spelling_and_other_commands_are_left_alone() {
        for line in ["pimlico run l3 gemv --rows 9", "pimlico run --help", "pimlico sweep --op x"] {
            assert_eq!(present(line), None, "{line}");
        }
    }
}
