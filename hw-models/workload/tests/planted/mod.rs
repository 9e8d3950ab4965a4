// SPDX-License-Identifier: MIT
//! A module with a fault planted between it and its host: commands, or beats of its windows, that are not what was
//! sent. The fault is the host's or the module's, by the end of the pins at which they are watched.

use pimlico_device::dispatch::Made;
use pimlico_device::{
    BusDriver, Config, DeviceError, Dimm, HostTransfer, Options, PinWatch, Rank, Statistics,
    Timeline,
};
use pimlico_dpa::types::{PinCommand, Pins};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::rc::Rc;

pub const MAILBOX: usize = 0;
pub const OPERANDS: usize = 1;
pub const STATUS: usize = 2;

const WINDOW_ROW: usize = 65535;

/// Who does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The host: watched is what the module gets.
    Host,
    /// The module: watched is what the host gets.
    Module,
}

/// What goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    pub tck: u64,
    /// The host has opened a window.
    pub windows_open: bool,
    /// The first command of the run on the chips' pins.
    pub run_tck: Option<u64>,
    /// The last REF of the run.
    pub ref_tck: Option<u64>,
}

impl Now {
    pub fn runs(&self) -> bool {
        self.run_tck.is_some()
    }
}

/// A beat of a burst to or from a window.
#[derive(Clone, Copy, Debug)]
pub struct Beat {
    pub window: usize,
    pub write: bool,
    /// Its word.
    pub n: usize,
    /// Its burst, counted from the first to or from this window on.
    pub burst: u64,
}

/// What is on the pins in place of the host's command.
type Command = Box<dyn FnMut(&Now, Pins) -> Pins>;
/// What is on the data bus in place of a beat.
type Word = Box<dyn FnMut(&Now, Beat, Option<u64>) -> Option<u64>>;

/// A fault.
pub struct Fault {
    whose: Whose,
    command: Command,
    word: Word,
}

impl Fault {
    pub fn of_commands(whose: Whose, command: impl FnMut(&Now, Pins) -> Pins + 'static) -> Self {
        Self { whose, command: Box::new(command), word: Box::new(|_, _, word| word) }
    }

    pub fn of_words(
        whose: Whose,
        word: impl FnMut(&Now, Beat, Option<u64>) -> Option<u64> + 'static,
    ) -> Self {
        Self { whose, command: Box::new(|_, pins| pins), word: Box::new(word) }
    }

    /// Has commands altered as well.
    pub fn set_command(&mut self, command: impl FnMut(&Now, Pins) -> Pins + 'static) {
        self.command = Box::new(command);
    }

    pub fn none() -> Self {
        Self::of_commands(Whose::Host, |_, pins| pins)
    }
}

/// Whoever watches, and what they were told of the chips.
#[derive(Default)]
struct Watched {
    watch: Option<Box<dyn PinWatch>>,
    now: Now,
}

/// What the module itself tells.
struct OfModule {
    whose: Whose,
    watched: Rc<RefCell<Watched>>,
}

impl PinWatch for OfModule {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        let Watched { watch, now } = &mut *self.watched.borrow_mut();
        match pins.command {
            PinCommand::ActAll => now.run_tck = now.run_tck.or(Some(at_tck)),
            PinCommand::Ref if now.runs() => now.ref_tck = Some(at_tck),
            _ => {}
        }
        watch.iter_mut().for_each(|watch| watch.command(at_tck, pins));
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        let watch = &mut self.watched.borrow_mut().watch;
        watch.iter_mut().for_each(|watch| watch.data(from_tck, until_tck, driver));
    }

    fn host_command(&mut self, at_tck: u64, pins: Pins) {
        let watch = &mut self.watched.borrow_mut().watch;
        if self.whose == Whose::Host {
            watch.iter_mut().for_each(|watch| watch.host_command(at_tck, pins));
        }
    }

    fn host_data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        let watch = &mut self.watched.borrow_mut().watch;
        if self.whose == Whose::Host {
            watch.iter_mut().for_each(|watch| watch.host_data(at_tck, driven, seen));
        }
    }
}

/// A burst to or from a window.
struct Burst {
    from_tck: u64,
    /// Its first beat.
    beat: Beat,
}

