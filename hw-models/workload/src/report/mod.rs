// SPDX-License-Identifier: MIT
//! What a run cost and how far its results are from the reference.

pub mod decode;
mod groups;
mod job;
mod judgement;
pub mod link;
pub mod lp5;
mod power;
mod ranks;
mod set_up;
mod system;

pub use groups::Together;
pub use job::{JobPart, JobReport};
pub use judgement::{Exact, Judged, Verdict, Wrong};
use link::{Crossing, OnLink};
use pimlico_device::energy::{self, Power};
use pimlico_device::{Config, SetUp, Statistics};
use pimlico_dpa::types::PinCommand;
pub use power::{DIMM_RANKS, L3_DIMM_W, PeakCurrent, PowerReport, Watts};
pub use ranks::{LayersReport, RanksReport, RollUp, Spread, SpreadReport};
use serde::{Deserialize, Serialize};
pub use set_up::{SentReport, SetUpReport};
use std::collections::BTreeMap;
pub use system::{ModuleReport, SystemDescription};

/// The name of adding K and V of a token, where it is an operator.
pub const APPEND: &str = "append";

/// Bytes of an element, which is binary16.
pub const ELEMENT_BYTES: u64 = 2;

/// Result of a run; serialises to the document that `--json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Name of the system.
    pub system: String,
    /// What was run.
    #[serde(flatten)]
    pub job: JobReport,
    /// The module, where the system is one of several channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleReport>,
    /// The ranks, where the system is one of ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<RanksReport>,
    /// What executed the units.
    pub backend: String,
    /// Seed of the data.
    pub seed: u64,
    /// Clock period in ns.
    pub tck_ns: f64,
    /// Preset of the DRAM.
    pub dram: String,
    /// Banks that may open in a tFAW.
    pub faw_banks: u64,
    /// tCK from one RD_RESULT or WR_SHARED to the next, where that is not tCCD_S.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ccd_result_tck: Option<u64>,
    /// tCK from the data of a WR_SHARED to RD_ALL and RD_RESULT, where they wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wtr_shared_tck: Option<u64>,
    /// tCK from an RD_ALL to its columns at the PUs, where that is not 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rl_mac_tck: Option<u64>,
    /// Whether rows are refreshed.
    pub refresh: bool,
    /// When softmax divides: `early`, each weight, or `late`, the context.
    pub normalise: &'static str,
    /// Format of sums in bank PUs and adder unit: `binary16` or `binary32`.
    pub sums: &'static str,
    /// tCK in a cycle of the rank PU's core; without one on a module of AiM channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gear: Option<usize>,
    /// Rules of the DRAM that were broken at its pins.
    pub pin_violations: u64,
    /// The first of them.
    pub first_violations: Vec<String>,
    /// The host's pins, where the system is one of ranks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_pins: Option<HostPins>,
    /// Writing K and V of all heads, or the weights.
    pub load: Load,
    /// What the host wrote so that programs could run.
    pub set_up: SetUpReport,
    /// What of the results was judged, and how.
    pub judged: Judged,
    /// Differences between model and RTL; only in lockstep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatches: Option<u64>,
    /// All operators together.
    pub total: Total,
    /// Each operator, summed up over the heads.
    pub operators: Vec<OperatorReport>,
    /// What is to know about the figures.
    pub notes: Vec<String>,
}

impl Report {
    /// What the checkers at the pins have found, if anything.
    pub fn violations(&self) -> Option<String> {
        let chips = (self.pin_violations, self.first_violations.first(), "DRAM's");
        let host = self.host_pins.as_ref();
        let host = host.map(|host| (host.violations, host.first_violations.first(), "host's"));
        let found = std::iter::once(chips).chain(host);
        let told = found.filter_map(|(count, first, whose)| {
            Some(format!("{count} violations at the {whose} pins, the first: {}", first?))
        });
        Some(told.collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
    }

    /// Share of the total that an operator takes.
    pub fn share_of(&self, name: &str) -> f64 {
        let of_name = self.operators.iter().filter(|operator| operator.operator == name);
        let cycles: u64 = of_name.map(|operator| operator.cycles).sum();
        cycles as f64 / self.total.cycles.max(1) as f64
    }

    /// The operator's own part, if it is of this type.
    pub fn of<T: 'static>(&self) -> Option<&T> {
        self.job.part()
    }
}

