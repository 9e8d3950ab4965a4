// SPDX-License-Identifier: MIT
//! Two row buffers of a bank, one for RD and WR and one for dot products.

use pimlico_ports::{
    Model, Signal, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// The row buffers of a bank.
    unit DualRowBuffer<R: Signal>: "dual_row_buffer" {
        inputs DualRowBufferIn {
            /// A row is activated.
            activate_i: bool => one_in(8),
            /// A row buffer is closed.
            precharge_i: bool => one_in(16),
            /// The bank is refreshed.
            refresh_i: bool => one_in(8),
            /// The activation or precharge is of the PIM row buffer; else of the MEM row buffer.
            pim_i: bool,
            /// Row that is activated.
            row_i: U<15>,
            /// Row of the cell array that was activated in the last cycle.
            cells_i: R,
            /// An RD or WR has the MEM row buffer.
            mem_valid_i: bool,
            /// The access is a WR.
            mem_write_i: bool => one_in(4),
            /// Column of the RD or WR: two words.
            mem_column_i: U<4>,
            /// Data of the WR.
            mem_data_i: [u64; 8],
            /// A dot product has the PIM row buffer.
            pim_valid_i: bool => all_but_one_in(3),
            /// Word of the row for the dot product.
            pim_word_i: U<5>,
        }
        outputs DualRowBufferOut {
            /// The MEM row buffer holds a row.
            mem_open_o: bool,
            /// Row of the last activation for MEM.
            mem_row_o: U<15>,
            /// The PIM row buffer holds a row.
            pim_open_o: bool,
            /// Row of the last activation for PIM.
            pim_row_o: U<15>,
            /// `mem_data_o` is the column of the RD in the last cycle.
            mem_data_valid_o: bool,
            /// Column that was read in the last cycle, or zero.
            mem_data_o: [u64; 8],
            /// `pim_data_o` is the word of the dot product in the last cycle.
            pim_data_valid_o: bool,
            /// Word for the PU that was read in the last cycle, or zero.
            pim_data_o: [u64; 4],
            /// A column is written to the cell array: that of the WR in the last cycle.
            restore_o: bool,
            /// Row of the column that is written to the cell array, or zero.
            restore_row_o: U<15>,
            /// Column that is written to the cell array, or zero.
            restore_column_o: U<4>,
            /// Data that are written to the cell array, or zero.
            restore_data_o: [u64; 8],
            /// The activation in the last cycle opened the row that the other buffer holds.
            row_conflict_o: bool,
            /// The WR in the last cycle wrote the row that the PIM row buffer holds.
            stale_o: bool,
            /// A command or an access in the last cycle found its buffer in a wrong state.
            misuse_o: bool,
        }
        probes DualRowBufferProbe {}
    }
}

/// A row of words of 256 bits, as many as a power of two from 4 to 32.
pub trait Row: Signal + AsRef<[[u64; 4]]> + AsMut<[[u64; 4]]> {
    /// Words of the row.
    const WORDS: usize = Self::WIDTH as usize / 256;
}

impl Row for [[u64; 4]; 4] {}
impl Row for [[u64; 4]; 32] {}

/// The cycle model of a bank's row buffers, two of them or one.
///
#[doc = contract!("bank/dual_row_buffer")]
#[derive(Clone)]
pub struct DualRowBuffer<R: Row, const DUAL: bool> {
    mem: Buffer<R>,
    /// Not used where there is one buffer.
    pim: Buffer<R>,
    /// What the registers of the outputs hold; the state of the buffers is added in the cycle.
    output: DualRowBufferOut<R>,
}

/// A row buffer.
#[derive(Clone)]
struct Buffer<R> {
    words: R,
    row: U<15>,
    open: bool,
    /// Its row comes from the array in this cycle.
    senses: bool,
}

impl<R: Row> Buffer<R> {
    fn new() -> Self {
        Self { words: R::default(), row: U::default(), open: false, senses: false }
    }

    fn can_be_read(&self) -> bool {
        self.open && !self.senses
    }

    fn holds(&self, row: U<15>) -> bool {
        self.open && self.row == row
    }

    /// Takes the row that it waits for, if there is one.
    fn sense(&mut self, cells: &R) {
        if self.senses {
            self.words = *cells;
            self.senses = false;
        }
    }
}

impl<R: Row, const DUAL: bool> Unit for DualRowBuffer<R, DUAL> {
    const MODULE: &'static str = "dual_row_buffer";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("WORDS", R::WORDS as i64), ("DUAL", DUAL as i64)];
    type In = DualRowBufferIn<R>;
    type Out = DualRowBufferOut<R>;
    type Probe = DualRowBufferProbe<R>;

