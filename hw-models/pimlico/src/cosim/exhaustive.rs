// SPDX-License-Identifier: MIT
//! All operands of arithmetic units: oracle against model against RTL.

use super::CosimArguments;
use super::duts::Dut;
use crate::failure::Failure;
use crate::output::{self, Page, grouped};
use crate::schema::Kind;
use pimlico_testbenches::build;
use pimlico_testbenches::exhaustive::{Difference, ExhaustiveOutcome, Operands};
use serde::Serialize;
use std::collections::BTreeMap;

/// Steps of the progress bar: more than there are rows of pairs.
const PARTS: u64 = 1 << 24;

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    operands: &'static str,
    mismatches: usize,
    units: Vec<UnitDocument>,
    /// Units with other or wider inputs, or with registers.
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct UnitDocument {
    unit: &'static str,
    name: String,
    parameters: BTreeMap<&'static str, i64>,
    /// Operands, or pairs of them, compared.
    cases: u64,
    /// What was compared with the oracle.
    subjects: Vec<&'static str>,
    mismatches: usize,
    first_mismatch: Option<DifferenceDocument>,
}

#[derive(Serialize)]
struct DifferenceDocument {
    operands: Vec<String>,
    /// Oracle, model, RTL and so on, by name.
    #[serde(flatten)]
    results: BTreeMap<&'static str, String>,
}

/// Compares the chosen units, one after the other, each on all cores.
pub fn compare(arguments: &CosimArguments, duts: Vec<Dut>) -> Result<(), Failure> {
    let operands = if arguments.exhaustive { Operands::All } else { Operands::Stratified };
    let mut outcomes = Vec::new();
    let mut left_out = Vec::new();
    for dut in duts {
        build::prepare_operands(&dut.bench.unit)?;
        let bar = output::progress(PARTS, &dut.name);
        match (dut.bench.all_operands)(operands, &|part| bar.inc((part * PARTS as f64) as u64)) {
            Some(outcome) => outcomes.push((dut, outcome)),
            None => left_out.push(dut.name),
        }
        bar.finish_and_clear();
    }
    if outcomes.is_empty() {
        let names = left_out.join(", ");
        let reason = "only functions of one or two operands of 16 bits can be tried on all, without registers";
        return Err(Failure::Input(format!("{names}: {reason}")));
    }

    let differences: Vec<_> = outcomes
        .iter()
        .filter_map(|(dut, outcome)| Some(describe(&dut.name, outcome.difference.as_ref()?)))
        .collect();
    let page = table(&outcomes, &left_out);
    let document = Document {
        operands: if arguments.exhaustive { "all" } else { "stratified" },
        mismatches: differences.len(),
        units: outcomes.iter().map(|(dut, outcome)| document(dut, outcome)).collect(),
        left_out,
    };
    output::report(arguments.format, (Kind::CosimOperands, &document), &page)?;
    if differences.is_empty() { Ok(()) } else { Err(Failure::Check(differences.join("\n"))) }
}

fn table(outcomes: &[(Dut, ExhaustiveOutcome)], left_out: &[String]) -> Page {
    let mut text = Page::from(output::table(
        &["unit", "cases compared", "mismatches", "oracle against"],
        outcomes.iter().map(|(dut, outcome)| {
            let mismatches = usize::from(outcome.difference.is_some());
            let subjects = outcome.subjects.join(", ");
            vec![dut.name.clone(), grouped(outcome.cases), mismatches.to_string(), subjects]
        }),
    ));
    if !left_out.is_empty() {
        text += format!(
            "left out, as they have registers or operands of more than 16 bits: {}\n",
            left_out.join(", ")
        );
    }
    text
}

fn document(dut: &Dut, outcome: &ExhaustiveOutcome) -> UnitDocument {
    UnitDocument {
        unit: dut.unit,
        name: dut.name.clone(),
        parameters: dut.parameters(),
        cases: outcome.cases,
        subjects: outcome.subjects.clone(),
        mismatches: usize::from(outcome.difference.is_some()),
        first_mismatch: outcome.difference.as_ref().map(|Difference { operands, results }| {
            let hex = |bits: u32| format!("{bits:04x}");
            let operands = operands.iter().map(|bits| hex((*bits).into())).collect();
            let results = results.iter().map(|(name, bits)| (*name, hex(*bits))).collect();
            DifferenceDocument { operands, results }
        }),
    }
}

fn describe(unit: &str, difference: &Difference) -> String {
    let Difference { operands, results } = difference;
    let operands: Vec<_> = operands.iter().map(|bits| format!("{bits:04x}")).collect();
    let results: Vec<_> = results.iter().map(|(name, bits)| format!("{name} {bits:04x}")).collect();
    format!("{unit} of {}: {}", operands.join(", "), results.join(", "))
}
