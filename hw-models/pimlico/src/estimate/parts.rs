// SPDX-License-Identifier: MIT
//! What a design consists of: parts and memories level by level, and what the levels add up to beside the papers'.

use super::sheet::{self, Sheet};
use pimlico_estimate::UnitSpec;
use pimlico_estimate::device::{self, Cost, Design, Level, Outside, System, Total};
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::memory::Memory;
use pimlico_estimate::paper::{self, lol_pim};
use serde::Serialize;

/// From the smallest to the largest area of a NAND2.
pub type Range = [f64; 3];

/// Parts, memories and totals of a design.
#[derive(Serialize)]
pub struct DesignReport {
    /// Module of the RTL.
    top: &'static str,
    parts: Vec<PartReport>,
    memories: Vec<MemoryReport>,
    totals: Vec<TotalReport>,
    not_counted: [&'static str; 3],
    #[serde(skip)]
    system: System,
}

/// Equal instances on a level.
#[derive(Serialize)]
pub struct PartReport {
    level: &'static str,
    pub part: String,
    /// The module that they are in.
    within: String,
    /// In one of the level.
    count: f64,
    area_ge: f64,
    memories_bytes: f64,
    memories_mm2_28nm: f64,
}

/// A memory on a level.
#[derive(Serialize)]
struct MemoryReport {
    level: &'static str,
    part: String,
    /// In one of the level.
    count: f64,
    #[serde(flatten)]
    memory: Memory,
    area_mm2_28nm: f64,
}

/// What a level adds up to.
#[derive(Serialize)]
struct TotalReport {
    level: &'static str,
    logic_ge: f64,
    logic_mm2_28nm: Range,
    memories_bytes: f64,
    memories_mm2_28nm: f64,
    /// With the logic of DRAM chips ten times as large.
    logic_mm2_dram_process: Range,
    /// What L3's Table 5 adds up to.
    paper_logic_mm2: Option<f64>,
    paper_power_mw: Option<f64>,
    /// Ours is not estimated.
    power_mw: Option<f64>,
    /// What L3 grants a buffer chip, or what LoL-PIM says that an AiM takes with its banks.
    budget_mm2: Option<f64>,
    /// Of logic, in its process, and memories.
    budget_share_percent: Option<Range>,
}

impl DesignReport {
    /// Of parts, and of what an instance of each takes.
    pub fn new(design: Design, parts: &[Part], taken: &[(f64, &[Memory])]) -> Self {
        let costs: Vec<Cost> =
            taken.iter().map(|(ge, memories)| Cost::new(*ge, memories)).collect();
        let total =
            |level: &Level| TotalReport::new(*level, device::total(design, parts, &costs, *level));
        Self {
            top: design.top(),
            parts: part_reports(design, parts, &costs),
            memories: memory_reports(design, parts, taken),
            totals: Level::all(design.system()).iter().map(total).collect(),
            not_counted: device::NOT_COUNTED,
            system: design.system(),
        }
    }

    /// Its tables.
    pub fn sheets(&self, of: &str) -> [Sheet; 3] {
        [self.parts_sheet(), self.memories_sheet(), self.totals_sheet(of)]
    }

    /// GE of each part on its level: its name, of one instance, and of all in one of the level.
    pub fn bars(&self) -> impl Iterator<Item = (String, f64, f64)> {
        let of = |part: &PartReport| {
            let label = format!("{}: {}", part.level, part.part);
            (label, part.area_ge, part.count * part.area_ge)
        };
        self.parts.iter().map(of)
    }

    fn parts_sheet(&self) -> Sheet {
        let rows = self.parts.iter().map(|part| {
            let PartReport { level, part, within, count, area_ge, .. } = part;
            let all = count * area_ge;
            let number = |value: f64| format!("{value:.0}");
            let names = [(*level).to_owned(), part.clone(), within.clone()];
            names.into_iter().chain([number(*count), number(*area_ge), number(all)]).collect()
        });
        Sheet {
            title: format!("parts of {}, as the RTL has them", self.top),
            columns: vec!["level", "part", "in", "how many", "one, GE", "all, GE"],
            rows: rows.collect(),
            notes: vec![format!(
                "rest: what a module has beside its parts, with the gates of its clocks. Not counted: {}",
                self.not_counted.join("; ")
            )],
        }
    }

