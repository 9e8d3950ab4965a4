// SPDX-License-Identifier: MIT
//! The PIM blocks of a channel: 16 lanes at each of 16 banks, whose input registers hold the same, and the steps in which
//! they work.
//!
//! ```text
//! sum = round_S(sum + widen(round_E(weight * input)))       of each bank and lane, in an output register
//! ```
//!
//! E is the format of elements, S that of sums. A step is a column command in the mode of all banks. A MAC takes its input at its
//! own step and is in the output register [`DRAIN`] steps later. Sums are kept by value, as fast as the machine adds: the
//! definition of multiplication and addition is that of `pimlico_units`, and both are equal bit by bit.

use super::layout::{LANES, OUTPUT_REGISTERS};
use super::mode::{DRAIN, INPUT_REGISTERS, MacOperands};
use pimlico_units::arith::fast::{self, Level};
use pimlico_units::arith::{Bfloat16, Binary16, Binary32, Fp};

/// Banks of a channel, each with a block.
pub const BANKS: usize = 16;
/// Lanes of all blocks.
const ALL_LANES: usize = BANKS * LANES;

/// A burst: 16 elements, one for each lane.
pub type Vector = [u16; LANES];

/// Formats of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BlockElements {
    /// bfloat16, PIM-SHERPA's.
    #[default]
    Bfloat16,
    /// IEEE 754 binary16.
    Binary16,
}

impl BlockElements {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bfloat16 => "bfloat16",
            Self::Binary16 => "binary16",
        }
    }
}

/// How blocks compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockFormats {
    /// Format of elements.
    pub elements: BlockElements,
    /// Sums are binary32; else they are of the elements' format.
    pub wide: bool,
}

impl BlockFormats {
    /// Name of the format of sums.
    pub fn sums(self) -> &'static str {
        if self.wide { "binary32" } else { self.elements.name() }
    }
}

/// What arrived at the blocks of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// MACs: 16 rows of a column, in each bank.
    pub macs: u64,
    /// Input registers that were written.
    pub inputs: u64,
    /// Output registers that were written to rows.
    pub outputs: u64,
    /// Output registers that were written to rows while a MAC of theirs was still on its way.
    pub stale: u64,
    /// Commands that mean nothing to a block: MACs outside of their tile, WRs to rows of weights or to none, and an entry
    /// into the mode of all banks while another bank was open.
    pub faults: u64,
}

/// A MAC that is in the pipeline.
#[derive(Clone, Copy, Debug)]
struct Mac {
    row: u32,
    column: u8,
    register: usize,
    first: bool,
    input: u16,
}

/// The blocks of a channel.
#[derive(Clone, Debug)]
pub struct Blocks {
    formats: BlockFormats,
    level: Level,
    inputs: [u16; INPUT_REGISTERS * LANES],
    /// Sums of bfloat16 and of binary32, by their value.
    sums: Box<[[f32; ALL_LANES]; OUTPUT_REGISTERS as usize]>,
    /// Sums of binary16, by their bits.
    narrow: Box<[[u16; ALL_LANES]; OUTPUT_REGISTERS as usize]>,
    /// The latest steps, round and round.
    steps: [Option<Mac>; DRAIN],
    oldest: usize,
}

impl Blocks {
    /// Blocks whose registers are zero.
    pub fn new(formats: BlockFormats) -> Self {
        Self {
            formats,
            level: Level::best(),
            inputs: [0; INPUT_REGISTERS * LANES],
            sums: Box::new([[0.0; ALL_LANES]; OUTPUT_REGISTERS as usize]),
            narrow: Box::new([[0; ALL_LANES]; OUTPUT_REGISTERS as usize]),
            steps: [None; DRAIN],
            oldest: 0,
        }
    }

