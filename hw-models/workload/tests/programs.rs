// SPDX-License-Identifier: MIT
//! Programs of the dispatcher: what they expand to, and what the rank makes of them.

use pimlico_device::dispatch::{DispatchError, Start};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::{HeadLayout, Place};
use pimlico_device::{Config, DeviceError, Gear, Loads, Options, Rank, Runs, SumFormat, Timing};
use pimlico_dpa::types::LoadKind;
use pimlico_dpa::{
    CommandWord, Condition, Dispatch, Instruction, Opcode, REQUESTS, Status, Tables, expand,
};
use pimlico_host::allocator::{Allocator, Policy, RequestId};
use pimlico_host::attached::Attached;
use pimlico_host::driver::KvRows;
use pimlico_host::kv_cache::{self, HostPort};
use pimlico_host::program::attention::{BLOCK_REQUEST, Passes};
use pimlico_host::program::{Program, attention as program, gemv};
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::U;
use pimlico_workload::l3;
use pimlico_workload::l3::attention::AttentionError;
use pimlico_workload::l3::attention::{Part, Requests};
use proptest::prelude::*;
use std::collections::HashMap;

fn layout(head_dim: usize, context: usize) -> HeadLayout {
    HeadLayout::new(&Config::ddr4_3200(), head_dim, context, 0).expect("it fits")
}

fn rank() -> Attached<Rank> {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    Attached::engine(&config, options).expect("an L3 rank")
}

fn head(head_dim: usize, context: usize, group: usize, seed: u64) -> Head {
    let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
    Head::synthetic(shape, seed, 0)
}

/// What a program comes to by itself, and what the dispatcher's instructions make of its words.
fn both(program: &Program, tokens: [u32; REQUESTS]) -> (Vec<Dispatch>, Vec<Dispatch>) {
    let mut spelled = Vec::new();
    program.spell(&tokens, 0, |command| spelled.push(command));
    let mut tables = Tables::default();
    for (request, tokens) in tables.requests.iter_mut().zip(tokens) {
        request.tokens = tokens;
    }
    let words = program.words().expect("it can be written");
    (spelled, expand(&words, &tables, 0, usize::MAX).expect("no fault"))
}

/// T_cur, and the first block's tokens.
fn tokens(of_request: usize, of_block: usize) -> [u32; REQUESTS] {
    let mut tokens = [0; REQUESTS];
    tokens[0] = of_request as u32;
    tokens[usize::from(BLOCK_REQUEST)] = of_block as u32;
    tokens
}

fn sums(wide: bool) -> SumFormat {
    if wide { SumFormat::Binary32 } else { SumFormat::Binary16 }
}

