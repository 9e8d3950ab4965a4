// SPDX-License-Identifier: MIT
//! The rank: chips with bank PUs, and the rank PU on the module's buffer chip, one tCK at a time.
//!
//! ```text
//!            array and bus requests ──▶ rank controller ◀── refresh manager
//!                                            │ commands
//!    host ◀─▶ re-layout unit ──┬─────────────▼────────────────┐
//!                     weights ─┤ data    chips: row buffers, shared buffers, bank PUs
//!                        ▲     │             │
//!             softmax unit ◀───┼─ adder unit ◀── results
//!                ▲    │        │
//!             score buffer   context ──▶ host
//! ```
//!
//! It works in one of two ways, and a host changes between them only when all banks are closed:
//!
//! * as **memory** ([`Rank::step_memory`]): the host's own commands go to the chips, data pass the
//!   re-layout unit;
//! * as **processing in memory** ([`Rank::step`]): requests go to the rank controller, which owns the
//!   command pins.
//!
//! The refresh manager counts in both, so that no REF is lost in between; the rank controller stands
//! still while the host has the pins. It hears from the refresh manager a tCK late: a register is
//! between them.

use crate::accounts::{Accounts, Cause};
use crate::data_bus::{Beats, Incoming, Outgoing, beats_of, burst_of};
use crate::softmax::{Given, Softmax, SoftmaxUnits};
use crate::sum_path::{Partial, SumPath, SumUnits, Sums, UnitsOf};
use crate::{
    BufferChip, Burst, CHIPS, Chips, Config, DataPath, Dram, DramCommand, RankWave, Results, Sides,
    Statistics, Timing,
};
use pimlico_ports::{Instances, Mismatch, Model, Models, U};
use pimlico_units::rank::{
    ArrayKind, PinCommand, RankController, RankControllerIn, RankControllerOut, RefreshManager,
    RefreshManagerIn, RefreshManagerOut, RelayoutUnit,
};
use std::collections::VecDeque;

/// The units of a rank, whoever executes them.
pub struct RankUnits {
    /// Bank PUs and adder unit.
    pub sums: SumUnits,
    /// The softmax unit.
    pub softmax_unit: SoftmaxUnits,
    /// The re-layout unit.
    pub relayout_unit: Box<dyn Instances<RelayoutUnit<16, 8>>>,
    /// The rank controller.
    pub rank_controller: Box<dyn Instances<RankController>>,
    /// The refresh manager.
    pub refresh_manager: Box<dyn Instances<RefreshManager>>,
}

/// Makes instances of any unit: a back end.
pub trait BackEnd {
    /// Why it cannot.
    type Error;

    /// `count` instances that have been reset; a clock of theirs takes `cycle_ps`.
    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error>;
}

/// The models.
struct ModelBackEnd;

impl BackEnd for ModelBackEnd {
    type Error = std::convert::Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        _cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error> {
        Ok(Box::new(Models::new(count)))
    }
}

impl RankUnits {
    /// The units that `options` ask for, made by a back end.
    pub fn new<B: BackEnd>(
        config: &Config,
        options: Options,
        back_end: &mut B,
    ) -> Result<Self, B::Error> {
        let tck_ps = config.tck_ps;
        Ok(Self {
            sums: match options.sums {
                SumFormat::Binary16 => SumUnits::Binary16(UnitsOf::new(config, back_end)?),
                SumFormat::Binary32 => SumUnits::Binary32(UnitsOf::new(config, back_end)?),
            },
            softmax_unit: match options.normalise {
                Normalise::Early => SoftmaxUnits::Early(back_end.instances(1, tck_ps)?),
                Normalise::Late => SoftmaxUnits::Late(back_end.instances(1, tck_ps)?),
            },
            relayout_unit: back_end.instances(1, tck_ps / 2)?,
            rank_controller: back_end.instances(1, tck_ps)?,
            refresh_manager: back_end.instances(1, tck_ps)?,
        })
    }

    /// The models.
    pub fn models(config: &Config, options: Options) -> Self {
        match Self::new(config, options, &mut ModelBackEnd) {
            Ok(units) => units,
        }
    }
}

