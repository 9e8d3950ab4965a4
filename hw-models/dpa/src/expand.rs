// SPDX-License-Identifier: MIT
//! What the dispatcher makes of a program.

use crate::types::{
    CommandWord, Dispatch, LoopSource, LoopWord, Modification, ModifyWord, Opcode, Status, Target,
};
use crate::{COMMANDS, DEPTH, ENTRIES, Instruction, MAX_REPETITIONS, NO_ROW, REQUESTS};
use pimlico_ports::U;

/// What is configured for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// T_cur.
    pub tokens: u32,
    /// Its segment of the Va2Pa table: the first entry, in its present layer.
    pub base: u16,
    /// Entries of the segment: its virtual rows.
    pub rows: u16,
}

/// What a program runs with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// The requests.
    pub requests: [Request; REQUESTS],
    /// The Va2Pa table; without one, a virtual row is the row.
    pub va2pa: Option<Vec<u16>>,
}

impl Tables {
    /// The row of a request's virtual row.
    pub fn row(&self, request: u8, virtual_row: u16) -> Option<u16> {
        let Some(table) = &self.va2pa else { return Some(virtual_row) };
        let Request { base, rows, .. } = self.requests.get(usize::from(request))?;
        let entry = usize::from(*base) + usize::from(virtual_row);
        if virtual_row >= *rows || entry >= ENTRIES {
            return None;
        }
        table.get(entry).copied().filter(|&row| row != NO_ROW)
    }
}

/// Why a request stopped, and at which word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("word {address}: {status}")]
pub struct ExpandError {
    /// What is wrong.
    pub status: Status,
    /// Where.
    pub address: usize,
}

/// Expands a program from its first word to END, for `request`, but no more than `limit` commands.
pub fn expand(
    program: &[u64],
    tables: &Tables,
    request: u8,
    limit: usize,
) -> Result<Vec<Dispatch>, ExpandError> {
    Expansion::new(program, tables, request).take(limit).collect()
}

/// The commands that a program dispatches for a request, one after the other. After a fault nothing
/// follows.
#[derive(Clone, Debug)]
pub struct Expansion<'a> {
    program: &'a [u64],
    tables: &'a Tables,
    request: u8,
    at: usize,
    /// The loops, the innermost last.
    nest: Vec<Running>,
    ended: bool,
    ends_layer: bool,
}

/// A loop that runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    /// Its words.
    begin: usize,
    end: usize,
    /// Of the repetition, from 0.
    number: u32,
    /// Tokens or repetitions, with this one.
    left: u32,
    /// Tokens of a repetition; 1 where repetitions are counted.
    step: u32,
    over_tokens: bool,
    /// It has dispatched a command.
    dispatched: bool,
}

impl Running {
    fn is_last(&self) -> bool {
        self.left <= self.step
    }
}

impl<'a> Expansion<'a> {
    /// Starts a request at the first word.
    pub fn new(program: &'a [u64], tables: &'a Tables, request: u8) -> Self {
        Self::starting_at(program, tables, request, 0)
    }

    /// Starts a request at a word.
    pub fn starting_at(
        program: &'a [u64],
        tables: &'a Tables,
        request: u8,
        address: usize,
    ) -> Self {
        let nest = Vec::with_capacity(DEPTH);
        Self { program, tables, request, at: address, nest, ended: false, ends_layer: false }
    }

    /// Whether it has come to an END behind which the request goes on to its next layer.
    pub fn ends_layer(&self) -> bool {
        self.ends_layer
    }

    /// The next command, or `None` at END.
    fn step(&mut self) -> Result<Option<Dispatch>, ExpandError> {
        let overflow = self.program.len() > COMMANDS;
        let unknown = usize::from(self.request) >= REQUESTS;
        if overflow || unknown {
            let status = if overflow { Status::BufferOverflow } else { Status::UnknownRequest };
            return Err(ExpandError { status, address: self.at });
        }
        loop {
            let address = self.at;
            let fault = |status| ExpandError { status, address };
            match self.word(address).map_err(fault)? {
                Instruction::End => return Ok(None),
                Instruction::EndLayer => {
                    self.ends_layer = true;
                    return Ok(None);
                }
                Instruction::Nop => self.advance(address + 1),
                Instruction::Loop(of) => self.begin(address, of).map_err(fault)?,
                Instruction::Command(command) => {
                    let command = self.command(&command, &ModifyWord::default()).map_err(fault)?;
                    self.nest.iter_mut().for_each(|running| running.dispatched = true);
                    self.advance(address + 1);
                    return Ok(Some(command));
                }
                Instruction::Modify(modify) => {
                    let fault_behind = |status| ExpandError { status, address: address + 1 };
                    self.check_modify(address, &modify).map_err(fault)?;
                    let Instruction::Command(command) =
                        self.word(address + 1).map_err(fault_behind)?
                    else {
                        return Err(fault(Status::UnknownTarget));
                    };
                    let command = self.command(&command, &modify).map_err(fault_behind)?;
                    self.nest.iter_mut().for_each(|running| running.dispatched = true);
                    self.advance(address + 2);
                    return Ok(Some(command));
                }
            }
        }
    }

