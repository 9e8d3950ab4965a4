// SPDX-License-Identifier: MIT
//! Registers in a row: in every cycle each takes what the one before it has.

use std::ops::{Index, IndexMut};

/// `N` registers, of which 0 is the first. Nothing is moved: a ring turns under the indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delay<T, const N: usize> {
    ring: [T; N],
    first: usize,
}

impl<T, const N: usize> Delay<T, N> {
    /// Registers that hold this.
    pub(crate) fn of(ring: [T; N]) -> Self {
        Self { ring, first: 0 }
    }

    /// A cycle, in which the first takes this.
    #[inline]
    pub(crate) fn clock(&mut self, enters: T) {
        self.first = if self.first == 0 { N - 1 } else { self.first - 1 };
        self.ring[self.first] = enters;
    }

    /// What they hold, the first first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = &T> {
        (0..N).map(|register| &self[register])
    }

    /// What they hold, in no order.
    pub(crate) fn all(&self) -> &[T; N] {
        &self.ring
    }

    #[inline]
    fn place(&self, register: usize) -> usize {
        let place = self.first + register;
        if place < N { place } else { place - N }
    }
}

impl<T, const N: usize> Index<usize> for Delay<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, register: usize) -> &T {
        &self.ring[self.place(register)]
    }
}

impl<T, const N: usize> IndexMut<usize> for Delay<T, N> {
    #[inline]
    fn index_mut(&mut self, register: usize) -> &mut T {
        let place = self.place(register);
        &mut self.ring[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_what_the_one_before_it_has() {
        let mut delay = Delay::of([0; 3]);
        for n in 1..=7 {
            delay.clock(n);
            assert_eq!([delay[0], delay[1], delay[2]].map(|it| n - it), [0, 1.min(n), 2.min(n)]);
        }
        delay[2] = 9;
        assert_eq!([delay[0], delay[1], delay[2]], [7, 6, 9]);
    }
}