/// How a rank works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How rows are opened for the bank PUs.
    pub activation: Activation,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// When softmax divides by the sum of the exponentials.
    pub normalise: Normalise,
    /// The format of sums in bank PUs and adder unit.
    pub sums: SumFormat,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            activation: Activation::AllBank,
            refresh: true,
            normalise: Normalise::Early,
            sums: SumFormat::Binary16,
        }
    }
}

/// When softmax divides by the sum of the exponentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalise {
    /// Each weight, before it is used: L3's order.
    Early,
    /// The context, once.
    Late,
}

/// The format of sums in bank PUs and adder unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SumFormat {
    /// That of the elements.
    Binary16,
    /// A wider one.
    Binary32,
}

/// How a row is opened in all banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// By one command.
    AllBank,
    /// By one ACT for each bank, which keep tRRD and tFAW.
    Staggered,
}

impl Normalise {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Late => "late",
        }
    }
}

impl SumFormat {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary16 => "binary16",
            Self::Binary32 => "binary32",
        }
    }
}

impl Activation {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllBank => "all-bank",
            Self::Staggered => "staggered",
        }
    }
}

/// What the rank is asked for in one tCK. A request stays until it is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// For the arrays.
    pub array: Option<ArrayRequest>,
    /// For the data bus.
    pub bus: Option<BusRequest>,
    /// The scores of this head are complete.
    pub finish: Option<usize>,
    /// A score in the buffer becomes a weight.
    pub weigh: Option<Weigh>,
    /// A head ends here: REFs that were postponed come now.
    pub head_end: bool,
}

/// What the arrays are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayRequest {
    /// A column of every bank to its PU.
    Read(AllBankRead),
    /// All banks closed.
    CloseAll,
}

/// An RD in all banks at once, and what the bank PUs do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllBankRead {
    /// Row.
    pub row: usize,
    /// Column.
    pub column: usize,
    /// Word of the shared buffers.
    pub shared: usize,
    /// Four accumulators with one scalar each (context) instead of the adder tree (score).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// The first of an operator: what was lost before it is fill, and no bubble.
    pub opens: bool,
}

/// What the data bus is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BusRequest {
    /// A word of the shared buffers.
    Write {
        /// Word.
        word: usize,
        /// What it gets.
        data: Shared,
    },
    /// Results to the adder unit.
    Results {
        /// Which.
        results: Results,
        /// What the adder unit does with them.
        sum: Sum,
    },
}

/// Whence a word of the shared buffers comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// From the host, in its order: through the re-layout unit.
    Host(Beats),
    /// From the rank PU: 64 bits for each chip.
    RankPu(Burst),
}

/// What the adder unit does with a burst of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Adds up over the chips, each element by itself: scores, for the softmax unit.
    Tree(Scores),
    /// Adds up over the chips, each element by itself: outputs of a matrix, for the host.
    Outputs(Outputs),
    /// Adds up the burst's elements for each chip by itself: context.
    Lanes(Lanes),
}

/// The scores of a burst, of consecutive tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Query head.
    pub head: usize,
    /// They are in the first chunk of their head.
    pub first: bool,
    /// Tokens that there are from the burst's first on; what is beyond them is masked.
    pub tokens: usize,
    /// Place of the burst's first in the score buffer, if they are kept.
    pub place: Option<usize>,
}

impl Scores {
    /// The score at place `n` of the burst.
    pub(crate) fn nth(&self, n: usize) -> Score {
        Score {
            head: self.head,
            first: self.first,
            masked: n >= self.tokens,
            place: self.place.map(|place| place + n),
        }
    }
}

/// Four outputs of a matrix times a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// The first of them.
    pub place: usize,
    /// They go on from the partial sums of the columns before, which are in the score buffer.
    pub goes_on: bool,
    /// They are complete; otherwise they become partial sums.
    pub complete: bool,
}

/// Whose a sum over the chips is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeSum {
    /// A score.
    Score(Score),
    /// An output.
    Output {
        /// Which.
        place: usize,
        /// It is complete.
        complete: bool,
    },
}

/// A score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Query head.
    pub head: usize,
    /// It is in the first chunk of its head.
    pub first: bool,
    /// There is no such token.
    pub masked: bool,
    /// Place in the score buffer.
    pub place: Option<usize>,
}

