// SPDX-License-Identifier: MIT
//! A matrix times a vector on a rank.

mod chunk;

use crate::judge::{ProductOrder, Products, Reference};
use chunk::MatrixStrips;
use pimlico_device::data_bus::BEATS;
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::gemv::{IoBuffers, MatrixError, MatrixLayout};
use pimlico_device::mapping::{self, BURST};
use pimlico_device::{CHIPS, Config, DeviceError, FunctionalRank, RankDevice, Runs, Statistics};
use pimlico_host::driver::{Driver, DriverError, Results};
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_host::memory_controller::Transaction;
use pimlico_host::program;
use pimlico_host::strips::{Strips, Writing};
use pimlico_host::swizzle::{PimLayout, ReadOrder};
use pimlico_model::data::Synthetic;

/// What a matrix has of the dispatcher: a number in the configuration, and entries of the Va2Pa table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The number.
    pub number: u8,
    /// The first of the entries.
    pub entry: usize,
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
    Rank(#[from] DeviceError),
}

from_host!(GemvError);

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

/// Loads a matrix out of the banks, as the copy of [`swizzle`](pimlico_host::swizzle) reads it. Returns its memory, with bursts as they are
/// on the host's data bus.
pub fn fetch(
    rank: &mut dyn RankDevice,
    host: &mut HostPort,
    layout: &MatrixLayout,
) -> Result<(Vec<u8>, Statistics), TransferError> {
    let (mut reads, mut offsets) = (Vec::new(), Vec::new());
    layout.visit(0..layout.lines(), ReadOrder::RowBuffer, &mut |burst| {
        reads.push(Transaction::Read(burst.at.place));
        offsets.push(burst.offset as usize);
    });
    let (read, cost) = host.transfer(rank, reads)?;
    let mut memory = vec![0; layout.bytes() as usize];
    for (at, beats) in offsets.into_iter().zip(read) {
        for (to, beat) in memory[at..].chunks_exact_mut(size_of::<u64>()).zip(beats) {
            to.copy_from_slice(&beat.to_le_bytes());
        }
    }
    Ok((memory, cost))
}

/// Multiplies a matrix that is in the banks with a vector.
///
/// # Panics
///
/// If the vector has not as many elements as the matrix has columns.
pub fn multiply(
    driver: &mut Driver,
    rank: &mut dyn RankDevice,
    layout: &MatrixLayout,
    vector: &[u16],
    io_buffers: IoBuffers,
) -> Result<(Vec<u16>, Statistics), GemvError> {
    multiply_in(Slot::default(), driver, rank, (layout, vector), io_buffers)
}

/// The same in a slot beside others.
///
/// # Panics
///
/// The same.
pub fn multiply_in(
    slot: Slot,
    driver: &mut Driver,
    rank: &mut dyn RankDevice,
    (layout, vector): (&MatrixLayout, &[u16]),
    io_buffers: IoBuffers,
) -> Result<(Vec<u16>, Statistics), GemvError> {
    let words = program::gemv::gemv(layout, io_buffers).words().map_err(DriverError::from)?;
    multiply_with(slot, driver, rank, (layout, vector), &words)
}

/// The same with a program of its own.
fn multiply_with(
    slot: Slot,
    driver: &mut Driver,
    rank: &mut dyn RankDevice,
    (layout, vector): (&MatrixLayout, &[u16]),
    words: &[u64],
) -> Result<(Vec<u16>, Statistics), GemvError> {
    rank.begin();
    let outputs = compute_with(slot, driver, rank, (layout, vector), words)?;
    Ok((outputs, rank.end()))
}

/// All but what it costs.
fn compute_with(
    slot: Slot,
    driver: &mut Driver,
    rank: &mut dyn Runs,
    (layout, vector): (&MatrixLayout, &[u16]),
    words: &[u64],
) -> Result<Vec<u16>, GemvError> {
    assert_eq!(vector.len(), layout.columns, "an element for each column");
    let address = driver.program(rank, words)?;
    // The weights lie where the layout says, its first row being virtual row 0: one program serves all
    // matrices of a shape.
    let row = |row: usize| u16::try_from(row).ok();
    let rows: Vec<_> = layout.bank_rows().map(row).collect();
    driver.rows(rank, slot.number, slot.entry, &rows)?;
    let operands: Vec<_> =
        (0..layout.columns.div_ceil(BURST)).map(|n| mapping::beats_of(vector, n)).collect();
    let expected = layout.chunks() * layout.banks();
    let mut outputs = Results::new(expected);
    let start =
        Start { request: slot.number, address, operands: &operands, context: 0, outputs: expected };
    driver.run(rank, start, &mut |made| {
        if let Made::Output(bits) = made {
            outputs.push(bits);
        }
    })?;
    let mut outputs = outputs.complete(|| "gemv".to_owned())?;
    outputs.truncate(layout.rows);
    Ok(outputs)
}

