// SPDX-License-Identifier: MIT
//! Vector unit of an NPU.

use crate::arith::{Format, Fp};
use crate::bank::{Beats, Lanes, PARTIALS, tree};
use num_traits::One;
use pimlico_ports::{
    Model, Open, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A vector unit.
    unit VectorUnit<F: Format, L: Lanes>: "vector_unit" {
        inputs VectorUnitIn {
            /// An operation.
            valid_i: bool => all_but_one_in(8),
            /// Operation: ADD, SUB, MUL, MAX, EXP, RECIP, GELU, SUM, DOT, GREATEST from 0 on.
            operation_i: U<4>,
            /// Element 0 of `b_i` is operand b of all lanes.
            broadcast_i: bool => one_in(4),
            /// The operation of the reduction tree begins a total.
            first_i: bool => one_in(4),
            /// The operation of the reduction tree ends a total.
            last_i: bool => one_in(4),
            /// Operand a of each lane.
            a_i: L::Of<Fp<F>>,
            /// Operand b of each lane.
            b_i: L::Of<Fp<F>>,
        }
        outputs VectorUnitOut {
            /// `result_o` is of an operation.
            result_valid_o: bool,
            /// Result of each lane.
            result_o: L::Of<Fp<F>>,
            /// `total_o` is new in this cycle.
            total_valid_o: bool,
            /// The total that ended last.
            total_o: Fp<F>,
        }
        probes VectorUnitProbe {}
    }
}

/// An operation of a vector unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorOperation {
    /// `a + b`.
    Add,
    /// `a - b`.
    Sub,
    /// `a * b`.
    Mul,
    /// The larger of `a` and `b`.
    Max,
    /// `e^a`.
    Exp,
    /// `1 / a`.
    Recip,
    /// `a * sigmoid(1.702 a)`.
    Gelu,
    /// Sum of `a` over lanes and operations.
    Sum,
    /// Sum of `a * b` over lanes and operations.
    Dot,
    /// The largest `a` of lanes and operations.
    Greatest,
}

impl VectorOperation {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 10] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Max,
        Self::Exp,
        Self::Recip,
        Self::Gelu,
        Self::Sum,
        Self::Dot,
        Self::Greatest,
    ];

    /// What stands for it on `operation_i`.
    pub fn code(self) -> U<4> {
        U::new(self as u64)
    }

    /// The operation of a code, if it has one.
    pub fn of_code(code: U<4>) -> Option<Self> {
        Self::ALL.get(code.get() as usize).copied()
    }
}

/// Cycles from an operation to its result.
const LANE: usize = 23;
/// The longest time to a total of a unit that is built.
const MOST_TOTAL: usize = 32;
/// The most lanes of a unit that is built.
const MOST_LANES: usize = 16;

/// The cycle model of a vector unit of `L` lanes.
///
/// An operation is computed when it comes; what the pipelines do is a delay of results and totals.
///
#[doc = contract!("npu/vector_unit")]
#[derive(Clone)]
pub struct VectorUnit<F: Format, L: Lanes> {
    partial: [Fp<F>; PARTIALS],
    beats: Beats,
    greatest: Fp<F>,
    /// Results and totals on their way: those which are due in cycle `n` are at `n` modulo their latency.
    results: [Option<L::Of<Fp<F>>>; LANE],
    totals: [Option<Fp<F>>; MOST_TOTAL],
    cycle: usize,
    /// The total that came last.
    total: Option<Fp<F>>,
}

impl<F: Format, L: Lanes> VectorUnit<F, L> {
    /// Cycles from an operation to its result.
    pub const RESULT: usize = LANE;
    /// Cycles from the operation that ends a total to it.
    pub const TOTAL: usize = {
        let cycles = 3 * L::LEVELS + 16;
        assert!(cycles <= MOST_TOTAL && L::COUNT <= MOST_LANES);
        cycles
    };

    /// An operation of a lane; none of the reduction tree.
    fn lane(operation: VectorOperation, a: Fp<F>, b: Fp<F>) -> Fp<F> {
        match operation {
            VectorOperation::Sub => a + b.negated(),
            VectorOperation::Mul => a * b,
            VectorOperation::Max => a.max(b),
            VectorOperation::Exp => a.exp(),
            VectorOperation::Recip => a.recip(),
            VectorOperation::Gelu => (Fp::one() + (a * Self::slope()).exp()).recip() * a,
            _ => a + b,
        }
    }

