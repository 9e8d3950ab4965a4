// SPDX-License-Identifier: MIT
//! Ports of a channel of NeuPIMs, and which of them are its controller's.

use super::GroupRows;
use crate::channel::{ChannelControllerIn, ChannelControllerOut};
use pimlico_ports::{
    Signal, U, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A channel of NeuPIMs, with results of type `R`.
    unit PimChannel<R: Signal>: "pim_channel" {
        inputs PimChannelIn {
            /// tRCD, in tCK; sampled in the first cycle after reset, as all timings and modes.
            rcd_i: u8,
            /// tRCD of WR, in tCK.
            rcd_wr_i: u8,
            /// tRCD of dot products, in tCK.
            rcd_pim_i: u8,
            /// max(tRAS, tRC - tRP), in tCK.
            ras_i: u8,
            /// tRP, in tCK.
            rp_i: u8,
            /// tRTP, in tCK.
            rtp_i: u8,
            /// WR to PRE, in tCK.
            wr_to_pre_i: u8,
            /// WR to RD in another bank group, in tCK.
            wr_to_rd_s_i: u8,
            /// WR to RD in the same bank group, in tCK.
            wr_to_rd_l_i: u8,
            /// tRRD_S, in tCK.
            rrd_s_i: u8,
            /// tRRD_L, in tCK.
            rrd_l_i: u8,
            /// tFAW, in tCK.
            faw_i: u8,
            /// Length of a GWRITE, in tCK.
            copy_i: u8,
            /// Time that is added to every estimate, in tCK.
            guard_i: u8,
            /// tRFC, in tCK.
            rfc_i: U<10>,
            /// From one REF that is due to the next, of either pseudo-rank, in tCK; 0 or 1: no refresh.
            refi_i: U<20>,
            /// RD to data, in tCK.
            cl_i: U<5>,
            /// WR to data, in tCK.
            cwl_i: U<5>,
            /// Last dot product to the results, in tCK.
            latency_i: U<5>,
            /// Between bursts of different drivers of the data bus, in tCK.
            rtrs_i: U<4>,
            /// Between a burst from the DRAM and one to it, in tCK.
            gap_i: U<4>,
            /// Dot product to dot product, in tCK.
            dot_i: U<4>,
            /// All banks are of one pseudo-rank; else of two.
            single_i: bool,
            /// The banks have a single row buffer; else two.
            blocked_i: bool,
            /// A PIM_PRECHARGE is of one bank; else of all.
            bankwise_i: bool,
            /// PIM_ACTIVATIONs do not count in the window of ACTs, as in the authors' simulator.
            simulator_i: bool,
            /// ACTs are kept out of the time in which PIM activates.
            steer_i: bool,
            /// A request of MEM.
            mem_valid_i: bool => all_but_one_in(4),
            /// Whether the request is a write; else a read.
            mem_write_i: bool,
            /// Bank of the request for MEM: pseudo-rank, group, bank.
            mem_bank_i: U<5>,
            /// Row of the request for MEM.
            mem_row_i: U<15>,
            /// Column of the request for MEM, in bursts.
            mem_column_i: U<4>,
            /// Tag of the request for MEM.
            mem_tag_i: u8,
            /// A request of PIM.
            pim_valid_i: bool => one_in(4),
            /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
            pim_kind_i: U<3>,
            /// Bank of a GWRITE.
            pim_bank_i: U<5>,
            /// Row of a HEADER or GWRITE.
            pim_row_i: U<15>,
            /// First word of a GEMV or DOTPRODUCT.
            pim_word_i: U<5>,
            /// Dot products of a HEADER or GEMV, less one.
            pim_count_i: U<5>,
            /// Bursts of results of a HEADER, less one.
            pim_results_i: U<3>,
            /// The DOTPRODUCT begins a sum.
            pim_first_i: bool,
            /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
            pim_last_i: bool,
            /// Data of the WR that was on the pins in the last cycle.
            mem_data_i: [u64; 8],
            /// Rows that were activated in the last cycle, by the place of their bank in its group.
            cells_i: GroupRows,
        }
        outputs PimChannelOut {
            /// A request of MEM is accepted.
            mem_ready_o: bool,
            /// A request of PIM is accepted.
            pim_ready_o: bool,
            /// The command on the pins: a `ChannelCommand`.
            command_o: U<4>,
            /// Bank of the command; the first of the pseudo-rank or group that it is for.
            bank_o: U<5>,
            /// The PIM_PRECHARGE is of all banks.
            all_o: bool,
            /// Row of an ACT or PIM_ACTIVATION.
            row_o: U<15>,
            /// Column of an RD or WR; first word of dot products.
            column_o: U<5>,
            /// Dot products of a GEMV, less one.
            count_o: U<5>,
            /// The DOTPRODUCT begins a sum.
            first_o: bool,
            /// The DOTPRODUCT ends a sum.
            last_o: bool,
            /// The command on the pins is of a request of MEM.
            mem_issued_o: bool,
            /// Tag of the request.
            mem_tag_o: u8,
            /// The command on the pins is the next GWRITE, GEMV, DOTPRODUCT or RDRESULT.
            pim_issued_o: bool,
            /// An operation was admitted in the last cycle.
            admit_o: bool,
            /// Estimate of the operation, in tCK, or zero.
            estimate_o: U<15>,
            /// Why MEM moved no burst: a `MemLost`, or zero.
            mem_lost_o: U<3>,
            /// Why PIM made no dot products: a `PimLost`, or zero.
            pim_lost_o: U<4>,
            /// There is no request.
            idle_o: bool,
            /// In the last cycle a request of PIM was dropped.
            fault_o: bool,
            /// Rows of the cell arrays are activated: of one bank, or of a group.
            activate_o: bool,
            /// The rows are for PIM, of the banks of a group; else for MEM, of one bank.
            activate_pim_o: bool,
            /// Bank whose row is activated, or the first of the group; else zero.
            activate_bank_o: U<5>,
            /// Row that is activated, or zero.
            activate_row_o: U<15>,
            /// A column is written to the cell arrays: that of a WR.
            restore_o: bool,
            /// Bank of the column that is written, or zero.
            restore_bank_o: U<5>,
            /// Row of the column that is written, or zero.
            restore_row_o: U<15>,
            /// Column that is written, or zero.
            restore_column_o: U<4>,
            /// Data that are written to the cell arrays, or zero.
            restore_data_o: [u64; 8],
            /// `read_data_o` is the column of an RD.
            read_o: bool,
            /// Column that was read for an RD, or zero.
            read_data_o: [u64; 8],
            /// `results_o` are those of a GEMV, on their way to the pins.
            gemv_results_o: bool,
            /// `results_o` are those that an RDRESULT has read, on their way to the pins.
            read_results_o: bool,
            /// Results of all banks, or zero.
            results_o: R,
            /// A burst of results begins on the data bus.
            burst_o: bool,
            /// In the last cycle a row was opened that the other row buffer of its bank holds.
            conflict_o: bool,
            /// In the last cycle a WR wrote the row that the PIM row buffer of its bank holds.
            stale_o: bool,
            /// In the last cycle a command found a row buffer in a wrong state.
            misuse_o: bool,
            /// In the last cycle dot products came too early, or results met on the data bus.
            overrun_o: bool,
        }
        probes PimChannelProbe {}
    }
}

