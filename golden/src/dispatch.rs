// SPDX-License-Identifier: MIT
//! What a program of direct PIM access dispatches, read straight from the definition of its words.
//!
//! A loop is a `for` over ceil(tokens / step) numbers, worked out by division before it begins; a block
//! of words is interpreted once for each; a field is its base plus every coefficient times its number.
//! Nothing is counted down, stacked or pipelined. What is said of time is said in *turns*: a command, a NOP,
//! a loop that begins and the end take one each.

/// What a program runs with.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The program.
    pub words: Vec<u64>,
    /// The Va2Pa table.
    pub table: Vec<u16>,
    /// What is configured for each request.
    pub requests: Vec<Request>,
}

/// What is configured for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// T_cur.
    pub tokens: u32,
    /// The first entry of its first layer.
    pub first_entry: u16,
    /// Entries of a layer.
    pub entries: u16,
    /// How many layers it has; 0 is one.
    pub layers: u16,
    /// Entries from a layer to the next.
    pub stride: u16,
    /// Runs that have ended with *next layer* since the segment or the layers were written.
    pub steps: u64,
}

impl Request {
    /// The host writes its segment: first entry in bits 15 to 0, number of entries above. It is at its first layer.
    pub fn set_segment(&mut self, data: u64) {
        (self.first_entry, self.entries) = (data as u16, (data >> 16) as u16);
        self.steps = 0;
    }

    /// The host writes its layers: entries from one to the next in bits 15 to 0, number of layers above. It is at its
    /// first layer.
    pub fn set_layers(&mut self, data: u64) {
        (self.stride, self.layers) = (data as u16, (data >> 16) as u16);
        self.steps = 0;
    }

    /// The layer that it is at: they come by turns.
    pub fn layer(&self) -> u64 {
        self.steps % u64::from(self.layers.max(1))
    }

    /// The entry of a virtual row.
    fn entry(&self, row: u32) -> u64 {
        u64::from(self.first_entry) + self.layer() * u64::from(self.stride) + u64::from(row)
    }
}

/// A command and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatched {
    /// Its turn since the start, from 0.
    pub turn: u64,
    /// Opcode.
    pub opcode: u32,
    /// Whose row.
    pub request: u32,
    /// Query head.
    pub head: u32,
    /// Row of a MAC.
    pub row: u32,
    /// Place of any other.
    pub place: u32,
    /// Column.
    pub column: u32,
    /// Word of the shared buffers.
    pub word: u32,
    /// Flags: first, last, opens.
    pub flags: [bool; 3],
    /// Tokens that are not masked.
    pub tokens: u32,
}

/// How a run ends: code of the status, address, turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Code of the status.
    pub status: u32,
    /// Address of the word.
    pub address: u32,
    /// Its turn.
    pub turn: u64,
    /// The request goes on to its next layer.
    pub next_layer: bool,
}

/// What a run dispatches, and its end, if that comes within the turns that were looked at.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The commands.
    pub commands: Vec<Dispatched>,
    /// The turns in which a loop begins.
    pub loops: Vec<u64>,
    /// The end.
    pub ending: Option<Ending>,
}

/// Codes of the statuses.
#[expect(missing_docs, reason = "the names say it")]
pub mod status {
    pub const DONE: u32 = 2;
    pub const STOPPED: u32 = 3;
    pub const BUFFER_OVERFLOW: u32 = 4;
    pub const PAST_END: u32 = 5;
    pub const UNKNOWN_OPCODE: u32 = 6;
    pub const UNKNOWN_TARGET: u32 = 7;
    pub const LOOP_BOUND: u32 = 8;
    pub const LOOP_END: u32 = 9;
    pub const TOO_DEEP: u32 = 10;
    pub const FIELD_OVERFLOW: u32 = 11;
    pub const VA2PA_MISS: u32 = 12;
    pub const UNKNOWN_REQUEST: u32 = 13;
}

/// Loops in each other.
const NESTED: usize = 4;

