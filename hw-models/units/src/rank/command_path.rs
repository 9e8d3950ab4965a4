// SPDX-License-Identifier: MIT
//! Owner of the command pins: rank controller and refresh manager, or the host.

use super::{
    RankController, RankControllerIn, RankControllerOut, RefreshManager, RefreshManagerIn,
    RefreshManagerOut,
};
use pimlico_dpa::types::{ArrayRequest, BusRequest, Mac, Options, PinCommand, Pins, Timing};
use pimlico_ports::{Model, Unit, ports};

ports! {
    /// The owner of the command pins.
    unit CommandPath: "command_path" {
        inputs CommandPathIn {
            /// Clock of the refresh manager: the core's, in memory mode as well.
            clk_core_i: bool,
            /// Clock of the controller: the core's, but not in memory mode.
            clk_pim_i: bool,
            /// First tCK of a cycle of the core.
            first_i: bool,
            /// Timings of the DRAM, in cycles of the core.
            timing_i: Timing,
            /// Options of the rank: refresh.
            options_i: Options,
            /// The rank stands still: the tCK does not exist for it.
            hold_i: bool,
            /// Memory mode: the host uses the chips as its memory.
            memory_i: bool,
            /// Memory mode: the host's command.
            host_pins_i: Pins,
            /// There is a request for the banks.
            array_valid_i: bool,
            /// The request for the banks.
            array_i: ArrayRequest,
            /// There is a request for the data bus.
            bus_valid_i: bool,
            /// The request for the data bus.
            bus_i: BusRequest,
            /// A head ends: REFs that were postponed are issued now.
            head_end_i: bool,
        }
        outputs CommandPathOut {
            /// The request for the banks is accepted.
            array_taken_o: bool,
            /// The request for the data bus is accepted.
            bus_taken_o: bool,
            /// The command pins: a command of the controller in the first tCK of a cycle of the core.
            pins_o: Pins,
            /// The controller's command, for a whole cycle of the core.
            command_o: Pins,
            /// What the bank PUs do with the controller's RD_ALL, else 0.
            mac_o: Mac,
            /// The request that the controller's RD_RESULT or WR_SHARED belongs to, else 0.
            transfer_o: BusRequest,
            /// A read could not be chosen for its row.
            lost_row_switch_o: bool,
            /// A read could not be chosen for a refresh.
            lost_refresh_o: bool,
            /// Nothing is queued.
            idle_o: bool,
            /// Nothing is queued, no REF is due and no bank is open.
            settled_o: bool,
        }
        probes CommandPathProbe {
            /// A REF is wanted, as the controller receives it.
            refresh_q: bool,
            /// A REF is wanted now, as the controller receives it.
            refresh_now_q: bool,
            /// In the cycle before, nothing was queued and no REF was due.
            quiet_q: bool,
            /// The banks that are open.
            open_q: u16,
        }
    }
}

/// The cycle model of the owner of the command pins.
///
#[doc = contract!("rank/command_path")]
#[derive(Clone)]
pub struct CommandPath {
    controller: RankController,
    refresh: RefreshManager<8, 256>,
    registers: CommandPathProbe,
    /// A REF has been on the pins in this cycle of the core.
    refreshed: bool,
}

impl Unit for CommandPath {
    const MODULE: &'static str = "command_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = CommandPathIn;
    type Out = CommandPathOut;
    type Probe = CommandPathProbe;
}

impl Model for CommandPath {
    fn new() -> Self {
        Self {
            controller: RankController::new(),
            refresh: RefreshManager::new(),
            registers: CommandPathProbe::default(),
            refreshed: false,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        self.registers
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let controller = self.controller.settle(&self.requests(input));
        let CommandPathProbe { quiet_q, open_q, .. } = self.registers;
        let accepts = !input.memory_i && !input.hold_i;
        CommandPathOut {
            array_taken_o: accepts && input.array_valid_i && controller.array_ready_o,
            bus_taken_o: accepts && input.bus_valid_i && controller.bus_ready_o,
            pins_o: match (input.hold_i, input.memory_i, input.first_i) {
                (false, true, _) => input.host_pins_i,
                (false, false, true) => controller.pins_o,
                _ => Pins::default(),
            },
            command_o: if accepts { controller.pins_o } else { Pins::default() },
            mac_o: controller.mac_o,
            transfer_o: controller.transfer_o,
            lost_row_switch_o: controller.lost_row_switch_o,
            lost_refresh_o: controller.lost_refresh_o,
            idle_o: controller.idle_o,
            settled_o: quiet_q && open_q == 0,
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let requests = self.requests(input);
        let RankControllerOut { idle_o, refresh_issued_o, .. } = self.controller.settle(&requests);
        self.refreshed = if input.memory_i {
            let host_refreshes = input.host_pins_i.command == PinCommand::Ref;
            host_refreshes || self.refreshed && !input.first_i
        } else {
            refresh_issued_o
        };
        self.registers.open_q =
            open_behind(self.registers.open_q, output.pins_o, input.timing_i.faw_banks.get());
        if input.clk_core_i {
            let RefreshManagerOut { refresh_o, force_o, owed_o } =
                self.refresh.step(&RefreshManagerIn {
                    enable_i: input.options_i.refresh,
                    refi_i: input.timing_i.refi,
                    head_end_i: input.head_end_i && !input.memory_i,
                    idle_i: idle_o || input.memory_i,
                    done_i: self.refreshed,
                });
            self.registers.refresh_q = refresh_o;
            self.registers.refresh_now_q = force_o;
            self.registers.quiet_q = idle_o && owed_o.get() == 0;
        }
        if input.clk_pim_i {
            self.controller.step(&requests);
        }
        output
    }
}

impl CommandPath {
    /// The controller's inputs.
    fn requests(&self, input: &CommandPathIn) -> RankControllerIn {
        RankControllerIn {
            timing_i: input.timing_i,
            array_valid_i: input.array_valid_i,
            array_i: input.array_i,
            bus_valid_i: input.bus_valid_i,
            bus_i: input.bus_i,
            refresh_i: self.registers.refresh_q,
            force_i: self.registers.refresh_now_q,
        }
    }
}

/// The banks that are open behind a command, of those that are open before it.
fn open_behind(open: u16, pins: Pins, faw_banks: u64) -> u16 {
    match pins.command {
        PinCommand::Pre => open & !(1 << pins.bank.get()),
        PinCommand::PreAll => 0,
        _ => open | pins.opens(faw_banks),
    }
}
