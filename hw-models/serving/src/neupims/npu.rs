// SPDX-License-Identifier: MIT
//! Matrices and vectors on the NPU.
//!
//! The stationary operand of the arrays is a tile of activations, 128 requests by 128 inputs. For each of them weights of M outputs
//! pass, 128 tCK for the first 128 outputs and 16 for any further 128, as the 8 arrays work as one. Weights stream from the
//! memory beside that: a matrix takes the longer of the two, and the pipeline's fill.

use serde::Serialize;

/// How long the cells of a systolic array take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// tCK of an addition: rows of cells are so far apart.
    pub adder: u64,
    /// tCK that a weight takes through the first cell.
    pub cell: u64,
}

impl Pipeline {
    /// The authors' simulator's: a cell multiplies and adds in one tCK.
    pub const AUTHORS: Self = Self { adder: 1, cell: 1 };
    /// `systolic_array`'s.
    pub const RTL: Self = Self { adder: 4, cell: 9 };

    /// tCK from weights to their outputs, of an array of so many rows and columns.
    pub const fn latency(&self, side: u64) -> u64 {
        (side - 1) * self.adder + (side - 1) + self.cell
    }

    /// tCK by which a matrix takes longer than its tiles: its first outputs, which arrays share, and the way of the last ones.
    pub const fn fill(&self, arrays: u64, side: u64) -> u64 {
        side / arrays + self.latency(side) - 1
    }
}

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
        fill: Pipeline::AUTHORS.fill(8, 128),
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
        tiles * self.period(outputs)
    }

    /// tCK from a tile of activations to the next one. A tile is loaded while the last `side` outputs of the one before it pass.
    pub fn period(&self, outputs: u64) -> u64 {
        let next = self.side / self.arrays;
        self.side + next * (outputs.div_ceil(self.side).max(1) - 1)
    }

    /// tCK of a matrix on arrays with such a pipeline, without the memory, whose sums begin with those of the tile of inputs before
    /// them: a tile waits until they are there.
    pub fn chained(&self, pipeline: Pipeline, batch: u64, inputs: u64, outputs: u64) -> u64 {
        let (requests, tiles) = (batch.div_ceil(self.side), inputs.div_ceil(self.side));
        if requests * tiles == 0 {
            return 0;
        }
        let period = self.period(outputs);
        let waits = if tiles > 1 { pipeline.latency(self.side).div_ceil(requests) } else { 0 };
        (requests * tiles - 1) * period.max(waits) + period + pipeline.fill(self.arrays, self.side)
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
        assert_eq!((npu.peak_macs(), npu.fill), (131_072, 270));
        // ceil(256/128) ceil(7168/128) (128 + 16 (ceil(5376/128) - 1)).
        assert_eq!(npu.compute(256, 7168, 5376), 2 * 56 * (128 + 16 * 41));
        let stream = 2 * 7168 * 5376 / 1024;
        assert_eq!(npu.matrix(128, 7168, 5376), stream + 270);
        assert!(npu.matrix(256, 7168, 5376) > stream + 270);
        assert_eq!(npu.matrix(0, 7168, 5376), 0);
    }

    #[test]
    fn sums_of_the_last_tile_are_waited_for_where_outputs_are_few() {
        let (npu, rtl) = (Npu::TABLE_2, Pipeline::RTL);
        assert_eq!((rtl.latency(128), rtl.fill(8, 128)), (644, 659));
        let authors = npu.chained(Pipeline::AUTHORS, 256, 4096, 3072);
        assert_eq!(authors, npu.compute(256, 4096, 3072) + 270);
        assert_eq!(npu.chained(rtl, 256, 4096, 3072), npu.compute(256, 4096, 3072) + 659);
        // 128 + 16 * 23 is 496. The memory takes 24 576.
        assert_eq!(npu.chained(rtl, 128, 4096, 3072), 31 * 644 + 496 + 659);
        assert!(npu.chained(rtl, 128, 4096, 3072) < npu.matrix(128, 4096, 3072));
        assert_eq!(npu.chained(rtl, 128, 128, 128), 128 + 659);
        assert_eq!(npu.chained(rtl, 0, 128, 128), 0);
    }
}
