// SPDX-License-Identifier: MIT
//! All operands of an arithmetic unit: oracle against model against RTL, and against the fast
//! arithmetic of the device.

use crate::build;
use crate::ffi::{LANES, PimlicoLanes};
use crate::function::Function;
use pimlico_ports::Unit;
use pimlico_units::arith::Format;
use pimlico_units::arith::fast::Level;
use serde::{Deserialize, Serialize};
use std::ffi::c_void;
use std::iter::once;
use std::ptr::NonNull;

/// First operands of a part: with each of them all second ones are tried.
const ROWS: usize = 256;

/// A unit with two operands, apart from its pipeline registers.
pub trait Binary {
    /// The operands' format.
    type Format: Format;

    /// The same operation on slices, if there is one.
    const FAST: Option<FastOperation>;

    /// The model's result.
    fn model(a: u32, b: u32) -> u32;

    /// Somebody else's result: LLVM's soft float, or, where subnormals are flushed, `golden`'s exact
    /// arithmetic.
    fn oracle(a: u32, b: u32) -> u32;
}

/// An operation of `pimlico_units::arith::fast`.
pub type FastOperation = fn(Level, &[u16], &[u16], &mut [u16]);

/// A unit with one 16-bit operand, apart from its pipeline registers.
pub trait Unary {
    /// The model's result.
    fn model(a: u32) -> u32;

    /// What the reference says, if `result` is not good enough for it.
    fn wrong(a: u32, result: u32) -> Option<u32>;
}

/// Which operands are tried. Two are paired each with each; of a single one, all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operands {
    /// All 2^16.
    All,
    /// Every sign and exponent with the significands at which rounding and carries turn, and some
    /// others: 2^12.
    Stratified,
}

impl Operands {
    /// How many there are of 16 bits.
    fn count(self) -> usize {
        match self {
            Self::All => 1 << 16,
            Self::Stratified => 1 << 12,
        }
    }

    /// The operands for format `F`.
    fn list<F: Format>(self) -> Vec<u16> {
        match self {
            Self::All => (0..=u16::MAX).collect(),
            Self::Stratified => {
                let each = 4096 >> (F::EXP_BITS + 1);
                let mantissas = boundary_mantissas(F::MAN_BITS, each);
                let heads = 0..1u32 << (F::EXP_BITS + 1);
                let pairs = heads.flat_map(|head| mantissas.iter().map(move |m| (head, *m)));
                pairs.map(|(head, mantissa)| (head << F::MAN_BITS | mantissa) as u16).collect()
            }
        }
    }
}

/// `count` significands: those with a single one or a single zero, their neighbours, then others
/// spread evenly.
fn boundary_mantissas(bits: u32, count: usize) -> Vec<u32> {
    let mask = (1u32 << bits) - 1;
    let ones = (0..bits).rev().map(|bit| 1 << bit);
    let edges = [0, mask, 1, mask - 1].into_iter();
    let around = ones.flat_map(|one| [one, one - 1, mask ^ one, (one + 1) & mask]);
    let spread = (0..=mask).map(|i| i.wrapping_mul(0x9E37_79B1) & mask);
    let mut mantissas = Vec::new();
    for mantissa in edges.chain(around).chain(spread) {
        if mantissas.len() < count && !mantissas.contains(&mantissa) {
            mantissas.push(mantissa);
        }
    }
    mantissas
}

/// Operands on which not all agree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The operands: one or two.
    pub operands: Vec<u16>,
    /// The results by name: `oracle`, `model`, `rtl`, `fast_f16c` and so on.
    pub results: Vec<(String, u32)>,
}

/// What was compared, of a part or of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExhaustiveOutcome {
    /// Operands, or pairs of them, that were compared: those before the first difference.
    pub cases: u64,
    /// What was compared with the oracle for each of them, by name.
    pub subjects: Vec<String>,
    /// The first difference, in the order of the operands.
    pub difference: Option<Difference>,
}

impl ExhaustiveOutcome {
    /// Together with the operands behind these. What stands behind a difference does not count; a subject is one that
    /// was there for all.
    pub fn and(mut self, behind: Self) -> Self {
        if self.difference.is_none() {
            self.cases += behind.cases;
            self.subjects.retain(|subject| behind.subjects.contains(subject));
            self.difference = behind.difference;
        }
        self
    }
}

/// A unit as a function of one operand or two, of which all can be tried: part by part, each by itself.
#[derive(Clone, Copy)]
pub struct Exhaustive {
    /// How many parts there are.
    pub parts: fn(Operands) -> usize,
    /// Operands of a part, or pairs of them.
    pub cases: fn(Operands) -> u64,
    /// Compares oracle, model, RTL and fast arithmetic on the operands of a part. A difference ends it.
    ///
    /// It panics if the RTL cannot be made; see [`build::prepare_operands`].
    pub compare: fn(Operands, usize) -> ExhaustiveOutcome,
}

