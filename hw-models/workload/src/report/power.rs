// SPDX-License-Identifier: MIT
//! Power of ranks and of their DIMMs, beside what L3 grants a DIMM.

use pimlico_device::energy::Peak;
use serde::Serialize;

/// Ranks of a DIMM in L3.
pub const DIMM_RANKS: usize = 2;
/// Power of a whole DIMM in L3 (section 6.4), in W.
pub const L3_DIMM_W: f64 = 10.0;

/// Power in W: it lies between these.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Watts {
    /// With all-bank RDs of array and column alone.
    pub least: f64,
    /// With all-bank RDs as RDs of all banks.
    pub most: f64,
}

/// Peak current of a DRAM chip from VDD while rows open, in A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PeakCurrent {
    /// Banks whose rows open in a tFAW.
    pub banks: u64,
    /// What they draw together until a column may be read, with standby.
    pub open_a: f64,
    /// Banks that JESD79-4 lets open.
    pub jedec_banks: u64,
    /// What these draw.
    pub jedec_a: f64,
    /// The mean of a refresh.
    pub refresh_a: f64,
}

impl From<Peak> for PeakCurrent {
    fn from(peak: Peak) -> Self {
        let Peak { banks, open_ma, jedec_ma, refresh_ma } = peak;
        Self {
            banks,
            open_a: open_ma / 1e3,
            jedec_banks: Peak::JEDEC_BANKS,
            jedec_a: jedec_ma / 1e3,
            refresh_a: refresh_ma / 1e3,
        }
    }
}

/// Mean power while the operators run, and the peak current of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PowerReport {
    /// Of a rank: its chips and its rank PU.
    pub rank_w: Watts,
    /// Of a DIMM of as many such ranks as L3's has.
    pub dimm_w: Watts,
    /// How many these are.
    pub dimm_ranks: usize,
    /// What L3 grants a DIMM.
    pub l3_dimm_w: f64,
    /// What a chip draws while rows open.
    pub chip_peak: PeakCurrent,
}

impl PowerReport {
    /// Of so many ranks that take this energy, at the least and at the most, in `ns`.
    pub fn new(ranks: usize, [least_pj, most_pj]: [f64; 2], ns: f64, peak: Peak) -> Self {
        // pJ / ns = mW
        let watts = |pj: f64, of: f64| pj / ns / 1e3 / ranks as f64 * of;
        let both = |of: f64| Watts { least: watts(least_pj, of), most: watts(most_pj, of) };
        Self {
            rank_w: both(1.0),
            dimm_w: both(DIMM_RANKS as f64),
            dimm_ranks: DIMM_RANKS,
            l3_dimm_w: L3_DIMM_W,
            chip_peak: peak.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimm_has_two_ranks() {
        let peak = Peak { banks: 16, open_ma: 500.0, jedec_ma: 200.0, refresh_ma: 250.0 };
        let power = PowerReport::new(4, [4.0e6, 8.0e6], 1000.0, peak);
        assert_eq!((power.chip_peak.open_a, power.chip_peak.jedec_banks), (0.5, 4));
        assert_eq!(power.rank_w, Watts { least: 1.0, most: 2.0 });
        assert_eq!(power.dimm_w, Watts { least: 2.0, most: 4.0 });
    }
}
