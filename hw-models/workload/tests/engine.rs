// SPDX-License-Identifier: MIT
//! The engine against the cycle model of the module: equal results, equal events on the pins at equal tCK,
//! equal statistics, whatever is run. A long run: `PROPTEST_CASES=2000 cargo test -p pimlico-workload engine::`.

use super::cases::cases;
use pimlico_device::dispatch::{DispatchError, Made, Start};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::{HeadLayout, Place};
use pimlico_device::{
    Address, BusDriver, Config, DeviceError, Gear, HostTransfer, ModuleDevice, Normalise, Options,
    PinWatch, RankDevice, Ranks, Statistics, SumFormat, Topology,
};
use pimlico_dpa::Instruction;
use pimlico_dpa::types::{CommandWord, Condition, LoadKind, Opcode, Pins, ResultAddress};
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_model::Model;
use pimlico_model::checkpoint::tokenizer::Tokenizer;
use pimlico_model::checkpoint::{llama2c, tiny};
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::{Models, U};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::gear::{Gear1, Gear4};
use pimlico_units::module::{PimDimm, SCORE_BUFFER};
use pimlico_workload::attention;
use pimlico_workload::decode;
use pimlico_workload::fc;
use pimlico_workload::gemv::{self};
use pimlico_workload::l3;
use pimlico_workload::layer;
use pimlico_workload::operator;
use proptest::prelude::*;
use std::cell::RefCell;
use std::fmt::Debug;
use std::rc::Rc;

/// What happens on the pins of the chips and of the host.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Command(u64, Pins),
    Data(u64, u64, BusDriver),
    Host(u64, Pins),
    /// What the module drives on the host's data bus in a tCK.
    Seen(u64, [Option<u64>; 2]),
}

/// Everything that does.
#[derive(Clone, Default)]
pub(super) struct Log(pub(super) Rc<RefCell<Vec<Event>>>);

impl PinWatch for Log {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        self.0.borrow_mut().push(Event::Command(at_tck, pins));
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        self.0.borrow_mut().push(Event::Data(from_tck, until_tck, driver));
    }

    fn host_command(&mut self, at_tck: u64, pins: Pins) {
        self.0.borrow_mut().push(Event::Host(at_tck, pins));
    }

    fn host_data(&mut self, at_tck: u64, _: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        if seen != [None; 2] {
            self.0.borrow_mut().push(Event::Seen(at_tck, seen));
        }
    }
}

fn engine(config: &Config, options: Options) -> Box<dyn RankDevice> {
    Box::new(Attached::engine(config, options).expect("an L3 rank"))
}

fn cycle_model(config: &Config, options: Options) -> Box<dyn RankDevice> {
    macro_rules! module {
        ($format:ty, $late:literal $(, $gear:ty)?) => {
            ModuleDevice::new(
                config.clone(),
                options,
                Box::new(Models::<PimDimm<$format, $late $(, SCORE_BUFFER, $gear)?>>::new(1)),
            )
            .map(|module| -> Box<dyn RankDevice> { Box::new(Attached::new(module)) })
        };
    }
    match (options.gear, options.sums, options.normalise) {
        (Gear::DEFAULT, SumFormat::Binary16, Normalise::Early) => module!(Binary16, false),
        (Gear::DEFAULT, SumFormat::Binary16, Normalise::Late) => module!(Binary16, true),
        (Gear::DEFAULT, SumFormat::Binary32, Normalise::Early) => module!(Binary32, false),
        (Gear::DEFAULT, SumFormat::Binary32, Normalise::Late) => module!(Binary32, true),
        (Gear::One, ..) => module!(Binary16, false, Gear1),
        (Gear::Four, ..) => module!(Binary16, false, Gear4),
    }
    .expect("an L3 rank")
}

/// What a run has shown.
type Shown<T> = (T, Vec<Event>, u64, Statistics, Vec<HostTransfer>);

fn shown<T>(mut device: Box<dyn RankDevice>, run: impl Fn(&mut dyn RankDevice) -> T) -> Shown<T> {
    let log = Log::default();
    device.watch(Box::new(log.clone()));
    device.begin();
    let result = run(&mut *device);
    let (tck, statistics) = (device.tck(), device.end());
    let transfers = device.take_transfers();
    // Those of the chips before those of the host: in which order the two are told in a cycle of the core is open.
    let events = log.0.take();
    let of_chips = |event: &Event| matches!(event, Event::Command(..) | Event::Data(..));
    let (chips, host): (Vec<_>, Vec<_>) = events.into_iter().partition(of_chips);
    let events = [chips, host].concat();
    (result, events, tck, statistics, transfers)
}

