// SPDX-License-Identifier: MIT
//! What a host writes, strip by strip: a strip is of columns of one row that are written from bank to bank, column by
//! column. It is so regular that its writes need not be listed: where they follow each other without a pause, they are
//! one step ([`WriteRun`](pimlico_device::WriteRun)), with data or without.

use crate::memory_controller::Transaction;
use pimlico_device::BankOrder;
use pimlico_device::data_bus::{BEATS, Beats};
use pimlico_device::mapping::{self, HeadLayout, Place};
use pimlico_model::data::Head;
use std::collections::VecDeque;

/// Columns of a row, in each the banks of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// The row.
    pub row: usize,
    /// The first of its columns.
    pub column: usize,
    /// How many there are.
    pub columns: usize,
    /// The banks.
    pub banks: BankOrder,
}

impl Strip {
    /// Its writes.
    pub fn count(&self) -> usize {
        self.columns * self.banks.len()
    }

    /// Where one of its writes goes, by its number.
    pub fn place(&self, number: usize) -> Place {
        let (column, place) = (number / self.banks.len(), number % self.banks.len());
        Place { bank: self.banks.bank(place), row: self.row, column: self.column + column }
    }
}

/// Writes to strips that differ in their rows alone: what is known of the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Regular {
    column: usize,
    columns: usize,
    banks: BankOrder,
    /// Writes of the first strip that have left.
    pub left: u64,
}

impl Regular {
    /// Writes of a strip.
    pub fn count(&self) -> u64 {
        (self.columns * self.banks.len()) as u64
    }

    /// The same as if whole columns that have left had not.
    pub fn of_column(self) -> Self {
        Self { left: self.left % self.banks.len() as u64, ..self }
    }
}

/// Strips, by their numbers, and what is written there.
pub trait Strips {
    /// A strip; none behind the last. Each is asked for once, in their order, and data are wanted of the last two
    /// alone.
    fn strip(&mut self, number: usize) -> Option<Strip>;

    /// What is written to a place of a strip.
    fn beats(&self, number: usize, place: Place) -> Beats;

    /// What is written to some banks of a column of a strip, one after the other.
    fn column_beats(
        &self,
        number: usize,
        (row, column): (usize, usize),
        banks: impl Iterator<Item = usize>,
        mut written: impl FnMut(&Beats),
    ) {
        banks.for_each(|bank| written(&self.beats(number, Place { bank, row, column })));
    }
}

/// Strips that are being written: their writes come at the back of what waits for the host, and leave at its front.
pub struct Writing<S> {
    strips: S,
    /// Those that have not left whole, each with its number; the first may have left in part.
    under_way: VecDeque<(usize, Strip)>,
    /// The number of the strip behind them.
    next: usize,
    /// Writes of the first that have left.
    left: usize,
    /// Which of those under way is coming, and how many of its writes have come.
    coming: (usize, usize),
    /// Writes that have come and not left.
    waiting: usize,
    /// Writes that may come until the host leaves the pins.
    most: usize,
}

impl<S: Strips> Writing<S> {
    /// From the first strip on.
    pub fn new(strips: S) -> Self {
        let under_way = VecDeque::with_capacity(4);
        Self { strips, under_way, next: 0, left: 0, coming: (0, 0), waiting: 0, most: 0 }
    }

    /// Whether all is written.
    pub fn is_over(&mut self) -> bool {
        self.waiting == 0 && self.next_write().is_none()
    }

    /// So many writes may come, and no more.
    pub(crate) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// A strip that is under way, or can be, by its place among them.
    fn under_way(&mut self, place: usize) -> Option<(usize, Strip)> {
        while self.under_way.len() <= place {
            self.under_way.push_back((self.next, self.strips.strip(self.next)?));
            self.next += 1;
        }
        Some(self.under_way[place])
    }

    /// The strip of the next write to come, by its place among those under way, and the number of the write.
    fn next_write(&mut self) -> Option<(usize, usize)> {
        let (mut place, mut n) = self.coming;
        while n >= self.under_way(place)?.1.count() {
            (place, n) = (place + 1, 0);
        }
        Some((place, n))
    }

