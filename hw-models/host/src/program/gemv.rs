// SPDX-License-Identifier: MIT
//! The program of a matrix times a vector: see [`pimlico_device::gemv`].
//!
//! ```text
//! tile 0:  chunk 0: WR_SHARED of tile 0, MAC, WR_SHARED, MAC, ...   RD_RESULT
//!          chunk 1: MAC, WR_SHARED of tile 1, MAC, WR_SHARED, ...   RD_RESULT
//!          chunk 2: MAC, MAC, ...                                   RD_RESULT
//!          ...
//! tile 1:  chunk 0: MAC, WR_SHARED of tile 2, MAC, WR_SHARED, ...   RD_RESULT
//!          ...
//! ```
//!
//! Every tile has loops of its own: there are few, and the last is shorter than the others. Words of the
//! vector are among the MACs of a chunk: a MAC takes the banks twice as long as a word takes the bus. With
//! a single buffer each tile brings its own, the first with *first*: it waits for all MACs before.

use super::{Builder, Field, Index, Program, Template};
use pimlico_device::LANES;
use pimlico_device::gemv::{IoBuffers, MatrixLayout, TILE_WORDS};
use pimlico_dpa::Opcode;
use pimlico_dpa::types::ResultAddress;
use std::ops::Range;

/// The program for a matrix.
pub fn gemv(layout: &MatrixLayout, io_buffers: IoBuffers) -> Program {
    Program::new(|program| {
        let tiles = Tiles { layout, io_buffers };
        for tile in 0..layout.tiles() {
            tiles.tile(program, tile);
        }
        program.command(Template::new(Opcode::CloseAll));
    })
}

/// Words of a tile that come with MACs.
#[derive(Clone, Copy)]
struct Fill {
    tile: usize,
    /// The first of them.
    from: usize,
    /// Words with each MAC.
    each: u32,
}

struct Tiles<'a> {
    layout: &'a MatrixLayout,
    io_buffers: IoBuffers,
}

