// SPDX-License-Identifier: MIT
//! What the words of a clock come to: loops that begin and end, a command with its modifications.

use super::Dispatcher;
use super::nest::{Level, Nest};
use super::stage::{Products, Stage};
use pimlico_dpa::{
    CommandWord, Condition, DEPTH, Instruction, Kind, Loop, MAX_REPETITIONS, Modification, SLOTS,
    Source, Status,
};

/// Loops that begin in a clock.
const LOOPS: usize = 2;

/// What the sequencer makes of the words of a clock.
pub(super) enum Sequenced {
    /// A command.
    Command(Stage, Products),
    /// No command yet.
    Nothing,
    /// The run ends.
    Ends(Stage),
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    fn tokens(&self, request: u8) -> u32 {
        self.requests[usize::from(request)].tokens
    }

    /// Tokens that a loop over a part goes over.
    fn part(&self, nest: &Nest) -> u32 {
        nest.get(0).map_or(self.tokens(self.request), |level| level.tokens)
    }

    /// Where the innermost loop ends, or the program.
    fn limit(&self, nest: &Nest) -> u32 {
        nest.get(0).map_or(self.length, |level| level.limit)
    }

    fn checked(&self, request: Option<u8>) -> Result<u8, Status> {
        let request = request.unwrap_or(self.request);
        if usize::from(request) < REQUESTS { Ok(request) } else { Err(Status::UnknownRequest) }
    }

    /// Sequences the words of a clock; leaves in `nest` and `at` in which loops and where it goes on.
    pub(super) fn sequence(
        &self,
        window: &[u64; 4],
        stop: bool,
        nest: &mut Nest,
        at: &mut u32,
    ) -> Sequenced {
        match self.sequence_words(window, stop, nest, at) {
            Ok(Some((stage, products))) => Sequenced::Command(stage, products),
            Ok(None) => Sequenced::Nothing,
            Err(status) => Sequenced::Ends(Stage::end(status, *at)),
        }
    }

    fn sequence_words(
        &self,
        window: &[u64; 4],
        stop: bool,
        nest: &mut Nest,
        at: &mut u32,
    ) -> Result<Option<(Stage, Products)>, Status> {
        if stop {
            return Err(Status::Stopped);
        }
        if self.overflow {
            return Err(Status::BufferOverflow);
        }
        self.checked(None)?;
        let word = |at: u32| window[(at - self.pc) as usize];
        for begun in 0.. {
            if *at >= self.length {
                return Err(Status::PastEnd);
            }
            if begun == LOOPS && word(*at) >> 60 == Instruction::LOOP {
                return Ok(None);
            }
            match Instruction::decode(word(*at))? {
                Instruction::Loop(of) => {
                    let level = self.begin(&of, *at, nest)?;
                    nest.levels[nest.depth] = level;
                    nest.depth += 1;
                    *at += 1;
                }
                Instruction::Nop => {
                    *at = nest.advance(*at + 1);
                    return Ok(None);
                }
                Instruction::End => return Err(Status::Done),
                Instruction::Command(command) => {
                    let stage = self.command(&command, *at, nest)?;
                    *at = nest.advance(*at + 1);
                    return Ok(Some((stage, Products::default())));
                }
                Instruction::Modify(slots) => {
                    let products = Self::products(&slots, nest)?;
                    let next = word(*at + 1);
                    if *at + 1 == self.limit(nest) || Kind::of((next >> 60) as u8).is_none() {
                        return Err(Status::UnknownTarget);
                    }
                    *at += 1;
                    let Instruction::Command(command) = Instruction::decode(next)? else {
                        return Err(Status::UnknownTarget);
                    };
                    let stage = self.command(&command, *at, nest)?;
                    *at = nest.advance(*at + 1);
                    return Ok(Some((stage, products)));
                }
            }
        }
        Ok(None)
    }

    /// A loop that begins.
    fn begin(&self, of: &Loop, at: u32, nest: &Nest) -> Result<Level, Status> {
        let part = self.part(nest);
        let (left, step, over_tokens) = match of.source {
            Source::Count => (of.bound, 1, false),
            Source::Part => (part, of.bound, true),
            Source::All(request) => (self.tokens(self.checked(request)?), of.bound, true),
        };
        if nest.depth == DEPTH {
            return Err(Status::TooDeep);
        }
        let too_long = u64::from(left) > u64::from(step) * u64::from(MAX_REPETITIONS);
        if of.words == 0 || left == 0 || step == 0 || too_long {
            return Err(Status::LoopBound);
        }
        let (body, limit) = (at + 1, at + 1 + u32::from(of.words));
        if limit > self.limit(nest) {
            return Err(Status::LoopEnd);
        }
        let tokens = if over_tokens { left.min(step) } else { part };
        Ok(Level { body, limit, number: 0, left, step, over_tokens, tokens })
    }

    fn products(slots: &[Option<Modification>; SLOTS], nest: &Nest) -> Result<Products, Status> {
        let mut products = Products::default();
        for (product, slot) in products.iter_mut().zip(slots) {
            if let Some(slot) = slot {
                let level = nest.get(slot.level.into()).ok_or(Status::UnknownTarget)?;
                *product = Some((*slot, level.number));
            }
        }
        Ok(products)
    }

    fn command(&self, word: &CommandWord, at: u32, nest: &Nest) -> Result<Stage, Status> {
        let request = self.checked(word.request)?;
        let firsts = nest.which(|level| level.number == 0);
        let met = |condition: Condition, loops| condition.holds(loops);
        Ok(Stage {
            ends: None,
            address: at,
            kind: word.kind.code(),
            request,
            head: word.head,
            place: word.place,
            column: word.column,
            word: word.word,
            first: met(word.first, firsts),
            last: met(word.last, nest.which(Level::is_last)),
            opens: met(word.opens, firsts),
            tokens: self.part(nest),
        })
    }
}
