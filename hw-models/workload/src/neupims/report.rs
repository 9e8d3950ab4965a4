// SPDX-License-Identifier: MIT
//! What reports say of a channel of NeuPIMs.

use super::Setup;
use crate::judge::dual_pins::{DualFindings, Seen};
use pimlico_device::neupims::{ChannelStatistics, Commands, Memory, NeupimsSpec, WORDS, Window};
use pimlico_units::channel::{ChannelCommand, MemLost, PimLost};
use serde::Serialize;

/// Bytes of a channel's PUs for a dot product of all banks.
const DOT_BYTES: u64 = 1024;

/// How channels worked.
#[derive(Clone, Debug, Serialize)]
pub struct SetupReport {
    /// Name of the device.
    pub device: String,
    /// Pseudo-ranks of a channel.
    pub pseudo_ranks: u64,
    /// `dual` or `blocked`.
    pub memory: &'static str,
    /// `composite` or `fine`.
    pub commands: &'static str,
    /// `all` or `bank`: the scope of PIM_PRECHARGE.
    pub precharge: &'static str,
    /// `paper` or `simulator`: what the window of tFAW counts.
    pub faw: &'static str,
    /// Whether ACTs of MEM go into the dot-product phase.
    pub steer: bool,
    /// Whether rows were refreshed.
    pub refresh: bool,
    /// Format of sums.
    pub sums: &'static str,
    /// `fast`, `model`, `rtl` or `lockstep`: what executed the channels.
    pub backend: &'static str,
    /// `units` or `channel`: what was one unit of it. None: the engine.
    pub scope: Option<&'static str>,
    /// Cycles in which RTL and model differed: 0 in lockstep, as the first ends a run.
    pub mismatches: Option<u64>,
}

impl SetupReport {
    /// That of a set-up.
    pub fn of(setup: &Setup) -> Self {
        let options = &setup.options;
        Self {
            device: setup.spec.name.clone(),
            pseudo_ranks: setup.spec.organisation.pseudo_ranks,
            memory: match options.memory {
                Memory::Dual => "dual",
                Memory::Blocked => "blocked",
            },
            commands: match setup.commands {
                Commands::Composite => "composite",
                Commands::Fine => "fine",
            },
            precharge: if options.bankwise { "bank" } else { "all" },
            faw: match options.window {
                Window::Paper => "paper",
                Window::Simulator => "simulator",
            },
            steer: options.steer,
            refresh: options.refresh,
            sums: options.sums.name(),
            backend: setup.by.backend,
            scope: setup.by.scope,
            mismatches: (setup.by.backend == "lockstep").then_some(0),
        }
    }
}

/// Commands on the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the fields say it")]
pub struct CommandCounts {
    pub act: u64,
    pub pre: u64,
    pub prea: u64,
    pub rd: u64,
    pub wr: u64,
    #[serde(rename = "ref")]
    pub refresh: u64,
    pub pim_activation: u64,
    pub pim_precharge: u64,
    pub pim_gwrite: u64,
    pub pim_dotproduct: u64,
    pub pim_gemv: u64,
    pub pim_rdresult: u64,
}

/// tCK in which PIM made no dot product though it had an operation, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "as `PimLost` has them")]
pub struct PimLosses {
    pub activation: u64,
    pub window: u64,
    pub gwrite: u64,
    pub refresh: u64,
    pub admission: u64,
    pub mem_row: u64,
    pub bus: u64,
    pub feed: u64,
}

/// tCK in which MEM moved no burst though it had a request, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "as `MemLost` has them")]
pub struct MemLosses {
    pub row: u64,
    pub window: u64,
    pub reserved: u64,
    pub command_bus: u64,
    pub refresh: u64,
    pub results: u64,
}

/// Operations of PIM beside the controller's estimate of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Operations {
    /// GEMVs and GWRITEs that are over.
    pub count: u64,
    /// tCK that one was estimated to take, on average.
    pub mean_estimate_tck: f64,
    /// tCK that it took.
    pub mean_tck: f64,
    /// Those that took longer than was estimated.
    pub above_estimate: u64,
    /// The most that one took of its estimate, in per cent.
    pub fullest_percent: f64,
    /// tCK that PIM waited for a REF as an operation did not fit before it, for each operation.
    pub mean_slack_lost_tck: f64,
}

/// What a channel did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ChannelReport {
    /// tCK.
    pub tck: u64,
    /// Commands on the pins.
    pub commands: CommandCounts,
    /// Dot products of all banks.
    pub dots: u64,
    /// Bursts of results.
    pub results: u64,
    /// The part of tCK with a command, in per cent.
    pub command_bus_percent: f64,
    /// The part of tCK with a burst of MEM, in per cent.
    pub mem_percent: f64,
    /// The part of tCK with a dot product, in per cent.
    pub pim_percent: f64,
    /// The part of the activations that tFAW allows, in per cent.
    pub window_percent: f64,
    /// What PIM lost.
    pub pim_lost_tck: PimLosses,
    /// What MEM lost.
    pub mem_lost_tck: MemLosses,
    /// Operations of PIM.
    pub operations: Operations,
}

impl ChannelReport {
    /// That of a channel.
    pub fn of(spec: &NeupimsSpec, s: &ChannelStatistics) -> Self {
        Self::of_channels(spec, s, 1)
    }

