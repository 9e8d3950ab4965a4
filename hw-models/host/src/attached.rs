// SPDX-License-Identifier: MIT
//! A module in a channel of which the host is the only master: what runs on it is written to its windows, and read
//! there, by the host's memory controller. The protocol stands in `rtl/module/host_port.md`.
//!
//! ```text
//!   LOADs, START, the first operands ─▶ PREA ─▶ the others, polls of the status, results ─▶ PREA
//!   the host has the pins ─────────────▶│ the module has them ─────────────────────────────▶│ the host
//! ```

mod initialisation;
mod message;
mod polling;
mod refs;

use crate::memory_controller::{MemoryController, Transaction};
use message::{ModuleStatus, QUEUE, RESULTS, Stream, WINDOW_ROW};
use pimlico_device::data_bus::Beats;
use pimlico_device::dispatch::{self, DispatchError, Made, PATIENCE_TCK, Start};
use pimlico_device::mapping::BURST;
use pimlico_device::spd::{Description, SpdModule, SpdTiming};
use pimlico_device::{
    BurstHost, Config, ConfigError, Device, DeviceError, Dimm, HostTransfer, KnownLaps, Loads,
    Options, PinWatch, Rank, RankDevice, Runs, Sent, SetUp, Statistics, Timeline,
};
use pimlico_dpa::types::{Load, LoadKind, PinCommand, Pins};
use polling::Polling;
use refs::SeeRefs;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Operands that are sent before the host gives the pins away. More of them would keep the banks waiting; fewer would
/// have the host open its windows anew before the first is there.
const EARLY_OPERANDS: usize = 16;
/// Transactions that wait for the controller, at most.
const WAITING: usize = 16;
/// Bytes of a START that mean something.
const START_BYTES: u64 = 16;
/// A burst of operands.
const OPERAND: Sent = Sent { bursts: 1, bytes: size_of::<Beats>() as u64 };

/// A module and its host.
pub struct Attached<D> {
    dimm: D,
    controller: MemoryController,
    /// The end of the last REF of the host.
    refreshed_tck: u64,
    /// What the module is to be loaded with before the next run.
    loads: Vec<Load>,
    scale: u16,
    /// Messages and operands that were sent, and bursts of both.
    messages: u64,
    operands: u64,
    /// Bursts that have left the module's queue, as far as the host knows.
    taken: u64,
    /// Bursts of results that were asked for: of the context, and of outputs.
    read: [u16; 2],
    /// Those of them that were when the status was looked at before the last time.
    read_before: [u16; 2],
    /// What was sent for the operator.
    set_up: SetUp,
    /// The host's bursts go through the pins beat by beat.
    beat_by_beat: bool,
    /// The controller had no command in the last tCK.
    silent: bool,
}

impl Attached<Rank> {
    /// The engine.
    pub fn engine(config: &Config, options: Options) -> Result<Self, ConfigError> {
        config.check_rank()?;
        Ok(Self::new(Rank::new(config.clone(), options)))
    }
}

impl<D: Dimm> Attached<D> {
    /// A module that has just been reset: the host sets its mode registers, and unlocks its chips.
    ///
    /// # Panics
    ///
    /// If the module fails at that.
    pub fn new(mut dimm: D) -> Self {
        let config = dimm.config();
        let module = with_windows(Description::of(config).module);
        let timing = SpdTiming::of_host(config);
        let refi_tck = config.timing.refi_tck;
        initialisation::run(&mut dimm, &timing).expect("a module takes its mode registers");
        let controller = MemoryController::new(&module, timing).refreshing(refi_tck);
        Self {
            dimm,
            controller,
            refreshed_tck: 0,
            loads: Vec::new(),
            scale: 0,
            messages: 0,
            operands: 0,
            taken: 0,
            read: [0; 2],
            read_before: [0; 2],
            set_up: SetUp::default(),
            beat_by_beat: false,
            silent: false,
        }
    }

    /// The same, where all that the host writes and reads goes through the pins beat by beat, whatever the module can
    /// do: for tests.
    pub fn beat_by_beat(self) -> Self {
        Self { beat_by_beat: true, ..self }
    }

    /// The module.
    pub fn dimm(&self) -> &D {
        &self.dimm
    }

    /// The module, to watch it.
    pub fn dimm_mut(&mut self) -> &mut D {
        &mut self.dimm
    }

    /// Bursts that the queue has room for, as far as the host knows.
    fn room(&self) -> u64 {
        QUEUE + self.taken - self.messages - self.operands
    }