    /// -1.702, rounded.
    fn slope() -> Fp<F> {
        let digits = if F::MAN_BITS == 10 { 719 } else { 90 };
        Fp::<F>::from_bits(Fp::<F>::one().to_bits() | digits).negated()
    }

    /// An operation of the reduction tree. Returns the total with it.
    fn reduce(
        &mut self,
        operation: VectorOperation,
        first: bool,
        a: &L::Of<Fp<F>>,
        b: impl Fn(usize) -> Fp<F>,
    ) -> Fp<F> {
        if operation == VectorOperation::Greatest {
            let before = if first { Fp::infinity(true) } else { self.greatest };
            self.greatest = (0..L::COUNT).fold(before, |greatest, lane| greatest.max(a[lane]));
            return self.greatest;
        }
        let mut terms = [Fp::ZERO; MOST_LANES];
        for (lane, term) in terms.iter_mut().enumerate().take(L::COUNT) {
            let is_dot = operation == VectorOperation::Dot;
            *term = a[lane] * if is_dot { b(lane) } else { Fp::one() };
        }
        let (index, begins) = self.beats.next(first);
        let partial = if begins { Fp::ZERO } else { self.partial[index] };
        self.partial[index] = tree(&mut terms[..L::COUNT]) + partial;
        let mut partials = [Fp::ZERO; PARTIALS];
        let there = self.beats.partials();
        partials[..there].copy_from_slice(&self.partial[..there]);
        tree(&mut partials)
    }
}

impl<F: Format, L: Lanes> Unit for VectorUnit<F, L> {
    const MODULE: &'static str = "vector_unit";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("LANES", L::COUNT as i64),
        ("EXP_BITS", F::EXP_BITS as i64),
        ("MAN_BITS", F::MAN_BITS as i64),
    ];
    type In = VectorUnitIn<F, L>;
    type Out = VectorUnitOut<F, L>;
    type Probe = VectorUnitProbe<F, L>;

    fn variant() -> String {
        let size = if L::COUNT == 8 { String::new() } else { format!("x{}", L::COUNT) };
        let parts = [F::LABEL, &size].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("_")
    }
}

