// SPDX-License-Identifier: MIT
//! A delay line: what the pipeline registers of an arithmetic unit do to its result.

/// Delays a value by `STAGES` cycles.
///
/// The RTL cuts the operation itself into stages. Its registers hold other things than this line
/// does, but the result appears in the same cycle; and after a reset all of them are zero, which
/// comes out as `reset`, the result of operands that are zero.
#[derive(Clone)]
pub struct Pipeline<T, const STAGES: usize> {
    stages: [T; STAGES],
}

impl<T: Copy, const STAGES: usize> Pipeline<T, STAGES> {
    /// A line full of `reset`.
    pub fn new(reset: T) -> Self {
        Self { stages: [reset; STAGES] }
    }

    /// One cycle: `input` goes in, what went in `STAGES` cycles ago comes out.
    #[inline]
    pub fn step(&mut self, input: T) -> T {
        let Some(&output) = self.stages.last() else { return input };
        self.stages.rotate_right(1);
        self.stages[0] = input;
        output
    }
}
