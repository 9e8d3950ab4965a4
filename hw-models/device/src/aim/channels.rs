// SPDX-License-Identifier: MIT
//! The PUs of all channels with their I/O buffers: what has the PUs' clock, one in each tCCD.
//!
//! ```text
//! clock            0        1        2        27       28       29
//! column, address  RD_ALL                                            row buffers; a word of the global buffer
//! word                      PU                                       the word is there: a beat of the PU
//! result                                               result        written to the result registers
//! RD_RESULT                                                     read and released: on the lines CL after
//!                                                               the command
//! ```
//!
//! (A PU takes 26 clocks from a beat to its result, clock 27 here; it can be read in clock 28.) After a
//! column the clock goes on until the PUs have nothing left to do.

use super::layout;
use super::units::{AimOptions, BANKS, GLOBAL_WORDS, IoBufferUnits, MULTIPLIERS, Pu, Word};
use crate::error::{DeviceError, Hazard};
use pimlico_ports::Instances;
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::bank::{
    PingpongBufferIn, PingpongBufferOut, TreeBeat, TreePuIn, TreePuOut, TreePus,
};
use pimlico_units::lap::Walk;
use std::any::Any;

/// Clocks from a column to the first in which its result can be read, if it ends a sum, of PUs that take so many from a
/// beat to the result.
pub fn read_to_result(pu_clocks: u64) -> u64 {
    pu_clocks + 2
}

/// Clocks from a word of the global buffer to the first in which it can be read, if it ends a filling.
pub const WORD_TO_READ: u64 = 1;

/// Clocks after which a word is in its buffer, and results that are read are at its output.
const IDLE_CLOCKS: u64 = 2;

/// Ports of a PU.
pub type PuIn = TreePuIn<Binary16>;
/// Ports of a PU.
pub type PuOut = TreePuOut<Binary16>;

/// What the PUs do with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The word of the global buffer that it is multiplied with.
    pub word: usize,
    /// It begins a sum.
    pub first: bool,
    /// It ends a sum.
    pub last: bool,
    /// No other needs the words that are there: the side is given back.
    pub release: bool,
}

impl Beat {
    /// Goes over all of it, for [laps](pimlico_units::lap).
    pub(super) fn walk(&self, walk: &mut Walk<'_>) {
        let Self { word, first, last, release } = self;
        walk.size(*word);
        [first, last, release].into_iter().for_each(|flag| walk.still(*flag));
    }
}

/// What comes to the channels in a clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arriving<'a> {
    /// A column of all banks of all channels, and what is done with it.
    pub column: Option<(Beat, &'a [Word])>,
    /// A word for the global buffer, and whether it is the last of its filling.
    pub word: Option<(Word, bool)>,
    /// The results are read.
    pub take_results: bool,
}

/// PUs and I/O buffers.
pub struct Channels {
    pus: Box<dyn Instances<Pu>>,
    /// Somebody looks at the ports. Otherwise those of vectors are left out.
    shows_ports: bool,
    pu_in: Box<[PuIn]>,
    pu_out: Box<[PuOut]>,
    /// For vectors, what stands in their `pu_in`: the column, and its word for each of them.
    column: Box<[Word]>,
    words: Box<[Word]>,
    /// The column in `pu_in`, whose word comes out of the global buffer in this clock.
    beat: Option<Beat>,
    /// The results are new in this clock.
    new_results: bool,
    global: IoBufferUnits<GLOBAL_WORDS>,
    global_in: PingpongBufferIn<Word>,
    global_out: PingpongBufferOut<Word>,
    results: IoBufferUnits<1>,
    /// The result registers are stepped in clocks alone in which something is done with them.
    results_rest: bool,
    results_in: Box<[PingpongBufferIn<Word>]>,
    results_out: Box<[PingpongBufferOut<Word>]>,
    /// Clocks after which a column has nothing under way.
    column_clocks: u64,
    /// Clocks before nothing is under way.
    clocks_left: u64,
}