    fn variant() -> String {
        let mut parts = Vec::new();
        if R::WORDS != 32 {
            parts.push(format!("words{}", R::WORDS));
        }
        if !DUAL {
            parts.push("single".to_owned());
        }
        parts.join("_")
    }
}

impl<R: Row, const DUAL: bool> DualRowBuffer<R, DUAL> {
    /// The buffer that RDs and WRs read, or that dot products read.
    fn of(&self, pim: bool) -> &Buffer<R> {
        if DUAL && pim { &self.pim } else { &self.mem }
    }

    /// The RD or WR of a cycle, if it is possible, for the registers of the outputs.
    fn access_mem(&mut self, input: &DualRowBufferIn<R>) -> bool {
        let first = 2 * input.mem_column_i.get() as usize;
        if !input.mem_valid_i || !self.mem.can_be_read() || first >= R::WORDS {
            return false;
        }
        let column = &mut self.mem.words.as_mut()[first..first + 2];
        if input.mem_write_i {
            self.output.restore_o = true;
            self.output.restore_row_o = self.mem.row;
            self.output.restore_column_o = input.mem_column_i;
            self.output.restore_data_o = input.mem_data_i;
            self.output.stale_o = DUAL && self.pim.holds(self.mem.row);
            let (low, high) = input.mem_data_i.split_at(4);
            column[0].copy_from_slice(low);
            column[1].copy_from_slice(high);
        } else {
            self.output.mem_data_valid_o = true;
            self.output.mem_data_o[..4].copy_from_slice(&column[0]);
            self.output.mem_data_o[4..].copy_from_slice(&column[1]);
        }
        true
    }

    /// The dot product of a cycle, likewise.
    fn access_pim(&mut self, input: &DualRowBufferIn<R>) -> bool {
        let is_free = DUAL || !input.mem_valid_i;
        let word = self.of(true).words.as_ref().get(input.pim_word_i.get() as usize).copied();
        match word {
            Some(word) if input.pim_valid_i && is_free && self.of(true).can_be_read() => {
                self.output.pim_data_valid_o = true;
                self.output.pim_data_o = word;
                true
            }
            _ => false,
        }
    }

    /// The command of a cycle. Returns whether it found its buffer in a wrong state.
    fn command(&mut self, input: &DualRowBufferIn<R>) -> bool {
        let DualRowBufferIn { activate_i, precharge_i, refresh_i, pim_i, row_i, .. } = *input;
        let is_open = self.of(pim_i).open;
        let any_open = self.of(false).open || self.of(true).open;
        let commands = [activate_i, precharge_i, refresh_i].into_iter().filter(|&is| is).count();
        self.output.row_conflict_o = DUAL && activate_i && self.of(!pim_i).holds(row_i);

        let buffer = if DUAL && pim_i { &mut self.pim } else { &mut self.mem };
        if activate_i {
            (buffer.row, buffer.open, buffer.senses) = (row_i, true, true);
        } else if precharge_i {
            buffer.open = false;
        }
        activate_i && is_open || refresh_i && any_open || commands > 1
    }
}