/// What the checker of the host's protocol found: `rtl/module/host_port.md`.
#[derive(Clone, Debug, Serialize)]
pub struct HostPins {
    /// Commands on the host's pins that were checked.
    pub commands: u64,
    /// Rules that host or module broke.
    pub violations: u64,
    /// The first of them.
    pub first_violations: Vec<String>,
}

/// The host's writes through the re-layout unit.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// What was written.
    pub bytes: u64,
    /// Share of the time in which the data bus moves data.
    pub bus: f64,
    /// Commands by name.
    pub commands: BTreeMap<&'static str, u64>,
    /// The same bytes on the link between host and hub, where there is one: loading takes the longer of the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<OnLink>,
}

/// What writing into the banks cost, and its bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// The cost.
    pub cost: Statistics,
    /// The bytes.
    pub bytes: u64,
    /// On several ranks, what it cost on all of them.
    pub spread: Option<Spread>,
}

impl Written {
    /// Of one device.
    pub fn new(cost: Statistics, bytes: u64) -> Self {
        Self { cost, bytes, spread: None }
    }

    /// One behind the other.
    pub fn and(self, other: Self) -> Self {
        let spread = match (self.spread, other.spread) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        Self { cost: self.cost.and(other.cost), bytes: self.bytes + other.bytes, spread }
    }
}

impl Load {
    /// Of so many bytes.
    pub fn new(config: &Config, statistics: &Statistics, bytes: u64) -> Self {
        Self {
            cycles: statistics.cycles,
            ns: ns(config, statistics.cycles),
            bytes,
            bus: statistics.bus_cycles as f64 / statistics.cycles.max(1) as f64,
            commands: commands(statistics),
            link: OnLink::new(
                config,
                Crossing { to_hub: bytes, to_host: 0 },
                ns(config, statistics.cycles),
            ),
        }
    }
}

/// The score buffer, in the longest context.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ScoreBuffer {
    /// Scores for which there is room.
    pub capacity: usize,
    /// Scores in it.
    pub scores: usize,
    /// Passes over the tokens: more than one where there is no room for all.
    pub passes: usize,
}

/// All operators together.
#[derive(Clone, Debug, Serialize)]
pub struct Total {
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Energy at the most, where the currents of the device are known.
    pub energy_pj: Option<f64>,
    /// The same at the least: with all-bank RDs of array and column alone.
    pub energy_least_pj: Option<f64>,
    /// Power, where the energy of ranks is known.
    pub power: Option<PowerReport>,
    /// What the bank PUs read from the row buffers in that time, padding included, in GB/s (10^9 bytes).
    pub read_gb_per_s: f64,
    /// What the operators needed of it: an element for each multiply-accumulate, in GB/s.
    pub use_gb_per_s: f64,
    /// What is read with an all-bank RD in every slot, in GB/s.
    pub peak_gb_per_s: f64,
}

impl Total {
    /// Share of the peak that was read.
    pub fn read_share(&self) -> f64 {
        self.read_gb_per_s / self.peak_gb_per_s
    }

    /// Share of the peak that the operators needed.
    pub fn use_share(&self) -> f64 {
        self.use_gb_per_s / self.peak_gb_per_s
    }
}

/// Errors of the stages of attention against float64.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Stages {
    /// Scores, of the same K and Q.
    pub score: Error,
    /// Weights, of the same scores.
    pub softmax: Error,
    /// Context, of the same weights and V.
    pub context: Error,
    /// Output, of the same scores and V: what softmax and context lose together.
    pub output_from_scores: Error,
    /// Output, of the same K, V and Q: what all of it loses.
    pub output: Error,
}

impl Stages {
    /// The worse of two, in each stage.
    pub fn worse(self, other: Self) -> Self {
        Self {
            score: self.score.worse(other.score),
            softmax: self.softmax.worse(other.softmax),
            context: self.context.worse(other.context),
            output_from_scores: self.output_from_scores.worse(other.output_from_scores),
            output: self.output.worse(other.output),
        }
    }
}

