// SPDX-License-Identifier: MIT
//! What ping-pong buffers add to an AiM: a channel with them less one with single buffers, each by its hierarchy.

use super::parts::{Range, mm2_28nm, range};
use super::sheet::Sheet;
use pimlico_estimate::device::{Cost, Level};
use pimlico_estimate::hierarchy::Part;
use pimlico_estimate::paper::{self, lol_pim};
use serde::Serialize;

/// What a channel consists of, as the comparison has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Share {
    /// The PUs, which are the same.
    Pus,
    /// Sides of 2 KB, and what fills and reads them.
    GlobalBuffer,
    /// Result registers, of which an AiM has a pair with single buffers too.
    ResultRegisters,
    /// Queues, sums, mode and requests; rank controller and refresh manager.
    Controller,
}

impl Share {
    const ALL: [Self; 4] = [Self::Pus, Self::GlobalBuffer, Self::ResultRegisters, Self::Controller];

    fn name(self) -> &'static str {
        match self {
            Self::Pus => "PUs",
            Self::GlobalBuffer => "global buffer",
            Self::ResultRegisters => "result registers",
            Self::Controller => "controller",
        }
    }

    /// Of a part of a channel; none of what the hub has.
    fn of(part: &Part) -> Option<Self> {
        let depth = part.parameters.get("DEPTH");
        match (Level::of(part), part.module.as_str()) {
            (Level::Pu, _) => Some(Self::Pus),
            (Level::Aim, "pingpong_buffer") if depth == Some(&1) => Some(Self::ResultRegisters),
            // What joins buffers and PUs is the global buffer's.
            (Level::Aim, _) => Some(Self::GlobalBuffer),
            (Level::Channel, _) => Some(Self::Controller),
            _ => None,
        }
    }
}

/// A share with single buffers, and with ping-pong ones.
#[derive(Serialize)]
struct ShareReport {
    share: Share,
    single_ge: f64,
    ping_pong_ge: f64,
    single_memories_mm2_28nm: f64,
    ping_pong_memories_mm2_28nm: f64,
}

/// What a second side adds, beside the paper's.
#[derive(Serialize)]
pub struct PingPongReport {
    shares: Vec<ShareReport>,
    /// Global buffer and controller.
    added_mm2_28nm: Range,
    /// And a second set of result registers, which an AiM has anyway.
    added_with_results_mm2_28nm: Range,
    /// Of 16 PUs of 16 multipliers.
    percent: Range,
    percent_with_results: Range,
    /// With the logic of the DRAM chip, PUs among it, ten times as large.
    percent_dram_process: Range,
    percent_with_results_dram_process: Range,
    /// What it adds to the DRAM chip, in its process, of an AiM's area, which includes its banks.
    of_aim_percent: Range,
    paper_percent: f64,
    paper_global_buffer_mm2_28nm: f64,
    paper_aim_mm2: f64,
    paper_of_aim_percent: f64,
}

impl PingPongReport {
    /// Of the parts of a module with single buffers and of one with ping-pong ones, and what each takes.
    pub fn new(single: (&[Part], &[Cost]), ping_pong: (&[Part], &[Cost])) -> Self {
        let shares = Share::ALL.map(|share| {
            let [single, ping_pong] = [single, ping_pong].map(|of| cost(of, share));
            ShareReport {
                share,
                single_ge: single.ge,
                ping_pong_ge: ping_pong.ge,
                single_memories_mm2_28nm: single.memories_mm2,
                ping_pong_memories_mm2_28nm: ping_pong.memories_mm2,
            }
        });
        let of = |share| shares.iter().find(|report| report.share == share).expect("all are there");
        let ge = |share| of(share).ping_pong_ge - of(share).single_ge;
        let mm2 = |report: &ShareReport| {
            report.ping_pong_memories_mm2_28nm - report.single_memories_mm2_28nm
        };
        let memories: f64 = shares.iter().map(mm2).sum();
        let (buffer, results) = (ge(Share::GlobalBuffer), ge(Share::ResultRegisters));
        let controller = ge(Share::Controller);
        // GE on the DRAM chip, so many times as large, and beside it.
        let added = |chip: f64, times: f64| {
            mm2_28nm(times * chip + controller).map(|logic| logic + memories)
        };
        let pus = of(Share::Pus).ping_pong_ge;
        let percent = |chip: f64, times: f64| {
            let (added, pus) = (added(chip, times), mm2_28nm(times * pus));
            [0, 1, 2].map(|n| 100.0 * added[n] / pus[n])
        };
        let of_aim = mm2_28nm(paper::DRAM_PROCESS * buffer).map(|logic| logic + memories);
        let to_28nm = (28.0 / lol_pim::NODE_NM).powi(2);
        Self {
            added_mm2_28nm: added(buffer, 1.0),
            added_with_results_mm2_28nm: added(buffer + results, 1.0),
            percent: percent(buffer, 1.0),
            percent_with_results: percent(buffer + results, 1.0),
            percent_dram_process: percent(buffer, paper::DRAM_PROCESS),
            percent_with_results_dram_process: percent(buffer + results, paper::DRAM_PROCESS),
            of_aim_percent: of_aim.map(|mm2| 100.0 * mm2 / lol_pim::AIM_MM2),
            paper_percent: lol_pim::PING_PONG_PERCENT,
            paper_global_buffer_mm2_28nm: lol_pim::GLOBAL_BUFFER_MM2 * to_28nm,
            paper_aim_mm2: lol_pim::AIM_MM2,
            paper_of_aim_percent: 100.0 * lol_pim::GLOBAL_BUFFER_MM2 / lol_pim::AIM_MM2,
            shares: shares.into(),
        }
    }

