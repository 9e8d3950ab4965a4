// SPDX-License-Identifier: MIT
//! A study: what two row buffers are worth in a channel. MEM reads without end and PIM has tiles back to back, each alone and both at
//! once.

use super::report::{ChannelReport, PinsReport};
use super::{ChannelsBy, Setup};
use crate::error::WorkloadError;
use crate::parallel;
use pimlico_device::neupims::{ChannelOptions, Commands, Memory, NeupimsSpec, ReadQueue};
use pimlico_host::neupims::{Both, TileStream, WeightStream};
use serde::Serialize;

/// Words of a tile.
const WORDS: u64 = 32;
/// Rows of MEM and of PIM.
const MEM_ROWS: std::ops::Range<u16> = 2..1024;
const PIM_ROWS: std::ops::Range<u16> = 1024..2048;

/// What is asked of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads of whole rows, and tiles of 32 words.
    Saturated,
    /// Random reads and writes, and operations of random shapes with GWRITEs between them.
    Random,
}

/// The study.
#[derive(Clone, Debug)]
pub struct RowBufferStudy {
    /// The device.
    pub spec: NeupimsSpec,
    /// How a GEMV is spelled.
    pub commands: Commands,
    /// Beside that: PIM_PRECHARGE, window, refresh.
    pub options: ChannelOptions,
    /// What is asked of it.
    pub work: Work,
    /// Sums of a tile, 1 to 8: heads of K that share a row, or 1 as of V.
    pub sums: u64,
    /// tCK of each run.
    pub tck: u64,
    /// Seed of random work.
    pub seed: u64,
    /// Whether the checker is at the pins.
    pub watched: bool,
}

/// How much there was of each, alone or at once.
#[derive(Clone, Debug, Serialize)]
pub struct RowBufferRow {
    /// `dual`, or `blocked`: row buffers of a bank.
    pub memory: &'static str,
    /// Reads that wait in the controller.
    pub reads: u64,
    /// Whether ACTs of MEM went into the dot-product phase.
    pub steer: bool,
    /// MEM alone.
    pub mem_alone: ChannelReport,
    /// PIM alone.
    pub pim_alone: ChannelReport,
    /// Both.
    pub both: ChannelReport,
    /// Bursts of MEM beside PIM, of those alone, in per cent.
    pub mem_share_percent: f64,
    /// Dot products of PIM beside MEM, of those alone, in per cent.
    pub pim_share_percent: f64,
    /// Slots of the command bus that PIM took for an operation, alone.
    pub slots_per_operation: f64,
    /// What was on the pins in all three.
    pub pins: PinsReport,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct RowBufferReport {
    /// What the sweep is called.
    pub sweep: &'static str,
    /// Name of the device.
    pub device: String,
    /// Pseudo-ranks of a channel.
    pub pseudo_ranks: u64,
    /// `composite` or `fine`.
    pub commands: &'static str,
    /// `all` or `bank`: the scope of PIM_PRECHARGE.
    pub precharge: &'static str,
    /// `paper` or `simulator`: what the window of tFAW counts.
    pub faw: &'static str,
    /// Whether rows were refreshed.
    pub refresh: bool,
    /// `saturated` or `random`.
    pub work: &'static str,
    /// Sums of a tile.
    pub sums: u64,
    /// tCK of each run.
    pub tck: u64,
    /// Seed of random work.
    pub seed: u64,
    /// Whether the checker was at the pins.
    pub watched: bool,
    /// Row buffers.
    pub rows: Vec<RowBufferRow>,
}

/// Who has requests.
#[derive(Clone, Copy)]
struct Who {
    mem: bool,
    pim: bool,
}

/// A channel that is compared: row buffers, reads that wait, and whether ACTs are steered.
type Kind = (Memory, ReadQueue, bool);

const KINDS: [Kind; 4] = [
    (Memory::Dual, ReadQueue::Short, true),
    (Memory::Dual, ReadQueue::Long, true),
    (Memory::Dual, ReadQueue::Short, false),
    (Memory::Blocked, ReadQueue::Short, true),
];

const RUNS: [Who; 3] =
    [Who { mem: true, pim: false }, Who { mem: false, pim: true }, Who { mem: true, pim: true }];

impl RowBufferStudy {
    /// Runs it on so many threads of this machine.
    ///
    /// # Errors
    ///
    /// If a channel stops.
    pub fn run(&self, threads: usize) -> Result<RowBufferReport, WorkloadError> {
        let cases: Vec<_> = KINDS.iter().flat_map(|&kind| RUNS.map(|who| (kind, who))).collect();
        let made = parallel::each(&cases, threads, |&(kind, who)| self.case(kind, who));
        let made = made.into_iter().collect::<Result<Vec<_>, _>>()?;
        let rows = KINDS.iter().zip(made.chunks(RUNS.len()));
        let setup = super::report::SetupReport::of(&self.setup(KINDS[0]));
        Ok(RowBufferReport {
            sweep: "row-buffers",
            device: setup.device,
            pseudo_ranks: setup.pseudo_ranks,
            commands: setup.commands,
            precharge: setup.precharge,
            faw: setup.faw,
            refresh: setup.refresh,
            work: match self.work {
                Work::Saturated => "saturated",
                Work::Random => "random",
            },
            sums: self.sums,
            tck: self.tck,
            seed: self.seed,
            watched: self.watched,
            rows: rows.map(|(kind, made)| row(*kind, made)).collect(),
        })
    }

