// SPDX-License-Identifier: MIT
//! Slots and waits that the engine passes against the same ones stepped cycle by cycle, as they are where somebody watches the
//! units: equal results, equal events on the pins at equal tCK, equal statistics. A long run:
//! `PROPTEST_CASES=3000 cargo test -p pimlico-workload slots::`.

use super::cases::cases;
use super::engine::{Event, Log};
use pimlico_device::data_bus::Beats;
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    BusDriver, Config, Device, Gear, KnownLaps, Normalise, Options, PinWatch, RankDevice,
    SumFormat, UnitInput, UnitWatch,
};
use pimlico_dpa::Instruction;
use pimlico_dpa::types::{CommandWord, Condition, LoadKind, Opcode, Pins, ResultAddress};
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_model::data::{Distribution, Head, HeadShape, Operands};
use pimlico_ports::U;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use proptest::prelude::*;
use std::fmt::Debug;

/// Watches the units and sees nothing.
struct Nobody;

impl UnitWatch for Nobody {
    fn cycle(&mut self, _: UnitInput<'_>) {}
}

/// Who watches the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Watch {
    /// Somebody who is told of all events in their order.
    #[default]
    InOrder,
    /// Somebody who takes those on the chips' pins late.
    Late,
    /// The checkers: what they find stands for the events.
    Judge,
}

/// Sees all events, but those on the chips' pins maybe late.
struct Late(Log);

impl PinWatch for Late {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        self.0.command(at_tck, pins);
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        self.0.data(from_tck, until_tck, driver);
    }

    fn host_command(&mut self, at_tck: u64, pins: Pins) {
        self.0.host_command(at_tck, pins);
    }

    fn host_data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        self.0.host_data(at_tck, driven, seen);
    }

    fn takes_laps(&self) -> bool {
        true
    }

    fn host_burst(&mut self, from_tck: u64, beats: &Beats, _: bool) {
        for (at_tck, pair) in (from_tck..).zip(beats.chunks(2)) {
            self.0.host_data(at_tck, [None; 2], [Some(pair[0]), Some(pair[1])]);
        }
    }
}

/// By when they are, and within a tCK by what they are.
fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| match event {
        Event::Host(at_tck, _) => (*at_tck, 0),
        Event::Command(at_tck, _) => (*at_tck, 1),
        Event::Data(from_tck, ..) => (*from_tck, 2),
        Event::Seen(at_tck, _) => (*at_tck, 3),
    });
    events
}

/// The same where data are of no account: that there are some, not which.
fn without_bits(event: Event) -> Event {
    match event {
        Event::Seen(at_tck, seen) => Event::Seen(at_tck, seen.map(|beat| beat.map(|_| 0))),
        event => event,
    }
}

/// Runs both, and finds them equal. Returns the slots that were passed, the cycles of waits, and the laps.
fn equal<T: PartialEq + Debug>(
    config: &Config,
    options: Options,
    [without_data, timeline]: [bool; 2],
    run: impl Fn(&mut dyn RankDevice) -> T,
) -> Result<[u64; 3], TestCaseError> {
    let passing = Passing { without_data, timeline, ..Passing::default() };
    equal_where(config, options, &passing, run)
}

/// How cycles are passed.
#[derive(Clone, Debug, Default)]
pub struct Passing {
    pub without_data: bool,
    pub timeline: bool,
    /// Who watches.
    pub watch: Watch,
    /// Rows that are gone through at once are left after so many tCK.
    pub longest_tck: Option<u64>,
    /// What other devices have found.
    pub known: KnownLaps,
}

