// SPDX-License-Identifier: MIT
//! The judge of a channel: the DRAM's pins by `golden::pins`, results by `golden::reduction`, and every command on
//! the pins held against what was accepted and what was on the pins before it.
//!
//! Commands are kept one by one. A filling is the list of its words, a sum the list of its beats; what waits
//! for what is a distance between two cycles.

use crate::bench::OracleError;
use crate::channel::pins::{CL_REG, CWL_GB, TCK, pin, rules};
use crate::judge::equal;
use pimlico_dpa::types::{AimCommand, AimKind, BANKS, PinCommand, Pins, Row, Timing};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::pins::{Driver, PinChecker};
use pimlico_golden::reduction::{Precision, interleaved_sum};
use pimlico_units::channel::{AimChannelIn, AimChannelOut};
use std::collections::{HashMap, VecDeque};

/// Precision of the PUs.
const PRECISION: Precision = Precision::uniform(Format::BINARY16, Subnormals::Gradual);
/// Cycles from the acceptance of a command to its first command on the pins, at the least.
const TO_PINS: u64 = 3;
/// Cycles from the command of a filling's last word to the first column of it.
const WORD_TO_READ: u64 = 3;
/// Cycles from a column that gives a filling back to the first word in its place.
const FREED_TO_WORD: u64 = 3;
/// Cycles from a sum's last column to its results at their registers, and to the first RD_RESULT.
const TO_RESULTS: u64 = 27;
/// Cycles from an RD_RESULT to the first cycle in which its registers can be written again.
const RESULTS_TO_FREE: u64 = 2;
/// Commands that wait, at the most, and those that the rank controller has of each port.
const ARRAYS: usize = 16;
const FILLINGS: usize = 4;
const RESULTS: usize = 31;
const AHEAD: usize = 3;
/// REFs that the refresh manager counts.
const MOST_OWED: u64 = 15;

/// A column that is to be read.
#[derive(Clone, Copy, Debug)]
struct Column {
    row: Row,
    column: u8,
    word: usize,
    first: bool,
    last: bool,
    frees: bool,
}

/// What is to be done to the arrays.
#[derive(Clone, Copy, Debug)]
enum Array {
    Read(Column),
    Write { bank: usize, row: Row, column: u8 },
    Close,
}

/// It, when it was accepted, and whether it is the last of its command.
type Due<T> = (T, u64, bool);

/// A filling of the global buffer.
#[derive(Clone, Debug, Default)]
struct Filling {
    words: Vec<[u16; 16]>,
    /// The cycle of its last word's command.
    complete: Option<u64>,
}

/// A sum that has ended.
#[derive(Clone, Debug)]
struct Ended {
    /// The cycle of its last column.
    at: u64,
    results: [u16; BANKS],
}

/// The judge of an episode.
pub(crate) struct Judge {
    timing: Timing,
    sides: usize,
    checker: PinChecker,
    open: [Option<Row>; BANKS],
    now: u64,
    refi: u64,
    refs: u64,
    /// What was accepted and has not been on the pins.
    arrays: VecDeque<Due<Array>>,
    words: VecDeque<Due<()>>,
    results: VecDeque<u64>,
    /// Fillings: those that are not given back, the oldest first. Words of the last are not complete.
    fillings: VecDeque<Filling>,
    /// Cycles of columns that gave a filling back, and fillings whose last word was on the pins.
    freed: Vec<u64>,
    filled: usize,
    /// The sum under way: of each bank its beats.
    beats: [Vec<u32>; BANKS],
    /// A column whose data come in this cycle, and its word.
    column: Option<(Column, [u16; 16])>,
    /// Sums whose results were not asked for on the pins, and number and cycles of those that were.
    ended: VecDeque<Ended>,
    ended_count: usize,
    left: Vec<u64>,
    /// Cycles in which results come to their registers.
    made: VecDeque<u64>,
    /// What is on the data lines in a cycle.
    lines: HashMap<u64, Line>,
    /// Cycles in which words are written to the global buffer.
    written: VecDeque<u64>,
    /// The last cycle of the arrays' and the data lines' commands.
    last_array: Option<u64>,
    last_line: Option<u64>,
    last_write: Option<u64>,
    /// The PREA that was taken for that of a command may have been one before a REF.
    doubtful: bool,
    /// The last cycle in which something was on the pins or came, or nothing was left to do.
    progress: u64,
    read_data: Option<u64>,
    pub checked: u64,
}

