// SPDX-License-Identifier: MIT
//! All operands of an arithmetic unit: oracle against model against RTL, and against the fast
//! arithmetic of the device.

use crate::build;
use crate::ffi::{LANES, PimlicoLanes};
use crate::function::Function;
use pimlico_ports::Unit;
use pimlico_units::arith::Format;
use pimlico_units::arith::fast::Level;
use rayon::prelude::*;
use std::ffi::c_void;
use std::iter::once;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// All 2^16.
    All,
    /// Every sign and exponent with the significands at which rounding and carries turn, and some
    /// others: 2^12.
    Stratified,
}

impl Operands {
    /// How many pairs that makes.
    fn pairs(self) -> u64 {
        match self {
            Self::All => 1 << 32,
            Self::Stratified => 1 << 24,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The operands: one or two.
    pub operands: Vec<u16>,
    /// The results by name: `oracle`, `model`, `rtl`, `fast_f16c` and so on.
    pub results: Vec<(&'static str, u32)>,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct ExhaustiveOutcome {
    /// Operands, or pairs of them, that were compared.
    pub cases: u64,
    /// What was compared with the oracle for each of them, by name.
    pub subjects: Vec<&'static str>,
    /// The first difference, in the order of the operands.
    pub difference: Option<Difference>,
}

/// Compares oracle, model, RTL and fast arithmetic on all pairs of `operands`, on all cores.
/// `progress` is told of each part of 1 that has been compared. A difference ends the run.
///
/// None if the unit has registers, or operands of more than 16 bits.
///
/// # Panics
///
/// If the RTL cannot be made; see [`build::prepare`].
pub fn run<B: Binary + Unit>(
    operands: Operands,
    progress: impl Fn(f64) + Sync,
) -> Option<ExhaustiveOutcome> {
    let unit = B::info();
    if !build::has_lanes(&unit) {
        return None;
    }
    let lanes = build::load_lanes(&unit).unwrap_or_else(|error| panic!("{error}"));
    let progress = |pairs| progress(pairs as f64 / operands.pairs() as f64);
    let subjects = || {
        let rtl: Subject = ("rtl", Box::new(Lanes::new(lanes)));
        let fast = B::FAST.into_iter().flat_map(|operation| {
            Level::available().map(move |level| fast_subject(level, operation))
        });
        once(rtl).chain(fast).collect()
    };
    Some(compare(&operands.list::<B::Format>(), B::oracle, B::model, subjects, progress))
}

/// Compares reference, model and RTL on all operands.
///
/// None if the unit has registers.
pub fn run_unary<U: Unary + Unit>() -> Option<ExhaustiveOutcome> {
    if !U::PARAMETERS.contains(&("STAGES", 0)) {
        return None;
    }
    let mut rtl = Function::new(U::MODULE, &U::variant());
    let mut cases = 0;
    let mut difference = None;
    for a in 0..=u16::MAX {
        let (model, rtl) = (U::model(a.into()), rtl.result(a, 0));
        let wrong = U::wrong(a.into(), model);
        if wrong.is_some() || rtl != model {
            let oracle = wrong.unwrap_or(model);
            let results = vec![("oracle", oracle), ("model", model), ("rtl", rtl)];
            difference = Some(Difference { operands: vec![a], results });
            break;
        }
        cases += 1;
    }
    assert!(difference.is_some() || cases == 1 << 16);
    Some(ExhaustiveOutcome { cases, subjects: vec!["model", "rtl"], difference })
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

/// Compares an oracle with a model and with subjects that compute whole rows.
fn compare(
    operands: &[u16],
    oracle: impl Fn(u32, u32) -> u32 + Sync,
    model: impl Fn(u32, u32) -> u32 + Sync,
    subjects: impl Fn() -> Vec<Subject> + Sync,
    progress: impl Fn(u64) + Sync,
) -> ExhaustiveOutcome {
    assert!(operands.len().is_multiple_of(LANES));
    let names: Vec<_> = once("model").chain(subjects().iter().map(|(name, _)| *name)).collect();
    let pairs = AtomicU64::new(0);
    let first = Mutex::new(None::<Difference>);
    let found = || first.lock().expect("nobody panics with it").is_some();
    operands.par_iter().for_each_init(
        || (subjects(), vec![vec![0u16; operands.len()]; names.len() - 1]),
        |(subjects, rows), &a| {
            if found() {
                return;
            }
            for ((_, subject), row) in subjects.iter_mut().zip(&mut *rows) {
                subject.row(a, operands, row);
            }
            let difference = operands.iter().enumerate().find_map(|(i, &b)| {
                let model = model(a.into(), b.into()) as u16;
                let oracle = oracle(a.into(), b.into()) as u16;
                if model == oracle && rows.iter().all(|row| row[i] == oracle) {
                    return None;
                }
                let values = once(model).chain(rows.iter().map(|row| row[i]));
                let results = names.iter().copied().zip(values);
                let results = once(("oracle", oracle)).chain(results);
                let results = results.map(|(name, bits)| (name, bits.into())).collect();
                Some(Difference { operands: vec![a, b], results })
            });
            match difference {
                None => {
                    pairs.fetch_add(operands.len() as u64, Ordering::Relaxed);
                    progress(operands.len() as u64);
                }
                Some(difference) => {
                    let mut first = first.lock().expect("nobody panics with it");
                    if first.as_ref().is_none_or(|first| difference.operands < first.operands) {
                        *first = Some(difference);
                    }
                }
            }
        },
    );
    let difference = first.into_inner().expect("nobody panics with it");
    let cases = pairs.into_inner();
    let all = (operands.len() as u64).pow(2);
    assert!(difference.is_some() || cases == all && cases > 0, "{cases} of {all} pairs");
    ExhaustiveOutcome { cases, subjects: names, difference }
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
        let operands = Operands::Stratified.list::<Binary16>();
        assert_eq!(operands.len(), 4096);
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
            let outcome = compare(&operands, oracle, model, || vec![by(rtl)], |_| {});
            let found = outcome.difference.expect("the fault is there");
            assert_eq!(found.operands, [0x3C01, 0x4201]);
            assert_eq!(found.results[0], ("oracle", expected));
            assert!(outcome.cases < 4096 * 4096);
        }
    }
}
