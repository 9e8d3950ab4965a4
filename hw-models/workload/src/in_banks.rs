// SPDX-License-Identifier: MIT
//! Matrices in the banks as the host has them: copied into an order of its own, or read where they are.
//!
//! Where a burst lies says the device's layout ([`PimLayout`]); a burst has neighbours of one *line* of the matrix, a column
//! in LPDDR5X-PIM and a row elsewhere. A matrix here may be some lines of what lies in the banks, as K is behind Q, or lines of
//! several layouts, as the blocks of a matrix in the ranks of a device. The copy is PIM-SHERPA's swizzled memory copy (SMC,
//! section 4.2): bursts are read in the order of the banks and stored line behind line.

use pimlico_device::lp5::HostOrder;
use pimlico_device::lp5::layout::LANES;
use pimlico_host::swizzle::{PimLayout, ReadOrder, swizzled_lines};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of an element.
const ELEMENT_BYTES: usize = 2;

/// What lies in the banks by one layout.
pub struct Banked<'a> {
    layout: Box<dyn PimLayout + Send + 'a>,
    /// [`PimLayout::bytes`], which begin with the layout's first row of the banks.
    memory: Cow<'a, [u8]>,
}

impl<'a> Banked<'a> {
    /// Memory in which a matrix lies by its layout.
    pub fn new(layout: impl PimLayout + Send + 'a, memory: impl Into<Cow<'a, [u8]>>) -> Arc<Self> {
        Arc::new(Self { layout: Box::new(layout), memory: memory.into() })
    }
}

/// Lines of a matrix that lie by one layout, one behind the other.
#[derive(Clone)]
pub struct Lines<'a> {
    /// Where they lie.
    pub of: Arc<Banked<'a>>,
    /// Which lines of that.
    pub lines: Range<usize>,
}

/// A matrix of 16-bit elements in the banks.
pub struct BankMatrix<'a> {
    shape: (usize, usize),
    order: HostOrder,
    /// The first line of each run, and where its lines are.
    runs: Vec<(usize, Lines<'a>)>,
}

impl<'a> BankMatrix<'a> {
    /// All of what lies in the banks by a layout.
    pub fn whole(of: Arc<Banked<'a>>) -> Self {
        let lines = 0..of.layout.lines() as usize;
        Self::new([Lines { of, lines }])
    }

