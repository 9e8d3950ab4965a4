// SPDX-License-Identifier: MIT
//! PIM block at a bank of LPDDR5X-PIM.

use crate::arith::{Bfloat16, Format, Fp, sum_parameters, sum_variant};
use pimlico_ports::{
    Model, Open, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A PIM block.
    unit PimBlock<F: Format, A: Format = F>: "pim_block" {
        inputs PimBlockIn {
            /// The burst on `data_i` goes to an input register (WR_IN).
            write_i: bool => one_in(8),
            /// The burst on `data_i` is multiplied and added (MAC).
            mac_i: bool => all_but_one_in(4),
            /// Sums of an output register are read (RD_OUT).
            read_i: bool,
            /// WR_IN: input register; MAC and RD_OUT: output register.
            register_i: U<3>,
            /// MAC: element of the input registers, the factor of all lanes.
            element_i: U<7>,
            /// MAC: the product is added to +0 instead of the sum.
            first_i: bool => one_in(6),
            /// WR_IN: inputs from the data bus; MAC: weights from the bank.
            data_i: [Fp<F>; 16],
        }
        outputs PimBlockOut {
            /// `result_o` is what the RD_OUT of the last step read.
            result_valid_o: bool,
            /// Sums of the lanes, each rounded to an element, or zero.
            result_o: [Fp<F>; 16],
            /// The RD_OUT of the last step came before a MAC of its register was through.
            stale_o: bool,
        }
        probes PimBlockProbe {
            /// Output registers.
            out_q: [[Fp<A>; 16]; 8],
        }
    }
}

/// Lanes of a block, and elements of a burst.
const LANES: usize = 16;
/// Input registers, and output registers.
const REGISTERS: usize = 8;
/// Steps between a MAC and the first that finds its sum in the output register.
const PIPELINE: usize = 5;

/// The sums of the lanes in a register.
#[derive(Clone, Copy)]
struct Sums<A> {
    lanes: [Fp<A>; LANES],
    /// They are made of nothing but what came since the reset.
    known: bool,
}

/// The cycle model of a PIM block with elements of format `F` and sums of format `A`.
///
/// A MAC is added when it comes; what the pipeline does is a delay of the output register.
///
#[doc = contract!("bank/pim_block")]
#[derive(Clone)]
pub struct PimBlock<F: Format, A: Format = F> {
    /// Input registers, of those that have been written.
    inputs: [Option<[Fp<F>; LANES]>; REGISTERS],
    /// The sums with every MAC that has come.
    newest: [Sums<A>; REGISTERS],
    /// The sums as the output registers hold them.
    out: [Sums<A>; REGISTERS],
    /// MACs under way: the register of each, and its sums. That of step `n` is at `n` modulo their number.
    under_way: [Option<(usize, Sums<A>)>; PIPELINE],
    step: usize,
    /// What the registers of the outputs hold, and whether the result is of known sums.
    output: PimBlockOut<F, A>,
    result_known: bool,
}

impl<F: Format, A: Format> PimBlock<F, A> {
    /// Steps that have to be between the last MAC of a register and its RD_OUT.
    pub const DRAIN: usize = PIPELINE;

    /// The sums of a MAC.
    fn multiply_add(&self, input: &PimBlockIn<F, A>) -> Sums<A> {
        let element = input.element_i.get() as usize;
        let Sums { mut lanes, known } = self.newest[input.register_i.get() as usize];
        let factors = self.inputs[element / LANES];
        let factor = factors.map_or(Fp::ZERO, |factors| factors[element % LANES]);
        for (sum, weight) in lanes.iter_mut().zip(input.data_i) {
            let before = if input.first_i { Fp::ZERO } else { *sum };
            *sum = before + (weight * factor).widen();
        }
        Sums { lanes, known: factors.is_some() && (input.first_i || known) }
    }

    /// The RD_OUT of a step, for the registers of the outputs.
    fn read(&mut self, register: usize) {
        let Sums { lanes, known } = self.out[register];
        self.result_known = known;
        self.output = PimBlockOut {
            result_valid_o: true,
            result_o: lanes.map(|sum| sum.narrow()),
            stale_o: self.under_way.iter().flatten().any(|(of, _)| *of == register),
            ..Default::default()
        };
    }
}