    /// A step that is no MAC. `weights` gives a column of all banks.
    pub fn pass<'a>(&mut self, weights: impl FnOnce(u32, u8) -> &'a [Vector]) {
        self.step(None, weights);
    }

    /// A step that is the MAC of a column of a row.
    pub fn mac<'a>(
        &mut self,
        (row, column): (u32, u8),
        MacOperands { element, register, first }: MacOperands,
        weights: impl FnOnce(u32, u8) -> &'a [Vector],
    ) {
        let input = self.inputs[element];
        self.step(Some(Mac { row, column, register, first, input }), weights);
    }

    /// Fills an input register of all blocks.
    pub fn write(&mut self, register: usize, data: &Vector) {
        self.inputs[LANES * register..][..LANES].copy_from_slice(data);
    }

    /// The output register of each bank's block, rounded to elements, and whether a MAC of it is still on its way.
    pub fn read(&self, register: usize) -> ([Vector; BANKS], bool) {
        let is_stale = self.steps.iter().flatten().any(|mac| mac.register == register);
        let element = |n: usize| self.element(register, n);
        (
            std::array::from_fn(|bank| std::array::from_fn(|lane| element(bank * LANES + lane))),
            is_stale,
        )
    }

    fn element(&self, register: usize, n: usize) -> u16 {
        let BlockFormats { elements, wide } = self.formats;
        let value = || Fp::<Binary32>::from_bits(self.sums[register][n].to_bits());
        match (elements, wide) {
            (BlockElements::Bfloat16, _) => value().narrow::<Bfloat16>().to_bits() as u16,
            (BlockElements::Binary16, true) => value().narrow::<Binary16>().to_bits() as u16,
            (BlockElements::Binary16, false) => self.narrow[register][n],
        }
    }

    fn step<'a>(&mut self, new: Option<Mac>, weights: impl FnOnce(u32, u8) -> &'a [Vector]) {
        let due = std::mem::replace(&mut self.steps[self.oldest], new);
        self.oldest = (self.oldest + 1) % DRAIN;
        if let Some(mac) = due {
            let weights = weights(mac.row, mac.column).as_flattened();
            self.add(mac, weights.try_into().expect("a burst of each bank"));
        }
    }

    fn add(&mut self, mac: Mac, weights: &[u16; ALL_LANES]) {
        let Mac { register, first, input, .. } = mac;
        let BlockFormats { elements, wide } = self.formats;
        if elements == BlockElements::Binary16 && !wide {
            let sums = &mut self.narrow[register];
            if first {
                sums.fill(0);
            }
            fast::mul_add::<Binary16>(self.level, weights, &[input; ALL_LANES], sums);
            return;
        }
        let sums = &mut self.sums[register];
        if first {
            sums.fill(0.0);
        }
        let products = match elements {
            BlockElements::Bfloat16 => bfloat16_products(weights, input),
            BlockElements::Binary16 => {
                let mut products = [0; ALL_LANES];
                fast::mul::<Binary16>(self.level, weights, &[input; ALL_LANES], &mut products);
                products.map(of_binary16)
            }
        };
        let round = if wide { |sum| sum } else { to_bfloat16 };
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum = round(*sum + product);
        }
    }
}

fn of_bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bfloat16, of two equally near the even one; every NaN is the one that units give.
fn to_bfloat16(value: f32) -> f32 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) & 0xFFFF_0000;
    f32::from_bits(if value.is_nan() { 0x7FC0_0000 } else { rounded })
}

