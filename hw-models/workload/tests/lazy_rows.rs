// SPDX-License-Identifier: MIT
//! Heads of a module that get rows of the banks as they grow, anywhere: what they give is what heads give that lie in one
//! piece. On the engine, and on the hub, which looks every row up in its Va2Pa table.

use pimlico_device::Config;
use pimlico_device::aim::{AimHead, AimMapping, AimOptions, HUB_CHANNELS};
use pimlico_host::aim::{AimAttention, AimHost, NoFreeRows};
use pimlico_model::Vectors;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::Models;
use pimlico_units::module::AimHub;
use pimlico_workload::aim::attention;
use pimlico_workload::judge::pins::PinLog;

const HEAD_DIM: usize = 32;
/// Tokens of a row of K, and of a row of V.
const TOKENS: usize = 32;
/// Tokens that a head has virtual rows for: twice as many rows as there are.
const ROOM: usize = 1024;
/// Rows of a bank.
const ROWS: usize = 32;

/// Rows of K and V are as short as the layout allows.
fn options() -> AimOptions {
    let mapping = AimMapping { tile_words: 2, k_row_tokens: Some(1), ..AimMapping::default() };
    AimOptions { channels: HUB_CHANNELS, mapping, refresh: false, ..AimOptions::default() }
}

fn channel(rows: usize) -> Config {
    let mut config = Config::gddr6_aim();
    config.organisation.rows = rows;
    config
}

/// The engine and the hub, with the checker at their pins.
fn modules() -> [(AimHost, PinLog); 2] {
    let config = channel(ROWS);
    let hub = Box::new(Models::<AimHub<true>>::new(1));
    let hub = AimHost::hub(config.clone(), options(), hub).expect("it fits");
    [AimHost::engine(&config, options()), hub].map(|mut module| {
        let pins = PinLog::of_module(&mut module);
        (module, pins)
    })
}

/// Virtual rows of heads, each behind the one before it.
fn layouts<const N: usize>() -> [AimHead; N] {
    let mut row = 0;
    std::array::from_fn(|_| {
        let head = AimHead::new(&channel(1 << 14), &options(), HEAD_DIM, ROOM, row);
        let head = head.expect("there are so many numbers");
        row = head.v.end_row();
        head
    })
}

fn data(context: usize, number: usize) -> Head {
    let distribution = Distribution::Random;
    let shape = HeadShape { head_dim: HEAD_DIM, context, group: 1, distribution };
    Head::synthetic(shape, 11, number)
}

fn first(head: &Head, tokens: usize) -> Head {
    Head { k: head.k.part(0..tokens), v: head.v.part(0..tokens), ..head.clone() }
}

/// K and V of tokens, one after the other.
fn append(module: &mut AimHost, room: &AimHead, head: &Head, tokens: std::ops::Range<usize>) {
    for token in tokens {
        let AimHead { k, v } = room.part(token + 1);
        module.hold(&[k, v]).expect("there are rows");
        let of_k = k.row_writes(token, |token, element| head.k[token][element]);
        let of_v = v.column_writes(token, |element, token| head.v[token][element]);
        module.write(&mut of_k.chain(of_v)).expect("models alone");
    }
}

fn run(module: &mut AimHost, room: &AimHead, head: &Head, tokens: usize) -> AimAttention {
    let layout = room.part(tokens);
    attention::run_query(module, &layout, &head.queries[0]).expect("models alone")
}

/// What a head gives that lies in one piece, alone.
fn in_one_piece(head: &Head, tokens: usize) -> AimAttention {
    let mut module = AimHost::engine(&Config::gddr6_aim(), options());
    let room = AimHead::new(module.config(), &options(), HEAD_DIM, ROOM, 0).expect("it fits");
    attention::load(&mut module, &room.part(tokens), head).expect("models alone");
    run(&mut module, &room, head, tokens)
}

fn values(of: &AimAttention) -> [&[u16]; 3] {
    [&of.score.values, &of.softmax.values, &of.context.values]
}

/// Sees that a head gives what it gives alone in one piece, and what `golden` says.
fn check(module: &mut AimHost, room: &AimHead, head: &Head, tokens: usize) {
    let got = run(module, room, head, tokens);
    assert_eq!(values(&got), values(&in_one_piece(head, tokens)), "{tokens} tokens");
    let head = first(head, tokens);
    let judged = attention::judge(&options(), &room.part(tokens), &head, 0, got);
    assert!(judged.operators().iter().all(|of| of.exact.differing == 0), "{tokens} tokens");
}

/// Rows of the banks that the Va2Pa table has for a head's K and V.
fn places(module: &AimHost, room: &AimHead) -> [Vec<u16>; 2] {
    let (_, tables) = module.driver().written();
    let table = tables.va2pa.expect("it was written");
    room.matrices().map(|matrix| {
        let entries = &table[matrix.first_row()..matrix.end_row()];
        entries.iter().copied().take_while(|&row| row != pimlico_dpa::NO_ROW).collect()
    })
}

