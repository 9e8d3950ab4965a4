// SPDX-License-Identifier: MIT
//! What `pimlico estimate power` says.
//!
//! **Scaling to 28 nm** is rough: capacitance goes with the feature size and energy with V^2, to 0.9 V,
//! the supply of a 28 nm process. Leakage does not scale so, and is left out of scaled figures.
//!
//! **A head's energy** is that of its score and context: in each phase the energy of a mean clock times
//! the unit's clocks in the device, and the leakage of its time.

mod sheets;

use super::workload::Workload;
use pimlico_device::SystemKind;
use pimlico_estimate::power::{Delays, Options, Phase, PhasePower, Power, UnitPower};
use pimlico_estimate::throughput::{self, PAPER_CLOCK_NS};
use pimlico_estimate::{Library, UnitSpec, paper};
use serde::Serialize;
use std::collections::BTreeMap;

/// Feature size and supply to which figures are scaled: those of the paper.
const PAPER_NM: f64 = 28.0;
/// Nominal supply of 28 nm in V.
const PAPER_V: f64 = 0.9;
/// Bank PUs of a rank.
const BANK_PUS: u64 = 128;
/// Ranks of a DIMM.
const RANKS: u64 = 2;
/// Power of a whole DIMM in W (L3 section 6.4).
const DIMM_W: f64 = 10.0;

/// What `--json` prints.
#[derive(Serialize)]
pub(super) struct PowerReport {
    system: SystemKind,
    device: String,
    liberty: String,
    nand2_um2: f64,
    clock_ns: f64,
    volts: f64,
    node_nm: Option<f64>,
    /// What an energy is multiplied with to be one of 28 nm.
    scale_28nm: Option<f64>,
    delays: Delays,
    slew_ns: f64,
    wire_ff: f64,
    workload: WorkloadReport,
    units: Vec<UnitReport>,
    /// Of all units of a rank that are listed, one variant of each.
    rank: Option<RankReport>,
}

/// What the units worked on.
#[derive(Serialize)]
pub(super) struct WorkloadReport {
    model: String,
    head_dim: usize,
    context: usize,
    seed: u64,
    /// Clocks of each phase that are counted, at the most.
    window: usize,
    heads: usize,
    layers: usize,
    /// Score, softmax and context of a head.
    head_ns: f64,
    /// Elements that a unit takes of a head, by module.
    elements: BTreeMap<&'static str, u64>,
    /// Energy of a head's units by L3's Table 5 and the time that they work.
    table5_pj: Option<Table5>,
}

#[derive(Clone, Copy, Serialize)]
struct Table5 {
    bank_pus: f64,
    rank_pu: f64,
}

impl WorkloadReport {
    pub(super) fn new(
        workload: &Workload,
        model: &str,
        context: usize,
        seed: u64,
        window: usize,
    ) -> Self {
        let Workload { head_dim, heads, layers, ns, .. } = *workload;
        let table5_pj = workload.table5_pj.map(|[bank_pus, rank_pu]| Table5 { bank_pus, rank_pu });
        Self {
            model: model.to_owned(),
            head_dim,
            context,
            seed,
            window,
            heads,
            layers,
            head_ns: ns,
            elements: workload.elements.clone(),
            table5_pj,
        }
    }
}

/// Power in mW.
#[derive(Clone, Copy, Serialize)]
struct PowerBreakdown {
    internal: f64,
    switching: f64,
    leakage: f64,
    total: f64,
}

impl From<Power> for PowerBreakdown {
    fn from(power: Power) -> Self {
        let Power { internal, switching, leakage } = power;
        Self { internal, switching, leakage, total: power.total() }
    }
}

#[derive(Serialize)]
pub(super) struct UnitReport {
    unit: String,
    #[serde(skip)]
    module: String,
    parameters: BTreeMap<String, i64>,
    area_ge: f64,
    cells: u64,
    /// Clocks in which netlist and model were compared.
    compared_clocks: u64,
    /// Mean while it works: in score and context, or where it has no clock in them, while K and V come.
    power_mw: PowerBreakdown,
    pj_per_clock: f64,
    nw_per_ge_mhz: f64,
    /// Scaled, without leakage.
    power_mw_28nm: Option<f64>,
    /// The same at the unit's clock in the device, in place of the report's.
    device_mw_28nm: Option<f64>,
    /// Energy of a clock at 28 nm, at any clock.
    pj_per_clock_28nm: Option<f64>,
    /// What it takes of a head at 28 nm, while it works, for each element: at equal throughput.
    pj_per_element_28nm: Option<f64>,
    phases: Vec<PhaseReport>,
    /// The unit's clock in the device.
    device_clock_ns: f64,
    /// Energy of a head's score and context.
    head_pj: f64,
    head_pj_28nm: Option<f64>,
    paper: Option<PaperReport>,
}

#[derive(Serialize)]
struct PhaseReport {
    phase: &'static str,
    /// Clocks in the workload.
    clocks: u64,
    /// Those that were counted.
    counted_clocks: u64,
    power_mw: PowerBreakdown,
    pj_per_clock: f64,
    toggles_per_clock: f64,
    /// Part of the transitions that are undone in the same clock.
    glitches: f64,
    /// Longest time from the clock's edge until all is still.
    still_ns: f64,
}