/// What a report says of one operator.
#[derive(Clone, Debug, Serialize)]
pub struct OperatorReport {
    /// Name of the operator.
    pub operator: &'static str,
    /// Duration in tCK.
    pub cycles: u64,
    /// Duration in ns.
    pub ns: f64,
    /// Multiply-accumulates that the operator asks for, without padding.
    pub macs: u64,
    /// How it is spread over ranks, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<SpreadReport>,
    /// All-bank RDs of all ranks or channels.
    #[serde(skip)]
    pub reads: u64,
    /// What the host wrote for it.
    #[serde(skip)]
    pub set_up: SetUp,
    /// All-bank RD slots; of several ranks, those of the last to finish.
    pub slots: Slots,
    /// Share of the time, or of the peak, that the parts of the rank are used.
    pub utilisation: Utilisation,
    /// Commands by name.
    pub commands: BTreeMap<&'static str, u64>,
    /// Operands and outputs on the link between host and hub, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<OnLink>,
    /// Energy at the most, where the currents of the device are known; see [`pimlico_device::energy`].
    pub energy_pj: Option<f64>,
    /// The same at the least.
    pub energy_least_pj: Option<f64>,
    /// The same by what takes it.
    pub energy: Option<Energy>,
    /// The result against float64 of this operator on the same binary16 inputs.
    pub error: Error,
    /// The result against `golden`'s, bit for bit, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<Exact>,
    /// Both, and what is wrong.
    #[serde(skip)]
    pub judgement: Verdict,
}

/// Energy by what takes it, in pJ; see [`pimlico_device::energy`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Energy {
    /// Rows opened and closed.
    pub activate: f64,
    /// All-bank RDs: at most, as sixteen RDs.
    pub all_bank_read: f64,
    /// The same at the least, of array and column alone.
    pub all_bank_read_least: f64,
    /// Bursts between the data bus and a bank, the shared buffers or the result registers.
    pub bursts: f64,
    /// Refreshes.
    pub refresh: f64,
    /// The DRAM's standby current.
    pub standby: f64,
    /// The bank PUs.
    pub bank_pus: f64,
    /// The rest of the chips' logic.
    pub chips: f64,
    /// The rank PU, with the host's side and the dispatcher.
    pub rank_pu: f64,
    /// Shared buffers and score buffer.
    pub memories: f64,
}

impl From<energy::Energy> for Energy {
    fn from(energy: energy::Energy) -> Self {
        let energy::Energy { activate, all_bank_read, all_bank_read_least, .. } = energy;
        let energy::Energy { bursts, refresh, standby, .. } = energy;
        let energy::Energy { bank_pus, chips, rank_pu, memories, .. } = energy;
        Self {
            activate,
            all_bank_read,
            all_bank_read_least,
            bursts,
            refresh,
            standby,
            bank_pus,
            chips,
            rank_pu,
            memories,
        }
    }
}

/// All-bank RD slots, one per tCCD_L.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Slots {
    /// With an RD: those of use, and padding.
    pub used: u64,
    /// As many as bring what the operator needs; with those that are lost, all slots.
    pub of_use: u64,
    /// The others, by cause.
    pub lost: Lost,
}

/// Slots that bring nothing that the operator needs, by cause.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Lost {
    /// Read, but of banks, lanes and tokens that hold nothing of the operator, or again in a further pass.
    pub padding: u64,
    /// Another row had to be opened.
    pub row_switch: u64,
    /// A refresh was under way.
    pub refresh: u64,
    /// Operands on their way in, results on their way out.
    pub fill_drain: u64,
    /// None of these.
    pub bubble: u64,
    /// Between two RDs, operands on their way in or results on their way out; an L3 rank has them in
    /// `fill_drain` and `bubble`.
    pub io: u64,
    /// The host had the pins: programs, operands and starts on their way in, results out.
    pub host: u64,
}

/// Shares from 0 to 1.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Utilisation {
    /// Slots in which all banks are read, padding included.
    pub bank_read: f64,
    /// Multiply-accumulates that the operator needs, of the peak of all bank PUs.
    pub bank_pu: f64,
    /// Time in which the data bus moves data.
    pub bus: f64,
    /// Time in which the adder unit takes an input.
    pub adder_unit: f64,
    /// Time in which the softmax unit takes an input.
    pub softmax_unit: f64,
}

/// Error against a float64 reference; see `pimlico_golden::error` for how they are taken.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Error {
    /// Largest error in units in the last place of an element at the reference.
    pub max_ulp: f64,
    /// Largest error relative to the reference's largest element.
    pub max_relative: f64,
    /// Root mean square of the errors relative to the reference's largest element.
    pub rms_relative: f64,
    /// The largest bound of an element's error, relative to the same: what the order of operations allows
    /// (`pimlico_golden::bound`, `pimlico_golden::head`). Each element has its own.
    pub bound: f64,
}

