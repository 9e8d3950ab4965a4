// SPDX-License-Identifier: MIT
//! The module's dispatcher: expands a program of direct PIM access (DPA) into commands (LoL-PIM
//! section 5).
//!
//! Twin of `rtl/module/dispatcher.sv`; this header is the contract of both.
//!
//! A clock is one tCK. Words, their encoding and their faults stand in [`pimlico_dpa`]; here is how
//! they are executed. The command buffer and the Va2Pa table are memories outside, so that the unit is
//! logic alone; the configuration is inside, in registers.
//!
//! # Host
//!
//! `load_valid_i` writes `load_data_i` to `load_address_i`; it is always taken:
//!
//! | `load_kind_i` | what is written | addresses |
//! | --- | --- | --- |
//! | 0 | a word of the command buffer | 0 to `COMMANDS` - 1 |
//! | 1 | an entry of the Va2Pa table: bits 15 to 0 | 0 to `ENTRIES` - 1 |
//! | 2 | T_cur of a request: bits 19 to 0 | 0 to `REQUESTS` - 1 |
//! | 3 | a request's segment of the table: first entry in bits 15 to 0, number of entries in bits 31 to 16 | 0 to `REQUESTS` - 1 |
//! | 4 | nothing: program and overflow are forgotten | any |
//! | 5 to 7 | nothing | any |
//!
//! The memories take the host's address and data, with `command_write_o` and `table_write_o`. A write
//! to an address beyond, or of a number with more bits than there are, is left out and sets
//! `overflow_o`; a run then ends as `BufferOverflow`, as part of what it needs is missing. Load kind 4
//! clears it. The program reaches to the highest word written since then. What a run uses must not be
//! written while it lasts, or what it dispatches is anything (but nothing hangs).
//!
//! # Runs
//!
//! Where `start_valid_i` meets `start_ready_o`, request `start_request_i` runs from word
//! `start_address_i` on. One runs at a time: the next start is taken when the last has ended, in the
//! clock after `done_o`, so that a fault can only stop the request whose it is. `done_o` tells the end
//! of a run once, behind its last command, with its status and the address of the word at which it
//! ended: END, the faulty word, or the next word where the host stopped it. `status_o` holds each
//! request's last status; the codes are those of [`Status`]. `stop_i` ends a run before the next word;
//! it is held until `done_o`, and what is on its way still leaves.
//!
//! # Pipeline
//!
//! Four stages; each holds one command, moves on where the next is free, and waits where the target is
//! not ready:
//!
//! ```text
//! clock             0       1       2       3       4       5
//! start_valid_i     1
//! fetch_address_o   start   next
//! words taken               A       B                               fetch_data_i is sequenced
//! products                          A       B                       Dyn-Modi's are added
//! table_address_o                           A       B               request and virtual row
//! dispatch_valid_o                                  A       B       table_data_i is the row
//! ```
//!
//! The command buffer gives four words at once, from `fetch_address_o` on, a clock later (four memories
//! interleaved by word; what it gives for words beyond the program is not looked at), the table one
//! entry. Both hold what they gave until the next read.
//!
//! In a clock, up to two Dyn-Loops that begin, a Dyn-Modi and the command behind it are sequenced, and
//! all the loops that end with it: one command is dispatched in every clock, in the first repetition
//! of a loop as in the others, at the ends of loops and where nested loops begin again, whatever the
//! rows: a look-up is made for every row, in a stage of its own, and takes no time from any other. A
//! clock without a command is taken by
//!
//! * NOP;
//! * a third and a fourth loop that begin at the same command, together;
//! * the start: the first command is dispatched [`LATENCY`](Dispatcher::LATENCY) clocks after it;
//! * the end: `done_o` takes the place of a command.
//!
//! Where the target is slower these disappear as well, while there are others in the pipeline.
//!
//! A loop's registers count what is left, repetitions or tokens, down by its step: comparison and
//! subtraction take the place of the division ceil(T_cur / LB). The products of Dyn-Modi are computed
//! for each command afresh, from the numbers of the repetitions: four multipliers, and not a register
//! for each command and field.

