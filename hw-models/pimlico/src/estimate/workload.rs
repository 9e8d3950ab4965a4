// SPDX-License-Identifier: MIT
//! The workload of `pimlico estimate power`: a head's attention on the device model, of which one
//! instance of each unit is recorded.

use crate::device::of_system;
use crate::failure::Failure;
use crate::models::find_model;
use pimlico_device::aim::RankController as AimController;
use pimlico_device::aim::{AimOptions, AimUnits, BackEnd, Module, Pu, Word};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{
    Config, Gear, Normalise, Options, SumFormat, SystemKind, UnitInput, UnitWatch,
};
use pimlico_estimate::paper;
use pimlico_estimate::power::{Recorder, Stimulus, Tape, Track};
use pimlico_host::aim::AimHost;
use pimlico_host::attached::Attached;
use pimlico_model::data::Distribution;
use pimlico_ports::{Instances, Model};
use pimlico_units::arith::{Binary16, Binary16Flush, Binary32};
use pimlico_units::bank::{BankPu, PingpongBuffer};
use pimlico_units::gear::{Gear as Geared, Gear1, Gear2, Gear4};
use pimlico_units::module::Dispatcher;
use pimlico_units::rank::{AdderUnit, RankController, RefreshManager, RelayoutUnit, SoftmaxUnit};
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::operator;
use pimlico_workload::report::{ELEMENT_BYTES, OperatorReport, Report};
use std::any::Any;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Of each phase so many times as many clocks are recorded as are counted: those before fill the unit.
const RECORDED: usize = 2;

/// A head's attention, with what the units were given.
pub struct Workload {
    tapes: Vec<Tape>,
    /// Elements of a head's vectors.
    pub head_dim: usize,
    /// Query heads of a layer.
    pub heads: usize,
    /// Layers of the model.
    pub layers: usize,
    /// Duration of score, softmax and context in ns.
    pub ns: f64,
    /// Elements that a unit takes of the head, by module: of keys and values, partial sums, or scores.
    pub elements: BTreeMap<&'static str, u64>,
    /// Energy of bank PUs and rank PU in pJ, by L3's Table 5 and the time that they work.
    pub table5_pj: Option<[f64; 2]>,
}

/// Elements that one unit of each kind takes of a head: K and V, what a bank PU multiplies, the partial sums of eight
/// chips in each tCK with an input, and the scores.
fn elements(config: &Config, context: usize, report: &Report) -> BTreeMap<&'static str, u64> {
    let operator = &report.operators[0];
    let sums_tck = (operator.utilisation.adder_unit * operator.cycles as f64).round() as u64;
    let of_column = config.all_bank_bytes() / config.banks() / config.organisation.chips;
    BTreeMap::from([
        ("relayout_unit", report.load.bytes / ELEMENT_BYTES),
        ("bank_pu", operator.slots.used * of_column as u64 / ELEMENT_BYTES),
        ("adder_unit", sums_tck * config.organisation.chips as u64),
        ("softmax_unit", context as u64),
    ])
}

/// What bank PUs and rank PU would take in an operator by the mW of L3's Table 5, in pJ.
fn table5(config: &Config, operator: &OperatorReport) -> [f64; 2] {
    let mw = |unit| paper::figure(unit).map_or(0.0, |figure| figure.mw);
    let slot_ns = (config.timing.ccd_l_tck * config.tck_ps) as f64 / 1000.0;
    let bank_pus = (config.banks() * config.organisation.chips) as f64;
    // mW x ns = pJ
    let works_ns = operator.slots.used as f64 * slot_ns;
    let shares = &operator.utilisation;
    let of_rank_pu =
        mw("adder_unit") * shares.adder_unit + mw("softmax_unit") * shares.softmax_unit;
    [bank_pus * mw("bank_pu") * works_ns, of_rank_pu * operator.ns]
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct What<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Tokens.
    pub context: usize,
    /// How the rank works.
    pub options: Options,
    /// Seed of the data.
    pub seed: u64,
    /// Clocks of each phase that are counted, at the most.
    pub window: usize,
}

/// What is run on AiM channels.
#[derive(Clone, Copy, Debug)]
pub struct AimWhat<'a> {
    /// Name of the model.
    pub model: &'a str,
    /// Tokens.
    pub context: usize,
    /// The kind of I/O buffers.
    pub io_buffers: IoBuffers,
    /// Seed of the data.
    pub seed: u64,
    /// Clocks of each phase that are counted, at the most.
    pub window: usize,
}

/// The units of a rank, recorded.
struct RankTracks {
    dispatcher: Track<Dispatcher>,
    rank_controller: Track<RankController>,
    refresh_manager: Track<RefreshManager>,
    relayout_unit: Track<RelayoutUnit<16, 8>>,
    bank_pu: AnyTrack,
    adder_unit: AnyTrack,
    softmax_unit: AnyTrack,
}

