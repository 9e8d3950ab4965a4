// SPDX-License-Identifier: MIT
//! The data of a channel: global buffer, PUs, result registers, data lines.

use super::AimChannelIn;
use crate::arith::{Binary16, Fp};
use crate::bank::{
    PingpongBuffer, PingpongBufferIn, PingpongBufferOut, TreePu, TreePuIn, TreePuOut,
};
use crate::rank::RankControllerOut;
use pimlico_dpa::types::{BANKS, PinCommand};
use pimlico_ports::Model;
use std::array::from_fn;

/// Words in a side of the global buffer.
const WORDS: usize = 64;

/// Sixteen elements.
type Word = [u16; 16];

/// A column that was on the pins in the last cycle.
#[derive(Clone, Copy)]
struct Beat {
    first: bool,
    last: bool,
}

/// What is on the data lines in a cycle.
#[derive(Clone, Copy, Default)]
pub(super) struct Lines {
    pub operand_taken: bool,
    pub write_taken: bool,
    pub result_valid: bool,
    pub word: Word,
}

#[derive(Clone)]
pub(super) struct Data<const PINGPONG: bool> {
    global: PingpongBuffer<Word, WORDS, PINGPONG>,
    pus: [TreePu<Binary16>; BANKS],
    results: PingpongBuffer<Word, 1, PINGPONG>,
    beat: Option<Beat>,
    /// A WR_SHARED was on the pins in the last cycle; its word is the last of its filling.
    asks_operand: Option<bool>,
    /// The word that was on the lines in the last cycle.
    operand: Option<(Word, bool)>,
    /// An RD_RESULT was on the pins in the last cycle.
    takes_results: bool,
    /// Bit `n`: a WR was on the pins `n` + 1 cycles ago.
    writes: u64,
    /// WRs whose data were not on the lines.
    writes_left: u32,
}

impl<const PINGPONG: bool> Data<PINGPONG> {
    pub fn new() -> Self {
        Self {
            global: PingpongBuffer::new(),
            pus: from_fn(|_| TreePu::new()),
            results: PingpongBuffer::new(),
            beat: None,
            asks_operand: None,
            operand: None,
            takes_results: false,
            writes: 0,
            writes_left: 0,
        }
    }

    pub fn reset(&mut self) {
        self.global.reset();
        self.pus.iter_mut().for_each(TreePu::reset);
        self.results.reset();
        (self.beat, self.asks_operand, self.operand) = (None, None, None);
        (self.takes_results, self.writes, self.writes_left) = (false, 0, 0);
    }

    /// Whether nothing is on the lines or about to be, nor on its way to the global buffer.
    pub fn is_idle(&self) -> bool {
        let words = self.asks_operand.is_some() || self.operand.is_some();
        !words && !self.takes_results && !self.results_out().data_valid_o && self.writes_left == 0
    }

    /// Whether a word is written to the global buffer in this cycle.
    pub fn is_written(&self) -> bool {
        self.operand.is_some()
    }

    /// Whether results are written to their registers in this cycle.
    pub fn has_results(&self) -> bool {
        self.pus[0].settle(&TreePuIn::default()).result_valid_o
    }

    fn results_out(&self) -> PingpongBufferOut<Word> {
        self.results.settle(&PingpongBufferIn::default())
    }

    /// What is on the data lines.
    pub fn lines(&self, input: &AimChannelIn) -> Lines {
        let results = self.results_out();
        let operand_taken = self.asks_operand.is_some();
        let latency = u32::from(input.timing_i.cwl);
        let write_taken = latency > 0 && self.writes.checked_shr(latency - 1).unwrap_or(0) & 1 != 0;
        let word = match (operand_taken, write_taken) {
            (true, _) => input.operand_i,
            (_, true) => input.write_i,
            _ => results.data_o,
        };
        Lines { operand_taken, write_taken, result_valid: results.data_valid_o, word }
    }

    /// One cycle, with commands on the pins.
    pub fn step(&mut self, controlled: &RankControllerOut, input: &AimChannelIn) {
        let lines = self.lines(input);
        let reads = controlled.pins_o.command == PinCommand::RdAll;
        let mac = controlled.mac_o;
        let (operand, last) = self.operand.unwrap_or_default();
        let global = self.global.step(&PingpongBufferIn {
            write_valid_i: self.operand.is_some(),
            write_data_i: operand,
            write_last_i: last,
            read_valid_i: reads,
            read_address_i: mac.word,
            release_i: reads && mac.opens,
            ..Default::default()
        });
        let sums = self.step_pus(global.data_o, input);
        self.results.step(&PingpongBufferIn {
            write_valid_i: sums[0].result_valid_o,
            write_data_i: sums.map(|sum| sum.result_o.to_bits() as u16),
            write_last_i: true,
            read_valid_i: self.takes_results,
            release_i: self.takes_results,
            ..Default::default()
        });

        let bus = controlled.bus_pins_o.command;
        let writes = controlled.pins_o.command == PinCommand::Wr;
        self.beat = reads.then_some(Beat { first: mac.first, last: mac.last });
        self.operand = self.asks_operand.map(|last| (input.operand_i, last));
        self.asks_operand = (bus == PinCommand::WrShared).then_some(controlled.transfer_o.sum.last);
        self.takes_results = bus == PinCommand::RdResult;
        self.writes = self.writes << 1 | u64::from(writes);
        self.writes_left += u32::from(writes);
        self.writes_left -= u32::from(lines.write_taken);
    }

    /// A column meets its word of the global buffer.
    fn step_pus(&mut self, word: Word, input: &AimChannelIn) -> [TreePuOut<Binary16>; BANKS] {
        let beat = self.beat;
        from_fn(|bank| {
            let mut given = TreePuIn::default();
            if let Some(Beat { first, last }) = beat {
                (given.valid_i, given.first_i, given.last_i) = (true, first, last);
                (given.row_i, given.shared_i) = (numbers(input.cells_i[bank]), numbers(word));
            }
            self.pus[bank].step(&given)
        })
    }
}

fn numbers(word: Word) -> [Fp<Binary16>; 16] {
    word.map(|bits| Fp::from_bits(bits.into()))
}
