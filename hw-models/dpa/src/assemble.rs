// SPDX-License-Identifier: MIT
//! Text to words.

use crate::types::{
    CommandWord, Condition, LoopSource, LoopWord, Modification, ModifyWord, Opcode, RequestChoice,
    Target,
};
use crate::{COMMANDS, DEPTH, Instruction, SLOTS};
use pimlico_ports::U;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct AssembleError {
    /// Line, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
}

/// A program and the lines that it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    /// The words.
    pub words: Vec<u64>,
    /// The line of each, from 1.
    pub lines: Vec<usize>,
}

/// Makes a program's words of its text.
pub fn assemble(text: &str) -> Result<Vec<u64>, AssembleError> {
    assemble_lines(text).map(|assembled| assembled.words)
}

/// Makes a program's words of its text, and tells the line of each.
pub fn assemble_lines(text: &str) -> Result<Assembled, AssembleError> {
    let mut assembled = Assembled::default();
    let mut open: Vec<OpenLoop> = Vec::with_capacity(DEPTH);
    for (line, text) in (1..).zip(text.lines()) {
        let mut cursor = Cursor { text, at: 0 };
        let at = |(column, problem)| AssembleError { line, column, problem };
        let statement = statement(&mut cursor, open.len()).map_err(at)?;
        let Assembled { words, lines } = &mut assembled;
        match statement {
            Statement::Nothing => continue,
            Statement::Begin(of, column) => {
                open.push(OpenLoop { of, at: words.len(), line, column });
                words.push(0);
            }
            Statement::Close => {
                let Some(OpenLoop { of, at: begin, .. }) = open.pop() else {
                    return Err(at((cursor.column_of_last(), "no loop is open".to_owned())));
                };
                let body = words.len() - begin - 1;
                if body == 0 {
                    return Err(at((cursor.column_of_last(), "the loop has no words".to_owned())));
                }
                words[begin] =
                    Instruction::Loop(LoopWord { words: U::new(body as u64), ..of }).encode();
            }
            Statement::Words(first, second) => {
                words.push(first);
                words.extend(second);
            }
        }
        if words.len() > COMMANDS {
            return Err(at((1, format!("more than {COMMANDS} words"))));
        }
        lines.resize(words.len(), line);
    }
    match open.pop() {
        Some(OpenLoop { line, column, .. }) => {
            Err(AssembleError { line, column, problem: "the loop is not closed".to_owned() })
        }
        None => Ok(assembled),
    }
}

struct OpenLoop {
    of: LoopWord,
    at: usize,
    line: usize,
    column: usize,
}

/// The words of one line that holds no loop, within so many loops.
pub(crate) fn words_of_line(text: &str, depth: usize) -> Option<(u64, Option<u64>)> {
    match statement(&mut Cursor { text, at: 0 }, depth) {
        Ok(Statement::Words(first, second)) => Some((first, second)),
        _ => None,
    }
}

/// The loop that a line begins, but for the number of its words.
pub(crate) fn loop_of_line(text: &str, depth: usize) -> Option<LoopWord> {
    match statement(&mut Cursor { text, at: 0 }, depth) {
        Ok(Statement::Begin(of, _)) => Some(of),
        _ => None,
    }
}

/// What a line says.
enum Statement {
    Nothing,
    Words(u64, Option<u64>),
    Begin(LoopWord, usize),
    Close,
}

/// Column and problem.
type Problem = (usize, String);