/// A recording of a unit that the type of its inputs names.
struct AnyTrack(Box<Record>);

/// Records an input of whatever type, if it is the unit's.
type Record = dyn FnMut(&dyn Any);

impl AnyTrack {
    fn of<M: Model>(recorder: &Recorder, cycle_ps: u64) -> Self {
        let mut track = recorder.track::<M>(cycle_ps);
        Self(Box::new(move |input| {
            if let Some(input) = input.downcast_ref() {
                track.record(input);
            }
        }))
    }
}

impl RankTracks {
    fn new<G: Geared>(recorder: &Recorder, config: &Config, options: &Options) -> Self {
        let (tck_ps, cycle_ps) = (config.tck_ps, config.tck_ps * G::TCK as u64);
        let slot_ps = config.timing.ccd_l_tck * tck_ps;
        let (bank_pu, adder_unit) = match options.sums {
            SumFormat::Binary16 => (
                AnyTrack::of::<BankPu<Binary16>>(recorder, slot_ps),
                AnyTrack::of::<AdderUnit<Binary16, Binary16, G>>(recorder, cycle_ps),
            ),
            SumFormat::Binary32 => (
                AnyTrack::of::<BankPu<Binary16, Binary32>>(recorder, slot_ps),
                AnyTrack::of::<AdderUnit<Binary16, Binary32, G>>(recorder, cycle_ps),
            ),
        };
        Self {
            dispatcher: recorder.track(cycle_ps),
            rank_controller: recorder.track(cycle_ps),
            refresh_manager: recorder.track(cycle_ps),
            relayout_unit: recorder.track(tck_ps / 2),
            bank_pu,
            adder_unit,
            softmax_unit: match options.normalise {
                Normalise::Early => {
                    AnyTrack::of::<SoftmaxUnit<Binary16, false, G>>(recorder, cycle_ps)
                }
                Normalise::Late => {
                    AnyTrack::of::<SoftmaxUnit<Binary16, true, G>>(recorder, cycle_ps)
                }
            },
        }
    }
}

impl UnitWatch for RankTracks {
    fn cycle(&mut self, input: UnitInput<'_>) {
        match input {
            UnitInput::Dispatcher(input) => self.dispatcher.record(input),
            UnitInput::RankController(input) => self.rank_controller.record(input),
            UnitInput::RefreshManager(input) => self.refresh_manager.record(input),
            UnitInput::RelayoutUnit(input) => self.relayout_unit.record(input),
            UnitInput::BankPu(input) => (self.bank_pu.0)(input),
            UnitInput::AdderUnit(input) => (self.adder_unit.0)(input),
            UnitInput::SoftmaxUnit(input) => (self.softmax_unit.0)(input),
        }
    }
}

/// The models of a module, recorded.
struct Recording(Recorder);

impl BackEnd for Recording {
    type Error = Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Infallible> {
        Ok(self.0.record(M::instances(count), cycle_ps))
    }
}

/// A head of a model, by itself.
fn one_head(model: &str, head_dim: usize, context: usize, seed: u64) -> AttentionJob {
    AttentionJob {
        model: model.to_owned(),
        head_dim,
        heads: 1,
        group: 1,
        contexts: vec![context],
        distribution: Distribution::default(),
        seed,
    }
}

impl Workload {
    /// Runs a head on the built-in rank.
    pub fn run(what: What<'_>) -> Result<Self, Failure> {
        Self::run_on(&Config::ddr4_3200(), what)
    }

    /// The same on a rank of such DRAM.
    pub fn run_on(config: &Config, what: What<'_>) -> Result<Self, Failure> {
        let model = find_model(what.model)?;
        let options = what.options;
        let recorder = Recorder::new(RECORDED * what.window);
        let tracks = match options.gear {
            Gear::One => RankTracks::new::<Gear1>(&recorder, config, &options),
            Gear::Two => RankTracks::new::<Gear2>(&recorder, config, &options),
            Gear::Four => RankTracks::new::<Gear4>(&recorder, config, &options),
        };
        let mut rank = Attached::engine(config, options).expect("an L3 rank");
        rank.dimm_mut().watch_units(Box::new(tracks));
        let job = one_head(what.model, model.head_dim, what.context, what.seed);
        let report = operator::on_rank(&mut rank, &job)
            .map_err(|error| Failure::Input(format!("--context {}: {error}", what.context)))?;
        let operator = &report.operators[0];
        Ok(Self {
            tapes: recorder.tapes(),
            head_dim: model.head_dim,
            heads: model.heads,
            layers: model.layers,
            ns: operator.ns,
            elements: elements(config, what.context, &report),
            table5_pj: Some(table5(config, operator)),
        })
    }