    /// A tCK of the host's controller.
    fn step_controller(&mut self, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError> {
        let (host, tck) = (&mut self.controller, self.dimm.tck());
        let command = host.command(tck);
        self.silent = command.is_none();
        let pins = command.unwrap_or_default();
        let driven = [host.drive(2 * tck), host.drive(2 * tck + 1)];
        let seen = self.step(pins, driven, made)?;
        for (clock, on_bus) in (2 * tck..).zip(seen) {
            self.controller.take(clock, on_bus);
        }
        Ok(())
    }

    /// A tCK of the pins.
    fn step(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        if pins.command == PinCommand::Ref {
            self.refreshed_tck = self.dimm.tck() + self.dimm.config().timing.rfc_tck;
        }
        self.dimm.step(pins, driven, made)
    }

    fn push(&mut self, transaction: Transaction) {
        self.controller.push(transaction).expect("a window of the module");
    }
}

/// A module as the host addresses it: its windows are in the last row that pins can name, however few its chips have.
fn with_windows(module: SpdModule) -> SpdModule {
    SpdModule { row_bits: module.row_bits.max(u64::from((WINDOW_ROW + 1).ilog2())), ..module }
}

/// Where a run is, as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Messages and the first operands are sent.
    Sending,
    /// All banks are being closed, with which the module has the pins.
    Giving,
    /// The module runs.
    Running,
    /// It has ended, and results are on their way.
    Collecting,
    /// All banks are being closed, with which the host has the pins.
    Taking,
}

/// What the host has asked its controller to read.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Status,
    Results(Stream),
}

/// A run, from its first message to its last result.
struct HostRun<'a> {
    start: Start<'a>,
    phase: Phase,
    /// What is sent before the operands, the START last.
    messages: VecDeque<Beats>,
    /// Operands that were sent.
    sent: usize,
    asked: VecDeque<Asked>,
    /// When the status is looked at next.
    poll_at: u64,
    status: ModuleStatus,
    /// When it last said that the run goes on, or is nearer to its start.
    news_tck: u64,
    /// Elements that were read: of the context, and outputs.
    elements: [usize; 2],
}

impl HostRun<'_> {
    /// Operands that go out before the pins are given away.
    fn early(&self) -> usize {
        self.start.operands.len().min(EARLY_OPERANDS)
    }

    fn is_started(&self) -> bool {
        self.messages.is_empty()
    }

    /// The status has said that the run goes on, and nothing else.
    fn goes_on(&self) -> bool {
        let ModuleStatus { runs, ended, lost, refused, .. } = self.status;
        runs && !ended && !lost && !refused
    }

    /// It is about to read the status.
    fn asks_status(&self) -> bool {
        self.asked.iter().any(|asked| matches!(asked, Asked::Status))
    }
}

