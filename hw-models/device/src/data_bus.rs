// SPDX-License-Identifier: MIT
//! Bursts on the data bus, beat by beat.
//!
//! A clock is one beat: half a tCK. On the bus stands a beat, or nothing.

use crate::sizes::{Burst, CHIPS, LANES};
use pimlico_units::lap::Walk;
use std::collections::VecDeque;

/// Beats of a burst.
pub const BEATS: usize = 8;

/// A burst as it is on the bus: 64 bits in each beat.
pub type Beats = [u64; BEATS];

/// What is read from a bus that nobody drives: DDR4 pulls its data lines up.
pub const UNDRIVEN: u64 = u64::MAX;

/// The beats of what the chips give or take. Chip *c* has byte lane *c*, its low byte first.
pub fn beats_of(burst: &Burst) -> Beats {
    transposed(burst)
}

/// What the chips give or take with these beats.
pub fn burst_of(beats: &Beats) -> Burst {
    transposed(beats)
}

/// What the chips take of a burst of the host behind the re-layout unit: element `8 p + c` is lane `p` of chip `c`.
pub fn relaid(host: &Beats) -> Burst {
    let elements = host.map(|beat| [0, 16, 32, 48].map(|from| (beat >> from) as u16));
    let elements = elements.as_flattened();
    // Loops over arrays of their own, which become shuffles of vectors.
    let mut lanes = [[0; LANES]; CHIPS];
    for (chip, lanes) in lanes.iter_mut().enumerate() {
        for (p, lane) in lanes.iter_mut().enumerate() {
            *lane = elements[CHIPS * p + chip];
        }
    }
    lanes.map(word)
}

/// The burst of the host of what the chips give, behind the re-layout unit.
pub fn unrelaid(chips: &Burst) -> Beats {
    std::array::from_fn(|beat| {
        let lane = |e: usize| chips[beat % 2 * 4 + e] >> (16 * (beat / 2)) & 0xFFFF;
        lane(0) | lane(1) << 16 | lane(2) << 32 | lane(3) << 48
    })
}

/// Elements of 16 bits as a word.
fn word(elements: [u16; LANES]) -> u64 {
    let [a, b, c, d] = elements.map(u64::from);
    a | b << 16 | c << 32 | d << 48
}

fn transposed(rows: &[u64; BEATS]) -> [u64; CHIPS] {
    std::array::from_fn(|i| u64::from_le_bytes(rows.map(|row| row.to_le_bytes()[i])))
}

/// The bursts that one side is going to drive. None begins before the one before has ended.
#[derive(Clone, Debug, Default)]
pub struct Outgoing(VecDeque<(u64, Beats)>);

impl Outgoing {
    /// Drives a burst from a clock on.
    pub fn push(&mut self, first_clock: u64, beats: Beats) {
        self.0.push_back((first_clock, beats));
    }

    /// Takes the last burst back, which goes another way.
    pub fn pop_last(&mut self) -> Option<Beats> {
        self.0.pop_back().map(|(_, beats)| beats)
    }

    /// The first clock of the next burst.
    pub fn first_clock(&self) -> Option<u64> {
        self.0.front().map(|(first, _)| *first)
    }

    /// The beat of this clock.
    pub fn beat(&mut self, clock: u64) -> Option<u64> {
        let &(first, beats) = self.0.front()?;
        let beat = clock.checked_sub(first)? as usize;
        if beat + 1 >= BEATS {
            self.0.pop_front();
        }
        beats.get(beat).copied()
    }

    /// Goes over when it drives, for [laps](pimlico_units::lap), in a clock.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64) {
        walk.size(self.0.len());
        self.0.iter_mut().for_each(|(first, _)| walk.at(first, now));
    }

    /// Whether nothing is left to drive.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bursts that one side is going to take, whether or not they come. None begins before the one
/// before has ended.
#[derive(Clone, Debug)]
pub struct Incoming<T>(VecDeque<(u64, T, Beats)>);

impl<T> Default for Incoming<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Incoming<T> {
    /// Takes a burst from a clock on. It is known by `tag`.
    pub fn expect(&mut self, first_clock: u64, tag: T) {
        self.0.push_back((first_clock, tag, [UNDRIVEN; BEATS]));
    }

    /// Expects the last burst no more, which comes another way.
    pub fn pop_last(&mut self) -> Option<T> {
        self.0.pop_back().map(|(_, tag, _)| tag)
    }

    /// The first clock of the next burst.
    pub fn first_clock(&self) -> Option<u64> {
        self.0.front().map(|(first, ..)| *first)
    }

    /// Takes what is on the bus in this clock; returns a burst with its last beat.
    pub fn beat(&mut self, clock: u64, on_bus: Option<u64>) -> Option<(T, Beats)> {
        let (first, _, beats) = self.0.front_mut()?;
        let beat = clock.checked_sub(*first)? as usize;
        if let Some(slot) = beats.get_mut(beat) {
            *slot = on_bus.unwrap_or(UNDRIVEN);
        }
        if beat + 1 < BEATS {
            return None;
        }
        self.0.pop_front().map(|(_, tag, beats)| (tag, beats))
    }

    /// Goes over what is no data, for [laps](pimlico_units::lap), in a clock.
    pub fn walk(&mut self, walk: &mut Walk<'_>, now: u64, tag: impl Fn(&T, &mut Walk<'_>)) {
        walk.size(self.0.len());
        for (first, of, _) in &mut self.0 {
            walk.at(first, now);
            tag(of, walk);
        }
    }

    /// Whether nothing is left to take.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping;

    #[test]
    fn a_chip_has_a_byte_lane() {
        let beats: Beats = std::array::from_fn(|beat| 0x0706_0504_0302_0100 + 0x10 * beat as u64);
        let burst = burst_of(&beats);
        assert_eq!(burst[0], 0x7060_5040_3020_1000);
        assert_eq!(burst[5], 0x0505_0505_0505_0505);
        assert_eq!(beats_of(&burst), beats);
    }

    #[test]
    fn elements_are_whole_in_a_chip() {
        let vector: Vec<u16> = (0..32).map(|e| 0x0101 * e + 0x40).collect();
        let (host, chips) = (mapping::beats_of(&vector, 0), mapping::burst_of(&vector, 0));
        assert_eq!((relaid(&host), unrelaid(&chips)), (chips, host));
    }

    #[test]
    fn what_goes_out_comes_in_and_late_beats_are_missed() {
        let beats: Beats = std::array::from_fn(|beat| beat as u64);
        let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
        outgoing.push(5, beats);
        outgoing.push(15, beats);
        incoming.expect(5, 'a');
        incoming.expect(13, 'b');
        let mut came = Vec::new();
        for clock in 0..30 {
            let beat = outgoing.beat(clock);
            came.extend(incoming.beat(clock, beat).map(|(tag, beats)| (clock, tag, beats)));
        }
        let late = [UNDRIVEN, UNDRIVEN, 0, 1, 2, 3, 4, 5];
        assert_eq!(came, [(12, 'a', beats), (20, 'b', late)]);
        assert!(outgoing.is_empty() && incoming.is_empty());
    }
}