impl Channels {
    /// Channels that have been reset.
    pub fn new(
        pus: Box<dyn Instances<Pu>>,
        global: IoBufferUnits<GLOBAL_WORDS>,
        results: IoBufferUnits<1>,
        options: &AimOptions,
    ) -> Self {
        let channels = options.channels;
        let count = channels * BANKS;
        Self {
            pus,
            shows_ports: false,
            pu_in: vec![PuIn::default(); count].into(),
            pu_out: vec![PuOut::default(); count].into(),
            column: vec![Word::default(); count].into(),
            words: vec![Word::default(); count].into(),
            beat: None,
            new_results: false,
            global,
            global_in: PingpongBufferIn::default(),
            global_out: PingpongBufferOut::default(),
            results_rest: results.are_models(),
            results,
            results_in: vec![PingpongBufferIn::default(); channels].into(),
            results_out: vec![PingpongBufferOut::default(); channels].into(),
            column_clocks: read_to_result(options.pu_clocks) + IDLE_CLOCKS,
            clocks_left: 0,
        }
    }

    /// From the reset on no data are of account: vectors know when results come, and compute none.
    pub fn leave_data_out(&mut self, options: &AimOptions) {
        if let Some(vectors) = vectors_mut(&mut *self.pus, self.shows_ports) {
            *vectors = TreePus::of_latency(0, options.pu_clocks as usize);
            (self.column, self.words) = Default::default();
        }
    }

    /// Steps the result registers in every clock from here on.
    pub fn step_always(&mut self) {
        self.results_rest = false;
    }

    /// One clock. Returns the results that were read in the last, a word of each channel.
    pub fn clock(&mut self, arriving: &Arriving<'_>) -> Result<Option<Box<[Word]>>, DeviceError> {
        let Arriving { column, word, take_results } = arriving;
        let needed = match column {
            Some(_) => self.column_clocks,
            None if word.is_some() || *take_results => IDLE_CLOCKS,
            None => 0,
        };
        self.clocks_left = self.clocks_left.max(needed);
        if self.clocks_left == 0 {
            return Ok(None);
        }
        self.clocks_left -= 1;
        self.step_global_buffer(arriving)?;
        self.step_pus(arriving.column)?;
        self.step_result_registers(arriving.take_results)?;
        let read = self.results_out[0].data_valid_o;
        Ok(read.then(|| self.results_out.iter().map(|output| output.data_o).collect()))
    }

    fn step_global_buffer(&mut self, arriving: &Arriving<'_>) -> Result<(), DeviceError> {
        let beat = arriving.column.map(|(beat, _)| beat);
        self.global_in = PingpongBufferIn {
            write_valid_i: arriving.word.is_some(),
            write_data_i: arriving.word.unwrap_or_default().0,
            write_last_i: arriving.word.is_some_and(|(_, last)| last),
            read_valid_i: beat.is_some(),
            read_address_i: beat.map_or(0, |beat| beat.word as u8),
            release_i: beat.is_some_and(|beat| beat.release),
            ..Default::default()
        };
        let output = std::slice::from_mut(&mut self.global_out);
        self.global.step(std::slice::from_ref(&self.global_in), output)?;
        if self.global_in.write_valid_i && !self.global_out.write_ready_o {
            return Err(DeviceError::Hazard(Hazard::OperandOverwritten));
        }
        if self.global_in.read_valid_i && !self.global_out.read_ready_o {
            return Err(DeviceError::Hazard(Hazard::OperandMissing));
        }
        Ok(())
    }

    /// The column that came in the last clock meets its word; another one takes its place.
    fn step_pus(&mut self, column: Option<(Beat, &[Word])>) -> Result<(), DeviceError> {
        if let Some(vectors) = vectors_mut(&mut *self.pus, self.shows_ports) {
            let beat = self.beat.map(|Beat { first, last, .. }| {
                self.words.fill(self.global_out.data_o);
                let (rows, factors) = (self.column.as_flattened(), self.words.as_flattened());
                TreeBeat { first, last, rows, factors }
            });
            self.new_results = vectors.step_alike(beat);
            self.beat = column.map(|(beat, _)| beat);
            if let Some((_, words)) = column {
                self.column.copy_from_slice(&words[..self.column.len()]);
            }
            return Ok(());
        }
        let shared_i = numbers(self.global_out.data_o);
        for input in &mut self.pu_in {
            input.valid_i = self.beat.is_some();
            if let Some(beat) = self.beat {
                input.first_i = beat.first;
                input.last_i = beat.last;
                input.shared_i = shared_i;
            }
        }
        self.pus.step(&self.pu_in, &mut self.pu_out)?;
        self.new_results = self.pu_out[0].result_valid_o;
        self.beat = column.map(|(beat, _)| beat);
        if let Some((_, words)) = column {
            for (input, word) in self.pu_in.iter_mut().zip(words) {
                input.row_i = numbers(*word);
            }
        }
        Ok(())
    }