/// The same in other ways.
pub fn equal_where<T: PartialEq + Debug>(
    config: &Config,
    options: Options,
    passing: &Passing,
    run: impl Fn(&mut dyn RankDevice) -> T,
) -> Result<[u64; 3], TestCaseError> {
    let &Passing { without_data, timeline, watch, longest_tck, ref known } = passing;
    let [(passed, passing), (none, stepped)] = [false, true].map(|is_stepped| {
        let mut device = Attached::engine(config, options).expect("an L3 rank");
        if is_stepped {
            device.dimm_mut().watch_units(Box::new(Nobody));
        }
        if without_data {
            device.leave_data_out(known);
        }
        if let Some(tck) = longest_tck {
            device.dimm_mut().leave_laps_after(tck);
        }
        let log = Log::default();
        let mut judge = None;
        match watch {
            Watch::InOrder => device.watch(Box::new(log.clone())),
            Watch::Late => device.watch(Box::new(Late(log.clone()))),
            Watch::Judge => judge = Some(PinLog::of(&mut device)),
        }
        if timeline {
            device.start_timeline();
        }
        device.begin();
        let result = run(&mut device);
        let (tck, statistics) = (device.tck(), device.end());
        let transfers = device.take_transfers();
        let mut events = log.0.take();
        if watch == Watch::Late {
            events = in_order(events);
        }
        if without_data {
            events = events.into_iter().map(without_bits).collect();
        }
        let drawn = format!("{:?}", device.timeline());
        let found = judge.map(|judge| format!("{:?}", judge.findings(tck)));
        let rank = device.dimm();
        let passed = [rank.passed_slots(), rank.passed_waits(), rank.passed_laps()];
        (passed, (events, tck, statistics, (transfers, drawn, found), result))
    });
    let first = passing.0.iter().zip(&stepped.0).position(|(passing, stepped)| passing != stepped);
    if let Some(n) = first {
        let around = n.saturating_sub(3)..(n + 3).min(passing.0.len()).min(stepped.0.len());
        prop_assert_eq!(&passing.0[around.clone()], &stepped.0[around], "event {}", n);
    }
    prop_assert_eq!(passing.0.len(), stepped.0.len(), "events");
    prop_assert_eq!(passing.1, stepped.1, "tCK");
    prop_assert_eq!(passing.2, stepped.2);
    let ((transfers, drawn, found), stepped_3) = (passing.3, stepped.3);
    prop_assert_eq!(found, stepped_3.2, "findings");
    prop_assert_eq!(drawn, stepped_3.1, "timelines");
    prop_assert_eq!(transfers, stepped_3.0);
    prop_assert!(without_data || passing.4 == stepped.4, "{:?}, {:?}", passing.4, stepped.4);
    prop_assert_eq!(none, [0; 3], "units that are watched are stepped");
    Ok(passed)
}

pub fn options() -> impl Strategy<Value = Options> {
    let gear = prop::sample::select(vec![Gear::DEFAULT, Gear::One, Gear::Four]);
    (any::<[bool; 3]>(), gear, 20..200_u64).prop_map(|([refresh, late, wide], gear, poll_tck)| {
        Options {
            refresh,
            normalise: if late { Normalise::Late } else { Normalise::Early },
            sums: if wide { SumFormat::Binary32 } else { SumFormat::Binary16 },
            gear,
            poll_tck,
        }
    })
}

/// The preset, with REFs as often as a row lasts, or more seldom, rows that are opened at once or one by one, and other times
/// that the host does not know.
pub fn configs() -> impl Strategy<Value = Config> {
    let faw = (16..60_u64, prop::sample::select(vec![4, 8, 16]));
    let ccd_l = prop::sample::select(vec![8, 12]);
    let cwl = prop::sample::select(vec![9, 12, 16, 20]);
    let ccd_result = prop::sample::select(vec![4, 8, 40]);
    (300..8000_u64, 80..600_u64, (ccd_l, cwl, ccd_result), 10..40_u64, faw).prop_map(
        |(
            refi_tck,
            rfc_tck,
            (ccd_l_tck, cwl_tck, ccd_result_tck),
            rcd_mac_tck,
            (faw_tck, faw_banks),
        )| {
            let mut config = Config::ddr4_3200();
            let timing = &mut config.timing;
            timing.refi_tck = refi_tck.max(2 * rfc_tck);
            timing.rfc_tck = rfc_tck;
            timing.ccd_l_tck = ccd_l_tck;
            timing.ccd_result_tck = ccd_result_tck;
            (timing.cwl_tck, timing.cwl_gb_tck) = (cwl_tck, cwl_tck);
            timing.rcd_mac_tck = rcd_mac_tck;
            (timing.faw_tck, timing.faw_banks) = (faw_tck, faw_banks);
            config
        },
    )
}