    /// Two row buffers alone, with ACTs steered, and a queue of reads.
    ///
    /// # Errors
    ///
    /// If a channel stops.
    pub fn dual(&self, queue: ReadQueue, threads: usize) -> Result<RowBufferRow, WorkloadError> {
        let kind = (Memory::Dual, queue, true);
        let made = parallel::each(&RUNS, threads, |&who| self.case(kind, who));
        Ok(row(kind, &made.into_iter().collect::<Result<Vec<_>, _>>()?))
    }

    fn setup(&self, (memory, reads, steer): Kind) -> Setup {
        let options = ChannelOptions { memory, reads, steer, data: false, ..self.options };
        let (spec, commands) = (self.spec.clone(), self.commands);
        Setup { spec, options, commands, threads: 1, by: ChannelsBy::ENGINE }
    }

    fn case(&self, kind: Kind, who: Who) -> Result<(ChannelReport, PinsReport), WorkloadError> {
        let setup = self.setup(kind);
        // Sums of one word each are those that hide no RDRESULT.
        let tile = vec![(WORDS / self.sums) as u8; self.sums as usize];
        let worst = if self.work == Work::Random { vec![1; 8] } else { tile.clone() };
        let (mut channel, log) = setup.channel(0, &worst, 0)?;
        if !self.watched {
            channel.unwatch();
        }
        let (mem, pim) = match self.work {
            Work::Saturated => (
                WeightStream::new(MEM_ROWS),
                TileStream::new(PIM_ROWS, setup.fine(), move |_| tile.clone()),
            ),
            Work::Random => {
                let of = self.seed;
                (WeightStream::random(MEM_ROWS, of), TileStream::random(PIM_ROWS, setup.fine(), of))
            }
        };
        let mut host = Both { mem: who.mem.then_some(mem), pim: who.pim.then_some(pim) };
        channel.run(&mut host, self.tck)?;
        let faults = channel.faults().count() + channel.dropped();
        let found = if self.watched { log.findings(channel.tck()) } else { Default::default() };
        let pins = PinsReport::of(found, faults);
        Ok((ChannelReport::of(&self.spec, &channel.take_statistics()), pins))
    }
}

fn row((memory, reads, steer): Kind, made: &[(ChannelReport, PinsReport)]) -> RowBufferRow {
    let of = |n: usize| made[n].0;
    let (mem_alone, pim_alone, both) = (of(0), of(1), of(2));
    let share = |of: f64, alone: f64| if alone > 0.0 { 100.0 * of / alone } else { 0.0 };
    let commands = &pim_alone.commands;
    let slots = commands.pim_activation
        + commands.pim_precharge
        + commands.pim_gwrite
        + commands.pim_dotproduct
        + commands.pim_gemv
        + commands.pim_rdresult;
    RowBufferRow {
        memory: if memory == Memory::Dual { "dual" } else { "blocked" },
        reads: reads.reads(),
        steer,
        mem_share_percent: share(both.mem_percent, mem_alone.mem_percent),
        pim_share_percent: share(both.pim_percent, pim_alone.pim_percent),
        slots_per_operation: slots as f64 / pim_alone.operations.count.max(1) as f64,
        mem_alone,
        pim_alone,
        both,
        pins: made.iter().fold(PinsReport::default(), |all, (_, pins)| all.and(pins.clone())),
    }
}