/// A place in a line.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn column(&self) -> usize {
        self.column_at(self.at)
    }

    fn column_at(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }

    /// Of the character before.
    fn column_of_last(&self) -> usize {
        self.column().saturating_sub(1).max(1)
    }

    fn problem(&self, problem: impl Into<String>) -> Problem {
        (self.column(), problem.into())
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether nothing but a comment is left.
    fn is_over(&mut self) -> bool {
        self.skip_spaces();
        self.rest().is_empty() || self.rest().starts_with('#')
    }

    fn take(&mut self, what: char) -> bool {
        let found = self.rest().starts_with(what);
        self.at += if found { what.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, what: char) -> Result<(), Problem> {
        if self.take(what) { Ok(()) } else { Err(self.problem(format!("expected `{what}`"))) }
    }

    fn name(&mut self) -> &'a str {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// A number of at most `most`, decimal or hexadecimal.
    fn number(&mut self, most: u64) -> Result<u64, Problem> {
        let column = self.column();
        let rest = self.rest();
        let (digits, radix, prefix) = match rest.strip_prefix("0x") {
            Some(digits) => (digits, 16, 2),
            None => (rest, 10, 0),
        };
        let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        if length == 0 {
            return Err((column, "expected a number".to_owned()));
        }
        self.at += prefix + length;
        let number = u64::from_str_radix(&digits[..length], radix).ok();
        let number = number.filter(|&number| number <= most);
        number.ok_or_else(|| (column, format!("expected a number of at most {most}")))
    }

    fn ends_word(&self) -> Result<(), Problem> {
        let rest = self.rest();
        if rest.is_empty() || rest.starts_with('#') || rest.starts_with(char::is_whitespace) {
            return Ok(());
        }
        Err(self.problem("expected a space or the end of the line"))
    }
}

fn statement(cursor: &mut Cursor<'_>, depth: usize) -> Result<Statement, Problem> {
    if cursor.is_over() {
        return Ok(Statement::Nothing);
    }
    let column = cursor.column();
    let statement = if cursor.take('}') {
        Statement::Close
    } else {
        match cursor.name() {
            "loop" => Statement::Begin(loop_bound(cursor, depth)?, column),
            "nop" => Statement::Words(Instruction::Nop.encode(), None),
            "end" => Statement::Words(end(cursor)?.encode(), None),
            ".word" => {
                cursor.skip_spaces();
                Statement::Words(cursor.number(u64::MAX)?, None)
            }
            name => match Opcode::COMMANDS.into_iter().find(|kind| kind.name() == name) {
                Some(kind) => command(cursor, kind, depth)?,
                None => return Err((column, expected_statement())),
            },
        }
    };
    // A closing brace must leave its column to errors about the loop.
    let end = cursor.at;
    if !cursor.is_over() {
        return Err(cursor.problem("expected the end of the line"));
    }
    cursor.at = end;
    Ok(statement)
}

/// An END behind its name: alone, or of a layer.
fn end(cursor: &mut Cursor<'_>) -> Result<Instruction, Problem> {
    if cursor.is_over() {
        return Ok(Instruction::End);
    }
    let column = cursor.column();
    match cursor.name() {
        "layer" => Ok(Instruction::EndLayer),
        _ => Err((column, "expected `layer`, or the end of the line".to_owned())),
    }
}

fn expected_statement() -> String {
    let kinds = Opcode::COMMANDS.map(Opcode::name).join(", ");
    format!("expected a command ({kinds}), loop, }}, nop, end or .word")
}

/// A loop behind its name: how often, and the brace.
fn loop_bound(cursor: &mut Cursor<'_>, depth: usize) -> Result<LoopWord, Problem> {
    if depth == DEPTH {
        return Err((cursor.column_of_last(), format!("loops nest at most {DEPTH} deep")));
    }
    cursor.skip_spaces();
    let mut request = RequestChoice::RUNNING;
    let source = if cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
        LoopSource::Count
    } else {
        let column = cursor.column();
        let source = match cursor.name() {
            "part" => LoopSource::Part,
            "all" => {
                if cursor.take(':') {
                    request = RequestChoice::fixed(cursor.number(15)? as u8);
                }
                LoopSource::All
            }
            _ => return Err((column, "expected a number, `all/..` or `part/..`".to_owned())),
        };
        cursor.expect('/')?;
        source
    };
    let most = match source {
        LoopSource::Count => crate::MAX_REPETITIONS,
        _ => (1 << crate::TOKEN_BITS) - 1,
    };
    let column = cursor.column();
    let bound = cursor.number(most.into())? as u32;
    if bound == 0 {
        return Err((column, "expected a number of at least 1".to_owned()));
    }
    cursor.skip_spaces();
    cursor.expect('{')?;
    Ok(LoopWord { request, ..LoopWord::new(source, bound) })
}

