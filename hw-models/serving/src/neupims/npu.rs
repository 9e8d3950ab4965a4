// SPDX-License-Identifier: MIT
//! Matrices and vectors on the NPU.
//!
//! The stationary operand of the arrays is a tile of activations, 128 requests by 128 inputs. For each of them weights of M outputs
//! pass, 128 tCK for the first 128 outputs and 16 for any further 128, as the 8 arrays work as one. Weights stream from the
//! memory beside that: a matrix takes the longer of the two, and the pipeline's fill.

use serde::Serialize;

/// An NPU (Table 2; fill as in the authors' simulator).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Npu {
    /// Systolic arrays.
    pub arrays: u64,
    /// Rows, and columns, of an array.
    pub side: u64,
    /// Vector units.
    pub vector_units: u64,
    /// Lanes of a vector unit.
    pub lanes: u64,
    /// tCK until the pipeline of a matrix is full.
    pub fill: u64,
    /// Bytes in a tCK from all channels.
    pub bandwidth: u64,
    /// The same while PIM works, with what its results and commands take. As much as without: this is not known, and counts by
    /// its bytes.
    pub beside: u64,
}

impl Npu {
    /// Table 2's.
    pub const TABLE_2: Self = Self {
        arrays: 8,
        side: 128,
        vector_units: 8,
        lanes: 128,
        fill: 270,
        bandwidth: 1024,
        beside: 1024,
    };

    /// Multiply-accumulates in a tCK.
    pub fn peak_macs(&self) -> u64 {
        self.arrays * self.side * self.side
    }

    /// tCK of the arrays for a matrix, without the memory.
    pub fn compute(&self, batch: u64, inputs: u64, outputs: u64) -> u64 {
        let tiles = batch.div_ceil(self.side) * inputs.div_ceil(self.side);
        let next = self.side / self.arrays;
        tiles * (self.side + next * (outputs.div_ceil(self.side).max(1) - 1))
    }

    /// tCK of a matrix; nothing for no requests.
    pub fn matrix(&self, batch: u64, inputs: u64, outputs: u64) -> u64 {
        if batch == 0 {
            return 0;
        }
        let stream = (2 * inputs * outputs).div_ceil(self.bandwidth);
        self.compute(batch, inputs, outputs).max(stream) + self.fill
    }

    /// tCK of matrices one behind the other.
    pub fn matrices(&self, batch: u64, shapes: &[(u64, u64)]) -> u64 {
        shapes.iter().map(|&(inputs, outputs)| self.matrix(batch, inputs, outputs)).sum()
    }

    /// Vector operations of a unit for softmax of one head: two reductions and three passes.
    pub fn softmax_operations(&self, tokens: u64) -> u64 {
        5 * tokens.div_ceil(self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sub_batch_below_256_is_bound_by_the_memory() {
        let npu = Npu::TABLE_2;
        assert_eq!(npu.peak_macs(), 131_072);
        // ceil(256/128) ceil(7168/128) (128 + 16 (ceil(5376/128) - 1)).
        assert_eq!(npu.compute(256, 7168, 5376), 2 * 56 * (128 + 16 * 41));
        let stream = 2 * 7168 * 5376 / 1024;
        assert_eq!(npu.matrix(128, 7168, 5376), stream + 270);
        assert!(npu.matrix(256, 7168, 5376) > stream + 270);
        assert_eq!(npu.matrix(0, 7168, 5376), 0);
    }
}