/// The `width` bits of a word from bit `from` on.
fn field(word: u64, from: u32, width: u32) -> u32 {
    ((word >> from) % (1 << width)) as u32
}

/// A loop around a word, in one of its repetitions.
#[derive(Clone, Copy)]
struct Around {
    number: u64,
    is_last: bool,
    /// Tokens of the repetition, where it goes over tokens.
    tokens: Option<u64>,
}

/// Why interpretation stops.
enum Stop {
    Ends(u32, usize),
    /// All turns have been looked at.
    Enough,
}

/// Runs `request` from the word at `address`, for at most so many turns.
pub fn run(machine: &Machine, request: usize, address: usize, turns: u64) -> Run {
    let mut interpreter = Interpreter { machine, request, turns, turn: 0, run: Run::default() };
    let stop = if request >= machine.requests.len() {
        Stop::Ends(status::UNKNOWN_REQUEST, address)
    } else {
        interpreter.block(address, machine.words.len(), &[])
    };
    let mut run = interpreter.run;
    if let Stop::Ends(status, address) = stop
        && interpreter.turn < turns
    {
        let next_layer = status == status::DONE && machine.words[address] % 2 == 1;
        let (address, turn) = (address as u32, interpreter.turn);
        run.ending = Some(Ending { status, address, turn, next_layer });
    }
    run
}

struct Interpreter<'a> {
    machine: &'a Machine,
    request: usize,
    turns: u64,
    /// The present turn.
    turn: u64,
    run: Run,
}

