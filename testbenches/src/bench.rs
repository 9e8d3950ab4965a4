// SPDX-License-Identifier: MIT
//! What a unit's bench knows beside its ports.

use crate::coverage::{Bins, ports};
use crate::exhaustive::Exhaustive;
use pimlico_ports::{Bundle, Model, PortInfo};
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
        let arranged = |entropy| {
            let mut inputs = drawn(entropy);
            Self::arrange(&mut inputs);
            inputs
        };
        entropy(EPISODE, Self::In::DRAWS).prop_map(arranged).boxed()
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
    entropy(length, B::DRAWS).prop_map(drawn)
}

fn drawn<B: Bundle>(entropy: Vec<Vec<u64>>) -> Vec<B> {
    entropy.iter().map(|cycle| B::draw(cycle)).collect()
}

/// The entropy of 1 to `length` cycles of inputs, which shrinks to fewer cycles and simpler values: `draws` words of each.
/// It is no matter which unit they are for, and compiled once for all.
fn entropy(length: usize, draws: usize) -> BoxedStrategy<Vec<Vec<u64>>> {
    vec(vec(ANY, draws), 1..=length).boxed()
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
        Err(Self::of(cycle, B::PORTS, &got.words(), &expected.words()))
    }

    /// The same for words of ports that differ.
    #[cold]
    fn of(cycle: u64, ports: &[PortInfo], got: &[u32], expected: &[u32]) -> Self {
        let parts = ports.iter().flat_map(|port| (0..port.words()).map(move |n| (port.name, n)));
        let mut parts = parts.zip(got.iter().zip(expected));
        let differ = parts.find(|(_, (got, expected))| got != expected);
        let ((port, n), (&got, &expected)) = differ.expect("a port differs");
        Self { cycle, port, got, expected, what: format!("bits from {} on", 32 * n) }
    }
}

impl fmt::Display for OracleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycle, port, got, expected, what } = self;
        write!(f, "cycle {cycle}, port {port}: {got:04x}, golden says {expected:04x} ({what})")
    }
}

impl std::error::Error for OracleError {}
