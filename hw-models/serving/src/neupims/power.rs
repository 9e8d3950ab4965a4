// SPDX-License-Identifier: MIT
//! What a channel's power goes to (Table 5), with the energies of the authors' DRAM: picojoules for each command, and standby of
//! each pseudo-rank.

use super::estimate::PimWork;
use super::iteration::BatchIteration;
use super::system::{CHANNELS, RowBuffers};
use serde::Serialize;

/// Picojoules of a row's activation.
const ACT: f64 = 828.0;
/// Of a burst of 64 bytes that is read.
const RD: f64 = 804.0;
/// Of a refresh of a pseudo-rank.
const REF: f64 = 60_840.0;
/// Of a dot product of all banks: four reads.
const DOT: f64 = 4.0 * RD;
/// Of a GWRITE: 16 reads, a row.
const GWRITE: f64 = 16.0 * RD;
/// Milliwatts of a pseudo-rank with open rows, and without.
const OPEN: f64 = 66.0;
const CLOSED: f64 = 48.0;
/// Pseudo-ranks, tCK from REF to REF.
const RANKS: f64 = 2.0;
const REFI: f64 = 3900.0;
/// Bytes of a burst, and of a row, which a stream reads from end to end.
const BURST: f64 = 64.0;
const ROW: f64 = 1024.0;
/// Rows that a tile opens in a channel, four a command.
const TILE_ROWS: f64 = 32.0;

/// Milliwatts of a channel by what takes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Power {
    /// Standby of the row buffers for reads and writes.
    pub standby: f64,
    /// Standby of the PIMs' row buffers.
    pub pim_standby: f64,
    /// Refresh.
    pub refresh: f64,
    /// Activations for reads and writes.
    pub activations: f64,
    /// Reads and writes; both count as reads.
    pub bursts: f64,
    /// Activations for PIM.
    pub pim_activations: f64,
    /// Dot products.
    pub dot_products: f64,
    /// GWRITEs and results.
    pub vectors: f64,
}

impl Power {
    /// The power of a channel during an iteration. PIM's results are bytes of the bus, and count once, as results.
    pub fn of(iteration: &BatchIteration, memory: RowBuffers) -> Self {
        let tck = iteration.tck as f64;
        let of_channel = |picojoules: f64| picojoules / (CHANNELS as f64 * tck);
        let PimWork { tiles, beats, results, gwrites } = iteration.work;
        let bytes = iteration.bytes as f64 - BURST * results as f64;
        let bus = bytes / (CHANNELS as f64 * 32.0 * tck);
        let standby = |open: f64| RANKS * (CLOSED + (OPEN - CLOSED) * open.min(1.0));
        let pim_share = iteration.pim_share();
        // A single row buffer is open for either.
        let (own, pim) = match memory {
            RowBuffers::Plain => (standby(bus), 0.0),
            RowBuffers::Single => (standby(bus + pim_share), 0.0),
            RowBuffers::Dual => (standby(bus), standby(pim_share)),
        };
        // Picojoules in a tCK of 1 ns are milliwatts.
        Self {
            standby: own,
            pim_standby: pim,
            refresh: RANKS * REF / REFI,
            activations: of_channel(bytes / ROW * ACT),
            bursts: of_channel(bytes / BURST * RD),
            pim_activations: of_channel(tiles as f64 * TILE_ROWS * ACT),
            dot_products: of_channel(beats as f64 * DOT),
            vectors: of_channel(gwrites as f64 * GWRITE + results as f64 * RD),
        }
    }

    /// Its parts with their names.
    pub fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("standby", self.standby),
            ("standby, PIM row buffers", self.pim_standby),
            ("refresh", self.refresh),
            ("activations", self.activations),
            ("reads and writes", self.bursts),
            ("PIM activations", self.pim_activations),
            ("dot products", self.dot_products),
            ("GWRITE and results", self.vectors),
        ]
    }

    /// Milliwatts of all.
    pub fn total(&self) -> f64 {
        self.parts().iter().map(|(_, part)| part).sum()
    }
}