/// The MACs of one pass, from the mapping alone: row, column, first, last, opens.
fn macs(
    longest: &HeadLayout,
    context: usize,
    heads: usize,
) -> Vec<(Opcode, usize, usize, [bool; 3])> {
    let now = layout(longest.head_dim, context);
    let (per_row, bursts, parts) = (now.chunks_per_row(), now.bursts(), now.parts());
    let mut macs = Vec::new();
    for row in 0..now.chunks().div_ceil(per_row) {
        for head in 0..heads {
            for chunk in row * per_row..now.chunks().min((row + 1) * per_row) {
                for burst in 0..bursts {
                    let (row, column) = longest.k_column(chunk, burst);
                    let opens = (head, chunk, burst) == (0, 0, 0);
                    let flags = [burst == 0, burst + 1 == bursts, opens];
                    macs.push((Opcode::MacScore, row, column, flags));
                }
            }
        }
    }
    let columns = now.columns();
    for row in 0..now.quads().div_ceil(columns) {
        for head in 0..heads {
            for part in 0..parts {
                let quads = row * columns..now.quads().min((row + 1) * columns);
                for quad in quads.clone() {
                    let (of_row, column) = longest.v_column(quad, part);
                    let whole = heads * parts == 1;
                    let first = if whole { quad == 0 } else { quad == quads.start };
                    let end = if whole { now.quads() } else { quads.end };
                    let opens = (head, part, quad) == (0, 0, 0);
                    let flags = [first, quad + 1 == end, opens];
                    macs.push((Opcode::MacContext, of_row, column, flags));
                }
            }
        }
    }
    macs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn one_program_is_what_every_context_needs(
        head_dim in 1..=256_usize,
        heads in 1..=8_usize,
        longest in 1..6000_usize,
        contexts in prop::collection::vec(0.0..1.0_f64, 1..4),
        wide: bool,
    ) {
        let longest = layout(head_dim, longest);
        let program = program::attention(&longest, heads, sums(wide), Passes::One);
        for share in contexts {
            let context = 1 + (share * longest.context as f64) as usize;
            prop_assume!(context <= longest.context);
            let (spelled, expanded) = both(&program, tokens(context, 0));
            prop_assert!(spelled == expanded, "context {context}");
            let of_macs: Vec<_> = expanded
                .iter()
                .filter(|command| command.kind.has_row())
                .map(|c| (c.kind, c.row.into(), c.column.into(), [c.first, c.last, c.opens]))
                .collect();
            prop_assert_eq!(of_macs, macs(&longest, context, heads));
            // A shorter context needs no other commands than the longest: a part of them.
            let scores = |command: &&Dispatch| command.kind == Opcode::MacScore && command.head.get() == 0;
            let whole = both(&program, tokens(longest.context, 0)).0;
            let place = |c: &Dispatch| (c.row, c.column, c.word);
            if heads == 1 {
                let short: Vec<_> = expanded.iter().filter(scores).map(place).collect();
                let long = whole.iter().filter(scores).map(place).take(short.len());
                prop_assert!(short.iter().copied().eq(long));
            }
        }
    }

    #[test]
    fn several_passes_are_a_program_as_well(
        head_dim in 1..=256_usize,
        heads in 1..=7_usize,
        beyond in 1..40_000_usize,
        wide: bool,
    ) {
        let block = program::block(&layout(head_dim, 1), heads);
        let longest = layout(head_dim, block + beyond);
        let program = program::attention(&longest, heads, sums(wide), Passes::Several);
        let (spelled, expanded) = both(&program, tokens(beyond, block));
        prop_assert!(spelled == expanded);
        // Every score is computed for the maximum, and all but those of the first block again.
        let scores = |all: bool| {
            let of_scores = |c: &&Dispatch| c.kind == Opcode::RdResult && c.word < 4;
            expanded.iter().filter(of_scores).filter(|c| all || c.head.get() == 7).count()
        };
        let chunks = |tokens: usize| tokens.div_ceil(16);
        prop_assert_eq!(scores(true), 4 * heads * (chunks(block + beyond) + chunks(beyond)));
        prop_assert_eq!(scores(false), 4 * heads * chunks(beyond));
    }

    #[test]
    fn a_matrix_is_read_once(
        rows in 1..700_usize,
        columns in prop_oneof![1..300_usize, 4000..4200_usize, 8000..20_000_usize],
        ping_pong: bool,
    ) {
        let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).expect("it fits");
        let io_buffers = if ping_pong { IoBuffers::PingPong } else { IoBuffers::Single };
        let (spelled, expanded) = both(&gemv::gemv(&layout, io_buffers), [0; REQUESTS]);
        prop_assert!(spelled == expanded);
        // Each MAC takes the burst of the vector that was last written to its word.
        let (mut bursts, mut written) = (HashMap::new(), 0);
        let mut reads = expanded.iter().filter(|command| {
            if command.kind == Opcode::WrShared {
                bursts.insert(command.word, written);
                written += 1;
            }
            command.kind == Opcode::MacScore
        }).map(|c| (usize::from(c.row), usize::from(c.column), c.word)).collect::<Vec<_>>();
        prop_assert_eq!(written, columns.div_ceil(32));
        prop_assert_eq!(reads.len(), rows.div_ceil(16) * columns.div_ceil(32));
        reads.sort_unstable();
        for burst in 0..columns.div_ceil(32) {
            for row in (0..rows).step_by(16) {
                let Place { row, column, .. } = layout.place(row, burst);
                let at = reads.binary_search_by_key(&(row, column), |read| (read.0, read.1));
                prop_assert!(at.is_ok(), "row {row}, column {column} is not read");
            }
        }
    }
}

