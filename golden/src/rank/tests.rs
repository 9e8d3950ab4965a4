// SPDX-License-Identifier: MIT
//! Heads, and programs whose results are open.

use super::*;

const TOKENS: usize = 20;
const ONE: u16 = 0x3C00;

/// An element of K (row 0) or V (row 1) of a token, a small number.
fn element(row: u32, token: usize, e: usize) -> u16 {
    let n = (token * 7 + e * 3 + row as usize * 5) % 11;
    exact::from_f64(H, GRADUAL, n as f64 / 8.0 - 0.5) as u16
}

fn query(e: usize) -> u16 {
    exact::from_f64(H, GRADUAL, (e % 5) as f64 / 4.0 - 0.25) as u16
}

/// A burst of 32 elements as the chips hold it.
fn burst(element: impl Fn(usize) -> u16) -> Column {
    std::array::from_fn(|chip| {
        (0..LANES).map(|p| u64::from(element(CHIPS * p + chip)) << (16 * p)).sum()
    })
}

/// K and V of a head of 32 elements: a token of K in each bank, a token of V in each group.
struct Host {
    tck: u64,
    queries: usize,
    weights: Vec<u16>,
}

impl Source for Host {
    fn column(&mut self, row: u32, column: u32) -> Option<[Column; BANKS]> {
        Some(std::array::from_fn(|bank| {
            let token = match row {
                0 => 16 * column as usize + bank,
                _ if bank % 4 == 0 => 4 * column as usize + bank / 4,
                _ => TOKENS,
            };
            let is = token < TOKENS;
            burst(|e| if is { element(row, token, e) } else { 0 })
        }))
    }

    fn results(&mut self) -> Option<u64> {
        self.tck += 4;
        Some(self.tck)
    }

    fn operand(&mut self) -> Option<[u64; 8]> {
        self.queries = self.queries.checked_sub(1)?;
        Some(std::array::from_fn(|beat| {
            (0..4).map(|n| u64::from(query(4 * beat + n)) << (16 * n)).sum()
        }))
    }

    fn weight(&mut self) -> Option<u16> {
        if self.weights.is_empty() { None } else { Some(self.weights.remove(0)) }
    }
}

fn command(opcode: u32, word: u32, place: u32, flags: [bool; 2], tokens: u32) -> Dispatched {
    let (turn, request, head, row, column) = (0, 0, 0, 0, 0);
    let flags = [flags[0], flags[1], false];
    Dispatched { turn, opcode, request, head, row, place, column, word, flags, tokens }
}

/// Scores, softmax and context of a head, with these numbers as its weights.
fn attend(kind: Kind, weights: &[u16]) -> Made {
    let mut rank = Rank::new(kind);
    rank.set_scale(ONE);
    let mut host = Host { tck: 0, queries: 1, weights: weights.to_vec() };
    let mut run = |command: Dispatched| rank.execute(&command, &mut host).expect("it is closed");
    run(command(WR_SHARED, 3, 0, [false; 2], 0));
    for chunk in 0..2 {
        run(Dispatched { column: chunk, ..command(MAC_SCORE, 3, 0, [true; 2], 0) });
        for group in 0..4 {
            let place = 16 * chunk + 4 * group;
            let tokens = TOKENS as u32 - 16 * chunk;
            run(command(RD_RESULT, group, place, [chunk == 0, false], tokens));
        }
    }
    run(command(FINISH, 0, 0, [false; 2], 0));
    for column in 0..5 {
        run(command(WEIGH, 0, 4 * column, [false; 2], 4));
        run(command(WR_WEIGHTS, 8, 0, [false; 2], 0));
        let flags = [column == 0, column == 4];
        run(Dispatched { row: 1, column, ..command(MAC_CONTEXT, 8, 0, flags, 0) });
    }
    for lane in 0..4 {
        run(command(RD_RESULT, 0x80 | lane, 0, [true; 2], 0));
        if kind.wide {
            run(command(RD_RESULT, 0xC0 | lane, 0, [true; 2], 0));
        }
    }
    rank.made
}

const KIND: Kind = Kind { wide: false, late: false, places: 64, gear: 1 };

#[test]
fn a_head_is_that_of_the_reductions() {
    let q: Vec<u16> = (0..32).map(query).collect();
    let weights: Vec<u16> =
        (0..TOKENS).map(|t| exact::from_f64(H, GRADUAL, 1.0 / (t + 2) as f64) as u16).collect();
    for wide in [false, true] {
        let kind = Kind { wide, ..KIND };
        let sums = if wide { Format::BINARY32 } else { H };
        let precision = Precision { elements: H, subnormals: GRADUAL, sums };
        let made = attend(kind, &weights);
        let vector = |row, token| (0..32).map(|e| element(row, token, e)).collect::<Vec<_>>();
        for (token, score) in made.scores.iter().enumerate() {
            assert_eq!(score.masked, token >= TOKENS);
            if !score.masked {
                assert_eq!(score.bits, precision.score(&vector(0, token), &q), "token {token}");
            }
        }
        let v: Vec<_> = (0..TOKENS).map(|token| vector(1, token)).collect();
        let context = precision.context(&v, &weights);
        // A lane of each chip: elements 8 p + c.
        for (e, (_, got)) in made.context.iter().enumerate() {
            assert!(got.holds(precision.element(context[e]) as u16), "element {e}");
        }
        assert_eq!((made.scores.len(), made.context.len(), made.weights.len()), (32, 32, 20));
    }
}