#[derive(Clone, Copy, Debug)]
enum Line {
    Operand,
    Write,
    Results([u16; BANKS]),
}

type Verdict = Result<(), OracleError>;

impl Judge {
    pub fn new(first: &AimChannelIn, pingpong: bool) -> Self {
        let refi = if first.options_i.refresh { first.timing_i.refi.get() } else { 0 };
        Self {
            timing: first.timing_i,
            sides: if pingpong { 2 } else { 1 },
            checker: PinChecker::new(rules(
                &first.timing_i,
                first.options_i,
                first.mode_change_i,
                pingpong,
            )),
            open: [None; BANKS],
            now: 0,
            refi,
            refs: 0,
            arrays: VecDeque::new(),
            words: VecDeque::new(),
            results: VecDeque::new(),
            fillings: VecDeque::new(),
            freed: Vec::new(),
            filled: 0,
            beats: Default::default(),
            column: None,
            ended: VecDeque::new(),
            ended_count: 0,
            left: Vec::new(),
            made: VecDeque::new(),
            lines: HashMap::new(),
            written: VecDeque::new(),
            last_array: None,
            last_line: None,
            last_write: None,
            doubtful: false,
            progress: 0,
            read_data: None,
            checked: 0,
        }
    }

    fn error(&self, port: &'static str, got: u32, expected: u32, what: String) -> Verdict {
        Err(OracleError { cycle: self.now, port, got, expected, what })
    }

    fn flag(&self, port: &'static str, got: bool, expected: bool, what: &str) -> Verdict {
        equal(self.now as usize, port, got, expected, || what.to_owned())
    }

    /// That `from` and so many cycles are over.
    fn since(&self, from: u64, cycles: u64, pins: &Pins, what: &str) -> Verdict {
        if self.now >= from + cycles {
            return Ok(());
        }
        let what = format!("{what}: {:?} in {}, before {}", pins.command, self.now, from + cycles);
        self.error("pins_o", pins.command as u32, 0, what)
    }

    /// A cycle.
    pub fn cycle(&mut self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        self.state(output)?;
        self.ready(input, output)?;
        self.patience(input, output)?;
        self.pins_and_data(input, output)?;
        if input.command_valid_i && output.command_ready_o {
            self.accept(&input.command_i);
        }
        self.now += 1;
        Ok(())
    }

    /// A cycle of a channel whose commands are expected, and come from elsewhere.
    pub fn cycle_of(&mut self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        self.pins_and_data(input, output)
    }

    /// The end of its cycle.
    pub fn tick(&mut self) {
        self.now += 1;
    }

    /// What is due on the data lines: a word, the data of a WR, results.
    pub fn due(&self) -> [bool; 3] {
        match self.lines.get(&self.now) {
            None => [false; 3],
            Some(Line::Operand) => [true, false, false],
            Some(Line::Write) => [false, true, false],
            Some(Line::Results(_)) => [false, false, true],
        }
    }

    /// Whether all that was accepted has been on the pins.
    pub fn is_done(&self) -> bool {
        let queues = [self.arrays.is_empty(), self.words.is_empty(), self.results.is_empty()];
        queues == [true; 3] && self.left.len() == self.ended_count
    }

    fn pins_and_data(&mut self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        self.arrive(input);
        self.array_pins(&output.pins_o)?;
        self.bus_pins(&output.bus_pins_o)?;
        self.data_lines(input, output)?;
        self.events(output)?;
        self.refresh(&output.pins_o);
        Ok(())
    }