    /// The next write comes.
    pub(crate) fn come(&mut self) -> Option<Transaction> {
        self.most = self.most.checked_sub(1)?;
        let (place, n) = self.next_write()?;
        let (number, strip) = self.under_way[place];
        self.coming = (place, n + 1);
        self.waiting += 1;
        let place = strip.place(n);
        Some(Transaction::Write(place, self.strips.beats(number, place)))
    }

    /// So many of those that wait leave.
    pub(crate) fn leave(&mut self, count: usize) {
        self.waiting -= count;
        self.pass_by(count);
    }

    fn pass_by(&mut self, count: usize) {
        self.left += count;
        while self.coming.0 > 0 && self.under_way[0].1.count() <= self.left {
            let (_, strip) = self.under_way.pop_front().expect("it is under way");
            self.left -= strip.count();
            self.coming.0 -= 1;
        }
    }

    /// What the next `count` writes are that have not left, if all of them may come, and go to strips that are alike, each to
    /// another row than the one before, below this one, and longer than what waits at once.
    pub(crate) fn regular(
        &mut self,
        count: usize,
        at_once: usize,
        below_row: usize,
    ) -> Option<Regular> {
        if self.most.saturating_add(self.waiting) < count {
            return None;
        }
        let (_, first) = self.under_way(0)?;
        let (mut row, mut covered, mut place) = (first.row, first.count() - self.left, 0);
        while covered < count {
            place += 1;
            let (_, strip) = self.under_way(place)?;
            if strip.row == row
                || strip.row >= below_row
                || (Strip { row: first.row, ..strip }) != first
            {
                return None;
            }
            (row, covered) = (strip.row, covered + strip.count());
        }
        let Strip { column, columns, banks, .. } = first;
        let fits = first.count() > at_once && first.row < below_row;
        fits.then_some(Regular { column, columns, banks, left: self.left as u64 })
    }

    /// So many writes, those that wait among them, are done.
    pub(crate) fn skip(&mut self, count: usize) {
        let comes = count - self.waiting;
        let (mut place, mut n) = self.coming;
        let mut rest = comes;
        loop {
            let (_, strip) = self.under_way(place).expect("they are regular");
            let of_strip = rest.min(strip.count() - n);
            (n, rest) = (n + of_strip, rest - of_strip);
            if rest == 0 {
                break;
            }
            (place, n) = (place + 1, 0);
        }
        self.coming = (place, n);
        self.most -= comes;
        self.waiting = 0;
        self.pass_by(count);
    }

    /// The strip of the first write that has not left, which write of it that is, and how many writes of the strip there
    /// are from that one on, behind each of which at least `ahead` others go to the same row of the same banks.
    pub(crate) fn first(&mut self, ahead: usize) -> Option<(Strip, usize, usize)> {
        let (_, strip) = self.under_way(0)?;
        let left = strip.count() - self.left;
        let goes_on = |next: Strip| {
            let is_of_strip = |bank| strip.banks.iter().any(|of_strip| of_strip == bank);
            next.row == strip.row && next.count() >= ahead && next.banks.iter().all(is_of_strip)
        };
        let next = self.under_way(1).map(|(_, next)| next);
        let count = if next.is_some_and(goes_on) { left } else { left.saturating_sub(ahead) };
        let count = count.min(self.most.saturating_add(self.waiting).saturating_sub(ahead));
        (count > 0).then_some((strip, self.left, count))
    }

    /// So many writes of the first strip come and leave at once, behind all that have come.
    pub(crate) fn pass(&mut self, count: usize, written: Option<&mut dyn FnMut(&Beats)>) {
        if count == 0 {
            return;
        }
        let ((number, strip), (place, from)) = (self.under_way[0], self.coming);
        assert_eq!(place, 0, "writes of the first strip are to come");
        if let Some(written) = written {
            let Strip { row, banks, .. } = strip;
            let (mut next, end) = (from, from + count);
            while next < end {
                let first = next % banks.len();
                let (column, last) =
                    (strip.place(next).column, end.min(next - first + banks.len()));
                let of_column = banks.iter().skip(first).take(last - next);
                self.strips.column_beats(number, (row, column), of_column, &mut *written);
                next = last;
            }
        }
        self.coming = (0, from + count);
        self.most -= count;
        self.pass_by(count);
    }
}

