// SPDX-License-Identifier: MIT
//! Vectors of one length in one piece of memory: a head has a hundred thousand of them.

use std::ops::{Index, IndexMut, Range};

/// Vectors of binary16 elements, all of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    elements: Vec<u16>,
    length: usize,
    count: usize,
}

impl Vectors {
    /// So many of this length, all zeros.
    pub fn zeros(count: usize, length: usize) -> Self {
        Self { elements: vec![0; count * length], length, count }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// One more.
    ///
    /// # Panics
    ///
    /// If it has not the length of the others.
    pub fn push(&mut self, vector: &[u16]) {
        if self.is_empty() {
            self.length = vector.len();
        }
        assert_eq!(vector.len(), self.length, "vectors of one length");
        self.elements.extend_from_slice(vector);
        self.count += 1;
    }

    /// A vector, if there are so many.
    pub fn get(&self, number: usize) -> Option<&[u16]> {
        (number < self.count).then(|| &self[number])
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u16]> + DoubleEndedIterator + Clone {
        (0..self.count).map(|number| &self[number])
    }

    /// All of them, as those take them who know vectors by themselves.
    pub fn slices(&self) -> Vec<&[u16]> {
        self.iter().collect()
    }

    /// Some of them.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn part(&self, numbers: Range<usize>) -> Self {
        let elements = &self.elements[numbers.start * self.length..numbers.end * self.length];
        Self { elements: elements.to_vec(), length: self.length, count: numbers.len() }
    }
}

impl Index<usize> for Vectors {
    type Output = [u16];

    #[inline]
    fn index(&self, number: usize) -> &[u16] {
        &self.elements[number * self.length..][..self.length]
    }
}

impl IndexMut<usize> for Vectors {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut [u16] {
        &mut self.elements[number * self.length..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_told_apart() {
        let mut vectors = Vectors::default();
        for n in 0..4 {
            vectors.push(&[n, 10 + n]);
        }
        vectors[1][0] = 7;
        let all: Vec<_> = vectors.iter().map(<[u16]>::to_vec).collect();
        assert_eq!(all, [[0, 10], [7, 11], [2, 12], [3, 13]]);
        assert_eq!(vectors.part(1..3).iter().collect::<Vec<_>>(), [[7, 11], [2, 12]]);
        assert_eq!((vectors.get(3), vectors.get(4)), (Some(&[3, 13][..]), None));
    }

    #[test]
    fn vectors_without_elements_are_counted() {
        let none = Vectors::zeros(3, 0);
        assert_eq!((none.len(), none.iter().count(), none.get(2)), (3, 3, Some(&[][..])));
    }
}