use pimlico_dpa::{
    CommandWord, Condition, DEPTH, Instruction, Kind, Loop, MAX_REPETITIONS, Modification, NO_ROW,
    SLOTS, Source, Status, Target,
};
use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// A dispatcher.
    unit Dispatcher: "dispatcher" {
        inputs DispatcherIn {
            /// The host writes.
            load_valid_i: bool,
            /// What it writes.
            load_kind_i: U<3>,
            /// Where.
            load_address_i: u16,
            /// The data.
            load_data_i: u64,
            /// A run is to start.
            start_valid_i: bool,
            /// Its request.
            start_request_i: U<4>,
            /// Its first word.
            start_address_i: U<14>,
            /// The run is to stop.
            stop_i: bool => one_in(64),
            /// Words from the last `fetch_address_o` on, the first at the bottom.
            fetch_data_i: [u64; 4],
            /// The entry at the last `table_address_o`.
            table_data_i: u16,
            /// The target takes the command if there is one.
            dispatch_ready_i: bool,
        }
        outputs DispatcherOut {
            /// The command buffer takes the host's data.
            command_write_o: bool,
            /// The Va2Pa table takes the host's data.
            table_write_o: bool,
            /// The host has written what does not fit.
            overflow_o: bool,
            /// A start is taken if there is one.
            start_ready_o: bool,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// First of the four words.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Its entry.
            table_address_o: u16,
            /// A command.
            dispatch_valid_o: bool,
            /// Its opcode.
            dispatch_kind_o: U<4>,
            /// Whose row it is.
            dispatch_request_o: U<4>,
            /// Query head.
            dispatch_head_o: U<3>,
            /// Row of a MAC, 0 for others.
            dispatch_row_o: u16,
            /// Place in the score buffer, 0 for a MAC.
            dispatch_place_o: U<18>,
            /// Column.
            dispatch_column_o: u8,
            /// Word of the shared buffers, or bus address.
            dispatch_word_o: u8,
            /// Begins a sum, or a head.
            dispatch_first_o: bool,
            /// Ends it.
            dispatch_last_o: bool,
            /// The first of an operator.
            dispatch_opens_o: bool,
            /// Tokens of the present repetition of the innermost loop over tokens, or T_cur.
            dispatch_tokens_o: U<20>,
            /// The run has ended.
            done_o: bool,
            /// How.
            done_status_o: U<4>,
            /// At which word.
            done_address_o: U<14>,
            /// Status of each request.
            status_o: [U<4>; 16],
        }
        probes DispatcherProbe {
            /// Address of the first word at `fetch_data_i`.
            pc_q: U<14>,
            /// Loops that run.
            depth_q: U<3>,
            /// Words of the program.
            length_q: U<14>,
        }
    }
}

/// What the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadKind {
    /// A word of the command buffer.
    Command,
    /// An entry of the Va2Pa table.
    Entry,
    /// T_cur of a request.
    Tokens,
    /// A request's segment of the Va2Pa table.
    Segment,
    /// Nothing: program and overflow are forgotten.
    Clear,
}

impl LoadKind {
    /// Its code at `load_kind_i`.
    pub fn code(self) -> U<3> {
        U::new(self as u64)
    }

    fn of(code: U<3>) -> Option<Self> {
        let kinds = [Self::Command, Self::Entry, Self::Tokens, Self::Segment, Self::Clear];
        kinds.get(code.get() as usize).copied()
    }
}

/// Loops that begin in a clock.
const LOOPS: usize = 2;

/// The model of a dispatcher for so many requests, words of the command buffer and entries of the
/// Va2Pa table.
#[derive(Clone)]
pub struct Dispatcher<
    const REQUESTS: usize = 16,
    const COMMANDS: usize = 12288,
    const ENTRIES: usize = 49152,
