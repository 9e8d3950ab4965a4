// SPDX-License-Identifier: MIT
//! The channel's ports.

use pimlico_dpa::types::{AimCommand, AimEvents, Options, Pins, Timing};
use pimlico_ports::{U, ports};

ports! {
    /// A channel of an AiM.
    unit AimChannel: "aim_channel" {
        inputs AimChannelIn {
            /// Timings of the DRAM, in cycles.
            timing_i: Timing,
            /// From a command of one mode to the first of the other, in tCK; without a meaning with PINGPONG = 1.
            mode_change_i: u8,
            /// Options: refresh.
            options_i: Options,
            /// There is a command.
            command_valid_i: bool,
            /// The command.
            command_i: AimCommand,
            /// Words that are there for WR_SHAREDs, 0 to 32.
            operands_i: U<6>,
            /// The next of them.
            operand_i: [u16; 16],
            /// Data of the next WR.
            write_i: [u16; 16],
            /// The column of every bank, of the RD_ALL on the pins in the last cycle.
            cells_i: [[u16; 16]; 16],
        }
        outputs AimChannelOut {
            /// The queue of the command has room.
            command_ready_o: bool,
            /// The next word is on the data lines.
            operand_taken_o: bool,
            /// The data of the next WR are on the data lines.
            write_taken_o: bool,
            /// Results are on the data lines.
            result_valid_o: bool,
            /// The data lines are driven.
            dq_valid_o: bool,
            /// What is on the data lines, else 0.
            dq_o: [u16; 16],
            /// The command pins in the first slot.
            pins_o: Pins,
            /// The command pins in the second slot.
            bus_pins_o: Pins,
            /// Events of the cycle.
            events_o: AimEvents,
            /// Nothing is under way.
            idle_o: bool,
            /// Nothing is under way, all banks are closed, and no REF is owed.
            settled_o: bool,
        }
        probes AimChannelProbe {}
    }
}
