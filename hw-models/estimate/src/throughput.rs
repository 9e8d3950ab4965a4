// SPDX-License-Identifier: MIT
//! Elements that a unit of L3's Table 5 takes in a clock, ours and L3's: what area and energy are compared by where
//! two units do not do as much in the same time.
//!
//! Table 5 names no clock. If it is that of the bank PUs, L3's other units do a fraction of what the data bus brings;
//! if these keep up with the bus, Table 5's mW are at their own, faster clocks.

use pimlico_dpa::clock::Gear;

/// Clock of L3's units in ns, if it is that of its bank PUs.
pub const PAPER_CLOCK_NS: f64 = 5.0;

/// Elements of binary16 in a beat of a rank's data bus, which has 64 bits.
const BEAT: u64 = 4;
/// Chips of a rank: a lane of the adder unit takes a sum of each.
const CHIPS: u64 = 8;
/// Multipliers of a bank PU.
const MULTIPLIERS: u64 = 4;

/// Elements that a unit of ours takes in a clock at the most: of keys and values, partial sums, or scores.
pub fn of_ours(module: &str, gear: Gear) -> Option<u64> {
    match module {
        "relayout_unit" => Some(BEAT),
        "adder_unit" => Some(CHIPS * gear.tck() as u64),
        "softmax_unit" => Some(gear.tck() as u64),
        "bank_pu" => Some(MULTIPLIERS),
        _ => None,
    }
}

/// The same of L3's, by its section 6.4: a beat of 64 bits, eight adders, four multipliers. Of the softmax unit it names
/// no rate.
pub fn of_paper(module: &str) -> Option<u64> {
    match module {
        "relayout_unit" => Some(BEAT),
        "adder_unit" => Some(CHIPS),
        "bank_pu" => Some(MULTIPLIERS),
        _ => None,
    }
}

/// Elements in a ns, of so many in a clock.
pub fn per_ns(elements: u64, clock_ns: f64) -> f64 {
    elements as f64 / clock_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper;

    /// 204.8 GB/s are read by 128 bank PUs, 25.6 GB/s cross the data bus, and a sum of each chip comes in a tCK.
    #[test]
    fn our_units_keep_up_with_a_rank_of_ddr4_3200_at_each_gear() {
        for gear in Gear::ALL {
            let rate = |module, clock_ns| of_ours(module, gear).map(|n| per_ns(n, clock_ns));
            let core_ns = 0.625 * gear.tck() as f64;
            assert_eq!(rate("bank_pu", 5.0), Some(204.8 / 2.0 / 128.0));
            assert_eq!(rate("relayout_unit", 0.3125), Some(25.6 / 2.0));
            assert_eq!(rate("adder_unit", core_ns), Some(8.0 / 0.625));
            assert_eq!(rate("softmax_unit", core_ns), Some(1.0 / 0.625));
        }
        assert_eq!(of_ours("dispatcher", Gear::Two), None);
    }

    #[test]
    fn a_rate_of_the_paper_is_of_a_unit_that_it_has() {
        for module in ["relayout_unit", "adder_unit", "softmax_unit", "bank_pu"] {
            assert!(paper::figure(module).is_some() && of_ours(module, Gear::Two).is_some());
        }
        assert_eq!(of_paper("softmax_unit"), None);
        // At 5 ns L3's units do a sixteenth and an eighth of what ours do.
        let share = |module, ns| {
            per_ns(of_paper(module).expect("a rate"), PAPER_CLOCK_NS)
                / per_ns(of_ours(module, Gear::Two).expect("a rate"), ns)
        };
        assert_eq!(share("relayout_unit", 0.3125), 1.0 / 16.0);
        assert_eq!(share("adder_unit", 1.25), 1.0 / 8.0);
        assert_eq!(share("bank_pu", 5.0), 1.0);
    }
}
