// SPDX-License-Identifier: MIT
//! Power of ranks and of their DIMMs, beside what L3 grants a DIMM.

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

/// Mean power while the operators run.
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
}

impl PowerReport {
    /// Of so many ranks that take this energy, at the least and at the most, in `ns`.
    pub fn new(ranks: usize, least_pj: f64, most_pj: f64, ns: f64) -> Self {
        // pJ / ns = mW
        let watts = |pj: f64, of: f64| pj / ns / 1e3 / ranks as f64 * of;
        let both = |of: f64| Watts { least: watts(least_pj, of), most: watts(most_pj, of) };
        Self {
            rank_w: both(1.0),
            dimm_w: both(DIMM_RANKS as f64),
            dimm_ranks: DIMM_RANKS,
            l3_dimm_w: L3_DIMM_W,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dimm_has_two_ranks() {
        let power = PowerReport::new(4, 4.0e6, 8.0e6, 1000.0);
        assert_eq!(power.rank_w, Watts { least: 1.0, most: 2.0 });
        assert_eq!(power.dimm_w, Watts { least: 2.0, most: 4.0 });
    }
}
