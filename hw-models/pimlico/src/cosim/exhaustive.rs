// SPDX-License-Identifier: MIT
//! All pairs of operands: oracle against model against RTL.

use super::Arguments;
use super::jobs::{self, Job};
use crate::failure::Failure;
use crate::output::{self, grouped};
use pimlico_testbenches::exhaustive::{Difference, Operands, Outcome};
use serde::Serialize;
use std::collections::BTreeMap;

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    operands: &'static str,
    mismatches: usize,
    units: Vec<UnitDocument>,
    /// Units with other inputs or with registers.
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct UnitDocument {
    unit: &'static str,
    name: String,
    parameters: BTreeMap<&'static str, i64>,
    /// Pairs of operands compared.
    pairs: u64,
    /// What was compared with the oracle.
    subjects: Vec<&'static str>,
    mismatches: usize,
    first_mismatch: Option<DifferenceDocument>,
}

#[derive(Serialize)]
struct DifferenceDocument {
    a: String,
    b: String,
    /// Oracle, model, RTL and so on, by name.
    #[serde(flatten)]
    results: BTreeMap<&'static str, String>,
}

/// Compares the chosen units, one after the other, each on all cores.
pub fn compare(arguments: &Arguments) -> Result<(), Failure> {
    let operands = if arguments.exhaustive { Operands::All } else { Operands::Stratified };
    let mut outcomes = Vec::new();
    let mut left_out = Vec::new();
    for job in jobs::chosen(arguments)? {
        let bar = output::progress(operands.pairs(), &job.name);
        match (job.all_pairs)(operands, &|pairs| bar.inc(pairs)) {
            Some(outcome) => outcomes.push((job, outcome)),
            None => left_out.push(job.name),
        }
        bar.finish_and_clear();
    }
    if outcomes.is_empty() {
        let names = left_out.join(", ");
        let reason = "only units with two operands and no registers can be tried on all pairs";
        return Err(Failure::Input(format!("{names}: {reason}")));
    }

    let differences: Vec<_> = outcomes
        .iter()
        .filter_map(|(job, outcome)| Some(describe(&job.name, outcome.difference.as_ref()?)))
        .collect();
    if arguments.json {
        let name = if arguments.exhaustive { "all" } else { "stratified" };
        let mismatches = differences.len();
        let units = outcomes.iter().map(|(job, outcome)| document(job, outcome)).collect();
        output::print_json(&Document { operands: name, mismatches, units, left_out })?;
    } else {
        output::print(&table(&outcomes, &left_out))?;
    }
    if differences.is_empty() { Ok(()) } else { Err(Failure::Check(differences.join("\n"))) }
}

fn table(outcomes: &[(Job, Outcome)], left_out: &[String]) -> String {
    let mut text = output::table(
        &["unit", "pairs compared", "mismatches", "oracle against"],
        outcomes.iter().map(|(job, outcome)| {
            let mismatches = usize::from(outcome.difference.is_some());
            let subjects = outcome.subjects.join(", ");
            vec![job.name.clone(), grouped(outcome.pairs), mismatches.to_string(), subjects]
        }),
    );
    if !left_out.is_empty() {
        text += &format!("left out, as they have registers: {}\n", left_out.join(", "));
    }
    text
}

fn document(job: &Job, outcome: &Outcome) -> UnitDocument {
    UnitDocument {
        unit: job.unit,
        name: job.name.clone(),
        parameters: job.parameters(),
        pairs: outcome.pairs,
        subjects: outcome.subjects.clone(),
        mismatches: usize::from(outcome.difference.is_some()),
        first_mismatch: outcome.difference.as_ref().map(|Difference { a, b, results }| {
            let hex = |bits: &u16| format!("{bits:04x}");
            let results = results.iter().map(|(name, bits)| (*name, hex(bits))).collect();
            DifferenceDocument { a: hex(a), b: hex(b), results }
        }),
    }
}

fn describe(unit: &str, difference: &Difference) -> String {
    let Difference { a, b, results } = difference;
    let results: Vec<_> = results.iter().map(|(name, bits)| format!("{name} {bits:04x}")).collect();
    format!("{unit}: {a:04x} {b:04x}: {}", results.join(", "))
}
