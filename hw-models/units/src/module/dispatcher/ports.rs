// SPDX-License-Identifier: MIT
//! The dispatcher's ports.

use pimlico_ports::{U, ports, stimulus::one_in};

ports! {
    /// A dispatcher.
    unit Dispatcher: "dispatcher" {
        inputs DispatcherIn {
            /// The host writes.
            load_valid_i: bool,
            /// What it writes.
            load_kind_i: U<3>,
            /// Where.
            load_address_i: u16,
            /// The data.
            load_data_i: u64,
            /// A run is to start.
            start_valid_i: bool,
            /// Its request.
            start_request_i: U<4>,
            /// Its first word.
            start_address_i: U<14>,
            /// The run is to stop.
            stop_i: bool => one_in(64),
            /// Words from the last `fetch_address_o` on, the first at the bottom.
            fetch_data_i: [u64; 4],
            /// The entry at the last `table_address_o`.
            table_data_i: u16,
            /// The target takes the command if there is one.
            dispatch_ready_i: bool,
        }
        outputs DispatcherOut {
            /// The command buffer takes the host's data.
            command_write_o: bool,
            /// The Va2Pa table takes the host's data.
            table_write_o: bool,
            /// The host has written what does not fit.
            overflow_o: bool,
            /// A start is taken if there is one.
            start_ready_o: bool,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// First of the four words.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Its entry.
            table_address_o: u16,
            /// A command.
            dispatch_valid_o: bool,
            /// Its opcode.
            dispatch_kind_o: U<4>,
            /// Whose row it is.
            dispatch_request_o: U<4>,
            /// Query head.
            dispatch_head_o: U<3>,
            /// Row of a MAC, 0 for others.
            dispatch_row_o: u16,
            /// Place in the score buffer, 0 for a MAC.
            dispatch_place_o: U<18>,
            /// Column.
            dispatch_column_o: u8,
            /// Word of the shared buffers, or bus address.
            dispatch_word_o: u8,
            /// Begins a sum, or a head.
            dispatch_first_o: bool,
            /// Ends it.
            dispatch_last_o: bool,
            /// The first of an operator.
            dispatch_opens_o: bool,
            /// Tokens of the present repetition of the innermost loop over tokens, or T_cur.
            dispatch_tokens_o: U<20>,
            /// The run has ended.
            done_o: bool,
            /// How.
            done_status_o: U<4>,
            /// At which word.
            done_address_o: U<14>,
            /// Status of each request.
            status_o: [U<4>; 16],
        }
        probes DispatcherProbe {
            /// Address of the first word at `fetch_data_i`.
            pc_q: U<14>,
            /// Loops that run.
            depth_q: U<3>,
            /// Words of the program.
            length_q: U<14>,
        }
    }
}
