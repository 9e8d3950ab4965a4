// SPDX-License-Identifier: MIT
//! The host of the study, from a file.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A phone as its file describes it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Phone {
    /// Its name.
    pub name: String,
    /// Where the values come from.
    pub source: String,
    /// Peak of its processor in BF16, 10^9 operations per second.
    pub gflops: f64,
    /// Bandwidth of its DRAM, 10^9 bytes per second.
    pub gb_per_s: f64,
    /// Operations for each byte as Table 2 has it.
    pub flop_per_byte: f64,
    /// Threads that multiply; with one buffer they copy too.
    pub compute_threads: usize,
    /// Threads that copy, with two buffers.
    pub copy_threads: usize,
    /// What was fitted to printed times.
    pub fitted: Fitted,
}

/// Rates that were fitted to printed times, in 10^9 bytes or operations per second.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Of the swizzled copy, by the copying threads of two buffers: bytes of weights.
    pub copy_gb_per_s: f64,
    /// Of reading weights that are not cacheable.
    pub non_cacheable_gb_per_s: f64,
    /// Share of the bandwidth that decoding on the host has.
    pub decode_efficiency: f64,
    /// By model.
    pub models: BTreeMap<String, FittedModel>,
}

/// Rates with a model's matrices.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FittedModel {
    /// Of the swizzled copy, by four threads.
    pub copy4_gb_per_s: f64,
    /// Of GEMM.
    pub gemm_gflops: f64,
}

impl Phone {
    /// The Galaxy S24+.
    pub fn galaxy_s24() -> Self {
        toml::from_str(include_str!("../../presets/galaxy-s24.toml")).expect("tested below")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phone_is_read_and_its_rates_are_positive() {
        let phone = Phone::galaxy_s24();
        let Phone { gflops, gb_per_s, flop_per_byte, ref fitted, .. } = phone;
        let mut rates = vec![gflops, gb_per_s, flop_per_byte, fitted.copy_gb_per_s];
        rates.extend([fitted.non_cacheable_gb_per_s, fitted.decode_efficiency]);
        rates.extend(fitted.models.values().flat_map(|of| [of.copy4_gb_per_s, of.gemm_gflops]));
        assert!(rates.iter().all(|rate| *rate > 0.0 && rate.is_finite()), "{rates:?}");
        assert!((gflops / gb_per_s - 4.7).abs() < 0.01, "FLOP/B of Table 3");
        assert!(toml::from_str::<Phone>("name = \"x\"\ncolour = 1").is_err());
    }
}
