// SPDX-License-Identifier: MIT
//! The loops that run.

use pimlico_dpa::DEPTH;

/// A loop that runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    pub(super) body: u32,
    pub(super) limit: u32,
    pub(super) number: u32,
    /// Tokens or repetitions, with this one.
    pub(super) left: u32,
    pub(super) step: u32,
    pub(super) over_tokens: bool,
    /// Of this repetition, or of the loop over tokens around it.
    pub(super) tokens: u32,
}

impl Level {
    pub(super) fn is_last(&self) -> bool {
        self.left <= self.step
    }
}

/// The loops that run, the outermost first.
#[derive(Clone, Copy, Default)]
pub(super) struct Nest {
    pub(super) levels: [Level; DEPTH],
    pub(super) depth: usize,
}

impl Nest {
    /// The loop with so many others inside it.
    pub(super) fn get(&self, level: usize) -> Option<&Level> {
        self.depth.checked_sub(level + 1).map(|place| &self.levels[place])
    }

    /// The loops of which this holds, for conditions; it holds of those that are not there.
    pub(super) fn which(&self, holds: impl Fn(&Level) -> bool) -> u8 {
        let all = (1 << DEPTH) - 1;
        let running = self.levels[..self.depth].iter().rev().enumerate();
        running.fold(all, |loops, (n, level)| if holds(level) { loops } else { loops & !(1 << n) })
    }

    /// Goes on behind a command that the word `next` follows; returns where.
    pub(super) fn advance(&mut self, next: u32) -> u32 {
        while self.depth > 0 {
            let level = &mut self.levels[self.depth - 1];
            if level.limit != next {
                break;
            }
            if !level.is_last() {
                level.number = (level.number + 1) & 0xFFFF;
                level.left -= level.step;
                if level.over_tokens {
                    level.tokens = level.left.min(level.step);
                }
                return level.body;
            }
            self.depth -= 1;
        }
        next
    }
}