/// Transactions that wait for the host's memory controller, at most.
const QUEUE: usize = 1 << 18;

/// Writes a matrix into the banks.
pub fn load(
    rank: &mut dyn RankDevice,
    host: &mut HostPort,
    layout: &MatrixLayout,
    matrix: &[Vec<u16>],
) -> Result<Statistics, TransferError> {
    let mut rows = matrix.iter();
    let strips = MatrixStrips::new(layout, |row| {
        row.copy_from_slice(rows.next().expect("a row of the matrix"));
    });
    write(rank, host, strips, || ())
}

/// Has the host write, as many at a time as it takes. `progress` is told of each time.
fn write(
    rank: &mut dyn RankDevice,
    host: &mut HostPort,
    strips: impl Strips,
    mut progress: impl FnMut(),
) -> Result<Statistics, TransferError> {
    let (mut writing, mut cost) = (Writing::new(strips), Statistics::default());
    while !writing.is_over() {
        cost = cost.and(host.write_part(rank, &mut writing, QUEUE)?);
        progress();
    }
    Ok(cost)
}

/// What became of rows of a matrix on a rank.
pub(crate) struct Block {
    /// The results beside the reference's.
    pub judged: Products,
    /// What the product cost.
    pub cost: Statistics,
    /// What it took to write the rows.
    pub load: Statistics,
}

/// Writes synthetic rows and multiplies, perhaps with a program of its own. The host has the rows of one chunk at a time.
/// `progress` receives the elements that are written.
pub(crate) fn block(
    rank: &mut dyn RankDevice,
    host: &mut HostPort,
    layout: &MatrixLayout,
    mut data: Synthetic,
    io_buffers: IoBuffers,
    program: Option<&[u64]>,
    progress: &dyn Fn(u64),
) -> Result<Block, GemvError> {
    let order = ProductOrder::on_rank(rank.config(), rank.options().sums);
    let mut reference = Reference::of(order, data.vector(), layout.rows);
    let strips = MatrixStrips::new(layout, |row| {
        data.next_row(row);
        reference.see(row);
    });
    let all = (layout.rows * layout.columns) as u64;
    let per_queue = all / (layout.rows * layout.columns.div_ceil(BURST)).div_ceil(QUEUE) as u64;
    let mut written = 0;
    let load = write(rank, host, strips, || {
        written = all.min(written + per_queue);
        progress(written);
    })?;
    let mut driver = Driver::new();
    let (outputs, cost) = match program {
        Some(words) => {
            multiply_with(Slot::default(), &mut driver, rank, (layout, data.vector()), words)?
        }
        None => multiply(&mut driver, rank, layout, data.vector(), io_buffers)?,
    };
    Ok(Block { judged: reference.beside(outputs), cost, load })
}

/// The results of synthetic rows on a rank without time.
pub(crate) fn computed(
    rank: &mut FunctionalRank,
    config: &Config,
    layout: &MatrixLayout,
    mut data: Synthetic,
    io_buffers: IoBuffers,
) -> Result<Products, GemvError> {
    let order = ProductOrder::on_rank(config, rank.options().sums);
    let mut reference = Reference::of(order, data.vector(), layout.rows);
    let strips = MatrixStrips::new(layout, |row| {
        data.next_row(row);
        reference.see(row);
    });
    kv_cache::fill(rank, strips);
    let words = program::gemv::gemv(layout, io_buffers).words().map_err(DriverError::from)?;
    let product = (layout, data.vector());
    let outputs = compute_with(Slot::default(), &mut Driver::new(), rank, product, &words)?;
    Ok(reference.beside(outputs))
}

/// The cost of a product and of writing its matrix, without data.
pub(crate) fn timing(
    rank: &mut dyn RankDevice,
    host: &mut HostPort,
    layout: &MatrixLayout,
    io_buffers: IoBuffers,
) -> Result<[Statistics; 2], GemvError> {
    let strips = MatrixStrips::<fn(&mut [u16])>::zeros(layout);
    let load = write(rank, host, strips, || ())?;
    let vector = vec![0; layout.columns];
    let (_, cost) = multiply(&mut Driver::new(), rank, layout, &vector, io_buffers)?;
    Ok([cost, load])
}

/// Bytes that writing a matrix moves.
pub(crate) fn bytes(layout: &MatrixLayout) -> u64 {
    (layout.rows * layout.columns.div_ceil(BURST) * BEATS * CHIPS) as u64
}