    /// Runs a head on sixteen AiM channels, without refresh. All its beats are sums over the tree, so
    /// that its context counts as score.
    pub fn run_on_channels(what: AimWhat<'_>) -> Result<Self, Failure> {
        let spec = of_system(SystemKind::Aim);
        let options = AimOptions { io_buffers: what.io_buffers, ..spec.aim_options() };
        Self::run_on_module((spec.config(), options), what)
    }

    /// The same on the channels of a module of such DRAM.
    pub fn run_on_module(
        (config, options): (Config, AimOptions),
        what: AimWhat<'_>,
    ) -> Result<Self, Failure> {
        let model = find_model(what.model)?;
        let options = AimOptions { refresh: false, ..options };
        let recorder = Recorder::new(RECORDED * what.window);
        let mut back_end = Recording(recorder.clone());
        let Ok(units) = AimUnits::new(&config, options, &mut back_end);
        let mut module = AimHost::new(Module::new(config, units, options));
        let job = one_head(what.model, model.head_dim, what.context, what.seed);
        let report = operator::on_module(&mut module, &job)
            .map_err(|error| Failure::Input(format!("--context {}: {error}", what.context)))?;
        Ok(Self {
            tapes: recorder.tapes(),
            head_dim: model.head_dim,
            heads: model.heads,
            layers: model.layers,
            ns: report.operators.iter().map(|operator| operator.ns).sum(),
            elements: BTreeMap::new(),
            table5_pj: None,
        })
    }