    /// That of so many channels together: counts are of all, parts of what all could do.
    pub fn of_channels(spec: &NeupimsSpec, s: &ChannelStatistics, channels: u64) -> Self {
        let all = (s.tck * channels).max(1) as f64;
        let percent = |part: u64| 100.0 * part as f64 / all;
        let pim = |cause: PimLost| s.pim_lost[cause as usize];
        let mem = |cause: MemLost| s.mem_lost[cause as usize];
        let each = |sum: u64| sum as f64 / s.operations.max(1) as f64;
        let window = s.window(spec.timing.faw, spec.organisation.pseudo_ranks * channels);
        Self {
            tck: s.tck,
            commands: CommandCounts {
                act: s.of(ChannelCommand::Act),
                pre: s.of(ChannelCommand::Pre),
                prea: s.of(ChannelCommand::PreAll),
                rd: s.of(ChannelCommand::Rd),
                wr: s.of(ChannelCommand::Wr),
                refresh: s.of(ChannelCommand::Ref),
                pim_activation: s.of(ChannelCommand::PimActivation),
                pim_precharge: s.of(ChannelCommand::PimPrecharge),
                pim_gwrite: s.of(ChannelCommand::PimGwrite),
                pim_dotproduct: s.of(ChannelCommand::PimDotProduct),
                pim_gemv: s.of(ChannelCommand::PimGemv),
                pim_rdresult: s.of(ChannelCommand::PimReadResult),
            },
            dots: s.dots,
            results: s.results,
            command_bus_percent: percent(s.pin_commands()),
            mem_percent: percent(spec.timing.bl * s.bursts()),
            pim_percent: percent(spec.pim.dot * s.dots),
            window_percent: 100.0 * window,
            pim_lost_tck: PimLosses {
                activation: pim(PimLost::Activation),
                window: pim(PimLost::Window),
                gwrite: pim(PimLost::Gwrite),
                refresh: pim(PimLost::Refresh),
                admission: pim(PimLost::Admission),
                mem_row: pim(PimLost::MemRow),
                bus: pim(PimLost::Bus),
                feed: pim(PimLost::Feed),
            },
            mem_lost_tck: MemLosses {
                row: mem(MemLost::Row),
                window: mem(MemLost::Window),
                reserved: mem(MemLost::Reserved),
                command_bus: mem(MemLost::CommandBus),
                refresh: mem(MemLost::Refresh),
                results: mem(MemLost::Results),
            },
            operations: Operations {
                count: s.operations,
                mean_estimate_tck: each(s.estimated_tck),
                mean_tck: each(s.operation_tck),
                above_estimate: s.late,
                fullest_percent: s.fullest as f64 / 10.0,
                mean_slack_lost_tck: each(pim(PimLost::Admission)),
            },
        }
    }

    /// Bytes of rows that the PUs took.
    pub fn pim_bytes(&self) -> u64 {
        DOT_BYTES * self.dots
    }
}

/// Data that went into the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StoreReport {
    /// tCK.
    pub tck: u64,
    /// Bursts of 64 bytes.
    pub bursts: u64,
}

/// What was on the pins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PinsReport {
    /// Violations of the rules.
    pub violations: u64,
    /// The first of them.
    pub first: Vec<String>,
    /// Commands that row buffers, global buffer and PUs could not obey.
    pub faults: u64,
}

impl PinsReport {
    /// Of a channel.
    pub fn of(found: DualFindings, faults: u64) -> Self {
        Self { violations: found.violations, first: found.first, faults }
    }

    /// With those of another channel.
    pub fn and(mut self, other: Self) -> Self {
        self.violations += other.violations;
        self.faults += other.faults;
        self.first.extend(other.first);
        self
    }

    /// What is wrong, if anything.
    pub fn wrong(&self) -> Option<String> {
        let first =
            self.first.first().map_or(String::new(), |first| format!(", the first: {first}"));
        match (self.violations, self.faults) {
            (0, 0) => None,
            (violations, faults) => Some(format!(
                "{violations} violations at the pins, {faults} faults in the banks{first}"
            )),
        }
    }
}

/// The first whole tile, in tCK from its PIM_PRECHARGE on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TileSchedule {
    /// PIM_ACTIVATIONs.
    pub activations: Vec<u64>,
    /// The first dot product.
    pub first_dot: u64,
    /// The last.
    pub last_dot: u64,
    /// The next PIM_PRECHARGE.
    pub next_precharge: u64,
}

impl TileSchedule {
    /// Of the first tile of `words` words between two PIM_PRECHARGEs.
    pub fn of(seen: &[Seen], dot_tck: u64, words: u64) -> Option<Self> {
        let is_precharge = |(_, pins): &Seen| pins.command == ChannelCommand::PimPrecharge;
        let starts: Vec<_> = (0..seen.len())
            .filter(|&n| is_precharge(&seen[n]) && (n == 0 || !is_precharge(&seen[n - 1])))
            .collect();
        starts.windows(2).find_map(|pair| {
            let (tile, from) = (&seen[pair[0]..pair[1]], seen[pair[0]].0);
            let mut schedule = Self { next_precharge: seen[pair[1]].0 - from, ..Self::default() };
            let mut dots: Vec<u64> = Vec::new();
            for (at, pins) in tile {
                let at = at - from;
                match pins.command {
                    ChannelCommand::PimActivation => schedule.activations.push(at),
                    ChannelCommand::PimDotProduct => dots.push(at),
                    ChannelCommand::PimGemv => {
                        dots.extend((0..u64::from(pins.count)).map(|n| at + n * dot_tck));
                    }
                    _ => {}
                }
            }
            (schedule.first_dot, schedule.last_dot) = (*dots.first()?, *dots.last()?);
            (dots.len() as u64 == words && words <= WORDS as u64).then_some(schedule)
        })
    }
}
