// SPDX-License-Identifier: MIT
//! What is assumed of a module where LoL-PIM does not say.

use pimlico_device::aim::{AimMapping, AimOptions, MULTIPLIERS};
use pimlico_device::{Config, gemv::IoBuffers};
use serde::Serialize;

/// What is assumed of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumptions {
    /// Whether single buffers pay for the change between the modes of banks and registers.
    pub mode_change: bool,
    /// How matrices are mapped.
    pub mapping: AimMapping,
    /// Bytes of a DRAM row, in place of the preset's.
    pub page_bytes: Option<usize>,
    /// Clocks from a beat of a PU to its result.
    pub pu_clocks: u64,
}

impl Default for Assumptions {
    fn default() -> Self {
        let AimOptions { mode_change, mapping, pu_clocks, .. } = AimOptions::default();
        Self { mode_change, mapping, page_bytes: None, pu_clocks }
    }
}

impl Assumptions {
    /// A channel with these DRAM rows.
    pub fn config(&self, channel: &Config) -> Config {
        let mut config = channel.clone();
        config.organisation.page_bytes = self.page_bytes.unwrap_or(config.organisation.page_bytes);
        config
    }

    /// How a module works.
    pub fn options(&self, channels: usize, io_buffers: IoBuffers, refresh: bool) -> AimOptions {
        let Self { mode_change, mapping, pu_clocks, .. } = *self;
        let options = AimOptions::default();
        AimOptions { channels, io_buffers, refresh, mode_change, mapping, pu_clocks, ..options }
    }

    /// For the report, of a channel with these DRAM rows.
    pub fn report(&self, channel: &Config) -> AssumptionsReport {
        let AimMapping { order, tile_words, k_row_tokens } = self.mapping;
        AssumptionsReport {
            mode_change: self.mode_change,
            k_row_tokens,
            order: order.name(),
            tile: tile_words * MULTIPLIERS,
            page_bytes: channel.organisation.page_bytes,
            pu_clocks: self.pu_clocks,
        }
    }
}

/// What is assumed, by name.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AssumptionsReport {
    /// Whether single buffers pay for the change between the modes of banks and registers.
    pub mode_change: bool,
    /// Tokens of K that share a row of a bank; none, as many as have room.
    pub k_row_tokens: Option<usize>,
    /// `input-stationary` or `output-stationary`.
    pub order: &'static str,
    /// Elements of a tile of the vector.
    pub tile: usize,
    /// Bytes of a DRAM row.
    pub page_bytes: usize,
    /// Clocks from a beat of a PU to its result.
    pub pu_clocks: u64,
}
