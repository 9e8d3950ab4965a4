// SPDX-License-Identifier: MIT
//! A matrix times a vector on channels of NeuPIMs: 32 rows at a time, channel by channel.

use super::report::{ChannelReport, PinsReport, SetupReport, StoreReport, TileSchedule};
use super::{LONGEST_TCK, Setup};
use crate::error::WorkloadError;
use crate::judge::dual_pins::Seen;
use crate::judge::neupims::{Compared, product};
use crate::parallel;
use pimlico_device::ConfigError;
use pimlico_device::neupims::layout::FIRST_ROW;
use pimlico_device::neupims::{BANKS, ChannelStatistics, MatrixTiles};
use pimlico_host::neupims::{ProductHost, Store};
use pimlico_model::data::Operands;
use pimlico_units::channel::ChannelCommand;
use serde::Serialize;

/// Commands of PIM that are kept for the schedule of a tile: two tiles in fine commands, with a PIM_PRECHARGE for each bank.
const KEPT: usize = 400;

/// A product.
#[derive(Clone, Copy, Debug)]
pub struct ProductJob {
    /// Rows of the matrix.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// Channels that share its rows.
    pub channels: usize,
    /// Seed of the data.
    pub seed: u64,
}

/// What became of it.
#[derive(Clone, Debug, Serialize)]
pub struct ProductReport {
    /// How channels worked.
    #[serde(flatten)]
    pub setup: SetupReport,
    /// Rows of the matrix.
    pub rows: usize,
    /// Its columns.
    pub columns: usize,
    /// Channels that shared its rows.
    pub channels: usize,
    /// Seed of the data.
    pub seed: u64,
    /// tCK until the last result had come, from the first write of the vector on.
    pub tck: u64,
    /// tCK from one tile to the next, on average over those that follow each other, in the first channel.
    pub steady_tile_tck: Option<f64>,
    /// The first tile.
    pub tile: Option<TileSchedule>,
    /// All channels, with the tiles beside the product.
    pub channel: ChannelReport,
    /// The matrix into the banks.
    pub store: StoreReport,
    /// Outputs beside the reference.
    pub outputs: Compared,
    /// What was on the pins.
    pub pins: PinsReport,
}

/// What a channel made.
struct Part {
    outputs: Vec<u16>,
    tck: u64,
    statistics: ChannelStatistics,
    store: StoreReport,
    pins: PinsReport,
    seen: Vec<Seen>,
}

impl ProductJob {
    /// Rows that a channel has: groups of 32 go round.
    fn rows_of(&self, channel: usize) -> Vec<usize> {
        let of = |row: &usize| row / BANKS % self.channels == channel;
        (0..self.rows).filter(of).collect()
    }

    /// Runs it.
    ///
    /// # Errors
    ///
    /// If it has no room.
    pub fn run(&self, setup: &Setup) -> Result<ProductReport, WorkloadError> {
        // The first channel has most rows: is there room, before any are listed?
        let groups = self.rows.div_ceil(BANKS).div_ceil(self.channels);
        let most = (groups * BANKS).min(self.rows) as u64;
        MatrixTiles::new((most, self.columns as u64), FIRST_ROW, setup.spec.organisation.rows)?;
        let parts: Vec<_> = (0..self.channels).map(|channel| self.rows_of(channel)).collect();
        let bank_rows = setup.spec.organisation.rows;
        let tiles = |rows: &Vec<usize>| {
            let shape = (rows.len() as u64, self.columns as u64);
            MatrixTiles::new(shape, FIRST_ROW, bank_rows)
        };
        let used: Vec<_> = parts.into_iter().filter(|rows| !rows.is_empty()).collect();
        let tiles = used.iter().map(tiles).collect::<Result<Vec<_>, ConfigError>>()?;
        let Operands { matrix, vector } = Operands::synthetic(self.rows, self.columns, self.seed);
        let work: Vec<_> = used.iter().zip(&tiles).enumerate().collect();
        let made = parallel::each(&work, setup.threads, |(number, (rows, tiles))| {
            let row = |n: u64| matrix[rows[n as usize]].as_slice();
            run_part(setup, *number, tiles, row, &vector)
        });
        let made = made.into_iter().collect::<Result<Vec<_>, _>>()?;

        let mut outputs = vec![0; self.rows];
        for (part, rows) in made.iter().zip(&used) {
            rows.iter().zip(&part.outputs).for_each(|(&row, &output)| outputs[row] = output);
        }
        let compared = product(setup.options.sums, &matrix, &vector, &outputs, setup.threads);
        Ok(self.report(setup, made, compared))
    }

