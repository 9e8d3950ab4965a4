// SPDX-License-Identifier: MIT
//! Matrices of a rank of L3, read by the host: transactions of its memory controller, in bursts that come through the re-layout
//! unit as elements in their order.

use super::{BusShares, CopiedMatrix, CopyReport, Elements, Pass, told};
use crate::error::WorkloadError;
use crate::host_memory;
use crate::judge::Findings;
use crate::judge::pins::PinLog;
use crate::l3::gemv;
use crate::task::Progress;
use pimlico_device::data_bus::Beats;
use pimlico_device::gemv::MatrixLayout;
use pimlico_device::mapping::BURST;
use pimlico_device::{Config, Device, Options, Statistics};
use pimlico_dpa::types::PinCommand;
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::{HostPort, TransferError};
use pimlico_host::memory_controller::Transaction;
use pimlico_host::swizzle::{MatrixBurst, PimLayout, ReadOrder};

/// Transactions that are listed at a time.
const LISTED: usize = 1 << 18;

/// What to copy.
#[derive(Clone, Debug)]
pub struct L3CopyJob {
    /// The DRAM of the rank.
    pub config: Config,
    /// How the rank works.
    pub options: Options,
    /// In which order bursts are read.
    pub order: ReadOrder,
    /// The matrices, each by itself from row 0 of the banks on.
    pub matrices: Vec<CopiedMatrix>,
    /// Seed of the data.
    pub seed: u64,
}

impl L3CopyJob {
    /// Reads all matrices.
    ///
    /// # Errors
    ///
    /// If one of them has no room, or there is no such rank.
    pub fn run(&self, progress: Progress<'_>) -> Result<CopyReport, WorkloadError> {
        let bytes: u64 = self.matrices.iter().map(CopiedMatrix::bytes).sum();
        let largest = self.matrices.iter().map(CopiedMatrix::bytes).max().unwrap_or(0);
        for matrix in &self.matrices {
            self.layout(matrix)?;
        }
        host_memory::check("copy", host_memory::BESIDE + 4 * u128::from(largest))?;
        let (mut cost, mut differing) = (Statistics::default(), 0);
        let mut findings = Findings::default();
        let mut done = 0;
        for (number, matrix) in self.matrices.iter().enumerate() {
            let of_matrix = self.matrix(number, matrix)?;
            cost = cost.and(of_matrix.0);
            differing += of_matrix.1;
            findings = findings.and(of_matrix.2);
            done += matrix.bytes();
            progress(done, bytes);
        }
        let (count, mut first_violations) = told(&findings);
        let of_host = findings.host.iter();
        first_violations
            .extend(of_host.flat_map(|host| host.first.iter().map(ToString::to_string)));
        let on_host: u64 = findings.host.iter().map(|host| host.violations).sum();
        let config = &self.config;
        let burst_bytes = (2 * BURST) as f64;
        let peak_gb_per_s = burst_bytes * 1000.0 / (config.timing.burst_tck * config.tck_ps) as f64;
        Ok(CopyReport {
            system: "l3",
            dram: config.name.clone(),
            tck_ns: config.tck_ps as f64 / 1000.0,
            refresh: self.options.refresh,
            seed: self.seed,
            matrices: self.matrices.clone(),
            bytes,
            order: self.order.name(),
            target: None,
            host: None,
            peak_gb_per_s,
            reads: self.told(&cost, bytes),
            copy: None,
            passes: None,
            differing,
            pin_violations: count + on_host,
            first_violations,
        })
    }

    fn layout(&self, matrix: &CopiedMatrix) -> Result<MatrixLayout, WorkloadError> {
        let [rows, columns] = [matrix.rows, matrix.columns].map(|size| size as usize);
        let layout = MatrixLayout::new(&self.config, rows, columns);
        layout.map_err(|error| WorkloadError::matrix("copy", error))
    }

    /// A matrix: what reading it cost, elements that differ, and what was found at the pins.
    fn matrix(
        &self,
        number: usize,
        matrix: &CopiedMatrix,
    ) -> Result<(Statistics, u64, Findings), WorkloadError> {
        let layout = self.layout(matrix)?;
        let mut rank = Attached::engine(&self.config, self.options)?;
        let pins = PinLog::of(&mut rank);
        let mut host = HostPort::of(&self.config).map_err(TransferError::from)?;
        let elements = Elements::of(self.seed, number, matrix);
        let row = |row| (0..matrix.columns).map(|column| elements.at(row, column)).collect();
        let of_rows: Vec<Vec<u16>> = (0..matrix.rows).map(row).collect();
        gemv::load(&mut rank, &mut host, &layout, &of_rows)?;

        let mut bursts = Vec::new();
        layout.visit(0..layout.lines(), self.order, &mut |burst| bursts.push(burst));
        let (mut cost, mut differing) = (Statistics::default(), 0);
        for bursts in bursts.chunks(LISTED) {
            let reads = bursts.iter().map(|burst| Transaction::Read(burst.at.place));
            let (read, of_part) = host.transfer(&mut rank, reads)?;
            cost = cost.and(of_part);
            let unread = bursts.len().saturating_sub(read.len());
            differing += (unread * BURST) as u64;
            let found = bursts.iter().zip(&read).map(|(burst, beats)| {
                let line = &of_rows[burst.line as usize];
                unlike(burst, line, beats)
            });
            differing += found.sum::<u64>();
        }
        Ok((cost, differing, pins.findings(rank.tck())))
    }

    fn told(&self, cost: &Statistics, bytes: u64) -> Pass {
        let Statistics { cycles: tck, bus_cycles, .. } = *cost;
        let ns = tck as f64 * self.config.tck_ps as f64 / 1000.0;
        let bursts = cost.commands[PinCommand::Rd as usize];
        let refresh_tck = cost.commands[PinCommand::Ref as usize] * self.config.timing.rfc_tck;
        let share = |part: u64| part as f64 / tck.max(1) as f64;
        let (loads, refresh) = (share(bus_cycles), share(refresh_tck));
        Pass {
            tck,
            ns,
            gb_per_s: bytes as f64 / ns.max(1.0),
            moved_gb_per_s: (bursts as usize * 2 * BURST) as f64 / ns.max(1.0),
            moved_share: loads,
            load_bursts: bursts,
            fill_bursts: 0,
            write_bursts: 0,
            shares: BusShares {
                loads,
                refresh,
                other: 1.0 - loads - refresh,
                ..BusShares::default()
            },
        }
    }
}

/// Elements of a burst that are not those of its row.
fn unlike(burst: &MatrixBurst, row: &[u16], beats: &Beats) -> u64 {
    let found = beats.iter().flat_map(|beat| (0..4).map(move |n| (beat >> (16 * n)) as u16));
    let expected = row.iter().skip(burst.number as usize * BURST);
    found.zip(expected).filter(|(found, expected)| found != *expected).count() as u64
}