/// A head's K, then its V. The tokens that fill up the last column of V are cleared: their weights are zero, but zero times
/// what was left there could be NaN.
pub struct HeadStrips<'a> {
    layout: &'a HeadLayout,
    head: &'a Head,
    /// All banks of K, each in another group than the one before.
    k_banks: BankOrder,
    /// Those of a part of V.
    v_banks: Vec<BankOrder>,
}

impl<'a> HeadStrips<'a> {
    /// Of a head in the rows of a layout.
    pub fn new(layout: &'a HeadLayout, head: &'a Head) -> Self {
        let (banks, groups) = (layout.banks(), layout.groups());
        let per_group = banks / groups;
        let k_banks = BankOrder::new((0..banks).map(|n| n % groups * per_group + n / groups));
        let of_part = |part: usize| {
            let bursts = layout.bursts_of_part(part);
            BankOrder::new(
                (0..bursts).flat_map(|burst| (0..groups).map(move |n| n * per_group + burst)),
            )
        };
        Self { layout, head, k_banks, v_banks: (0..layout.parts()).map(of_part).collect() }
    }

    /// Rows that whole chunks of K fill, or begin to.
    fn k_rows(&self) -> usize {
        self.whole_chunks().div_ceil(self.layout.chunks_per_row())
    }

    fn whole_chunks(&self) -> usize {
        self.layout.context / self.layout.banks()
    }

    /// The strip of K of a row, by the row's number.
    fn k_row(&self, number: usize) -> Strip {
        let per_row = self.layout.chunks_per_row();
        let first = number * per_row;
        let chunks = per_row.min(self.whole_chunks() - first);
        let (row, column) = self.layout.k_column(first, 0);
        Strip { row, column, columns: chunks * self.layout.bursts(), banks: self.k_banks }
    }

    /// That of the chunk of K that is not whole, if there is one.
    fn k_rest(&self) -> Option<Strip> {
        let (chunk, tokens) = (self.whole_chunks(), self.layout.context % self.layout.banks());
        let (row, column) = self.layout.k_column(chunk, 0);
        let banks = BankOrder::new(self.k_banks.iter().filter(|bank| *bank < tokens));
        (tokens > 0).then(|| Strip { row, column, columns: self.layout.bursts(), banks })
    }

    /// A strip of V. Where vectors are in parts, these take turns column by column.
    fn v_strip(&self, number: usize) -> Option<Strip> {
        let (quads, parts, per_row) =
            (self.layout.quads(), self.layout.parts(), self.layout.columns());
        let (first, part, columns) = match parts {
            1 => (number * per_row, 0, per_row),
            _ => (number / parts, number % parts, 1),
        };
        let columns = columns.min(quads.checked_sub(first)?);
        let (row, column) = self.layout.v_column(first, part);
        (columns > 0).then(|| Strip { row, column, columns, banks: self.v_banks[part] })
    }

    /// Strips of K.
    fn of_k(&self) -> usize {
        self.k_rows() + usize::from(!self.layout.context.is_multiple_of(self.layout.banks()))
    }
}

