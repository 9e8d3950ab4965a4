// SPDX-License-Identifier: MIT
//! Rows that the engine goes through at once against the same ones stepped cycle by cycle: see `slots`. A long run:
//! `PROPTEST_CASES=3000 cargo test -p pimlico-workload laps::`.

use super::cases::cases;
use super::slots::{Passing, Watch, configs, equal_where, multiply, options};
use pimlico_device::dispatch::{Made, Start};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, Gear, KnownLaps, Options, RankDevice};
use pimlico_dpa::types::{LoadKind, ResultAddress};
use pimlico_model::data::Operands;
use pimlico_workload::l3;
use proptest::prelude::*;
use std::cell::RefCell;

/// A matrix and a vector of a shape, all of whose numbers are 0.
fn without_numbers((rows, columns): (usize, usize)) -> Operands {
    Operands { matrix: vec![vec![0; columns]; rows], vector: vec![0; columns] }
}

/// Query heads that share a head of K and V without data: what comes of it is of no account.
fn attend(device: &mut dyn RankDevice, (head_dim, context, group): (usize, usize, usize)) {
    let layout = HeadLayout::new(device.config(), head_dim, context, 3).expect("it fits");
    let queries = vec![vec![0; head_dim]; group];
    // With some times results are overwritten: then the run ends so, whether rows are gone through or not.
    let _ = l3::attention::run_head(device, &layout, &queries);
}

