// SPDX-License-Identifier: MIT
//! A channel as its hardware makes it, in the place of the engine's controller and banks: units, or all of them as one design, whoever
//! executes them. The cell arrays are here.
//!
//! ```text
//! tCK           n          n + 1                      n + 2
//! command ────▶ pins ────▶ rows that are activated ─▶ cells
//!                          data of a WR               its column to the cells; the column of an RD
//! ```
//!
//! Every tCK is a cycle. What leaves the banks is put into the event that the engine has for it, which comes with the data bus.

use super::banks::Faults;
use super::events::Events;
use super::request::BurstData;
use super::sizes::{BANKS, BURST, GROUP};
use pimlico_ports::{Instances, Mismatch};
use pimlico_units::arith::Format;
use pimlico_units::channel::pim_channel::parts::{ChannelParts, InstanceParts};
use pimlico_units::channel::pim_channel::{BankRow, GroupRows};
use pimlico_units::channel::{
    ChannelControllerIn, ChannelControllerOut, PimChannel, PimChannelIn, PimChannelOut,
};
use std::collections::BTreeMap;

/// Results of all banks.
pub type AllResults = [u16; BANKS];
/// tCK from a dot product on the pins to its sum.
const SUM_TCK: u64 = 9;
/// tCK from an RD on the pins to its column.
const COLUMN_TCK: u64 = 2;
/// tCK from an RDRESULT on the pins to the results.
const RESULT_TCK: u64 = 1;

/// The hardware of a channel.
pub trait ChannelDesign {
    /// A cycle.
    fn cycle(
        &mut self,
        input: &PimChannelIn<AllResults>,
    ) -> Result<PimChannelOut<AllResults>, Box<Mismatch>>;
}

/// Its units, each for itself.
pub struct UnitDesign<A: Format> {
    /// Number of the channel: in a mismatch instances are counted over all of them.
    channel: usize,
    units: InstanceParts<A>,
    parts: ChannelParts<AllResults, A>,
}

impl<A: Format> UnitDesign<A> {
    /// Of units that have been reset: row buffers and PUs of 32 banks.
    pub fn new(channel: usize, units: InstanceParts<A>) -> Self {
        Self { channel, units, parts: ChannelParts::new() }
    }
}

impl<A: Format> ChannelDesign for UnitDesign<A> {
    fn cycle(
        &mut self,
        input: &PimChannelIn<AllResults>,
    ) -> Result<PimChannelOut<AllResults>, Box<Mismatch>> {
        self.parts.cycle(&mut self.units, input).map_err(|mut mismatch| {
            let module = mismatch.unit.split(':').next();
            let of_banks = matches!(module, Some("dual_row_buffer" | "bank_pu"));
            mismatch.instance += self.channel * if of_banks { BANKS } else { 1 };
            mismatch
        })
    }
}

/// All of them as one design.
pub struct WholeDesign<A: Format> {
    channel: usize,
    whole: Box<dyn Instances<PimChannel<AllResults, A>>>,
}

impl<A: Format> WholeDesign<A> {
    /// Of an instance that has been reset.
    pub fn new(channel: usize, whole: Box<dyn Instances<PimChannel<AllResults, A>>>) -> Self {
        Self { channel, whole }
    }
}

impl<A: Format> ChannelDesign for WholeDesign<A> {
    fn cycle(
        &mut self,
        input: &PimChannelIn<AllResults>,
    ) -> Result<PimChannelOut<AllResults>, Box<Mismatch>> {
        let mut output = [PimChannelOut::default()];
        self.whole.step(std::slice::from_ref(input), &mut output).map_err(|mut mismatch| {
            mismatch.instance += self.channel;
            mismatch
        })?;
        let [output] = output;
        Ok(output)
    }
}

/// Times between what leaves the banks and the event that it is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ways {
    pub(super) cl: u64,
    pub(super) burst: u64,
    pub(super) latency: u64,
}