impl Strips for HeadStrips<'_> {
    fn strip(&mut self, number: usize) -> Option<Strip> {
        let (rows, of_k) = (self.k_rows(), self.of_k());
        match number {
            _ if number < rows => Some(self.k_row(number)),
            _ if number < of_k => self.k_rest(),
            _ => self.v_strip(number - of_k),
        }
    }

    fn beats(&self, number: usize, place: Place) -> Beats {
        if number < self.of_k() {
            let (token, burst) = self.layout.token_of_k(place);
            mapping::beats_of(&self.head.k[token], burst)
        } else {
            let (token, burst) = self.layout.token_of_v(place);
            self.head.v.get(token).map_or([0; BEATS], |v| mapping::beats_of(v, burst))
        }
    }

    /// Banks of a column of K have a token each, and the same burst of it.
    fn column_beats(
        &self,
        number: usize,
        (row, column): (usize, usize),
        banks: impl Iterator<Item = usize>,
        mut written: impl FnMut(&Beats),
    ) {
        if number < self.of_k() {
            let (first, burst) = self.layout.token_of_k(Place { bank: 0, row, column });
            let k = &self.head.k;
            banks.for_each(|bank| written(&mapping::beats_of(&k[first + bank], burst)));
        } else {
            banks.for_each(|bank| written(&self.beats(number, Place { bank, row, column })));
        }
    }
}

/// The writes of strips one by one.
///
/// ```
/// use pimlico_device::{Config, mapping::HeadLayout};
/// use pimlico_host::{kv_cache, strips};
/// use pimlico_model::data::{Distribution, Head, HeadShape};
///
/// let distribution = Distribution::Random;
/// let shape = HeadShape { head_dim: 64, context: 600, group: 1, distribution };
/// let head = Head::synthetic(shape, 1, 0);
/// let layout = HeadLayout::new(&Config::ddr4_3200(), 64, 600, 0).expect("it fits");
/// assert!(strips::writes(kv_cache::strips(&layout, &head)).eq(kv_cache::writes(&layout, &head)));
/// ```
pub fn writes(mut strips: impl Strips) -> impl Iterator<Item = Transaction> {
    let (mut next, mut under_way) = (0, None::<Strip>);
    let mut left = 0..0;
    std::iter::from_fn(move || {
        loop {
            if let (Some(strip), Some(n)) = (under_way, left.next()) {
                let place = strip.place(n);
                return Some(Transaction::Write(place, strips.beats(next - 1, place)));
            }
            let strip = strips.strip(next)?;
            (next, under_way, left) = (next + 1, Some(strip), 0..strip.count());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv_cache;
    use pimlico_device::Config;
    use pimlico_model::data::{Distribution, HeadShape};

    #[test]
    fn strips_of_a_head_are_its_writes() {
        let config = Config::ddr4_3200();
        for head_dim in [1, 32, 64, 80, 128, 160, 256] {
            for context in [1, 15, 16, 17, 512, 513, 700, 1100] {
                let distribution = Distribution::Random;
                let shape = HeadShape { head_dim, context, group: 1, distribution };
                let head = Head::synthetic(shape, 3, 0);
                let layout = HeadLayout::new(&config, head_dim, context, 5).expect("it fits");
                let of_strips: Vec<_> = writes(kv_cache::strips(&layout, &head)).collect();
                let expected: Vec<_> = kv_cache::writes(&layout, &head).collect();
                assert!(of_strips == expected, "{head_dim} {context}");
            }
        }
    }
    #[test]
    fn banks_of_a_column_are_written_what_each_of_them_is() {
        let config = Config::ddr4_3200();
        for (head_dim, context) in [(32, 17), (80, 700), (160, 1100)] {
            let distribution = Distribution::Random;
            let shape = HeadShape { head_dim, context, group: 1, distribution };
            let head = Head::synthetic(shape, 3, 0);
            let layout = HeadLayout::new(&config, head_dim, context, 5).expect("it fits");
            let mut strips = kv_cache::strips(&layout, &head);
            let mut number = 0;
            while let Some(Strip { row, column, columns, banks }) = strips.strip(number) {
                for column in column..column + columns {
                    let (mut all, at) = (Vec::new(), (row, column));
                    strips.column_beats(number, at, banks.iter(), |beats| all.push(*beats));
                    let beats = |bank| strips.beats(number, Place { bank, row, column });
                    assert!(banks.iter().map(beats).eq(all), "strip {number}, column {column}");
                }
                number += 1;
            }
            assert!(number > 0);
        }
    }
}