impl<D: Dimm> Attached<D> {
    fn start_run<'a>(&mut self, start: Start<'a>) -> HostRun<'a> {
        let loads = std::mem::take(&mut self.loads);
        message::parts(&loads).for_each(|part| self.set_up.load(part));
        let mut messages: VecDeque<_> = message::parts(&loads).map(message::load).collect();
        let Start { request, address, operands, .. } = start;
        messages.push_back(message::start(request, address, self.scale, operands.len()));
        self.set_up.starts = self.set_up.starts.and(Sent { bursts: 1, bytes: START_BYTES });
        self.controller.take_pins(self.dimm.tck(), self.refreshed_tck);
        self.read_before = self.read;
        HostRun {
            start,
            phase: Phase::Sending,
            messages,
            sent: 0,
            asked: VecDeque::new(),
            poll_at: 0,
            status: ModuleStatus::default(),
            news_tck: self.dimm.tck(),
            elements: [0; 2],
        }
    }

    /// Sends what the queue has room for: messages, then as many operands as the phase allows.
    fn send(&mut self, run: &mut HostRun<'_>) {
        let operands = match run.phase {
            Phase::Sending => run.early(),
            Phase::Running => run.start.operands.len(),
            _ => return,
        };
        while self.room() > 0 && self.controller.waiting() < WAITING {
            if let Some(message) = run.messages.pop_front() {
                if run.is_started() {
                    // A REF behind the START would close the banks, and with that give the pins away.
                    self.controller.suspend_refresh();
                }
                self.push(Transaction::Write(message::mailbox(self.messages), message));
                self.messages += 1;
            } else if run.sent < operands {
                let operand = run.start.operands[run.sent];
                self.push(Transaction::Write(message::operands(self.operands), operand));
                self.operands += 1;
                self.set_up.operands = self.set_up.operands.and(OPERAND);
                run.sent += 1;
            } else {
                return;
            }
        }
    }

    /// Looks at the status, if it is time: in a run, or where the queue has no room.
    fn poll(&mut self, run: &mut HostRun<'_>) {
        let waits = run.phase == Phase::Running || run.phase == Phase::Sending && self.room() == 0;
        let tck = self.dimm.tck();
        if waits && tck >= run.poll_at && !run.asks_status() {
            self.push(Transaction::Read(message::status()));
            run.asked.push_back(Asked::Status);
            run.poll_at = tck + self.dimm.options().poll_tck;
        }
    }

    /// Until the host does something next but to look at the status, the module runs by itself. At the status it looks once,
    /// and then sees what it says.
    fn pass(
        &mut self,
        run: &mut HostRun<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        let tck = self.dimm.tck();
        if self.beat_by_beat || run.phase != Phase::Running || !self.silent || tck == 0 {
            return Ok(());
        }
        let asks = (!run.asks_status()).then_some(run.poll_at);
        let looks = asks.filter(|asks| self.controller.would_read(message::status(), *asks));
        let is_first =
            |at_tck: &u64| asks.is_none_or(|asks| self.controller.read_until(*at_tck) <= asks);
        let waits = self.controller.lone_read(tck).filter(is_first);
        let moves = [asks, self.controller.moves_tck()].into_iter().flatten();
        let until_tck = match looks.or(waits) {
            Some(reads_tck) => self.controller.read_until(reads_tck),
            None => moves.fold(self.controller.next_tck(tck - 1), u64::min),
        };
        if until_tck <= tck {
            return Ok(());
        }
        let (poll_tck, says) = (self.dimm.options().poll_tck, run.goes_on().then_some(run.status));
        let mut host = Polling {
            controller: &mut self.controller,
            asked: &mut run.asked,
            poll_tck,
            says,
            said_tck: None,
            until_tck,
            reads_tck: looks.or(waits),
            last_tck: None,
            waits: waits.is_some(),
            gave: None,
        };
        self.dimm.pass(&mut host, made)?;
        let Polling { last_tck, said_tck, .. } = host;
        let tck = self.dimm.tck();
        if let Some(said_tck) = said_tck {
            run.news_tck = said_tck;
            self.read_before = self.read;
        }
        if let Some(last_tck) = last_tck {
            if waits.is_none() {
                run.poll_at = last_tck + poll_tck;
            }
            // Behind the RD there is no command.
            self.silent = tck > last_tck + 1;
            if self.silent {
                self.controller.stay_silent(last_tck + 1);
            }
        }
        Ok(())
    }

    /// What was read of the windows.
    fn take_read(
        &mut self,
        run: &mut HostRun<'_>,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DispatchError> {
        for beats in self.controller.take_read() {
            match run.asked.pop_front() {
                Some(Asked::Status) => self.take_status(run, ModuleStatus::of(&beats))?,
                Some(Asked::Results(stream)) => take_results(run, stream, &beats, made),
                None => {}
            }
        }
        Ok(())
    }

    fn take_status(
        &mut self,
        run: &mut HostRun<'_>,
        status: Option<ModuleStatus>,
    ) -> Result<(), DispatchError> {
        let status = status.ok_or(DispatchError::NoStatus)?;
        self.check_status(run, &status)?;
        run.status = status;
        self.taken += u64::from(status.taken.wrapping_sub(self.taken as u16));
        let before = self.read;
        for (stream, made) in
            [(Stream::Context, status.contexts), (Stream::Outputs, status.outputs)]
        {
            // What was asked for behind the look before this one may have been overwritten until now.
            if made.wrapping_sub(self.read_before[stream as usize]) > RESULTS {
                return Err(DispatchError::ResultsGone);
            }
            while self.read[stream as usize] != made {
                let number = self.read[stream as usize];
                self.push(Transaction::Read(message::results(stream, number)));
                run.asked.push_back(Asked::Results(stream));
                self.read[stream as usize] = number.wrapping_add(1);
            }
        }
        self.read_before = before;
        if status.ended && run.phase == Phase::Running {
            run.phase = Phase::Collecting;
        }
        Ok(())
    }

    /// Whether the run can come to its end. A module that runs looks after that itself.
    fn check_status(
        &self,
        run: &mut HostRun<'_>,
        status: &ModuleStatus,
    ) -> Result<(), DispatchError> {
        let tck = self.dimm.tck();
        if status.runs || status.ended || status.taken != run.status.taken {
            run.news_tck = tck;
        }
        match *status {
            ModuleStatus { lost: true, .. } => Err(DispatchError::Lost),
            ModuleStatus { refused: true, .. } => Err(DispatchError::Refused),
            _ if tck - run.news_tck > PATIENCE_TCK => {
                Err(DispatchError::Stuck { overwritten: false })
            }
            _ => Ok(()),
        }
    }

    /// The next phase, where this one is over. Returns whether the run is.
    fn advance(&mut self, run: &mut HostRun<'_>) -> bool {
        match run.phase {
            Phase::Sending if run.is_started() && run.sent == run.early() => {
                self.controller.leave_pins();
                run.phase = Phase::Giving;
            }
            Phase::Giving if self.controller.is_closed() => {
                self.controller.go_on();
                run.phase = Phase::Running;
            }
            Phase::Collecting if run.asked.is_empty() => {
                self.controller.leave_pins();
                run.phase = Phase::Taking;
            }
            Phase::Taking if self.controller.has_left_pins(self.dimm.tck()) => {
                self.controller.resume_refresh(self.dimm.tck());
                return true;
            }
            _ => {}
        }
        false
    }
}