proptest! {
    #![proptest_config(cases(20))]

    /// Of many rows, so that some are gone through at once.
    #[test]
    fn rows_of_matrices_are_equal(
        config in configs(),
        options in options(),
        shape in (200..=800_usize, prop_oneof![4100..=9000_usize, Just(8192)]),
        ping_pong in any::<bool>(),
        timeline in prop::bool::weighted(0.1),
        watch in prop::sample::select(vec![Watch::InOrder, Watch::Late, Watch::Judge]),
        longest_tck in prop::option::of(1..5000_u64),
    ) {
        let io_buffers = if ping_pong { IoBuffers::PingPong } else { IoBuffers::Single };
        let operands = without_numbers(shape);
        let passing = Passing {
            without_data: true, timeline, watch, longest_tck, ..Passing::default()
        };
        equal_where(&config, options, &passing, |device| {
            multiply(device, &operands, io_buffers, shape)
        })?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    /// Of many rows, so that some are gone through at once, on a rank that knows what another has found in others.
    #[test]
    fn rows_of_heads_are_equal(
        config in configs(),
        options in options(),
        head_dim in prop::sample::select(vec![32, 64, 128, 256]),
        contexts in prop::collection::vec(3000..=9000_usize, 2..=3),
        group in 1..=4_usize,
        timeline in prop::bool::weighted(0.1),
        watch in prop::sample::select(vec![Watch::InOrder, Watch::Late, Watch::Judge]),
        longest_tck in prop::option::of(1..5000_u64),
    ) {
        let known = KnownLaps::default();
        let passing = Passing { without_data: true, timeline, watch, longest_tck, known };
        for contexts in [&contexts[..1], &contexts[1..]] {
            equal_where(&config, options, &passing, |device| {
                for &context in contexts {
                    attend(device, (head_dim, context, group));
                }
            })?;
        }
    }
}

/// Most of the rows of the banks are, as long as no REF is due.
#[test]
fn rows_of_a_matrix_are_gone_through() {
    let shape = (16 * 50, 8192);
    let operands = without_numbers(shape);
    for gear in [Gear::One, Gear::DEFAULT, Gear::Four] {
        // With REFs, without, and where the host looks so seldom that it sends operands while rows are gone through.
        for (refresh, poll_tck, least) in [(true, 64, 60), (false, 64, 80), (false, 6000, 80)] {
            let options = Options { gear, refresh, poll_tck, ..Options::default() };
            for watch in [Watch::InOrder, Watch::Judge] {
                let passing = Passing { without_data: true, watch, ..Passing::default() };
                let passed = equal_where(&Config::ddr4_3200(), options, &passing, |device| {
                    multiply(device, &operands, IoBuffers::PingPong, shape)
                });
                let [.., laps] = passed.expect("equal");
                assert!(laps >= least, "{laps} of 100 at {gear:?}, {refresh}, {poll_tck}");
            }
        }
    }
}

/// Most of the rows of K and V are: of the first head once they are known, of a later one but at the ends of both.
#[test]
fn rows_of_heads_are_gone_through() {
    let cases = [
        (Gear::One, 128, [77, 90]),
        (Gear::DEFAULT, 128, [76, 90]),
        (Gear::Four, 128, [55, 69]),
        // Of 150 rows.
        (Gear::DEFAULT, 64, [116, 133]),
    ];
    for (gear, head_dim, least) in cases {
        for refresh in [true, false] {
            let options = Options { gear, refresh, ..Options::default() };
            for watch in [Watch::InOrder, Watch::Judge] {
                let passing = Passing { without_data: true, watch, ..Passing::default() };
                // Of so many rows, and of a few tokens less.
                let tokens = 50 * 512 * 128 / head_dim;
                for (context, least) in [tokens, tokens - 300].into_iter().zip(least) {
                    let passed = equal_where(&Config::ddr4_3200(), options, &passing, |device| {
                        attend(device, (head_dim, context, 1));
                    });
                    let [.., laps] = passed.expect("equal");
                    assert!(laps >= least, "{laps} rows at {gear:?}, {refresh}, {head_dim}");
                }
            }
        }
    }
}

/// A program of 40 rows of scores from a virtual row on, of each of which so many chunks are read, with these columns of each.
fn rows_of_scores(first: u16, chunks: usize, columns: &[u8], step: usize) -> Vec<u64> {
    let macs = columns.iter().enumerate().map(|(n, column)| {
        let end = match n {
            0 => "first",
            _ if n + 1 == columns.len() => "last",
            _ => "",
        };
        format!("mac_score row={first}+1@2 column={column}+{step}@1 word={n} {end}")
    });
    let results = (0..4).map(|group| {
        let word = ResultAddress::scores(group).bits();
        format!("rd_result word={word} place={}+16@1 first@1,2", 4 * group)
    });
    let body: Vec<String> = macs.chain(results).collect();
    let text = format!("loop 40 {{\nloop {chunks} {{\n{}\n}}\n}}\nclose_all\nend", body.join("\n"));
    pimlico_dpa::assemble(&text).expect("a program")
}

/// What a rank has of the request whose rows are read: T_cur, an entry of the table behind which others follow, and how many
/// entries the request has.
#[derive(Clone, Copy)]
struct Request {
    tokens: u64,
    jump: u16,
    entries: u64,
}

/// The turns of rows that are gone through where a program runs, and how many scores it makes, where all is equal.
fn run_program(passing: &Passing, program: &[u64], request: Request) -> (u64, usize) {
    let made = RefCell::new(Vec::new());
    let passed = equal_where(&Config::ddr4_3200(), Options::default(), passing, |device| {
        let load = |device: &mut dyn RankDevice, kind, address, data| {
            device.load(kind, address, data).expect("no mismatch");
        };
        for entry in 0..60 {
            let row = u64::from(entry + if entry < request.jump { 5 } else { 70 });
            load(device, LoadKind::Entry, entry, row);
        }
        load(device, LoadKind::Segment, 0, request.entries << 16);
        load(device, LoadKind::Tokens, 0, request.tokens);
        for (address, word) in (0..).zip(program.iter().copied()) {
            load(device, LoadKind::Command, address, word);
        }
        let start = Start { request: 0, address: 0, operands: &[], context: 0, outputs: 0 };
        let mut scores = 0;
        let result = device.run(start, &mut |made| {
            scores += if let Made::Scores { count, .. } = made { count } else { 1 };
        });
        made.borrow_mut().push((scores, format!("{result:?}")));
    });
    let [.., laps] = passed.expect("equal");
    let [one, other] = &made.into_inner()[..] else { unreachable!("two ranks ran") };
    assert_eq!(one, other);
    (laps, one.0)
}

/// What is known of a loop is not taken for another: of other words, with another T_cur that is looked at, with rows elsewhere.
#[test]
fn what_is_known_of_loops_is_of_these_alone() {
    let passing = Passing { without_data: true, ..Passing::default() };
    let all = Request { tokens: 16, jump: 60, entries: 60 };
    // The first virtual row, and the last column of a chunk.
    let cases = [
        (all, 0, 3),
        (all, 0, 3),
        (Request { tokens: 6, ..all }, 0, 3),
        (all, 0, 7),
        (all, 9, 3),
        (Request { jump: 20, ..all }, 0, 3),
        (Request { entries: 25, ..all }, 0, 3),
    ];
    let run = |(request, first, last)| {
        run_program(&passing, &rows_of_scores(first, 31, &[0, 1, 2, last], 4), request)
    };
    let runs = cases.map(run);
    let [found, known, of_tokens, of_words, elsewhere, ..] = runs.each_ref().map(|run| run.0);
    assert!(known > found && elsewhere > found, "{runs:?}");
    assert_eq!([of_tokens, of_words], [found; 2]);
    assert_eq!(runs[0].1, 40 * 31 * 16);
    assert_eq!(runs[2].1, 40 * 31 * 6);
}

/// Nor is that of words that no queue holds where a lap begins, as a row has more commands than there is room for.
#[test]
fn words_behind_the_queues_are_compared() {
    let passing = Passing { without_data: true, ..Passing::default() };
    let request = Request { tokens: 16, jump: 60, entries: 60 };
    let columns: Vec<u8> = (0..60).collect();
    let other: Vec<u8> = (0..60).map(|column| if column == 50 { 51 } else { column }).collect();
    let run = |columns: &[u8]| run_program(&passing, &rows_of_scores(0, 2, columns, 60), request);
    let [found, known, of_words] = [&columns, &columns, &other].map(|columns| run(columns).0);
    assert!(known > found, "{known} {found}");
    assert_eq!(of_words, found);
}