/// A sum of the context for each chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// Query head.
    pub head: usize,
    /// The burst begins the sum, and ends it.
    pub first: bool,
    /// The burst ends the sum.
    pub last: bool,
    /// Place among the partial sums.
    pub place: usize,
    /// The sum goes on from the partial sum.
    pub goes_on: bool,
    /// The sum is complete; otherwise it becomes the partial sum.
    pub complete: bool,
}

/// A score in the buffer that becomes a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weigh {
    /// Place in the score buffer.
    pub place: usize,
    /// Query head.
    pub head: usize,
}

/// What happened in a tCK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Events {
    /// The array request was taken.
    pub array_taken: bool,
    /// The bus request was taken.
    pub bus_taken: bool,
    /// The finish was taken.
    pub finish_taken: bool,
    /// The weighing was taken.
    pub weigh_taken: bool,
    /// An all-bank RD was issued.
    pub read: bool,
    /// A word of the shared buffers has been written.
    pub written: bool,
    /// The bank PUs have new results.
    pub results: bool,
    /// A burst of results has left the bank PUs.
    pub results_taken: bool,
    /// A score, before scaling.
    pub score: Option<u16>,
    /// A score has been scaled.
    pub scaled: bool,
    /// A head can be weighed.
    pub finished: bool,
    /// A weight.
    pub weight: Option<u16>,
    /// An element of the context.
    pub context: Option<u16>,
    /// An output of a matrix.
    pub output: Option<u16>,
}

/// Who drives the chips' data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusDriver {
    /// The chips: read data and results.
    Chips,
    /// The buffer chip: write data and operands.
    BufferChip,
}

/// Watches the chips' pins.
pub trait PinWatch {
    /// A command.
    fn command(&mut self, at_tck: u64, command: DramCommand);

    /// Data were on the bus, from one tCK until before another.
    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver);
}

