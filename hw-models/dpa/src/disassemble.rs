// SPDX-License-Identifier: MIT
//! Words to text.
//!
//! Each line is checked: where the assembler would not make the same words of it, the words are
//! written as numbers. So whatever the words are, the text gives them back.

use crate::assemble::{loop_of_line, words_of_line};
use crate::types::{
    CommandWord, Condition, LoopSource, LoopWord, Modification, ModifyWord, Target,
};
use crate::{DEPTH, Instruction, SLOTS};
use std::fmt::Write;

/// Makes the text of a program's words. [`assemble`](crate::assemble()) gives them back, if they are
/// not more than a program may have.
pub fn disassemble(words: &[u64]) -> String {
    let mut text = String::new();
    let mut ends: Vec<usize> = Vec::with_capacity(DEPTH);
    let mut at = 0;
    while let Some(&word) = words.get(at) {
        let end = ends.last().copied().unwrap_or(words.len());
        let next = words.get(at + 1).copied().filter(|_| at + 1 < end);
        let line = line(word, next, ends.len(), end - at - 1);
        let _ = writeln!(text, "{:width$}{}", "", line.text(word), width = 2 * ends.len());
        match line {
            Line::Loop(_, words) => ends.push(at + 1 + words),
            Line::Two(_) => at += 1,
            Line::One(_) | Line::Number => {}
        }
        at += 1;
        while ends.last() == Some(&at) {
            ends.pop();
            let _ = writeln!(text, "{:width$}}}", "", width = 2 * ends.len());
        }
    }
    text
}

/// What is said of a word.
enum Line {
    One(String),
    /// Of this and the next.
    Two(String),
    /// A loop of so many words.
    Loop(String, usize),
    /// Nothing but its number.
    Number,
}

impl Line {
    fn text(&self, word: u64) -> String {
        match self {
            Self::One(text) | Self::Two(text) | Self::Loop(text, _) => text.clone(),
            Self::Number => format!(".word {word:#018x}"),
        }
    }
}

/// What to say of a word within so many loops, which `room` others may follow in the innermost.
fn line(word: u64, next: Option<u64>, depth: usize, room: usize) -> Line {
    match Instruction::decode(word) {
        Ok(Instruction::Loop(of)) => {
            let text = loop_text(&of);
            let words = of.words.get() as usize;
            let same = loop_of_line(&text, depth).map(|it| LoopWord { words: of.words, ..it });
            if (1..=room).contains(&words) && same == Some(of) {
                return Line::Loop(text, words);
            }
        }
        Ok(Instruction::Modify(modify)) => {
            if let Some(next) = next
                && let Ok(Instruction::Command(command)) = Instruction::decode(next)
            {
                let text = command_text(&command, &modify);
                if words_of_line(&text, depth) == Some((word, Some(next))) {
                    return Line::Two(text);
                }
            }
        }
        Ok(Instruction::Command(command)) => {
            let text = command_text(&command, &ModifyWord::default());
            if words_of_line(&text, depth) == Some((word, None)) {
                return Line::One(text);
            }
        }
        Ok(Instruction::Nop) => return Line::One("nop".to_owned()),
        Ok(Instruction::End) => return Line::One("end".to_owned()),
        Ok(Instruction::EndLayer) => return Line::One("end layer".to_owned()),
        Err(_) => {}
    }
    Line::Number
}

fn loop_text(of: &LoopWord) -> String {
    let (bound, request) = (of.bound.get(), of.request.request.get());
    match of.source {
        LoopSource::Count => format!("loop {bound} {{"),
        LoopSource::Part => format!("loop part/{bound} {{"),
        LoopSource::All if of.request.fixed => format!("loop all:{request}/{bound} {{"),
        LoopSource::All => format!("loop all/{bound} {{"),
    }
}

fn command_text(command: &CommandWord, modify: &ModifyWord) -> String {
    let CommandWord { opcode, request, first, last, opens, head, place, column, word, .. } =
        *command;
    let mut text = opcode.name().to_owned();
    let place_name = if opcode.has_row() { "row" } else { "place" };
    // In the order in which the slots first need them, as the assembler fills slots in that of the
    // text.
    let mut fields = [
        ("head", head.get(), &[Target::Head][..]),
        (place_name, place.get(), &[Target::Place, Target::Place64]),
        ("column", column.into(), &[Target::Column]),
        ("word", word.into(), &[Target::Word, Target::WordWraps]),
    ];
    let changed =
        |targets: &[Target]| modify.slots.iter().position(|slot| targets.contains(&slot.target));
    fields.sort_by_key(|(_, _, targets)| changed(targets).unwrap_or(SLOTS));
    for (name, base, targets) in fields {
        if base == 0 && changed(targets).is_none() {
            continue;
        }
        let _ = write!(text, " {name}={base}");
        for Modification { target, level, coefficient } in modify.modifications() {
            let (loop_number, coefficient) = (level.get() + 1, coefficient.get());
            let _ = match target {
                target if !targets.contains(target) => Ok(()),
                Target::Place64 => write!(text, "+{coefficient}x64@{loop_number}"),
                Target::WordWraps => write!(text, "~{coefficient}@{loop_number}"),
                _ => write!(text, "+{coefficient}@{loop_number}"),
            };
        }
    }
    for (name, condition) in [("first", first), ("last", last), ("opens", opens)] {
        if condition != Condition::NEVER {
            let _ = write!(text, " {name}");
            let loops = (0..DEPTH).filter(|level| condition.loops.get() >> level & 1 != 0);
            for (n, level) in loops.enumerate() {
                let _ = write!(text, "{}{}", if n == 0 { '@' } else { ',' }, level + 1);
            }
        }
    }
    if request.fixed {
        let _ = write!(text, " request={}", request.request.get());
    }
    text
}