    fn word(&self, address: usize) -> Result<Instruction, Status> {
        Instruction::decode(*self.program.get(address).ok_or(Status::PastEnd)?)
    }

    fn begin(&mut self, address: usize, of: LoopWord) -> Result<(), Status> {
        let bound = of.bound.get() as u32;
        let (step, total, over_tokens) = match of.source {
            LoopSource::Count => (1, bound, false),
            LoopSource::Part => (bound, self.part(), true),
            LoopSource::All => (bound, self.tokens(of.request.of(self.request))?, true),
        };
        if self.nest.len() == DEPTH {
            return Err(Status::TooDeep);
        }
        let repetitions = if step == 0 { 0 } else { total.div_ceil(step) };
        let words = of.words.get() as usize;
        if words == 0 || !(1..=MAX_REPETITIONS).contains(&repetitions) {
            return Err(Status::LoopBound);
        }
        let begin = address + 1;
        let end = begin + words;
        if end > self.nest.last().map_or(self.program.len(), |around| around.end) {
            return Err(Status::LoopEnd);
        }
        self.nest.push(Running {
            begin,
            end,
            number: 0,
            left: total,
            step,
            over_tokens,
            dispatched: false,
        });
        self.at = begin;
        Ok(())
    }

    /// T_cur.
    fn tokens(&self, request: u8) -> Result<u32, Status> {
        self.tables
            .requests
            .get(usize::from(request))
            .map(|r| r.tokens)
            .ok_or(Status::UnknownRequest)
    }

    /// Tokens of the present repetition of the nearest loop over tokens.
    fn part(&self) -> u32 {
        let around = self.nest.iter().rev().find(|running| running.over_tokens);
        let all = self.tables.requests[usize::from(self.request)].tokens;
        around.map_or(all, |running| running.left.min(running.step))
    }

    fn check_modify(&self, at: usize, modify: &ModifyWord) -> Result<(), Status> {
        let absent = |slot: &Modification| slot.level.get() as usize >= self.nest.len();
        let end = self.nest.last().map_or(self.program.len(), |around| around.end);
        let next = self.program.get(at + 1).copied().unwrap_or(0);
        let alone = at + 1 == end || !Opcode::of_word(next).is_command();
        if alone || modify.modifications().any(absent) {
            return Err(Status::UnknownTarget);
        }
        Ok(())
    }

    fn command(&self, word: &CommandWord, modify: &ModifyWord) -> Result<Dispatch, Status> {
        let CommandWord { opcode, .. } = *word;
        let mut place = word.place.get();
        let [mut column, mut index] = [word.column, word.word].map(u64::from);
        let mut head = word.head.get();
        let mut wraps = false;
        for Modification { target, level, coefficient } in modify.modifications() {
            let number = self.nest[self.nest.len() - 1 - level.get() as usize].number;
            let product = u64::from(number) * coefficient.get();
            match target {
                Target::None => {}
                Target::Place => place += product,
                Target::Place64 => place += 64 * product,
                Target::Column => column += product,
                Target::Word => index += product,
                Target::WordWraps => {
                    index += product;
                    wraps = true;
                }
                Target::Head => head += product,
            }
        }
        let overflow = place > opcode.max_place().into()
            || column > 0xFF
            || index > 0xFF && !wraps
            || head > 7;
        if overflow {
            return Err(Status::FieldOverflow);
        }
        let request = word.request.of(self.request);
        let row = match opcode.has_row() {
            true => self.tables.row(request, place as u16).ok_or(Status::Va2PaMiss)?,
            false => 0,
        };
        let loops = |holds: fn(&Running) -> bool| {
            let inside = self.nest.iter().rev().enumerate().filter(|(_, running)| !holds(running));
            !inside.map(|(level, _)| 1 << level).sum::<u8>()
        };
        let firsts = loops(|running| running.number == 0);
        Ok(Dispatch {
            kind: opcode,
            request: U::new(request.into()),
            head: U::new(head),
            row,
            place: U::new(if opcode.has_row() { 0 } else { place }),
            column: column as u8,
            word: index as u8,
            first: word.first.holds(firsts),
            last: word.last.holds(loops(Running::is_last)),
            opens: word.opens.holds(firsts),
            tokens: U::new(self.part().into()),
        })
    }

    /// Goes on at `next`, or at the beginning of a loop that ends before it. A loop whose first
    /// repetition had no command has none in the others either, and they are left out: else nested
    /// loops of NOPs would never end.
    fn advance(&mut self, next: usize) {
        self.at = next;
        while let Some(running) = self.nest.last_mut().filter(|running| running.end == next) {
            if !running.is_last() && running.dispatched {
                running.left -= running.step;
                running.number += 1;
                self.at = running.begin;
                return;
            }
            self.nest.pop();
        }
    }
}

impl Iterator for Expansion<'_> {
    type Item = Result<Dispatch, ExpandError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.step().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}