impl<F: Format, L: Lanes> Model for VectorUnit<F, L> {
    fn new() -> Self {
        const { assert!(F::SUBNORMALS, "built with gradual underflow") };
        Self {
            partial: [Fp::ZERO; PARTIALS],
            beats: Beats::default(),
            greatest: Fp::infinity(true),
            results: [None; LANE],
            totals: [None; MOST_TOTAL],
            cycle: 0,
            total: None,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        VectorUnitProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.results[self.cycle % LANE].is_none() {
            open.port("result_o").mark();
        }
        if self.totals[self.cycle % Self::TOTAL].or(self.total).is_none() {
            open.port("total_o").mark();
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let result = self.results[self.cycle % LANE];
        let total = self.totals[self.cycle % Self::TOTAL];
        VectorUnitOut {
            result_valid_o: result.is_some(),
            result_o: result.unwrap_or_default(),
            total_valid_o: total.is_some(),
            total_o: total.or(self.total).unwrap_or_default(),
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let (of_result, of_total) = (self.cycle % LANE, self.cycle % Self::TOTAL);
        self.results[of_result] = None;
        self.total = self.totals[of_total].take().or(self.total);
        let b = |lane: usize| input.b_i[if input.broadcast_i { 0 } else { lane }];
        match VectorOperation::of_code(input.operation_i).filter(|_| input.valid_i) {
            Some(
                operation @ (VectorOperation::Sum
                | VectorOperation::Dot
                | VectorOperation::Greatest),
            ) => {
                let total = self.reduce(operation, input.first_i, &input.a_i, b);
                self.totals[of_total] = input.last_i.then_some(total);
            }
            Some(operation) => {
                let mut results = input.a_i;
                for lane in 0..L::COUNT {
                    results[lane] = Self::lane(operation, input.a_i[lane], b(lane));
                }
                self.results[of_result] = Some(results);
            }
            None => {}
        }
        self.cycle = (self.cycle + 1) % (LANE * Self::TOTAL);
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::{Bfloat16, Binary16};
    use crate::bank::{Eight, Four};
    use num_traits::AsPrimitive;

    type Small = VectorUnit<Binary16, Four>;
    type Input = VectorUnitIn<Binary16, Four>;

    fn operation(operation: VectorOperation, a: [f32; 4], b: [f32; 4]) -> Input {
        let (a_i, b_i) = (a.map(|x| x.as_()), b.map(|x| x.as_()));
        Input { valid_i: true, operation_i: operation.code(), a_i, b_i, ..Input::default() }
    }

    /// Cycles of results and totals, with them.
    type Seen = (Vec<(usize, [f32; 4])>, Vec<(usize, f32)>);

    fn run(inputs: &[Input]) -> Seen {
        let mut unit = Small::new();
        let (mut results, mut totals) = (Vec::new(), Vec::new());
        let idle = [Input::default(); MOST_TOTAL];
        for (cycle, input) in inputs.iter().chain(&idle).enumerate() {
            let output = unit.step(input);
            if output.result_valid_o {
                results.push((cycle, output.result_o.map(|x| x.as_())));
            }
            if output.total_valid_o {
                totals.push((cycle, output.total_o.as_()));
            }
        }
        (results, totals)
    }

    #[test]
    fn results_of_lanes_come_after_23_cycles() {
        let (a, b) = ([1.0, -2.0, 0.5, 4.0], [3.0, 1.0, 0.25, -4.0]);
        let operations = [
            (VectorOperation::Add, [4.0, -1.0, 0.75, 0.0]),
            (VectorOperation::Sub, [-2.0, -3.0, 0.25, 8.0]),
            (VectorOperation::Mul, [3.0, -2.0, 0.125, -16.0]),
            (VectorOperation::Max, [3.0, 1.0, 0.5, 4.0]),
            (VectorOperation::Recip, [1.0, -0.5, 2.0, 0.25]),
        ];
        let inputs: Vec<_> = operations.iter().map(|(of, _)| operation(*of, a, b)).collect();
        let (results, totals) = run(&inputs);
        let expected = operations.iter().enumerate().map(|(n, (_, result))| (n + 23, *result));
        assert_eq!(results, expected.collect::<Vec<_>>());
        assert_eq!(totals, []);
        let broadcast = Input { broadcast_i: true, ..operation(VectorOperation::Sub, a, b) };
        assert_eq!(run(&[broadcast]).0, [(23, [-2.0, -5.0, -2.5, 1.0])]);
        let none = Input { operation_i: U::new(10), ..broadcast };
        assert_eq!(run(&[none]), (vec![], vec![]));
    }

    #[test]
    fn totals_come_in_the_order_of_their_operations() {
        assert_eq!((Small::TOTAL, VectorUnit::<Binary16, Eight>::TOTAL), (22, 25));
        let all = |of, a| Input { first_i: true, last_i: true, ..operation(of, a, [2.0; 4]) };
        let numbers = [1.0, 5.0, -3.0, 2.0];
        let begin = Input { last_i: false, ..all(VectorOperation::Greatest, numbers) };
        let inputs = [
            all(VectorOperation::Sum, numbers),
            begin,
            all(VectorOperation::Dot, numbers),
            Input { first_i: false, ..all(VectorOperation::Greatest, [4.0; 4]) },
            all(VectorOperation::Greatest, [-4.0; 4]),
        ];
        assert_eq!(run(&inputs).1, [(22, 5.0), (24, 10.0), (25, 5.0), (26, -4.0)]);
    }

    #[test]
    fn gelu_is_near_its_definition() {
        let of = |x: f32| {
            let x: Fp<Binary16> = x.as_();
            let y: f32 = Small::lane(VectorOperation::Gelu, x, Fp::ZERO).as_();
            y
        };
        assert_eq!((of(0.0), of(f32::INFINITY), of(100.0)), (0.0, f32::INFINITY, 100.0));
        assert_eq!(of(-100.0), 0.0);
        assert!(of(f32::NEG_INFINITY).is_nan());
        // 1 * Phi(1) = 0.8413, and sigmoid(1.702) = 0.8458.
        assert!((of(1.0) - 0.8458).abs() < 1e-3, "{}", of(1.0));
        let slope: f32 = VectorUnit::<Bfloat16, Eight>::slope().as_();
        assert_eq!(slope, -1.703_125);
    }
}