    /// Lines of layouts, one behind the other; none of no lines is kept.
    ///
    /// # Panics
    ///
    /// If there are no lines, or a layout has not as many, or layouts differ in the elements of a line.
    pub fn new(runs: impl IntoIterator<Item = Lines<'a>>) -> Self {
        let mut count = 0;
        let first = |run: Lines<'a>| {
            assert!(run.lines.end <= run.of.layout.lines() as usize, "lines of the layout");
            let first = count;
            count += run.lines.len();
            (first, run)
        };
        let runs = runs.into_iter().filter(|run| !run.lines.is_empty()).map(first);
        let runs: Vec<_> = runs.collect();
        let layout = |run: &(usize, Lines<'a>)| {
            let layout = &run.1.of.layout;
            (layout.order(), layout.line_elements() as usize)
        };
        let (order, elements) = layout(&runs[0]);
        assert!(runs.iter().all(|run| layout(run) == (order, elements)), "lines that are alike");
        let shape = match order {
            HostOrder::ColumnMajor => (elements, count),
            HostOrder::RowMajor => (count, elements),
        };
        Self { shape, order, runs }
    }

    /// Matrices of so many lines each, one behind the other; none of no lines.
    ///
    /// # Panics
    ///
    /// If there are fewer lines.
    pub fn cut(runs: impl IntoIterator<Item = Lines<'a>>, counts: &[usize]) -> Vec<Self> {
        let mut left: VecDeque<_> = runs.into_iter().collect();
        let cut = |count: &usize| {
            let (mut wanted, mut lines) = (*count, Vec::new());
            while wanted > 0 {
                let first = left.front_mut().expect("as many lines");
                let here = wanted.min(first.lines.len());
                let of = Arc::clone(&first.of);
                lines.push(Lines { of, lines: first.lines.start..first.lines.start + here });
                first.lines.start += here;
                if first.lines.is_empty() {
                    left.pop_front();
                }
                wanted -= here;
            }
            Self::new(lines)
        };
        counts.iter().map(cut).collect()
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Which lines it has: the order in which a copy has its elements.
    pub fn order(&self) -> HostOrder {
        self.order
    }

    /// How many lines it has.
    pub fn lines(&self) -> usize {
        if self.order == HostOrder::ColumnMajor { self.shape.1 } else { self.shape.0 }
    }

    /// Bytes of a line.
    pub fn line_bytes(&self) -> usize {
        self.bytes() / self.lines()
    }

    /// Bytes of its elements, without padding.
    pub fn bytes(&self) -> usize {
        ELEMENT_BYTES * self.shape.0 * self.shape.1
    }

    /// Copies some lines into the host's memory, one behind the other.
    ///
    /// # Panics
    ///
    /// If there are no such lines, or the memory is not of their size.
    pub fn copy(&self, lines: Range<usize>, threads: NonZero<usize>, to: &mut [u8]) {
        assert!(lines.start <= lines.end && lines.end <= self.lines(), "lines of it");
        assert_eq!(to.len(), lines.len() * self.line_bytes(), "bytes of the lines");
        for (first, run) in &self.runs {
            let here = lines.start.max(*first)..lines.end.min(first + run.lines.len());
            if here.is_empty() {
                continue;
            }
            let [from, end] = [here.start, here.end].map(|line| line - lines.start);
            let to = &mut to[from * self.line_bytes()..end * self.line_bytes()];
            let line = |line: usize| (line - first + run.lines.start) as u64;
            let (of, lines) = (&run.of, line(here.start)..line(here.end));
            let how = (ReadOrder::RowBuffer, threads);
            swizzled_lines(&*of.layout, &of.memory, lines, how, to);
        }
    }

    /// Of some columns 16 rows from a row on, which is a multiple of 16. Rows behind the last are 0.
    ///
    /// # Panics
    ///
    /// If there are no such columns, or not as many vectors.
    pub fn vectors(&self, row: usize, columns: Range<usize>, to: &mut [[u16; LANES]]) {
        assert_eq!(to.len(), columns.len(), "a vector for each column");
        to.fill([0; LANES]);
        let here = LANES.min(self.shape.0 - row);
        match self.order {
            HostOrder::ColumnMajor => {
                for (column, to) in columns.zip(to) {
                    self.elements(column, row..row + here, |n, element| to[n] = element);
                }
            }
            HostOrder::RowMajor => {
                (0..here).for_each(|lane| {
                    let store = |n: usize, element| to[n][lane] = element;
                    self.elements(row + lane, columns.clone(), store);
                });
            }
        }
    }

    /// Some elements of a line, burst by burst.
    fn elements(&self, line: usize, elements: Range<usize>, mut store: impl FnMut(usize, u16)) {
        let behind = self.runs.partition_point(|(first, _)| *first <= line);
        let (first, Lines { of, lines }) = &self.runs[behind - 1];
        let line = (line - first + lines.start) as u64;
        let of_burst = of.layout.burst_elements() as usize;
        let mut next = elements.start;
        while next < elements.end {
            let (number, within) = (next / of_burst, next % of_burst);
            let here = (of_burst - within).min(elements.end - next);
            let at = of.layout.offset(of.layout.burst(line, number as u64)) as usize;
            let bytes = &of.memory[at + ELEMENT_BYTES * within..][..ELEMENT_BYTES * here];
            for (n, word) in bytes.chunks_exact(ELEMENT_BYTES).enumerate() {
                store(next - elements.start + n, u16::from_le_bytes([word[0], word[1]]));
            }
            next += here;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::Config;
    use pimlico_device::gemv::MatrixLayout;
    use pimlico_device::lp5::{AddressMap, Lp5Layout};
    use pimlico_host::swizzle::pack;

    /// An element by its row and column.
    fn element(row: usize, column: usize) -> u16 {
        (row * 1009 + column) as u16
    }

    /// Rows of a matrix in the banks of a rank.
    fn rows(rows: Range<usize>, columns: usize) -> Arc<Banked<'static>> {
        let layout = MatrixLayout::from_row(&Config::ddr4_3200(), rows.len(), columns, 3);
        let layout = layout.expect("it fits");
        let elements: Vec<_> =
            rows.flat_map(|row| (0..columns).map(move |column| element(row, column))).collect();
        let mut memory = vec![0; layout.bytes() as usize];
        pack(&layout, &elements, &mut memory);
        Banked::new(layout, memory)
    }

    /// Holds a matrix, whose first row is a row of all, to what it should be.
    fn check(matrix: &BankMatrix<'_>, first_row: usize) {
        let (rows, columns) = matrix.shape();
        for part in 0..4 {
            let edge = |part: usize| matrix.lines() * part / 4;
            let lines = edge(part)..edge(part + 1);
            let mut copy = vec![0xFF; lines.len() * matrix.line_bytes()];
            matrix.copy(lines.clone(), NonZero::new(part + 1).expect("some"), &mut copy);
            let of_line = copy.chunks_exact(matrix.line_bytes().max(1));
            for (line, bytes) in lines.zip(of_line) {
                for (n, word) in bytes.chunks_exact(2).enumerate() {
                    let by_column = matrix.order() == HostOrder::ColumnMajor;
                    let (row, column) = if by_column { (n, line) } else { (line, n) };
                    let expected = element(first_row + row, column);
                    assert_eq!(u16::from_le_bytes([word[0], word[1]]), expected, "{row} {column}");
                }
            }
        }
        for row in (0..rows).step_by(LANES) {
            for part in [0..columns, columns / 3..columns / 2, columns - 1..columns] {
                let mut vectors = vec![[9; LANES]; part.len()];
                matrix.vectors(row, part.clone(), &mut vectors);
                for (column, vector) in part.zip(vectors) {
                    for (row, found) in (row..).zip(vector) {
                        let expected = element(first_row + row, column);
                        assert_eq!(found, if row < rows { expected } else { 0 });
                    }
                }
            }
        }
    }

    #[test]
    fn lines_of_layouts_are_a_matrix() {
        for columns in [1, 32, 70, 4200] {
            let all = rows(0..75, columns);
            check(&BankMatrix::whole(Arc::clone(&all)), 0);
            // K behind Q.
            check(&BankMatrix::new([Lines { of: Arc::clone(&all), lines: 17..50 }]), 17);
            // Blocks of ranks, of which one is empty.
            let (none, next) =
                (Lines { of: Arc::clone(&all), lines: 4..4 }, rows(75..100, columns));
            let [a, b] = [Lines { of: all, lines: 40..75 }, Lines { of: next, lines: 0..25 }];
            let runs = [none, a, b];
            check(&BankMatrix::new(runs.clone()), 40);
            let mut first = 40;
            for matrix in BankMatrix::cut(runs, &[20, 30, 10]) {
                check(&matrix, first);
                first += matrix.lines();
            }
            assert_eq!(first, 100);
        }
        let map: AddressMap = AddressMap::DEFAULT.parse().expect("a map");
        for (rows, columns) in [(75, 33), (1040, 3), (16, 64)] {
            let layout = Lp5Layout::new(&map, rows, columns, 2..65532).expect("it fits");
            let of_rows = |row| (0..columns as usize).map(move |column| element(row, column));
            let elements: Vec<_> = (0..rows as usize).flat_map(of_rows).collect();
            let mut memory = vec![0; layout.bytes() as usize];
            pack(&layout, &elements, &mut memory);
            check(&BankMatrix::whole(Banked::new(layout, memory)), 0);
        }
    }
}
