// SPDX-License-Identifier: MIT
//! A matrix times a vector on one rank: bare, as fully-connected layers are made of.

use crate::data;
use crate::driver::{Driver, DriverError, Results};
use crate::kv_cache::{HostPort, TransferError};
use crate::memory_controller::Transaction;
use crate::pins::PinLog;
use crate::program;
use crate::report::{Error, GemvReport, JobReport, Load, Operator, Report};
use half::f16;
use pimlico_device::data_bus::BEATS;
use pimlico_device::dispatch::Made;
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{self, BURST};
use pimlico_device::{CHIPS, Rank, RankError, Statistics};
use pimlico_golden::error::ErrorReport;
use pimlico_golden::format::Format;

/// The configuration that is used.
const SLOT: u8 = 0;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Job {
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
        let mut random = data::generator(seed);
        let deviation = 1.0 / (columns as f64).sqrt();
        let vector = data::normal_vector(&mut random, columns, 1.0);
        let row = move || Some(data::normal_vector(&mut random, columns, deviation));
        (vector, std::iter::from_fn(row))
    }
}

/// Writes of a matrix: burst by burst over the rows of a chunk, each in another bank group than the one
/// before.
pub fn writes<'a>(
    layout: &'a MatrixLayout,
    matrix: &'a [Vec<u16>],
) -> impl Iterator<Item = Transaction> + 'a {
    let bursts = layout.columns.div_ceil(BURST);
    let (banks, groups) = (layout.banks(), layout.groups());
    let row =
        move |chunk: usize, n: usize| chunk * banks + n % groups * (banks / groups) + n / groups;
    (0..layout.chunks())
        .flat_map(move |chunk| (0..bursts).map(move |burst| (chunk, burst)))
        .flat_map(move |(chunk, burst)| (0..banks).map(move |n| (row(chunk, n), burst)))
        .filter(|&(row, _)| row < layout.rows)
        .map(|(row, burst)| {
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
    rank: &mut Rank,
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
    rank: &mut Rank,
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
    let mut outputs = Results::new(layout.chunks() * layout.banks());
    rank.begin();
    driver.run(rank, (SLOT, address), &operands, &mut |made| {
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
    rank: &mut Rank,
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
pub fn run(rank: &mut Rank, job: &Job) -> Result<Report, GemvError> {
    run_with(rank, job, None)
}

/// Runs a job, with a program in place of the one that would be built.
pub fn run_with(rank: &mut Rank, job: &Job, program: Option<&[u64]>) -> Result<Report, GemvError> {
    let Job { rows, columns, io_buffers, seed } = *job;
    let mut host = HostPort::new().map_err(TransferError::from)?;
    let pins = PinLog::of(rank);
    let Product { operator, load, bytes } = product(rank, &mut host, "gemv", job, program)?;
    let gemv = GemvReport { rows, columns, io_buffers: io_buffers.name() };
    let load = Load::new(rank.config(), &load, bytes);
    Ok(Report::new(rank, &pins, JobReport::Gemv(gemv), seed, load, operator))
}

/// A product of a matrix and a vector, and what it took to write the matrix.
pub(crate) struct Product {
    pub operator: Operator,
    pub load: Statistics,
    pub bytes: u64,
}

/// Writes a matrix, from row 0 of the banks on, and multiplies, perhaps with a program of its own.
pub(crate) fn product(
    rank: &mut Rank,
    host: &mut HostPort,
    name: &'static str,
    job: &Job,
    program: Option<&[u64]>,
) -> Result<Product, GemvError> {
    let Job { rows, columns, io_buffers, seed } = *job;
    let layout = MatrixLayout::new(rank.config(), rows, columns)?; // before any data are made
    let Operands { matrix, vector } = Operands::synthetic(rows, columns, seed);
    let load = load(rank, host, &layout, &matrix)?;
    let mut driver = Driver::new();
    let (outputs, cost) = match program {
        Some(words) => multiply_with(&mut driver, rank, &layout, &vector, words)?,
        None => multiply(&mut driver, rank, &layout, &vector, io_buffers)?,
    };

    let error = error(&matrix, &vector, &outputs);
    let macs = (rows * columns) as u64;
    Ok(Product {
        operator: Operator::on_device(name, rank.config(), &cost, macs, error),
        load,
        bytes: (rows * columns.div_ceil(BURST) * BEATS * CHIPS) as u64,
    })
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

/// The dot product of a row of a matrix with a vector, in float64.
pub(crate) fn dot(row: &[u16], vector: &[f64]) -> f64 {
    row.iter().zip(vector).map(|(&a, b)| f16::from_bits(a).to_f64() * b).sum()
}