/// A unit with two operands. None if it has registers, or operands of more than 16 bits.
pub fn binary<B: Binary + Unit>() -> Option<Exhaustive> {
    let all = Exhaustive {
        parts: |operands| operands.count() / ROWS,
        cases: |operands| (operands.count() * ROWS) as u64,
        compare: compare_pairs::<B>,
    };
    build::has_lanes(&B::info()).then_some(all)
}

/// Compares all on the pairs of a part of the first operands with all second ones.
fn compare_pairs<B: Binary + Unit>(operands: Operands, part: usize) -> ExhaustiveOutcome {
    let lanes = build::load_lanes(&B::info()).unwrap_or_else(|error| panic!("{error}"));
    let rtl: Subject = ("rtl", Box::new(Lanes::new(lanes)));
    let fast = B::FAST
        .into_iter()
        .flat_map(|operation| Level::available().map(move |level| fast_subject(level, operation)));
    let subjects = once(rtl).chain(fast).collect();
    let operands = operands.list::<B::Format>();
    let first = &operands[part * ROWS..][..ROWS];
    compare((first, &operands), B::oracle, B::model, subjects)
}

/// A unit with one operand. None if it has registers.
pub fn unary<U: Unary + Unit>() -> Option<Exhaustive> {
    let is_function = U::PARAMETERS.contains(&("STAGES", 0));
    let compare = |_, _| compare_all::<U>();
    is_function.then_some(Exhaustive { parts: |_| 1, cases: |_| 1 << 16, compare })
}

/// Compares reference, model and RTL on all operands, whichever were asked for.
fn compare_all<U: Unary + Unit>() -> ExhaustiveOutcome {
    let mut rtl = Function::new(U::MODULE, &U::variant());
    let mut cases = 0;
    let mut difference = None;
    for a in 0..=u16::MAX {
        let (model, rtl) = (U::model(a.into()), rtl.result(a, 0));
        let wrong = U::wrong(a.into(), model);
        if wrong.is_some() || rtl != model {
            let oracle = wrong.unwrap_or(model);
            let results = [("oracle", oracle), ("model", model), ("rtl", rtl)];
            let results = results.map(|(name, bits)| (name.to_owned(), bits)).into();
            difference = Some(Difference { operands: vec![a], results });
            break;
        }
        cases += 1;
    }
    assert!(difference.is_some() || cases == 1 << 16);
    let subjects = ["model", "rtl"].map(str::to_owned).into();
    ExhaustiveOutcome { cases, subjects, difference }
}