    fn memories_sheet(&self) -> Sheet {
        let rows = self.memories.iter().map(|report| {
            let MemoryReport { level, part, count, memory, area_mm2_28nm } = report;
            let mut row = vec![(*level).to_owned(), part.clone(), format!("{count:.0}")];
            row.extend(sheet::memory_cells(memory, *area_mm2_28nm));
            row
        });
        Sheet {
            title: format!("memories of {}, by the model of SRAM at 28 nm", self.top),
            columns: ["level", "part", "how many"].into_iter().chain(sheet::MEMORY).collect(),
            rows: rows.collect(),
            notes: vec![
                "a memory of up to 16 words is flip-flops, in the GE of its part".to_owned(),
            ],
        }
    }

    fn totals_sheet(&self, of: &str) -> Sheet {
        let is_l3 = self.system == System::L3;
        let rows = self.totals.iter().map(|total| {
            let share = |share: Range| range(share, 2);
            let mut row = vec![
                total.level.to_owned(),
                format!("{:.0}", total.logic_ge),
                range(total.logic_mm2_28nm, 4),
                format!("{:.0}", total.memories_bytes),
                format!("{:.3}", total.memories_mm2_28nm),
                range(total.logic_mm2_dram_process, 3),
                total.budget_share_percent.map_or(String::new(), share),
            ];
            if is_l3 {
                let shown = |value: Option<f64>, digits: usize| {
                    value.map_or(String::new(), |value| format!("{value:.digits$}"))
                };
                row.extend([shown(total.paper_logic_mm2, 4), shown(total.paper_power_mw, 2)]);
            }
            row
        });
        let mut columns = vec![
            "level",
            "logic, GE",
            "logic, mm2",
            "memories, bytes",
            "memories, mm2",
            "logic in a DRAM process, mm2",
        ];
        columns.extend(match is_l3 {
            true => &["of 100 mm2, %", "L3's logic, mm2", "L3's, mW"][..],
            false => &["of 12.16 mm2, %"][..],
        });
        Sheet {
            title: format!("totals of {}{of}, at 28 nm", self.top),
            columns,
            rows: rows.collect(),
            notes: self.notes(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let process = |dram: &str, other: &str| {
            format!(
                "logic: GE of the parts; memories by the model of SRAM; \"DRAM process\": logic {dram} ten times \
                 as large (L3, note to Table 5), {other} as it is"
            )
        };
        if self.system != System::L3 {
            return vec![
                process("of AiMs", "that of controllers and hub"),
                format!(
                    "{} mm2: an AiM of 16 banks and 16 PUs (LoL-PIM, section 7.2), a channel of {} Gb; its banks \
                     are in it and not in ours. The paper has a dispatcher for eight of them",
                    lol_pim::AIM_MM2,
                    lol_pim::AIM_GBIT
                ),
            ];
        }
        let mw = self.totals.iter().filter_map(|total| total.paper_power_mw);
        let watts = mw.fold(0.0, f64::max) / 1e3;
        vec![
            process("in DRAM chips", "that of the buffer chip"),
            format!(
                "L3: Table 5 added up: no dispatcher, no controller, no buffers. Its DIMM takes {watts:.2} \
                 W, {:.1} % of {} W",
                100.0 * watts / paper::DIMM_W,
                paper::DIMM_W
            ),
        ]
    }
}

impl TotalReport {
    fn new(level: Level, total: Total) -> Self {
        let Total { chips, buffer_chip } = total;
        let (chips_ge, buffer_chip_ge) = (chips.ge, buffer_chip.ge);
        let memories_mm2 = chips.memories_mm2 + buffer_chip.memories_mm2;
        let logic_mm2_dram_process = mm2_28nm(paper::DRAM_PROCESS * chips_ge + buffer_chip_ge);
        let budget_mm2 = match level {
            Level::BufferChip => Some(paper::BUFFER_CHIP_MM2),
            Level::Aim => Some(lol_pim::AIM_MM2),
            _ => None,
        };
        let share =
            |budget: f64| logic_mm2_dram_process.map(|mm2| 100.0 * (mm2 + memories_mm2) / budget);
        let (um2, mw) = papers_total(level).unzip();
        Self {
            level: level.name(),
            logic_ge: chips_ge + buffer_chip_ge,
            logic_mm2_28nm: mm2_28nm(chips_ge + buffer_chip_ge),
            memories_bytes: chips.bytes + buffer_chip.bytes,
            memories_mm2_28nm: memories_mm2,
            logic_mm2_dram_process,
            paper_logic_mm2: um2.map(|um2| um2 * 1e-6),
            paper_power_mw: mw,
            power_mw: None,
            budget_mm2,
            budget_share_percent: budget_mm2.map(share),
        }
    }
}

/// um2 at 28 nm.
pub fn um2_28nm(ge: f64) -> Range {
    paper::NAND2_28NM_UM2.map(|nand2| ge * nand2)
}

/// mm2 at 28 nm.
pub fn mm2_28nm(ge: f64) -> Range {
    um2_28nm(ge).map(|um2| um2 * 1e-6)
}

/// `0.49 to 0.63`: the range's ends, the smaller first.
pub fn range([a, _, b]: Range, digits: usize) -> String {
    let (least, most) = (a.min(b), a.max(b));
    format!("{least:.digits$} to {most:.digits$}")
}

/// The parts, level by level.
fn part_reports(design: Design, parts: &[Part], costs: &[Cost]) -> Vec<PartReport> {
    let report = |n: usize| PartReport {
        level: Level::of(&parts[n]).name(),
        part: unit(&parts[n]),
        within: parts[n].place().to_owned(),
        count: device::per_level(parts, &parts[n]),
        area_ge: costs[n].ge,
        memories_bytes: costs[n].bytes,
        memories_mm2_28nm: costs[n].memories_mm2,
    };
    by_level(design, parts).map(report).collect()
}

/// Their memories, and those behind the ports.
fn memory_reports(design: Design, parts: &[Part], taken: &[(f64, &[Memory])]) -> Vec<MemoryReport> {
    let report = |level: Level, part: String, count: f64, memory: &Memory| MemoryReport {
        level: level.name(),
        part,
        count,
        memory: memory.clone(),
        area_mm2_28nm: memory.area_mm2(28.0),
    };
    let of_parts = by_level(design, parts).flat_map(|n| {
        let (part, count) = (&parts[n], device::per_level(parts, &parts[n]));
        let memories = taken[n].1.iter();
        memories.map(move |memory| report(Level::of(part), unit(part), count, memory))
    });
    let outside = design.memories();
    let outside = outside.iter().map(|Outside { port, count, memory }| {
        let port = format!("behind the ports of {port}");
        report(Level::of_memories(design.system()), port, *count as f64, memory)
    });
    of_parts.chain(outside).collect()
}

fn unit(part: &Part) -> String {
    UnitSpec::from(part).unit
}

/// Indices of parts, those of a level one after the other.
fn by_level(design: Design, parts: &[Part]) -> impl Iterator<Item = usize> {
    Level::all(design.system())
        .iter()
        .flat_map(move |level| (0..parts.len()).filter(move |&n| Level::of(&parts[n]) == *level))
}

/// What L3's Table 5 adds up to on a level, in um2 and mW.
fn papers_total(level: Level) -> Option<(f64, f64)> {
    let sum = |modules: &[&str], count: u64| {
        let figures = modules.iter().filter_map(|module| paper::figure(module));
        let (um2, mw) = figures.fold((0.0, 0.0), |sum, f| (sum.0 + f.um2, sum.1 + f.mw));
        (um2 * count as f64, mw * count as f64)
    };
    let banks = |count| sum(&["bank_pu"], count);
    let rank_pus = |count| sum(&["relayout_unit", "adder_unit", "softmax_unit"], count);
    let both = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    let of_rank = device::BANKS * device::CHIPS;
    Some(match level {
        Level::Bank => banks(1),
        Level::Chip => banks(device::BANKS),
        Level::RankPu => rank_pus(1),
        Level::Rank => both(banks(of_rank), rank_pus(1)),
        Level::BufferChip => rank_pus(device::RANKS),
        Level::Dimm => both(banks(of_rank * device::RANKS), rank_pus(device::RANKS)),
        Level::Pu | Level::Aim | Level::Channel | Level::Hub | Level::Module => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_totals_are_table_5_added_up() {
        let (um2, mw) = papers_total(Level::RankPu).expect("L3's");
        assert!((um2 - 22_900.0).abs() < 1e-9 && (mw - 6.402).abs() < 1e-9);
        let (um2, mw) = papers_total(Level::Dimm).expect("L3's");
        assert!((um2 - (256.0 * 3323.0 + 2.0 * 22_900.0)).abs() < 1e-6);
        assert!((mw - (256.0 * 1.129 + 2.0 * 6.402)).abs() < 1e-9);
        assert_eq!(papers_total(Level::Module), None);
    }

    #[test]
    fn a_dram_process_enlarges_the_chips_only() {
        let ge = |ge| Cost { ge, ..Cost::default() };
        let of = |chips, buffer_chip| Total { chips: ge(chips), buffer_chip: ge(buffer_chip) };
        let bank = TotalReport::new(Level::Bank, of(1e3, 0.0));
        assert!((bank.logic_mm2_dram_process[1] / bank.logic_mm2_28nm[1] - 10.0).abs() < 1e-9);
        let mut both = of(0.0, 2e3);
        both.buffer_chip.memories_mm2 = 1.5;
        let chip = TotalReport::new(Level::BufferChip, both);
        assert_eq!(chip.logic_mm2_dram_process, chip.logic_mm2_28nm);
        // 2000 GE of 0.504 um2 and the memories: on 100 mm2.
        let share = chip.budget_share_percent.expect("a budget")[1];
        assert!((share - (2e3 * 0.504e-6 + 1.5)).abs() < 1e-9);
        assert_eq!(bank.budget_mm2, None);
        // An AiM's logic is ten times as large in its process.
        let aim = TotalReport::new(Level::Aim, of(1e6, 0.0));
        let share = aim.budget_share_percent.expect("its area")[1];
        assert!((share - 100.0 * 5.04 / 12.16).abs() < 1e-9);
    }

    fn part(module: &str, within: &[&str], count: u64) -> Part {
        Part {
            module: module.to_owned(),
            parameters: Default::default(),
            within: within.iter().map(|&module| module.to_owned()).collect(),
            count,
        }
    }

    /// Level, part, how many in one, GE.
    fn rows(design: Design, parts: &[Part], ge: &[f64]) -> Vec<(&'static str, String, f64, f64)> {
        let taken: Vec<(f64, &[Memory])> = ge.iter().map(|&ge| (ge, &[][..])).collect();
        let report = DesignReport::new(design, parts, &taken);
        let sheets = report.sheets("");
        for sheet in sheets {
            assert!(
                sheet.rows.iter().all(|row| row.len() == sheet.columns.len()),
                "{}",
                sheet.title
            );
        }
        report.parts.into_iter().map(|r| (r.level, r.part, r.count, r.area_ge)).collect()
    }

    #[test]
    fn parts_are_listed_by_level_with_their_memories() {
        let chip = ["pim_module", "pim_rank", "pim_chip"];
        let parts = [
            part("dispatcher", &chip[..1], 1),
            part("pim_chip", &chip, 8),
            part("bank_pu", &chip, 128),
        ];
        let expected = [
            ("bank", "bank_pu".to_owned(), 1.0, 3.0),
            ("chip", "pim_chip, rest".to_owned(), 1.0, 2.0),
            ("buffer chip", "dispatcher".to_owned(), 1.0, 1.0),
        ];
        assert_eq!(rows(Design::RANK, &parts, &[1.0, 2.0, 3.0]), expected);
        let pus = ["aim_hub", "aim_channel", "aim_pus"];
        let parts = [
            part("aim_hub", &pus[..1], 1),
            part("aim_channel", &pus[..2], 16),
            part("aim_pus", &pus, 16),
            part("tree_pu", &pus, 256),
        ];
        let expected = [
            ("PU", "tree_pu".to_owned(), 1.0, 4.0),
            ("AiM", "aim_pus, rest".to_owned(), 1.0, 3.0),
            ("channel", "aim_channel, rest".to_owned(), 1.0, 2.0),
            ("hub", "aim_hub, rest".to_owned(), 1.0, 1.0),
        ];
        assert_eq!(rows(Design::AIM, &parts, &[1.0, 2.0, 3.0, 4.0]), expected);
    }

    #[test]
    fn memories_behind_ports_are_those_of_the_design() {
        let bytes = |design| -> u64 {
            let reports = memory_reports(design, &[], &[]);
            let bits = |r: &MemoryReport| r.count as u64 * r.memory.size_bits();
            reports.iter().map(bits).sum::<u64>() / 8
        };
        assert_eq!(bytes(Design::RANK), 2 * 96 * 1024);
        assert_eq!(bytes(Design::AIM), (2 * 96 + 512) * 1024);
    }
}