/// A number of a layout that fits a program: larger ones are refused when words are written.
fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl Tiles<'_> {
    /// The first word of a tile in the shared buffers.
    fn side(&self, tile: usize) -> u32 {
        match self.io_buffers {
            IoBuffers::PingPong => number(tile % 2 * TILE_WORDS),
            IoBuffers::Single => 0,
        }
    }

    fn tile(&self, program: &mut Builder, tile: usize) {
        let Self { layout, io_buffers } = *self;
        let (chunks, per_row) = (layout.chunks(), layout.chunks_per_row(tile));
        let brings_own = tile == 0 || io_buffers == IoBuffers::Single;
        let brings_next = io_buffers == IoBuffers::PingPong && tile + 1 < layout.tiles();
        let mut chunk = 0_usize;
        if brings_own {
            self.filling_chunk(program, tile, chunk, true, brings_next && chunks == 1);
            chunk += 1;
        }
        if brings_next && chunk < chunks {
            self.filling_chunk(program, tile, chunk, false, true);
            chunk += 1;
        }
        // A row of the banks that has begun, whole rows, and the last.
        let end_of_row = chunks.min(chunk.next_multiple_of(per_row));
        self.chunks(program, tile, chunk..end_of_row);
        let rows = (chunks - end_of_row) / per_row;
        if rows > 0 {
            let (row, column) = layout.virtual_column(tile, end_of_row, 0);
            program.times(rows, |program, r| {
                let (row, column) = (r.times(1) + number(row), Field::from(number(column)));
                let place = r.times(number(per_row * layout.banks()));
                let place = place + number(end_of_row * layout.banks());
                self.row(program, tile, per_row, (row, column, place), r, end_of_row == 0);
            });
        }
        self.chunks(program, tile, end_of_row + rows * per_row..chunks);
    }

    /// Chunks of one row of the banks.
    fn chunks(&self, program: &mut Builder, tile: usize, chunks: Range<usize>) {
        if chunks.is_empty() {
            return;
        }
        let (row, column) = self.layout.virtual_column(tile, chunks.start, 0);
        let place = number(chunks.start * self.layout.banks());
        let at = (number(row).into(), number(column).into(), place.into());
        self.row(program, tile, chunks.len(), at, Index::NONE, chunks.start == 0);
    }

    /// So many chunks of a row, the first of them at row, column and place.
    fn row(
        &self,
        program: &mut Builder,
        tile: usize,
        count: usize,
        (row, column, place): (Field, Field, Field),
        row_index: Index,
        opens: bool,
    ) {
        let bursts = self.layout.bursts(tile);
        program.times(count, |program, chunk| {
            let column = column + chunk.times(number(bursts));
            program.times(bursts, |program, burst| {
                let read = Template::new(Opcode::MacScore)
                    .row(row)
                    .column(column + burst.times(1))
                    .word(burst.times(1) + self.side(tile))
                    .first(&[burst])
                    .last(&[burst]);
                // What the banks wait for before a tile is the vector.
                let opening = read.clone().opens(&[burst, chunk, row_index]);
                program.command(if opens { opening } else { read });
            });
            self.results(program, tile, place + chunk.times(number(self.layout.banks())));
        });
    }

    /// A chunk of a tile, with the words of the tile before the MACs that need them, or those of the next
    /// behind MACs. Of both together, each word comes in half the time of the chunk's MACs, one tile behind
    /// the other.
    fn filling_chunk(
        &self,
        program: &mut Builder,
        tile: usize,
        chunk: usize,
        own: bool,
        next: bool,
    ) {
        let bursts = self.layout.bursts(tile);
        let of_next = if next { self.layout.bursts(tile + 1) } else { 0 };
        let mut macs = 0;
        let mut part = |count: usize, fill: Option<Fill>| {
            self.reads(program, (tile, chunk), macs..macs + count, fill);
            macs += count;
        };
        let fill = |tile, from, each| Some(Fill { tile, from, each });
        if own && next {
            let half = bursts / 2; // tiles that have a next one are whole
            part(half, fill(tile, 0, 2));
            part(of_next / 2, fill(tile + 1, 0, 2));
            part(of_next % 2, fill(tile + 1, of_next - 1, 1));
            part(bursts - half - of_next.div_ceil(2), None);
        } else {
            let of_own = if own { bursts } else { 0 };
            part(of_own, fill(tile, 0, 1));
            part(of_next, fill(tile + 1, 0, 1));
            part(bursts - of_own - of_next, None);
        }
        self.results(program, tile, number(chunk * self.layout.banks()).into());
    }

    /// Some of a chunk's MACs, and words of the vector among them.
    fn reads(
        &self,
        program: &mut Builder,
        (tile, chunk): (usize, usize),
        macs: Range<usize>,
        fill: Option<Fill>,
    ) {
        let (begins, ends) = (macs.start == 0, macs.end == self.layout.bursts(tile));
        let (row, column) = self.layout.virtual_column(tile, chunk, macs.start);
        program.times(macs.len(), |program, burst| {
            let fills = |program: &mut Builder| {
                let Some(Fill { tile, from, each }) = fill else { return };
                for n in 0..each {
                    let word = burst.times(each) + self.side(tile) + number(from) + n;
                    let fill = Template::new(Opcode::WrShared).word(word);
                    // The first of a tile, where the MACs of the one before may be under way.
                    let first = from == 0 && n == 0 && self.io_buffers == IoBuffers::Single;
                    program.command(if first { fill.first(&[burst]) } else { fill });
                }
            };
            let is_own = fill.is_some_and(|fill| fill.tile == tile);
            if is_own {
                fills(program);
            }
            let mut read = Template::new(Opcode::MacScore)
                .row(number(row))
                .column(burst.times(1) + number(column))
                .word(burst.times(1) + self.side(tile) + number(macs.start));
            if begins {
                read = read.first(&[burst]);
            }
            if begins && chunk == 0 {
                read = read.opens(&[burst]); // what the banks wait for is the vector
            }
            if ends {
                read = read.last(&[burst]);
            }
            program.command(read);
            if !is_own {
                fills(program);
            }
        });
    }

    /// The results of a chunk, whose outputs begin at a place.
    fn results(&self, program: &mut Builder, tile: usize, place: Field) {
        let tiles = self.layout.tiles();
        for group in 0..self.layout.groups() {
            // Without partial sums there is no place, and there may be more outputs than places.
            let place = if tiles == 1 { Field::default() } else { place.clone() };
            let mut result = Template::new(Opcode::RdResult)
                .word(u32::from(ResultAddress::outputs(group as u8).bits()))
                .place(place + number(if tiles == 1 { 0 } else { group * LANES }));
            if tile == 0 {
                result = result.first(&[]);
            }
            if tile + 1 == tiles {
                result = result.last(&[]);
            }
            program.command(result);
        }
    }
}