> {
    requests: [Request; 16],
    /// Words of the program.
    length: u32,
    overflow: bool,

    /// A run is not over.
    busy: bool,
    /// Words of it are sequenced.
    running: bool,
    request: u8,
    pc: u32,
    nest: Nest,

    multiply: Option<(Stage, Products)>,
    translate: Option<Stage>,
    dispatch: Option<Stage>,
    /// What the registers of the last two stages hold even when nothing is in them.
    translate_held: Stage,
    dispatch_held: Stage,
}

#[derive(Clone, Copy, Default)]
struct Request {
    tokens: u32,
    base: u16,
    rows: u16,
    status: u8,
}

/// A loop that runs.
#[derive(Clone, Copy, Default)]
struct Level {
    body: u32,
    limit: u32,
    number: u32,
    /// Tokens or repetitions, with this one.
    left: u32,
    step: u32,
    over_tokens: bool,
    /// Of this repetition, or of the loop over tokens around it.
    tokens: u32,
}

impl Level {
    fn is_last(&self) -> bool {
        self.left <= self.step
    }
}

/// The loops that run, the outermost first.
#[derive(Clone, Copy, Default)]
struct Nest {
    levels: [Level; DEPTH],
    depth: usize,
}

impl Nest {
    /// The loop with so many others inside it.
    fn get(&self, level: usize) -> Option<&Level> {
        self.levels[..self.depth].iter().rev().nth(level)
    }

    /// The loops of which this holds, for conditions; it holds of those that are not there.
    fn which(&self, holds: impl Fn(&Level) -> bool) -> u8 {
        let bits = (0..DEPTH).filter(|&level| self.get(level).is_none_or(&holds));
        bits.map(|level| 1 << level).sum()
    }

    /// Goes on behind a command that the word `next` follows; returns where.
    fn advance(&mut self, next: u32) -> u32 {
        while self.depth > 0 {
            let level = &mut self.levels[self.depth - 1];
            if level.limit != next {
                break;
            }
            if !level.is_last() {
                level.number = (level.number + 1) & 0xFFFF;
                level.left -= level.step;
                if level.over_tokens {
                    level.tokens = level.left.min(level.step);
                }
                return level.body;
            }
            self.depth -= 1;
        }
        next
    }
}

/// Modifications, each with the number of its loop's repetition.
type Products = [Option<(Modification, u32)>; SLOTS];

/// A command in the pipeline, or the end of its run.
#[derive(Clone, Copy, Default)]
struct Stage {
    /// How the run ends, if it does.
    ends: Option<Status>,
    address: u32,
    /// Opcode; 0 where there is no command.
    kind: u8,
    request: u8,
    head: u8,
    place: u32,
    column: u8,
    word: u8,
    first: bool,
    last: bool,
    opens: bool,
    tokens: u32,
}

impl Stage {
    fn end(status: Status, address: u32) -> Self {
        Self { ends: Some(status), address, ..Self::default() }
    }

    /// Whether a row is looked up.
    fn looks_up(&self) -> bool {
        self.ends.is_none() && self.has_row()
    }

    fn has_row(&self) -> bool {
        Kind::of(self.kind).is_some_and(Kind::has_row)
    }

    /// Adds the products.
    fn multiply(mut self, products: &Products) -> Self {
        let mut place = u64::from(self.place);
        let [mut column, mut word, mut head] = [self.column, self.word, self.head].map(u64::from);
        let mut wraps = false;
        for (Modification { target, coefficient, .. }, number) in products.iter().flatten() {
            let product = u64::from(*coefficient) * u64::from(*number);
            match target {
                Target::Place => place += product,
                Target::Place64 => place += product << 6,
                Target::Column => column += product,
                Target::Word => word += product,
                Target::WordWraps => {
                    word += product;
                    wraps = true;
                }
                Target::Head => head += product,
            }
        }
        let most = if self.has_row() { 0xFFFF } else { 0x3_FFFF };
        let overflows = place > most || column > 0xFF || word > 0xFF && !wraps || head > 7;
        if self.ends.is_none() && overflows {
            self.ends = Some(Status::FieldOverflow);
        }
        self.place = place as u32 & 0x3_FFFF;
        (self.column, self.word, self.head) = (column as u8, word as u8, head as u8 & 7);
        self
    }
}

