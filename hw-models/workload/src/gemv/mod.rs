// SPDX-License-Identifier: MIT
//! A matrix times a vector on one rank: bare, as fully-connected layers are made of.

mod chunk;

use crate::pins::PinLog;
use crate::report::{Error, GemvReport, JobReport, Load, Operator, Report, System};
use crate::spread::{self, How, SpreadError, Task};
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use pimlico_device::data_bus::BEATS;
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{self, BURST};
use pimlico_device::{CHIPS, Device, Options, RankError, Ranks, Statistics};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;
use pimlico_host::driver::{Driver, DriverError, Results};
use pimlico_host::kv_cache::{HostPort, TransferError};
use pimlico_host::memory_controller::Transaction;
use pimlico_host::program;
use pimlico_model::data;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The configuration that is used.
const SLOT: u8 = 0;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct GemvJob {
    /// Rows of the matrix: outputs.
    pub rows: usize,
    /// Columns of the matrix: inputs.
    pub columns: usize,
    /// How the vector comes to the shared buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum GemvError {
    /// The matrix does not fit.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The program, or the matrix's rows.
    #[error(transparent)]
    Driver(DriverError),
    /// The weights could not be written.
    #[error(transparent)]
    Transfer(TransferError),
    /// The device stopped.
    #[error(transparent)]
    Rank(#[from] RankError),
}

impl From<TransferError> for GemvError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rank(error) => Self::Rank(error),
            error => Self::Transfer(error),
        }
    }
}

impl From<DriverError> for GemvError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Rank(error) => Self::Rank(error),
            error => Self::Driver(error),
        }
    }
}

/// A matrix, row by row, and a vector, in binary16.
#[derive(Clone, Debug, PartialEq)]
pub struct Operands {
    /// Rows of the matrix.
    pub matrix: Vec<Vec<u16>>,
    /// The vector.
    pub vector: Vec<u16>,
}

impl Operands {
    /// Normally distributed, the outputs with variance 1.
    pub fn synthetic(rows: usize, columns: usize, seed: u64) -> Self {
        let (vector, matrix) = Self::one_by_one(columns, seed);
        Self { matrix: matrix.take(rows).collect(), vector }
    }

    /// The same: the vector, and as many rows as are taken.
    pub fn one_by_one(columns: usize, seed: u64) -> (Vec<u16>, impl Iterator<Item = Vec<u16>>) {
        let mut data = Synthetic::new(columns, seed);
        let vector = data.vector.clone();
        let row = move || {
            let mut row = vec![0; columns];
            data.next_row(&mut row);
            Some(row)
        };
        (vector, std::iter::from_fn(row))
    }
}

/// A synthetic matrix whose rows are made as they are wanted, and its vector: those of [`Operands`].
#[derive(Clone, Debug)]
pub struct Synthetic {
    vector: Vec<u16>,
    random: Xoshiro256PlusPlus,
    deviation: f64,
}

impl Synthetic {
    /// The whole matrix of a seed.
    pub fn new(columns: usize, seed: u64) -> Self {
        let mut random = data::generator(seed);
        let vector = data::normal_vector(&mut random, columns, 1.0);
        Self { vector, random, deviation: 1.0 / (columns as f64).sqrt() }
    }

    /// A block of rows, with the matrix's vector. Block 0 begins as the whole matrix does; the others have
    /// numbers of their own, so that they can be made side by side.
    pub fn block(columns: usize, seed: u64, block: usize) -> Self {
        let mut data = Self::new(columns, seed);
        // Seeds of heads are other jumps of the same generator, from its beginning; these are longer.
        (0..block).for_each(|_| data.random.long_jump());
        data
    }

    /// The vector.
    pub fn vector(&self) -> &[u16] {
        &self.vector
    }

    /// Makes the next row.
    pub fn next_row(&mut self, row: &mut [u16]) {
        data::fill_normal(&mut self.random, self.deviation, row);
    }
}

/// Writes of a matrix: burst by burst over the rows of a chunk, each in another bank group than the one
/// before.
pub fn writes<'a>(
    layout: &'a MatrixLayout,
    matrix: &'a [Vec<u16>],
) -> impl Iterator<Item = Transaction> + 'a {
    let rows = (0..layout.chunks()).flat_map(|chunk| chunk::places(layout, chunk));
    rows.map(|(row, burst)| {
        Transaction::Write(layout.place(row, burst), mapping::beats_of(&matrix[row], burst))
    })
}

