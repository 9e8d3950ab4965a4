// SPDX-License-Identifier: MIT
//! Numbers between host and device.

use half::{bf16, f16};
use pimlico_device::lp5::BlockElements;
use pimlico_model::checkpoint::places::Stored;

/// The format of the elements that a device takes and gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementFormat(pub BlockElements);

impl ElementFormat {
    /// That of ranks and AiM channels.
    pub const BINARY16: Self = Self(BlockElements::Binary16);

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// How a file has tensors of it.
    pub fn stored(self) -> Stored {
        match self.0 {
            BlockElements::Binary16 => Stored::F16,
            BlockElements::Bfloat16 => Stored::Bf16,
        }
    }

    /// The nearest element of a number, of two equally near the even one.
    pub fn round(self, number: f32) -> u16 {
        match self.0 {
            BlockElements::Binary16 => f16::from_f32(number).to_bits(),
            BlockElements::Bfloat16 => bf16::from_f32(number).to_bits(),
        }
    }

    /// The number that an element is.
    pub fn widen(self, bits: u16) -> f32 {
        match self.0 {
            BlockElements::Binary16 => f16::from_bits(bits).to_f32(),
            BlockElements::Bfloat16 => bf16::from_bits(bits).to_f32(),
        }
    }

    /// Numbers as elements.
    pub fn bits(self, numbers: &[f32]) -> Vec<u16> {
        numbers.iter().map(|number| self.round(*number)).collect()
    }

    /// ElementFormat as numbers.
    pub fn numbers(self, bits: &[u16]) -> Vec<f32> {
        bits.iter().map(|bits| self.widen(*bits)).collect()
    }
}