/// A matrix by a vector. With some times results are overwritten: then the run ends so, whether slots are passed or not.
pub fn multiply(
    device: &mut dyn RankDevice,
    operands: &Operands,
    io_buffers: IoBuffers,
    (rows, columns): (usize, usize),
) -> Result<Vec<u16>, String> {
    let layout = MatrixLayout::new(device.config(), rows, columns).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    l3::gemv::load(device, &mut host, &layout, &operands.matrix).expect("places");
    let vector = &operands.vector;
    let made = l3::gemv::multiply(&mut Driver::new(), device, &layout, vector, io_buffers);
    made.map(|(outputs, _)| outputs).map_err(|error| format!("{error:?}"))
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn matrices_are_equal(
        config in configs(),
        options in options(),
        shape in prop_oneof![(1..=40_usize, 1..=9000_usize), (1..=200_usize, 1..=1200_usize)],
        ping_pong in any::<bool>(),
        ways in any::<[bool; 2]>(),
        seed in any::<u64>(),
    ) {
        let io_buffers = if ping_pong { IoBuffers::PingPong } else { IoBuffers::Single };
        let operands = Operands::synthetic(shape.0, shape.1, seed);
        equal(&config, options, ways, |device| multiply(device, &operands, io_buffers, shape))?;
    }

    #[test]
    fn heads_are_equal(
        config in configs(),
        options in options(),
        head_dim in prop::sample::select(vec![64, 128, 256]),
        (context, group) in (1..=700_usize, 1..=4_usize),
        ways in any::<[bool; 2]>(),
        seed in any::<u64>(),
    ) {
        let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
        equal(&config, options, ways, |device| {
            let head = Head::synthetic(shape, seed, 0);
            let layout = HeadLayout::new(device.config(), head_dim, context, 3).expect("it fits");
            let mut host = HostPort::new().expect("an image");
            host.transfer(device, kv_cache::writes(&layout, &head)).expect("places");
            // As above.
            format!("{:?}", l3::attention::run_head(device, &layout, &head.queries))
        })?;
    }
}

/// What becomes of a sum when it ends.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// It goes on with the next MACs.
    Open,
    /// Outputs are read.
    Outputs,
    /// Scores of a head are read, behind which the head may be finished.
    Scores { head: u8, finishes: bool },
    /// Nobody reads it.
    Lost,
}

/// Columns of rows, from one word of the shared buffers on, each with the next.
#[derive(Clone, Debug)]
pub enum Part {
    /// MACs, in one accumulator or as sums over the chips, of a row from a column on, with words from one on. They are part of
    /// a sum.
    Macs {
        row: u64,
        column: u8,
        /// None: the word behind that of the part before.
        word: Option<u8>,
        count: u8,
        accumulate: bool,
        begins: bool,
        end: End,
    },
    /// Operands for words from one on.
    Operands { word: u8, count: u8 },
    /// Weights of a head's scores from a place on, for a word.
    Weights { head: u8, place: u8, word: u8 },
}

/// Words of the shared buffers that programs use: few, so that MACs and writes meet in them.
const WORDS: u8 = 40;

impl Part {
    /// The commands, and the word behind the last that MACs have read; `behind` is that of the parts before.
    pub fn words(&self, behind: &mut u8) -> Vec<CommandWord> {
        let plain = CommandWord::new;
        let read = |address: ResultAddress, head: u8| CommandWord {
            word: address.bits(),
            head: U::new(head.into()),
            first: Condition::of_flag(true),
            last: Condition::of_flag(true),
            ..plain(Opcode::RdResult)
        };
        match *self {
            Self::Macs { row, column, word, count, accumulate, begins, end } => {
                let word = word.unwrap_or(*behind);
                *behind = word.wrapping_add(count);
                let opcode = if accumulate { Opcode::MacContext } else { Opcode::MacScore };
                let ends = !matches!(end, End::Open);
                let macs = (0..count).map(|n| CommandWord {
                    place: U::new(row),
                    column: column.wrapping_add(n) % 128,
                    word: word.wrapping_add(n),
                    first: Condition::of_flag(begins && n == 0),
                    last: Condition::of_flag(ends && n + 1 == count),
                    ..plain(opcode)
                });
                let read: Vec<_> = match end {
                    End::Outputs if !accumulate => {
                        (0..4).map(|group| read(ResultAddress::outputs(group), 0)).collect()
                    }
                    End::Scores { head, finishes } if !accumulate => {
                        let scores = (0..4).map(|group| read(ResultAddress::scores(group), head));
                        let finish =
                            CommandWord { head: U::new(head.into()), ..plain(Opcode::Finish) };
                        scores.chain(finishes.then_some(finish)).collect()
                    }
                    _ => Vec::new(),
                };
                macs.chain(read).collect()
            }
            Self::Operands { word, count } => {
                let write =
                    |n| CommandWord { word: word.wrapping_add(n), ..plain(Opcode::WrShared) };
                (0..count).map(write).collect()
            }
            Self::Weights { head, place, word } => {
                let (head, place) = (U::new(head.into()), U::new(4 * u64::from(place)));
                let weigh = CommandWord { head, place, ..plain(Opcode::Weigh) };
                vec![weigh, CommandWord { word, ..plain(Opcode::WrWeights) }]
            }
        }
    }
}

