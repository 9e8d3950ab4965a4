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
//! It works in one of two ways, and its port to the host changes between them only when all banks are closed:
//!
//! * as **memory**: the host's own commands go to the chips, data pass the re-layout unit;
//! * as **processing in memory**: requests go to the rank controller, which owns the command pins.
//!
//! The refresh manager counts in both, so that no REF is lost in between; the rank controller stands
//! still while the host has the pins. It hears from the refresh manager a tCK late: a register is
//! between them.

mod bank_pus;
mod bursts;
mod control;
mod engine;
mod front;
mod functional;
mod host;
mod laps;
mod looking;
mod operands;
mod patience;
mod play;
mod read_out;
mod run;
mod sequencer;
mod slot;
mod slots;
mod softening;
mod softmax;
mod sums;
mod untimed;
mod waiting;
mod watch;
mod wave;

pub use engine::Rank;
pub use functional::FunctionalRank;
pub use watch::{UnitInput, UnitWatch};

use crate::bursts::BurstHost;
use crate::config::Config;
use crate::dimm::{Dimm, Onlooker};
use crate::dispatch::Made;
use crate::error::DeviceError;
use crate::laps::KnownLaps;
use crate::options::Options;
use crate::record::recorded;
use looking::Looking;
use pimlico_dpa::types::Pins;
use std::io;
use std::ops::Range;
use std::path::Path;
use wave::RankWave;

impl Dimm for Rank {
    fn config(&self) -> &Config {
        &self.config
    }

    fn options(&self) -> Options {
        self.options
    }

    #[expect(clippy::misnamed_getters, reason = "`tck` is that of the rank behind its port")]
    fn tck(&self) -> u64 {
        self.now
    }

    fn step(
        &mut self,
        pins: Pins,
        driven: [Option<u64>; 2],
        made: &mut dyn FnMut(Made),
    ) -> Result<[Option<u64>; 2], DeviceError> {
        self.step_tck(pins, driven, made)
    }

    fn pass(
        &mut self,
        host: &mut dyn Onlooker,
        made: &mut dyn FnMut(Made),
    ) -> Result<(), DeviceError> {
        self.pass(&mut Looking::of(host), made)
    }

    fn move_bursts(&mut self, host: &mut dyn BurstHost) -> bool {
        self.move_bursts(host)
    }

    fn leave_data_out(&mut self, known: &KnownLaps) {
        self.leave_data_out(known);
    }

    fn forget(&mut self, rows: Range<usize>) {
        self.forget(rows);
    }

    fn rows_held(&self) -> Option<usize> {
        Some(self.dram().held())
    }

    recorded!(now);

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        let cycle_ps = self.options.gear.tck() as u64 * self.config.tck_ps;
        self.wave = Some(RankWave::create(file, &mut *self.sums, cycle_ps)?);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.wave.take().map_or(Ok(()), RankWave::finish)
    }
}