    /// The end of the episode.
    pub fn end(&mut self) -> Verdict {
        match self.checker.finish(TCK * self.now).first() {
            Some(violation) => self.error("pins_o", 0, 0, violation.to_string()),
            None => Ok(()),
        }
    }

    // ---------------------------------------------------------------------------------- commands

    /// A command is accepted.
    pub fn accept(&mut self, command: &AimCommand) {
        self.checked += 1;
        let AimCommand { kind, bank, row, column, word, first, last, frees, .. } = *command;
        let (count, now) = (command.count.get(), self.now);
        match kind {
            AimKind::Mac => self.arrays.extend((0..count).map(|n| {
                let is_last = n + 1 == count;
                let column = Column {
                    row,
                    column: column + n as u8,
                    word: (word.get() + n) as usize,
                    first: first && n == 0,
                    last: last && is_last,
                    frees: frees && is_last,
                };
                (Array::Read(column), now, is_last)
            })),
            AimKind::Write => {
                let bank = bank.get() as usize;
                self.arrays.push_back((Array::Write { bank, row, column }, now, true));
            }
            AimKind::Close => self.arrays.push_back((Array::Close, now, true)),
            AimKind::Fill => self.words.extend((0..count).map(|n| ((), now, n + 1 == count))),
            AimKind::Results => self.results.push_back(now),
        }
    }

    /// Room is where there is some whatever the rank controller has, and not where there is none.
    fn ready(&self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        let of_arrays = || self.arrays.iter().filter(|(.., is_last)| *is_last).count();
        let (room, waiting) = match input.command_i.kind {
            AimKind::Fill => (FILLINGS, self.words.iter().filter(|(.., is_last)| *is_last).count()),
            AimKind::Results => (RESULTS, self.results.len()),
            _ => (ARRAYS, of_arrays()),
        };
        let unsure = usize::from(self.doubtful);
        if waiting + unsure < room {
            self.flag("command_ready_o", output.command_ready_o, true, "there is room")?;
        }
        if waiting > room + AHEAD {
            self.flag("command_ready_o", output.command_ready_o, false, "there is no room")?;
        }
        Ok(())
    }

    // -------------------------------------------------------------------------------------- pins

    fn check_pins(&mut self, at_tck: u64, pins: &Pins) -> Verdict {
        let Some(on_pins) = pin(pins) else {
            let unused = (pins.bank.get(), pins.row, pins.column);
            return match unused {
                (0, 0, 0) => Ok(()),
                _ => self.error("pins_o", 0, 0, "no command, and its bits are not 0".to_owned()),
            };
        };
        self.checked += 1;
        self.progress = self.now;
        match self.checker.command(at_tck, on_pins).first() {
            Some(violation) => self.error("pins_o", pins.command as u32, 0, violation.to_string()),
            None => Ok(()),
        }
    }

    fn array_pins(&mut self, pins: &Pins) -> Verdict {
        self.check_pins(TCK * self.now, pins)?;
        let bank = pins.bank.get() as usize;
        match pins.command {
            PinCommand::Act => self.open[bank] = Some(pins.row),
            PinCommand::ActAll => {
                let opened = self.timing.faw_banks.get() as usize;
                self.open[bank..bank + opened].fill(Some(pins.row));
            }
            PinCommand::Pre => self.open[bank] = None,
            PinCommand::PreAll => {
                self.open = [None; BANKS];
                self.close();
            }
            PinCommand::RdAll => self.read(pins)?,
            PinCommand::Wr => self.write(pins)?,
            PinCommand::None | PinCommand::Ref => {}
            _ => return self.error("pins_o", pins.command as u32, 0, "wrong slot".to_owned()),
        }
        Ok(())
    }

    /// A PREA: that of the next command, if it may be.
    fn close(&mut self) {
        let all_left = self.left.len() == self.ended_count;
        if let Some((Array::Close, accepted, _)) = self.arrays.front()
            && self.now >= accepted + TO_PINS
            && all_left
        {
            self.arrays.pop_front();
            self.last_array = Some(self.now);
            self.doubtful = self.owed() > 0;
        }
    }