/// The module.
pub struct Planted {
    rank: Rank,
    fault: Fault,
    watched: Rc<RefCell<Watched>>,
    /// Banks with an open window, as the host has it.
    windows: [bool; 16],
    bursts: VecDeque<Burst>,
    /// Bursts so far to or from each window.
    counts: [u64; 4],
}

impl Planted {
    pub fn new(config: &Config, options: Options, fault: Fault) -> Self {
        let rank = Rank::new(config.clone(), options);
        let (watched, windows, bursts) = (Rc::default(), [false; 16], VecDeque::new());
        Self { rank, fault, watched, windows, bursts, counts: [0; 4] }
    }

    /// The windows' bursts that a command of the host moves.
    fn follow(&mut self, tck: u64, pins: Pins) {
        let bank = pins.bank();
        let timing = &self.rank.config().timing;
        let (latency, write) = match pins.command {
            PinCommand::Act => {
                self.windows[bank] = pins.row() == WINDOW_ROW;
                return;
            }
            PinCommand::Pre => {
                self.windows[bank] = false;
                return;
            }
            PinCommand::PreAll => {
                self.windows = [false; 16];
                return;
            }
            PinCommand::Wr => (timing.cwl_tck - 1, true),
            PinCommand::Rd => (timing.cl_tck + 1, false),
            _ => return,
        };
        if self.windows[bank] {
            let window = bank % 4;
            let beat = Beat { window, write, n: 0, burst: self.counts[window] };
            self.bursts.push_back(Burst { from_tck: tck + latency, beat });
            self.counts[window] += 1;
        }
    }

    /// What is on the data bus in place of two beats.
    fn alter(&mut self, now: &Now, pair: [Option<u64>; 2], write: bool) -> [Option<u64>; 2] {
        self.bursts.retain(|burst| now.tck < burst.from_tck + 4);
        let of = |burst: &&Burst| burst.beat.write == write && burst.from_tck <= now.tck;
        let Some(&Burst { from_tck, beat }) = self.bursts.iter().find(of) else {
            return pair;
        };
        let n = 2 * (now.tck - from_tck) as usize;
        let word = &mut self.fault.word;
        [0, 1].map(|half| word(now, Beat { n: n + half, ..beat }, pair[half]))
    }

    fn tell(&self, tell: impl FnOnce(&mut dyn PinWatch)) {
        if self.fault.whose == Whose::Module
            && let Some(watch) = &mut self.watched.borrow_mut().watch
        {
            tell(&mut **watch);
        }
    }
}

impl Dimm for Planted {
    fn config(&self) -> &Config {
        self.rank.config()
    }

    fn options(&self) -> Options {
        self.rank.options()
    }

    fn tck(&self) -> u64 {
        self.rank.tck()
    }

    fn step(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        let tck = self.tck();
        let windows_open = self.windows.contains(&true);
        let now = Now { tck, windows_open, ..self.watched.borrow().now };
        if pins.is_some() {
            self.tell(|watch| watch.host_command(tck, pins));
        }
        self.follow(tck, pins);
        let to_module = (self.fault.command)(&now, pins);
        let altered = self.alter(&now, driven, true);
        let seen = self.rank.step(to_module, altered, made)?;
        let seen = self.alter(&now, seen, false);
        self.tell(|watch| watch.host_data(tck, driven, seen));
        Ok(seen)
    }

    fn begin(&mut self) {
        self.rank.begin();
    }

    fn end(&mut self) -> Statistics {
        self.rank.end()
    }

    fn take_transfers(&mut self) -> Vec<HostTransfer> {
        self.rank.take_transfers()
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watched.borrow_mut().watch = Some(watch);
        let (whose, watched) = (self.fault.whose, Rc::clone(&self.watched));
        self.rank.watch(Box::new(OfModule { whose, watched }));
    }

    fn start_timeline(&mut self) {
        self.rank.start_timeline();
    }

    fn label(&mut self, operator: &'static str, part: String) {
        self.rank.label(operator, part);
    }

    fn leave_out(&mut self) {
        self.rank.leave_out();
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.rank.timeline()
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.rank.trace(file)
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.rank.finish_trace()
    }
}