impl From<&PhasePower> for PhaseReport {
    fn from(of: &PhasePower) -> Self {
        Self {
            phase: of.phase.name(),
            clocks: of.clocks,
            counted_clocks: of.counted,
            power_mw: of.power.into(),
            pj_per_clock: of.pj_per_clock,
            toggles_per_clock: of.toggles_per_clock,
            glitches: of.glitches,
            still_ns: of.still_ns,
        }
    }
}

#[derive(Serialize)]
struct PaperReport {
    power_mw: f64,
    nw_per_ge_mhz: f64,
    /// If its clock is that of the bank PUs, where it names how many elements its unit takes in one.
    pj_per_element: Option<f64>,
}

/// A rank at work, scaled.
#[derive(Serialize)]
struct RankReport {
    /// Of a head, in pJ.
    bank_pus_head_pj: f64,
    rank_pu_head_pj: f64,
    /// Of a head, at 28 nm.
    bank_pus_head_pj_28nm: Option<f64>,
    rank_pu_head_pj_28nm: Option<f64>,
    /// Of a token: all heads of all layers.
    token_uj: f64,
    token_uj_28nm: Option<f64>,
    token_uj_table5: Option<f64>,
    /// Mean while a head is computed, in mW.
    bank_pus_mw_28nm: Option<f64>,
    rank_pu_mw_28nm: Option<f64>,
    /// The rank PUs' share of a DIMM's 10 W.
    dimm_share_28nm: Option<f64>,
}

/// What an energy in a library of this feature size and supply is multiplied with to be one of 28 nm.
pub(super) fn scale_28nm(node_nm: f64, volts: f64) -> f64 {
    PAPER_NM / node_nm * (PAPER_V / volts).powi(2)
}

impl PowerReport {
    /// Without its units.
    pub(super) fn new(
        library: &Library,
        volts: f64,
        node_nm: Option<f64>,
        options: Options,
        workload: WorkloadReport,
    ) -> Self {
        Self {
            system: SystemKind::L3,
            device: String::new(),
            liberty: library.name.clone(),
            nand2_um2: library.nand2_um2,
            clock_ns: options.clock_ns,
            volts,
            node_nm,
            scale_28nm: node_nm.map(|node| scale_28nm(node, volts)),
            delays: options.delays,
            slew_ns: options.surroundings.slew_ps / 1e3,
            wire_ff: options.surroundings.wire_ff,
            workload,
            units: Vec::new(),
            rank: None,
        }
    }

    /// Of a device.
    pub(super) fn of(self, system: SystemKind, device: &str) -> Self {
        Self { system, device: device.to_owned(), ..self }
    }

    /// With its units.
    pub(super) fn with(self, units: Vec<UnitReport>) -> Self {
        let mut report = Self { units, ..self };
        report.rank = report.rank();
        report
    }

    /// The rank, if all of Table 5's units are there: of several variants of a bank PU, the last.
    fn rank(&self) -> Option<RankReport> {
        let unit = |module| self.units.iter().rfind(|unit| unit.module == module);
        let bank_pu = unit("bank_pu")?;
        let rank_pu = ["relayout_unit", "adder_unit", "softmax_unit"].map(unit);
        let [Some(relayout), Some(adder), Some(softmax)] = rank_pu else { return None };
        let bank_pus_head_pj = BANK_PUS as f64 * bank_pu.head_pj;
        let rank_pu_head_pj = relayout.head_pj + adder.head_pj + softmax.head_pj;
        let of_28nm = |unit: &UnitReport| unit.head_pj_28nm;
        let bank_pus_28nm = of_28nm(bank_pu).map(|pj| BANK_PUS as f64 * pj);
        let rank_pu_28nm = [relayout, adder, softmax].into_iter().map(of_28nm).sum::<Option<f64>>();
        let heads = (self.workload.heads * self.workload.layers) as f64;
        let token_uj = |pj: f64| pj * heads / 1e6;
        let mw = |pj: f64| pj / self.workload.head_ns;
        let both_28nm = bank_pus_28nm.zip(rank_pu_28nm).map(|(a, b)| a + b);
        let dimm_mw = 1e3 * DIMM_W;
        Some(RankReport {
            bank_pus_head_pj,
            rank_pu_head_pj,
            bank_pus_head_pj_28nm: bank_pus_28nm,
            rank_pu_head_pj_28nm: rank_pu_28nm,
            token_uj: token_uj(bank_pus_head_pj + rank_pu_head_pj),
            token_uj_28nm: both_28nm.map(token_uj),
            token_uj_table5: self.workload.table5_pj.map(|t| token_uj(t.bank_pus + t.rank_pu)),
            bank_pus_mw_28nm: bank_pus_28nm.map(mw),
            rank_pu_mw_28nm: rank_pu_28nm.map(mw),
            dimm_share_28nm: rank_pu_28nm.map(|pj| RANKS as f64 * mw(pj) / dimm_mw),
        })
    }
}