    /// Its tables.
    pub fn sheets(&self) -> [Sheet; 2] {
        [self.shares_sheet(), self.added_sheet()]
    }

    fn shares_sheet(&self) -> Sheet {
        let row = |what: &str, ge: [f64; 2], memories: [f64; 2]| {
            let whole = |value: f64| format!("{value:.0}");
            let mm2 = |value: f64| format!("{value:.4}");
            let [single, ping_pong] = ge;
            let [single_mm2, ping_pong_mm2] = memories;
            vec![
                what.to_owned(),
                whole(single),
                whole(ping_pong),
                whole(ping_pong - single),
                mm2(single_mm2),
                mm2(ping_pong_mm2),
                mm2(ping_pong_mm2 - single_mm2),
            ]
        };
        let of = |r: &ShareReport| {
            let ge = [r.single_ge, r.ping_pong_ge];
            (ge, [r.single_memories_mm2_28nm, r.ping_pong_memories_mm2_28nm])
        };
        let mut rows: Vec<_> = self
            .shares
            .iter()
            .map(|report| {
                let (ge, memories) = of(report);
                row(report.share.name(), ge, memories)
            })
            .collect();
        let sum = |n: usize| {
            let add = |(ge, mm2): (f64, f64), report: &ShareReport| {
                let (of_ge, of_mm2) = of(report);
                (ge + of_ge[n], mm2 + of_mm2[n])
            };
            self.shares.iter().fold((0.0, 0.0), add)
        };
        let ((single, single_mm2), (ping_pong, ping_pong_mm2)) = (sum(0), sum(1));
        rows.push(row("channel", [single, ping_pong], [single_mm2, ping_pong_mm2]));
        Sheet {
            title: "an AiM's channel with single and with ping-pong buffers, at 28 nm".to_owned(),
            columns: vec![
                "what",
                "single, GE",
                "ping-pong, GE",
                "added, GE",
                "single, memories, mm2",
                "ping-pong, memories, mm2",
                "added, memories, mm2",
            ],
            rows,
            notes: vec![
                "as the RTL has them (PINGPONG = 0 and 1): controller with the queues, and with single buffers the \
                 mode; what joins buffers and PUs is the global buffer's"
                    .to_owned(),
            ],
        }
    }

    fn added_sheet(&self) -> Sheet {
        let row = |what: &str, ours: String, paper: String| vec![what.to_owned(), ours, paper];
        let percent = |value: Range, digits| range(value, digits);
        let mm2 = |value: Range| range(value, 4);
        let none = String::new;
        let buffer = self.shares.iter().find(|report| report.share == Share::GlobalBuffer);
        let buffer = buffer.map_or(0.0, |report| {
            report.ping_pong_memories_mm2_28nm - report.single_memories_mm2_28nm
        });
        let paper = self.paper_percent.to_string();
        Sheet {
            title: "what ping-pong buffers add to a channel, beside LoL-PIM, at 28 nm".to_owned(),
            columns: vec!["what", "ours", "LoL-PIM"],
            rows: vec![
                row(
                    "second side of 2 KB, a macro: mm2",
                    format!("{buffer:.4}"),
                    format!("{:.4}", self.paper_global_buffer_mm2_28nm),
                ),
                row("with its logic and the controller: mm2", mm2(self.added_mm2_28nm), none()),
                row(
                    "and a second set of result registers: mm2",
                    mm2(self.added_with_results_mm2_28nm),
                    none(),
                ),
                row("of 256 multipliers, logic process: %", percent(self.percent, 1), none()),
                row("the same with result registers: %", percent(self.percent_with_results, 1), none()),
                row("of 256 multipliers, DRAM process: %", percent(self.percent_dram_process, 2), paper),
                row(
                    "the same with result registers: %",
                    percent(self.percent_with_results_dram_process, 2),
                    none(),
                ),
                row(
                    &format!("on the chip, of an AiM of {} mm2: %", self.paper_aim_mm2),
                    percent(self.of_aim_percent, 2),
                    format!("{:.2}", self.paper_of_aim_percent),
                ),
            ],
            notes: vec![
                "LoL-PIM: 1.7 % of a unit of 256 multipliers (section 6), 0.053 mm2 at 32 nm for the buffer, 12.16 \
                 mm2 for an AiM with its banks (section 7.2); it names no area of the unit"
                    .to_owned(),
                "an AiM has a pair of result registers with single buffers too: they are no cost of ping-pong, \
                 and shown beside it"
                    .to_owned(),
            ],
        }
    }
}

