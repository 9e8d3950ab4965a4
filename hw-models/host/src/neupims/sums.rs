// SPDX-License-Identifier: MIT
//! Results of several rows, added on a vector unit.
//!
//! ```text
//! sum = part_0;  for each further part:  sum = sum + part_k
//! ```
//!
//! Parts are elements of binary16, the sum has the format of the PUs' sums, and what is made of it is an element.

use pimlico_device::neupims::PuSums;
use pimlico_device::neupims::pus::{narrow, widen};
use pimlico_units::arith::{Binary16, Fp};

/// Sums of vectors.
#[derive(Clone, Debug)]
pub struct PartSums {
    format: PuSums,
    narrow: Vec<u16>,
    wide: Vec<f32>,
}

impl PartSums {
    /// Sums of so many elements.
    pub fn new(format: PuSums, length: usize) -> Self {
        let of = |is_used: bool| if is_used { length } else { 0 };
        Self {
            format,
            narrow: vec![0; of(format == PuSums::Binary16)],
            wide: vec![0.0; of(format == PuSums::Binary32)],
        }
    }

    /// Adds a part to the sums from an element on, or begins them with it; elements beyond the last are dropped.
    pub fn add(&mut self, from: usize, begins: bool, part: &[u16]) {
        match self.format {
            PuSums::Binary16 => {
                for (sum, &part) in self.narrow.iter_mut().skip(from).zip(part) {
                    let fp = |bits: u16| Fp::<Binary16>::from_bits(bits.into());
                    *sum = if begins { part } else { (fp(*sum) + fp(part)).to_bits() as u16 };
                }
            }
            PuSums::Binary32 => {
                for (sum, &part) in self.wide.iter_mut().skip(from).zip(part) {
                    *sum = if begins { widen(part) } else { *sum + widen(part) };
                }
            }
        }
    }

    /// The sums as elements.
    pub fn elements(&self) -> Vec<u16> {
        match self.format {
            PuSums::Binary16 => self.narrow.clone(),
            PuSums::Binary32 => self.wide.iter().map(|&sum| narrow(sum)).collect(),
        }
    }
}