impl Interpreter<'_> {
    /// Interprets the words of a program from one to its end; never comes back but with a stop.
    fn block(&mut self, from: usize, to: usize, nest: &[Around]) -> Stop {
        match self.words(from, to, nest) {
            Err(stop) => stop,
            Ok(()) => Stop::Ends(status::PAST_END, from.max(to)),
        }
    }

    /// Interprets the words of a block.
    fn words(&mut self, from: usize, to: usize, nest: &[Around]) -> Result<(), Stop> {
        let mut at = from;
        while at < to {
            let word = self.machine.words[at];
            let ends = |status| Err(Stop::Ends(status, at));
            match field(word, 60, 4) {
                1..=8 => {
                    self.command(at, 0, nest)?;
                    at += 1;
                }
                13 => {
                    let slots = (0..4).map(|s| field(word, 15 * s, 15));
                    let wrong = |slot: u32| {
                        let (target, level) = (slot >> 12, slot >> 10 & 3);
                        target == 7 || target > 0 && level as usize >= nest.len()
                    };
                    let alone = at + 1 == to
                        || !(1..=8).contains(&field(self.machine.words[at + 1], 60, 4));
                    if alone || slots.into_iter().any(wrong) {
                        return ends(status::UNKNOWN_TARGET);
                    }
                    self.command(at + 1, word, nest)?;
                    at += 2;
                }
                9 if word << 4 != 0 => return ends(status::UNKNOWN_OPCODE),
                // Bit 0: the request goes on to its next layer.
                10 if word << 4 >> 5 != 0 => return ends(status::UNKNOWN_OPCODE),
                9 => {
                    self.next_turn()?;
                    at += 1;
                }
                10 => return ends(status::DONE),
                12 => at = self.repeat(at, to, nest)?,
                _ => return ends(status::UNKNOWN_OPCODE),
            }
        }
        Ok(())
    }

    /// A loop; returns the word behind it.
    fn repeat(&mut self, at: usize, to: usize, nest: &[Around]) -> Result<usize, Stop> {
        let word = self.machine.words[at];
        let ends = |status| Err(Stop::Ends(status, at));
        let [source, length, bound] =
            [field(word, 53, 2), field(word, 20, 14), field(word, 0, 20)].map(u64::from);
        let fixed = word >> 59 & 1 == 1;
        if field(word, 34, 19) != 0 || source < 2 && field(word, 55, 5) != 0 {
            return ends(status::UNKNOWN_OPCODE);
        }
        if !fixed && field(word, 55, 4) != 0 {
            return ends(status::UNKNOWN_OPCODE);
        }
        if source == 3 {
            return ends(status::UNKNOWN_TARGET);
        }
        let of = if fixed { field(word, 55, 4) as usize } else { self.request };
        let Some(&Request { tokens: all, .. }) = self.machine.requests.get(of) else {
            return ends(status::UNKNOWN_REQUEST);
        };
        if nest.len() == NESTED {
            return ends(status::TOO_DEEP);
        }
        let total = match source {
            0 => bound,
            1 => self.part(nest),
            _ => all.into(),
        };
        let repetitions = match (source, bound) {
            (0, _) => bound,
            (_, 0) => 0,
            _ => total.div_ceil(bound),
        };
        if length == 0 || repetitions == 0 || repetitions > 65536 {
            return ends(status::LOOP_BOUND);
        }
        let end = at + 1 + length as usize;
        if end > to {
            return ends(status::LOOP_END);
        }
        // A loop begins once, however often it is repeated.
        self.run.loops.push(self.turn);
        self.next_turn()?;
        for number in 0..repetitions {
            let tokens = (source > 0).then(|| bound.min(total - number * bound));
            let around = Around { number, is_last: number + 1 == repetitions, tokens };
            self.words(at + 1, end, &[&[around], nest].concat())?;
        }
        Ok(end)
    }

    /// Tokens of the repetition around, or T_cur. The innermost loop is first.
    fn part(&self, nest: &[Around]) -> u64 {
        let all = self.machine.requests[self.request].tokens;
        nest.iter().find_map(|around| around.tokens).unwrap_or(all.into())
    }

    fn next_turn(&mut self) -> Result<(), Stop> {
        self.turn += 1;
        if self.turn >= self.turns { Err(Stop::Enough) } else { Ok(()) }
    }

    fn command(&mut self, at: usize, modify: u64, nest: &[Around]) -> Result<(), Stop> {
        let word = self.machine.words[at];
        let ends = |status| Err(Stop::Ends(status, at));
        let fixed = word >> 59 & 1 == 1;
        if field(word, 52, 3) != 0 || !fixed && field(word, 55, 4) != 0 {
            return ends(status::UNKNOWN_OPCODE);
        }
        let request = if fixed { field(word, 55, 4) as usize } else { self.request };
        let Some(of) = self.machine.requests.get(request) else {
            return ends(status::UNKNOWN_REQUEST);
        };

        // Target 1 and 2 go to field 0, 3 to 1, 4 and 5 to 2, 6 to 3.
        let mut fields = [(16, 18), (8, 8), (0, 8), (34, 3)].map(|(f, w)| field(word, f, w).into());
        let mut wraps = false;
        for slot in (0..4).map(|s| field(modify, 15 * s, 15)) {
            let number = nest.get((slot >> 10 & 3) as usize).map_or(0, |around| around.number);
            let product = number * u64::from(slot % 1024);
            match slot >> 12 {
                1 => fields[0] += product,
                2 => fields[0] += product * 64,
                3 => fields[1] += product,
                4 => fields[2] += product,
                5 => {
                    fields[2] += product;
                    wraps = true;
                }
                6 => fields[3] += product,
                _ => {}
            }
        }
        if wraps {
            fields[2] %= 256;
        }
        let opcode = field(word, 60, 4);
        let is_mac = opcode <= 2;
        let limits = [if is_mac { 1 << 16 } else { 1 << 18 }, 256, 256, 8];
        if fields.iter().zip(limits).any(|(&field, limit): (&u64, u64)| field >= limit) {
            return ends(status::FIELD_OVERFLOW);
        }
        let [place, column, index, head] = fields.map(|field| field as u32);

        let mut row = 0;
        if is_mac {
            let inside = place < of.entries.into();
            let entry = of.entry(place) as usize;
            match self.machine.table.get(entry).filter(|&&row| inside && row != 0xFFFF) {
                Some(&found) => row = found.into(),
                None => return ends(status::VA2PA_MISS),
            }
        }

        let met = |from: u32, holds: fn(&Around) -> bool| {
            let marked = |level: u32| field(word, from + level, 1) == 1;
            field(word, from + 4, 1) == 1
                && nest.iter().zip(0..).all(|(around, level)| !marked(level) || holds(around))
        };
        let is_first = |around: &Around| around.number == 0;
        self.run.commands.push(Dispatched {
            turn: self.turn,
            opcode,
            request: request as u32,
            head,
            row,
            place: if is_mac { 0 } else { place },
            column,
            word: index,
            flags: [met(47, is_first), met(42, |around| around.is_last), met(37, is_first)],
            tokens: self.part(nest) as u32,
        });
        self.next_turn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(words: &[u64], tokens: u32) -> Machine {
        Machine {
            words: words.to_vec(),
            table: vec![50, 60, 0xFFFF, 70],
            requests: vec![
                Request { tokens, entries: 4, ..Request::default() },
                Request { tokens, first_entry: 1, entries: 1, ..Request::default() },
            ],
        }
    }

    const END: u64 = 10 << 60;

    fn ending(status: u32, address: u32, turn: u64) -> Ending {
        Ending { status, address, turn, next_layer: false }
    }

    #[test]
    fn rows_come_from_the_table_and_tokens_run_out() {
        // A row of 20 tokens: two parts, then one of what is left.
        let loops = [0xC040_0000_0030_0014, 0xC020_0000_0020_000A];
        let modify = 13 << 60 | 0x1401; // row + 1 for each repetition of the outer loop
        let mac = 1 << 60 | 0x1F << 47 | 0x11 << 42 | 9 << 8;
        let program = [loops[0], loops[1], modify, mac, END];
        let run = run(&machine(&program, 25), 0, 0, 100);
        let rows: Vec<_> = run.commands.iter().map(|c| (c.row, c.tokens, c.flags)).collect();
        let flags = |first, last| [first, last, false];
        assert_eq!(
            rows,
            [
                (50, 10, flags(true, false)),
                (50, 10, flags(false, true)),
                (60, 5, flags(false, true))
            ]
        );
        assert_eq!(run.ending, Some(ending(status::DONE, 4, 6)));
    }

    #[test]
    fn a_miss_ends_the_run() {
        for (request, expected) in [(0, [50, 60].as_slice()), (1, &[60])] {
            let program = [0xC000_0000_0020_0003, 13 << 60 | 0x1001, 1 << 60, END];
            let run = run(&machine(&program, 1), request, 0, 100);
            let rows: Vec<_> = run.commands.iter().map(|c| c.row).collect();
            assert_eq!(rows, expected);
            let turn = 1 + expected.len() as u64;
            assert_eq!(run.ending, Some(ending(status::VA2PA_MISS, 2, turn)));
        }
    }

    #[test]
    fn turns_are_limited() {
        let program = [0xC000_0000_0010_FFFF, 9 << 60, END];
        assert_eq!(run(&machine(&program, 1), 0, 0, 1000).ending, None);
        let done = ending(status::DONE, 2, 1 + 0xFFFF);
        assert_eq!(run(&machine(&program, 1), 0, 0, 1 << 20).ending, Some(done));
        let past = ending(status::PAST_END, 7, 0);
        assert_eq!(run(&machine(&program, 1), 0, 7, 9).ending, Some(past));
    }

    #[test]
    fn a_layer_lies_behind_the_one_before() {
        let program = [1 << 60, END | 1];
        let mut machine = machine(&program, 1);
        machine.requests[0] = Request { entries: 1, layers: 3, stride: 1, ..Request::default() };
        let mut rows = Vec::new();
        for steps in 0..5 {
            machine.requests[0].steps = steps;
            let run = run(&machine, 0, 0, 100);
            rows.extend(run.commands.first().map(|command| command.row));
            // The third has no row.
            assert_eq!(run.ending.map(|ending| ending.next_layer), Some(steps % 3 != 2));
        }
        assert_eq!(rows, [50, 60, 50, 60]);
        assert_eq!(run(&machine, 1, 1, 100).ending.map(|it| it.next_layer), Some(true));
    }
}