/// A design with its cell arrays.
pub(super) struct Hardware {
    design: Box<dyn ChannelDesign>,
    ways: Ways,
    /// Rows that were written, by bank and row; all others are zero.
    cells: BTreeMap<(usize, u64), Box<BankRow>>,
    cells_in: Box<GroupRows>,
    /// Data of the WR in the last tCK.
    data: BurstData,
    faults: Faults,
}

impl Hardware {
    pub(super) fn new(design: Box<dyn ChannelDesign>, ways: Ways) -> Self {
        Self {
            design,
            ways,
            cells: BTreeMap::new(),
            cells_in: Box::default(),
            data: [0; BURST],
            faults: Faults::default(),
        }
    }

    /// What could not be obeyed, and what did not come in its time.
    pub(super) fn faults(&self) -> Faults {
        self.faults
    }

    /// A WR is on the pins.
    pub(super) fn write(&mut self, data: &BurstData) {
        self.data = *data;
    }

    /// A tCK. What leaves the banks goes to its event.
    pub(super) fn step(
        &mut self,
        tck: u64,
        input: &ChannelControllerIn,
        events: &mut Events,
    ) -> Result<ChannelControllerOut, Box<Mismatch>> {
        let input = PimChannelIn {
            mem_data_i: std::array::from_fn(|n| {
                (0..4).map(|e| u64::from(self.data[4 * n + e]) << (16 * e)).sum()
            }),
            cells_i: *self.cells_in,
            ..PimChannelIn::of_controller(input)
        };
        let output = self.design.cycle(&input)?;
        self.faults.same_row += u64::from(output.conflict_o);
        self.faults.stale += u64::from(output.stale_o);
        self.faults.closed += u64::from(output.misuse_o);
        self.faults.results += u64::from(output.overrun_o);
        self.restore(&output);
        self.activate(&output);
        self.tell(tck, &output, events);
        Ok(output.controller())
    }

    /// A column is written.
    fn restore(&mut self, output: &PimChannelOut<AllResults>) {
        if output.restore_o {
            let place = (output.restore_bank_o.get() as usize, output.restore_row_o.get());
            let row = self.cells.entry(place).or_default();
            let first = 2 * output.restore_column_o.get() as usize;
            row[first..first + 2].as_flattened_mut().copy_from_slice(&output.restore_data_o);
        }
    }

    /// The rows that come in the next cycle.
    fn activate(&mut self, output: &PimChannelOut<AllResults>) {
        if !output.activate_o {
            return;
        }
        let (first, row) = (output.activate_bank_o.get() as usize, output.activate_row_o.get());
        let banks = if output.activate_pim_o { GROUP } else { 1 };
        for bank in first..first + banks {
            let cells = self.cells.get(&(bank, row));
            self.cells_in[bank % GROUP] = cells.map_or([[0; 4]; 32], |cells| **cells);
        }
    }

    fn tell(&mut self, tck: u64, output: &PimChannelOut<AllResults>, events: &mut Events) {
        let Ways { cl, burst, latency } = self.ways;
        let of_pins = |after: u64, way: u64| (tck + way + burst).saturating_sub(after);
        if output.read_o {
            let data =
                std::array::from_fn(|n| (output.read_data_o[n / 4] >> (16 * (n % 4))) as u16);
            let due = of_pins(COLUMN_TCK, cl);
            match events.data_at(due) {
                Some(place) => *place = data,
                None => self.faults.closed += 1,
            }
        }
        let from_pus = [
            (output.gemv_results_o, of_pins(SUM_TCK, latency)),
            (output.read_results_o, of_pins(RESULT_TCK, cl)),
        ];
        for (_, due) in from_pus.into_iter().filter(|(is, _)| *is) {
            match events.results_at(due) {
                Some(place) => *place = output.results_o,
                None => self.faults.results += 1,
            }
        }
        // A burst of results has its event, and the event its burst.
        let has_event = events.results_at(tck + burst).is_some();
        self.faults.results += u64::from(output.burst_o != has_event);
    }
}
