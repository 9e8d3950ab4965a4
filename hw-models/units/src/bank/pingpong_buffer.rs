// SPDX-License-Identifier: MIT
//! Ping-pong buffer between the data bus and the dot products.

use crate::lap::Walk;
use pimlico_ports::{
    Model, Signal, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A ping-pong buffer.
    unit PingpongBuffer<W: Signal>: "pingpong_buffer" {
        inputs PingpongBufferIn {
            /// A word is offered to the write port.
            write_valid_i: bool => all_but_one_in(8),
            /// Word to write.
            write_data_i: W,
            /// The word to write is the last of its filling.
            write_last_i: bool => one_in(8),
            /// A word of the filling is read.
            read_valid_i: bool => all_but_one_in(8),
            /// Address in the filling of the word to read.
            read_address_i: u8,
            /// The side that is read is released, after this cycle's read.
            release_i: bool => one_in(16),
        }
        outputs PingpongBufferOut {
            /// There is a side to fill: a word that is offered is accepted.
            write_ready_o: bool,
            /// There is a filling to read: `read_valid_i` and `release_i` have an effect.
            read_ready_o: bool,
            /// Words of the filling that can be read; 0 if there is none.
            read_words_o: U<9>,
            /// `data_o` is the word that was read in the last cycle.
            data_valid_o: bool,
            /// Word that was read in the last cycle, or zero.
            data_o: W,
        }
        probes PingpongBufferProbe {
            /// The write port's ping-pong bit.
            write_side_q: bool,
            /// The read port's ping-pong bit.
            read_side_q: bool,
        }
    }
}

/// Sides, of which a single buffer uses the first.
const SIDES: usize = 2;

/// The cycle model of a buffer with sides of `DEPTH` words, two of them or one.
///
#[doc = contract!("bank/pingpong_buffer")]
#[derive(Clone)]
pub struct PingpongBuffer<W, const DEPTH: usize, const PING_PONG: bool> {
    sides: [Side<W, DEPTH>; SIDES],
    write_side: usize,
    read_side: usize,
    /// The word that was read in the last cycle.
    read: Option<W>,
}

#[derive(Clone)]
struct Side<W, const DEPTH: usize> {
    words: [W; DEPTH],
    /// How many words are there.
    filled: usize,
    /// They are a whole filling.
    full: bool,
}

impl<W: Signal, const DEPTH: usize, const PING_PONG: bool> Unit
    for PingpongBuffer<W, DEPTH, PING_PONG>
{
    const MODULE: &'static str = "pingpong_buffer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("WIDTH", W::WIDTH as i64),
        ("DEPTH", Self::WORDS as i64),
        ("PING_PONG", PING_PONG as i64),
    ];
    type In = PingpongBufferIn<W>;
    type Out = PingpongBufferOut<W>;
    type Probe = PingpongBufferProbe<W>;

    fn variant() -> String {
        let mut parts = Vec::new();
        if W::WIDTH != 64 {
            parts.push(format!("width{}", W::WIDTH));
        }
        if DEPTH != 16 {
            parts.push(format!("depth{DEPTH}"));
        }
        if !PING_PONG {
            parts.push("single".to_owned());
        }
        parts.join("_")
    }
}

impl<W: Signal, const DEPTH: usize, const PING_PONG: bool> PingpongBuffer<W, DEPTH, PING_PONG> {
    /// Words of a side.
    pub const WORDS: usize = {
        assert!(DEPTH >= 1 && DEPTH <= 256);
        DEPTH
    };

    /// The side that comes after `side`.
    fn after(side: usize) -> usize {
        if PING_PONG { 1 - side } else { side }
    }
}

impl<W, const DEPTH: usize, const PING_PONG: bool> PingpongBuffer<W, DEPTH, PING_PONG> {
    /// Goes over what of it is no word, for [laps](crate::lap). Which of two sides is read is of no account.
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self { sides, write_side, read_side, read } = self;
        for number in 0..SIDES {
            let Side { words: _, filled, full } = &sides[(read_side + number) % SIDES];
            walk.size(*filled);
            walk.still(*full);
        }
        walk.still(write_side == read_side);
        walk.still(read.is_some());
    }
}