/// Runs both, and finds them equal. Returns how many events there were.
fn equal<T: PartialEq + Debug>(
    config: &Config,
    options: Options,
    run: impl Fn(&mut dyn RankDevice) -> T,
) -> Result<usize, TestCaseError> {
    let fast = shown(engine(config, options), &run);
    let model = shown(cycle_model(config, options), &run);
    let first = fast.1.iter().zip(&model.1).position(|(fast, model)| fast != model);
    if let Some(n) = first {
        let around = n.saturating_sub(3)..(n + 3).min(fast.1.len()).min(model.1.len());
        prop_assert_eq!(&fast.1[around.clone()], &model.1[around], "event {}", n);
    }
    prop_assert_eq!(fast.1.len(), model.1.len(), "events");
    prop_assert_eq!(fast.2, model.2, "tCK");
    prop_assert_eq!(fast.3, model.3);
    prop_assert_eq!(fast.4, model.4);
    prop_assert_eq!(fast.0, model.0);
    Ok(fast.1.len())
}

fn options() -> impl Strategy<Value = Options> {
    let gear = prop::sample::select(vec![Gear::DEFAULT, Gear::DEFAULT, Gear::One, Gear::Four]);
    (any::<[bool; 3]>(), gear).prop_map(|([refresh, late, wide], gear)| {
        let plain = gear != Gear::DEFAULT;
        Options {
            refresh,
            normalise: if late && !plain { Normalise::Late } else { Normalise::Early },
            sums: if wide && !plain { SumFormat::Binary32 } else { SumFormat::Binary16 },
            gear,
            ..Options::default()
        }
    })
}

/// The preset, with REFs as often as a row lasts, or more seldom, and other times that the host does not
/// know.
fn configs() -> impl Strategy<Value = Config> {
    let faw = (16..60_u64, prop::sample::select(vec![4, 8, 16]));
    (300..5000_u64, 80..600_u64, prop::sample::select(vec![8, 12]), 10..40_u64, faw).prop_map(
        |(refi_tck, rfc_tck, ccd_l_tck, rcd_mac_tck, (faw_tck, faw_banks))| {
            let mut config = Config::ddr4_3200();
            let timing = &mut config.timing;
            timing.refi_tck = refi_tck.max(2 * rfc_tck);
            timing.rfc_tck = rfc_tck;
            timing.ccd_l_tck = ccd_l_tck;
            timing.rcd_mac_tck = rcd_mac_tck;
            (timing.faw_tck, timing.faw_banks) = (faw_tck, faw_banks);
            config
        },
    )
}

fn shapes() -> impl Strategy<Value = Vec<HeadShape>> {
    let head_dim = prop_oneof![prop::sample::select(vec![64, 80, 96, 128, 256]), 1..=256_usize];
    let distribution = prop::sample::select(vec![Distribution::Random, Distribution::Peaked]);
    let shape = (head_dim, 1..=90_usize, 1..=4_usize, distribution).prop_map(
        |(head_dim, context, group, distribution)| HeadShape {
            head_dim,
            context,
            group,
            distribution,
        },
    );
    prop::collection::vec(shape, 1..=2)
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn heads_are_equal(
        config in configs(),
        options in options(),
        shapes in shapes(),
        seed in any::<u64>(),
    ) {
        let events = equal(&config, options, |device| {
            let of_head = |(number, shape): (usize, &HeadShape)| {
                let head = Head::synthetic(*shape, seed, number);
                let layout = HeadLayout::new(device.config(), shape.head_dim, shape.context, 3)
                    .expect("it fits");
                let mut host = HostPort::new().expect("an image");
                let writes = kv_cache::writes(&layout, &head);
                let (_, load) = host.transfer(device, writes).expect("places");
                let run = l3::attention::run_head(device, &layout, &head.queries).expect("it runs");
                let (read, back) =
                    host.transfer(device, kv_cache::reads(&layout)).expect("places");
                format!("{load:?} {run:?} {read:x?} {back:?}")
            };
            shapes.iter().enumerate().map(of_head).collect::<Vec<_>>()
        })?;
        prop_assert!(events > 50);
    }

    #[test]
    fn matrices_are_equal(
        config in configs(),
        options in options(),
        (rows, columns) in prop_oneof![(1..=40_usize, 1..=5000_usize), (1..=200_usize, 1..=300_usize)],
        ping_pong in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let io_buffers = if ping_pong { IoBuffers::PingPong } else { IoBuffers::Single };
        let operands = Operands::synthetic(rows, columns, seed);
        equal(&config, options, |device| {
            let layout = MatrixLayout::new(device.config(), rows, columns).expect("it fits");
            let mut host = HostPort::new().expect("an image");
            l3::gemv::load(device, &mut host, &layout, &operands.matrix).expect("places");
            let Operands { vector, .. } = &operands;
            l3::gemv::multiply(&mut Driver::new(), device, &layout, vector, io_buffers).expect("it runs")
        })?;
    }
}

