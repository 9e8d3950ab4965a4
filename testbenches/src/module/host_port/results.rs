// SPDX-License-Identifier: MIT
//! The streams of results: elements in a list, bursts in a memory.

use pimlico_dpa::types::Burst as Words;
use pimlico_units::module::HostPortIn;

/// Elements of a burst.
pub(in crate::module) const ELEMENTS: usize = 32;
/// Bursts of a stream that can be read.
pub(in crate::module) const PLACES: u64 = 64;

/// The context, or the outputs.
pub(in crate::module) struct Stream {
    /// Bursts that are counted.
    pub count: u64,
    /// Elements that are in no burst yet, or in the one that is written in this tCK.
    elements: Vec<u16>,
    /// A burst is written in this tCK.
    writing: bool,
    memory: [Option<Words>; PLACES as usize],
}

impl Default for Stream {
    fn default() -> Self {
        Self { count: 0, elements: Vec::new(), writing: false, memory: [None; PLACES as usize] }
    }
}

impl Stream {
    /// The burst of this tCK, if there is one, is written; returns whether it is whole.
    pub fn write(&mut self) -> Option<bool> {
        if !std::mem::take(&mut self.writing) {
            return None;
        }
        let mut words = [0; 8];
        for (place, element) in self.elements.iter().enumerate() {
            words[place / 4] |= u64::from(*element) << (16 * (place % 4));
        }
        let is_whole = self.elements.len() == ELEMENTS;
        self.elements.clear();
        self.memory[(self.count % PLACES) as usize] = Some(words);
        self.count += 1;
        Some(is_whole)
    }

    /// An element is packed in this tCK; a burst that it fills is written in the next.
    pub fn push(&mut self, element: u16) {
        self.elements.push(element);
        self.writing = self.elements.len() == ELEMENTS;
    }

    /// What is unfinished is written in the next tCK.
    pub fn ask(&mut self) {
        self.writing |= !self.elements.is_empty();
    }

    /// Elements of the unfinished burst.
    pub fn unfinished(&self) -> usize {
        self.elements.len() % ELEMENTS
    }

    /// The burst at a place; none if it is unspecified.
    pub fn at(&self, place: usize) -> Option<Words> {
        let is_written = self.writing && place as u64 == self.count % PLACES;
        self.memory[place].filter(|_| !is_written)
    }

    /// How many bursts of the stream are newer than the one at a place.
    pub fn age(&self, place: usize) -> Option<u64> {
        let behind = (self.count + PLACES - 1 - place as u64) % PLACES;
        self.at(place).map(|_| behind)
    }
}

/// What the module gives of a stream in a cycle, by lane.
pub(in crate::module) fn lanes(input: &HostPortIn, gear: u64, stream: usize) -> Vec<Option<u16>> {
    let results = &input.results_i;
    let of_lane = |lane: usize| match stream {
        0 if results.context_valid.get() >> lane & 1 != 0 => {
            Some(results.context_element[lane].bits)
        }
        1 if results.output_valid.get() >> lane & 1 != 0 => Some(results.output_element[lane]),
        _ => None,
    };
    (0..gear as usize).map(of_lane).collect()
}
