// SPDX-License-Identifier: MIT
//! Which clock of the plan ([`pimlico_dpa::clock`]) every module in the devices has. A module that has no entry
//! here has no clock: that is an error, not a default.

use crate::hierarchy::Part;
use crate::{UnitSpec, rtl};
pub use pimlico_dpa::clock::{Domain, Gear, Rates};
use serde::Serialize;

/// Modules of the rank and what drives it. Where one is taken apart, its clock is that of what it has beside
/// its instances.
const RANK: [(&str, Domain); 36] = [
    ("adder_unit", Domain::Core),
    ("bank_pu", Domain::Bank),
    ("burst_source", Domain::Tck),
    ("burst_timer", Domain::Tck),
    ("command_path", Domain::Core),
    ("context_queue", Domain::Core),
    ("core_timing", Domain::Core),
    ("ddr_in", Domain::Beat),
    ("ddr_out", Domain::Beat),
    ("dispatcher", Domain::Core),
    ("fifo", Domain::Tck),
    ("host_messages", Domain::Core),
    ("host_modes", Domain::Tck),
    ("host_owner", Domain::Tck),
    ("host_port", Domain::Beat),
    ("host_queue", Domain::Tck),
    ("host_reader", Domain::Tck),
    ("host_results", Domain::Tck),
    ("host_status", Domain::Core),
    ("host_windows", Domain::Tck),
    ("operand_path", Domain::Beat),
    ("pim_chip", Domain::Tck),
    ("pim_dimm", Domain::Beat),
    ("pim_key", Domain::Tck),
    ("pim_module", Domain::Beat),
    ("pim_rank", Domain::Beat),
    ("rank_controller", Domain::Core),
    ("refresh_manager", Domain::Core),
    ("relayout_unit", Domain::Beat),
    ("result_path", Domain::Core),
    ("sequencer", Domain::Core),
    // A word is read once a slot, and its factors have the slot; it is written once a burst.
    ("shared_buffer", Domain::Bank),
    ("slot_timer", Domain::Core),
    ("softmax_path", Domain::Core),
    ("softmax_unit", Domain::Core),
    ("weight_path", Domain::Core),
];

/// Units of an AiM module of sixteen channels, as `pimlico cosim --list` names them, and how many there are:
/// those that `aim_hub` joins.
pub const AIM: [(&str, u64, Domain); 7] = [
    ("tree_pu", 256, Domain::AimColumn),
    ("pingpong_buffer:width256_depth64", 1, Domain::AimColumn),
    ("pingpong_buffer:width256_depth1", 16, Domain::AimColumn),
    ("adder_unit:gear1", 16, Domain::AimEpu),
    ("softmax_unit", 1, Domain::AimEpu),
    ("rank_controller:slots2", 1, Domain::AimColumn),
    ("refresh_manager", 1, Domain::AimColumn),
];

/// A system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum System {
    /// L3's rank, with what drives it.
    #[serde(rename = "l3")]
    L3,
    /// An AiM module.
    #[serde(rename = "aim")]
    Aim,
}

impl System {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::L3 => "L3",
            Self::Aim => "AiM",
        }
    }
}

/// A unit with its clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocked {
    /// Where it is.
    pub system: System,
    /// The unit.
    pub spec: UnitSpec,
    /// How many there are: in a rank, or in an AiM module.
    pub count: u64,
    /// Its clock.
    pub domain: Domain,
    /// The clock of its memories. Those of what is taken apart have that of its instances.
    pub memories: Domain,
    /// Whether it is on a DRAM chip, in that chip's process, or such a unit is.
    pub in_dram: bool,
}

/// A module has no clock.
#[derive(Debug, thiserror::Error, PartialEq)]
#[error("{module}: no clock; hw-models/estimate/src/clock.rs has the plan")]
pub struct NoClock {
    /// Which.
    pub module: String,
}