/// Times that the rank's host need not know, as it writes bursts one by one.
fn other_timings() -> impl Strategy<Value = Config> {
    let ccd_l = prop::sample::select(vec![4, 8, 12, 16]);
    (configs(), ccd_l, [4..=48_u64, 4..=48], [1..40_u64, 1..40, 1..40, 1..40]).prop_map(
        |(mut config, ccd_l_tck, [cl_tck, cwl_tck], [rcd_tck, rp_tck, rrd_tck, rtp_tck])| {
            let timing = &mut config.timing;
            (timing.ccd_l_tck, timing.cl_tck, timing.cwl_tck) =
                (ccd_l_tck, cl_tck, cwl_tck.min(cl_tck));
            (timing.cl_reg_tck, timing.cwl_gb_tck) = (timing.cl_tck, timing.cwl_tck);
            // Results are read before a REF closes their rows, and columns are at the PUs before their row closes.
            let rp_tck = rp_tck.max(22_u64.saturating_sub(rtp_tck));
            let spare = (rtp_tck + rp_tck - 22).min(rtp_tck).min(timing.cwl_tck);
            timing.rl_mac_tck = spare.min(8) / 4 * 4;
            (timing.rcd_tck, timing.rcd_wr_tck, timing.rp_tck) = (rcd_tck, rcd_tck, rp_tck);
            (timing.rrd_s_tck, timing.rrd_l_tck, timing.rtp_tck) =
                (rrd_tck.min(8), rrd_tck, rtp_tck);
            (timing.ras_tck, timing.rc_tck) = (rcd_tck + 30, rcd_tck + 30 + rp_tck);
            config
        },
    )
}

/// Writes a column as memory, alone.
fn write(device: &mut dyn RankDevice, Place { bank, row, column }: Place, beats: [u64; 8]) {
    let timing = device.config().timing.clone();
    let mut step = |pins, driven| device.step_memory(pins, driven).expect("no mismatch");
    let none = [None; 2];
    step(Pins::act(bank, row), none);
    (0..timing.rcd_wr_tck).for_each(|_| {
        step(Pins::NONE, none);
    });
    // The host drives a tCK sooner than the chips take.
    let bursts = beats.chunks(2).map(|pair| [Some(pair[0]), Some(pair[1])]);
    let driven = std::iter::repeat_n(none, timing.cwl_tck as usize - 1).chain(bursts);
    for (tck, driven) in driven.chain(std::iter::repeat_n(none, 60)).enumerate() {
        step(if tck == 0 { Pins::wr(bank, column) } else { Pins::NONE }, driven);
    }
    step(Pins::PRE_ALL, none);
    (0..timing.rp_tck).for_each(|_| {
        step(Pins::NONE, none);
    });
}

/// A part of a program that keeps the rules of `rtl/rank/sequencer.md`.
#[derive(Clone, Debug)]
enum Sentence {
    /// Sums of dot products: MACs of each, a row, a word of operands, the place of the results; in one pass
    /// or in two.
    Outputs { macs: u8, row: u64, word: u8, place: u64, two_passes: bool },
    /// Sums of the context: MACs, a row, a word of weights, a head, banks of a group.
    Context { macs: u8, row: u64, word: u8, head: u64, banks: u8 },
    /// Operands of which nothing comes.
    Operands { word: u8 },
    /// All rows are closed.
    Close,
    /// A command with a fault: a row, a column, a place or tokens that there are not.
    Fault(CommandWord),
}