    fn read(&mut self, pins: &Pins) -> Verdict {
        let next = self.arrays.pop_front();
        let Some((Array::Read(column), accepted, _)) = next else {
            return self.error("pins_o", pins.command as u32, 0, format!("next is {next:?}"));
        };
        self.since(accepted, TO_PINS, pins, "accepted")?;
        let is_there = self.open == [Some(column.row); BANKS];
        if !is_there || pins.column != column.column || pins.bank.get() != 0 {
            let what = format!("{column:?} is next, rows {:?} are open", self.open);
            return self.error("pins_o", pins.column.into(), column.column.into(), what);
        }
        let Some((filling, complete)) =
            self.fillings.front().and_then(|filling| Some((filling, filling.complete?)))
        else {
            let what = "the filling that it reads is not complete".to_owned();
            return self.error("pins_o", pins.command as u32, 0, what);
        };
        self.since(complete, WORD_TO_READ, pins, "the last word of its filling")?;
        let word = filling.words.get(column.word).copied().unwrap_or_default();
        if column.frees {
            self.fillings.pop_front();
            self.freed.push(self.now);
        }
        if column.last {
            self.ends(pins)?;
        }
        self.column = Some((column, word));
        self.last_array = Some(self.now);
        self.doubtful = false;
        Ok(())
    }

    /// A column that ends a sum, whose results have to find their registers free.
    fn ends(&mut self, pins: &Pins) -> Verdict {
        self.made.push_back(self.now + TO_RESULTS);
        self.ended_count += 1;
        // With one side the results before have left when a sum begins.
        if self.sides == 1 && self.left.len() + 1 < self.ended_count {
            let what = "a sum before it has not left".to_owned();
            return self.error("pins_o", pins.command as u32, 0, what);
        }
        Ok(())
    }

    fn write(&mut self, pins: &Pins) -> Verdict {
        let next = self.arrays.pop_front();
        let Some((Array::Write { bank, row, column }, accepted, _)) = next else {
            return self.error("pins_o", pins.command as u32, 0, format!("next is {next:?}"));
        };
        self.since(accepted, TO_PINS, pins, "accepted")?;
        let got = (pins.bank.get() as usize, self.open[bank], pins.column);
        if got != (bank, Some(row), column) {
            let what = format!("{next:?} is next, bank, row and column are {got:?}");
            return self.error("pins_o", pins.column.into(), column.into(), what);
        }
        if let Some(read) = self.read_data {
            let turned = u64::from(self.timing.rd_to_wr);
            self.since(read, turned, pins, "turnaround of the data lines")?;
        }
        let at = self.now + u64::from(self.timing.cwl);
        self.lines.insert(at, Line::Write);
        self.last_write = Some(at);
        self.last_array = Some(self.now);
        self.doubtful = false;
        self.burst(TCK * at, Driver::Controller)
    }

    fn bus_pins(&mut self, pins: &Pins) -> Verdict {
        self.check_pins(TCK * self.now + 1, pins)?;
        match pins.command {
            PinCommand::None => return Ok(()),
            PinCommand::WrShared => self.word(pins)?,
            PinCommand::RdResult => self.leave(pins)?,
            _ => return self.error("bus_pins_o", pins.command as u32, 0, "wrong slot".to_owned()),
        }
        self.last_line = Some(self.now);
        Ok(())
    }

