// SPDX-License-Identifier: MIT
//! A rank without time makes what the engine does, bit for bit; and of pieces of work that are alike it may compute all but one.

use crate::cases::cases;
use crate::slots::{self, End, Part};
use crate::timing_only::{chips, ways};
use pimlico_device::data_bus::Beats;
use pimlico_device::dispatch::{DispatchError, Made, Start};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::mapping::{BURST, HeadLayout};
use pimlico_device::{
    Address, Config, DeviceError, FunctionalRank, Options, RankDevice, Ranks, Runs, SCORE_BUFFER,
    SumFormat, Topology,
};
use pimlico_dpa::types::{LoadKind, ResultAddress, SumKind};
use pimlico_dpa::{CommandWord, Condition, Instruction, Opcode};
use pimlico_host::attached::Attached;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::U;
use pimlico_workload::attention::AttentionJob;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::l3::attention::{compute_head, run_head};
use pimlico_workload::operator;
use pimlico_workload::system::{How, Rank};
use proptest::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A head whose elements may be any bits, NaN and subnormals among them, in one of so many.
fn head(shape: HeadShape, seed: u64, any_in: usize) -> Head {
    let mut head = Head::synthetic(shape, seed, 0);
    let mut number = seed;
    for vectors in [&mut head.k, &mut head.v] {
        for token in 0..shape.context {
            for element in vectors[token].iter_mut() {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if (number >> 33) as usize % any_in == any_in - 1 {
                    *element = (number >> 40) as u16;
                }
            }
        }
    }
    head
}

/// What engine and functional model make of a head, and of the same once more.
fn both(config: &Config, options: Options, head: &Head) -> [String; 2] {
    let (head_dim, context) = (head.queries[0].len(), head.k.len());
    let layout = HeadLayout::new(config, head_dim, context, 3).expect("it fits");
    let mut rank = Attached::engine(config, options).expect("an L3 rank");
    let mut host = HostPort::of(config).expect("an image");
    host.write(&mut rank, kv_cache::strips(&layout, head)).expect("places");
    let mut functional = FunctionalRank::new(config, options);
    kv_cache::fill(&mut functional, kv_cache::strips(&layout, head));
    let [mut stepped, mut computed] = [String::new(), String::new()];
    for _ in 0..2 {
        let run = run_head(&mut rank, &layout, &head.queries).expect("it runs");
        stepped += &format!("{:x?} {:?}", (run.scores, run.weights, run.context), run.summed);
        let run = compute_head(&mut functional, &layout, &head.queries).expect("it runs");
        computed += &format!("{:x?} {:?}", (run.scores, run.weights, run.context), run.summed);
    }
    [stepped, computed]
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn heads_are_equal(
        config in chips(),
        options in ways(),
        head_dim in prop::sample::select(vec![1, 32, 64, 80, 128, 200, 256]),
        (context, group) in (1..=1200_usize, 1..=9_usize),
        peaked in any::<bool>(),
        any_in in prop::sample::select(vec![usize::MAX, 5000, 20]),
        seed in any::<u64>(),
    ) {
        let distribution = if peaked { Distribution::Peaked } else { Distribution::Random };
        let head = head(HeadShape { head_dim, context, group, distribution }, seed, any_in);
        let [stepped, computed] = both(&config, options, &head);
        prop_assert!(stepped == computed, "\n{stepped}\n{computed}");
    }
}

/// The scores of a head are more than the score buffer holds, by a few.
#[test]
fn passes_are_equal() {
    let (head_dim, context) = (16, SCORE_BUFFER + 20);
    let shape = HeadShape { head_dim, context, group: 1, distribution: Distribution::Random };
    let [stepped, computed] =
        both(&Config::ddr4_3200(), Options::default(), &Head::synthetic(shape, 7, 0));
    assert!(stepped == computed);
}

