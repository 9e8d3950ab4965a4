// SPDX-License-Identifier: MIT
//! Who owns the command pins while there is processing in memory: the rank controller, and the refresh
//! manager at its side.
//!
//! The controller hears from the refresh manager a tCK late: a register is between them.

use crate::accounts::Cause;
use crate::command::{DramCommand, Results};
use crate::config::Timing;
use crate::options::Activation;
use pimlico_dpa::types::{self, ArrayKind, PinCommand, Pins};
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::rank::{
    RankController, RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn,
    RefreshManagerOut,
};

/// A request at the controller's array port.
#[derive(Clone, Copy, Debug)]
pub struct ArrayPort {
    pub kind: ArrayKind,
    pub bank: usize,
    pub row: usize,
    pub column: usize,
}

impl ArrayPort {
    /// For all banks.
    pub fn all_banks(kind: ArrayKind, row: usize, column: usize) -> Self {
        Self { kind, bank: 0, row, column }
    }
}

/// A request at the controller's bus port.
#[derive(Clone, Copy, Debug)]
pub enum BusPort {
    /// A word of the shared buffers.
    WrShared { word: usize },
    /// Results, by their address.
    RdResult { address: usize },
}

/// What the controller is asked for in a tCK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub array: Option<ArrayPort>,
    pub bus: Option<BusPort>,
    /// A head ends here: REFs that were postponed come now.
    pub head_end: bool,
}

/// What it has taken.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    pub array: bool,
    pub bus: bool,
}

/// Rank controller and refresh manager.
pub struct Control {
    rank_controller: Box<dyn Instances<RankController>>,
    /// Its inputs without a request.
    controls: RankControllerIn,
    controlled: RankControllerOut,
    refresh_manager: Box<dyn Instances<RefreshManager>>,
    /// Its inputs without an event.
    refresh_controls: RefreshManagerIn,
    refresh: RefreshManagerOut,
}

impl Control {
    /// Both, reset.
    pub fn new(
        timing: &Timing,
        activation: Activation,
        refresh: bool,
        rank_controller: Box<dyn Instances<RankController>>,
        refresh_manager: Box<dyn Instances<RefreshManager>>,
    ) -> Self {
        Self {
            rank_controller,
            controls: controls(timing, activation),
            controlled: RankControllerOut::default(),
            refresh_manager,
            refresh_controls: RefreshManagerIn {
                enable_i: refresh,
                refi_i: U::new(timing.refi_tck),
                ..Default::default()
            },
            refresh: RefreshManagerOut::default(),
        }
    }

    /// One tCK.
    pub fn step(&mut self, asked: &Asked) -> Result<Taken, Box<Mismatch>> {
        let mut input = RankControllerIn {
            refresh_i: self.refresh.refresh_o,
            force_i: self.refresh.force_o,
            ..self.controls
        };
        if let Some(ArrayPort { kind, bank, row, column }) = asked.array {
            input.array_valid_i = true;
            input.array_i = types::ArrayRequest {
                kind,
                bank: U::new(bank as u64),
                row: row as u16,
                column: column as u8,
                ..Default::default()
            };
        }
        match asked.bus {
            Some(BusPort::WrShared { word }) => {
                input.bus_valid_i = true;
                input.bus_i.write = true;
                input.bus_i.address = word as u8;
            }
            Some(BusPort::RdResult { address }) => {
                input.bus_valid_i = true;
                input.bus_i.address = address as u8;
            }
            None => {}
        }
        self.rank_controller.step(&[input], std::slice::from_mut(&mut self.controlled))?;
        let RankControllerOut { idle_o, refresh_issued_o, .. } = self.controlled;
        self.step_refresh_manager(asked.head_end, idle_o, refresh_issued_o)?;
        Ok(Taken {
            array: input.array_valid_i && self.controlled.array_ready_o,
            bus: input.bus_valid_i && self.controlled.bus_ready_o,
        })
    }

    /// One tCK in which somebody else has the pins; `refreshed` if a REF is on them.
    pub fn stand_still(&mut self, refreshed: bool) -> Result<(), Box<Mismatch>> {
        self.step_refresh_manager(false, true, refreshed)
    }

    fn step_refresh_manager(
        &mut self,
        head_end: bool,
        idle: bool,
        done: bool,
    ) -> Result<(), Box<Mismatch>> {
        let input = RefreshManagerIn {
            head_end_i: head_end,
            idle_i: idle,
            done_i: done,
            ..self.refresh_controls
        };
        self.refresh_manager.step(&[input], std::slice::from_mut(&mut self.refresh))
    }

    /// What the controller has on the pins.
    pub fn command(&self) -> Option<DramCommand> {
        let Pins { command, bank, row, column } = self.controlled.pins_o;
        let bank = bank.get() as usize;
        let (row, column) = (usize::from(row), usize::from(column));
        Some(match command {
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

    /// Why no all-bank RD is on the pins, as far as the controller knows.
    pub fn cause(&self) -> Option<Cause> {
        Cause::of(&self.controlled)
    }

    /// The controller's ports.
    pub fn controller(&self) -> &RankControllerOut {
        &self.controlled
    }

    /// The refresh manager's ports.
    pub fn refresh(&self) -> &RefreshManagerOut {
        &self.refresh
    }

    /// Whether nothing is queued and no REF owed.
    pub fn is_settled(&self) -> bool {
        self.controlled.idle_o && self.refresh.owed_o.get() == 0
    }
}

/// The rank controller's inputs without a request: its configuration.
///
/// # Panics
///
/// If a time is longer than the controller counts: see [`Config::check_rank`].
pub fn controls(timing: &Timing, activation: Activation) -> RankControllerIn {
    let byte = |tck: u64| tck.try_into().expect("checked with the configuration");
    let timing_i = types::Timing {
        ccd_s: byte(timing.ccd_s_tck),
        ccd_l: byte(timing.ccd_l_tck),
        rrd_s: byte(timing.rrd_s_tck),
        rrd_l: byte(timing.rrd_l_tck),
        rcd: byte(timing.rcd_tck),
        rcd_wr: byte(timing.rcd_wr_tck),
        rcd_mac: byte(timing.rcd_mac_tck),
        ras: byte(timing.ras_tck),
        rp: byte(timing.rp_tck),
        rc: byte(timing.rc_tck),
        rtp: byte(timing.rtp_tck),
        faw: byte(timing.faw_tck),
        rd_to_wr: byte(timing.rd_to_wr_tck()),
        wr_to_rd_s: byte(timing.wr_to_rd_s_tck()),
        wr_to_rd_l: byte(timing.wr_to_rd_l_tck()),
        wr_to_pre: byte(timing.wr_to_pre_tck()),
        cl: byte(timing.cl_tck),
        cwl: byte(timing.cwl_tck),
        rfc: timing.rfc_tck.try_into().expect("checked with the configuration"),
        refi: U::new(timing.refi_tck),
    };
    let staggered_i = activation == Activation::Staggered;
    RankControllerIn { timing_i, staggered_i, ..Default::default() }
}