impl UnitReport {
    pub(super) fn new(spec: &UnitSpec, power: UnitPower, report: &PowerReport) -> Self {
        let mean = working(&power);
        let dynamic_pj = phases_pj(&power, &[Phase::Score, Phase::Context], report.clock_ns);
        let head_pj = dynamic_pj + mean.leakage * report.workload.head_ns;
        let paper = paper::figure(&spec.module).filter(|_| !spec.unit.contains("x16"));
        let clock_pj_28nm = report.scale_28nm.map(|scale| mean.dynamic() * report.clock_ns * scale);
        let nw_per_ge_mhz = |mw: f64, clock_ns: f64, ge: f64| 1e6 * mw / (1e3 / clock_ns) / ge;
        Self {
            unit: power.unit.clone(),
            module: spec.module.clone(),
            parameters: spec.parameters.clone(),
            area_ge: power.ge,
            cells: power.cells,
            compared_clocks: power.compared,
            power_mw: mean.into(),
            pj_per_clock: mean.total() * report.clock_ns,
            nw_per_ge_mhz: nw_per_ge_mhz(mean.total(), report.clock_ns, power.ge),
            power_mw_28nm: report.scale_28nm.map(|scale| mean.dynamic() * scale),
            device_mw_28nm: clock_pj_28nm.map(|pj| pj / power.device_clock_ns),
            pj_per_clock_28nm: clock_pj_28nm,
            pj_per_element_28nm: report
                .scale_28nm
                .zip(report.workload.elements.get(spec.module.as_str()))
                .map(|(scale, &elements)| scale * per_element(&power, report.clock_ns, elements)),
            phases: power.phases.iter().map(PhaseReport::from).collect(),
            device_clock_ns: power.device_clock_ns,
            head_pj,
            head_pj_28nm: report.scale_28nm.map(|scale| dynamic_pj * scale),
            paper: paper.map(|figure| PaperReport {
                power_mw: figure.mw,
                nw_per_ge_mhz: nw_per_ge_mhz(figure.mw, PAPER_CLOCK_NS, figure.ge()),
                pj_per_element: throughput::of_paper(&spec.module)
                    .map(|elements| figure.mw * PAPER_CLOCK_NS / elements as f64),
            }),
        }
    }
}

/// Mean power over the clocks in which a unit works.
pub(super) fn working(power: &UnitPower) -> Power {
    let of = |phases: &[Phase]| {
        let phases = || phases.iter().filter_map(|phase| power.phase(*phase));
        let clocks: u64 = phases().map(|of| of.clocks).sum();
        let share = |of: &PhasePower| of.power.times(of.clocks as f64 / clocks as f64);
        (clocks > 0).then(|| phases().fold(Power::default(), |sum, of| sum.and(&share(of))))
    };
    of(&[Phase::Score, Phase::Context])
        .or_else(|| of(&[Phase::Load]))
        .or_else(|| power.phase(Phase::Idle).map(|of| of.power))
        .unwrap_or_default()
}

/// Energy in phases without leakage, in pJ, of a unit whose power is at a clock of `clock_ns`.
fn phases_pj(power: &UnitPower, phases: &[Phase], clock_ns: f64) -> f64 {
    let phases = phases.iter().filter_map(|&phase| power.phase(phase));
    // mW x ns = pJ
    phases.map(|of| of.power.dynamic() * clock_ns * of.clocks as f64).sum()
}

/// The same for each element that it takes while it works: of all clocks of that time, with an element or without.
fn per_element(power: &UnitPower, clock_ns: f64, elements: u64) -> f64 {
    let of_head = phases_pj(power, &[Phase::Score, Phase::Context], clock_ns);
    let works = if of_head > 0.0 { of_head } else { phases_pj(power, &[Phase::Load], clock_ns) };
    works / elements.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(phases: &[(Phase, u64, f64)]) -> UnitPower {
        let of = |&(phase, clocks, mw): &(Phase, u64, f64)| PhasePower {
            phase,
            clocks,
            counted: clocks,
            power: Power { internal: mw, ..Power::default() },
            pj_per_clock: 5.0 * mw,
            toggles_per_clock: 0.0,
            glitches: 0.0,
            still_ns: 0.0,
        };
        UnitPower {
            unit: "adder_unit".to_owned(),
            ge: 1.0,
            cells: 1,
            device_clock_ns: 1.25,
            compared: 0,
            phases: phases.iter().map(of).collect(),
        }
    }

    #[test]
    fn energy_of_an_element_counts_the_clocks_without_one() {
        // 10 mW of 5 ns are 50 pJ a clock: 100 clocks for 400 elements.
        let works = [(Phase::Score, 60, 10.0), (Phase::Context, 40, 10.0)];
        assert_eq!(per_element(&unit(&works), 5.0, 400), 12.5);
        let waits = [(Phase::Load, 9, 7.0), (Phase::Score, 60, 10.0), (Phase::Context, 140, 10.0)];
        assert_eq!(per_element(&unit(&waits), 5.0, 400), 25.0);
        // What has no clocks in score and context works while K and V come.
        assert_eq!(per_element(&unit(&[(Phase::Load, 8, 2.0)]), 5.0, 32), 2.5);
    }
}
