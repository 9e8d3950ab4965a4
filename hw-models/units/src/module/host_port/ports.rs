// SPDX-License-Identifier: MIT
//! The host port's ports.

use pimlico_dpa::types::{
    Beat, Burst, DramPins, Fault, Load, Pins, RankResults, RunEnd, Start, Status, Timing,
};
use pimlico_ports::{U, ports};

ports! {
    /// A host port.
    unit HostPort: "host_port" {
        inputs HostPortIn {
            /// Timings of the DRAM, in tCK: CL, CWL, tRP and tRFC are used.
            timing_i: Timing,
            /// The host's command pins.
            host_pins_i: DramPins,
            /// A beat of the host's data bus.
            host_dq_i: Beat,
            /// The module drives the host's data bus.
            module_dq_valid_i: bool,
            /// The beat that the module drives, else 0.
            module_dq_i: Beat,
            /// The host has written more to the dispatcher than fits.
            overflow_i: bool,
            /// The program has ended.
            end_valid_i: bool,
            /// Status and address of the program's end, else 0.
            end_i: RunEnd,
            /// Status of each request.
            status_i: [Status; 16],
            /// Fault of the run.
            fault_i: Fault,
            /// Everything that the run dispatched is done.
            over_i: bool,
            /// Nothing is in flight in the rank, and all banks are closed.
            settled_i: bool,
            /// A REF is on the chips' pins.
            refresh_i: bool,
            /// The operand is taken.
            operand_taken_i: bool,
            /// Scores, weights, context and outputs of the cycle of the core.
            results_i: RankResults,
        }
        outputs HostPortOut {
            /// Memory mode: the host's commands reach the chips, or none does.
            memory_o: bool,
            /// The host owns the chips' command pins: its data reach them.
            owns_o: bool,
            /// Memory mode: the host's command for the chips.
            pins_o: Pins,
            /// The host's data bus is driven.
            host_dq_valid_o: bool,
            /// A beat on the host's data bus, else 0.
            host_dq_o: Beat,
            /// The dispatcher is written.
            load_valid_o: bool,
            /// What is written, else 0.
            load_o: Load,
            /// A run starts.
            start_valid_o: bool,
            /// The run that starts, else 0.
            start_o: Start,
            /// Factor of the scores in binary16, of the last START.
            scale_o: u16,
            /// Operands that the run has not taken yet; 127 for more.
            operands_o: U<7>,
            /// The next operand is there.
            operand_valid_o: bool,
            /// The burst at the head of the queue.
            operand_o: Burst,
        }
        probes HostPortProbe {}
    }
}