/// Copies ports of the same name, and takes the others from elsewhere.
macro_rules! alike {
    ($from:expr, $to:ident { $($port:ident),* $(,)? } $(, $others:expr)?) => {
        $to { $($port: $from.$port,)* $(..$others)? }
    };
}

impl<R: Signal> PimChannelIn<R> {
    /// What the controller has of them.
    #[must_use]
    pub fn controller(&self) -> ChannelControllerIn {
        alike!(
            self,
            ChannelControllerIn {
                rcd_i,
                rcd_wr_i,
                rcd_pim_i,
                ras_i,
                rp_i,
                rtp_i,
                wr_to_pre_i,
                wr_to_rd_s_i,
                wr_to_rd_l_i,
                rrd_s_i,
                rrd_l_i,
                faw_i,
                copy_i,
                guard_i,
                rfc_i,
                refi_i,
                cl_i,
                cwl_i,
                latency_i,
                rtrs_i,
                gap_i,
                dot_i,
                single_i,
                blocked_i,
                bankwise_i,
                simulator_i,
                steer_i,
                mem_valid_i,
                mem_write_i,
                mem_bank_i,
                mem_row_i,
                mem_column_i,
                mem_tag_i,
                pim_valid_i,
                pim_kind_i,
                pim_bank_i,
                pim_row_i,
                pim_word_i,
                pim_count_i,
                pim_results_i,
                pim_first_i,
                pim_last_i,
            }
        )
    }

    /// Those of a controller, and no data.
    #[must_use]
    pub fn of_controller(controller: &ChannelControllerIn) -> Self {
        alike!(
            controller,
            PimChannelIn {
                rcd_i,
                rcd_wr_i,
                rcd_pim_i,
                ras_i,
                rp_i,
                rtp_i,
                wr_to_pre_i,
                wr_to_rd_s_i,
                wr_to_rd_l_i,
                rrd_s_i,
                rrd_l_i,
                faw_i,
                copy_i,
                guard_i,
                rfc_i,
                refi_i,
                cl_i,
                cwl_i,
                latency_i,
                rtrs_i,
                gap_i,
                dot_i,
                single_i,
                blocked_i,
                bankwise_i,
                simulator_i,
                steer_i,
                mem_valid_i,
                mem_write_i,
                mem_bank_i,
                mem_row_i,
                mem_column_i,
                mem_tag_i,
                pim_valid_i,
                pim_kind_i,
                pim_bank_i,
                pim_row_i,
                pim_word_i,
                pim_count_i,
                pim_results_i,
                pim_first_i,
                pim_last_i,
            },
            Default::default()
        )
    }
}

impl<R: Signal> PimChannelOut<R> {
    /// What the controller puts out.
    #[must_use]
    pub fn controller(&self) -> ChannelControllerOut {
        alike!(
            self,
            ChannelControllerOut {
                mem_ready_o,
                pim_ready_o,
                command_o,
                bank_o,
                all_o,
                row_o,
                column_o,
                count_o,
                first_o,
                last_o,
                mem_issued_o,
                mem_tag_o,
                pim_issued_o,
                admit_o,
                estimate_o,
                mem_lost_o,
                pim_lost_o,
                idle_o,
                fault_o,
            }
        )
    }

    /// What a controller puts out, and nothing else.
    #[must_use]
    pub fn of_controller(controller: &ChannelControllerOut) -> Self {
        alike!(
            controller,
            PimChannelOut {
                mem_ready_o,
                pim_ready_o,
                command_o,
                bank_o,
                all_o,
                row_o,
                column_o,
                count_o,
                first_o,
                last_o,
                mem_issued_o,
                mem_tag_o,
                pim_issued_o,
                admit_o,
                estimate_o,
                mem_lost_o,
                pim_lost_o,
                idle_o,
                fault_o,
            },
            Default::default()
        )
    }
}
