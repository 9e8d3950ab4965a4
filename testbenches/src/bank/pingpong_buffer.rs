// SPDX-License-Identifier: MIT
//! Bench of `pingpong_buffer`: what is read is what `golden`'s queue of fillings holds.

use crate::{Bench, OracleError};
use pimlico_golden::pingpong::Fillings;
use pimlico_ports::{BitWriter, Signal};
use pimlico_units::bank::{PingpongBuffer, PingpongBufferIn, PingpongBufferOut};

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
