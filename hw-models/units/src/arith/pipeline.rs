// SPDX-License-Identifier: MIT
//! A delay line: what the pipeline registers of an arithmetic unit do to its result.

/// Delays a value by `STAGES` cycles.
///
/// The RTL cuts the operation itself into stages. Its registers hold other things than this line
/// does, but the result appears in the same cycle. They have no reset: what comes out before the first
/// operands have passed is unspecified.
#[derive(Clone)]
pub struct Pipeline<T, const STAGES: usize> {
    stages: [T; STAGES],
    /// Stages that no operands have passed since the reset.
    empty: usize,
}

impl<T: Copy, const STAGES: usize> Pipeline<T, STAGES> {
    /// A line that nothing has passed, and what this model has come out of it.
    pub fn new(unspecified: T) -> Self {
        Self { stages: [unspecified; STAGES], empty: STAGES }
    }

    /// What comes out in this cycle is unspecified.
    pub fn is_open(&self) -> bool {
        self.empty > 0
    }

    /// One cycle: `input` goes in, what went in `STAGES` cycles ago comes out.
    #[inline]
    pub fn step(&mut self, input: T) -> T {
        let Some(&output) = self.stages.last() else { return input };
        self.empty = self.empty.saturating_sub(1);
        self.stages.rotate_right(1);
        self.stages[0] = input;
        output
    }
}
