// SPDX-License-Identifier: MIT
//! A host that moves whole bursts to and from a module as memory. When its commands come is its own affair; when data
//! are on the buses follows from that.

use crate::data_bus::Beats;
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_ports::Enumerated;
use std::sync::Arc;

/// tCK of a burst on either data bus.
pub const BURST_TCK: u64 = crate::data_bus::BEATS as u64 / 2;

/// Banks that an order has, at most.
const MOST_BANKS: usize = 16;

/// The banks of a rank that are written by turns, each once in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BankOrder {
    banks: [u8; MOST_BANKS],
    count: u8,
}

impl BankOrder {
    /// These banks, one after the other.
    ///
    /// # Panics
    ///
    /// If there are more than 16, or one has a number of more than 8 bits.
    pub fn new(banks: impl IntoIterator<Item = usize>) -> Self {
        let mut order = Self::default();
        for bank in banks {
            order.banks[usize::from(order.count)] = u8::try_from(bank).expect("a bank of a rank");
            order.count += 1;
        }
        order
    }

    /// How many banks take turns.
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bank at a place of the order.
    pub fn bank(&self, place: usize) -> usize {
        self.banks[place].into()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.banks[..self.len()].iter().map(|bank| usize::from(*bank))
    }
}

/// WRs to one row, which is open in all banks that they name, at equal distances, with no other command between them: column by
/// column, and in a column from bank to bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRun {
    /// The tCK of the first.
    pub from_tck: u64,
    /// From one to the next, tCK.
    pub every_tck: u64,
    /// How many there are, one at least.
    pub count: u64,
    /// Their row.
    pub row: usize,
    /// The column of the first.
    pub column: usize,
    /// The place of its bank in the order.
    pub place: usize,
    /// The banks of a column.
    pub banks: BankOrder,
}

impl WriteRun {
    /// The tCK of one of them, by its number.
    pub fn tck(&self, number: u64) -> u64 {
        self.from_tck + number * self.every_tck
    }

    /// The tCK of the last one.
    pub fn last_tck(&self) -> u64 {
        self.tck(self.count - 1)
    }

    /// Bank and column of each, from the first to the last.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let Self { mut place, mut column, banks, .. } = *self;
        (0..self.count).map(move |_| {
            let at = (banks.bank(place), column);
            place += 1;
            if place == banks.len() {
                (place, column) = (0, column + 1);
            }
            at
        })
    }
}

/// What a host does from one REF to the next, without either of them: no more than to write, to banks that all are closed at
/// both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteStretch {
    /// No other has this number. Where a host does what has it once more, all of it is the same but for the rows: its
    /// commands in their order, the tCK of each counted from the REF, their banks, their columns, and which of them go to
    /// the row of the one before. Only WRs that follow each other at [`BURST_TCK`] for more than [`long_tck`](Self::long_tck) may be
    /// more or fewer, by whole turns of their banks or up to the PREA; what comes behind them comes as much later or sooner, and
    /// [`tck`](Self::tck) is as much longer.
    pub number: u64,
    /// How long WRs one after the other have to last to be no fixed part of what has this number.
    pub long_tck: u64,
    /// From the REF to the next, tCK.
    pub tck: u64,
    /// Commands, by the code of [`PinCommand`].
    pub commands: [u64; PinCommand::ALL.len()],
    /// WRs that follow each other at [`BURST_TCK`]: the tCK of the first, counted from the REF, and how many there are.
    pub writes: Vec<(u64, u64)>,
}

impl WriteStretch {
    /// How many WRs there are.
    pub fn count(&self) -> u64 {
        self.commands[PinCommand::Wr as usize]
    }
}

/// The stretches that a REF is between.
#[derive(Clone, Debug, Default)]
pub struct Stretches {
    /// The number of that which has ended with it, all of which was done command by command.
    pub ended: Option<u64>,
    /// The number of that which begins.
    pub begins: Option<u64>,
    /// All of it, if it was done before.
    pub known: Option<Arc<WriteStretch>>,
}

/// When the data of a host's commands are on its data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLatency {
    /// tCK from a WR until the host drives its burst.
    pub write_tck: u64,
    /// tCK from an RD until the host takes its burst.
    pub read_tck: u64,
}

/// What a host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStep {
    /// A command, with the burst of a WR.
    Command {
        /// When.
        at_tck: u64,
        /// The command: one of JEDEC's, and to no window of the module.
        pins: Pins,
        /// What a WR writes.
        written: Option<Beats>,
    },
    /// It leaves the pins.
    End {
        /// From here on.
        at_tck: u64,
    },
}

/// A host that moves whole bursts. It keeps bursts apart on its data bus, and the two directions of it.
pub trait BurstHost {
    /// When its data are on its data bus.
    fn latency(&self) -> HostLatency;

    /// What it does next, from a tCK on.
    fn next(&mut self, from_tck: u64) -> HostStep;

    /// What the RD that it did last has read.
    fn read(&mut self, beats: Beats);

    /// Writes that it would do next, from a tCK on, one after the other: none, or all of what [`next`](Self::next) would
    /// tell of these tCK. It has not done them with that.
    fn run(&mut self, _from_tck: u64) -> Option<WriteRun> {
        None
    }

    /// Does these writes, the last that [`run`](Self::run) told. Their bursts are written one by one, if data are asked
    /// for.
    fn take_run(&mut self, _run: &WriteRun, _written: Option<&mut dyn FnMut(&Beats)>) {}

    /// Asked behind each REF, where nobody keeps what is written: what it is between.
    fn stretches(&mut self) -> Stretches {
        Stretches::default()
    }

    /// Does all of the stretch that begins and is known. [`next`](Self::next) tells the REF behind it then.
    fn take_stretch(&mut self) {}
}