/// Admits requests whose rows lie scattered among each other's, as their caches have grown by turns.
fn scattered(contexts: &[usize], head_dim: usize) -> Vec<KvRows> {
    let mut allocator = Allocator::new(65_535, 1, Policy::Lazy).expect("rows");
    let mut of_requests = vec![KvRows::default(); contexts.len()];
    for step in 1..=4 {
        for (n, (context, rows)) in contexts.iter().zip(&mut of_requests).enumerate() {
            let request = RequestId(n as u32);
            let now = layout(head_dim, (context * step).div_ceil(4));
            let (k, v) = KvRows::wanted(&now);
            let wanted = (k + v) as u32;
            match step {
                1 => allocator.admit(request, wanted).expect("room"),
                _ => allocator.grow(request, wanted).expect("room"),
            };
            let held = rows.len();
            let new = allocator.rows_of(request).expect("live").skip(held);
            rows.grow(&now, new.map(|row| row as usize)).expect("rows that can be named");
        }
    }
    of_requests
}

#[test]
fn rows_may_lie_anywhere() {
    let (head_dim, contexts, group) = (80, [1700, 2500, 40], 2);
    let rows = scattered(&contexts, head_dim);
    let adjacent = KvRows::adjacent(&layout(head_dim, contexts[0])).expect("rows");
    assert_ne!(rows[0], adjacent, "they are not one behind the other");

    let mut rank_of_all = rank();
    let mut host = HostPort::new().expect("an image");
    let heads: Vec<_> = contexts.iter().map(|&c| head(head_dim, c, group, c as u64)).collect();
    for (n, head) in heads.iter().enumerate() {
        let layout = layout(head_dim, contexts[n]);
        let writes = kv_cache::writes_to(&layout, &rows[n], head);
        host.transfer(&mut rank_of_all, writes).expect("places");
    }
    let mut requests = Requests::new(layout(head_dim, 2500)).expect("it fits");
    for (n, head) in heads.iter().enumerate() {
        let layout = layout(head_dim, contexts[n]);
        let result = requests.run(&mut rank_of_all, n, &layout, &rows[n], &head.queries);
        let result = result.expect("no fault");
        let mut alone = rank();
        let mut host = HostPort::new().expect("an image");
        host.transfer(&mut alone, kv_cache::writes(&layout, head)).expect("places");
        let expected =
            l3::attention::run_head(&mut alone, &layout, &head.queries).expect("no fault");
        assert_eq!(result.scores, expected.scores);
        assert_eq!(result.weights, expected.weights);
        assert_eq!(result.context, expected.context);
    }
    // The program is loaded once, and what a request has stays.
    let writes = requests.driver().writes();
    assert!(writes.commands < 64 && writes.tokens == 3 && writes.segments == 3, "{writes:?}");
}

/// Layers run by turns, token after token: their rows are in the table once, and T_cur is all that is written for a token
/// more. What each computes is what it computes alone.
#[test]
fn a_token_more_takes_one_write_for_all_layers() {
    let (head_dim, layers, group) = (80, 3, 2);
    let longest = layout(head_dim, 1100);
    let (k, v) = KvRows::wanted(&longest);
    let of_layer = |layer: usize| {
        let mut rows = KvRows::default();
        rows.grow(&longest, 7 + (layers - layer) * 2 * (k + v)..).expect("rows");
        rows
    };
    let mut rank_of_all = rank();
    let mut host = HostPort::new().expect("an image");
    let mut requests = Requests::with_layers(longest, layers).expect("it fits");
    let mut before = requests.driver().writes();
    for context in [40, 41, 42] {
        let now = layout(head_dim, context);
        for layer in 0..layers {
            let head = head(head_dim, context, group, (context * layers + layer) as u64);
            let rows = of_layer(layer);
            let writes = kv_cache::writes_to(&now, &rows, &head);
            host.transfer(&mut rank_of_all, writes).expect("places");
            let part = Part { request: 0, layer };
            let result = requests.run(&mut rank_of_all, part, &now, &rows, &head.queries);
            let result = result.expect("no fault");
            let mut alone = rank();
            let mut host = HostPort::new().expect("an image");
            host.transfer(&mut alone, kv_cache::writes(&now, &head)).expect("places");
            let expected =
                l3::attention::run_head(&mut alone, &now, &head.queries).expect("no fault");
            assert_eq!((result.scores, result.context), (expected.scores, expected.context));
        }
        let writes = requests.driver().writes();
        if context > 40 {
            assert_eq!((writes.since(&before).count(), writes.since(&before).tokens), (1, 1));
        }
        before = writes;
    }
    assert_eq!((before.segments, before.layers), (1, 1));
}