/// A job on ranks of which one runs what is alike, or all run all; the report, and how many pieces were run.
fn report(
    (config, options): (&Config, Options),
    ranks: usize,
    functional: bool,
    job: &dyn operator::AnyOperator,
) -> (String, usize) {
    let count = AtomicUsize::new(0);
    let new_rank = |_: Address| -> Box<dyn RankDevice> {
        count.fetch_add(1, Ordering::Relaxed);
        Box::new(Attached::engine(config, options).expect("an L3 rank"))
    };
    let topology = Topology::new(1, 1, ranks).expect("a device");
    let (ranks, how) =
        (Ranks::new(config, topology, &new_rank), How { functional, ..How::from(2) });
    let report = operator::on_ranks(&ranks, options, how, job).expect("it fits");
    (serde_json::to_string(&report).expect("JSON"), count.load(Ordering::Relaxed))
}

/// Reports of heads of which some are alike, whoever makes the results.
#[test]
fn reports_are_equal() {
    let job = AttentionJob {
        model: "none".to_owned(),
        head_dim: 64,
        heads: 6,
        group: 2,
        contexts: vec![700, 300, 700],
        distribution: Distribution::Random,
        seed: 9,
    };
    let on = (&Config::ddr4_3200(), Options::default());
    let [(all, of_all), (some, of_some)] =
        [false, true].map(|functional| report(on, 2, functional, &job));
    assert!(all.contains("\"judged\""));
    assert_eq!(all, some);
    assert_eq!((of_all, of_some), (9, 2), "heads that were run");
}

/// A job on one rank, from beginning to end.
fn report_of_rank(
    (config, options): (&Config, Options),
    functional: bool,
    job: &dyn operator::AnyOperator,
) -> Result<String, String> {
    let mut rank = Attached::engine(config, options).expect("an L3 rank");
    let mut system = Rank::new(&mut rank).functional(functional);
    let report = job.execute(&mut system, &|_, _| {}).map_err(|error| error.to_string())?;
    Ok(serde_json::to_string(&report).expect("JSON"))
}

proptest! {
    #![proptest_config(cases(16))]

    /// Of one request and of several, the rows of which are gone through at once.
    #[test]
    fn heads_on_a_rank_are_equal(
        config in chips(),
        options in ways(),
        head_dim in prop::sample::select(vec![64, 128]),
        (heads, group) in (1..=4_usize, 1..=2_usize),
        contexts in prop::collection::vec(1..=5000_usize, 1..=2),
        seed in any::<u64>(),
    ) {
        let job = AttentionJob {
            model: "none".to_owned(),
            head_dim,
            heads: heads * group,
            group,
            contexts,
            distribution: Distribution::Random,
            seed,
        };
        let [stepped, computed] =
            [false, true].map(|functional| report_of_rank((&config, options), functional, &job));
        prop_assert_eq!(stepped, computed);
    }

    #[test]
    fn matrices_are_equal(
        config in chips(),
        options in ways(),
        (rows, columns) in prop_oneof![(1..=60_usize, 1..=5000_usize), (1..=400_usize, 1..=300_usize)],
        ranks in 1..=4_usize,
        ping_pong in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let io_buffers = if ping_pong { IoBuffers::PingPong } else { IoBuffers::Single };
        let job = GemvJob { rows, columns, io_buffers, seed };
        let [(all, of_all), (some, of_some)] =
            [false, true].map(|functional| report((&config, options), ranks, functional, &job));
        prop_assert!(all == some, "\n{all}\n{some}");
        prop_assert!(of_some <= of_all, "{of_some} of {of_all}");
    }
}

