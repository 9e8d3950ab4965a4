// SPDX-License-Identifier: MIT
//! What the words of a turn come to: a loop that begins, or a command with its modifications.

use super::Dispatcher;
use super::nest::Level;
use super::stage::{Products, Stage};
use pimlico_dpa::{
    CommandWord, Instruction, LoopSource, LoopWord, MAX_REPETITIONS, ModifyWord, Opcode,
    RequestChoice, Status,
};

/// A turn.
#[derive(Clone, Copy)]
pub(super) enum Turn {
    /// A command, or the end of the run.
    Stage(Stage),
    /// A Dyn-Loop at this address, with what begins unless it reaches too far.
    Loop(Result<Level, Status>, u32),
    /// A NOP.
    Nothing,
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    /// Tokens that a loop over a part goes over.
    fn part(&self) -> u32 {
        self.nest.part().unwrap_or(self.requests[usize::from(self.request)].tokens)
    }

    fn checked(&self, request: RequestChoice) -> Result<u8, Status> {
        let request = request.of(self.request);
        if usize::from(request) < REQUESTS { Ok(request) } else { Err(Status::UnknownRequest) }
    }

    /// What ends the run before the next word.
    fn run_fault(&self, stop: bool) -> Option<Status> {
        if stop {
            return Some(Status::Stopped);
        }
        if self.overflow {
            return Some(Status::BufferOverflow);
        }
        let fault = self.checked(RequestChoice::RUNNING).err();
        fault.or((self.pc >= self.length).then_some(Status::PastEnd))
    }

    /// Sequences the words of a turn and goes on in the nest. Returns where, if the turn does not end the run
    /// as far as its opcode tells.
    pub(super) fn sequence(&mut self, window: &[u64; 2], stop: bool) -> (Turn, Option<u32>) {
        let at = self.pc;
        let ends = |(status, address)| Turn::Stage(Stage::end(status, address));
        if let Some(status) = self.run_fault(stop) {
            return (ends((status, at)), None);
        }
        match Opcode::of_word(window[0]) {
            Opcode::DynLoop => (Turn::Loop(self.begin(window[0]), at), Some(at + 1)),
            Opcode::DynModi => {
                let turn = self.modified(window).map_or_else(ends, Turn::Stage);
                (turn, Some(self.nest.advance(at + 1)))
            }
            Opcode::Nop => {
                let decoded = Instruction::decode(window[0]).map_err(|status| (status, at));
                let turn = decoded.map_or_else(ends, |_| Turn::Nothing);
                (turn, Some(self.nest.advance(at)))
            }
            opcode if opcode.is_command() => {
                let command = self.command(window[0], at, &Products::default());
                let turn = command.map_or_else(|status| ends((status, at)), Turn::Stage);
                (turn, Some(self.nest.advance(at)))
            }
            _ => {
                let decoded = Instruction::decode(window[0]);
                let status = decoded.err().unwrap_or(Status::Done);
                let next_layer = decoded == Ok(Instruction::EndLayer);
                (Turn::Stage(Stage { next_layer, ..Stage::end(status, at) }), None)
            }
        }
    }

    /// A loop that begins, wherever it ends.
    fn begin(&self, word: u64) -> Result<Level, Status> {
        let Instruction::Loop(LoopWord { request, source, words, bound, .. }) =
            Instruction::decode(word)?
        else {
            return Err(Status::UnknownOpcode);
        };
        let request = self.checked(request)?;
        let bound = bound.get() as u32;
        let (left, step, over_tokens) = match source {
            LoopSource::Count => (bound, 1, false),
            LoopSource::Part => (self.part(), bound, true),
            LoopSource::All => (self.requests[usize::from(request)].tokens, bound, true),
        };
        if self.nest.is_full() {
            return Err(Status::TooDeep);
        }
        let too_long = u64::from(left) > u64::from(step) * u64::from(MAX_REPETITIONS);
        if words.get() == 0 || left == 0 || step == 0 || too_long {
            return Err(Status::LoopBound);
        }
        let (body, final_word) = (self.pc + 1, self.pc + words.get() as u32);
        Ok(Level { body, final_word, ..Level::begin(left, step, over_tokens) })
    }

    /// Whether a loop reaches over the end of the program or of the loop around it.
    pub(super) fn reaches_too_far(&self, level: &Level) -> bool {
        match self.nest.get(0) {
            Some(around) => level.final_word > around.final_word,
            None => level.final_word >= self.length,
        }
    }

    /// A command behind a Dyn-Modi.
    fn modified(&mut self, window: &[u64; 2]) -> Result<Stage, (Status, u32)> {
        let at = self.pc;
        let misfit = (Status::UnknownTarget, at);
        let is_last = match self.nest.get(0) {
            Some(around) => around.final_word == at,
            None => at + 1 == self.length,
        };
        let Ok(Instruction::Modify(modify)) = self.decoder.decode(window[0], at) else {
            return Err(misfit);
        };
        let products = self.products(&modify).ok_or(misfit)?;
        if is_last || !Opcode::of_word(window[1]).is_command() {
            return Err(misfit);
        }
        self.command(window[1], at + 1, &products).map_err(|status| (status, at + 1))
    }

    fn products(&self, modify: &ModifyWord) -> Option<Products> {
        let mut products = Products::default();
        for (product, slot) in products.iter_mut().zip(modify.modifications()) {
            *product = Some((*slot, self.nest.get(slot.level.get() as usize)?.number));
        }
        Some(products)
    }

    fn command(&mut self, word: u64, at: u32, products: &Products) -> Result<Stage, Status> {
        let Instruction::Command(word) = self.decoder.decode(word, at)? else {
            return Err(Status::UnknownOpcode);
        };
        let CommandWord { opcode, head, place, column, word: index, .. } = word;
        let request = self.checked(word.request)?;
        let firsts = self.nest.which(|level| level.number == 0);
        let stage = Stage {
            ends: None,
            next_layer: false,
            address: at,
            kind: opcode,
            request,
            head: head.get() as u8,
            place: place.get() as u32,
            column,
            word: index,
            first: word.first.holds(firsts),
            last: word.last.holds(self.nest.which(|level| level.is_last)),
            opens: word.opens.holds(firsts),
            tokens: self.part(),
        };
        Ok(stage.multiply(products))
    }
}