/// What a share of a channel takes.
fn cost((parts, costs): (&[Part], &[Cost]), share: Share) -> Cost {
    let is_channel = |part: &&Part| part.module == "aim_channel" && part.is_rest();
    let channels = parts.iter().find(is_channel).map_or(1, |part| part.count) as f64;
    let of_share = parts.iter().zip(costs).filter(|(part, _)| Share::of(part) == Some(share));
    let costs = of_share.map(|(part, cost)| *cost * (part.count as f64 / channels));
    costs.fold(Cost::default(), |sum, cost| sum + cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn part(module: &str, depth: Option<i64>, within: usize, count: u64) -> Part {
        let modules = ["aim_hub", "aim_channel", "aim_pus"];
        Part {
            module: module.to_owned(),
            parameters: depth
                .into_iter()
                .map(|d| ("DEPTH".to_owned(), d))
                .collect::<BTreeMap<_, _>>(),
            within: modules[..within].iter().map(|&module| module.to_owned()).collect(),
            count,
        }
    }

    /// A module of two channels.
    fn parts() -> Vec<Part> {
        vec![
            part("aim_hub", None, 1, 1),
            part("aim_channel", None, 2, 2),
            part("aim_sums", None, 2, 2),
            part("aim_pus", None, 3, 2),
            part("pingpong_buffer", Some(64), 3, 2),
            part("pingpong_buffer", Some(1), 3, 2),
            part("tree_pu", None, 3, 32),
        ]
    }

    fn costs(ge: [f64; 7], memories_mm2: f64) -> Vec<Cost> {
        let mut costs: Vec<Cost> = ge.iter().map(|&ge| Cost { ge, ..Cost::default() }).collect();
        costs[4].memories_mm2 = memories_mm2;
        costs
    }

    #[test]
    fn what_differs_is_counted_by_share_and_the_hub_is_not() {
        let parts = parts();
        let single = costs([7e9, 100.0, 50.0, 10.0, 400.0, 2e3, 1e4], 0.04);
        let ping_pong = costs([8e9, 130.0, 60.0, 10.0, 500.0, 4e3, 1e4], 0.08);
        let report = PingPongReport::new((&parts, &single), (&parts, &ping_pong));
        let added: Vec<f64> =
            report.shares.iter().map(|share| share.ping_pong_ge - share.single_ge).collect();
        assert_eq!(added, [0.0, 100.0, 2e3, 40.0]);
        assert_eq!(report.shares[0].ping_pong_ge, 16e4, "sixteen PUs");
        // 140 GE and a macro, without the result registers.
        let mm2 = 140.0 * 0.504e-6 + 0.04;
        assert!((report.added_mm2_28nm[1] - mm2).abs() < 1e-9);
        assert!((report.added_with_results_mm2_28nm[1] - mm2 - 2e3 * 0.504e-6).abs() < 1e-9);
        assert!((report.percent[1] - 100.0 * mm2 / (16e4 * 0.504e-6)).abs() < 1e-9);
        // In a DRAM process what is on the chip is ten times as large, and the controller is not.
        let mm2 = (10.0 * 100.0 + 40.0) * 0.504e-6 + 0.04;
        let percent = 100.0 * mm2 / (10.0 * 16e4 * 0.504e-6);
        assert!((report.percent_dram_process[1] - percent).abs() < 1e-9);
        let of_aim = 100.0 * (1e3 * 0.504e-6 + 0.04) / 12.16;
        assert!((report.of_aim_percent[1] - of_aim).abs() < 1e-9);
        for sheet in report.sheets() {
            assert!(
                sheet.rows.iter().all(|row| row.len() == sheet.columns.len()),
                "{}",
                sheet.title
            );
        }
    }
}