/// What ends a run of the rank.
#[derive(Debug, thiserror::Error)]
pub enum RankError {
    /// RTL and model differ.
    #[error(transparent)]
    Mismatch(#[from] Box<Mismatch>),
    /// The waveform cannot be written.
    #[error("waveform: {0}")]
    Wave(#[from] std::io::Error),
}

/// Partial sums of the context: 256 elements of each of eight heads, for eight chips.
pub const PARTIAL_SUMS: usize = 256;

/// A rank.
pub struct Rank {
    config: Config,
    options: Options,
    /// tCK since the reset.
    tck: u64,

    rank_controller: Box<dyn Instances<RankController>>,
    /// Its inputs without a request.
    controls: RankControllerIn,
    controlled: RankControllerOut,
    refresh_manager: Box<dyn Instances<RefreshManager>>,
    /// Its inputs without an event.
    refresh_controls: RefreshManagerIn,
    refresh: RefreshManagerOut,
    /// What the controller has taken and not issued.
    reads: VecDeque<AllBankRead>,
    transfers: VecDeque<BusRequest>,

    chips: Chips,
    sum_path: Box<dyn SumPath>,
    buffer_chip: BufferChip,
    /// Operands that the host and the rank PU are going to drive.
    from_host: Outgoing,
    from_rank_pu: Outgoing,
    /// The words of the shared buffers that the chips are going to take.
    operands: Incoming<usize>,
    softmax: Softmax,
    /// Sums of the context that have more to come, a place for each chip.
    partial_sums: Box<[[u32; CHIPS]]>,
    /// Complete ones that wait for the softmax unit or for the host, with their head.
    sums: VecDeque<(u32, usize)>,

    accounts: Accounts,
    /// The end of the last REF.
    refreshed_tck: u64,
    /// What is on the chips' data bus.
    transfer: Option<Transfer>,
    watch: Option<Box<dyn PinWatch>>,
    wave: Option<RankWave>,
}

/// A burst on the chips' data bus.
struct Transfer {
    from_tck: u64,
    until_tck: u64,
    driver: BusDriver,
}

impl Rank {
    /// A rank that has been reset, with empty arrays.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a rank: see [`Config::check_rank`].
    pub fn new(config: Config, units: RankUnits, options: Options) -> Self {
        let chips = Chips::new(&config).unwrap_or_else(|error| panic!("no rank: {error}"));
        Self {
            tck: 0,
            rank_controller: units.rank_controller,
            controls: controls(&config.timing, options.activation),
            controlled: RankControllerOut::default(),
            refresh_manager: units.refresh_manager,
            refresh_controls: RefreshManagerIn {
                enable_i: options.refresh,
                refi_i: U::new(config.timing.refi_tck),
                ..Default::default()
            },
            refresh: RefreshManagerOut::default(),
            reads: VecDeque::with_capacity(8),
            transfers: VecDeque::with_capacity(8),
            chips,
            sum_path: units.sums.into_path(&config),
            buffer_chip: BufferChip::with_unit(DataPath::Relayout, units.relayout_unit),
            from_host: Outgoing::default(),
            from_rank_pu: Outgoing::default(),
            operands: Incoming::default(),
            softmax: Softmax::new(units.softmax_unit),
            partial_sums: vec![[0; CHIPS]; PARTIAL_SUMS].into(),
            sums: VecDeque::with_capacity(64),
            accounts: Accounts::new(config.timing.ccd_l_tck),
            refreshed_tck: 0,
            transfer: None,
            watch: None,
            wave: None,
            config,
            options,
        }
    }

    /// Organisation and timing.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How it works.
    pub fn options(&self) -> Options {
        self.options
    }

    /// What the chips hold.
    pub fn dram(&self) -> &Dram {
        self.chips.dram()
    }

    /// Records what follows.
    pub fn trace(&mut self, wave: RankWave) {
        self.wave = Some(wave);
    }

    /// Ends the recording.
    pub fn finish_trace(&mut self) -> Result<(), RankError> {
        Ok(self.wave.take().map_or(Ok(()), RankWave::finish)?)
    }

    /// Has the chips' pins watched from here on.
    pub fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch = Some(watch);
    }

    /// Sets the factor of the scores, a binary16 number.
    pub fn set_scale(&mut self, scale: u16) {
        self.softmax.set_scale(scale);
    }

    /// Starts an operator: statistics count from here.
    pub fn begin(&mut self) {
        self.accounts.restart(self.tck);
    }

    /// Ends an operator.
    pub fn end(&mut self) -> Statistics {
        self.accounts.finish(self.tck)
    }

    /// tCK since the reset.
    pub fn tck(&self) -> u64 {
        self.tck
    }

    /// Whether nothing is under way, no row is open and no REF owed, so that the host may have the
    /// pins. The last REF may still be going on.
    fn is_settled(&self) -> bool {
        self.controlled.idle_o
            && self.chips.is_closed()
            && self.reads.is_empty()
            && self.transfers.is_empty()
            && self.operands.is_empty()
            && self.sum_path.is_idle()
            && self.sums.is_empty()
            && self.refresh.owed_o.get() == 0
    }

    /// Closes all banks and lets the REFs come that were postponed: the end of a head.
    pub fn settle(&mut self) -> Result<(), RankError> {
        let mut requests =
            Requests { array: Some(ArrayRequest::CloseAll), head_end: true, ..Default::default() };
        while requests.array.is_some() || !self.is_settled() {
            let events = self.step(&requests)?;
            requests.head_end = false;
            requests.array = requests.array.filter(|_| !events.array_taken);
        }
        Ok(())
    }

    /// One tCK of processing in memory.
    ///
    /// # Panics
    ///
    /// If a request is for a row, column or word that does not exist.
    pub fn step(&mut self, requests: &Requests) -> Result<Events, RankError> {
        let mut events = Events::default();
        self.step_controller(requests, &mut events)?;
        let command = self.command();
        let read = self.issue(command, &mut events);
        self.account(command, read);
        self.step_bank_pus(read, &mut events)?;
        self.step_operands(&mut events)?;
        let score = self.step_adder_unit(&mut events)?;
        self.step_softmax(requests, score, &mut events)?;
        if let Some(wave) = &mut self.wave {
            wave.record(command, self.sum_path.as_ref())?;
        }
        self.tck += 1;
        Ok(events)
    }

    /// One tCK as memory: the host's command, and what it drives on its data bus in the two clocks of
    /// the tCK. Returns what is on that bus for it.
    ///
    /// # Panics
    ///
    /// If there is no such bank, row or column.
    pub fn step_memory(
        &mut self,
        command: Option<DramCommand>,
        driven: [Option<u64>; 2],
    ) -> Result<[Option<u64>; 2], RankError> {
        self.see_transfer();
        if let Some(command) = command {
            self.on_pins(command);
        }
        let mut seen = [None; 2];
        for (clock, (host, seen)) in (2 * self.tck..).zip(driven.into_iter().zip(&mut seen)) {
            let from = Sides { host, chips: self.chips.drive(clock) };
            let to = self.buffer_chip.step(from)?;
            self.chips.take(clock, to.chips);
            *seen = to.host;
            self.on_bus(BusDriver::Chips, from.chips.is_some());
            self.on_bus(BusDriver::BufferChip, to.chips.is_some());
        }
        self.step_refresh_manager(false, true, command == Some(DramCommand::Ref))?;
        self.tck += 1;
        Ok(seen)
    }

    fn step_controller(
        &mut self,
        requests: &Requests,
        events: &mut Events,
    ) -> Result<(), RankError> {
        let mut input = RankControllerIn {
            refresh_i: self.refresh.refresh_o,
            force_i: self.refresh.force_o,
            ..self.controls
        };
        match requests.array {
            Some(ArrayRequest::Read(read)) => {
                input.array_valid_i = true;
                input.array_kind_i = ArrayKind::ReadAll.code();
                input.array_row_i = read.row as u16;
                input.array_column_i = read.column as u8;
            }
            Some(ArrayRequest::CloseAll) => {
                input.array_valid_i = true;
                input.array_kind_i = ArrayKind::CloseAll.code();
            }
            None => {}
        }
        match requests.bus {
            Some(BusRequest::Write { word, .. }) => {
                input.bus_valid_i = true;
                input.bus_write_i = true;
                input.bus_address_i = word as u8;
            }
            Some(BusRequest::Results { results, .. }) => {
                input.bus_valid_i = true;
                input.bus_address_i = results.address() as u8;
            }
            None => {}
        }
        let mut output = [RankControllerOut::default()];
        self.rank_controller.step(&[input], &mut output)?;
        let [output] = output;
        events.array_taken = input.array_valid_i && output.array_ready_o;
        events.bus_taken = input.bus_valid_i && output.bus_ready_o;
        if let (true, Some(ArrayRequest::Read(read))) = (events.array_taken, requests.array) {
            self.reads.push_back(read);
        }
        if events.bus_taken {
            self.transfers.extend(requests.bus);
        }
        self.controlled = output;
        self.step_refresh_manager(requests.head_end, output.idle_o, output.refresh_issued_o)
    }

    fn step_refresh_manager(
        &mut self,
        head_end: bool,
        idle: bool,
        done: bool,
    ) -> Result<(), RankError> {
        let input = RefreshManagerIn {
            head_end_i: head_end,
            idle_i: idle,
            done_i: done,
            ..self.refresh_controls
        };
        let mut output = [RefreshManagerOut::default()];
        self.refresh_manager.step(&[input], &mut output)?;
        [self.refresh] = output;
        Ok(())
    }

    /// What the controller has on the pins.
    fn command(&self) -> Option<DramCommand> {
        let pins = &self.controlled;
        let bank = pins.bank_o.get() as usize;
        let (row, column) = (usize::from(pins.row_o), usize::from(pins.column_o));
        Some(match PinCommand::of(pins.command_o)? {
            PinCommand::None => return None,
            PinCommand::Act => DramCommand::Act { bank, row },
            PinCommand::ActAll => DramCommand::ActAll { row },
            PinCommand::Pre => DramCommand::Pre { bank },
            PinCommand::PreAll => DramCommand::PreAll,
            PinCommand::Rd => DramCommand::Rd { bank, column },
            PinCommand::Wr => DramCommand::Wr { bank, column },
            PinCommand::RdAll => DramCommand::RdAll { column },
            PinCommand::RdResult => {
                DramCommand::RdResult { results: Results::from_address(column) }
            }
            PinCommand::WrShared => DramCommand::WrShared { word: column },
            PinCommand::Ref => DramCommand::Ref,
        })
    }

    /// A command on the pins, and the transfer that it begins. Returns the all-bank RD that it is.
    fn issue(&mut self, command: Option<DramCommand>, events: &mut Events) -> Option<AllBankRead> {
        self.see_transfer();
        let command = command?;
        self.on_pins(command);
        match command {
            DramCommand::RdAll { .. } => {
                events.read = true;
                return self.reads.pop_front();
            }
            DramCommand::WrShared { word } => {
                let first_clock = 2 * (self.tck + self.config.timing.cwl_tck);
                self.operands.expect(first_clock, word);
                if let Some(BusRequest::Write { data, .. }) = self.transfers.pop_front() {
                    match data {
                        // A tCK sooner, for the re-layout unit.
                        Shared::Host(beats) => self.from_host.push(first_clock - 2, beats),
                        Shared::RankPu(burst) => {
                            self.from_rank_pu.push(first_clock, beats_of(&burst));
                        }
                    }
                }
            }
            DramCommand::RdResult { results } => {
                events.results_taken = true;
                if let Some(BusRequest::Results { sum, .. }) = self.transfers.pop_front() {
                    let from_tck = self.tck + self.config.timing.cl_tck;
                    let partial = match sum {
                        Sum::Lanes(Lanes { place, goes_on: true, first: true, .. }) => {
                            Partial::Lanes(self.partial_sums[place])
                        }
                        Sum::Outputs(Outputs { place, goes_on: true, .. }) => {
                            Partial::Outputs(self.softmax.partial_outputs(place))
                        }
                        _ => Partial::None,
                    };
                    self.sum_path.read_results(from_tck, results, sum, partial);
                }
            }
            _ => {}
        }
        None
    }

    /// Tells whoever watches, and the arrays.
    fn on_pins(&mut self, command: DramCommand) {
        if let Some(watch) = &mut self.watch {
            watch.command(self.tck, command);
        }
        self.chips.command(self.tck, command);
        if command == DramCommand::Ref {
            self.refreshed_tck = self.tck + self.config.timing.rfc_tck;
        }
        self.accounts.statistics.commands[command.number()] += 1;
    }

    fn account(&mut self, command: Option<DramCommand>, read: Option<AllBankRead>) {
        debug_assert!(matches!(command, Some(DramCommand::RdAll { .. })) == read.is_some());
        match read {
            Some(read) => self.accounts.used(self.tck, read.opens),
            None if self.tck < self.refreshed_tck => {
                self.accounts.idle(self.tck, Some(Cause::Refresh));
            }
            None => self.accounts.idle(self.tck, Cause::of(&self.controlled)),
        }
    }

    fn step_bank_pus(
        &mut self,
        read: Option<AllBankRead>,
        events: &mut Events,
    ) -> Result<(), RankError> {
        let Self { chips, sum_path, tck, .. } = self;
        let read = read.as_ref().map(|read| (read, chips.read_all_banks(read.column)));
        events.results = sum_path.step_bank_pus(*tck, read)?;
        Ok(())
    }

    /// Operands to the shared buffers, two beats in a tCK.
    fn step_operands(&mut self, events: &mut Events) -> Result<(), RankError> {
        if self.operands.is_empty() {
            return Ok(());
        }
        for clock in [2 * self.tck, 2 * self.tck + 1] {
            let host = self.from_host.beat(clock);
            let relaid = self.buffer_chip.step(Sides { host, chips: None })?.chips;
            let beat = relaid.or(self.from_rank_pu.beat(clock));
            self.on_bus(BusDriver::BufferChip, beat.is_some());
            if let Some((word, beats)) = self.operands.beat(clock, beat) {
                self.sum_path.write_shared(word, burst_of(&beats));
                events.written = true;
            }
        }
        Ok(())
    }

    /// Results through the adder unit. Returns a score that comes out of it.
    fn step_adder_unit(&mut self, events: &mut Events) -> Result<Option<(u16, Score)>, RankError> {
        let Sums { from_bus, tree, lanes } = self.sum_path.step_adder_unit(self.tck)?;
        self.accounts.statistics.adder_unit_cycles += u64::from(from_bus);
        self.on_bus(BusDriver::Chips, from_bus);
        match lanes {
            Some((sums, Lanes { head, complete: true, .. })) => {
                self.sums.extend(sums.map(|sum| (sum, head)));
            }
            Some((sums, Lanes { place, .. })) => self.partial_sums[place] = sums,
            None => {}
        }
        match tree {
            Some((bits, TreeSum::Score(score))) => {
                events.score = Some(bits);
                return Ok(Some((bits, score)));
            }
            Some((bits, TreeSum::Output { complete: true, .. })) => events.output = Some(bits),
            Some((bits, TreeSum::Output { place, .. })) => {
                self.softmax.keep_partial_output(place, bits);
            }
            None => {}
        }
        Ok(None)
    }

    /// Scores, weights and, where they are normalised late, sums through the softmax unit.
    fn step_softmax(
        &mut self,
        requests: &Requests,
        score: Option<(u16, Score)>,
        events: &mut Events,
    ) -> Result<(), RankError> {
        let sum = self.sums.front().copied();
        let late = self.softmax.is_late();
        let widened = sum.filter(|_| late).map(|(sum, head)| (self.sum_path.binary32(sum), head));
        let given = Given { score, finish: requests.finish, weigh: requests.weigh, sum: widened };
        let made = self.softmax.step(&given)?;
        let narrow = sum.filter(|_| !late).map(|(sum, _)| self.sum_path.binary16(sum));
        if made.sum_taken || narrow.is_some() {
            self.sums.pop_front();
        }
        let busy = score.is_some() || made.weigh_taken || made.sum_taken;
        self.accounts.statistics.softmax_unit_cycles += u64::from(busy);
        events.scaled = made.scaled;
        events.finish_taken = made.finish_taken;
        events.finished = made.finished;
        events.weigh_taken = made.weigh_taken;
        events.weight = made.weight;
        events.context = made.context.or(narrow);
        Ok(())
    }

    /// Whether `driver` drives the chips' data bus in a clock of this tCK.
    fn on_bus(&mut self, driver: BusDriver, drives: bool) {
        if !drives {
            return;
        }
        match &mut self.transfer {
            Some(transfer) if transfer.driver == driver => transfer.until_tck = self.tck + 1,
            other => {
                if let Some(transfer) = other.take() {
                    tell(&mut self.watch, &transfer);
                }
                *other = Some(Transfer { from_tck: self.tck, until_tck: self.tck + 1, driver });
            }
        }
    }

    /// Tells whoever watches of a burst that is over.
    fn see_transfer(&mut self) {
        let burst_tck = self.config.timing.burst_tck;
        let over = |transfer: &mut Transfer| {
            transfer.until_tck < self.tck || transfer.until_tck == transfer.from_tck + burst_tck
        };
        if let Some(transfer) = self.transfer.take_if(over) {
            self.accounts.statistics.bus_cycles += transfer.until_tck - transfer.from_tck;
            tell(&mut self.watch, &transfer);
        }
    }
}

fn tell(watch: &mut Option<Box<dyn PinWatch>>, transfer: &Transfer) {
    if let Some(watch) = watch {
        watch.data(transfer.from_tck, transfer.until_tck, transfer.driver);
    }
}

/// The rank controller's configuration.
fn controls(timing: &Timing, activation: Activation) -> RankControllerIn {
    let byte = |tck: u64| tck.try_into().expect("checked with the configuration");
    RankControllerIn {
        ccd_s_i: byte(timing.ccd_s_tck),
        ccd_l_i: byte(timing.ccd_l_tck),
        rrd_s_i: byte(timing.rrd_s_tck),
        rrd_l_i: byte(timing.rrd_l_tck),
        rcd_i: byte(timing.rcd_tck),
        rcd_wr_i: byte(timing.rcd_wr_tck),
        rcd_mac_i: byte(timing.rcd_mac_tck),
        ras_i: byte(timing.ras_tck),
        rp_i: byte(timing.rp_tck),
        rtp_i: byte(timing.rtp_tck),
        rc_i: byte(timing.rc_tck),
        faw_i: byte(timing.faw_tck),
        rd_to_wr_i: byte(timing.rd_to_wr_tck()),
        wr_to_rd_s_i: byte(timing.wr_to_rd_s_tck()),
        wr_to_rd_l_i: byte(timing.wr_to_rd_l_tck()),
        wr_to_pre_i: byte(timing.wr_to_pre_tck()),
        rfc_i: timing.rfc_tck.try_into().expect("checked with the configuration"),
        staggered_i: activation == Activation::Staggered,
        ..Default::default()
    }
}
