// SPDX-License-Identifier: MIT
//! A swizzled copy on LPDDR5X-PIM: a pass of reads, and the copy to other rows of the same banks.

use super::{BusShares, CopiedMatrix, CopyReport, Elements, HostThreads, Pass, told};
use crate::error::{CopyError, WorkloadError};
use crate::host_memory;
use crate::judge::Findings;
use crate::judge::copies::CopyAddresses;
use crate::judge::lp5_pins::Lp5PinLog;
use crate::task::Progress;
use pimlico_device::Device;
use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::{
    AddressField, BurstPlace, BusUse, HostOrder, Lp5Device, Lp5Layout, Lp5LayoutError, Lp5Options,
    Lp5Spec, Request, Vector,
};
use pimlico_host::lp5::Lp5Matrix;
use pimlico_host::lp5_copy::{CopyCounts, CopyHost, CopyOptions, Stores};

/// What to copy.
#[derive(Clone, Debug)]
pub struct Lp5CopyJob {
    /// The device.
    pub spec: Lp5Spec,
    /// How it works.
    pub options: Lp5Options,
    /// How its host copies.
    pub copy: CopyOptions,
    /// The matrices, each by itself from row 0 of the banks on.
    pub matrices: Vec<CopiedMatrix>,
    /// Seed of the data.
    pub seed: u64,
}

/// What passes over matrices cost.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    tck: u64,
    counts: CopyCounts,
    /// Of all channels.
    lines: BusUse,
}

impl Cost {
    fn and(self, other: Self) -> Self {
        let (a, b) = (self.lines, other.lines);
        Self {
            tck: self.tck + other.tck,
            counts: CopyCounts {
                loads: self.counts.loads + other.counts.loads,
                fills: self.counts.fills + other.counts.fills,
                writes: self.counts.writes + other.counts.writes,
            },
            lines: of_both(a, b),
        }
    }
}

fn of_both(a: BusUse, b: BusUse) -> BusUse {
    BusUse {
        read_tck: a.read_tck + b.read_tck,
        write_tck: a.write_tck + b.write_tck,
        turnaround_tck: a.turnaround_tck + b.turnaround_tck,
        refresh_tck: a.refresh_tck + b.refresh_tck,
        host_tck: a.host_tck + b.host_tck,
        other_tck: a.other_tck + b.other_tck,
    }
}

/// A matrix in the banks of a device that has just been reset.
struct InBanks<'a> {
    job: &'a Lp5CopyJob,
    device: Lp5Device,
    pins: Vec<Lp5PinLog>,
    layout: Lp5Layout,
    elements: Elements,
    /// Rows of all banks that the copy takes.
    copy_rows: u64,
}

impl Lp5CopyJob {
    /// Copies all matrices.
    ///
    /// # Errors
    ///
    /// If one of them has no room with its copy, or there is no such device.
    pub fn run(&self, progress: Progress<'_>) -> Result<CopyReport, WorkloadError> {
        let bytes: u64 = self.matrices.iter().map(CopiedMatrix::bytes).sum();
        let largest = self.matrices.iter().map(CopiedMatrix::bytes).max().unwrap_or(0);
        for matrix in &self.matrices {
            self.place(matrix)?;
        }
        // The cells of both, the lines of the copy, and what is read of it.
        host_memory::check("copy", host_memory::BESIDE + 6 * u128::from(largest))?;
        let (mut reads, mut copy, mut differing) = (Cost::default(), Cost::default(), 0);
        let mut findings = Findings::default();
        let mut done = 0;
        for (number, matrix) in self.matrices.iter().enumerate() {
            let mut in_banks = InBanks::new(self, number, matrix)?;
            let pass = CopyOptions { stores: Stores::None, ..self.copy };
            reads = reads.and(in_banks.pass(pass)?);
            progress(done + matrix.bytes() / 4, bytes);
            copy = copy.and(in_banks.pass(self.copy)?);
            differing += in_banks.differing()?;
            findings = findings.and(Lp5PinLog::findings(&in_banks.pins, in_banks.device.tck()));
            done += matrix.bytes();
            progress(done, bytes);
        }
        let (pin_violations, first_violations) = told(&findings);
        let CopyOptions { order, target, stores, threads, loads, fills, .. } = self.copy;
        Ok(CopyReport {
            system: "lp5",
            dram: self.spec.name.clone(),
            tck_ns: self.spec.tck_ps as f64 / 1000.0,
            refresh: self.options.refresh,
            seed: self.seed,
            matrices: self.matrices.clone(),
            bytes,
            order: order.name(),
            target: Some(target.name()),
            host: Some(HostThreads { stores: stores.name(), threads, loads, fills }),
            peak_gb_per_s: self.spec.bus_gb_per_s(),
            reads: self.told(&reads, bytes),
            copy: Some(self.told(&copy, bytes)),
            passes: Some(copy.tck as f64 / reads.tck.max(1) as f64),
            differing,
            pin_violations,
            first_violations,
        })
    }