/// A command behind its name.
fn command(cursor: &mut Cursor<'_>, kind: Opcode, depth: usize) -> Result<Statement, Problem> {
    let mut command = CommandWord::new(kind);
    let mut slots = Slots { slots: [Modification::default(); SLOTS], count: 0, depth };
    let mut given: Vec<&str> = Vec::new();
    loop {
        cursor.ends_word()?;
        if cursor.is_over() {
            break;
        }
        let column = cursor.column();
        let name = cursor.name();
        if given.contains(&name) {
            return Err((column, format!("{name} is given twice")));
        }
        given.push(name);
        match name {
            "first" => command.first = condition(cursor)?,
            "last" => command.last = condition(cursor)?,
            "opens" => command.opens = condition(cursor)?,
            "request" => {
                cursor.expect('=')?;
                command.request = RequestChoice::fixed(cursor.number(15)? as u8);
            }
            "row" if kind.has_row() => {
                command.place = U::new(slots.field(cursor, Field::Place, 0x3_FFFF)?);
            }
            "place" if !kind.has_row() => {
                command.place = U::new(slots.field(cursor, Field::Place, 0x3_FFFF)?);
            }
            "column" => command.column = slots.field(cursor, Field::Column, 0xFF)? as u8,
            "word" => command.word = slots.field(cursor, Field::Word, 0xFF)? as u8,
            "head" => command.head = U::new(slots.field(cursor, Field::Head, 7)?),
            _ => {
                let place = if kind.has_row() { "row" } else { "place" };
                let expected =
                    format!("expected head, {place}, column, word, first, last, opens or request");
                return Err((column, expected));
            }
        }
    }
    let command = Instruction::Command(command).encode();
    Ok(match slots.count {
        0 => Statement::Words(command, None),
        _ => Statement::Words(
            Instruction::Modify(ModifyWord::new(slots.slots)).encode(),
            Some(command),
        ),
    })
}

fn condition(cursor: &mut Cursor<'_>) -> Result<Condition, Problem> {
    if !cursor.take('@') {
        return Ok(Condition::ALWAYS);
    }
    let mut loops = 0;
    loop {
        loops |= 1 << level(cursor, DEPTH)?;
        if !cursor.take(',') {
            return Ok(Condition::of_loops(loops));
        }
    }
}

/// The number of a loop, 1 for the innermost; returned from 0.
fn level(cursor: &mut Cursor<'_>, depth: usize) -> Result<u8, Problem> {
    let column = cursor.column();
    let number = cursor.number(DEPTH as u64)? as usize;
    match number.checked_sub(1) {
        Some(level) if level < depth => Ok(level as u8),
        _ if depth == 0 => Err((column, "no loop is around it".to_owned())),
        _ => Err((column, format!("expected a loop from 1, the innermost, to {depth}"))),
    }
}

/// What a field's modifications change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Place,
    Column,
    Word,
    Head,
}

/// The modifications of a command.
struct Slots {
    slots: [Modification; SLOTS],
    count: usize,
    depth: usize,
}

impl Slots {
    /// `=`, a number of at most `most`, and what is added to it.
    fn field(&mut self, cursor: &mut Cursor<'_>, field: Field, most: u64) -> Result<u64, Problem> {
        cursor.expect('=')?;
        let base = cursor.number(most)?;
        loop {
            let column = cursor.column();
            let wraps = field == Field::Word && cursor.take('~');
            if !wraps && !cursor.take('+') {
                return Ok(base);
            }
            if self.count == SLOTS {
                return Err((column, format!("a command has at most {SLOTS} modifications")));
            }
            let coefficient = cursor.number(0x3FF)? as u16;
            let target = match field {
                Field::Place if cursor.take('x') => {
                    let column = cursor.column();
                    if cursor.number(64)? != 64 {
                        return Err((column, "expected 64".to_owned()));
                    }
                    Target::Place64
                }
                Field::Place => Target::Place,
                Field::Column => Target::Column,
                Field::Word if wraps => Target::WordWraps,
                Field::Word => Target::Word,
                Field::Head => Target::Head,
            };
            cursor.expect('@')?;
            let level = level(cursor, self.depth)?;
            self.slots[self.count] = Modification::new(target, level, coefficient);
            self.count += 1;
        }
    }
}