/// MACs that end a sum, and the sums over the chips that are read of it: parts of sums of this kind.
fn partial_sums(of: SumKind, wide: bool) -> impl Strategy<Value = Vec<CommandWord>> {
    let macs = (1..=6_u8, 0..128_u8, 0..40_u8);
    (macs, any::<[bool; 2]>(), (0..3_u64, 1..=4_u8)).prop_map(
        move |((count, column, word), [first, last], (place, bursts))| {
            let plain = CommandWord::new;
            let accumulate = of == SumKind::Context;
            let opcode = if accumulate { Opcode::MacContext } else { Opcode::MacScore };
            let macs = (0..count).map(|n| CommandWord {
                column: (column + n) % 128,
                word: word + n,
                first: Condition::of_flag(n == 0),
                last: Condition::of_flag(n + 1 == count),
                ..plain(opcode)
            });
            // A chunk of scores is whole, and so are sums of the context of 32 bits, of which a burst has half.
            let bursts = if of == SumKind::Scores { 4 } else { bursts };
            let halves = 1 + u8::from(wide && of == SumKind::Context);
            let address = |n: u8, half: u8| match of {
                SumKind::Context => ResultAddress::context(n, 1, half > 0),
                SumKind::Outputs => ResultAddress::outputs(n),
                SumKind::Scores => ResultAddress::scores(n),
            };
            let results = (0..bursts).flat_map(|n| (0..halves).map(move |half| (n, half)));
            let results = results.map(|(n, half)| CommandWord {
                word: address(n, half).bits(),
                place: U::new(4 * (place + u64::from(n))),
                first: Condition::of_flag(first),
                last: Condition::of_flag(last),
                ..plain(Opcode::RdResult)
            });
            // Weights are of heads that are finished.
            let finish = (of == SumKind::Scores).then_some(plain(Opcode::Finish));
            macs.chain(results).chain(finish).collect()
        },
    )
}

/// Commands of an operator, whose sums are of one kind: nothing keeps those of two kinds apart in adders and score buffer.
fn commands(wide: bool) -> impl Strategy<Value = Vec<CommandWord>> {
    let kinds = [SumKind::Scores, SumKind::Outputs, SumKind::Context];
    prop::sample::select(kinds.to_vec()).prop_flat_map(move |of| {
        let is_of_kind = move |part: &&Part| match part {
            Part::Macs { accumulate, .. } if *accumulate => of == SumKind::Context,
            Part::Macs { end: End::Scores { finishes, .. }, .. } => {
                of == SumKind::Scores && *finishes
            }
            Part::Macs { end: End::Outputs, .. } => of == SumKind::Outputs,
            Part::Macs { .. } => of != SumKind::Context,
            Part::Weights { .. } => of != SumKind::Outputs,
            Part::Operands { .. } => true,
        };
        let parts = prop::collection::vec(slots::part(), 1..4).prop_map(move |parts| {
            let mut behind = 0;
            parts.iter().filter(is_of_kind).flat_map(|part| part.words(&mut behind)).collect()
        });
        prop::collection::vec(prop_oneof![partial_sums(of, wide), parts], 1..12)
            .prop_map(|all| all.concat())
    })
}

