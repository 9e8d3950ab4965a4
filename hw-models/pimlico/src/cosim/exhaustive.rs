// SPDX-License-Identifier: MIT
//! All operands of arithmetic units: oracle against model against RTL.

use super::CosimArguments;
use super::duts::Dut;
use crate::failure::Failure;
use crate::output::{self, Page, grouped};
use crate::pieces::Pieces;
use crate::schema::Kind;
use crate::sweep::cores;
use pimlico_testbenches::build;
use pimlico_testbenches::exhaustive::{Difference, Exhaustive, ExhaustiveOutcome, Operands};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    subjects: Vec<String>,
    mismatches: usize,
    first_mismatch: Option<DifferenceDocument>,
}

#[derive(Serialize)]
struct DifferenceDocument {
    operands: Vec<String>,
    /// Oracle, model, RTL and so on, by name.
    #[serde(flatten)]
    results: BTreeMap<String, String>,
}

/// The proofs of units: each part of the operands of one is a piece.
struct Proofs<'a, I> {
    operands: Operands,
    /// RTL of the user's own.
    own: I,
    duts: &'a [(Dut, Exhaustive)],
    parts: Vec<Part>,
    /// Of each unit, the first part in which a difference was found: those behind it need not be compared.
    found: Vec<AtomicUsize>,
}

/// A part of the operands of a unit.
#[derive(Serialize)]
struct Part {
    unit: String,
    parameters: BTreeMap<&'static str, i64>,
    operands: Operands,
    part: usize,
    /// Number of the unit.
    #[serde(skip)]
    dut: usize,
}

impl<'a, I> Proofs<'a, I> {
    fn new(operands: Operands, own: I, duts: &'a [(Dut, Exhaustive)]) -> Self {
        let of_dut = |(n, (dut, all)): (usize, &(Dut, Exhaustive))| {
            let (unit, parameters) = (dut.name.clone(), dut.parameters());
            let part = move |part| {
                let (unit, parameters) = (unit.clone(), parameters.clone());
                Part { unit, parameters, operands, part, dut: n }
            };
            (0..(all.parts)(operands)).map(part)
        };
        let parts = duts.iter().enumerate().flat_map(of_dut).collect();
        let found = duts.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
        Self { operands, own, duts, parts, found }
    }
}

impl<I: Serialize + Sync> Pieces for Proofs<'_, I> {
    type Piece = Part;
    type Outcome = ExhaustiveOutcome;

    const NAME: &'static str = "cosim";
    const UNIT: &'static str = "operands";

    fn inputs(&self) -> impl Serialize {
        &self.own
    }

    fn pieces(&self) -> &[Part] {
        &self.parts
    }

    fn weight(&self, part: &Part) -> u64 {
        (self.duts[part.dut].1.cases)(self.operands)
    }

    fn run(&self, part: &Part) -> Result<ExhaustiveOutcome, Failure> {
        let ((dut, all), found) = (&self.duts[part.dut], &self.found[part.dut]);
        if found.load(Ordering::Relaxed) < part.part {
            return Ok(ExhaustiveOutcome { cases: 0, subjects: Vec::new(), difference: None });
        }
        build::prepare_operands(&dut.bench.unit)?;
        let outcome = (all.compare)(self.operands, part.part);
        if outcome.difference.is_some() {
            found.fetch_min(part.part, Ordering::Relaxed);
        }
        Ok(outcome)
    }
}

/// Compares the chosen units, part by part, on all cores.
pub fn compare(arguments: &CosimArguments, duts: Vec<Dut>) -> Result<(), Failure> {
    let operands = if arguments.exhaustive { Operands::All } else { Operands::Stratified };
    let (mut functions, mut left_out) = (Vec::new(), Vec::new());
    for dut in duts {
        match dut.bench.exhaustive {
            Some(all) => functions.push((dut, all)),
            None => left_out.push(dut.name),
        }
    }
    if functions.is_empty() {
        let names = left_out.join(", ");
        let reason = "only functions of one or two operands of 16 bits can be tried on all, without registers";
        return Err(Failure::Input(format!("{names}: {reason}")));
    }
    let proofs = Proofs::new(operands, arguments.own.inputs()?, &functions);
    let Some(parts) = arguments.pieces.outcomes(&proofs, cores())? else { return Ok(()) };
    let mut parts = proofs.parts.iter().zip(parts).peekable();
    let mut outcomes = Vec::new();
    for (n, (dut, _)) in functions.iter().enumerate() {
        let of_dut = std::iter::from_fn(|| parts.next_if(|(part, _)| part.dut == n));
        let outcome = of_dut.map(|(_, outcome)| outcome).reduce(ExhaustiveOutcome::and);
        outcomes.push((dut, outcome.expect("a unit has operands")));
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

fn table(outcomes: &[(&Dut, ExhaustiveOutcome)], left_out: &[String]) -> Page {
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
            let results = results.iter().map(|(name, bits)| (name.clone(), hex(*bits))).collect();
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