impl Sentence {
    fn words(&self, wide: bool) -> Vec<CommandWord> {
        let plain = CommandWord::new;
        let flags = |word: CommandWord, first: bool, last: bool| CommandWord {
            first: Condition::of_flag(first),
            last: Condition::of_flag(last),
            ..word
        };
        let macs = |opcode, macs: u8, row, word, head| {
            (0..macs).map(move |n| {
                let head = U::new(head);
                let mac =
                    CommandWord { place: U::new(row), column: n, word, head, ..plain(opcode) };
                flags(mac, n == 0, n + 1 == macs)
            })
        };
        match *self {
            Self::Outputs { macs: count, row, word, place, two_passes } => {
                let mut words = vec![CommandWord { word, ..plain(Opcode::WrShared) }];
                // Enough sums in a pass for the first to be kept before the second goes on from them.
                let (sums, passes) = if two_passes { (5, 2) } else { (1, 1) };
                for (pass, sum) in
                    (0..passes).flat_map(|pass| (0..sums).map(move |sum| (pass, sum)))
                {
                    words.extend(macs(Opcode::MacScore, count, row, word, 0));
                    words.extend((0..4).map(|group| {
                        let place = U::new(4 * (place + sum));
                        let word = ResultAddress::outputs(group).bits();
                        let read = CommandWord { word, place, ..plain(Opcode::RdResult) };
                        flags(read, pass == 0, pass + 1 == passes)
                    }));
                }
                words.push(plain(Opcode::CloseAll));
                words
            }
            Self::Context { macs: count, row, word, head, banks } => {
                let mut words = vec![CommandWord { word, ..plain(Opcode::WrShared) }];
                words.extend(macs(Opcode::MacContext, count, row, word, head));
                let halves = if wide { vec![false, true] } else { vec![false] };
                for (bank, lane) in (0..banks).flat_map(|bank| (0..4).map(move |lane| (bank, lane)))
                {
                    words.extend(halves.iter().map(|upper| {
                        let word = ResultAddress::context(bank, lane, *upper).bits();
                        let head = U::new(head);
                        flags(CommandWord { word, head, ..plain(Opcode::RdResult) }, true, true)
                    }));
                }
                words
            }
            Self::Operands { word } => vec![CommandWord { word, ..plain(Opcode::WrShared) }],
            Self::Close => vec![plain(Opcode::CloseAll)],
            Self::Fault(word) => vec![word],
        }
    }
}

fn sentence() -> impl Strategy<Value = Sentence> {
    let outputs = (1..6_u8, 0..3_u64, 0..4_u8, 0..12_u64, prop::bool::weighted(0.2)).prop_map(
        |(macs, row, word, place, two_passes)| Sentence::Outputs {
            macs,
            row,
            word,
            place,
            two_passes,
        },
    );
    let context = (1..6_u8, 0..3_u64, 0..4_u8, 0..8_u64, 1..=4_u8).prop_map(
        |(macs, row, word, head, banks)| Sentence::Context { macs, row, word, head, banks },
    );
    let plain = CommandWord::new;
    let faults = prop::sample::select(vec![
        CommandWord { place: U::new(3), ..plain(Opcode::MacScore) },
        CommandWord { place: U::new(1 << 16), ..plain(Opcode::MacContext) },
        CommandWord { column: 128, ..plain(Opcode::MacContext) },
        CommandWord { place: U::new(1 << 19), word: 0x40, ..plain(Opcode::RdResult) },
    ]);
    prop_oneof![
        8 => outputs,
        8 => context,
        2 => (0..8_u8).prop_map(|word| Sentence::Operands { word }),
        2 => Just(Sentence::Close),
        1 => faults.prop_map(Sentence::Fault),
    ]
}

/// A program as the command buffer has it.
fn encoded(program: &[Sentence], wide: bool) -> Vec<u64> {
    let words = program.iter().flat_map(|sentence| sentence.words(wide)).map(Instruction::Command);
    words.chain([Instruction::End]).map(|instruction| instruction.encode()).collect()
}