    fn report(&self, setup: &Setup, made: Vec<Part>, outputs: Compared) -> ProductReport {
        let words = self.columns.min(512).div_ceil(16) as u64;
        let seen = made.first().map(|part| part.seen.clone()).unwrap_or_default();
        let mut pins = PinsReport::default();
        let mut statistics = ChannelStatistics::default();
        let mut store = StoreReport::default();
        let mut tck = 0;
        let channels = made.len() as u64;
        for part in made {
            pins = pins.and(part.pins);
            statistics = statistics.and(&part.statistics);
            store.tck = store.tck.max(part.store.tck);
            store.bursts += part.store.bursts;
            tck = tck.max(part.tck);
        }
        ProductReport {
            setup: SetupReport::of(setup),
            rows: self.rows,
            columns: self.columns,
            channels: self.channels,
            seed: self.seed,
            tck,
            steady_tile_tck: steady(&seen),
            tile: TileSchedule::of(&seen, setup.spec.pim.dot, words),
            channel: ChannelReport::of_channels(&setup.spec, &statistics, channels),
            store,
            outputs,
            pins,
        }
    }
}

/// The mean distance of the first PIM_PRECHARGE of a tile from that of the tile before, without those between which something else came.
fn steady(seen: &[Seen]) -> Option<f64> {
    let mut distances = Vec::new();
    let (mut last, mut was_precharge, mut is_plain) = (None, false, true);
    for (at, pins) in seen {
        let is_precharge = pins.command == ChannelCommand::PimPrecharge;
        if is_precharge && !was_precharge {
            distances.extend(last.filter(|_| is_plain).map(|last| at - last));
            (last, is_plain) = (Some(*at), true);
        }
        is_plain &= pins.command != ChannelCommand::PimGwrite;
        was_precharge = is_precharge;
    }
    // The first is that of the tile beside the product.
    let of_tiles = distances.get(1..).filter(|distances| !distances.is_empty())?;
    Some(of_tiles.iter().sum::<u64>() as f64 / of_tiles.len() as f64)
}

fn run_part<'a>(
    setup: &Setup,
    number: usize,
    tiles: &'a MatrixTiles,
    row: impl Fn(u64) -> &'a [u16] + 'a,
    vector: &[u16],
) -> Result<Part, WorkloadError> {
    let counts = tiles.tile(0, 0).counts;
    let (mut channel, log) = setup.channel(number, &counts, KEPT)?;
    let mut store = Store::matrix(tiles, row);
    channel.run(&mut store, LONGEST_TCK)?;
    let store = StoreReport { tck: channel.take_statistics().tck, bursts: store.written() };

    let begin = channel.tck();
    let idle_row = (setup.spec.organisation.rows - 1) as u16;
    let sums = setup.options.sums;
    let mut script = ProductHost::script(tiles, vector, idle_row, setup.fine(), sums);
    channel.run(&mut script, LONGEST_TCK)?;
    let results = script.into_results();
    let found = log.findings(channel.tck());
    let seen = found.seen.clone();
    let faults = channel.faults().count() + channel.dropped();
    Ok(Part {
        outputs: results.outputs(),
        tck: results.until_tck() - begin,
        statistics: channel.take_statistics(),
        store,
        pins: PinsReport::of(found, faults),
        seen,
    })
}
