// SPDX-License-Identifier: MIT
//! The sequencer's ports.

use pimlico_ports::{U, ports};

ports! {
    /// A sequencer.
    unit Sequencer: "sequencer" {
        inputs SequencerIn {
            /// Rows of a bank.
            rows_i: U<17>,
            /// Columns of a row.
            columns_i: U<9>,
            /// tCK of a burst on the data bus.
            burst_i: u8,
            /// Sums are of 32 bits: two to a burst of the context, not four.
            wide_i: bool,
            /// A run starts.
            start_i: bool,
            /// The dispatcher's run has ended.
            done_i: bool,
            /// Bursts that the host has ready for WR_SHARED; 127 for more.
            operands_i: U<7>,
            /// A command from the dispatcher.
            dispatch_valid_i: bool,
            /// Its opcode.
            dispatch_kind_i: U<4>,
            /// Query head.
            dispatch_head_i: U<3>,
            /// Row of a MAC.
            dispatch_row_i: u16,
            /// Place in the score buffer, or among the partial sums.
            dispatch_place_i: U<18>,
            /// Column.
            dispatch_column_i: u8,
            /// Word of the shared buffers, or which results.
            dispatch_word_i: u8,
            /// Begins a sum, or a head; WR_SHARED: behind all MACs before it.
            dispatch_first_i: bool,
            /// Ends it.
            dispatch_last_i: bool,
            /// The first of an operator.
            dispatch_opens_i: bool,
            /// Tokens that there are.
            dispatch_tokens_i: U<20>,
            /// The array request is taken.
            array_taken_i: bool,
            /// The bus request is taken.
            bus_taken_i: bool,
            /// The finish is taken.
            finish_taken_i: bool,
            /// The weighing is taken.
            weigh_taken_i: bool,
            /// An RD_ALL is on the pins.
            read_i: bool,
            /// An RD_RESULT is.
            results_taken_i: bool,
            /// A word of the shared buffers is written.
            written_i: bool,
            /// The bank PUs have new results.
            results_i: bool,
            /// A score has been scaled.
            scaled_i: bool,
            /// A head can be weighed.
            finished_i: bool,
            /// There is a weight.
            weight_valid_i: bool,
            /// The weight.
            weight_i: u16,
            /// An element of the context has gone to the host.
            context_valid_i: bool,
            /// An output of a matrix has.
            output_valid_i: bool,
        }
        outputs SequencerOut {
            /// The dispatcher's command is taken if there is one.
            dispatch_ready_o: bool,
            /// What is wrong with the run; 0 for nothing.
            fault_o: U<4>,
            /// The run has ended, and all that was dispatched is done.
            done_o: bool,
            /// An array request.
            array_valid_o: bool,
            /// 1: all banks closed; 0: a column of every bank to its PU.
            array_close_o: bool,
            /// Row; 0 without a read, as what follows.
            array_row_o: u16,
            /// Column.
            array_column_o: u8,
            /// Word of the shared buffers.
            array_shared_o: u8,
            /// Accumulator mode of the bank PUs.
            array_accumulate_o: bool,
            /// Begins a sum.
            array_first_o: bool,
            /// Ends a sum.
            array_last_o: bool,
            /// The first of an operator.
            array_opens_o: bool,
            /// A bus request.
            bus_valid_o: bool,
            /// 1: WR_SHARED; 0: RD_RESULT.
            bus_write_o: bool,
            /// Word of the shared buffers, or which results.
            bus_address_o: u8,
            /// WR_SHARED: the host's next burst.
            bus_host_o: bool,
            /// WR_SHARED: four weights, for each chip alike; 0 for another request.
            bus_weights_o: u64,
            /// RD_RESULT: 0 scores, 1 outputs of a matrix, 2 context; 0 without one, as what follows.
            sum_kind_o: U<2>,
            /// Scores, context: query head.
            sum_head_o: U<3>,
            /// Scores: in the first chunk of their head. Context: begins a sum.
            sum_first_o: bool,
            /// Context: ends a sum.
            sum_last_o: bool,
            /// Scores: tokens that there are, 0 to 4.
            sum_tokens_o: U<3>,
            /// Place of the first in the score buffer; context: among the partial sums.
            sum_place_o: U<17>,
            /// Scores: they are kept.
            sum_keep_o: bool,
            /// Outputs, context: go on from a partial sum.
            sum_goes_on_o: bool,
            /// Outputs, context: complete; otherwise they become partial sums.
            sum_complete_o: bool,
            /// The scores of a head are complete.
            finish_valid_o: bool,
            /// Which head.
            finish_head_o: U<3>,
            /// A score in the buffer becomes a weight.
            weigh_valid_o: bool,
            /// Its place.
            weigh_place_o: U<17>,
            /// Its head.
            weigh_head_o: U<3>,
            /// A head ends: REFs that were postponed come now.
            head_end_o: bool,
        }
        probes SequencerProbe {
            /// A command is at the door.
            door_valid_q: bool,
            /// Sums that have ended among the MACs that have entered, modulo 256.
            ended_q: u8,
            /// Sums whose results have come, modulo 256.
            made_q: u8,
            /// Scores that are asked for and not in the score buffer.
            scores_q: U<10>,
            /// Elements of results that are asked for and have not come.
            elements_q: u16,
            /// Reciprocals under way.
            finishing_q: U<4>,
        }
    }
}