    fn word(&mut self, pins: &Pins) -> Verdict {
        let Some(((), accepted, is_last)) = self.words.pop_front() else {
            let what = "there is no word to write".to_owned();
            return self.error("bus_pins_o", pins.command as u32, 0, what);
        };
        self.since(accepted, TO_PINS, pins, "accepted")?;
        if self.fillings.back().is_none_or(|filling| filling.complete.is_some()) {
            // A new filling, in the place of one that was given back.
            if let Some(before) = (self.filled + 1).checked_sub(self.sides + 1) {
                let Some(&freed) = self.freed.get(before) else {
                    let what = "no side of the global buffer is free".to_owned();
                    return self.error("bus_pins_o", pins.command as u32, 0, what);
                };
                self.since(freed, FREED_TO_WORD, pins, "its side was given back")?;
            }
            self.fillings.push_back(Filling::default());
        }
        // Words of this filling that were taken, or will be in this cycle.
        let filling = self.fillings.back_mut().expect("there is one");
        let number = filling.words.len();
        filling.words.push([0; 16]);
        if is_last {
            filling.complete = Some(self.now);
            self.filled += 1;
        }
        equal(self.now as usize, "bus_pins_o", pins.column, number as u64, || {
            "number of the word".to_owned()
        })?;
        if let Some(read) = self.read_data {
            let turned = u64::from(self.timing.rd_to_wr);
            self.since(read, turned, pins, "turnaround of the data lines")?;
        }
        self.lines.insert(self.now + 1, Line::Operand);
        self.written.push_back(self.now + 2);
        self.burst(TCK * self.now + 1 + CWL_GB, Driver::Controller)
    }

    /// RD_RESULT.
    fn leave(&mut self, pins: &Pins) -> Verdict {
        let (Some(accepted), Some(Ended { at, results })) =
            (self.results.pop_front(), self.ended.pop_front())
        else {
            let what = "no results are asked for, or none are there".to_owned();
            return self.error("bus_pins_o", pins.command as u32, 0, what);
        };
        self.since(accepted, TO_PINS, pins, "accepted")?;
        self.since(at, TO_RESULTS, pins, "the last column of its sum")?;
        self.left.push(self.now);
        self.read_data = Some(self.now);
        self.lines.insert(self.now + 2, Line::Results(results));
        self.burst(TCK * self.now + 1 + CL_REG, Driver::Dram)
    }

    /// A burst that a command will have on the data lines.
    fn burst(&mut self, from_tck: u64, driver: Driver) -> Verdict {
        match self.checker.data(from_tck, from_tck + TCK, driver).first() {
            Some(violation) => self.error("dq_o", 0, 0, violation.to_string()),
            None => Ok(()),
        }
    }

    // -------------------------------------------------------------------------------------- data

    /// The column of the RD_ALL of the last cycle is at the PUs.
    fn arrive(&mut self, input: &AimChannelIn) {
        let Some((column, word)) = self.column.take() else { return };
        for (beats, cells) in self.beats.iter_mut().zip(&input.cells_i) {
            if column.first {
                beats.clear();
            }
            let product = |n: usize| PRECISION.product(cells[n].into(), word[n].into());
            let products: Vec<u32> = (0..16).map(product).collect();
            beats.push(PRECISION.tree_sum(&products));
        }
        if column.last {
            let result = |bank: usize| interleaved_sum(&PRECISION, &self.beats[bank]) as u16;
            let results = std::array::from_fn(result);
            self.ended.push_back(Ended { at: self.now - 1, results });
        }
    }

    fn data_lines(&mut self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        let [operand, write, results] = self.due();
        let line = self.lines.remove(&self.now);
        self.flag("operand_taken_o", output.operand_taken_o, operand, "a cycle after WR_SHARED")?;
        self.flag("write_taken_o", output.write_taken_o, write, "CWL after WR")?;
        self.flag("result_valid_o", output.result_valid_o, results, "two after RD_RESULT")?;
        self.flag("dq_valid_o", output.dq_valid_o, line.is_some(), "what is on the lines")?;
        if operand {
            let there = input.operands_i.get() > 0;
            self.flag("operand_taken_o", true, there, "there is a word")?;
            self.take_operand(input.operand_i);
        }
        let expected = match line {
            None => [0; 16],
            Some(Line::Operand) => input.operand_i,
            Some(Line::Write) => input.write_i,
            Some(Line::Results(results)) => results,
        };
        for (n, (got, expected)) in output.dq_o.into_iter().zip(expected).enumerate() {
            equal(self.now as usize, "dq_o", got, expected, || format!("element {n} of {line:?}"))?;
        }
        self.checked += u64::from(line.is_some());
        Ok(())
    }