#[test]
fn a_row_that_is_missing_stops_its_request_and_no_other() {
    let (head_dim, context) = (128, 1500);
    let layout = layout(head_dim, context);
    let head = head(head_dim, context, 1, 3);
    let mut rank = rank();
    let mut host = HostPort::new().expect("an image");
    host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("places");
    let rows = KvRows::adjacent(&layout).expect("rows");
    let mut requests = Requests::new(layout).expect("it fits");
    let good = requests.run(&mut rank, 0, &layout, &rows, &head.queries).expect("no fault");

    // Of the other request the last row of K has not been given.
    let shorter = self::layout(head_dim, 1000);
    let mut missing = KvRows::default();
    missing.grow(&shorter, 100..).expect("rows");
    let error = requests.run(&mut rank, 1, &layout, &missing, &head.queries);
    let Err(AttentionError::Rank(DeviceError::Dispatch(error))) = error else {
        panic!("{error:?}");
    };
    let DispatchError::Fault { request: 1, status: Status::Va2PaMiss, address } = error else {
        panic!("{error}");
    };
    assert!(address > 0);
    let again = requests.run(&mut rank, 0, &layout, &rows, &head.queries).expect("no fault");
    assert_eq!(again.context, good.context);
    let later = |now: u64| now.abs_diff(good.statistics.cycles) < 600; // a REF, perhaps
    assert!(later(again.statistics.cycles), "{:?}", again.statistics);
}