#[test]
fn heads_that_grow_in_turn_give_what_heads_in_one_piece_give() {
    let rooms: [AimHead; 2] = layouts();
    assert!(rooms[1].v.end_row() > 2 * ROWS, "together they have room for more than there is");
    let heads = [data(150, 0), data(150, 1)];
    for (mut module, pins) in modules() {
        let mut tokens = [0, 0];
        for (of, to) in [(0, 20), (1, 30), (0, 55), (1, 33), (0, 70), (1, 129), (0, 130)] {
            append(&mut module, &rooms[of], &heads[of], tokens[of]..to);
            tokens[of] = to;
            for (n, room) in rooms.iter().enumerate().filter(|&(n, _)| tokens[n] > 0) {
                check(&mut module, room, &heads[n], tokens[n]);
            }
            // A row of K and one of V for each that was begun, an entry for each, which was written once.
            let rows: usize = tokens.iter().map(|tokens| 2 * tokens.div_ceil(TOKENS)).sum();
            assert_eq!(module.rows_in_use(), rows);
            assert_eq!(module.driver().writes().entries, rows as u64);
        }
        assert_eq!(places(&module, &rooms[0]), [[0, 4, 8, 16, 18], [1, 5, 9, 17, 19]]);
        assert_eq!(places(&module, &rooms[1]), [[2, 6, 10, 12, 14], [3, 7, 11, 13, 15]]);
        assert_eq!(pins.violations(module.tck()), (0, vec![]));
    }
}

#[test]
fn what_was_in_released_rows_is_of_no_account() {
    let rooms: [AimHead; 2] = layouts();
    const NAN: u16 = 0x7E00;
    let nan = |tokens| {
        let mut vectors = Vectors::default();
        (0..tokens).for_each(|_| vectors.push(&[NAN; HEAD_DIM]));
        vectors
    };
    let before = Head { k: nan(200), v: nan(200), ..data(1, 0) };
    let head = data(100, 1);
    for (mut module, _) in modules() {
        attention::load(&mut module, &rooms[0].part(200), &before).expect("models alone");
        let context = run(&mut module, &rooms[0], &before, 200).context.values;
        assert!(context.iter().all(|&bits| bits == NAN), "there is NaN in the rows");
        module.release(&rooms[0].matrices());
        assert_eq!(module.rows_in_use(), 0);
        for tokens in [33, 60, 97] {
            append(
                &mut module,
                &rooms[1],
                &head,
                if tokens == 33 { 0 } else { tokens - 1 }..tokens,
            );
            for token in (0..tokens).rev().take(40).rev() {
                append(&mut module, &rooms[1], &head, token..token + 1);
            }
            check(&mut module, &rooms[1], &head, tokens);
        }
    }
}

#[test]
fn full_banks_refuse_a_head_before_anything_of_it_is_written() {
    let rooms: [AimHead; 2] = layouts();
    let heads = [data(13 * TOKENS, 0), data(3 * TOKENS + 1, 1)];
    for (mut module, pins) in modules() {
        attention::load(&mut module, &rooms[0].part(13 * TOKENS), &heads[0]).expect("models alone");
        attention::load(&mut module, &rooms[1].part(TOKENS), &first(&heads[1], TOKENS))
            .expect("models alone");
        let before = (module.tck(), module.driver().writes());
        for (of, tokens, wanted) in [(0, 16 * TOKENS, 6), (1, 3 * TOKENS + 1, 6)] {
            let refused = module.hold(&rooms[of].part(tokens).matrices());
            assert_eq!(refused, Err(NoFreeRows { wanted, free: 4 }));
        }
        assert_eq!((module.tck(), module.driver().writes()), before);
        assert_eq!(module.rows_in_use(), 28);
        check(&mut module, &rooms[0], &heads[0], 13 * TOKENS);
        check(&mut module, &rooms[1], &first(&heads[1], TOKENS), TOKENS);
        // What one leaves is there for the other, in pieces.
        module.release(&rooms[0].matrices());
        append(&mut module, &rooms[1], &heads[1], TOKENS..3 * TOKENS + 1);
        check(&mut module, &rooms[1], &heads[1], 3 * TOKENS + 1);
        // It comes again, and does not get the rows that it had and the other has.
        attention::load(&mut module, &rooms[0].part(11 * TOKENS), &heads[0]).expect("models alone");
        check(&mut module, &rooms[0], &heads[0], 11 * TOKENS);
        check(&mut module, &rooms[1], &heads[1], 3 * TOKENS + 1);
        assert_eq!(pins.violations(module.tck()), (0, vec![]));
    }
}
