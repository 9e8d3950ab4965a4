// SPDX-License-Identifier: MIT
//! What may have been meant by a name that there is not.

use crate::failure::Failure;
use strsim::normalized_damerau_levenshtein as likeness;

/// Names that are told, at the most.
const MOST: usize = 3;

/// From which likeness on a name is told; 1 is the same.
const LEAST: f64 = 0.5;

/// The names that come nearest, the nearest first: those with the given one in them, then those that are like it.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let given = given.to_lowercase();
    let given = given.trim_end_matches(':');
    let of = |name: &'a str| {
        let is_part = !given.is_empty() && name.contains(given);
        (likeness(given, name) + if is_part { 1.0 } else { 0.0 }, name)
    };
    let mut all: Vec<_> = names.into_iter().map(of).filter(|(score, _)| *score >= LEAST).collect();
    all.sort_by(|(a, one), (b, other)| b.total_cmp(a).then(one.cmp(other)));
    all.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// What follows a name that there is not: the nearest, and the command that lists all.
pub fn instead<'a>(given: &str, names: impl IntoIterator<Item = &'a str>, list: &str) -> String {
    let all = format!("`{list}` lists all");
    match nearest(given, names).join(", ") {
        near if near.is_empty() => all,
        near => format!("the nearest: {near}; {all}"),
    }
}

/// A unit that there is not.
pub fn no_unit<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Failure {
    let instead = instead(given, names, "pimlico cosim --list");
    Failure::Input(format!("{given}: no such unit; {instead}"))
}

/// The end of a help, with the units: those that have sets of parameters have more names.
pub fn with_units(examples: &str) -> String {
    let mut modules: Vec<_> = pimlico_units::units().iter().map(|unit| unit.module).collect();
    modules.sort_unstable();
    modules.dedup();
    let list = "sets of parameters, as bank_pu:flush, are listed by `pimlico cosim --list`";
    format!("{examples}\n\nUnits; {list}:\n{}", modules.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 6] =
        ["adder_unit", "bank_pu", "bank_pu:flush", "fp_add", "llama-3.1-8b", "softmax_unit"];

    #[test]
    fn the_nearest_names_come_first() {
        assert_eq!(nearest("bank_up", NAMES), ["bank_pu"]);
        assert_eq!(nearest("bank_pu:", NAMES), ["bank_pu", "bank_pu:flush"]);
        assert_eq!(nearest("softmax", NAMES), ["softmax_unit"]);
        assert_eq!(nearest("Llama3.1-8B", NAMES), ["llama-3.1-8b"]);
        assert!(nearest("xyz", NAMES).is_empty() && nearest("", NAMES).is_empty());
    }

    #[test]
    fn a_unit_that_there_is_not_has_a_short_message() {
        let said = no_unit("softmaxunit", NAMES).to_string();
        assert_eq!(
            said,
            "pimlico: softmaxunit: no such unit; the nearest: softmax_unit; `pimlico cosim --list` lists all"
        );
        assert!(
            no_unit("zzz", NAMES)
                .to_string()
                .ends_with("no such unit; `pimlico cosim --list` lists all")
        );
    }
}
