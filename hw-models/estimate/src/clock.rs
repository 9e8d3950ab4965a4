// SPDX-License-Identifier: MIT
//! Which clock of the plan ([`pimlico_dpa::clock`]) every module in the devices has. A module that has no entry
//! here has no clock: that is an error, not a default.

use crate::device::{Design, Level, System};
use crate::hierarchy::Part;
use crate::unit::UnitSpec;
pub use pimlico_dpa::clock::{Domain, Gear, Rates};

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

/// Modules of an AiM module: of its hub, and of its channels.
const AIM: [(&str, Domain); 19] = [
    ("adder_unit", Domain::AimEpu),
    // Beside the adder units: the FIFOs of results are on the channels' side.
    ("aim_adders", Domain::AimColumn),
    ("aim_array_port", Domain::AimColumn),
    ("aim_bus_port", Domain::AimColumn),
    ("aim_channel", Domain::AimColumn),
    ("aim_decode", Domain::AimColumn),
    ("aim_feeder", Domain::AimColumn),
    ("aim_hub", Domain::AimColumn),
    ("aim_modes", Domain::AimColumn),
    ("aim_pus", Domain::AimColumn),
    ("aim_softmax", Domain::AimEpu),
    ("aim_sums", Domain::AimColumn),
    ("counted_fifo", Domain::AimColumn),
    ("dispatcher", Domain::AimEpu),
    ("pingpong_buffer", Domain::AimColumn),
    ("rank_controller", Domain::AimColumn),
    ("refresh_manager", Domain::AimColumn),
    ("softmax_unit", Domain::AimEpu),
    ("tree_pu", Domain::AimColumn),
];

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

/// Every unit of these designs with its clock, of their parts in these sources. A unit that a system has is not
/// listed once more for its baseline.
pub fn plan(designs: &[(Design, &[Part])]) -> Result<Vec<Clocked>, NoClock> {
    let mut plan: Vec<Clocked> = Vec::new();
    for (design, parts) in designs {
        let system = design.system();
        // A hub is the same, whatever its channels' buffers.
        let is_baseline =
            system == System::AimSingle && plan.iter().any(|unit| unit.system == System::Aim);
        let is_own = |part: &&Part| !is_baseline || Level::of(part) != Level::Hub;
        let parts: Vec<Part> = parts.iter().filter(is_own).cloned().collect();
        let units = of_design(system, &parts)?;
        let is_there = |unit: &Clocked| {
            is_baseline && plan.iter().any(|of| of.system == System::Aim && of.spec == unit.spec)
        };
        let units: Vec<Clocked> = units.into_iter().filter(|unit| !is_there(unit)).collect();
        plan.extend(units);
    }
    Ok(plan)
}

/// The units of a system's parts.
fn of_design(system: System, parts: &[Part]) -> Result<Vec<Clocked>, NoClock> {
    let mut units: Vec<Clocked> = Vec::new();
    for part in parts {
        let none = || NoClock { module: part.module.clone() };
        let domain = of_module(system, &part.module).ok_or_else(none)?;
        let memories = if part.is_rest() && system == System::L3 { Domain::Core } else { domain };
        let spec = UnitSpec::from(part);
        let in_dram = Level::of(part).is_in_dram();
        match units.iter_mut().find(|unit| unit.spec == spec) {
            Some(unit) => {
                unit.count += part.count;
                unit.in_dram |= in_dram;
            }
            None => {
                let count = part.count;
                units.push(Clocked { system, spec, count, domain, memories, in_dram });
            }
        }
    }
    Ok(units)
}

/// The clock of the memories behind the ports of a system's top.
pub fn of_memories(system: System) -> Domain {
    match system {
        System::L3 => Domain::Core,
        // The hub reads and writes them in the second cycle of two.
        System::Aim | System::AimSingle => Domain::AimEpu,
    }
}

/// The clock of a unit: the rank's, or an AiM's where the rank has none of its module.
pub fn of_unit(spec: &UnitSpec) -> Option<Domain> {
    let of_system = |system| of_module(system, &spec.module);
    of_system(System::L3).or_else(|| of_system(System::Aim))
}

fn of_module(system: System, module: &str) -> Option<Domain> {
    let plan: &[(&str, Domain)] = match system {
        System::L3 => &RANK,
        System::Aim | System::AimSingle => &AIM,
    };
    plan.iter().find(|(name, _)| *name == module).map(|(_, domain)| *domain)
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
        let plan = |parts: &[Part]| plan(&[(Design::RANK, parts)]);
        let planned = plan(&[part("dispatcher"), part("dispatcher")]).expect("clocks");
        assert_eq!((planned[0].count, planned[0].domain), (2, Domain::Core));
        assert_eq!(planned.len(), 1);
        let newcomer = plan(&[part("dispatcher"), part("newcomer")]);
        assert_eq!(newcomer, Err(NoClock { module: "newcomer".to_owned() }));
    }

    #[test]
    fn a_system_has_its_own_clock_of_a_module_and_a_baseline_what_differs() {
        let part = |module: &str, top: &str| Part {
            module: module.to_owned(),
            parameters: Default::default(),
            within: vec![top.to_owned()],
            count: 1,
        };
        let [rank] = [part("dispatcher", "pim_module")];
        let hub = part("dispatcher", "aim_hub");
        let within = vec!["aim_hub".to_owned(), "aim_channel".to_owned()];
        let modes = Part { within, ..part("aim_modes", "aim_hub") };
        let decode = part("aim_decode", "aim_hub");
        let baseline = [hub.clone(), decode, modes];
        let (rank, hub) = (std::slice::from_ref(&rank), std::slice::from_ref(&hub));
        let designs =
            [(Design::RANK, rank), (Design::AIM, hub), (Design::AIM_SINGLE, &baseline[..])];
        let plan = plan(&designs).expect("clocks");
        let of = |unit: &Clocked| (unit.system, unit.spec.module.clone(), unit.domain);
        let expected = [
            (System::L3, "dispatcher".to_owned(), Domain::Core),
            (System::Aim, "dispatcher".to_owned(), Domain::AimEpu),
            (System::AimSingle, "aim_modes".to_owned(), Domain::AimColumn),
        ];
        assert_eq!(plan.iter().map(of).collect::<Vec<_>>(), expected);
    }
}