    /// What a unit is given and what its model puts out: `None` for a unit that the device has not. Units
    /// that flush subnormal numbers are given what the others are, and so is a bank PU with wide sums where
    /// the rank's are not.
    pub fn stimulus(&self, unit: &str, window: usize) -> Option<Stimulus> {
        let tape = |name: &str| self.tapes.iter().find(|tape| tape.unit == name);
        Some(match unit {
            "relayout_unit" => tape(unit)?.replay::<RelayoutUnit<16, 8>>(window),
            "adder_unit" => tape(unit)?.replay::<AdderUnit<Binary16>>(window),
            "adder_unit:gear1" => {
                tape(unit)?.replay::<AdderUnit<Binary16, Binary16, Gear1>>(window)
            }
            "adder_unit:gear4" => {
                tape(unit)?.replay::<AdderUnit<Binary16, Binary16, Gear4>>(window)
            }
            "adder_unit:flush" => tape("adder_unit")?.replay::<AdderUnit<Binary16Flush>>(window),
            "adder_unit:sum32" => tape(unit)?.replay::<AdderUnit<Binary16, Binary32>>(window),
            "softmax_unit" => tape(unit)?.replay::<SoftmaxUnit<Binary16, false>>(window),
            "softmax_unit:gear1" => {
                tape(unit)?.replay::<SoftmaxUnit<Binary16, false, Gear1>>(window)
            }
            "softmax_unit:gear4" => {
                tape(unit)?.replay::<SoftmaxUnit<Binary16, false, Gear4>>(window)
            }
            "softmax_unit:late" => tape(unit)?.replay::<SoftmaxUnit<Binary16, true>>(window),
            "softmax_unit:flush" => {
                tape("softmax_unit")?.replay::<SoftmaxUnit<Binary16Flush, false>>(window)
            }
            "bank_pu" => tape(unit)?.replay::<BankPu<Binary16>>(window),
            "bank_pu:flush" => tape("bank_pu")?.replay::<BankPu<Binary16Flush>>(window),
            "bank_pu:sum32" => {
                tape(unit).or(tape("bank_pu"))?.replay::<BankPu<Binary16, Binary32>>(window)
            }
            "rank_controller:slots2" => tape(unit)?.replay::<AimController>(window),
            "rank_controller" => tape(unit)?.replay::<RankController>(window),
            "refresh_manager" => tape(unit)?.replay::<RefreshManager<8, 256>>(window),
            "dispatcher" => tape(unit)?.replay::<Dispatcher>(window),
            "tree_pu" => tape(unit)?.replay::<Pu>(window),
            "pingpong_buffer:width256_depth1" => {
                tape(unit)?.replay::<PingpongBuffer<Word, 1, true>>(window)
            }
            "pingpong_buffer:width256_depth1_single" => {
                tape(unit)?.replay::<PingpongBuffer<Word, 1, false>>(window)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_estimate::power::Phase;
    use pimlico_ports::Bundle;
    use pimlico_units::bank::PingpongBufferIn;

    fn what() -> What<'static> {
        let options = Options::default();
        What { model: "gpt-175b", context: 64, options, seed: 1, window: 100 }
    }

    #[test]
    fn a_head_gives_each_unit_its_clocks() {
        let workload = Workload::run(what()).expect("a head");
        let gear = what().options.gear.tck() as u64;
        assert_eq!((workload.head_dim, workload.heads, workload.layers), (128, 96, 96));
        let clocks = |unit| workload.stimulus(unit, 100).expect(unit).clocks;
        let clock_ps = |unit| workload.stimulus(unit, 100).expect(unit).clock_ps;
        // 64 tokens are four chunks of four all-bank RDs in the score, and 16 groups of four tokens in
        // the context, with an RD for each four elements of sixteen banks; then the pipeline empties.
        // 32 slots of 5 ns of 128 bank PUs at 1.129 mW.
        let table5_pj = workload.table5_pj.expect("of a rank");
        assert!((table5_pj[0] - 32.0 * 5.0 * 128.0 * 1.129).abs() < 1e-6, "{table5_pj:?}");
        assert!(table5_pj[1] > 0.0);
        // K and V of 64 tokens, four elements a slot, a score each; partial sums of eight chips for each score.
        assert_eq!(workload.elements["relayout_unit"], 2 * 64 * 128);
        assert_eq!(workload.elements["bank_pu"], 32 * 4);
        assert_eq!(workload.elements["softmax_unit"], 64);
        assert!(workload.elements["adder_unit"] >= 64 * 8, "{:?}", workload.elements);
        let [load, score, context, idle] = clocks("bank_pu");
        assert_eq!((load, idle), (0, 0));
        assert!((16..32).contains(&score), "{score}");
        assert!((16..32).contains(&context), "{context}");
        assert_eq!(clock_ps("bank_pu"), 5000);
        // K and V are 256 bytes each for a token: 64 beats.
        assert!(clocks("relayout_unit")[Phase::Load as usize] >= 64 * 64);
        assert_eq!(clock_ps("relayout_unit"), clock_ps("adder_unit") / (2 * gear));
        // The units of the rank PU's core have a clock in a tCK times the gear.
        let of_rank = ["adder_unit", "softmax_unit", "rank_controller"].map(clocks);
        let sums = of_rank.map(|clocks| clocks.iter().sum::<u64>());
        assert_eq!(sums, [sums[0]; 3]);
        assert!(of_rank[0][Phase::Score as usize] >= 16 * 8 / gear);
    }

    #[test]
    fn a_head_on_channels_fills_and_empties_the_result_registers() {
        let single = "pingpong_buffer:width256_depth1_single";
        let ping_pong = "pingpong_buffer:width256_depth1";
        for (io_buffers, unit, other) in
            [(IoBuffers::Single, single, ping_pong), (IoBuffers::PingPong, ping_pong, single)]
        {
            let model = "qwen1.5-7b";
            let what = AimWhat { model, context: 512, io_buffers, seed: 1, window: 1000 };
            let workload = Workload::run_on_channels(what).expect("a head");
            assert!(workload.stimulus(other, 1000).is_none());
            let of_unit = workload.stimulus(unit, 1000).expect("the registers");
            assert_eq!(of_unit.clock_ps, 1000);
            // 512 tokens are two sums for each of 256 PUs, and 128 elements one.
            let words = PingpongBufferIn::<Word>::WORDS;
            let inputs = of_unit.inputs.words().chunks(words).map(PingpongBufferIn::<Word>::read);
            assert_eq!(inputs.filter(|input| input.write_valid_i).count(), 3);
        }
    }

    #[test]
    fn another_seed_gives_other_inputs_and_the_same_clocks() {
        let of = |seed| {
            let workload = Workload::run(What { seed, ..what() }).expect("a head");
            workload.stimulus("bank_pu:flush", 100).expect("a bank PU")
        };
        let (a, b, again) = (of(1), of(2), of(1));
        assert_eq!(a.clocks, b.clocks);
        assert_ne!(a.inputs.words(), b.inputs.words());
        assert_eq!(a.inputs.words(), again.inputs.words());
    }

    #[test]
    fn what_a_rank_has_not_is_not_there() {
        let workload = Workload::run(what()).expect("a head");
        for unit in ["tree_pu", "adder_unit:sum32", "softmax_unit:late"] {
            assert!(workload.stimulus(unit, 1).is_none(), "{unit}");
        }
        let (normalise, sums) = (Normalise::Late, SumFormat::Binary32);
        let options = Options { normalise, sums, ..Options::default() };
        let workload = Workload::run(What { options, ..what() }).expect("a head");
        for unit in ["bank_pu:sum32", "adder_unit:sum32", "softmax_unit:late"] {
            assert!(workload.stimulus(unit, 1).is_some(), "{unit}");
        }
        assert!(Workload::run(What { model: "none", ..what() }).is_err());
        assert!(Workload::run(What { context: usize::MAX, ..what() }).is_err());
    }
}