impl<W: Signal, const DEPTH: usize, const PING_PONG: bool> Model
    for PingpongBuffer<W, DEPTH, PING_PONG>
{
    fn new() -> Self {
        let side = || Side { words: [W::default(); DEPTH], filled: 0, full: false };
        Self { sides: [side(), side()], write_side: 0, read_side: 0, read: None }
    }

    /// The words stay, as in a RAM; nobody can see them.
    fn reset(&mut self) {
        for side in &mut self.sides {
            (side.filled, side.full) = (0, false);
        }
        (self.write_side, self.read_side, self.read) = (0, 0, None);
    }

    fn probe(&self) -> Self::Probe {
        PingpongBufferProbe {
            write_side_q: self.write_side == 1,
            read_side_q: self.read_side == 1,
            ..Default::default()
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let write_ready_o = !self.sides[self.write_side].full;
        let read_ready_o = self.sides[self.read_side].full;
        let read_words = if read_ready_o { self.sides[self.read_side].filled } else { 0 };
        let output = PingpongBufferOut {
            write_ready_o,
            read_ready_o,
            read_words_o: U::new(read_words as u64),
            data_valid_o: self.read.is_some(),
            data_o: self.read.unwrap_or_default(),
            ..Default::default()
        };

        self.read = None;
        if read_ready_o {
            let side = &mut self.sides[self.read_side];
            if input.read_valid_i {
                let words = &side.words[..side.filled];
                let word = words.get(usize::from(input.read_address_i)).copied();
                self.read = Some(word.unwrap_or_default());
            }
            if input.release_i {
                (side.filled, side.full) = (0, false);
                self.read_side = Self::after(self.read_side);
            }
        }
        if input.write_valid_i && write_ready_o {
            let side = &mut self.sides[self.write_side];
            side.words[side.filled] = input.write_data_i;
            side.filled += 1;
            side.full = input.write_last_i || side.filled == DEPTH;
            if side.full {
                self.write_side = Self::after(self.write_side);
            }
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type In = PingpongBufferIn<u64>;
    type Out = PingpongBufferOut<u64>;

    fn write(write_data_i: u64, write_last_i: bool) -> In {
        In { write_valid_i: true, write_data_i, write_last_i, ..Default::default() }
    }

    fn and_read(input: In, read_address_i: u8, release_i: bool) -> In {
        In { read_valid_i: true, read_address_i, release_i, ..input }
    }

    fn run<const DEPTH: usize, const PING_PONG: bool>(
        inputs: impl IntoIterator<Item = In>,
    ) -> Vec<Out> {
        let mut unit = PingpongBuffer::<u64, DEPTH, PING_PONG>::new();
        inputs.into_iter().map(|input| unit.step(&input)).collect()
    }

    fn data(outputs: &[Out]) -> Vec<Option<u64>> {
        outputs.iter().map(|o| o.data_valid_o.then_some(o.data_o)).collect()
    }

    fn bits(outputs: &[Out], bit: impl Fn(&Out) -> bool) -> String {
        outputs.iter().map(|o| if bit(o) { '1' } else { '0' }).collect()
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let [a0, a1, b0, b1, c0] = [10, 11, 20, 21, 30];
        let waiting = write(c0, false);
        let inputs = [
            write(a0, false),
            write(a1, true),
            and_read(write(b0, false), 0, false),
            and_read(write(b1, true), 1, false),
            and_read(waiting, 0, false),
            and_read(waiting, 1, false),
            and_read(waiting, 7, true),
            and_read(waiting, 1, false),
            In::default(),
        ];
        let outputs = run::<4, true>(inputs);
        assert_eq!(bits(&outputs, |o| o.write_ready_o), "111100011");
        assert_eq!(bits(&outputs, |o| o.read_ready_o), "001111111");
        let expected =
            [None, None, None, Some(a0), Some(a1), Some(a0), Some(a1), Some(0), Some(b1)];
        assert_eq!(data(&outputs), expected);
        let words: Vec<_> = outputs.iter().map(|o| o.read_words_o.get()).collect();
        assert_eq!(words, [0, 0, 2, 2, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_command_fills_one_side_while_another_reads_the_other() {
        // Fillings of four words, each read as the next is written: a word in every cycle.
        let inputs = (0..40).map(|cycle| {
            let last = cycle % 4 == 3;
            and_read(write(cycle, last), (cycle % 4) as u8, last)
        });
        let outputs = run::<4, true>(inputs);
        assert!(outputs.iter().all(|o| o.write_ready_o));
        let expected: Vec<_> = (0..35).map(Some).collect();
        assert_eq!(data(&outputs)[5..], expected);
    }

    #[test]
    fn a_single_buffer_takes_turns() {
        let inputs = (0..40).map(|cycle| {
            let last = cycle % 4 == 3;
            and_read(write(cycle, last), (cycle % 4) as u8, last)
        });
        let outputs = run::<4, false>(inputs);
        let turns = ["11110000"; 5].concat();
        assert_eq!(bits(&outputs, |o| o.write_ready_o), turns);
        assert_eq!(outputs.iter().filter(|o| o.data_valid_o).count(), 19); // the last is still to come
    }

    #[test]
    fn the_word_that_fills_a_side_ends_its_filling() {
        let outputs = run::<1, true>((0..4).map(|word| write(word, false)));
        assert_eq!(bits(&outputs, |o| o.write_ready_o), "1100");
        assert_eq!(outputs[3].read_words_o.get(), 1);
    }

    #[test]
    fn what_an_earlier_filling_left_cannot_be_read() {
        let release = In { release_i: true, ..In::default() };
        let inputs = [
            write(1, false),
            write(2, true),
            release,
            write(3, true),
            and_read(In::default(), 0, false),
            and_read(In::default(), 1, false),
            In::default(),
        ];
        assert_eq!(data(&run::<4, false>(inputs))[5..], [Some(3), Some(0)]);
    }
}
