// SPDX-License-Identifier: MIT
//! Bench of `pingpong_buffer`: what is read is what `golden`'s queue of fillings holds.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::pingpong::Fillings;
use pimlico_ports::{BitWriter, Signal};
use pimlico_units::bank::{PingpongBuffer, PingpongBufferIn, PingpongBufferOut};

/// Sides that are full.
const STATES: [&str; 3] = ["none full", "one full", "two full"];
const WRITES: [&str; 5] =
    ["no word", "a word", "a word, marked as the last", "the word that fills the side", "refused"];
const READS: [&str; 7] = [
    "nothing",
    "a word",
    "behind the last word",
    "a word, and release",
    "behind the last word, and release",
    "release",
    "refused",
];

impl<W: Signal, const DEPTH: usize, const PING_PONG: bool> Bench
    for PingpongBuffer<W, DEPTH, PING_PONG>
{
    /// Checks all outputs in every cycle; counts the words that were read.
    fn oracle(
        inputs: &[PingpongBufferIn<W>],
        outputs: &[PingpongBufferOut<W>],
    ) -> Result<u64, OracleError> {
        let mut buffer = Fillings::new(if PING_PONG { 2 } else { 1 }, DEPTH);
        let mut read = None;
        let mut checked = 0;
        for (cycle, (input, output)) in (0..).zip(inputs.iter().zip(outputs)) {
            let filling = buffer.oldest();
            let words = filling.map_or(0, <[W]>::len);
            let flag =
                |port, got: bool, expected: bool| (port, u32::from(got), u32::from(expected));
            for (port, got, expected) in [
                flag("write_ready_o", output.write_ready_o, buffer.has_room()),
                flag("read_ready_o", output.read_ready_o, filling.is_some()),
                ("read_words_o", output.read_words_o.get() as u32, words as u32),
                flag("data_valid_o", output.data_valid_o, read.is_some()),
            ] {
                if got != expected {
                    let what = "wrong state".to_owned();
                    return Err(OracleError { cycle, port, got, expected, what });
                }
            }
            check_word(cycle, output.data_o, read.unwrap_or_default())?;
            checked += u64::from(read.is_some());

            let address = usize::from(input.read_address_i);
            let word = filling.map(|words| words.get(address).copied().unwrap_or_default());
            read = word.filter(|_| input.read_valid_i);
            // A side that is released now can be filled in the next cycle, not in this one.
            let room = buffer.has_room();
            if input.release_i {
                buffer.release();
            }
            if input.write_valid_i && room {
                buffer.write(input.write_data_i, input.write_last_i);
            }
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("state, write", &STATES, &WRITES);
        bins.cross("state, read", &STATES, &READS);
        bins.declare("filling", ["of one word", "shorter than the side", "of the whole side"]);
        bins.declare(
            "reads of a filling",
            ["none", "fewer than words", "as many as words", "more"],
        );
        bins.declare("ends", ["a write's side", "a read's side", "both"]);
        // A side that is full ends no write, one that is empty no read.
        let full = if PING_PONG { 2 } else { 1 };
        for write in 1..WRITES.len() {
            let refused = WRITES.len() - 1;
            for state in 0..STATES.len() {
                let impossible = if state == full { write != refused } else { write == refused };
                if impossible {
                    bins.leave_out("state, write", state * WRITES.len() + write);
                }
            }
        }
        for read in 1..READS.len() {
            for state in 0..STATES.len() {
                let refused = READS.len() - 1;
                let impossible = if state == 0 { read != refused } else { read == refused };
                if impossible {
                    bins.leave_out("state, read", state * READS.len() + read);
                }
            }
        }
        if !PING_PONG {
            for bin in 0..WRITES.len() {
                bins.leave_out("state, write", 2 * WRITES.len() + bin);
            }
            for bin in 0..READS.len() {
                bins.leave_out("state, read", 2 * READS.len() + bin);
            }
            // Its one side is filled or read.
            bins.leave_out("ends", 2);
        }
        if DEPTH == 1 {
            for state in 0..STATES.len() {
                bins.leave_out("state, write", state * WRITES.len() + 1);
            }
            for longer in [1, 2] {
                bins.leave_out("filling", longer);
            }
            bins.leave_out("reads of a filling", 1);
        }
    }

    fn cover(inputs: &[PingpongBufferIn<W>], outputs: &[PingpongBufferOut<W>], bins: &mut Bins) {
        let sides = if PING_PONG { 2 } else { 1 };
        let mut fillings = Vec::new(); // full sides and their words, the oldest first
        let (mut written, mut reads) = (0usize, 0usize);
        for (input, output) in inputs.iter().zip(outputs) {
            let state = fillings.len();
            let takes = input.write_valid_i && output.write_ready_o;
            let ends = takes && (input.write_last_i || written + 1 == DEPTH);
            let write = match (input.write_valid_i, takes, input.write_last_i, ends) {
                (false, ..) => 0,
                (_, false, ..) => 4,
                (_, _, true, _) => 2,
                (_, _, _, true) => 3,
                _ => 1,
            };
            bins.hit_cross("state, write", state, write);
            let words = fillings.first().copied().unwrap_or(0);
            let inside = usize::from(input.read_address_i) < words;
            let read = match (input.read_valid_i, input.release_i) {
                (false, false) => 0,
                _ if state == 0 => 6,
                (true, release) => 1 + usize::from(!inside) + 2 * usize::from(release),
                (false, true) => 5,
            };
            bins.hit_cross("state, read", state, read);
            let releases = input.release_i && state > 0;
            match (ends, releases) {
                (true, false) => bins.hit("ends", 0),
                (false, true) => bins.hit("ends", 1),
                (true, true) => bins.hit("ends", 2),
                (false, false) => {}
            }

            reads += usize::from(input.read_valid_i && state > 0);
            if releases {
                let sort = match reads {
                    0 => 0,
                    _ => 2 + usize::from(reads > words) - usize::from(reads < words),
                };
                bins.hit("reads of a filling", sort);
                fillings.remove(0);
                reads = 0;
            }
            written += usize::from(takes);
            if ends {
                let sort = if written == 1 { 0 } else { 1 + usize::from(written == DEPTH) };
                bins.hit("filling", sort);
                fillings.push(written);
                written = 0;
            }
            debug_assert!(fillings.len() <= sides);
        }
    }

    /// Gives each episode habits of its own, and most reads an address that is there.
    fn arrange(inputs: &mut [PingpongBufferIn<W>]) {
        let Some(habits) = inputs.first().map(|input| input.read_address_i) else { return };
        let [whole_sides, long_fillings] = [1, 2].map(|value| habits & 3 == value);
        let [long_reads, eager_release] = [1, 2].map(|value| habits >> 2 & 3 == value);
        let [thin_writes, thin_reads] = [4, 6].map(|bit| habits >> bit & 3 == 3);
        for input in inputs {
            let chance = input.read_address_i;
            input.write_last_i &= !whole_sides && (!long_fillings || chance % 16 == 0);
            input.release_i &= !long_reads || chance % 8 == 0;
            input.release_i |= eager_release && chance % 4 == 0;
            input.write_valid_i &= !thin_writes || chance % 4 == 1;
            input.read_valid_i &= !thin_reads || chance % 4 == 2;
            if chance % 16 != 3 {
                let address = usize::from(chance) % DEPTH;
                input.read_address_i = address as u8;
            }
        }
    }
}

fn check_word<W: Signal>(cycle: u64, got: W, expected: W) -> Result<(), OracleError> {
    if got == expected {
        return Ok(());
    }
    let bits = |word: W| {
        let mut words = vec![0; W::WIDTH.div_ceil(32) as usize];
        word.write(&mut BitWriter::new(&mut words));
        words
    };
    let mut parts = bits(got).into_iter().zip(bits(expected)).zip((0..).step_by(32));
    let differs = parts.find(|((got, expected), _)| got != expected);
    let ((got, expected), low) = differs.expect("the words differ");
    let what = format!("bits from {low} on");
    Err(OracleError { cycle, port: "data_o", got, expected, what })
}