    /// The word of the last cycle's WR_SHARED.
    fn take_operand(&mut self, word: [u16; 16]) {
        // Of this cycle's there may be one behind it.
        let is_next = self.lines.contains_key(&(self.now + 1));
        let mut places = self.fillings.iter_mut().flat_map(|filling| &mut filling.words).rev();
        let place = places.nth(usize::from(is_next)).expect("its WR_SHARED was on the pins");
        *place = word;
    }

    fn events(&mut self, output: &AimChannelOut) -> Verdict {
        let due = |queue: &mut VecDeque<u64>| {
            let is_due = queue.front() == Some(&self.now);
            if is_due {
                queue.pop_front();
            }
            is_due
        };
        let (written, results) = (due(&mut self.written), due(&mut self.made));
        let events = output.events_o;
        let reads = output.pins_o.command == PinCommand::RdAll;
        self.flag("events_o", events.read, reads, "an RD_ALL on the pins")?;
        self.flag("events_o", events.written, written, "two cycles after WR_SHARED")?;
        self.flag("events_o", events.results, results, "a PU's cycles after a column")?;
        if !results {
            return Ok(());
        }
        // So many sums have come to the registers before; all but those that are there must have left them.
        let number = self.ended_count - self.made.len() - 1;
        let Some(before) = number.checked_sub(self.sides) else { return Ok(()) };
        let freed = self.left.get(before).is_some_and(|at| at + RESULTS_TO_FREE <= self.now);
        self.flag("events_o", freed, true, "results overwrite others")
    }

    // ------------------------------------------------------------------------------------- state

    fn state(&self, output: &AimChannelOut) -> Verdict {
        let over = |at: Option<u64>, cycles: u64| at.is_none_or(|at| self.now >= at + cycles);
        let nothing_left =
            self.arrays.is_empty() && self.words.is_empty() && self.results.is_empty();
        let idle = nothing_left
            && self.left.len() == self.ended_count
            && over(self.last_array, 1)
            && over(self.last_line, 3)
            && over(self.last_write, 1);
        if !(self.doubtful && idle && !output.idle_o) {
            self.flag("idle_o", output.idle_o, idle, "what is left to do")?;
        }
        let owed = self.owed();
        let closed = self.open == [None; BANKS];
        let settled = output.idle_o && closed && owed == 0;
        // Banks that were closed one by one count as open.
        if settled && !output.settled_o && self.last_write.is_some() {
            return Ok(());
        }
        self.flag("settled_o", output.settled_o, settled, "idle, closed, no REF owed")
    }

    /// REFs that are due in this cycle: the first cycle is none of a tREFI.
    fn owed(&self) -> u64 {
        let due = self.now.saturating_sub(1).checked_div(self.refi).unwrap_or(0);
        due.saturating_sub(self.refs).min(MOST_OWED)
    }

    fn refresh(&mut self, pins: &Pins) {
        // One that is not owed does not count.
        if pins.command == PinCommand::Ref && self.owed() > 0 {
            self.refs += 1;
        }
    }

    /// Whatever can be done comes to the pins in time.
    fn patience(&mut self, input: &AimChannelIn, output: &AimChannelOut) -> Verdict {
        let Timing { rc, rfc, faw, rcd_mac, wr_to_pre, .. } = self.timing;
        let [rc, faw, rcd_mac, wr_to_pre] = [rc, faw, rcd_mac, wr_to_pre].map(u64::from);
        let change = u64::from(input.mode_change_i);
        let most = 2 * rc + 2 * u64::from(rfc) + 4 * faw + rcd_mac + wr_to_pre + change + 80;
        // A sum whose end was not accepted leaves its results waiting.
        let waits = self.results.len() > self.ended.len() && self.arrays.is_empty();
        let starves = !self.words.is_empty() && input.operands_i.get() == 0;
        if output.idle_o || waits || starves {
            self.progress = self.now;
        }
        if self.now > self.progress + most {
            let what = format!("nothing happens since {}", self.progress);
            return self.error("pins_o", 0, 0, what);
        }
        Ok(())
    }
}