/// A number of binary16, exactly.
fn of_binary16(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7FFF) << 13;
    // The exponent's bias, 15, becomes that of binary32, 127; subnormal numbers become normal.
    let scaled = f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23);
    let special = f32::from_bits(magnitude | 0x7F80_0000);
    let value = if bits & 0x7C00 == 0x7C00 { special } else { scaled };
    f32::from_bits(value.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// Products rounded to bfloat16. In binary32 they are exact (16 bits of 24), but for those below its normal numbers: those
/// are taken by the definition.
fn bfloat16_products(weights: &[u16; ALL_LANES], input: u16) -> [f32; ALL_LANES] {
    let factor = of_bfloat16(input);
    let exact: [f32; ALL_LANES] = std::array::from_fn(|n| of_bfloat16(weights[n]) * factor);
    let is_tiny = |product: f32, weight: u16| {
        (product.abs() < f32::MIN_POSITIVE) & (weight & 0x7FFF != 0) & (input & 0x7FFF != 0)
    };
    let tiny = exact.iter().zip(weights).fold(false, |tiny, (&p, &w)| tiny | is_tiny(p, w));
    let mut products = exact.map(to_bfloat16);
    if tiny {
        let fp = |bits: u16| Fp::<Bfloat16>::from_bits(bits.into());
        let define = |weight: u16| of_bfloat16((fp(weight) * fp(input)).to_bits() as u16);
        products = weights.map(define);
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_units::arith::Format;
    use proptest::prelude::*;

    /// Bits of elements about which rounding is hard: near each other, near zero, near the largest.
    fn element() -> impl Strategy<Value = u16> {
        prop_oneof![
            any::<u16>(),
            (0u16..0x0200).prop_map(|bits| bits | (0x8000 * (bits & 1))),
            (0x3F00u16..0x4100, any::<bool>())
                .prop_map(|(bits, minus)| bits | u16::from(minus) << 15),
            0x1F00u16..0x2100,
            Just(0x7F7F),
            Just(0x7BFF),
        ]
    }

    /// A sum as the units define it: in the format `A`.
    fn defined<F: Format, A: Format>(steps: &[(u16, u16)]) -> u16 {
        let sum = steps.iter().fold(Fp::<A>::ZERO, |sum, &(weight, input)| {
            let product = Fp::<F>::from_bits(weight.into()) * Fp::<F>::from_bits(input.into());
            sum + Fp::<A>::from_bits(product.widen::<A>().to_bits())
        });
        sum.narrow::<F>().to_bits() as u16
    }

    fn same<F: Format>(steps: &[(u16, u16)]) -> u16 {
        let fp = |bits: u16| Fp::<F>::from_bits(bits.into());
        let add = |sum, &(weight, input): &(u16, u16)| sum + fp(weight) * fp(input);
        steps.iter().fold(Fp::<F>::ZERO, add).to_bits() as u16
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn sums_are_the_definitions(
            steps in prop::collection::vec((element(), element()), 1..20),
        ) {
            for (elements, wide) in [BlockElements::Bfloat16, BlockElements::Binary16]
                .into_iter()
                .flat_map(|elements| [(elements, false), (elements, true)])
            {
                let mut blocks = Blocks::new(BlockFormats { elements, wide });
                let columns: Vec<_> =
                    steps.iter().map(|&(weight, _)| [[weight; LANES]; BANKS]).collect();
                let weights = |row: u32, _| &columns[row as usize][..];
                for (n, &(_, input)) in steps.iter().enumerate() {
                    blocks.write(3, &[input; LANES]);
                    let operands = MacOperands { element: 3 * LANES + 5, register: 6, first: n == 0 };
                    blocks.mac((n as u32, 0), operands, weights);
                }
                (0..DRAIN).for_each(|_| blocks.pass(weights));
                let (found, is_stale) = blocks.read(6);
                let expected = match (elements, wide) {
                    (BlockElements::Bfloat16, false) => same::<Bfloat16>(&steps),
                    (BlockElements::Bfloat16, true) => defined::<Bfloat16, Binary32>(&steps),
                    (BlockElements::Binary16, false) => same::<Binary16>(&steps),
                    (BlockElements::Binary16, true) => defined::<Binary16, Binary32>(&steps),
                };
                prop_assert!(!is_stale);
                prop_assert_eq!(found, [[expected; LANES]; BANKS], "{:?} {}", elements, wide);
            }
        }
    }

    #[test]
    fn a_mac_is_in_its_register_five_steps_later() {
        let one = Fp::<Bfloat16>::from_bits(0x3F80).to_bits() as u16;
        let column = [[one; LANES]; BANKS];
        for steps in 0..=DRAIN {
            let mut blocks = Blocks::new(BlockFormats::default());
            blocks.write(0, &[one; LANES]);
            let operands = MacOperands { element: 0, register: 0, first: true };
            blocks.mac((0, 0), operands, |_, _| &column);
            // What comes behind it is not for it.
            blocks.write(0, &[0; LANES]);
            (0..steps).for_each(|_| blocks.pass(|_, _| &column));
            let (found, is_stale) = blocks.read(0);
            let is_there = steps == DRAIN;
            assert_eq!((found[15][15], is_stale), (if is_there { one } else { 0 }, !is_there));
        }
    }
}
