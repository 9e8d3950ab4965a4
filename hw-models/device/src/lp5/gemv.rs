// SPDX-License-Identifier: MIT
//! The tCK of a matrix times a vector in LPDDR5X-PIM, in closed form.
//!
//! For each output tile, and in it for each input tile of 128 columns, eight WRs fill the input registers of all blocks, and
//! 128 Q_o RDs are MACs, one in every tCCD_L. Where a row of the banks ends, all banks close it and open the next. Behind
//! the last input tile five RDs drain the blocks' pipelines, Q_o WRs put the sums into a row, and in the mode of single banks
//! the host opens that row and reads Q_o bursts of each bank of its channel.
//!
//! ```text
//! MACs        CCD_L P' K
//! rows        (RTP + RP + RCD - CCD_L) ceil(P' K / C)
//! inputs      (8 CCD_L + rd2wr + wr2rd) ceil(K / 128)         for each output tile
//! results     5 CCD_L + Q_o CCD_L + CWL + BL + WR + RP + RCD + CL + banks Q_o BL    for each output tile
//! ```
//!
//! Refresh takes RFC of every REFI. Fences of the host between modes are not counted.

use super::address::AddressField;
use super::layout::{LANES, Lp5Layout, OUTPUT_REGISTERS};
use crate::config::Timing;

/// Registers of the input file: so many times 16 columns are an input tile.
const INPUT_REGISTERS: u64 = 8;
/// RDs that drain the pipeline of a PIM block.
const DRAIN: u64 = 5;

/// What the tCK of a matrix times a vector go to, without refresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GemvPlan {
    /// MACs.
    pub mac_tck: u64,
    /// Changes from row to row.
    pub row_tck: u64,
    /// Writing of inputs.
    pub input_tck: u64,
    /// Draining, writing and reading of results.
    pub result_tck: u64,
}

impl GemvPlan {
    /// That of a matrix with these timings.
    pub fn new(timing: &Timing, layout: &Lp5Layout) -> Self {
        let map = layout.map();
        let (_, columns) = layout.shape();
        let channels = map.count(AddressField::Channel);
        let banks = map.banks() / channels;
        let ccd = timing.ccd_l_tck;
        let in_tile = INPUT_REGISTERS * LANES as u64;
        let turns = timing.rd_to_wr_tck() + timing.wr_to_rd_l_tck();
        let per_input = INPUT_REGISTERS * ccd + turns;
        let per_row = (timing.rtp_tck + timing.rp_tck + timing.rcd_mac_tck).saturating_sub(ccd);
        let reopen = timing.wr_to_pre_tck() + timing.rp_tck + timing.rcd_tck + timing.cl_tck;
        let per_register = ccd + banks * timing.burst_tck;
        Self {
            mac_tck: ccd * layout.registers() * columns,
            row_tck: per_row * layout.bank_rows(),
            input_tck: layout.tiles() * columns.div_ceil(in_tile) * per_input,
            result_tck: layout.tiles() * (DRAIN * ccd + reopen) + layout.registers() * per_register,
        }
    }

    /// tCK of all of it.
    pub fn tck(&self) -> u64 {
        self.mac_tck + self.row_tck + self.input_tck + self.result_tck
    }

    /// The same with refresh.
    pub fn refreshed_tck(&self, timing: &Timing) -> f64 {
        self.tck() as f64 / (1.0 - timing.rfc_tck as f64 / timing.refi_tck as f64)
    }
}

const _: () = assert!(INPUT_REGISTERS == OUTPUT_REGISTERS);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lp5::Lp5Spec;
    use pimlico_golden::lp5_time;

    fn plan(spec: &Lp5Spec, rows: u64, columns: u64) -> (GemvPlan, u64) {
        let map = spec.map().expect("a map");
        let layout = Lp5Layout::new(&map, rows, columns, map.weight_rows()).expect("it fits");
        (GemvPlan::new(&spec.timing, &layout), layout.registers())
    }

    #[test]
    fn commands_one_by_one_take_as_long() {
        for name in Lp5Spec::names() {
            let spec = Lp5Spec::built_in(name).expect("it is there");
            let Timing { ccd_l_tck, burst_tck, cl_tck, cwl_tck, .. } = spec.timing;
            let times = lp5_time::Lp5Times {
                column: ccd_l_tck,
                burst: burst_tck,
                read_latency: cl_tck,
                write_latency: cwl_tck,
                bus_gap: spec.timing.rtw_gap_tck,
                write_to_read: spec.timing.wtr_l_tck,
                write_recovery: spec.timing.wr_tck,
                read_to_precharge: spec.timing.rtp_tck,
                precharge: spec.timing.rp_tck,
                activate: spec.timing.rcd_tck,
            };
            for (rows, columns) in [(1, 1), (512, 2048), (2048, 300), (8193, 129), (20_000, 64)] {
                let (plan, registers) = plan(&spec, rows, columns);
                let walked = lp5_time::gemv_tck(&times, registers, columns, 64, 16);
                assert_eq!(plan.tck(), walked, "{name}, {rows} x {columns}");
            }
        }
    }

    #[test]
    fn the_tck_of_seven_shapes() {
        let spec = Lp5Spec::built_in("lpddr5x-8533-pim").expect("it is there");
        for (rows, columns, tck, gain) in [
            (512, 2048, 11_908.0, 2.75),
            (2048, 2048, 22_392.0, 5.85),
            (8192, 2048, 85_299.0, 6.15),
            (2048, 8192, 88_893.0, 5.90),
            (4096, 4096, 86_419.0, 6.07),
            (16_384, 8192, 679_645.0, 6.17),
            (128_256, 2048, 1_364_785.0, 6.01),
        ] {
            let found = plan(&spec, rows, columns).0.refreshed_tck(&spec.timing);
            assert!((found / tck - 1.0).abs() < 2e-4, "{rows} x {columns}: {found}");
            // Against reading the weights over the bus.
            let of_bus = (2 * rows * columns) as f64 / 68.264e9;
            let ours = of_bus / (found * spec.tck_ps as f64 * 1e-12);
            assert!((ours - gain).abs() < 0.01, "{rows} x {columns}: {ours}");
        }
    }
}