#[test]
fn weights_are_those_of_real_numbers() {
    let made = attend(KIND, &[ONE; TOKENS]);
    let scores = made.scores.iter().take(TOKENS);
    let scores: Vec<f64> = scores.map(|score| exact::to_f64(H, score.bits.into())).collect();
    for ((_, expected), weight) in made.weights.iter().zip(crate::real::softmax(&scores)) {
        let bits = |x: f64| exact::from_f64(H, GRADUAL, x) as u16;
        assert!(expected.holds(bits(weight)) && !expected.holds(bits(weight * 1.02)));
    }
    let late = attend(Kind { wide: true, late: true, ..KIND }, &[ONE; TOKENS]);
    assert!(late.weights.iter().any(|(_, weight)| *weight == Expected::Near(1.0, 0.0)));
    assert!(late.context.iter().all(|(_, e)| matches!(e, Expected::Near(_, b) if *b < 0.01)));
}

#[test]
fn a_context_of_weights_before_its_finish_is_open() {
    let kind = Kind { late: true, ..KIND };
    let context = |heads: u64| {
        let mut rank = Rank::new(kind);
        let mut host = Host { tck: 0, queries: 1, weights: vec![ONE; 4] };
        let mut run =
            |command: Dispatched| rank.execute(&command, &mut host).expect("it is closed");
        run(command(WR_SHARED, 3, 0, [false; 2], 0));
        for head in 0..heads {
            for group in 0..4 {
                run(command(MAC_SCORE, 3, 0, [true; 2], 0));
                run(command(RD_RESULT, 0, 0, [group == 0, false], 16));
            }
            run(command(FINISH, 0, 0, [false; 2], 0));
            if head == 0 {
                run(command(WEIGH, 0, 0, [false; 2], 4));
                run(command(WR_WEIGHTS, 8, 0, [false; 2], 0));
                run(command(CLOSE_ALL, 0, 0, [false; 2], 0));
            }
        }
        run(command(CLOSE_ALL, 0, 0, [false; 2], 0));
        run(Dispatched { row: 1, ..command(MAC_CONTEXT, 8, 0, [true; 2], 0) });
        run(command(RD_RESULT, 0x80, 0, [true; 2], 0));
        rank.made.context
    };
    assert!(context(1).iter().all(|(_, element)| matches!(element, Expected::Near(..))));
    assert!(context(2).iter().all(|(_, element)| *element == Expected::Any));
}

#[test]
fn what_is_open_is_not_judged() {
    let mut host = Host { tck: 0, queries: 4, weights: Vec::new() };
    let mut stops = |commands: &[Dispatched]| {
        let mut rank = Rank::new(KIND);
        commands.iter().find_map(|command| rank.execute(command, &mut host).err())
    };
    let open = |stop| matches!(stop, Some(Stop::Open(_)));
    let write = command(WR_SHARED, 3, 0, [false; 2], 0);
    assert!(open(stops(&[command(MAC_SCORE, 3, 0, [true; 2], 0)])));
    assert!(open(stops(&[command(RD_RESULT, 0, 0, [true; 2], 16)])));
    // Bank groups 1 to 3 without group 0, of this sum or of the one before.
    let sum = command(MAC_SCORE, 3, 0, [true; 2], 0);
    let read = |group| command(RD_RESULT, group, 0, [true; 2], 16);
    assert!(open(stops(&[write, sum, read(1)])));
    assert!(open(stops(&[write, sum, read(0), sum, read(1)])));
    assert_eq!(stops(&[write, sum, read(0), read(1)]), None);
    assert!(open(stops(&[command(WEIGH, 0, 0, [true; 2], 4)])));
    // A tree beat and at once an accumulator beat.
    let beats = [MAC_SCORE, MAC_CONTEXT].map(|mac| command(mac, 3, 0, [true; 2], 0));
    assert!(open(stops(&[write, beats[0], beats[1]])));
    assert_eq!(stops(&[write]), Some(Stop::Waits), "the host has no more");
}

#[test]
fn partial_outputs_are_there_a_while_after_their_burst() {
    let read = |flags| command(RD_RESULT, 0x40, 8, flags, 0);
    let sum = command(MAC_SCORE, 3, 0, [true; 2], 0);
    // RD_RESULTs four tCK apart: the second after the first is eight behind it.
    for between in 0..4 {
        let mut host = Host { tck: 0, queries: 1, weights: Vec::new() };
        let mut rank = Rank::new(KIND);
        let mut run = |command: Dispatched| rank.execute(&command, &mut host);
        let begins = [command(WR_SHARED, 3, 0, [false; 2], 0), sum, read([true, false])];
        begins.iter().for_each(|command| run(*command).expect("it is closed"));
        (0..between).for_each(|_| run(read([true; 2])).expect("it is closed"));
        let open = matches!(run(read([false, true])), Err(Stop::Open(_)));
        assert_eq!(open, 4 * (between + 1) < 8, "{between}");
    }
}