impl<F: Format, A: Format> Unit for PimBlock<F, A> {
    const MODULE: &'static str = "pim_block";
    const PARAMETERS: &'static [(&'static str, i64)] = &sum_parameters::<F, A>();
    type In = PimBlockIn<F, A>;
    type Out = PimBlockOut<F, A>;
    type Probe = PimBlockProbe<F, A>;

    /// bfloat16 has no name of its own.
    fn variant() -> String {
        let variant = sum_variant::<F, A>();
        match variant.strip_prefix(Bfloat16::LABEL) {
            Some(rest) => rest.trim_start_matches('_').to_owned(),
            None if variant.is_empty() => "binary16".to_owned(),
            None => format!("binary16_{variant}"),
        }
    }
}

impl<F: Format, A: Format> Model for PimBlock<F, A> {
    fn new() -> Self {
        let unknown = Sums { lanes: [Fp::ZERO; LANES], known: false };
        Self {
            inputs: [None; REGISTERS],
            newest: [unknown; REGISTERS],
            out: [unknown; REGISTERS],
            under_way: [None; PIPELINE],
            step: 0,
            output: PimBlockOut::default(),
            result_known: true,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        PimBlockProbe { out_q: self.out.map(|sums| sums.lanes), ..Default::default() }
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if !self.result_known {
            open.port("result_o").mark();
        }
        for (register, _) in self.out.iter().enumerate().filter(|(_, sums)| !sums.known) {
            open.port("out_q").element(register).mark();
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        self.output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.output;
        let register = input.register_i.get() as usize;
        self.output = PimBlockOut::default();
        self.result_known = true;

        let mut mac = None;
        if input.write_i {
            self.inputs[register] = Some(input.data_i);
        } else if input.mac_i {
            self.newest[register] = self.multiply_add(input);
            mac = Some((register, self.newest[register]));
        } else if input.read_i {
            self.read(register);
        }

        if let Some((of, sums)) = std::mem::replace(&mut self.under_way[self.step], mac) {
            self.out[of] = sums;
        }
        self.step = (self.step + 1) % PIPELINE;
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::Binary32;
    use num_traits::{AsPrimitive, One};

    type Narrow = PimBlock<Bfloat16>;
    type Wide = PimBlock<Bfloat16, Binary32>;

    fn write<A: Format>(register: u64, numbers: [f32; LANES]) -> PimBlockIn<Bfloat16, A> {
        PimBlockIn {
            write_i: true,
            register_i: U::new(register),
            data_i: numbers.map(|x| x.as_()),
            ..Default::default()
        }
    }

    fn mac<A: Format>(
        register: u64,
        element: u64,
        weights: [f32; LANES],
    ) -> PimBlockIn<Bfloat16, A> {
        let element_i = U::new(element);
        PimBlockIn { write_i: false, mac_i: true, element_i, ..write(register, weights) }
    }

    fn first<A: Format>(mac: PimBlockIn<Bfloat16, A>) -> PimBlockIn<Bfloat16, A> {
        PimBlockIn { first_i: true, ..mac }
    }

    fn read<A: Format>(register: u64) -> PimBlockIn<Bfloat16, A> {
        PimBlockIn { read_i: true, register_i: U::new(register), ..Default::default() }
    }

    /// What a register holds when the steps, and so many empty ones behind them, are over.
    fn sums<A: Format>(
        steps: &[PimBlockIn<Bfloat16, A>],
        empty: usize,
        register: u64,
    ) -> PimBlockOut<Bfloat16, A> {
        let mut block = PimBlock::new();
        for step in steps.iter().chain(&vec![PimBlockIn::default(); empty]) {
            block.step(step);
        }
        block.step(&read(register));
        block.settle(&PimBlockIn::default())
    }

    fn numbers<A: Format>(output: &PimBlockOut<Bfloat16, A>) -> [f32; LANES] {
        output.result_o.map(|x| x.as_())
    }

    /// Numbers that are told apart.
    fn lanes(step: f32) -> [f32; LANES] {
        std::array::from_fn(|lane| step + lane as f32)
    }

    #[test]
    fn each_lane_has_a_row_and_each_register_sums_of_its_own() {
        // Elements 0 to 15 are 1 to 16, elements 112 to 127 are 2 to 17.
        let steps = [
            write(0, lanes(1.0)),
            write(7, lanes(2.0)),
            first(mac(3, 2, lanes(0.0))),
            first(mac(4, 127, lanes(1.0))),
            mac(3, 112, lanes(10.0)),
        ];
        let outputs = [3, 4].map(|register| numbers(&sums::<Bfloat16>(&steps, 5, register)));
        let expected = std::array::from_fn(|l| 3.0 * l as f32 + 2.0 * (10.0 + l as f32));
        assert_eq!(outputs[0], expected);
        // Rounded to 8 bits: 17 times 16 is 272, all others are below 256.
        assert_eq!(outputs[1], lanes(1.0).map(|x| 17.0 * x));
    }

    #[test]
    fn five_steps_drain_the_pipeline_and_four_do_not() {
        let steps = [write(0, lanes(1.0)), first(mac(0, 0, [2.0; LANES])), mac(0, 0, [3.0; LANES])];
        let drained = sums::<Bfloat16>(&steps, Narrow::DRAIN, 0);
        assert!(drained.result_valid_o && !drained.stale_o);
        assert_eq!(numbers(&drained), [5.0; LANES]);
        let early = sums::<Bfloat16>(&steps, Narrow::DRAIN - 1, 0);
        assert!(early.result_valid_o && early.stale_o);
        assert_eq!(numbers(&early), [2.0; LANES]);
        // MACs of another register are nothing to it.
        let other = sums::<Bfloat16>(&[&steps[..], &[mac(1, 0, lanes(0.0)); 5]].concat(), 0, 0);
        assert!(!other.stale_o);
        assert_eq!(numbers(&other), [5.0; LANES]);
    }

    #[test]
    fn a_sum_is_there_for_the_next_step() {
        let ones = |count| vec![mac(5, 0, [1.0; LANES]); count];
        let steps =
            [vec![write(0, [1.0; LANES]), first(mac(5, 0, [0.0; LANES]))], ones(20)].concat();
        assert_eq!(numbers(&sums::<Bfloat16>(&steps, 5, 5)), [20.0; LANES]);
    }

    #[test]
    fn an_input_is_there_for_the_next_step_and_not_for_the_one_before() {
        let steps = [
            write(1, [1.0; LANES]),
            first(mac(0, 16, [1.0; LANES])),
            write(1, [10.0; LANES]),
            mac(0, 16, [1.0; LANES]),
        ];
        assert_eq!(numbers(&sums::<Bfloat16>(&steps, 5, 0)), [11.0; LANES]);
    }

    #[test]
    fn wide_sums_keep_what_narrow_ones_lose_and_are_rounded_once() {
        fn of<A: Format>(behind: &[f32]) -> f32 {
            let mut steps = vec![write(0, [1.0; LANES]), first(mac(0, 0, [256.0; LANES]))];
            steps.extend(behind.iter().map(|x| mac(0, 0, [*x; LANES])));
            numbers(&sums::<A>(&steps, 5, 0))[15]
        }
        // From 256 on, bfloat16 counts in twos.
        assert_eq!((of::<Bfloat16>(&[1.0, 1.0]), of::<Binary32>(&[1.0, 1.0])), (256.0, 258.0));
        assert_eq!((of::<Binary32>(&[1.0]), of::<Binary32>(&[1.0, 0.0078125])), (256.0, 258.0));
        assert_eq!(Wide::variant(), "sum32");
        assert_eq!(Narrow::variant(), "");
    }

    #[test]
    fn a_first_product_is_added_to_positive_zero() {
        let steps = [write(0, [1.0; LANES]), first(mac(0, 0, [-0.0; LANES]))];
        assert_eq!(sums::<Bfloat16>(&steps, 5, 0).result_o, [Fp::ZERO; LANES]);
        let one = [Fp::<Bfloat16>::one(); LANES];
        let steps = [
            write(0, [1.0; LANES]),
            first(mac(0, 0, [9.0; LANES])),
            first(mac(0, 0, [1.0; LANES])),
        ];
        assert_eq!(sums::<Bfloat16>(&steps, 5, 0).result_o, one);
    }

    #[test]
    fn of_several_commands_the_first_is_obeyed() {
        let all = PimBlockIn { write_i: true, read_i: true, ..mac::<Bfloat16>(0, 0, [1.0; LANES]) };
        let mut block = Narrow::new();
        block.step(&all);
        let output = block.step(&first(PimBlockIn { write_i: false, ..all }));
        assert!(!output.result_valid_o);
        assert!(!block.settle(&all).result_valid_o);
        for _ in 0..5 {
            block.step(&PimBlockIn::default());
        }
        block.step(&read(0));
        assert_eq!(numbers(&block.settle(&all)), [1.0; LANES]);
    }
}
