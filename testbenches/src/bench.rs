// SPDX-License-Identifier: MIT
//! What a unit's bench knows beside its ports.

use crate::coverage::{Bins, ports};
use crate::exhaustive::Exhaustive;
use pimlico_ports::{Bundle, Model};
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};
use std::fmt;

/// Cycles in an episode, at the most, unless the bench says otherwise.
pub const EPISODE: usize = 1000;

/// A unit that can be tested.
///
/// RTL and model come from the same hand and may agree on the same mistake. The oracle is the third
/// opinion: it judges outputs by the references of `golden`.
pub trait Bench: Model {
    /// Judges the outputs of a run from reset, `outputs[n]` belonging to the cycle of `inputs[n]`.
    /// Returns how many values it has checked.
    fn oracle(inputs: &[Self::In], outputs: &[Self::Out]) -> Result<u64, OracleError>;

    /// Makes the random inputs of an episode ones that belong together, where draws that know nothing of
    /// each other would hardly ever be: a configuration, a level that is held, a stream of requests.
    fn arrange(_inputs: &mut [Self::In]) {}

    /// Random inputs of an episode: those of cycles that know nothing of each other, arranged.
    fn episodes() -> BoxedStrategy<Vec<Self::In>> {
        let arranged = |mut inputs: Vec<Self::In>| {
            Self::arrange(&mut inputs);
            inputs
        };
        cycles::<Self::In>(EPISODE).prop_map(arranged).boxed()
    }

    /// Declares what a run is to reach. Unless the bench says better, every port takes values of every sort.
    fn plan(bins: &mut Bins) {
        ports::plan::<Self>(bins);
    }

    /// Marks in the bins of [`plan`](Self::plan) what an episode, from its reset, has reached. A bench has
    /// both of its own or neither.
    fn cover(inputs: &[Self::In], outputs: &[Self::Out], bins: &mut Bins) {
        for (input, output) in inputs.iter().zip(outputs) {
            ports::cover::<Self>(input, output, bins);
        }
    }

    /// The unit as a function of all its operands, if it is one of one or two of 16 bits and has no registers.
    fn exhaustive() -> Option<Exhaustive> {
        None
    }
}

/// Sequences of 1 to `length` cycles of inputs, which shrink to fewer cycles and simpler values.
pub(crate) fn cycles<B: Bundle>(length: usize) -> impl Strategy<Value = Vec<B>> {
    vec(vec(ANY, B::DRAWS).prop_map(|entropy| B::draw(&entropy)), 1..=length)
}

/// An output that is not what the reference says, though RTL and model agree on it.
#[derive(Clone, Debug)]
pub struct OracleError {
    /// Cycle since reset.
    pub cycle: u64,
    /// Output port.
    pub port: &'static str,
    /// Its value.
    pub got: u32,
    /// What the reference says.
    pub expected: u32,
    /// How the value came about.
    pub what: String,
}

impl OracleError {
    /// Of the first port, and 32 bits of it, in which outputs are not as expected.
    ///
    /// # Errors
    ///
    /// If there is one.
    pub fn unless_equal<B: Bundle>(cycle: u64, got: &B, expected: &B) -> Result<(), Self> {
        if got == expected {
            return Ok(());
        }
        let words = |bundle: &B| {
            let mut words = Vec::new();
            bundle.for_each_port(|port, bits| {
                for (low, part) in (0..).step_by(32).zip(bits.chunks(32)) {
                    let number =
                        part.iter().rev().fold(0, |number, bit| 2 * number + u32::from(*bit));
                    words.push((port.name, low, number));
                }
            });
            words
        };
        let pairs = words(got).into_iter().zip(words(expected));
        let mut differ = pairs.filter(|((.., got), (.., expected))| got != expected);
        let ((port, low, got), (.., expected)) = differ.next().expect("a port differs");
        let what = format!("bits from {low} on");
        Err(Self { cycle, port, got, expected, what })
    }
}

impl fmt::Display for OracleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, port, got, expected, what } = self;
        write!(f, "cycle {cycle}, port {port}: {got:04x}, golden says {expected:04x} ({what})")
    }
}

impl std::error::Error for OracleError {}
