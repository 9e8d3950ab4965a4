// SPDX-License-Identifier: MIT
//! The loops that run.

use crate::lap::Walk;
use pimlico_dpa::DEPTH;

/// A loop that runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    pub(super) body: u32,
    pub(super) final_word: u32,
    pub(super) number: u32,
    pub(super) is_last: bool,
    /// Tokens or repetitions: of the last repetition, else behind this one.
    pub(super) rest: u32,
    /// Of every other repetition.
    pub(super) step: u32,
    pub(super) over_tokens: bool,
}

impl Level {
    /// One that goes over so many tokens or repetitions, in its first repetition.
    pub(super) fn begin(left: u32, step: u32, over_tokens: bool) -> Self {
        let mut level = Self { rest: left, step, over_tokens, ..Self::default() };
        level.take();
        level
    }

    /// Goes on to the next repetition.
    fn repeat(&mut self) {
        self.number = (self.number + 1) & 0xFFFF;
        self.take();
    }

    /// Takes the tokens of a repetition from the rest.
    fn take(&mut self) {
        self.is_last = self.rest <= self.step;
        if !self.is_last {
            self.rest -= self.step;
        }
    }

    /// Tokens of the repetition.
    fn tokens(&self) -> u32 {
        if self.is_last { self.rest } else { self.step }
    }
}

/// The loops that run, the outermost first.
#[derive(Clone, Copy, Default)]
pub(super) struct Nest {
    levels: [Level; DEPTH],
    depth: usize,
}

impl Nest {
    /// The loop with so many others inside it.
    pub(super) fn get(&self, level: usize) -> Option<&Level> {
        self.depth.checked_sub(level + 1).map(|place| &self.levels[place])
    }

    /// The loop around all others.
    pub(super) fn outermost(&self) -> Option<&Level> {
        self.levels[..self.depth].first()
    }

    /// Whether there is no room for another.
    pub(super) fn is_full(&self) -> bool {
        self.depth == DEPTH
    }

    /// No loop runs.
    pub(super) fn clear(&mut self) {
        self.depth = 0;
    }

    /// A loop begins. There is room.
    pub(super) fn push(&mut self, level: Level) {
        self.levels[self.depth] = level;
        self.depth += 1;
    }

    /// Tokens of the repetition of the innermost loop that goes over tokens.
    pub(super) fn part(&self) -> Option<u32> {
        let running = self.levels[..self.depth].iter().rev();
        running.into_iter().find(|level| level.over_tokens).map(Level::tokens)
    }

    /// The loops of which this holds, for conditions; it holds of those that are not there.
    pub(super) fn which(&self, holds: impl Fn(&Level) -> bool) -> u8 {
        let all = (1 << DEPTH) - 1;
        let running = self.levels[..self.depth].iter().rev().enumerate();
        running.fold(all, |loops, (n, level)| if holds(level) { loops } else { loops & !(1 << n) })
    }

    /// Goes on behind a turn whose last word is at this address; returns where.
    pub(super) fn advance(&mut self, at: u32) -> u32 {
        while self.depth > 0 {
            let level = &mut self.levels[self.depth - 1];
            if level.final_word != at {
                break;
            }
            if !level.is_last {
                level.repeat();
                return level.body;
            }
            self.depth -= 1;
        }
        at + 1
    }
}

impl Nest {
    /// Goes over all of it, for [laps](crate::lap).
    pub(super) fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { levels, depth } = self;
        walk.size(*depth);
        levels[..*depth].iter_mut().for_each(|level| level.walk(walk));
    }
}

impl Level {
    fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self { body, final_word, number, is_last, rest, step, over_tokens } = self;
        for word in [body, final_word] {
            walk.still(*word);
        }
        walk.still(*is_last);
        walk.still(*over_tokens);
        walk.repeats(number, rest, *step);
    }
}
