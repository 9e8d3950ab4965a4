// SPDX-License-Identifier: MIT
//! Re-layout unit of the rank PU: puts elements whole into one chip.

use pimlico_ports::{
    Model, Open, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A re-layout unit.
    unit RelayoutUnit: "relayout_unit" {
        inputs RelayoutUnitIn {
            /// The first beat of a group arrives; its other beats follow.
            valid_i: bool => all_but_one_in(8),
            /// The group passes unchanged.
            bypass_i: bool => one_in(4),
            /// 0: from the host to the chips; 1: from the chips to the host.
            to_host_i: bool,
            /// Beat of the data bus.
            data_i: u64,
        }
        outputs RelayoutUnitOut {
            /// `data_o` is a beat of a group.
            valid_o: bool,
            /// Beat of the data bus, re-laid out, `GROUP` cycles later.
            data_o: u64,
        }
        probes RelayoutUnitProbe {}
    }
}

/// Beats in the longest group: 16-bit elements on x4 chips.
const MAX_GROUP: usize = 4;

/// The cycle model of a re-layout unit for elements of `ELEMENT_BITS` (16 or 8) on chips of
/// `CHIP_BITS` (8 or 4).
///
/// The model is a line of `GROUP` beats. When the last beat of a group has gone in, the line holds
/// the group and nothing else, and is rearranged in place.
///
#[doc = contract!("rank/relayout_unit")]
#[derive(Clone)]
pub struct RelayoutUnit<const ELEMENT_BITS: usize, const CHIP_BITS: usize> {
    /// The beats on their way and whether they belong to a group, the oldest first; `GROUP` of them.
    line: [(bool, u64); MAX_GROUP],
    /// Beats of the arriving group that are already in the line.
    arrived: usize,
    direction: Option<Direction>,
    /// Beats that are not in the line yet, since reset.
    lacks: usize,
}

/// Which way a group goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the host to the chips.
    ToChips,
    /// From the chips to the host.
    ToHost,
}

impl<const ELEMENT_BITS: usize, const CHIP_BITS: usize> Unit
    for RelayoutUnit<ELEMENT_BITS, CHIP_BITS>
{
    const MODULE: &'static str = "relayout_unit";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("ELEMENT_BITS", ELEMENT_BITS as i64), ("CHIP_BITS", CHIP_BITS as i64)];
    type In = RelayoutUnitIn;
    type Out = RelayoutUnitOut;
    type Probe = RelayoutUnitProbe;

    fn variant() -> String {
        match (ELEMENT_BITS, CHIP_BITS) {
            (16, 8) => String::new(),
            _ => format!("element{ELEMENT_BITS}_chip{CHIP_BITS}"),
        }
    }
}

impl<const ELEMENT_BITS: usize, const CHIP_BITS: usize> RelayoutUnit<ELEMENT_BITS, CHIP_BITS> {
    /// Beats of a group, and cycles from a beat to its position at the output.
    pub const GROUP: usize = {
        assert!(matches!((ELEMENT_BITS, CHIP_BITS), (16 | 8, 8 | 4)));
        ELEMENT_BITS / CHIP_BITS
    };

    /// What a group of `GROUP` beats becomes.
    pub fn relayout(group: &[u64], direction: Direction) -> [u64; MAX_GROUP] {
        let mut out = [0; MAX_GROUP];
        let mask = u64::MAX >> (64 - CHIP_BITS);
        for chip in 0..64 / CHIP_BITS {
            for part in 0..Self::GROUP {
                let host = chip * ELEMENT_BITS + part * CHIP_BITS; // a bit of the group
                let host = (host / 64, host % 64);
                let chip = (part, chip * CHIP_BITS);
                let ((from, low), (to, up)) = match direction {
                    Direction::ToChips => (host, chip),
                    Direction::ToHost => (chip, host),
                };
                out[to] |= (group[from] >> low & mask) << up;
            }
        }
        out
    }
}

