// SPDX-License-Identifier: MIT
//! The dispatcher's ports.

use pimlico_dpa::types::{Dispatch, Load, RunEnd, Start, Status};
use pimlico_ports::{U, ports, stimulus::one_in};

ports! {
    /// A dispatcher.
    unit Dispatcher: "dispatcher" {
        inputs DispatcherIn {
            /// The host writes.
            load_valid_i: bool,
            /// The host's write.
            load_i: Load,
            /// A run is to start.
            start_valid_i: bool,
            /// The run that is to start.
            start_i: Start,
            /// The run is to stop.
            stop_i: bool => one_in(64),
            /// Words from the last `fetch_address_o` on, the first at the bottom.
            fetch_data_i: [u64; 2],
            /// Entry of the Va2Pa table at the last `table_address_o`.
            table_data_i: u16,
            /// The target accepts the command, if there is one.
            dispatch_ready_i: bool,
        }
        outputs DispatcherOut {
            /// The command buffer stores the host's data.
            command_write_o: bool,
            /// The Va2Pa table stores the host's data.
            table_write_o: bool,
            /// The host has written what does not fit.
            overflow_o: bool,
            /// A start is accepted, if there is one.
            start_ready_o: bool,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// Address of the first of the two words that are read.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Address of the entry that is read; 0 if none is.
            table_address_o: u16,
            /// There is a command.
            dispatch_valid_o: bool,
            /// The command; 0 if there is none.
            dispatch_o: Dispatch,
            /// The run ends.
            end_valid_o: bool,
            /// How and where the run ends; 0 if it does not.
            end_o: RunEnd,
            /// Status of each request.
            status_o: [Status; 16],
        }
        probes DispatcherProbe {
            /// A run is not over.
            busy_q: bool,
            /// Words of it are sequenced.
            running_q: bool,
            /// Words of the program.
            length_q: U<14>,
        }
    }
}
