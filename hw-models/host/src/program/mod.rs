// SPDX-License-Identifier: MIT
//! Programs for the module's dispatcher, built from the shape of an operator.
//!
//! A [`Program`] is a description: loops, and commands whose fields grow with the repetitions of the loops
//! around them. Two things are made of it:
//!
//! * [`words`](Program::words): the program for the dispatcher, with Dyn-Loop and Dyn-Modi. It depends on
//!   the shape alone; how many tokens there are stands in the configuration, where their rows are in the
//!   Va2Pa table. So one program serves a request as long as it lives.
//! * [`spell`](Program::spell): every command by itself, for so many tokens. That is what a module without
//!   those two instructions is given (the *static* baseline), and what the dispatcher must make of the
//!   words.
//!
//! [`attention`] and [`gemv`] describe the operators of a rank, [`aim`] those of a module of AiM channels.

pub mod aim;
pub mod attention;
mod builder;
pub mod gemv;
mod queries;
mod spell;

pub use builder::{Builder, Field, Index, Template};
pub use spell::static_word;

use builder::Step;
use pimlico_dpa::{
    COMMANDS, DEPTH, Instruction, LoopSource, LoopWord, Modification, ModifyWord, RequestChoice,
    SLOTS, Target,
};
use pimlico_ports::U;

/// The largest coefficient of a modification.
const COEFFICIENT: u32 = 0x3FF;

/// Why a description makes no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It has more words than the command buffer.
    #[error("a program of {0} words: the command buffer has {COMMANDS}")]
    Words(usize),
    /// A loop has more words, repetitions or tokens than can be written.
    #[error("a loop of {words} words, bound {bound}: too long")]
    Loop {
        /// Words that are repeated.
        words: usize,
        /// Repetitions, or tokens of one.
        bound: u32,
    },
    /// More loops in each other than the dispatcher has registers for.
    #[error("{0} loops in each other: the dispatcher has registers for {DEPTH}")]
    Depth(usize),
    /// A command grows with more loops than a Dyn-Modi has slots, or in larger steps.
    #[error("{0}: its fields grow in more ways than a Dyn-Modi has slots")]
    Slots(&'static str),
    /// A field is too large to be written.
    #[error("{command}: {field} {value} is too large")]
    Field {
        /// Which command.
        command: &'static str,
        /// Which field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
}

/// What a loop goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// So many repetitions.
    Count(u32),
    /// All tokens of the running request, or of another, so many in a repetition.
    All(Option<u8>, u32),
    /// The tokens of the present repetition of the loop around it, so many in a repetition.
    Part(u32),
}

/// A description of a program.
#[derive(Clone, Debug)]
pub struct Program {
    steps: Vec<Step>,
    /// The request goes on to its next layer.
    ends_layer: bool,
}

impl Program {
    /// What `describe` describes, and an END.
    pub fn new(describe: impl FnOnce(&mut Builder)) -> Self {
        let mut builder = Builder::default();
        describe(&mut builder);
        Self { steps: builder.steps, ends_layer: false }
    }

    /// The same as the last program of a layer, or not: whether its END sends the request on to the next.
    pub fn ending_layer(self, ends_layer: bool) -> Self {
        Self { ends_layer, ..self }
    }

    /// The words for the dispatcher.
    pub fn words(&self) -> Result<Vec<u64>, ProgramError> {
        let mut words = Vec::new();
        write(&self.steps, 0, &mut words)?;
        let end = if self.ends_layer { Instruction::EndLayer } else { Instruction::End };
        words.push(end.encode());
        if words.len() > COMMANDS {
            return Err(ProgramError::Words(words.len()));
        }
        Ok(words)
    }
}

/// Writes steps that stand in so many loops.
fn write(steps: &[Step], depth: usize, words: &mut Vec<u64>) -> Result<(), ProgramError> {
    for step in steps {
        match step {
            Step::Repeat { over, body } => {
                let at = words.len();
                words.push(0); // when its length is known
                if depth == DEPTH {
                    return Err(ProgramError::Depth(depth + 1));
                }
                write(body, depth + 1, words)?;
                words[at] = loop_word(*over, words.len() - at - 1)?;
            }
            Step::Command(template) => {
                let slots = slots(template, depth)?;
                if slots[0].is_some() {
                    words.push(Instruction::Modify(ModifyWord::new(slots)).encode());
                }
                words.push(Instruction::Command(template.word_in(depth)?).encode());
            }
        }
        // Before it becomes much longer.
        if words.len() > COMMANDS {
            return Err(ProgramError::Words(words.len()));
        }
    }
    Ok(())
}

fn loop_word(over: Over, words: usize) -> Result<u64, ProgramError> {
    let (of, bound) = match over {
        Over::Count(count) => (LoopWord::new(LoopSource::Count, count), count),
        Over::All(request, tokens) => {
            let request = request.map_or(RequestChoice::RUNNING, RequestChoice::fixed);
            (LoopWord { request, ..LoopWord::new(LoopSource::All, tokens) }, tokens)
        }
        Over::Part(tokens) => (LoopWord::new(LoopSource::Part, tokens), tokens),
    };
    let of = LoopWord { words: U::new(words as u64), ..of };
    if of.bound.get() != u64::from(bound) || of.words.get() != words as u64 {
        return Err(ProgramError::Loop { words, bound });
    }
    Ok(Instruction::Loop(of).encode())
}

/// The modifications of a command in so many loops.
fn slots(template: &Template, depth: usize) -> Result<[Modification; SLOTS], ProgramError> {
    let error = ProgramError::Slots(template.opcode.name());
    let mut slots = [Modification::default(); SLOTS];
    let mut free = slots.iter_mut();
    let fields = [
        (&template.place, Target::Place),
        (&template.column, Target::Column),
        (&template.word, if template.wraps { Target::WordWraps } else { Target::Word }),
        (&template.head, Target::Head),
    ];
    for (field, target) in fields {
        for &(of, coefficient) in &field.terms {
            let level = (depth - 1 - of) as u8;
            let mut add = |target, coefficient: u32| {
                let slot = free.next().filter(|_| coefficient <= COEFFICIENT).ok_or(error)?;
                *slot = Modification::new(target, level, coefficient as u16);
                Ok(())
            };
            let mut left = coefficient;
            while target == Target::Place && left > COEFFICIENT {
                let times = (left / 64).min(COEFFICIENT);
                add(Target::Place64, times)?;
                left -= 64 * times;
            }
            if left > 0 {
                add(target, left)?;
            }
        }
    }
    Ok(slots)
}