/// Every unit of both systems with its clock, of the parts of the rank in these sources.
pub fn plan(sources: &rtl::Sources<'_>, parts: &[Part]) -> Result<Vec<Clocked>, NoClock> {
    let mut plan: Vec<Clocked> = Vec::new();
    for part in parts {
        let none = || NoClock { module: part.module.clone() };
        let domain = of_module(&part.module).ok_or_else(none)?;
        let memories = if part.is_rest() { Domain::Core } else { domain };
        let spec = UnitSpec::from(part);
        let in_dram = part.within.iter().any(|module| module == "pim_chip");
        match plan.iter_mut().find(|unit| unit.spec == spec) {
            Some(unit) => {
                unit.count += part.count;
                unit.in_dram |= in_dram;
            }
            None => {
                let (system, count) = (System::L3, part.count);
                plan.push(Clocked { system, spec, count, domain, memories, in_dram });
            }
        }
    }
    let units = pimlico_units::units();
    let of_aim = AIM.iter().filter_map(|&(name, count, domain)| {
        let info = units.iter().find(|info| info.name == name)?;
        let spec = UnitSpec::from(info.clone()).without_defaults(sources);
        let in_dram = info.module == "tree_pu";
        Some(Clocked { system: System::Aim, spec, count, domain, memories: domain, in_dram })
    });
    plan.extend(of_aim);
    Ok(plan)
}

/// The clock of a unit: the rank's, or an AiM's where the rank has none of its module.
pub fn of_unit(spec: &UnitSpec) -> Option<Domain> {
    let of_aim = AIM.iter().find(|(unit, ..)| *unit == spec.unit).map(|(.., domain)| *domain);
    of_module(&spec.module).or(of_aim)
}

fn of_module(module: &str) -> Option<Domain> {
    RANK.iter().find(|(name, _)| *name == module).map(|(_, domain)| *domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates = Rates { tck_ps: 625, ccd_l_tck: 8, aim_tck_ps: 500, aim_ccd_tck: 2 };

    fn spec(unit: &str) -> UnitSpec {
        let units = pimlico_units::units();
        units.into_iter().find(|info| info.name == unit).map(UnitSpec::from).expect("a unit")
    }

    #[test]
    fn a_unit_has_the_period_that_its_contract_says() {
        let ns =
            |unit: &str| of_unit(&spec(unit)).map(|domain| domain.period_ns(&RATES, Gear::One));
        assert_eq!(ns("bank_pu"), Some(5.0));
        assert_eq!(ns("tree_pu"), Some(1.0));
        assert_eq!(ns("pingpong_buffer:width256_depth64"), Some(1.0));
        assert_eq!(ns("adder_unit"), Some(0.625));
        assert_eq!(ns("relayout_unit"), Some(0.3125));
        assert_eq!(ns("fp_mul"), None);
    }

    #[test]
    fn only_the_core_has_a_gear() {
        for (_, domain) in RANK {
            let period = |gear| domain.period_ns(&RATES, gear);
            let gears = Gear::ALL.map(|gear| period(gear) / period(Gear::One));
            assert_eq!(gears, if domain == Domain::Core { [1.0, 2.0, 4.0] } else { [1.0; 3] });
        }
    }

    #[test]
    fn a_module_without_a_clock_is_an_error() {
        let part = |module: &str| Part {
            module: module.to_owned(),
            parameters: Default::default(),
            within: vec!["pim_module".to_owned()],
            count: 1,
        };
        let plan = |parts: &[Part]| plan(&rtl::sources(), parts);
        let planned = plan(&[part("dispatcher"), part("dispatcher")]).expect("clocks");
        assert_eq!((planned[0].count, planned[0].domain), (2, Domain::Core));
        assert_eq!(planned.len(), 1 + AIM.len());
        let newcomer = plan(&[part("dispatcher"), part("newcomer")]);
        assert_eq!(newcomer, Err(NoClock { module: "newcomer".to_owned() }));
    }

    #[test]
    fn units_of_an_aim_are_units() {
        for (unit, ..) in AIM {
            assert_eq!(spec(unit).unit, unit);
        }
    }
}
