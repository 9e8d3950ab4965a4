// SPDX-License-Identifier: MIT
//! The sequencer's ports.

use pimlico_dpa::types::{
    ArrayRequest, BankSize, BusRequest, Dispatch, Fault, Finish, RankEvents, Weigh,
};
use pimlico_ports::{U, ports};

ports! {
    /// A sequencer.
    unit Sequencer: "sequencer" {
        inputs SequencerIn {
            /// Size of a bank.
            size_i: BankSize,
            /// Cycles from one RD_RESULT to the next, 1 or more: of a burst on the data bus, or tCCD_RESULT.
            burst_i: u8,
            /// Sums have 32 bits: a burst of the context holds two of them, not four.
            wide_i: bool,
            /// A run starts.
            start_i: bool,
            /// The dispatcher's run has ended.
            done_i: bool,
            /// Bursts of the host for WR_SHARED that are still to be taken; 127 for more.
            operands_i: U<7>,
            /// The host's next burst is there. Once set, it is set until that burst is taken.
            operand_valid_i: bool,
            /// There is a command from the dispatcher.
            dispatch_valid_i: bool,
            /// The command from the dispatcher.
            dispatch_i: Dispatch,
            /// What happens in the rank in this cycle.
            events_i: RankEvents,
        }
        outputs SequencerOut {
            /// The dispatcher's command is accepted, if there is one.
            dispatch_ready_o: bool,
            /// The first fault of the run.
            fault_o: Fault,
            /// The run has ended, and all that was dispatched is done.
            done_o: bool,
            /// There is an array request.
            array_valid_o: bool,
            /// The array request; 0 if there is none.
            array_o: ArrayRequest,
            /// There is a bus request.
            bus_valid_o: bool,
            /// The bus request; 0 if there is none.
            bus_o: BusRequest,
            /// There is a query head whose scores are complete.
            finish_valid_o: bool,
            /// The query head whose scores are complete; 0 if there is none.
            finish_o: Finish,
            /// There are scores in the buffer that become a word of weights.
            weigh_valid_o: bool,
            /// The scores that become a word of weights; 0 if there are none.
            weigh_o: Weigh,
            /// The oldest complete word of weights is dropped.
            weights_drop_o: bool,
            /// A head ends: postponed REFs are made up for.
            head_end_o: bool,
        }
        probes SequencerProbe {
            /// There is a decoded command, whose table has been read.
            look_valid_q: bool,
            /// There is a command that may enter its queue.
            command_valid_q: bool,
            /// Sums that have ended among the MACs that have entered, modulo 256.
            ended_q: u8,
            /// Sums whose results are there, modulo 256.
            made: u8,
            /// Elements of results that are requested and not there yet.
            elements_q: u16,
        }
    }
}
