// SPDX-License-Identifier: MIT
//! Every command of a program by itself.

use super::builder::{Step, Template, When};
use super::{Over, Program};
use pimlico_dpa::{CommandWord, Condition, Dispatch, Instruction, REQUESTS};
use pimlico_ports::U;

/// A loop under way.
#[derive(Clone, Copy)]
struct Running {
    first: bool,
    last: bool,
}

struct Spelling<'a> {
    tokens: &'a [u32; REQUESTS],
    request: u8,
    numbers: Vec<u32>,
    running: Vec<Running>,
    then: &'a mut dyn FnMut(Dispatch),
}

impl Program {
    /// Gives every command, in order, that the program comes to for a request, where `tokens` are those of
    /// each request. Rows are virtual.
    pub fn spell(&self, tokens: &[u32; REQUESTS], request: u8, mut then: impl FnMut(Dispatch)) {
        let mut spelling =
            Spelling { tokens, request, numbers: Vec::new(), running: Vec::new(), then: &mut then };
        let all = tokens[usize::from(request)];
        spelling.steps(&self.steps, all);
    }
}

/// The word of a command that has neither loop nor modification: eight bytes of a static program.
pub fn static_word(command: &Dispatch) -> u64 {
    let row_or_place =
        if command.kind.has_row() { U::new(command.row.into()) } else { command.place };
    Instruction::Command(CommandWord {
        first: Condition::of_flag(command.first),
        last: Condition::of_flag(command.last),
        opens: Condition::of_flag(command.opens),
        head: command.head,
        place: row_or_place,
        column: command.column,
        word: command.word,
        ..CommandWord::new(command.kind)
    })
    .encode()
}

impl Spelling<'_> {
    /// Steps, in a repetition of so many tokens.
    fn steps(&mut self, steps: &[Step], tokens: u32) {
        for step in steps {
            match step {
                Step::Command(template) => {
                    let command = self.command(template, tokens);
                    (self.then)(command);
                }
                Step::Repeat { over: Over::Count(count), body } => {
                    for number in 0..*count {
                        self.repetition(body, number, number + 1 == *count, tokens);
                    }
                }
                Step::Repeat { over: Over::All(request, step), body } => {
                    let request = usize::from(request.unwrap_or(self.request));
                    self.over_tokens(body, self.tokens[request], *step);
                }
                Step::Repeat { over: Over::Part(step), body } => {
                    self.over_tokens(body, tokens, *step);
                }
            }
        }
    }

    fn over_tokens(&mut self, body: &[Step], tokens: u32, step: u32) {
        let count = tokens.div_ceil(step);
        for number in 0..count {
            let left = tokens - number * step;
            self.repetition(body, number, number + 1 == count, left.min(step));
        }
    }

    fn repetition(&mut self, body: &[Step], number: u32, last: bool, tokens: u32) {
        self.numbers.push(number);
        self.running.push(Running { first: number == 0, last });
        self.steps(body, tokens);
        self.running.pop();
        self.numbers.pop();
    }

    fn command(&self, template: &Template, tokens: u32) -> Dispatch {
        let value = |field: &super::Field| field.value(&self.numbers);
        let holds = |when: &When, of: fn(&Running) -> bool| {
            when.as_ref().is_some_and(|loops| loops.iter().all(|&at| of(&self.running[at])))
        };
        let place = value(&template.place);
        let has_row = template.opcode.has_row();
        Dispatch {
            kind: template.opcode,
            request: U::new(self.request.into()),
            head: U::new(value(&template.head)),
            row: if has_row { place as u16 } else { 0 },
            place: U::new(if has_row { 0 } else { place }),
            column: value(&template.column) as u8,
            word: value(&template.word) as u8,
            first: holds(&template.first, |running| running.first),
            last: holds(&template.last, |running| running.last),
            opens: holds(&template.opens, |running| running.first),
            tokens: U::new(tokens.into()),
        }
    }
}
