// SPDX-License-Identifier: MIT
//! Tables and picture of the report.

use super::{
    DIMM_W, PAPER_NM, PAPER_V, PhaseReport, PowerBreakdown, PowerReport, RANKS, RankReport, Table5,
    UnitReport, WorkloadReport,
};
use crate::estimate::picture::{Bar, BarPanel, Picture, Scale};
use crate::estimate::sheet::Sheet;
use crate::output::grouped;
use pimlico_device::SystemKind;
use pimlico_estimate::throughput::PAPER_CLOCK_NS;

/// What is not in the figures of a module of AiMs.
const OF_AIM: &str = "AiM: no power of its memories (global buffers, GPR, tables), as no library has their currents, \
                      none of the DRAM, as none are published for GDDR6-AiM, and no total of the module";

const COLUMNS: [&str; 12] = [
    "unit",
    "phase",
    "internal, mW",
    "switching, mW",
    "leakage, mW",
    "total, mW",
    "pJ per clock",
    "glitches, %",
    "nW/GE/MHz",
    "28 nm, mW",
    "28 nm, device's clock, mW",
    "L3's, mW",
];

impl PowerReport {
    /// The cells of the table: a row for each unit, and one for each of its phases.
    fn rows(&self) -> Vec<Vec<String>> {
        let option = |number: Option<f64>| number.map_or(String::new(), |n| format!("{n:.3}"));
        let of_power = |power: &PowerBreakdown, pj: f64| {
            let PowerBreakdown { internal, switching, leakage, total } = power;
            [
                format!("{internal:.3}"),
                format!("{switching:.3}"),
                format!("{leakage:.6}"),
                format!("{total:.3}"),
                format!("{pj:.2}"),
            ]
        };
        let mut rows = Vec::new();
        for unit in &self.units {
            let mut row = vec![unit.unit.clone(), "working".to_owned()];
            row.extend(of_power(&unit.power_mw, unit.pj_per_clock));
            row.extend([
                String::new(),
                format!("{:.2}", unit.nw_per_ge_mhz),
                option(unit.power_mw_28nm),
                option(unit.device_mw_28nm),
                option(unit.paper.as_ref().map(|paper| paper.power_mw)),
            ]);
            rows.push(row);
            for phase in &unit.phases {
                let mut row = vec![unit.unit.clone(), phase.phase.to_owned()];
                row.extend(of_power(&phase.power_mw, phase.pj_per_clock));
                row.push(format!("{:.0}", 100.0 * phase.glitches));
                row.resize(COLUMNS.len(), String::new());
                rows.push(row);
            }
        }
        rows
    }

    /// The tables: power of the units, and energy of a rank where all of its units are there.
    pub(in crate::estimate) fn sheets(&self) -> Vec<Sheet> {
        let WorkloadReport { model, head_dim, context, seed, window, .. } = &self.workload;
        let title = format!(
            "power of {} ({} V) at {} ns, by transitions of the netlists\n\
             a head of {model} on {}: d_h {head_dim}, {context} tokens, seed {seed}; up to {window} clocks of \
             each phase counted",
            self.liberty, self.volts, self.clock_ns, self.device
        );
        let compared: u64 = self.units.iter().map(|unit| unit.compared_clocks).sum();
        let mut notes = vec![format!("netlists equal to the models in {compared} clocks")];
        notes.extend(self.slower_than_the_clock());
        if let (Some(node), Some(scale)) = (self.node_nm, self.scale_28nm) {
            notes.push(format!(
                "28 nm: transitions' energy x {scale:.4} = ({PAPER_NM} / {node}) x ({PAPER_V} / {})^2, \
                 a rough scaling; leakage left out",
                self.volts
            ));
        }
        notes.push(format!(
            "L3's: Table 5, TSMC 28 nm; it names no clock, {PAPER_CLOCK_NS} ns is that of its bank PUs. What units \
             take at their clocks in the device is below"
        ));
        if self.system == SystemKind::Aim {
            notes.push(OF_AIM.to_owned());
        }
        let units = Sheet { title, columns: COLUMNS.to_vec(), rows: self.rows(), notes };
        let beside = [self.at_equal_throughput(), self.rank.as_ref().map(|rank| self.energy(rank))];
        std::iter::once(units).chain(beside.into_iter().flatten()).collect()
    }