    /// Where a matrix lies, and the rows of all banks that its copy takes behind it.
    fn place(&self, matrix: &CopiedMatrix) -> Result<(Lp5Layout, u64), WorkloadError> {
        let map = self.spec.map()?;
        let free = map.weight_rows();
        let CopiedMatrix { rows, columns, .. } = *matrix;
        if !map.has_rows_on_top() {
            return Err(CopyError::Map(map.to_string()).into());
        }
        if self.copy.stores == Stores::NonTemporal && self.copy.target == HostOrder::RowMajor {
            return Err(CopyError::Target.into());
        }
        if self.copy.stores == Stores::NonTemporal && !rows.is_multiple_of(LANES as u64) {
            return Err(CopyError::Rows { name: matrix.name.clone(), rows }.into());
        }
        let layout = Lp5Layout::new(&map, rows, columns, free.clone())?;
        let copy_rows = matrix.bytes().div_ceil(map.row_bytes());
        let (taken, free, first) = (layout.bank_rows() + copy_rows, free.end, 0);
        match taken <= free {
            true => Ok((layout, copy_rows)),
            false => Err(Lp5LayoutError::Full { rows, columns, taken, free, first }.into()),
        }
    }

    fn told(&self, cost: &Cost, bytes: u64) -> Pass {
        let Cost { tck, counts: CopyCounts { loads, fills, writes }, lines } = *cost;
        let ns = tck as f64 * self.spec.tck_ps as f64 / 1000.0;
        let all_tck = lines.total_tck().max(1) as f64;
        let burst = self.spec.timing.burst_tck as f64;
        let of_bursts = |bursts: u64| bursts as f64 * burst / all_tck;
        let bytes_moved = (loads + fills + writes) as f64 * (2 * LANES) as f64;
        let of_time = |tck: u64| tck as f64 / all_tck;
        Pass {
            tck,
            ns,
            gb_per_s: bytes as f64 / ns.max(1.0),
            moved_gb_per_s: bytes_moved / ns.max(1.0),
            moved_share: of_bursts(loads + fills + writes),
            load_bursts: loads,
            fill_bursts: fills,
            write_bursts: writes,
            shares: BusShares {
                loads: of_bursts(loads),
                fills: of_bursts(fills),
                writes: of_bursts(writes),
                refresh: of_time(lines.refresh_tck),
                turnarounds: of_time(lines.turnaround_tck),
                host: of_time(lines.host_tck),
                other: of_time(lines.other_tck),
            },
        }
    }
}

impl<'a> InBanks<'a> {
    /// Writes a matrix into the banks.
    fn new(
        job: &'a Lp5CopyJob,
        number: usize,
        matrix: &CopiedMatrix,
    ) -> Result<Self, WorkloadError> {
        let (layout, copy_rows) = job.place(matrix)?;
        let mut device = Lp5Device::new(&job.spec, job.options)?;
        let pins = Lp5PinLog::of(&mut device);
        let elements = Elements::of(job.seed, number, matrix);
        let rows = matrix.rows;
        let vector = |row: u64, column: u64| -> Vector {
            let of_row = |row: u64| if row < rows { elements.at(row, column) } else { 0 };
            std::array::from_fn(|lane| of_row(row + lane as u64))
        };
        Lp5Matrix::new(layout.clone(), 0).load(&mut device, vector)?;
        Ok(Self { job, device, pins, layout, elements, copy_rows })
    }

    /// A pass over the matrix.
    fn pass(&mut self, options: CopyOptions) -> Result<Cost, WorkloadError> {
        self.device.begin();
        let mut host = CopyHost::new(&self.layout, self.layout.bank_rows(), options);
        self.device.serve(&mut host)?;
        let channels = 0..self.device.channels();
        let lines = channels.map(|channel| self.device.bus_use(channel));
        let lines = lines.fold(BusUse::default(), of_both);
        Ok(Cost { tck: self.device.end().cycles, counts: host.counts(), lines })
    }

    /// Elements of the copy that are not the matrix'. Addresses are golden's.
    fn differing(&mut self) -> Result<u64, WorkloadError> {
        let (rows, columns) = self.layout.shape();
        let map = self.layout.map();
        let [in_row, banks] = [
            map.count(AddressField::Column),
            map.count(AddressField::BankGroup) * map.count(AddressField::Bank),
        ];
        let first = self.layout.bank_rows();
        let places = (first..first + self.copy_rows).flat_map(|row| {
            (0..in_row).flat_map(move |column| {
                (0..banks).map(move |bank| BurstPlace {
                    bank: bank as u8,
                    row: row as u32,
                    column: column as u8,
                })
            })
        });
        let addresses = CopyAddresses::new(&self.job.spec.address_map, first);
        let (elements, target) = (self.elements, self.job.copy.target);
        let (mut equal, mut differing) = (0, 0);
        let read = |channel: usize, place: BurstPlace, data: &Vector| {
            let begin = addresses.byte(channel, place) / 2;
            for (number, bits) in (begin..rows * columns).zip(data) {
                let (row, column) = match target {
                    HostOrder::ColumnMajor => (number % rows, number / rows),
                    HostOrder::RowMajor => (number / columns, number % columns),
                };
                let is_equal = *bits == elements.at(row, column);
                *(if is_equal { &mut equal } else { &mut differing }) += 1;
            }
        };
        self.device.run(|_| places.clone().map(Request::Read), read)?;
        // What was not read is not there.
        Ok(differing + (rows * columns - equal - differing))
    }
}