/// The elements of a burst of results.
fn take_results(run: &mut HostRun<'_>, stream: Stream, beats: &Beats, made: &mut dyn FnMut(Made)) {
    let Start { context, outputs, .. } = run.start;
    let from = run.elements[stream as usize];
    run.elements[stream as usize] += BURST;
    let elements = beats.iter().flat_map(|beat| (0..4).map(move |n| (beat >> (16 * n)) as u16));
    for (n, bits) in (from..).zip(elements) {
        match stream {
            Stream::Context => made(Made::Context { head: n / context.max(1), bits }),
            // What fills the last burst up is no output. Without a number all of it counts.
            Stream::Outputs if n < outputs || outputs.next_multiple_of(BURST) <= n => {
                made(Made::Output(bits));
            }
            Stream::Outputs => {}
        }
    }
}

impl<D: Dimm> Loads for Attached<D> {
    fn load(&mut self, kind: LoadKind, address: u16, data: u64) -> Result<(), DeviceError> {
        self.loads.push(Load { kind, address, data });
        Ok(())
    }

    fn set_scale(&mut self, scale: u16) {
        self.scale = scale;
    }
}

impl<D: Dimm> Device for Attached<D> {
    fn config(&self) -> &Config {
        self.dimm.config()
    }

    fn tck(&self) -> u64 {
        self.dimm.tck()
    }

    fn begin(&mut self) {
        self.set_up = SetUp::default();
        self.dimm.begin();
    }

    fn end(&mut self) -> Statistics {
        Statistics { set_up: std::mem::take(&mut self.set_up), ..self.dimm.end() }
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.dimm.watch(watch);
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.dimm.trace(file)
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.dimm.finish_trace()
    }
}

impl<D: Dimm> Runs for Attached<D> {
    fn options(&self) -> Options {
        self.dimm.options()
    }

    fn run(&mut self, start: Start<'_>, made: &mut dyn FnMut(Made)) -> Result<(), DeviceError> {
        // Context and outputs are the host's when it has read them.
        let mut run = self.start_run(start);
        loop {
            self.send(&mut run);
            self.poll(&mut run);
            if self.advance(&mut run) {
                return Ok(dispatch::outcome(start.request, run.status.fault, run.status.end)?);
            }
            let mut observed = |observed| {
                if !matches!(observed, Made::Context { .. } | Made::Output(_)) {
                    made(observed);
                }
            };
            let before = self.dimm.tck();
            self.pass(&mut run, &mut observed)?;
            if self.dimm.tck() == before {
                self.step_controller(&mut observed)?;
            }
            self.take_read(&mut run, made)?;
        }
    }
}

impl<D: Dimm> RankDevice for Attached<D> {
    fn refreshed_tck(&self) -> u64 {
        self.refreshed_tck
    }

    fn step_memory(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
    ) -> Result<[Option<u64>; 2], DeviceError> {
        self.step(pins, driven, &mut |_| {})
    }

    fn move_bursts(&mut self, host: &mut dyn BurstHost) -> bool {
        if self.beat_by_beat {
            return false;
        }
        let rfc_tck = self.dimm.config().timing.rfc_tck;
        let refreshed_tck = &mut self.refreshed_tck;
        self.dimm.move_bursts(&mut SeeRefs { host, rfc_tck, refreshed_tck })
    }

    fn leave_data_out(&mut self, known: &KnownLaps) {
        self.dimm.leave_data_out(known);
    }

    fn forget(&mut self, rows: Range<usize>) {
        self.dimm.forget(rows);
    }

    fn rows_held(&self) -> Option<usize> {
        self.dimm.rows_held()
    }

    fn take_transfers(&mut self) -> Vec<HostTransfer> {
        self.dimm.take_transfers()
    }

    fn start_timeline(&mut self) {
        self.dimm.start_timeline();
    }

    fn label(&mut self, operator: &'static str, part: String) {
        self.dimm.label(operator, part);
    }

    fn leave_out(&mut self) {
        self.dimm.leave_out();
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.dimm.timeline()
    }
}