/// A command with any fields.
fn any_command() -> impl Strategy<Value = u64> {
    let kinds = prop::sample::select(Opcode::COMMANDS.to_vec());
    let flags = prop::array::uniform3(any::<bool>());
    let word = prop_oneof![0..4_u8, 0x40..0x44_u8, 0x80..0xA0_u8, any::<u8>()];
    (kinds, flags, 0..8_u64, 0..600_u64, 0..130_u8, word).prop_map(
        |(kind, flags, head, place, column, word)| {
            let [first, last, opens] = flags.map(Condition::of_flag);
            let command = CommandWord {
                first,
                last,
                opens,
                head: U::new(head),
                place: U::new(place),
                column,
                word,
                ..CommandWord::new(kind)
            };
            Instruction::Command(command).encode()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_rank_survives_any_program(
        programs in prop::collection::vec(prop::collection::vec(any_command(), 1..40), 1..3),
        operands in 0..8_usize,
        tokens in 0..20_u64,
    ) {
        let mut rank = rank();
        for row in 0..512 {
            rank.load(LoadKind::Entry, row, row.into()).expect("a model");
        }
        rank.load(LoadKind::Segment, 0, 512 << 16).expect("a model");
        rank.load(LoadKind::Tokens, 0, tokens).expect("a model");
        for program in programs {
            rank.load(LoadKind::Clear, 0, 0).expect("a model");
            for (address, word) in (0..).zip(program.iter().chain([&Instruction::End.encode()])) {
                rank.load(LoadKind::Command, address, *word).expect("a model");
            }
            let operands = vec![[0x3C00_3C00_3C00_3C00; 8]; operands];
            let start = Start {
                request: 0,
                address: 0,
                operands: &operands,
                context: 0,
                outputs: 0,
            };
            match rank.run(start, &mut |_| ()) {
                Ok(()) => {}
                Err(DeviceError::Dispatch(DispatchError::Stuck { .. })) => return Ok(()),
                Err(DeviceError::Dispatch(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Words of weights that lack one of their two commands end the run and leave the rank as it was; those
/// that have both end well, also behind a CLOSE_ALL.
#[test]
fn weights_that_nobody_writes_are_a_fault() {
    let mut rank = rank();
    rank.load(LoadKind::Entry, 0, 0).expect("a model");
    rank.load(LoadKind::Segment, 0, 1 << 16).expect("a model");
    rank.load(LoadKind::Tokens, 0, 4).expect("a model");
    let [weigh, write, close] = ["weigh\n", "wr_weights word=9\n", "close_all\n"];
    let mac = "mac_score column=5 word=3 first last\n";
    let result = "rd_result word=64 first last\n";
    let pairs = |n| weigh.repeat(n) + &write.repeat(n);
    for (text, is_right) in [
        (weigh.to_owned(), false),
        (write.to_owned(), false),
        (format!("{mac}{weigh}"), false),
        (format!("{weigh}{close}{write}"), false),
        (format!("{weigh}{write}{write}"), false),
        (pairs(17), false),
        (pairs(16), true),
        (format!("{weigh}{write}").repeat(40), true),
        (format!("{mac}{close}{weigh}{write}"), true),
        (format!("{mac}{close}{mac}{result}"), true),
    ] {
        rank.load(LoadKind::Clear, 0, 0).expect("a model");
        let words = pimlico_dpa::assemble(&(text.clone() + "end")).expect("it can be written");
        for (address, word) in (0..).zip(words) {
            rank.load(LoadKind::Command, address, word).expect("a model");
        }
        let start = Start { request: 0, address: 0, operands: &[], context: 0, outputs: 0 };
        match rank.run(start, &mut |_| ()) {
            Ok(()) => assert!(is_right, "{text}"),
            Err(DeviceError::Dispatch(DispatchError::Unpaired)) => assert!(!is_right, "{text}"),
            Err(error) => panic!("{text}: {error}"),
        }
    }
}

/// The context of a head whose chunks are of one burst, on a rank with another refresh and row timing.
fn short_sums(
    context: usize,
    change: impl FnOnce(&mut Timing),
    (refresh, gear): (bool, Gear),
) -> Result<Vec<Vec<u16>>, AttentionError> {
    let shape = HeadShape { head_dim: 8, context, group: 2, distribution: Distribution::Random };
    let head = Head::synthetic(shape, 3, 0);
    let mut config = Config::ddr4_3200();
    config.timing.rfc_tck = config.timing.rc_tck; // so that REFs may be due often
    change(&mut config.timing);
    let options = Options { refresh, gear, ..Options::default() };
    let mut rank = Attached::engine(&config, options).expect("an L3 rank");
    let layout = HeadLayout::new(&config, 8, context, 0).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    host.transfer(&mut rank, kv_cache::writes(&layout, &head)).expect("a model alone");
    l3::attention::run_head(&mut rank, &layout, &head.queries).map(|result| result.context)
}

/// Chunks of one burst leave the bank PUs as fast as they are read: if a refresh's PREA took the command
/// bus from an RD_RESULT, the last of a chunk would go in the tCK in which the next chunk's come.
#[test]
fn short_sums_leave_in_time_wherever_a_refresh_falls() {
    let context = |refi_tck| {
        let refresh = (true, Gear::DEFAULT);
        short_sums(64, |timing| timing.refi_tck = refi_tck, refresh).expect("nothing stops it")
    };
    let expected = short_sums(64, |_| (), (false, Gear::DEFAULT)).expect("nothing stops it");
    // Of these, 743 and 1417 would have the PREA there.
    for refi_tck in (740..750).chain(1410..1420) {
        assert_eq!(context(refi_tck), expected, "tREFI {refi_tck}");
    }
}

/// Where many REFs are owed, one comes soon after a MAC, and results of the sum before are still to be read:
/// they go first.
#[test]
fn a_ref_overtakes_no_results_that_the_next_would_overwrite() {
    let expected = short_sums(1500, |_| (), (false, Gear::DEFAULT)).expect("nothing stops it");
    let mut lost = Vec::new();
    for (gear, (rtp_tck, rp_tck)) in
        Gear::ALL.iter().flat_map(|&gear| [(gear, (12, 22)), (gear, (8, 14))])
    {
        for refi_tck in (150..250).step_by(3) {
            let short = |timing: &mut Timing| {
                (timing.rtp_tck, timing.rp_tck, timing.refi_tck) = (rtp_tck, rp_tck, refi_tck);
                timing.rl_mac_tck = timing.rl_mac_tck.min(rtp_tck + rp_tck - 22);
                timing.rc_tck = timing.ras_tck + rp_tck;
            };
            match short_sums(1500, short, (true, gear)) {
                Ok(context) => assert_eq!(context, expected, "{rtp_tck}, {rp_tck}, {refi_tck}"),
                Err(error) => lost.push((gear, rtp_tck, rp_tck, refi_tck, error.to_string())),
            }
        }
    }
    assert!(lost.is_empty(), "results of {} runs were lost: {lost:?}", lost.len());
}