/// Loads a program and runs it with so many operands; what it makes, by kind.
fn run_program(
    rank: &mut dyn Runs,
    commands: &[CommandWord],
    operands: usize,
) -> Result<[Vec<Made>; 4], DeviceError> {
    for entry in 0..3 {
        rank.load(LoadKind::Entry, entry, entry.into())?;
    }
    rank.load(LoadKind::Segment, 0, 3 << 16)?;
    rank.load(LoadKind::Tokens, 0, 16)?;
    let words = commands.iter().copied().map(Instruction::Command);
    for (address, word) in (0..).zip(words.chain([Instruction::End])) {
        rank.load(LoadKind::Command, address, word.encode())?;
    }
    let bursts: Vec<Beats> = (0..operands).map(|n| [0x3C00_3800_3555 + n as u64; 8]).collect();
    let is_result = |word: &&CommandWord| word.opcode == Opcode::RdResult;
    let outputs = 4 * commands.iter().filter(is_result).count();
    let start = Start { request: 0, address: 0, operands: &bursts, context: 8, outputs };
    let mut made: [Vec<Made>; 4] = Default::default();
    rank.run(start, &mut |it| {
        let kind = match it {
            Made::Score { .. } => 0,
            Made::Weight { .. } => 1,
            // The host numbers heads by the elements that it asks for.
            Made::Context { bits, .. } => return made[2].push(Made::Output(bits)),
            Made::Output(_) => 3,
            Made::Scores { .. } | Made::Weights { .. } => unreachable!("all data are kept"),
        };
        made[kind].push(it);
    })?;
    Ok(made)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn programs_are_equal(
        (options, commands) in ways().prop_flat_map(|options| {
            (Just(options), commands(options.sums == SumFormat::Binary32))
        }),
        operands in 0..80_usize,
        seed in any::<u64>(),
    ) {
        let config = Config::ddr4_3200();
        let shape =
            HeadShape { head_dim: 128, context: 1500, group: 1, distribution: Distribution::Random };
        let (head, layout) = (head(shape, seed, 5000), HeadLayout::new(&config, 128, 1500, 0));
        let layout = layout.expect("it fits");
        let mut rank = Attached::engine(&config, options).expect("an L3 rank");
        let mut host = HostPort::of(&config).expect("an image");
        host.write(&mut rank, kv_cache::strips(&layout, &head)).expect("places");
        let mut functional = FunctionalRank::new(&config, options);
        kv_cache::fill(&mut functional, kv_cache::strips(&layout, &head));
        let stepped = run_program(&mut rank, &commands, operands);
        let computed = run_program(&mut functional, &commands, operands);
        match (stepped, computed) {
            (Ok(mut stepped), Ok(computed)) => {
                // The host's last burst is filled up.
                for (stepped, computed) in stepped.iter_mut().zip(&computed).skip(2) {
                    let fill = stepped.split_off(computed.len().min(stepped.len()));
                    prop_assert!(fill.len() < BURST && fill.iter().all(|it| *it == Made::Output(0)));
                }
                prop_assert_eq!(stepped, computed);
            }
            // When results come, and who waits for whom, is known to the engine alone.
            (Err(DeviceError::Dispatch(DispatchError::Stuck { .. } | DispatchError::Overwritten)), _) => {}
            (Err(stepped), Err(computed)) => {
                prop_assert_eq!(format!("{stepped:?}"), format!("{computed:?}"));
            }
            (stepped, computed) => prop_assert!(false, "{stepped:x?}\n{computed:x?}"),
        }
    }
}

/// How a program with two operands ends, and what it makes where that is well.
fn ended(rank: &mut dyn Runs, text: &str) -> String {
    rank.load(LoadKind::Clear, 0, 0).expect("a model");
    for (address, word) in (0..).zip(pimlico_dpa::assemble(text).expect("a program")) {
        rank.load(LoadKind::Command, address, word).expect("a model");
    }
    rank.load(LoadKind::Entry, 0, 5).expect("a model");
    rank.load(LoadKind::Segment, 0, 1 << 16).expect("a model");
    rank.load(LoadKind::Tokens, 0, 4).expect("a model");
    let operands = [[0x3C00_4000_4200_4400; 8]; 2];
    let start = Start { request: 0, address: 0, operands: &operands, context: 0, outputs: 4 };
    let mut made: Vec<Made> = Vec::new();
    match rank.run(start, &mut |it| made.push(it)) {
        Ok(()) => format!("{made:x?}"),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn programs_end_alike() {
    let operand = "wr_shared word=0\n";
    let (weigh, weights) = ("weigh\n", "wr_weights word=9\n");
    let mac = "mac_score column=5 first last\n";
    let outputs = "rd_result word=64 first last\n";
    let (row, column) = ("mac_score row=1 first last\n", "mac_score column=200 first last\n");
    let texts = [
        format!("{operand}{mac}{outputs}"),
        format!("{operand}{mac}{outputs}{row}"),
        format!("{mac}{outputs}{column}"),
        format!("{operand}{operand}{operand}{mac}{outputs}"),
        format!("{weigh}{weights}{mac}{outputs}"),
        format!("{mac}{outputs}{weigh}"),
        format!("{weights}{mac}"),
        format!("{weigh}close_all\n{weights}"),
        format!("{}{}", weigh.repeat(17), weights.repeat(17)),
        format!("{}{}{mac}{outputs}", weigh.repeat(16), weights.repeat(16)),
        String::new(),
    ];
    let config = Config::ddr4_3200();
    let mut rank = Attached::engine(&config, Options::default()).expect("an L3 rank");
    let mut functional = FunctionalRank::new(&config, Options::default());
    for text in texts {
        let text = text + "end\n";
        assert_eq!(ended(&mut rank, &text), ended(&mut functional, &text), "{text}");
    }
}