/// Multiplies a matrix that is in the banks with a vector.
///
/// # Panics
///
/// If the vector has not as many elements as the matrix has columns.
pub fn multiply(
    driver: &mut Driver,
    rank: &mut dyn Device,
    layout: &MatrixLayout,
    vector: &[u16],
    io_buffers: IoBuffers,
) -> Result<(Vec<u16>, Statistics), GemvError> {
    let words = program::gemv::gemv(layout, io_buffers).words().map_err(DriverError::from)?;
    multiply_with(driver, rank, layout, vector, &words)
}

/// The same with a program of its own.
fn multiply_with(
    driver: &mut Driver,
    rank: &mut dyn Device,
    layout: &MatrixLayout,
    vector: &[u16],
    words: &[u64],
) -> Result<(Vec<u16>, Statistics), GemvError> {
    assert_eq!(vector.len(), layout.columns, "an element for each column");
    let address = driver.program(rank, words)?;
    // The weights lie where the layout says, its first row being virtual row 0: one program serves all
    // matrices of a shape.
    let row = |row: usize| u16::try_from(row).ok();
    let rows: Vec<_> = layout.bank_rows().map(row).collect();
    driver.rows(rank, SLOT, 0, &rows)?;
    let operands: Vec<_> =
        (0..layout.columns.div_ceil(BURST)).map(|n| mapping::beats_of(vector, n)).collect();
    let expected = layout.chunks() * layout.banks();
    let mut outputs = Results::new(expected);
    let start =
        Start { request: SLOT, address, operands: &operands, context: 0, outputs: expected };
    rank.begin();
    driver.run(rank, start, &mut |made| {
        if let Made::Output(bits) = made {
            outputs.push(bits);
        }
    })?;
    let statistics = rank.end();
    let mut outputs = outputs.complete(|| "gemv".to_owned())?;
    outputs.truncate(layout.rows);
    Ok((outputs, statistics))
}

/// Transactions that wait for the host's memory controller, at the most.
const QUEUE: usize = 1 << 18;

/// Writes a matrix into the banks.
pub fn load(
    rank: &mut dyn Device,
    host: &mut HostPort,
    layout: &MatrixLayout,
    matrix: &[Vec<u16>],
) -> Result<Statistics, TransferError> {
    let mut writes = writes(layout, matrix).peekable();
    let mut cost = Statistics::default();
    while writes.peek().is_some() {
        cost = cost.and(host.transfer(rank, writes.by_ref().take(QUEUE))?.1);
    }
    Ok(cost)
}

/// Runs a job.
pub fn run(rank: &mut dyn Device, job: &GemvJob) -> Result<Report, GemvError> {
    run_with(rank, job, None)
}

/// Runs a job, with a program in place of the one that would be built.
pub fn run_with(
    rank: &mut dyn Device,
    job: &GemvJob,
    program: Option<&[u64]>,
) -> Result<Report, GemvError> {
    let GemvJob { rows, columns, io_buffers, seed } = *job;
    let mut host = HostPort::of(rank.config()).map_err(TransferError::from)?;
    let pins = PinLog::of(rank);
    let Product { operator, load, bytes } = product(rank, &mut host, "gemv", job, program)?;
    let gemv = GemvReport { rows, columns, io_buffers: io_buffers.name() };
    let load = Load::new(rank.config(), &load, bytes);
    Ok(Report::new(rank, &pins, JobReport::Gemv(gemv), seed, load, operator))
}