    fn step_result_registers(&mut self, take: bool) -> Result<(), DeviceError> {
        let new = self.new_results;
        // What is read comes out in the clock behind.
        let comes = self.results_in[0].read_valid_i;
        let rests = !new && !take && !comes && !self.results_out[0].data_valid_o;
        if rests && self.results_rest && !self.shows_ports {
            return Ok(());
        }
        for channel in 0..self.results_in.len() {
            self.results_in[channel] = PingpongBufferIn {
                write_valid_i: new,
                write_data_i: if new { self.results_of(channel) } else { Word::default() },
                write_last_i: new,
                read_valid_i: take,
                release_i: take,
                ..Default::default()
            };
        }
        self.results.step(&self.results_in, &mut self.results_out)?;
        let state = &self.results_out[0];
        if new && !state.write_ready_o {
            return Err(DeviceError::Hazard(Hazard::ResultOverwritten));
        }
        if take && !state.read_ready_o {
            return Err(DeviceError::Hazard(Hazard::ResultMissing));
        }
        Ok(())
    }

    /// A result of each PU of a channel.
    fn results_of(&self, channel: usize) -> Word {
        let vectors = vectors(&*self.pus, self.shows_ports);
        let bits = |bank: usize| {
            let pu = BANKS * channel + bank;
            let of_vectors = |pus: &TreePus<Binary16>| match self.column.is_empty() {
                true => Fp::ZERO,
                false => pus.result(pu),
            };
            let score = vectors.map_or_else(|| self.pu_out[pu].result_o, of_vectors);
            u64::from(score.to_bits())
        };
        std::array::from_fn(|part| (0..4).map(|n| bits(4 * part + n) << (16 * n)).sum())
    }

    /// Goes over what of them is no data, for [laps](pimlico_units::lap).
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self {
            pus,
            shows_ports,
            pu_in: _,
            pu_out: _,
            column: _,
            words: _,
            beat,
            new_results: _,
            global,
            // Read in their own clock alone.
            global_in: _,
            global_out: _,
            results,
            results_rest,
            results_in,
            results_out,
            column_clocks: _,
            clocks_left,
        } = self;
        match vectors(&**pus, *shows_ports) {
            Some(vectors) => vectors.walk(walk),
            None => walk.refuse_if(true),
        }
        walk.refuse_if(!*results_rest);
        walk.still(beat.is_some());
        beat.iter().for_each(|beat| beat.walk(walk));
        global.walk(walk);
        results.walk(walk);
        walk.still(results_in[0].read_valid_i);
        walk.still(results_out[0].data_valid_o);
        walk.still(*clocks_left);
    }

    /// Makes [`pu`](Self::pu) show the PUs' inputs, from the next column on. To be called where nothing is
    /// under way.
    pub fn show_ports(&mut self) {
        self.shows_ports = true;
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.clocks_left == 0
    }

    /// Ports of the PU at bank 0 of channel 0, if somebody looks at them.
    pub fn pu(&self) -> (&PuIn, &PuOut) {
        (&self.pu_in[0], &self.pu_out[0])
    }

    /// Ports of the global buffer.
    pub fn global(&self) -> (&PingpongBufferIn<Word>, &PingpongBufferOut<Word>) {
        (&self.global_in, &self.global_out)
    }

    /// Ports of the result registers of channel 0.
    pub fn result_registers(&self) -> (&PingpongBufferIn<Word>, &PingpongBufferOut<Word>) {
        (&self.results_in[0], &self.results_out[0])
    }
}

/// The elements of a word, as a PU takes them.
fn numbers(word: Word) -> [Fp<Binary16>; MULTIPLIERS] {
    layout::elements(word).map(|bits| Fp::from_bits(bits.into()))
}

/// The PUs, if they are vectors whose ports nobody looks at.
fn vectors(pus: &dyn Instances<Pu>, shows_ports: bool) -> Option<&TreePus<Binary16>> {
    let pus: &dyn Any = pus;
    if shows_ports { None } else { pus.downcast_ref() }
}

/// The same.
fn vectors_mut(pus: &mut dyn Instances<Pu>, shows_ports: bool) -> Option<&mut TreePus<Binary16>> {
    let pus: &mut dyn Any = pus;
    if shows_ports { None } else { pus.downcast_mut() }
}