impl<R: Row, const DUAL: bool> Model for DualRowBuffer<R, DUAL> {
    fn new() -> Self {
        Self { mem: Buffer::new(), pim: Buffer::new(), output: DualRowBufferOut::default() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        DualRowBufferProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let (mem, pim) = (self.of(false), self.of(true));
        let output = DualRowBufferOut {
            mem_open_o: mem.open,
            mem_row_o: mem.row,
            pim_open_o: pim.open,
            pim_row_o: pim.row,
            ..self.output
        };

        self.output = DualRowBufferOut::default();
        let mem_done = self.access_mem(input);
        let pim_done = self.access_pim(input);
        let missed = input.mem_valid_i && !mem_done || input.pim_valid_i && !pim_done;
        self.mem.sense(&input.cells_i);
        self.pim.sense(&input.cells_i);
        self.output.misuse_o = self.command(input) || missed;
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type R = [[u64; 4]; 32];
    type In = DualRowBufferIn<R>;
    type Out = DualRowBufferOut<R>;

    /// A row whose words are told apart: word 5 of row 7 is 705.
    fn row(row: u64) -> R {
        std::array::from_fn(|word| [100 * row + word as u64; 4])
    }

    fn activate(row: u64, pim_i: bool) -> In {
        In { activate_i: true, row_i: U::new(row), pim_i, ..In::default() }
    }

    fn run<const DUAL: bool>(inputs: &[In]) -> Vec<Out> {
        let mut unit = DualRowBuffer::<R, DUAL>::new();
        inputs.iter().map(|input| unit.step(input)).collect()
    }

    fn bits(outputs: &[Out], bit: impl Fn(&Out) -> bool) -> String {
        outputs.iter().map(|output| if bit(output) { '1' } else { '0' }).collect()
    }

    /// The cycles of the contract's diagram.
    fn diagram() -> [In; 8] {
        let column = In { mem_valid_i: true, mem_column_i: U::new(2), ..In::default() };
        let word = |n| In { pim_valid_i: true, pim_word_i: U::new(n), ..In::default() };
        [
            activate(7, false),
            In { cells_i: row(7), ..In::default() },
            In { activate_i: true, pim_i: true, row_i: U::new(9), ..column },
            In { cells_i: row(9), mem_write_i: true, mem_data_i: [5; 8], ..column },
            word(0),
            In { precharge_i: true, ..word(1) },
            word(2),
            In::default(),
        ]
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let outputs = run::<true>(&diagram());
        assert_eq!(bits(&outputs, |o| o.mem_open_o), "01111100");
        assert_eq!(bits(&outputs, |o| o.pim_open_o), "00011111");
        assert_eq!(bits(&outputs, |o| o.mem_data_valid_o), "00010000");
        assert_eq!(outputs[3].mem_data_o, [704, 704, 704, 704, 705, 705, 705, 705]);
        assert_eq!(bits(&outputs, |o| o.restore_o), "00001000");
        let restored = &outputs[4];
        assert_eq!((restored.restore_row_o.get(), restored.restore_column_o.get()), (7, 2));
        assert_eq!(restored.restore_data_o, [5; 8]);
        assert_eq!(bits(&outputs, |o| o.pim_data_valid_o), "00000111");
        let words: Vec<_> = outputs[5..].iter().map(|o| o.pim_data_o[0]).collect();
        assert_eq!(words, [900, 901, 902]);
        assert_eq!(bits(&outputs, |o| o.misuse_o || o.row_conflict_o || o.stale_o), "00000000");
    }

    #[test]
    fn a_row_is_not_open_in_both_buffers() {
        for first in [false, true] {
            let write = In { mem_valid_i: true, mem_write_i: true, ..In::default() };
            let outputs = run::<true>(&[
                activate(3, first),
                In { row_i: U::new(3), ..activate(3, !first) },
                In::default(),
                write,
                In::default(),
            ]);
            assert_eq!(bits(&outputs, |o| o.row_conflict_o), "00100");
            assert_eq!(bits(&outputs, |o| o.stale_o), "00001");
            assert_eq!(bits(&outputs, |o| o.misuse_o), "00000");
        }
    }

    #[test]
    fn a_buffer_in_a_wrong_state_is_reported() {
        let read = In { mem_valid_i: true, ..In::default() };
        let word = In { pim_valid_i: true, ..In::default() };
        let refresh = In { refresh_i: true, ..In::default() };
        let beyond = In { mem_column_i: U::new(15), ..read };
        for (inputs, misuse) in [
            (vec![read, word, refresh, In::default()], "0110"),
            (vec![activate(1, true), word, word, read, In::default()], "00101"),
            (vec![activate(1, true), refresh, activate(2, true), In::default()], "0011"),
            (vec![activate(1, false), In::default(), beyond, In::default()], "0000"),
        ] {
            assert_eq!(bits(&run::<true>(&inputs), |o| o.misuse_o), misuse);
        }
    }

    #[test]
    fn one_buffer_serves_one_access_in_a_cycle() {
        let both =
            In { mem_valid_i: true, pim_valid_i: true, pim_word_i: U::new(3), ..In::default() };
        let word = In { mem_valid_i: false, ..both };
        let outputs = run::<false>(&[
            activate(4, true),
            In { cells_i: row(4), ..In::default() },
            both,
            word,
            In::default(),
        ]);
        assert_eq!(bits(&outputs, |o| o.mem_open_o && o.pim_open_o), "01111");
        assert_eq!(bits(&outputs, |o| o.mem_data_valid_o), "00010");
        assert_eq!(bits(&outputs, |o| o.pim_data_valid_o), "00001");
        assert_eq!(bits(&outputs, |o| o.misuse_o), "00010");
        assert_eq!(outputs[4].pim_data_o, [403; 4]);
    }
}