impl Error {
    /// The worse of two, in each measure.
    pub fn worse(self, other: Self) -> Self {
        Self {
            max_ulp: self.max_ulp.max(other.max_ulp),
            max_relative: self.max_relative.max(other.max_relative),
            rms_relative: self.rms_relative.max(other.rms_relative),
            bound: self.bound.max(other.bound),
        }
    }
}

impl Slots {
    /// Of a rank or channel, of whose multiply-accumulates the operator asks for so many.
    pub fn new(config: &Config, statistics: &Statistics, macs: u64) -> Self {
        let lost = statistics.lost_slots(config.timing.ccd_l_tck);
        let pimlico_device::Lost { row_switch, refresh, fill_drain, bubble, io, host } = lost;
        let of_use = macs.div_ceil(config.all_bank_bytes() as u64 / ELEMENT_BYTES);
        let of_use = of_use.min(statistics.used);
        let padding = statistics.used - of_use;
        let lost = Lost { padding, row_switch, refresh, fill_drain, bubble, io, host };
        Self { used: statistics.used, of_use, lost }
    }

    /// All of them.
    pub fn all(&self) -> u64 {
        let Lost { padding, row_switch, refresh, fill_drain, bubble, io, host } = self.lost;
        self.of_use + padding + row_switch + refresh + fill_drain + bubble + io + host
    }
}

impl OperatorReport {
    /// An operator on a rank.
    pub fn on_device(
        operator: &'static str,
        config: &Config,
        statistics: &Statistics,
        macs: u64,
        judgement: Verdict,
    ) -> Self {
        let energy = Power::of(config).map(|power| power.energy(config, statistics));
        Self::new(operator, config, 1, statistics, macs, judgement).with_energy(energy)
    }

    /// Adding K and V of a token on a rank.
    pub fn written(config: &Config, cost: &Statistics) -> Self {
        Self::on_device(APPEND, config, cost, 0, Verdict::default())
    }

    /// With what crosses the link, where there is one.
    pub fn on_link(self, config: &Config, crossing: Crossing) -> Self {
        Self { link: OnLink::new(config, crossing, self.ns), ..self }
    }

    pub(crate) fn with_energy(self, energy: Option<energy::Energy>) -> Self {
        Self {
            energy_pj: energy.map(|energy| energy.total()),
            energy_least_pj: energy.map(|energy| energy.least()),
            energy: energy.map(Energy::from),
            ..self
        }
    }

    /// An operator on so many channels that work side by side, without its energy.
    pub(crate) fn new(
        operator: &'static str,
        config: &Config,
        channels: usize,
        statistics: &Statistics,
        macs: u64,
        judgement: Verdict,
    ) -> Self {
        let Statistics { cycles, bus_cycles, .. } = *statistics;
        let of_time = |part: u64| part as f64 / cycles.max(1) as f64;
        let peak_macs_per_tck =
            (config.all_bank_bytes() * channels / 2) as f64 / config.timing.ccd_l_tck as f64;
        Self {
            operator,
            cycles,
            ns: ns(config, cycles),
            macs,
            ranks: None,
            reads: statistics.used * channels as u64,
            set_up: statistics.set_up,
            slots: Slots::new(config, statistics, macs.div_ceil(channels as u64)),
            utilisation: Utilisation {
                bank_read: of_time(statistics.used * config.timing.ccd_l_tck),
                bank_pu: macs as f64 / (peak_macs_per_tck * cycles.max(1) as f64),
                bus: of_time(bus_cycles),
                adder_unit: of_time(statistics.adder_unit_cycles),
                softmax_unit: of_time(statistics.softmax_unit_cycles),
            },
            commands: commands(statistics),
            link: None,
            energy_pj: None,
            energy_least_pj: None,
            energy: None,
            error: judgement.error,
            exact: Some(judgement.exact).filter(|exact| exact.outputs > 0),
            judgement,
        }
    }
}

/// The commands that there were, by name.
fn commands(statistics: &Statistics) -> BTreeMap<&'static str, u64> {
    let count = |command: &PinCommand| statistics.commands[*command as usize];
    let issued = PinCommand::COMMANDS.iter().filter(|command| count(command) > 0);
    issued.map(|command| (command.name(), count(command))).collect()
}

/// Duration of `cycles` in ns.
pub fn ns(config: &Config, cycles: u64) -> f64 {
    cycles as f64 * config.tck_ps as f64 / 1000.0
}