pub fn part() -> impl Strategy<Value = Part> {
    let scores =
        (0..3_u8, any::<bool>()).prop_map(|(head, finishes)| End::Scores { head, finishes });
    let end = prop_oneof![2 => Just(End::Open), 2 => Just(End::Outputs), 2 => scores, 1 => Just(End::Lost)];
    let flags = any::<[bool; 2]>();
    let word = prop::option::of(0..WORDS);
    let macs = (0..2_u64, 0..128_u8, word, 1..=100_u8, flags, end).prop_map(
        |(row, column, word, count, [accumulate, begins], end)| Part::Macs {
            row,
            column,
            word,
            count,
            accumulate,
            begins,
            end,
        },
    );
    let operands = (0..WORDS, 1..=4_u8).prop_map(|(word, count)| Part::Operands { word, count });
    let weights = (0..3_u8, 0..4_u8, 0..WORDS).prop_map(|(head, place, word)| Part::Weights {
        head,
        place,
        word,
    });
    prop_oneof![4 => macs, 1 => operands, 1 => weights]
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn programs_are_equal(
        config in configs(),
        options in options(),
        parts in prop::collection::vec(part(), 1..16),
        operands in 0..60_usize,
        tokens in 0..=16_u64,
        ways in any::<[bool; 2]>(),
    ) {
        let bursts: Vec<Beats> = (0..operands).map(|n| [0x3C00_3800_3555 + n as u64; 8]).collect();
        equal(&config, options, ways, |device| {
            let load = |device: &mut dyn RankDevice, kind, address, data| {
                device.load(kind, address, data).expect("no mismatch");
            };
            (0..3).for_each(|row| load(device, LoadKind::Entry, row, row.into()));
            load(device, LoadKind::Segment, 0, 3 << 16);
            load(device, LoadKind::Tokens, 0, tokens);
            let mut behind = 0;
            let words = parts.iter().flat_map(|part| part.words(&mut behind));
            let words = words.map(Instruction::Command);
            for (address, word) in (0..).zip(words.chain([Instruction::End])) {
                load(device, LoadKind::Command, address, word.encode());
            }
            let start = Start { request: 0, address: 0, operands: &bursts, context: 0, outputs: 0 };
            let mut made = Vec::new();
            let result = device.run(start, &mut |it: Made| made.push(it));
            (made, format!("{result:?}"))
        })?;
    }
}

/// Where a slot has but two cycles the dispatcher rarely has a command in each.
#[test]
fn slots_of_a_matrix_are_passed() {
    let mut waits = 0;
    for (gear, least) in [(Gear::One, 192), (Gear::DEFAULT, 192), (Gear::Four, 64)] {
        let options = Options { gear, ..Options::default() };
        let shape = (48, 4096);
        let operands = Operands::synthetic(shape.0, shape.1, 1);
        let passed = equal(&Config::ddr4_3200(), options, [false; 2], |device| {
            multiply(device, &operands, IoBuffers::PingPong, shape)
        });
        let [passed, waited, _] = passed.expect("equal");
        assert!(passed >= least, "{passed} of {}", 3 * 128);
        waits += waited;
    }
    // Results of a row are mostly on their way while the next is opened.
    assert!(waits >= 30, "{waits} cycles");
}