/// Runs a job on the ranks of a device.
pub fn run_on_ranks(
    ranks: &Ranks,
    options: Options,
    job: &GemvJob,
    how: impl Into<How>,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Report, SpreadError> {
    let GemvJob { rows, columns, io_buffers, seed } = *job;
    let tasks = vec![Task::Matrix { operator: "gemv", rows, columns, seed }];
    let spread = spread::SpreadJob { tasks, layers: 1, io_buffers, how: how.into() };
    let gemv = GemvReport { rows, columns, io_buffers: io_buffers.name() };
    let system = System::ranks(ranks.config(), options, ranks.topology());
    Ok(spread::run(ranks, &spread, progress)?.report(&system, JobReport::Gemv(gemv), seed))
}

/// A product of a matrix and a vector, and what it took to write the matrix.
pub(crate) struct Product {
    pub operator: Operator,
    pub load: Statistics,
    pub bytes: u64,
}

/// Writes a matrix, from row 0 of the banks on, and multiplies, perhaps with a program of its own.
pub(crate) fn product(
    rank: &mut dyn Device,
    host: &mut HostPort,
    name: &'static str,
    job: &GemvJob,
    program: Option<&[u64]>,
) -> Result<Product, GemvError> {
    let GemvJob { rows, columns, io_buffers, seed } = *job;
    let layout = MatrixLayout::new(rank.config(), rows, columns)?; // before any data are made
    let data = Synthetic::new(columns, seed);
    let Block { outputs, expected, cost, load } =
        block(rank, host, &layout, data, io_buffers, program)?;
    let error = ErrorReport::new(Format::BINARY16, &outputs, &expected).into();
    let macs = (rows * columns) as u64;
    let operator = Operator::on_device(name, rank.config(), &cost, macs, error);
    Ok(Product { operator, load, bytes: bytes(&layout) })
}

/// What became of rows of a matrix on a rank.
pub(crate) struct Block {
    /// Of each row.
    pub outputs: Vec<u16>,
    /// The same in float64.
    pub expected: Vec<f64>,
    /// What the product cost.
    pub cost: Statistics,
    /// What it took to write the rows.
    pub load: Statistics,
}

/// Writes synthetic rows and multiplies. The host has the rows of one chunk at a time.
pub(crate) fn block(
    rank: &mut dyn Device,
    host: &mut HostPort,
    layout: &MatrixLayout,
    mut data: Synthetic,
    io_buffers: IoBuffers,
    program: Option<&[u64]>,
) -> Result<Block, GemvError> {
    let in_float64 = decoded(&data.vector);
    let mut expected = Vec::with_capacity(layout.rows);
    let mut writes = chunk::ChunkWrites::new(layout, |row| {
        data.next_row(row);
        expected.push(dot(row, &in_float64));
    })
    .peekable();
    let mut load = Statistics::default();
    while writes.peek().is_some() {
        load = load.and(host.transfer(rank, writes.by_ref().take(QUEUE))?.1);
    }
    drop(writes);
    let mut driver = Driver::new();
    let (outputs, cost) = match program {
        Some(words) => multiply_with(&mut driver, rank, layout, &data.vector, words)?,
        None => multiply(&mut driver, rank, layout, &data.vector, io_buffers)?,
    };
    Ok(Block { outputs, expected, cost, load })
}

/// Bytes that writing a matrix moves.
pub(crate) fn bytes(layout: &MatrixLayout) -> u64 {
    (layout.rows * layout.columns.div_ceil(BURST) * BEATS * CHIPS) as u64
}

/// The error of a matrix times a vector, against float64 of the same operands.
pub fn error(matrix: &[Vec<u16>], vector: &[u16], outputs: &[u16]) -> Error {
    let vector = decoded(vector);
    let expected: Vec<f64> = matrix.iter().map(|row| dot(row, &vector)).collect();
    ErrorReport::new(Format::BINARY16, outputs, &expected).into()
}

/// Binary16 numbers in float64.
pub(crate) fn decoded(bits: &[u16]) -> Vec<f64> {
    bits.iter().map(|&bits| f16::from_bits(bits).to_f64()).collect()
}

/// Sums that a dot product is made of, so that no addition waits for the one before.
const SUMS: usize = 8;

/// The dot product of a row of a matrix with a vector, in float64. Products of binary16 numbers are exact.
pub(crate) fn dot(row: &[u16], vector: &[f64]) -> f64 {
    const BATCH: usize = 16 * SUMS;
    let (mut sums, mut wide) = ([0.0; SUMS], [0.0f32; BATCH]);
    for (row, vector) in row.chunks(BATCH).zip(vector.chunks(BATCH)) {
        let row = row.reinterpret_cast::<f16>();
        row.convert_to_f32_slice(&mut wide[..row.len()]);
        wide[row.len()..].fill(0.0);
        for (wide, vector) in wide.chunks_exact(SUMS).zip(vector.chunks(SUMS)) {
            for ((sum, &a), b) in sums.iter_mut().zip(wide).zip(vector) {
                *sum += f64::from(a) * b;
            }
        }
    }
    sums.iter().sum()
}
