// SPDX-License-Identifier: MIT
//! The hub's ports.

use pimlico_dpa::types::{
    AimEvents, AimWrite, BankSize, Fault, Load, Options, Pins, RunEnd, Start, Status, Timing,
};
use pimlico_ports::{U, ports};

ports! {
    /// A hub of AiM channels.
    unit AimHub: "aim_hub" {
        inputs AimHubIn {
            /// Timings of the DRAM, in cycles: see aim_channel.
            timing_i: Timing,
            /// From a command of one mode to the first of the other, in tCK; without a meaning with PINGPONG = 1.
            mode_change_i: u8,
            /// Options: refresh.
            options_i: Options,
            /// Size of a bank: rows and columns.
            size_i: BankSize,
            /// Factor of the scores in binary16.
            scale_i: u16,
            /// The host writes to the dispatcher: for an EPU cycle or more, as start_valid_i.
            load_valid_i: bool,
            /// The host's write: see dispatcher.
            load_i: Load,
            /// A run is to start.
            start_valid_i: bool,
            /// The run that is to start.
            start_i: Start,
            /// Words from the last fetch_address_o on, the first at the bottom.
            fetch_data_i: [u64; 2],
            /// The entry at the last table_address_o.
            table_data_i: u16,
            /// There is a word of the host for a filling.
            operand_valid_i: bool,
            /// The word of the host.
            operand_i: [u16; 16],
            /// The host writes a column of every channel.
            write_valid_i: bool,
            /// The column.
            write_i: AimWrite,
            /// Data of the next WR, by channel.
            write_data_i: [[u16; 16]; 2],
            /// By channel, the column of every bank, of the RD_ALL on the pins in the last cycle.
            cells_i: [[[u16; 16]; 16]; 2],
            /// The words read last from the GPR, by memory.
            gpr_data_i: [[u16; 16]; 2],
        }
        outputs AimHubOut {
            /// The host's write is accepted, if there is one.
            load_ready_o: bool,
            /// The command buffer takes the host's data.
            command_write_o: bool,
            /// The Va2Pa table takes the host's data.
            table_write_o: bool,
            /// The host has written more than fits.
            overflow_o: bool,
            /// A start is accepted.
            start_ready_o: bool,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// Address of the first of the two words that are read.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Address of the entry that is read; 0 if none is.
            table_address_o: u16,
            /// The program has ended.
            end_valid_o: bool,
            /// Status and address of the program's end, else 0.
            end_o: RunEnd,
            /// Status of each request.
            status_o: [Status; 16],
            /// Fault of the run.
            fault_o: Fault,
            /// The word of the host is accepted, if there is one.
            operand_ready_o: bool,
            /// The host's write is accepted, if there is one.
            write_ready_o: bool,
            /// The data of the next WR are taken.
            write_taken_o: bool,
            /// Memories of the GPR that are read.
            gpr_read_o: U<2>,
            /// The line that is read is one that results are added to.
            gpr_adds_o: bool,
            /// Line of the GPR that is read; 0 if none is.
            gpr_read_address_o: U<14>,
            /// Memories of the GPR that are written.
            gpr_write_o: U<2>,
            /// Line of the GPR that is written; 0 if none is.
            gpr_write_address_o: U<14>,
            /// What is written, by memory; 0 if nothing is.
            gpr_write_data_o: [[u16; 16]; 2],
            /// The command pins of every channel in the first slot.
            pins_o: Pins,
            /// The command pins of every channel in the second slot.
            bus_pins_o: Pins,
            /// The data lines of the channels are driven.
            dq_valid_o: bool,
            /// What is on the data lines of each channel, else 0.
            dq_o: [[u16; 16]; 2],
            /// Events of every channel.
            events_o: AimEvents,
            /// Nothing is under way.
            idle_o: bool,
            /// Nothing is under way, and a program has ended since the last start.
            over_o: bool,
            /// Nothing is under way, all banks are closed, and no REF is owed.
            settled_o: bool,
        }
        probes AimHubProbe {}
    }
}
