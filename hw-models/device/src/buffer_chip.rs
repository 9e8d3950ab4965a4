// SPDX-License-Identifier: MIT
//! The module's buffer chip, which stands between the host and the chips (L3 section 4.1): commands
//! pass it in no time, data pass the rank PU's re-layout unit.
//!
//! ```text
//!            commands ─────────────────────────────────▶
//!    host                                                 chips
//!            data ◀────▶ re-layout unit, one tCK ◀─────▶
//!                 ◀───────── wires, no time ───────────▶
//! ```
//!
//! A clock is one beat: half a tCK. A burst begins with the first beat that somebody drives, as its
//! strobe tells; so the buffer chip needs to know of no latency.
//!
//! What a real register and real data buffers take is the same for all paths, and left out.

use pimlico_ports::Model;
use pimlico_units::rank::{Direction, RelayoutUnit, RelayoutUnitIn};

type Unit = RelayoutUnit<16, 8>;

/// How data pass the buffer chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// Unchanged and in no time: a module without re-layout.
    Wires,
    /// Through the re-layout unit, one tCK.
    Relayout,
    /// Through the re-layout unit unchanged, one tCK: a module whose SPD image is spoofed has to hold
    /// plain data as well.
    Bypass,
}

/// What is on one side of the buffer chip or the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// On the host's data bus.
    pub host: Option<u64>,
    /// On the chips' data bus.
    pub chips: Option<u64>,
}

/// The buffer chip of a rank.
pub struct BufferChip {
    path: DataPath,
    unit: Unit,
    /// The unit's inputs in the last beat, if it had a cycle.
    input: Option<RelayoutUnitIn>,
    /// Where the beats in the unit go, the oldest first.
    under_way: [Option<Direction>; Unit::GROUP],
}

impl BufferChip {
    /// A buffer chip with nothing under way.
    pub fn new(path: DataPath) -> Self {
        Self { path, unit: Unit::new(), input: None, under_way: [None; Unit::GROUP] }
    }

    /// The inputs of the re-layout unit in the last beat, if it had a cycle in it.
    pub fn input(&self) -> Option<&RelayoutUnitIn> {
        self.input.as_ref()
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.under_way == [None; Unit::GROUP]
    }

    /// One clock: what the two sides drive, and what the buffer chip drives on each of them. The unit
    /// has a clock only while there are data.
    ///
    /// # Panics
    ///
    /// If both sides drive data: there is one unit, and one bus.
    pub fn step(&mut self, driven: Sides) -> Sides {
        self.input = None;
        let (direction, beat) = match (driven.host, driven.chips) {
            (None, None) => (None, None),
            (beat, None) => (Some(Direction::ToChips), beat),
            (None, beat) => (Some(Direction::ToHost), beat),
            (Some(_), Some(_)) => panic!("host and chips drive data at once"),
        };
        if self.path == DataPath::Wires {
            return Sides { host: driven.chips, chips: driven.host };
        }
        if direction.is_none() && self.under_way == [None; Unit::GROUP] {
            return Sides::default();
        }
        let input = RelayoutUnitIn {
            valid_i: beat.is_some(),
            bypass_i: self.path == DataPath::Bypass,
            to_host_i: direction == Some(Direction::ToHost),
            data_i: beat.unwrap_or_default(),
        };
        self.input = Some(input);
        let output = self.unit.step(&input);
        let leaving = self.under_way[0];
        self.under_way.rotate_left(1);
        self.under_way[Unit::GROUP - 1] = direction;
        let beat = output.valid_o.then_some(output.data_o);
        match leaving {
            Some(Direction::ToChips) => Sides { chips: beat, host: None },
            Some(Direction::ToHost) => Sides { chips: None, host: beat },
            None => Sides::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_bus::{BEATS, Beats, beats_of};
    use crate::mapping;

    /// What comes out on the other side, clock by clock.
    fn crossed(path: DataPath, beats: Beats, to_host: bool) -> Vec<Option<u64>> {
        let mut chip = BufferChip::new(path);
        let beats = beats.into_iter().map(Some).chain([None; 4]);
        beats
            .map(|beat| {
                let driven = if to_host {
                    Sides { chips: beat, host: None }
                } else {
                    Sides { host: beat, chips: None }
                };
                let out = chip.step(driven);
                let (there, here) =
                    if to_host { (out.host, out.chips) } else { (out.chips, out.host) };
                assert_eq!(here, None, "nothing comes back");
                there
            })
            .collect()
    }

    #[test]
    fn data_are_held_for_one_tck_and_lie_in_the_chips_as_mapped() {
        let elements: Vec<u16> = (0..32).map(|e| 0x0101 * e + 0x40).collect();
        let host: Beats = std::array::from_fn(|beat| {
            (0..4).map(|e| u64::from(elements[4 * beat + e]) << (16 * e)).sum()
        });
        let chips = beats_of(&mapping::burst_of(&elements, 0));
        let after = |clocks: usize, beats: Beats| {
            let mut expected = vec![None; clocks];
            expected.extend(beats.map(Some));
            expected.resize(BEATS + 4, None);
            expected
        };
        assert_eq!(crossed(DataPath::Relayout, host, false), after(2, chips));
        assert_eq!(crossed(DataPath::Relayout, chips, true), after(2, host));
        assert_eq!(crossed(DataPath::Bypass, host, false), after(2, host));
        assert_eq!(crossed(DataPath::Bypass, host, true), after(2, host));
        assert_eq!(crossed(DataPath::Wires, host, false), after(0, host));
        assert_eq!(crossed(DataPath::Wires, host, true), after(0, host));
    }
}