    /// The units that L3 has beside its Table 5, whatever its clock is.
    fn at_equal_throughput(&self) -> Option<Sheet> {
        let row = |unit: &UnitReport| {
            let (paper, here) = (unit.paper.as_ref()?, unit.pj_per_element_28nm?);
            let mw = unit.device_mw_28nm?;
            let elements = *self.workload.elements.get(unit.module.as_str())?;
            let of_paper =
                |cell: &dyn Fn(f64) -> String| paper.pj_per_element.map_or_else(String::new, cell);
            Some(vec![
                unit.unit.clone(),
                format!("{}", unit.device_clock_ns),
                format!("{mw:.2}"),
                format!("{:.3}", paper.power_mw),
                format!("{:.1}", mw / paper.power_mw),
                grouped(elements),
                format!("{here:.2}"),
                of_paper(&|pj| format!("{pj:.2}")),
                of_paper(&|pj| format!("{:.1}", here / pj)),
            ])
        };
        let rows: Vec<_> = self.units.iter().filter_map(row).collect();
        (!rows.is_empty()).then(|| Sheet {
            title: "beside L3's Table 5 at equal throughput, at 28 nm".to_owned(),
            columns: vec![
                "unit",
                "clock, ns",
                "mW",
                "L3's",
                "of L3's",
                "elements of a head",
                "pJ per element",
                "if L3's clock is 5 ns",
                "of L3's",
            ],
            rows,
            notes: vec![
                "mW at the unit's clock in the device, in score and context (the re-layout unit while K and V come), \
                 beside those of Table 5 as of units that keep up with the data bus"
                    .to_owned(),
                "pJ per element: what the unit takes in that time over the elements that it takes in; L3's are the mW \
                 of a clock of 5 ns over all elements that one can have. Of its softmax unit L3 names no rate"
                    .to_owned(),
            ],
        })
    }

    /// Power at a clock that a unit does not keep is energy per clock over the clock.
    fn slower_than_the_clock(&self) -> Option<String> {
        let still_ns =
            |unit: &UnitReport| unit.phases.iter().map(|phase| phase.still_ns).fold(0.0, f64::max);
        let slower = self.units.iter().map(|unit| (unit, still_ns(unit)));
        let slower = slower.filter(|(_, still_ns)| *still_ns > self.clock_ns);
        let slower: Vec<_> =
            slower.map(|(unit, still_ns)| format!("{} {still_ns:.1}", unit.unit)).collect();
        let text = format!(
            "slower than the clock, ns until all is still: {}; their power is energy per clock over the \
             clock",
            slower.join(", ")
        );
        (!slower.is_empty()).then_some(text)
    }

