// SPDX-License-Identifier: MIT
//! The swizzled memory copy of PIM-SHERPA (section 4.2): a matrix out of its layout in the banks into the host's order, by
//! the host's own loads and stores.
//!
//! * [`layout`]: a matrix in banks for PIM, on any device: the trait [`PimLayout`]. `lp5`, `l3` and `aim` have theirs.
//! * [`swizzled_copy`], [`swizzled_lines`]: copies by threads of this machine.
//! * [`rows`]: `lp5`'s into row-major order, which bursts do not keep.
//!
//! But for [`rows`], bursts are whole in both orders, so that a copy is a permutation of them. Threads share it by blocks of lines: those of rows of
//! all banks.

mod aim;
mod l3;
pub mod layout;
mod lp5;
pub mod rows;

pub use layout::{ChannelPlace, MatrixBurst, PimLayout, ReadOrder, pack};

use std::num::NonZero;
use std::ops::Range;

/// Copies a matrix out of `memory`, which begins with its base, into the host's memory, line behind line.
///
/// # Panics
///
/// If the memory ends before the matrix, or the host's is not of its size.
pub fn swizzled_copy(
    layout: &dyn PimLayout,
    memory: &[u8],
    order: ReadOrder,
    threads: NonZero<usize>,
    to: &mut [u8],
) {
    swizzled_lines(layout, memory, 0..layout.lines(), (order, threads), to);
}

/// The same of some lines, which lie one behind the other in the host's memory.
///
/// # Panics
///
/// If there are no such lines, the memory ends before them, or the host's is not of their size.
pub fn swizzled_lines(
    layout: &dyn PimLayout,
    memory: &[u8],
    lines: Range<u64>,
    (order, threads): (ReadOrder, NonZero<usize>),
    to: &mut [u8],
) {
    assert!(lines.start <= lines.end && lines.end <= layout.lines(), "lines of {}", layout.lines());
    let count = lines.end - lines.start;
    let (line_bytes, burst_bytes) = (layout.line_bytes(), layout.burst_bytes());
    assert_eq!(to.len() as u64, count * line_bytes, "bytes of the lines");
    if to.is_empty() {
        return;
    }
    // Whole blocks of lines to each thread.
    let blocks = count.div_ceil(layout.block()).div_ceil(threads.get() as u64);
    let share = blocks * layout.block();
    std::thread::scope(|scope| {
        let parts = to.chunks_mut((share * line_bytes) as usize).zip(0u64..);
        for (to, number) in parts {
            let first = lines.start + number * share;
            let of_part = first..(first + share).min(lines.end);
            scope.spawn(move || {
                layout.visit(of_part, order, &mut |burst| {
                    let begin = burst.number * burst_bytes;
                    let bytes = burst_bytes.min(line_bytes - begin) as usize;
                    let at = ((burst.line - first) * line_bytes + begin) as usize;
                    let from = burst.offset as usize;
                    to[at..at + bytes].copy_from_slice(&memory[from..from + bytes]);
                });
            });
        }
    });
}

#[cfg(test)]
mod tests;
