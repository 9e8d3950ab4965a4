// SPDX-License-Identifier: MIT
//! What the words of a cycle come to: loops that begin and end, a command with its modifications.

use super::Dispatcher;
use super::nest::{Level, Nest};
use super::stage::{Products, Stage};
use pimlico_dpa::{
    CommandWord, DEPTH, Instruction, LoopSource, LoopWord, MAX_REPETITIONS, ModifyWord, Opcode,
    RequestChoice, Status,
};

/// Loops that begin in a cycle.
const LOOPS: usize = 2;

/// What the sequencer makes of the words of a cycle.
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

    fn checked(&self, request: RequestChoice) -> Result<u8, Status> {
        let request = request.of(self.request);
        if usize::from(request) < REQUESTS { Ok(request) } else { Err(Status::UnknownRequest) }
    }

    /// Sequences the words of a cycle; leaves in `nest` and `at` in which loops and where it goes on.
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
        self.checked(RequestChoice::RUNNING)?;
        let word = |at: u32| window[(at - self.pc) as usize];
        for begun in 0.. {
            if *at >= self.length {
                return Err(Status::PastEnd);
            }
            if begun == LOOPS && Opcode::of_word(word(*at)) == Opcode::DynLoop {
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
                Instruction::Modify(modify) => {
                    let products = Self::products(&modify, nest)?;
                    let next = word(*at + 1);
                    if *at + 1 == self.limit(nest) || !Opcode::of_word(next).is_command() {
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
    fn begin(&self, of: &LoopWord, at: u32, nest: &Nest) -> Result<Level, Status> {
        let part = self.part(nest);
        let (words, bound) = (of.words.get() as u32, of.bound.get() as u32);
        let (left, step, over_tokens) = match of.source {
            LoopSource::Count => (bound, 1, false),
            LoopSource::Part => (part, bound, true),
            LoopSource::All => (self.tokens(self.checked(of.request)?), bound, true),
        };
        if nest.depth == DEPTH {
            return Err(Status::TooDeep);
        }
        let too_long = u64::from(left) > u64::from(step) * u64::from(MAX_REPETITIONS);
        if words == 0 || left == 0 || step == 0 || too_long {
            return Err(Status::LoopBound);
        }
        let (body, limit) = (at + 1, at + 1 + words);
        if limit > self.limit(nest) {
            return Err(Status::LoopEnd);
        }
        let tokens = if over_tokens { left.min(step) } else { part };
        Ok(Level { body, limit, number: 0, left, step, over_tokens, tokens })
    }

    fn products(modify: &ModifyWord, nest: &Nest) -> Result<Products, Status> {
        let mut products = Products::default();
        for (product, slot) in products.iter_mut().zip(modify.modifications()) {
            let level = nest.get(slot.level.get() as usize).ok_or(Status::UnknownTarget)?;
            *product = Some((*slot, level.number));
        }
        Ok(products)
    }

    fn command(&self, word: &CommandWord, at: u32, nest: &Nest) -> Result<Stage, Status> {
        let request = self.checked(word.request)?;
        let firsts = nest.which(|level| level.number == 0);
        Ok(Stage {
            ends: None,
            address: at,
            kind: word.opcode,
            request,
            head: word.head.get() as u8,
            place: word.place.get() as u32,
            column: word.column,
            word: word.word,
            first: word.first.holds(firsts),
            last: word.last.holds(nest.which(Level::is_last)),
            opens: word.opens.holds(firsts),
            tokens: self.part(nest),
        })
    }
}