/// Something that computes rows of results, by name.
type Subject = (&'static str, Box<dyn Row>);

/// Computes a row of results: `results[i]` of `a` and `b[i]`.
trait Row {
    fn row(&mut self, a: u16, b: &[u16], results: &mut [u16]);
}

impl<F: FnMut(u16, &[u16], &mut [u16])> Row for F {
    fn row(&mut self, a: u16, b: &[u16], results: &mut [u16]) {
        self(a, b, results);
    }
}

fn fast_subject(level: Level, operation: FastOperation) -> Subject {
    let name = match level {
        Level::Portable => "fast_portable",
        Level::F16c => "fast_f16c",
        Level::Avx512 => "fast_avx512",
    };
    let row = move |a: u16, b: &[u16], results: &mut [u16]| {
        operation(level, &vec![a; b.len()], b, results);
    };
    (name, Box::new(row))
}

/// Compares an oracle with a model and with subjects that compute whole rows, on each of the first operands with all of
/// the second. A difference ends it.
fn compare(
    (first, second): (&[u16], &[u16]),
    oracle: impl Fn(u32, u32) -> u32,
    model: impl Fn(u32, u32) -> u32,
    mut subjects: Vec<Subject>,
) -> ExhaustiveOutcome {
    assert!(second.len().is_multiple_of(LANES) && !first.is_empty());
    let names: Vec<_> = once("model").chain(subjects.iter().map(|(name, _)| *name)).collect();
    let mut rows = vec![vec![0u16; second.len()]; subjects.len()];
    let mut outcome = ExhaustiveOutcome {
        cases: 0,
        subjects: names.iter().map(|&name| name.to_owned()).collect(),
        difference: None,
    };
    for &a in first {
        for ((_, subject), row) in subjects.iter_mut().zip(&mut rows) {
            subject.row(a, second, row);
        }
        let result = |i: usize| {
            let model = model(a.into(), second[i].into()) as u16;
            let oracle = oracle(a.into(), second[i].into()) as u16;
            (oracle, model)
        };
        let differs = |&i: &usize| {
            let (oracle, model) = result(i);
            model != oracle || rows.iter().any(|row| row[i] != oracle)
        };
        let Some(i) = (0..second.len()).find(differs) else {
            outcome.cases += second.len() as u64;
            continue;
        };
        let (oracle, model) = result(i);
        let values = once(model).chain(rows.iter().map(|row| row[i]));
        let results = once(("oracle", oracle)).chain(names.iter().copied().zip(values));
        let results = results.map(|(name, bits)| (name.to_owned(), bits.into())).collect();
        outcome.cases += i as u64;
        outcome.difference = Some(Difference { operands: vec![a, second[i]], results });
        break;
    }
    outcome
}

/// Verilated lanes.
struct Lanes {
    lanes: &'static PimlicoLanes,
    instance: NonNull<c_void>,
}

impl Lanes {
    fn new(lanes: &'static PimlicoLanes) -> Self {
        // SAFETY: `create` returns a new instance.
        let instance = NonNull::new(unsafe { (lanes.create)() }).expect("`new` is never null");
        Self { lanes, instance }
    }
}

impl Row for Lanes {
    fn row(&mut self, a: u16, b: &[u16], results: &mut [u16]) {
        assert!(b.len() == results.len() && b.len().is_multiple_of(LANES));
        // SAFETY: the instance is live, the slices have one length, a multiple of the lanes.
        unsafe {
            let instance = self.instance.as_ptr();
            (self.lanes.row)(instance, a, b.as_ptr(), results.as_mut_ptr(), b.len());
        }
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // SAFETY: the instance is live, and not used again.
        unsafe { (self.lanes.destroy)(self.instance.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_units::arith::{Bfloat16, Binary16, FpMul};

    /// Rows by an operation on single values.
    fn by(operation: fn(u32, u32) -> u32) -> Subject {
        let row = move |a: u16, b: &[u16], results: &mut [u16]| {
            for (b, result) in b.iter().zip(results) {
                *result = operation(a.into(), (*b).into()) as u16;
            }
        };
        ("rtl", Box::new(row))
    }

    /// A multiplier with one wrong rounding, of one pair of operands.
    fn faulty(a: u32, b: u32) -> u32 {
        let product = FpMul::<Binary16, 0>::model(a, b);
        if (a, b) == (0x3C01, 0x4201) { product ^ 1 } else { product }
    }

    #[test]
    fn strata_have_every_sign_and_exponent_and_the_edges() {
        assert_eq!(Operands::All.list::<Binary16>().len(), Operands::All.count());
        let operands = Operands::Stratified.list::<Binary16>();
        assert_eq!(operands.len(), Operands::Stratified.count());
        for edge in [0, 0x8000, 1, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0x7E00, 0xFC01, 0x3C01] {
            assert!(operands.contains(&edge), "{edge:04x}");
        }
        let operands = Operands::Stratified.list::<Bfloat16>();
        assert_eq!(operands.len(), 4096);
        assert!([0x007F, 0x0080, 0x7F7F, 0x7FC0].iter().all(|edge| operands.contains(edge)));
    }

    #[test]
    fn a_single_wrong_pair_is_found_in_model_and_rtl() {
        let operands = Operands::Stratified.list::<Binary16>();
        let right: fn(u32, u32) -> u32 = FpMul::<Binary16, 0>::model;
        let expected = right(0x3C01, 0x4201);
        for (model, rtl) in [(faulty as fn(u32, u32) -> u32, right), (right, faulty)] {
            let oracle = FpMul::<Binary16, 0>::oracle;
            let of_parts = operands.chunks(ROWS).map(|first| {
                let subjects = vec![by(rtl)];
                compare((first, &operands), oracle, model, subjects)
            });
            let outcome = of_parts.reduce(ExhaustiveOutcome::and).expect("some parts");
            let found = outcome.difference.expect("the fault is there");
            assert_eq!(found.operands, [0x3C01, 0x4201]);
            assert_eq!(found.results[0], ("oracle".to_owned(), expected));
            let at = |operand| operands.iter().position(|&other| other == operand).expect("there");
            assert_eq!(outcome.cases, (at(0x3C01) * operands.len() + at(0x4201)) as u64);
        }
    }

    #[test]
    fn parts_that_agree_add_up() {
        let operands = Operands::Stratified.list::<Bfloat16>();
        let model = FpMul::<Bfloat16, 0>::model;
        let part = |first| compare((first, &operands), model, model, vec![by(model)]);
        let outcome = part(&operands[..2]).and(part(&operands[2..5]));
        assert_eq!((outcome.cases, outcome.difference), (5 * 4096, None));
        assert_eq!(outcome.subjects, ["model", "rtl"]);
    }
}
