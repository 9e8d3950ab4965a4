// SPDX-License-Identifier: MIT
//! What of the buses matrices have: what reads without end have on a channel with refresh, alone and beside tiles back to back.

use super::npu::Npu;
use super::system::System;
use crate::error::ServingError;
use pimlico_device::neupims::{ChannelOptions, Commands, NeupimsSpec, ReadQueue};
use pimlico_workload::neupims::row_buffers::{RowBufferRow, RowBufferStudy, Work};

/// tCK of a measurement: REFs of either pseudo-rank are in it ten times.
const RATE_TCK: u64 = 39_000;
/// Sums of tiles beside reads: of V, and of K with four heads in a row. Their rates count alike.
const TILE_SUMS: [u64; 2] = [1, 4];

/// Rates of a controller with a queue of reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixRates {
    /// Reads that wait in the controller at the most.
    pub reads: u64,
    /// Per cent of the peak without tiles.
    pub alone: f64,
    /// Per cent of the peak beside them.
    pub beside: f64,
}

impl MatrixRates {
    /// Of a device's channels, measured on so many threads.
    ///
    /// # Errors
    ///
    /// If a channel stops.
    pub fn measure(
        spec: &NeupimsSpec,
        queue: ReadQueue,
        threads: usize,
    ) -> Result<Self, ServingError> {
        let rate = |sums| {
            let study = RowBufferStudy {
                spec: spec.clone(),
                commands: Commands::Composite,
                options: ChannelOptions::default(),
                work: Work::Saturated,
                sums,
                tck: RATE_TCK,
                seed: 1,
                watched: false,
            };
            study.dual(queue, threads)
        };
        let rates = TILE_SUMS.map(rate).into_iter().collect::<Result<Vec<_>, _>>()?;
        let mean = |of: fn(&RowBufferRow) -> f64| rates.iter().map(of).sum::<f64>() / 2.0;
        Ok(Self {
            reads: queue.reads(),
            alone: mean(|row| row.mem_alone.mem_percent),
            beside: mean(|row| row.both.mem_percent),
        })
    }

    /// A system whose matrices have these rates.
    pub fn bound(&self, system: &System) -> System {
        let of = |percent: f64| (system.npu.bandwidth as f64 * percent / 100.0) as u64;
        let npu = Npu { bandwidth: of(self.alone), beside: of(self.beside), ..system.npu };
        System { npu, ..*system }
    }
}