/// What the sequencer makes of the words of a clock.
enum Sequenced {
    /// A command.
    Command(Stage, Products),
    /// No command yet.
    Nothing,
    /// The run ends.
    Ends(Stage),
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Unit
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    const MODULE: &'static str = "dispatcher";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("REQUESTS", REQUESTS as i64),
        ("COMMANDS", COMMANDS as i64),
        ("ENTRIES", ENTRIES as i64),
    ];
    type In = DispatcherIn;
    type Out = DispatcherOut;
    type Probe = DispatcherProbe;

    fn variant() -> String {
        match (REQUESTS, COMMANDS, ENTRIES) {
            (16, 12288, 49152) => String::new(),
            _ => format!("requests{REQUESTS}_commands{COMMANDS}_entries{ENTRIES}"),
        }
    }
}

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    /// Clocks from a start to the first command.
    pub const LATENCY: u64 = 4;

    /// Whether there is such an address, and room for the data.
    fn fits(kind: LoadKind, address: u16, data: u64) -> bool {
        let (addresses, bits) = match kind {
            LoadKind::Command => (COMMANDS, 64),
            LoadKind::Entry => (ENTRIES, 16),
            LoadKind::Tokens => (REQUESTS, 20),
            LoadKind::Segment => (REQUESTS, 32),
            LoadKind::Clear => return true,
        };
        usize::from(address) < addresses && (bits == 64 || data >> bits == 0)
    }

    fn load(&mut self, kind: LoadKind, address: u16, data: u64) {
        let request = usize::from(address) % self.requests.len();
        match kind {
            LoadKind::Clear => (self.length, self.overflow) = (0, false),
            _ if !Self::fits(kind, address, data) => self.overflow = true,
            LoadKind::Command => self.length = self.length.max(u32::from(address) + 1),
            LoadKind::Entry => {}
            LoadKind::Tokens => self.requests[request].tokens = data as u32,
            LoadKind::Segment => {
                self.requests[request].base = data as u16;
                self.requests[request].rows = (data >> 16) as u16;
            }
        }
    }

    fn set_status(&mut self, status: u8) {
        if usize::from(self.request) < REQUESTS {
            self.requests[usize::from(self.request)].status = status;
        }
    }

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

    /// Sequences the words of a clock; returns where it goes on, and in which loops.
    fn sequence(&self, window: &[u64; 4], stop: bool) -> (Sequenced, u32, Nest) {
        let (mut nest, mut at) = (self.nest, self.pc);
        let sequenced = match self.sequence_words(window, stop, &mut nest, &mut at) {
            Ok(Some((stage, products))) => Sequenced::Command(stage, products),
            Ok(None) => Sequenced::Nothing,
            Err(status) => Sequenced::Ends(Stage::end(status, at)),
        };
        (sequenced, at, nest)
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

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize> Model
    for Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    fn new() -> Self {
        const {
            assert!(REQUESTS >= 1 && REQUESTS <= 16);
            assert!(COMMANDS <= 16380 && ENTRIES <= 65535);
        }
        Self {
            requests: [Request::default(); 16],
            length: 0,
            overflow: false,
            busy: false,
            running: false,
            request: 0,
            pc: 0,
            nest: Nest::default(),
            multiply: None,
            translate: None,
            dispatch: None,
            translate_held: Stage::default(),
            dispatch_held: Stage::default(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        DispatcherProbe {
            pc_q: U::new(self.pc.into()),
            depth_q: U::new(self.nest.depth as u64),
            length_q: U::new(self.length.into()),
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let kind = LoadKind::of(input.load_kind_i).filter(|_| input.load_valid_i);
        let fits =
            kind.is_some_and(|kind| Self::fits(kind, input.load_address_i, input.load_data_i));
        let started = input.start_valid_i && !self.busy;

        // Dispatch.
        let last = self.dispatch_held;
        let row = input.table_data_i;
        let missed = last.looks_up() && row == NO_ROW;
        let done = self.dispatch.is_some() && (missed || last.ends.is_some());
        let valid = self.dispatch.is_some() && !done;
        let dispatch_free = !valid || input.dispatch_ready_i;
        let translate_free = self.translate.is_none() || dispatch_free;

        // Look-up.
        let Request { base, rows, .. } = self.requests[usize::from(self.translate_held.request)];
        let entry = usize::from(base) + usize::from(self.translate_held.place as u16);
        let beyond = self.translate_held.place as u16 >= rows || entry >= ENTRIES;
        let looks_up = self.translate.is_some() && self.translate_held.looks_up() && dispatch_free;
        let translate_faults = looks_up && beyond;

        // Products.
        let multiplied = self.multiply.map(|(stage, products)| stage.multiply(&products));
        let multiply_free = multiplied.is_none() || translate_free;
        let overflows = |stage: &Stage| stage.ends == Some(Status::FieldOverflow);
        let multiply_faults = translate_free && multiplied.as_ref().is_some_and(overflows);

        // Words.
        let steps = self.running && multiply_free;
        let sequenced = steps.then(|| self.sequence(&input.fetch_data_i, input.stop_i));
        let next = match &sequenced {
            Some((Sequenced::Ends(_), ..)) | None => None,
            Some((_, next, nest)) => Some((*next, *nest)),
        };
        let fetch_address = match next {
            _ if started => input.start_address_i.get() as u32,
            Some((next, _)) => next,
            None => self.pc,
        };

        let output = DispatcherOut {
            command_write_o: fits && kind == Some(LoadKind::Command),
            table_write_o: fits && kind == Some(LoadKind::Entry),
            overflow_o: self.overflow,
            start_ready_o: !self.busy,
            fetch_read_o: started || next.is_some(),
            fetch_address_o: U::new(fetch_address.into()),
            table_read_o: looks_up && !beyond,
            table_address_o: entry as u16,
            dispatch_valid_o: valid,
            dispatch_kind_o: U::new(last.kind.into()),
            dispatch_request_o: U::new(last.request.into()),
            dispatch_head_o: U::new(last.head.into()),
            dispatch_row_o: if last.has_row() { row } else { 0 },
            dispatch_place_o: U::new(if last.has_row() { 0 } else { last.place.into() }),
            dispatch_column_o: last.column,
            dispatch_word_o: last.word,
            dispatch_first_o: last.first,
            dispatch_last_o: last.last,
            dispatch_opens_o: last.opens,
            dispatch_tokens_o: U::new(last.tokens.into()),
            done_o: done,
            done_status_o: {
                let ended = last.ends.map_or(0, Status::code);
                U::new(if missed { Status::Va2PaMiss.code() } else { ended }.into())
            },
            done_address_o: U::new(last.address.into()),
            status_o: self.requests.map(|request| U::new(request.status.into())),
        };

        // The edge, from the end of the pipeline. A fault takes with it all that is behind.
        if dispatch_free {
            self.dispatch = self.translate.filter(|_| !done).map(|mut stage| {
                if translate_faults {
                    stage.ends = Some(Status::Va2PaMiss);
                }
                self.dispatch_held = stage;
                stage
            });
        }
        if translate_free {
            self.translate = multiplied.filter(|_| !done && !translate_faults);
            self.translate_held = self.translate.unwrap_or(self.translate_held);
        }
        let killed = done || translate_faults || multiply_faults;
        if multiply_free {
            self.multiply = match sequenced {
                _ if killed => None,
                Some((Sequenced::Command(stage, products), ..)) => Some((stage, products)),
                Some((Sequenced::Ends(stage), ..)) => Some((stage, Products::default())),
                Some((Sequenced::Nothing, ..)) | None => None,
            };
        }
        self.running &= !killed && (next.is_some() || !steps);
        if let Some((_, nest)) = next {
            self.nest = nest;
        }
        if started || next.is_some() {
            self.pc = fetch_address;
        }
        if done {
            self.busy = false;
            self.set_status(output.done_status_o.get() as u8);
        }
        if started {
            (self.busy, self.running) = (true, true);
            self.request = input.start_request_i.get() as u8;
            self.nest.depth = 0;
            self.set_status(Status::Running.code());
        }
        if let Some(kind) = kind {
            self.load(kind, input.load_address_i, input.load_data_i);
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Small = Dispatcher<16, 64, 64>;

    /// A dispatcher with its memories.
    struct Bench {
        unit: Small,
        commands: [u64; 68],
        table: [u16; 64],
        input: DispatcherIn,
        clock: u64,
    }

    impl Bench {
        fn new(program: &str) -> Self {
            let mut bench = Self {
                unit: Small::new(),
                commands: [0; 68],
                table: [NO_ROW; 64],
                input: DispatcherIn { dispatch_ready_i: true, ..Default::default() },
                clock: 0,
            };
            for (address, word) in (0..).zip(pimlico_dpa::assemble(program).expect("it is right")) {
                bench.load(LoadKind::Command, address, word);
            }
            // Requests 1 and 2 have rows 100, 101, ... and 200, ..., eight each.
            for row in 0..8 {
                bench.load(LoadKind::Entry, row, 100 + u64::from(row));
                bench.load(LoadKind::Entry, 8 + row, 200 + u64::from(row));
            }
            bench.load(LoadKind::Segment, 1, 8 << 16);
            bench.load(LoadKind::Segment, 2, 8 << 16 | 8);
            bench
        }

        fn step(&mut self, change: impl FnOnce(&mut DispatcherIn)) -> DispatcherOut {
            let mut input = self.input;
            change(&mut input);
            let output = self.unit.step(&input);
            let address = usize::from(input.load_address_i);
            if output.command_write_o {
                self.commands[address] = input.load_data_i;
            }
            if output.table_write_o {
                self.table[address] = input.load_data_i as u16;
            }
            if output.fetch_read_o {
                let from = output.fetch_address_o.get() as usize;
                self.input.fetch_data_i = std::array::from_fn(|n| {
                    self.commands.get(from + n).copied().unwrap_or(u64::MAX)
                });
            }
            if output.table_read_o {
                self.input.table_data_i = self.table[usize::from(output.table_address_o)];
            }
            self.clock += 1;
            output
        }

        fn load(&mut self, kind: LoadKind, address: u16, data: u64) {
            self.step(|input| {
                input.load_valid_i = true;
                input.load_kind_i = kind.code();
                (input.load_address_i, input.load_data_i) = (address, data);
            });
        }

        /// Runs a request to its end. Returns the commands, each with the clock since the start, and
        /// the clock, status and address of the end.
        fn run(
            &mut self,
            request: u64,
            address: u64,
        ) -> (Vec<(u64, DispatcherOut)>, (u64, Status, u64)) {
            let mut commands = Vec::new();
            let start = self.clock;
            let taken = self.step(|input| {
                input.start_valid_i = true;
                input.start_request_i = U::new(request);
                input.start_address_i = U::new(address);
            });
            assert!(taken.start_ready_o);
            loop {
                let clock = self.clock - start;
                assert!(clock < 10_000, "it hangs");
                let output = self.step(|_| ());
                if output.dispatch_valid_o && self.input.dispatch_ready_i {
                    commands.push((clock, output));
                }
                if output.done_o {
                    let status = Status::of(output.done_status_o.get() as u8).expect("a status");
                    let after = self.step(|_| ());
                    assert!(after.start_ready_o);
                    assert_eq!(after.status_o[request as usize], output.done_status_o);
                    return (commands, (clock, status, output.done_address_o.get()));
                }
            }
        }
    }

    const SCORE: &str = "loop all/512 {
          loop part/16 {
            mac_score row=0+1@2 column=0+2@1 first
            mac_score row=0+1@2 column=1+2@1 last
          }
        }
        end";

    #[test]
    fn a_command_in_every_clock_as_the_request_grows() {
        let mut bench = Bench::new(SCORE);
        for tokens in [1, 16, 17, 512, 513, 2000] {
            for request in [1, 2] {
                bench.load(LoadKind::Tokens, request, tokens);
                let (commands, end) = bench.run(request.into(), 0);
                let count = 2 * tokens.div_ceil(16);
                assert_eq!(end, (Small::LATENCY + count, Status::Done, 6));
                assert_eq!(commands.len() as u64, count);
                for (n, (clock, command)) in (0..).zip(&commands) {
                    assert_eq!(*clock, Small::LATENCY + n);
                    let row = 100 * u64::from(request) + n / 64;
                    assert_eq!(u64::from(command.dispatch_row_o), row);
                    assert_eq!(u64::from(command.dispatch_column_o), n % 64);
                    let left = tokens - n / 2 * 16;
                    assert_eq!(command.dispatch_tokens_o.get(), left.min(16));
                    assert_eq!(command.dispatch_first_o, n % 2 == 0);
                    assert_eq!(command.dispatch_last_o, n % 2 == 1);
                }
            }
        }
    }

    #[test]
    fn only_a_third_loop_takes_a_clock() {
        let program = "loop 2 {\nloop 3 {\nloop 2 {\nloop 2 {\nfinish\n}\nnop\n}\n}\n}\nend";
        let (commands, (end, ..)) = Bench::new(program).run(0, 0);
        let clocks: Vec<u64> = commands.iter().map(|(clock, _)| clock - 5).collect();
        // Of the repetitions of the outermost loop, each begins with three or four loops.
        let expected = (0..24).map(|n| n + n / 2 + n / 12);
        assert!(clocks.iter().copied().eq(expected), "{clocks:?}");
        assert_eq!(end, 5 + 24 + 12 + 1);
    }

    #[test]
    fn a_slow_target_loses_and_repeats_nothing() {
        let mut fast = Bench::new(SCORE);
        fast.load(LoadKind::Tokens, 1, 900);
        let mut slow = Bench::new(SCORE);
        slow.load(LoadKind::Tokens, 1, 900);
        let expected = fast.run(1, 0).0;
        slow.step(|input| {
            input.start_valid_i = true;
            input.start_request_i = U::new(1);
        });
        let mut got = Vec::new();
        while got.len() < expected.len() {
            let ready = slow.clock % 7 < 2;
            let output = slow.step(|input| input.dispatch_ready_i = ready);
            if output.dispatch_valid_o && ready {
                got.push(output);
            }
        }
        for (got, (_, expected)) in got.iter().zip(&expected) {
            assert_eq!(got.dispatch_row_o, expected.dispatch_row_o);
            assert_eq!(got.dispatch_column_o, expected.dispatch_column_o);
            assert_eq!(got.dispatch_tokens_o, expected.dispatch_tokens_o);
        }
    }

    #[test]
    fn a_fault_stops_its_request_and_harms_no_other() {
        let good = "loop 3 {\nmac_context row=0+1@1 column=7 first@1\n}\nend\n"; // words 0 to 3
        let at = |clock, status, address| (clock, status, address);
        // Word 4 on; how many commands come before the fault, and its end.
        for (bad, count, end) in [
            ("nop", 0, at(5, Status::PastEnd, 5)),
            (".word 0", 0, at(4, Status::UnknownOpcode, 4)),
            ("finish\n.word 0x3010000000000000", 1, at(5, Status::UnknownOpcode, 5)),
            (".word 0xd000000000007000\nfinish", 0, at(4, Status::UnknownTarget, 4)),
            (".word 0xc060000000100001\nfinish", 0, at(4, Status::UnknownTarget, 4)),
            (".word 0xc000000000100000\nnop", 0, at(4, Status::LoopBound, 4)),
            ("loop all/1 {\nfinish\n}", 0, at(4, Status::LoopBound, 4)),
            ("loop 2 {\n.word 0xc000000000200001\nnop\n}\nend", 0, at(4, Status::LoopEnd, 5)),
            ("finish\n.word 0xc000000000200001\nnop", 1, at(5, Status::LoopEnd, 5)),
            ("loop 40 {\nmac_score column=0+100@1\n}\nend", 3, at(7, Status::FieldOverflow, 6)),
            ("loop 40 {\nmac_score row=6+1@1\n}\nend", 2, at(6, Status::Va2PaMiss, 6)),
            ("mac_score request=3\nend", 0, at(4, Status::Va2PaMiss, 4)),
        ] {
            let mut bench = Bench::new(&(good.to_owned() + bad));
            bench.load(LoadKind::Segment, 4, 20 << 16 | 40); // nothing there
            bench.load(LoadKind::Tokens, 1, 0);
            let (commands, got) = bench.run(1, 4);
            assert_eq!((commands.len(), got), (count, end), "{bad}");
            let (commands, got) = bench.run(2, 0);
            assert_eq!(got, (7, Status::Done, 3), "{bad}");
            let rows: Vec<_> = commands.iter().map(|(_, c)| c.dispatch_row_o).collect();
            assert_eq!(rows, [200, 201, 202], "{bad}");
            let status = bench.step(|_| ()).status_o;
            assert_eq!(status[1].get(), u64::from(end.1.code()));
            assert_eq!(bench.run(4, 0).1, (4, Status::Va2PaMiss, 2), "no row in the table");
        }
        let deep = "loop 1 {\n".repeat(4) + ".word 0xc000000000100001\nnop\n" + &"}\n".repeat(4);
        assert_eq!(Bench::new(&deep).run(1, 0).1, (6, Status::TooDeep, 4));
        let mut unit = Dispatcher::<2, 64, 64>::new();
        let input = DispatcherIn {
            start_valid_i: true,
            start_request_i: U::new(2),
            dispatch_ready_i: true,
            ..Default::default()
        };
        let ends: Vec<_> = (0..5).map(|_| unit.step(&input)).filter(|o| o.done_o).collect();
        assert_eq!(ends[0].done_status_o.get(), u64::from(Status::UnknownRequest.code()));
    }

    #[test]
    fn what_does_not_fit_is_not_run() {
        let mut bench = Bench::new("nop\nend");
        for (kind, address, data) in [
            (LoadKind::Command, 64, 0),
            (LoadKind::Entry, 64, 0),
            (LoadKind::Entry, 0, 1 << 16),
            (LoadKind::Tokens, 16, 0),
            (LoadKind::Tokens, 0, 1 << 20),
            (LoadKind::Segment, 16, 0),
            (LoadKind::Segment, 0, 1 << 32),
        ] {
            assert_eq!(bench.run(1, 0).1, (5, Status::Done, 1));
            bench.load(kind, address, data);
            assert_eq!(bench.run(1, 0).1, (4, Status::BufferOverflow, 0), "{kind:?}");
            bench.load(LoadKind::Clear, 0, 0);
            assert_eq!(bench.run(1, 0).1, (4, Status::PastEnd, 0), "{kind:?}");
            bench.load(LoadKind::Command, 1, Instruction::End.encode());
        }
    }

    #[test]
    fn the_host_stops_a_run() {
        let mut bench = Bench::new("loop 60000 {\nfinish\nfinish\n}\nend");
        bench.input.stop_i = true;
        assert_eq!(bench.run(1, 0).1, (4, Status::Stopped, 0));
        bench.input.stop_i = false;
        bench.step(|input| input.start_valid_i = true);
        let mut count = 0;
        for clock in 1.. {
            let output = bench.step(|input| input.stop_i = clock >= 7);
            count += u64::from(output.dispatch_valid_o);
            if output.done_o {
                // Six clocks of words have passed, and their six commands come.
                assert_eq!((clock, count), (10, 6));
                assert_eq!(output.done_address_o.get(), 1);
                break;
            }
        }
    }
}