impl<const ELEMENT_BITS: usize, const CHIP_BITS: usize> Model
    for RelayoutUnit<ELEMENT_BITS, CHIP_BITS>
{
    fn new() -> Self {
        Self { line: [(false, 0); MAX_GROUP], arrived: 0, direction: None, lacks: Self::GROUP }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        RelayoutUnitProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.lacks > 0 {
            open.port("data_o").mark();
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let (valid_o, data_o) = self.line[0];
        self.lacks = self.lacks.saturating_sub(1);

        if self.arrived == 0 {
            self.direction = match (input.bypass_i, input.to_host_i) {
                (true, _) => None,
                (false, false) => Some(Direction::ToChips),
                (false, true) => Some(Direction::ToHost),
            };
        }
        let of_group = input.valid_i || self.arrived > 0;
        self.line.copy_within(1..Self::GROUP, 0);
        self.line[Self::GROUP - 1] = (of_group, input.data_i);
        self.arrived += usize::from(of_group);

        if self.arrived == Self::GROUP {
            self.arrived = 0;
            if let Some(direction) = self.direction {
                let group = self.line.map(|(_, data)| data);
                self.line = Self::relayout(&group, direction).map(|data| (true, data));
            }
        }
        RelayoutUnitOut { valid_o, data_o }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outputs of all cycles.
    fn run<M: Model<In = RelayoutUnitIn, Out = RelayoutUnitOut>>(
        inputs: impl IntoIterator<Item = RelayoutUnitIn>,
    ) -> Vec<Option<u64>> {
        let mut unit = M::new();
        let idle = [RelayoutUnitIn::default(); MAX_GROUP];
        let outputs = inputs.into_iter().chain(idle).map(|input| unit.step(&input));
        outputs.map(|output| output.valid_o.then_some(output.data_o)).collect()
    }

    fn beat(data_i: u64) -> RelayoutUnitIn {
        RelayoutUnitIn { valid_i: true, data_i, ..Default::default() }
    }

    #[test]
    fn elements_become_whole_in_a_chip() {
        // Byte ec of the host is the high (c) or low (0) byte of element e.
        let host = [beat(0x3c30_2c20_1c10_0c00), beat(0x7c70_6c60_5c50_4c40)];
        let chips = [0x7060_5040_3020_1000, 0x7c6c_5c4c_3c2c_1c0c];
        let outputs = run::<RelayoutUnit<16, 8>>(host);
        assert_eq!(outputs[..5], [None, None, Some(chips[0]), Some(chips[1]), None]);

        let to_host = chips.map(|data| RelayoutUnitIn { to_host_i: true, ..beat(data) });
        let outputs = run::<RelayoutUnit<16, 8>>(to_host);
        assert_eq!(outputs[2..4], host.map(|beat| Some(beat.data_i)));
    }

    #[test]
    fn narrow_chips_take_more_beats() {
        // 16-bit elements on x4 chips: chip c gets digit 0 of element c first.
        let host = (0..4).map(|i| beat(0x0003_0002_0001_0000 + i * 0x0004_0004_0004_0004));
        let outputs = run::<RelayoutUnit<16, 4>>(host);
        assert_eq!(outputs[4..], [Some(0xfedc_ba98_7654_3210), Some(0), Some(0), Some(0)]);
        // 8-bit elements on x4 chips.
        let host = [beat(0x0706_0504_0302_0100), beat(0x0f0e_0d0c_0b0a_0908)];
        let outputs = run::<RelayoutUnit<8, 4>>(host);
        assert_eq!(outputs[2..4], [Some(0xfedc_ba98_7654_3210), Some(0)]);
        // 8-bit elements on x8 chips are whole already.
        let outputs = run::<RelayoutUnit<8, 8>>(host);
        assert_eq!(outputs[..4], [None, Some(host[0].data_i), Some(host[1].data_i), None]);
    }

    #[test]
    fn the_mode_is_that_of_the_first_beat() {
        let inputs = [
            RelayoutUnitIn { bypass_i: true, ..beat(1) },
            RelayoutUnitIn { valid_i: false, to_host_i: true, ..beat(2) },
            RelayoutUnitIn { to_host_i: true, ..beat(0xFF00) },
            RelayoutUnitIn { bypass_i: true, ..beat(0) },
            beat(0xFF00),
        ];
        let outputs = run::<RelayoutUnit<16, 8>>(inputs);
        assert_eq!(outputs[2..8], [1, 2, 0xFF_0000, 0, 0, 0xFF].map(Some));
    }
}