/// How a run ended; of a fault of a command no more than that it was one.
fn ending(result: Result<(), DeviceError>) -> String {
    match result {
        Err(DeviceError::Dispatch(DispatchError::Beyond { field })) => {
            format!("no {field}")
        }
        other => format!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn programs_are_equal(
        config in other_timings(),
        options in options(),
        programs in prop::collection::vec(prop::collection::vec(sentence(), 1..8), 1..4),
        data in prop::collection::vec((0..16_usize, 0..3_usize, 0..12_usize, any::<[u16; 4]>()), 1..12),
        operands in 0..12_usize,
        tokens in 0..20_u64,
        scale in any::<u16>(),
    ) {
        // Numbers of moderate size.
        let number = |bits: u16| u64::from(bits & 0x83FF | 0x3800);
        let word = |of: &[u16; 4], n: usize| (0..4).map(|lane| number(of[lane].rotate_left(n as u32)) << (16 * lane)).sum::<u64>();
        equal(&config, options, |device| {
            device.set_scale(scale);
            for (bank, row, column, numbers) in &data {
                let place = Place { bank: *bank, row: *row, column: *column };
                write(device, place, std::array::from_fn(|n| word(numbers, n)));
            }
            let load = |device: &mut dyn RankDevice, kind, address, data| {
                device.load(kind, address, data).expect("no mismatch");
            };
            (0..3).for_each(|row| load(device, LoadKind::Entry, row, row.into()));
            load(device, LoadKind::Segment, 0, 3 << 16);
            load(device, LoadKind::Tokens, 0, tokens);
            let bursts: Vec<_> = (0..operands).map(|n| [word(&data[0].3, n); 8]).collect();
            let mut made = Vec::new();
            let mut endings = Vec::new();
            for program in &programs {
                load(device, LoadKind::Clear, 0, 0);
                let words = encoded(program, options.sums == SumFormat::Binary32);
                for (address, word) in (0..).zip(words) {
                    load(device, LoadKind::Command, address, word);
                }
                let start =
                    Start { request: 0, address: 0, operands: &bursts, context: 16, outputs: 0 };
                let result = device.run(start, &mut |it: Made| made.push(it));
                let is_stuck =
                    matches!(result, Err(DeviceError::Dispatch(DispatchError::Stuck { .. })));
                endings.push(ending(result));
                if is_stuck {
                    break;
                }
            }
            (made, endings)
        })?;
    }
}

#[test]
fn reports_of_all_operators_are_equal() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let model = Model {
        layers: 1,
        heads: 4,
        kv_heads: Some(2),
        head_dim: 32,
        hidden: 128,
        ffn: 96,
        gated: false,
        vocab: 10,
    };
    let both = |run: &dyn Fn(&mut dyn RankDevice) -> String| {
        let [fast, model] = [engine(&config, options), cycle_model(&config, options)]
            .map(|mut device| run(&mut *device));
        assert_eq!(fast, model);
    };
    both(&|device| {
        let job = fc::FcJob::new("small", &model, 1, true, 3);
        format!("{:?}", operator::on_rank(device, &job).expect("it runs"))
    });
    both(&|device| {
        let job = gemv::GemvJob { rows: 50, columns: 70, io_buffers: IoBuffers::Single, seed: 3 };
        format!("{:?}", operator::on_rank(device, &job).expect("it runs"))
    });
    both(&|device| {
        let job = attention::AttentionJob {
            model: "small".to_owned(),
            head_dim: 64,
            heads: 2,
            group: 2,
            contexts: vec![40, 9],
            distribution: Distribution::Random,
            seed: 3,
        };
        format!("{:?}", operator::on_rank(device, &job).expect("it runs"))
    });
    both(&|device| {
        let checkpoint = llama2c::read(tiny::WEIGHTS).expect("a checkpoint");
        let job = decode::DecodeJob {
            model: "tiny".to_owned(),
            tokenizer: Tokenizer::read(tiny::TOKENIZER, checkpoint.shape.vocab).expect("one"),
            reference: pimlico_golden::llama::read(tiny::WEIGHTS).expect("a checkpoint").0,
            checkpoint,
            prompt: "a".to_owned(),
            tokens: 1,
            temperature: 0.0,
            seed: 1,
            io_buffers: IoBuffers::PingPong,
            threads: 1,
            streaming: None,
            prefill: None,
        };
        format!("{:?}", operator::on_rank(device, &job).expect("it runs"))
    });
    let on_ranks = |device: fn(&Config, Options) -> Box<dyn RankDevice>| {
        let new_rank = |_: Address| device(&config, options);
        let topology = Topology::new(1, 2, 1).expect("two ranks");
        let job = layer::LayerJob {
            model: "small".to_owned(),
            shape: model.clone(),
            layers: 1,
            context: 20,
            distribution: Distribution::Random,
            io_buffers: IoBuffers::PingPong,
            seed: 5,
        };
        let ranks = Ranks::new(&config, topology, &new_rank);
        format!("{:?}", operator::on_ranks(&ranks, options, 2, &job).expect("it runs"))
    };
    assert_eq!(on_ranks(engine), on_ranks(cycle_model));
}
