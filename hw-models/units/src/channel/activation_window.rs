// SPDX-License-Identifier: MIT
//! Four-activation window of a pseudo-rank, in which a PIM_ACTIVATION counts four.

use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// An activation window.
    unit ActivationWindow: "activation_window" {
        inputs ActivationWindowIn {
            /// tFAW, in tCK; sampled in the first cycle after reset.
            faw_i: u8,
            /// An ACT is on the pins.
            act_i: bool => one_in(4),
            /// A PIM_ACTIVATION is on the pins.
            pim_activation_i: bool => one_in(4),
        }
        outputs ActivationWindowOut {
            /// An ACT may be on the pins.
            act_ready_o: bool,
            /// A PIM_ACTIVATION may be on the pins.
            pim_ready_o: bool,
            /// Banks activated in the window that ends with this cycle.
            used_o: U<3>,
        }
        probes ActivationWindowProbe {}
    }
}

/// Banks that may be activated in a window.
const PLACES: usize = 4;

/// The cycle model of an activation window.
///
#[doc = contract!("channel/activation_window")]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActivationWindow {
    /// tFAW, once it was sampled.
    faw: Option<u8>,
    /// Cycles for which each place is taken.
    left: [u8; PLACES],
}

impl Unit for ActivationWindow {
    const MODULE: &'static str = "activation_window";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = ActivationWindowIn;
    type Out = ActivationWindowOut;
    type Probe = ActivationWindowProbe;

    fn variant() -> String {
        String::new()
    }
}

impl Model for ActivationWindow {
    fn new() -> Self {
        Self::default()
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        ActivationWindowProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let used = self.left.iter().filter(|&&left| left > 0).count();
        let faw = *self.faw.get_or_insert(input.faw_i);
        let takes = match (input.pim_activation_i, input.act_i) {
            (true, _) => PLACES,
            (_, true) => 1,
            _ => 0,
        };
        for place in self.left.iter_mut().filter(|left| **left == 0).take(takes) {
            *place = faw.max(1);
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        ActivationWindowOut {
            act_ready_o: used < PLACES,
            pim_ready_o: used == 0,
            used_o: U::new(used as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: ActivationWindowIn =
        ActivationWindowIn { faw_i: 0, act_i: false, pim_activation_i: false };
    const ACT: ActivationWindowIn = ActivationWindowIn { act_i: true, ..NONE };
    const PIM: ActivationWindowIn = ActivationWindowIn { pim_activation_i: true, ..NONE };

    /// The outputs of so many cycles with these commands.
    fn run(faw: u8, cycles: usize, commands: &[(usize, ActivationWindowIn)]) -> Vec<[u64; 3]> {
        let mut unit = ActivationWindow::new();
        let input = |cycle| {
            let of_cycle = commands.iter().find(|(at, _)| *at == cycle);
            // Later values of tFAW have no effect.
            let faw_i = if cycle == 0 { faw } else { 3 * cycle as u8 };
            ActivationWindowIn { faw_i, ..of_cycle.map_or(NONE, |(_, input)| *input) }
        };
        let outputs = (0..cycles).map(|cycle| unit.step(&input(cycle)));
        outputs.map(|o| [o.act_ready_o.into(), o.pim_ready_o.into(), o.used_o.get()]).collect()
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let outputs = run(6, 15, &[(0, ACT), (2, ACT), (8, PIM)]);
        let column =
            |n: usize| outputs.iter().map(|output| output[n].to_string()).collect::<String>();
        assert_eq!(column(0), "111111111000001");
        assert_eq!(column(1), "100000001000001");
        assert_eq!(column(2), "011222110444440");
    }

    #[test]
    fn a_fifth_bank_waits_for_the_first() {
        let outputs = run(30, 40, &[(0, ACT), (1, ACT), (2, ACT), (9, ACT)]);
        let ready: Vec<_> = (0..40).filter(|&cycle| outputs[cycle][0] == 1).collect();
        assert_eq!(ready, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39]);
        assert_eq!(outputs.iter().position(|o| o[1] == 1 && o[2] == 0), Some(0));
        assert_eq!((outputs[38][1], outputs[39][1]), (0, 1));
    }

    #[test]
    fn without_a_window_all_may_come() {
        for faw in [0, 1] {
            assert_eq!(run(faw, 5, &[(0, PIM), (1, PIM), (2, ACT)]), [[1, 1, 0]; 5]);
        }
    }
}