    fn energy(&self, rank: &RankReport) -> Sheet {
        let nj = |pj: Option<f64>| pj.map_or(String::new(), |pj| format!("{:.2}", pj / 1e3));
        let uj = |uj: Option<f64>| uj.map_or(String::new(), |uj| format!("{uj:.1}"));
        let mw = |mw: Option<f64>| mw.map_or(String::new(), |mw| format!("{mw:.1}"));
        let table5 = self.workload.table5_pj;
        let of_table5 = |f: fn(Table5) -> f64| nj(table5.map(f));
        let table5_mw = |f: fn(Table5) -> f64| mw(table5.map(|t| f(t) / self.workload.head_ns));
        let row = |name: &str, cells: [String; 3]| {
            std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
        };
        let here = |pj: f64| nj(Some(pj));
        let head_mw = |pj: f64| mw(Some(pj / self.workload.head_ns));
        let rows = [
            row(
                "bank PUs (128), nJ per head",
                [
                    here(rank.bank_pus_head_pj),
                    nj(rank.bank_pus_head_pj_28nm),
                    of_table5(|t| t.bank_pus),
                ],
            ),
            row(
                "rank PU, nJ per head",
                [
                    here(rank.rank_pu_head_pj),
                    nj(rank.rank_pu_head_pj_28nm),
                    of_table5(|t| t.rank_pu),
                ],
            ),
            row(
                "both, uJ per token",
                [uj(Some(rank.token_uj)), uj(rank.token_uj_28nm), uj(rank.token_uj_table5)],
            ),
            row(
                "bank PUs, mW",
                [
                    head_mw(rank.bank_pus_head_pj),
                    mw(rank.bank_pus_mw_28nm),
                    table5_mw(|t| t.bank_pus),
                ],
            ),
            row(
                "rank PU, mW",
                [head_mw(rank.rank_pu_head_pj), mw(rank.rank_pu_mw_28nm), table5_mw(|t| t.rank_pu)],
            ),
        ];
        let WorkloadReport { heads, layers, head_ns, .. } = self.workload;
        let mut notes = vec![format!("a token: {heads} heads of {layers} layers")];
        notes.extend(rank.dimm_share_28nm.map(|share| {
            format!(
                "the rank PUs of a DIMM's {RANKS} ranks: {:.2} % of the {DIMM_W} W of the DIMM",
                100.0 * share
            )
        }));
        Sheet {
            title: format!("energy of a rank's units, score and context ({head_ns:.0} ns)"),
            columns: vec!["what", "library", "28 nm", "Table 5"],
            rows: rows.into(),
            notes,
        }
    }
}

impl PowerReport {
    /// Power of each unit while it works and phase by phase; at its clock in the device and scaled to 28 nm, the paper's
    /// below it.
    pub(in crate::estimate) fn picture(&self) -> Picture {
        let paper = 3;
        let bar = |label: String, of: &PowerBreakdown| Bar {
            label,
            parts: vec![(of.internal, 0), (of.switching, 1), (of.leakage, 2)],
            text: format!("{:.3}, of it leakage {:.2} µW", of.total, 1e3 * of.leakage),
        };
        let working = self.units.iter().map(|unit| bar(unit.unit.clone(), &unit.power_mw));
        let phases = self.units.iter().flat_map(|unit| {
            let name = |phase: &PhaseReport| format!("{}: {}", unit.unit, phase.phase);
            unit.phases.iter().map(move |phase| bar(name(phase), &phase.power_mw))
        });
        let mut scaled = Vec::new();
        for (unit, factor) in self.units.iter().filter_map(|unit| Some((unit, self.scale_28nm?))) {
            let PowerBreakdown { internal, switching, .. } = unit.power_mw;
            let factor = factor * self.clock_ns / unit.device_clock_ns;
            let total = (internal + switching) * factor;
            scaled.push(Bar {
                label: unit.unit.clone(),
                parts: vec![(internal * factor, 0), (switching * factor, 1)],
                text: format!("{total:.3}"),
            });
            scaled.extend(unit.paper.as_ref().map(|figure| Bar {
                label: "L3, Table 5, 28 nm".to_owned(),
                parts: vec![(figure.power_mw, paper)],
                text: format!("{:.3}", figure.power_mw),
            }));
        }
        let panel = |title: &str, bars: Vec<Bar>| BarPanel {
            title: title.to_owned(),
            bars,
            scale: Scale::Linear,
        };
        let panels = [
            panel("while it works, mW", working.collect()),
            panel("by phase, mW", phases.collect()),
            panel("while it works, at its clock in the device, scaled to 28 nm, mW", scaled),
        ];
        Picture {
            title: format!(
                "power of the units of {} in {}, {} V, a clock of {} ns",
                self.device, self.liberty, self.volts, self.clock_ns
            ),
            key: vec!["internal", "switching", "leakage", "L3, Table 5"],
            panels: panels.into_iter().filter(|panel| !panel.bars.is_empty()).collect(),
        }
    }
}
