// SPDX-License-Identifier: MIT
//! What became of tasks.

use crate::judge::Findings;
use crate::report::link;
use crate::report::{
    APPEND, ELEMENT_BYTES, HostPins, JobReport, Judged, Load, OperatorReport, PowerReport,
    RanksReport, Report, SetUpReport, Stages, SystemDescription, Total, ns,
};
use pimlico_device::energy::Power;
use pimlico_device::{Gear, SetUp};

/// What became of tasks: costs, and how far the results are from the reference's. The results themselves are gone.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Each task, or each step of it that the system reports by itself.
    pub operators: Vec<OperatorReport>,
    /// Where the error of attention comes from; the worst of all heads.
    pub stages: Stages,
    /// Writing K, V and weights.
    pub load: Load,
    /// What was found at the pins.
    pub findings: Findings,
    /// Bytes of the fullest rank or channel that a layer takes, in whole rows of all banks.
    pub bytes_per_rank: u64,
    /// Notes on the figures.
    pub notes: Vec<String>,
}

/// What every report says of its total.
const NOTE: &str = "the total is without the time in which the banks were written";
/// The same where K and V of tokens are added in an operator.
const NOTE_WITH_APPEND: &str = "the total is without the time in which the banks were loaded; writing K and V of a new \
                                token is in it, as `append`";

/// What one says whose DRAM has no currents.
const NO_ENERGY: &str = "no energy: the currents of the DRAM are not known (none are published for GDDR6-AiM or LPDDR5X-PIM)";

impl Outcome {
    /// The report of a job on a system. What executed the units, and whether in lockstep, is for the caller to say.
    pub fn report(self, system: &SystemDescription<'_>, job: JobReport, seed: u64) -> Report {
        let Self { operators, load, findings, notes, .. } = self;
        let violations = findings.violations;
        let SystemDescription { name, config, module, topology, .. } = *system;
        let SystemDescription { refresh, normalise, sums, gear, .. } = *system;
        let timing = &config.timing;
        let longer = |tck: u64, least: u64| Some(tck).filter(|&tck| tck > least);
        let devices =
            module.map_or(1, |module| module.channels) * topology.map_or(1, |t| t.count());
        let energy_pj: Option<f64> = operators.iter().map(|operator| operator.energy_pj).sum();
        let no_energy = energy_pj.is_none().then(|| NO_ENERGY.to_owned());
        let cycles: u64 = operators.iter().map(|operator| operator.cycles).sum();
        let energy_least_pj: Option<f64> =
            operators.iter().map(|operator| operator.energy_least_pj).sum();
        let ranks = topology.map(|topology| topology.count());
        let total_ns = ns(config, cycles.max(1));
        let peak = Power::of(config).map(|power| power.peak(config));
        let power = energy_least_pj.zip(energy_pj).zip(ranks).zip(peak).map(
            |(((least, most), ranks), peak)| PowerReport::new(ranks, [least, most], total_ns, peak),
        );
        let reads: u64 = operators.iter().map(|operator| operator.reads).sum();
        let read_bytes = reads * config.all_bank_bytes() as u64;
        let macs: u64 = operators.iter().map(|operator| operator.macs).sum();
        let set_up = operators.iter().fold(SetUp::default(), |all, of| all.and(of.set_up));
        Report {
            system: name.to_owned(),
            job,
            module,
            ranks: topology.map(|topology| RanksReport::new(topology, &operators)),
            backend: String::new(),
            seed,
            tck_ns: config.tck_ps as f64 / 1000.0,
            dram: config.name.clone(),
            faw_banks: timing.faw_banks,
            ccd_result_tck: longer(timing.ccd_result_tck, timing.ccd_s_tck),
            wtr_shared_tck: longer(timing.wtr_shared_tck, 0),
            rl_mac_tck: longer(timing.rl_mac_tck, 0),
            refresh,
            normalise,
            sums,
            gear: gear.map(Gear::tck),
            mismatches: None,
            pin_violations: violations.0,
            first_violations: violations.1.iter().map(ToString::to_string).collect(),
            host_pins: findings.host.map(HostPins::from),
            load,
            set_up: SetUpReport::new(config, &set_up),
            judged: Judged::of(&operators),
            total: Total {
                cycles,
                ns: ns(config, cycles),
                energy_pj,
                energy_least_pj,
                power,
                read_gb_per_s: read_bytes as f64 / total_ns,
                use_gb_per_s: (ELEMENT_BYTES * macs) as f64 / total_ns,
                peak_gb_per_s: config.peak_gb_per_s() * devices as f64,
            },
            notes: [total_note(&operators).to_owned()]
                .into_iter()
                .chain(link::note(&operators))
                .chain(notes)
                .chain(no_energy)
                .collect(),
            operators,
        }
    }
}

/// What a report says of its total.
fn total_note(operators: &[OperatorReport]) -> &'static str {
    let appends = operators.iter().any(|operator| operator.operator == APPEND);
    if appends { NOTE_WITH_APPEND } else { NOTE }
}
