// SPDX-License-Identifier: MIT
//! A module with a rank, as one design: dispatcher, sequencer, eight chips with PUs at their banks, and the
//! rank PU.
//!
//! These are the ports of `rtl/module/pim_module.sv`, whose header is the contract, and the probes are in
//! its `pim_rank`. What it does has no twin in this crate: it is the device's `Rank`, and the bench compares
//! the two.
//!
//! A cycle of this unit is a beat on the data bus, half a tCK.

use pimlico_ports::{U, Unit, UnitInfo, ports};

ports! {
    /// A module with a rank.
    unit PimModule: "pim_module" {
        inputs PimModuleIn {
            /// tCCD_S.
            ccd_s_i: u8,
            /// tCCD_L, and so the slot of the bank PUs.
            ccd_l_i: u8,
            /// tRRD_S.
            rrd_s_i: u8,
            /// tRRD_L.
            rrd_l_i: u8,
            /// tRCD of RD.
            rcd_i: u8,
            /// tRCD of WR.
            rcd_wr_i: u8,
            /// tRCD of RD_ALL.
            rcd_mac_i: u8,
            /// tRAS.
            ras_i: u8,
            /// tRP.
            rp_i: u8,
            /// tRTP.
            rtp_i: u8,
            /// From RD to WR.
            rd_to_wr_i: u8,
            /// From WR to RD of another bank group.
            wr_to_rd_s_i: u8,
            /// From WR to RD of the same bank group.
            wr_to_rd_l_i: u8,
            /// From WR to PRE.
            wr_to_pre_i: u8,
            /// tFAW.
            faw_i: u8,
            /// tRC.
            rc_i: u8,
            /// tRFC.
            rfc_i: u16,
            /// 1: a row is opened bank by bank; 0: by one ACT_ALL.
            staggered_i: bool,
            /// CL.
            cl_i: u8,
            /// CWL.
            cwl_i: u8,
            /// Refresh is on.
            refresh_enable_i: bool,
            /// tREFI.
            refi_i: U<20>,
            /// Factor of the scores.
            scale_i: u16,
            /// Rows of a bank.
            bank_rows_i: U<17>,
            /// Columns of a row.
            bank_columns_i: U<9>,
            /// The host has the pins: all stands still but the refresh manager.
            memory_i: bool,
            /// Memory: the host's command is a REF.
            memory_refresh_i: bool,
            /// The host writes to the module: see dispatcher.
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
            /// Words from the last fetch_address_o on, the first at the bottom.
            fetch_data_i: [u64; 4],
            /// The entry at the last table_address_o.
            table_data_i: u16,
            /// Bursts that the host has ready for WR_SHARED; 127 for more.
            operands_i: U<7>,
            /// The first of them, in its order.
            operand_i: [u64; 8],
            /// In the tCK of an RD_ALL: the column, of each bank and chip.
            rows_i: [[u64; 8]; 16],
            /// Results of banks whose PU is not built, of each bank and chip.
            unbuilt_results_i: [[u64; 8]; 16],
        }
        outputs PimModuleOut {
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
            /// The program has ended.
            ended_o: bool,
            /// How.
            ended_status_o: U<4>,
            /// At which word.
            ended_address_o: U<14>,
            /// Status of each request.
            status_o: [U<4>; 16],
            /// What is wrong with the run: see sequencer.
            fault_o: U<4>,
            /// The run is over: all that it dispatched is done, and all banks are closed or going to be.
            over_o: bool,
            /// The host's burst is taken.
            operand_taken_o: bool,
            /// Command on the pins, as of rank_controller.
            command_o: U<4>,
            /// Its bank.
            bank_o: U<4>,
            /// Its row.
            row_o: u16,
            /// Its column.
            column_o: u8,
            /// Somebody drives the data bus.
            dq_valid_o: bool,
            /// A beat on the data bus, which is pulled up.
            dq_o: u64,
            /// The array request is taken.
            array_taken_o: bool,
            /// The bus request is taken.
            bus_taken_o: bool,
            /// The finish is taken.
            finish_taken_o: bool,
            /// The weighing is taken.
            weigh_taken_o: bool,
            /// An RD_ALL is on the pins.
            read_o: bool,
            /// An RD_RESULT is.
            results_taken_o: bool,
            /// A word of the shared buffers is written.
            written_o: bool,
            /// The bank PUs have new results.
            results_o: bool,
            /// There is a score, before scaling.
            score_valid_o: bool,
            /// The score; 0 if there is none, as those below.
            score_o: u16,
            /// A score has been scaled.
            scaled_o: bool,
            /// A head can be weighed.
            finished_o: bool,
            /// There is a weight.
            weight_valid_o: bool,
            /// The weight.
            weight_o: u16,
            /// There is an element of the context.
            context_valid_o: bool,
            /// The element.
            context_o: u16,
            /// There is an output of a matrix.
            output_valid_o: bool,
            /// The output.
            output_o: u16,
            /// The controller has nothing queued.
            idle_o: bool,
            /// A read could not be chosen for its row.
            lost_row_switch_o: bool,
            /// A read could not be chosen for a refresh.
            lost_refresh_o: bool,
        }
        probes PimModuleProbe {
            /// An array request.
            array_valid_i: bool,
            /// 1: all banks closed; 0: a column of every bank to its PU.
            array_close_i: bool,
            /// Row.
            array_row_i: u16,
            /// Column.
            array_column_i: u8,
            /// Word of the shared buffers.
            array_shared_i: u8,
            /// Accumulator mode of the bank PUs.
            array_accumulate_i: bool,
            /// Begins a sum.
            array_first_i: bool,
            /// Ends a sum.
            array_last_i: bool,
            /// A bus request.
            bus_valid_i: bool,
            /// 1: WR_SHARED; 0: RD_RESULT.
            bus_write_i: bool,
            /// Word of the shared buffers, or which results.
            bus_address_i: u8,
            /// WR_SHARED: the burst is the host's, in its order.
            bus_host_i: bool,
            /// WR_SHARED: the beats of the host, or 64 bits for each chip.
            bus_data_i: [u64; 8],
            /// RD_RESULT: 0 scores, 1 outputs of a matrix, 2 context.
            sum_kind_i: U<2>,
            /// Scores, context: query head.
            sum_head_i: U<3>,
            /// Scores: in the first chunk of their head. Context: begins a sum.
            sum_first_i: bool,
            /// Context: ends a sum.
            sum_last_i: bool,
            /// Scores: tokens that there are, 0 to 4.
            sum_tokens_i: U<3>,
            /// Place of the first in the score buffer; context: among the partial sums.
            sum_place_i: U<17>,
            /// Scores: they are kept.
            sum_keep_i: bool,
            /// Outputs, context: go on from a partial sum.
            sum_goes_on_i: bool,
            /// Outputs, context: complete; otherwise they become partial sums.
            sum_complete_i: bool,
            /// The scores of a head are complete.
            finish_valid_i: bool,
            /// Which head.
            finish_head_i: U<3>,
            /// A score in the buffer becomes a weight.
            weigh_valid_i: bool,
            /// Its place.
            weigh_place_i: U<17>,
            /// Its head.
            weigh_head_i: U<3>,
            /// A head ends: REFs that were postponed come now.
            head_end_i: bool,
            /// The refresh manager wants a REF, where it does no harm.
            refresh_wanted: bool,
            /// It wants one now.
            refresh_forced: bool,
            /// REFs that are due.
            refresh_owed: U<4>,
            /// A word of the shared buffer is written, in each chip.
            shared_written: u8,
            /// Which; 0 if none is, as what follows.
            written_word: [u8; 8],
            /// What it gets.
            shared_data: [u64; 8],
            /// The PUs' beat, in each chip: bit 0 valid, 1 accumulator mode, 2 first, 3 last.
            pu_beat: [U<4>; 8],
            /// Its word of the shared buffer.
            pu_shared: [u64; 8],
            /// Its column, in each chip and bank; 0 where no PU is built.
            pu_row: [[u64; 16]; 8],
            /// The results are new, of PUs that are built.
            pu_result_valid: [u16; 8],
            /// The results.
            pu_result: [[u64; 16]; 8],
            /// The adder unit's input: there is one.
            adder_valid: bool,
            /// Accumulator mode.
            adder_accumulate: bool,
            /// From +0.
            adder_first: bool,
            /// The sum ends.
            adder_last: bool,
            /// What earlier passes have summed up.
            adder_partial: u16,
            /// An element of each chip.
            adder_x: [u16; 8],
            /// The adder unit's output: a sum over the chips.
            tree_valid: bool,
            /// The sum.
            tree: u16,
            /// Complete sums of each chip.
            lanes_valid: bool,
            /// The sums.
            lanes: [u16; 8],
            /// The softmax unit's input: the score is masked.
            score_mask: bool,
            /// It is in its head's first chunk.
            score_first: bool,
            /// Its head.
            score_head: U<3>,
            /// The head that is finished.
            finish_head: U<3>,
            /// The scaled score that becomes a weight.
            weigh: u16,
            /// Its head.
            weigh_head: U<3>,
            /// The softmax unit's output: a scaled score.
            scaled: u16,
            /// There is a maximum.
            max_valid: bool,
            /// The maximum.
            largest: u16,
            /// There is an exponential.
            exp_valid: bool,
            /// The exponential.
            exponential: u16,
            /// Factor of the head's sum.
            factor: u16,
            /// A finish would be taken.
            finish_ready: bool,
            /// The reciprocal of the head's sum.
            reciprocal: u32,
            /// A weighing would be taken.
            weigh_ready: bool,
            /// A weight.
            weight: u16,
        }
    }
}

/// The module with the PUs of so many banks of so many chips of its rank: the first chips, and banks at equal distances.
pub struct PimModule<const CHIPS: usize, const BANKS: usize>;

impl<const CHIPS: usize, const BANKS: usize> Unit for PimModule<CHIPS, BANKS> {
    const MODULE: &'static str = "pim_module";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("CHIPS_BUILT", CHIPS as i64), ("BANKS_BUILT", BANKS as i64)];
    type In = PimModuleIn;
    type Out = PimModuleOut;
    type Probe = PimModuleProbe;
    const PROBED: (&'static str, &'static str) = ("pim_rank", "u_rank");

    fn variant() -> String {
        format!("{CHIPS}x{BANKS}")
    }
}

/// A module that is built in little time.
pub type SmallPimModule = PimModule<2, 4>;

/// A module with all PUs of its rank.
pub type FullPimModule = PimModule<8, 16>;

/// The declarations of the modules; of the one with all its PUs if it is asked for, as it takes minutes to
/// build.
pub fn pim_modules(full: bool) -> Vec<UnitInfo> {
    let mut modules = vec![SmallPimModule::info()];
    modules.extend(full.then(FullPimModule::info));
    modules
}
