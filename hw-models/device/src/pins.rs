// SPDX-License-Identifier: MIT
//! The pins of chips and host, for those who watch them.

use crate::bursts::{Stretches, WriteRun, WriteStretch};
use crate::data_bus::Beats;
use pimlico_dpa::types::Pins;

/// Who drives the chips' data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusDriver {
    /// The chips: read data and results.
    Chips,
    /// The buffer chip: write data and operands.
    BufferChip,
}

/// Laps of a run in which the chips' pins have the same, but for rows, so many tCK later each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinLaps {
    /// No others have this number.
    pub number: u64,
    /// Where the first begins.
    pub from_tck: u64,
    /// Of each.
    pub tck: u64,
    /// How many there are, one at least.
    pub count: u64,
    /// REFs in all of them.
    pub refs: Vec<u64>,
    /// There are other laps behind them.
    pub goes_on: bool,
}

/// RDs of a host at equal distances, for all of which the module drives the same on the host's data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// The first of them.
    pub from_tck: u64,
    /// From one to the next: not before the data of the one before are over.
    pub every_tck: u64,
    /// How many there are.
    pub count: u64,
    /// The RD.
    pub pins: Pins,
    /// What each gives.
    pub beats: Beats,
}

/// Watches the chips' pins, and those of the host of an L3 module.
pub trait PinWatch {
    /// A command.
    fn command(&mut self, at_tck: u64, pins: Pins);

    /// All-bank RDs at equal distances, the first in this tCK, with no other command on the chips' pins between them. All data of
    /// earlier commands that are over by the first of them are told before, and none until the last.
    fn reads(&mut self, from_tck: u64, every_tck: u64, reads: &[Pins]) {
        (0..).zip(reads).for_each(|(n, read)| self.command(from_tck + n * every_tck, *read));
    }

    /// Data were on the bus, from one tCK until before another.
    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver);

    /// A command on the host's pins, reported before those on the chips' pins in the same tCK.
    fn host_command(&mut self, _at_tck: u64, _pins: Pins) {}

    /// Whether it is told of the host's data bus beat by beat ([`host_data`](Self::host_data)), whatever that costs.
    /// Else it may be told of whole bursts ([`host_burst`](Self::host_burst)).
    fn wants_beats(&self) -> bool {
        true
    }

    /// A whole burst on the host's data bus, which the module drives if it is `read`. It is told in its last tCK, in
    /// place of what [`host_data`](Self::host_data) tells of its beats.
    fn host_burst(&mut self, _from_tck: u64, _beats: &Beats, _read: bool) {}

    /// Whether it is to be told of a run of writes as a whole ([`writes`](Self::writes)).
    fn takes(&mut self, _run: &WriteRun) -> bool {
        false
    }

    /// A run of writes that it [takes](Self::takes), in place of its commands and data on either side: the host's data are
    /// on its bus from `host_tck` on, those of the chips on theirs from `chips_tck` on, without a pause. It is told with the
    /// first of them, behind all data of earlier commands, be they over or not.
    fn writes(&mut self, _run: &WriteRun, _host_tck: u64, _chips_tck: u64) {}

    /// Told behind a REF in this tCK: what that is between. Whether nothing would be found in all of the stretch that begins,
    /// as nothing was found in one of its number that has ended. Then it may be told of it as a whole
    /// ([`stretch`](Self::stretch)).
    fn knows(&mut self, _at_tck: u64, _stretches: &Stretches) -> bool {
        false
    }

    /// A stretch that it [knows](Self::knows), in place of its commands and data.
    fn stretch(&mut self, _stretch: &WriteStretch) {}

    /// Whether it may be told of laps of a run behind what is on the host's pins meanwhile; but before all else that is on the
    /// chips' pins behind them. Then it is told of [`laps`](Self::laps) and of [`looks`](Self::looks).
    fn takes_laps(&self) -> bool {
        false
    }

    /// Told where laps begin. How many of them it takes as a whole, as nothing would be found in them: all, if others come behind
    /// them, else all but the last at the most. It is told of the others command by command.
    fn laps(&mut self, _laps: &PinLaps) -> u64 {
        0
    }

    /// Looks of a host that does nothing else meanwhile: in place of [`host_command`](Self::host_command) and
    /// [`host_burst`](Self::host_burst) for each. The first of the data comes so many tCK behind its RD.
    fn looks(&mut self, looks: &Looks, data_tck: u64) {
        for at_tck in (0..looks.count).map(|n| looks.from_tck + n * looks.every_tck) {
            self.host_command(at_tck, looks.pins);
            self.host_burst(at_tck + data_tck, &looks.beats, true);
        }
    }

    /// The two beats of a tCK on the host's data bus: what the host drives, and what the module drives. It is told for
    /// every tCK, behind its commands, but for those of [`host_burst`](Self::host_burst) and those without data.
    fn host_data(&mut self, _at_tck: u64, _driven: [Option<u64>; 2], _seen: [Option<u64>; 2]) {}
}
