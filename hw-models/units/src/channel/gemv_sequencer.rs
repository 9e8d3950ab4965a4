// SPDX-License-Identifier: MIT
//! Beats of dot products and bursts of results from PIM_GEMV and its parts.

use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A GEMV sequencer.
    unit GemvSequencer: "gemv_sequencer" {
        inputs GemvSequencerIn {
            /// Beat to beat, in tCK; sampled in the first cycle after reset, as all timings.
            dot_i: U<4>,
            /// Last beat of a GEMV to its burst of results, in tCK.
            latency_i: U<5>,
            /// RDRESULT to its burst of results, in tCK.
            cl_i: U<5>,
            /// A GEMV or DOTPRODUCT is on the pins.
            valid_i: bool => all_but_one_in(3),
            /// The command is a GEMV; else a DOTPRODUCT.
            gemv_i: bool,
            /// Dot products of the GEMV, less one.
            count_i: U<5>,
            /// First word of the row and of the global buffer.
            word_i: U<5>,
            /// The DOTPRODUCT begins a sum.
            first_i: bool,
            /// The DOTPRODUCT ends a sum.
            last_i: bool,
            /// An RDRESULT is on the pins.
            read_i: bool => one_in(8),
        }
        outputs GemvSequencerOut {
            /// A GEMV or DOTPRODUCT may be on the pins.
            ready_o: bool,
            /// A beat: each PU takes a word of its row and one of the global buffer.
            beat_o: bool,
            /// Word of the beat, or zero.
            beat_word_o: U<5>,
            /// The beat begins a sum.
            beat_first_o: bool,
            /// The beat ends a sum.
            beat_last_o: bool,
            /// A burst of results begins on the data bus.
            result_o: bool,
            /// In the last cycle a command was not obeyed, or a burst was asked for that meets another.
            fault_o: bool,
        }
        probes GemvSequencerProbe {}
    }
}

/// The cycle model of a GEMV sequencer.
///
#[doc = contract!("channel/gemv_sequencer")]
#[derive(Clone, Debug, Default)]
pub struct GemvSequencer<const K_MAX: u64 = 32> {
    times: Option<Times>,
    /// Beats of the GEMV that are still to come, and the word of the next.
    left: u64,
    word: u64,
    /// Cycles until there may be another beat.
    gap: u64,
    /// The beat of this cycle.
    beat: Option<Beat>,
    /// Bursts that are to come: bit 0 begins in this cycle.
    bursts: u32,
    fault: bool,
}

/// The timings, in tCK.
#[derive(Clone, Copy, Debug)]
struct Times {
    dot: u64,
    latency: u64,
    cl: u64,
}

#[derive(Clone, Copy, Debug)]
struct Beat {
    word: u64,
    first: bool,
    last: bool,
    /// The results follow it by themselves.
    sends: bool,
}

impl<const K_MAX: u64> GemvSequencer<K_MAX> {
    fn is_ready(&self) -> bool {
        self.times.is_some() && self.left == 0 && self.gap <= 1
    }

    /// The next beat of the GEMV that is under way, if it is due.
    fn goes_on(&mut self) -> Option<Beat> {
        if self.left == 0 || self.gap != 1 {
            return None;
        }
        self.left -= 1;
        self.word += 1;
        let last = self.left == 0;
        Some(Beat { word: self.word - 1, first: false, last, sends: last })
    }

    /// The first beat of a command, if it is obeyed.
    fn begins(&mut self, input: &GemvSequencerIn) -> Option<Beat> {
        let more = if input.gemv_i { input.count_i.get() } else { 0 };
        let word = input.word_i.get();
        if !input.valid_i || !self.is_ready() || word + more >= K_MAX {
            return None;
        }
        (self.left, self.word) = (more, word + 1);
        let (first, last) =
            if input.gemv_i { (true, more == 0) } else { (input.first_i, input.last_i) };
        Some(Beat { word, first, last, sends: input.gemv_i && last })
    }

    /// The bursts of a cycle join those that are to come. Returns whether one meets another.
    fn ask_for(&mut self, read: bool, times: Times) -> bool {
        let sends = self.beat.is_some_and(|beat| beat.sends);
        let mut meets = false;
        // Begins, counted from this cycle.
        let (bursts, mut later) = (self.bursts, self.bursts >> 1);
        for delay in
            [sends.then_some(times.latency), read.then_some(times.cl)].into_iter().flatten()
        {
            let is_taken = |cycle: u64| {
                let of_old = cycle < 32 && bursts >> cycle & 1 == 1;
                of_old || cycle > 0 && later >> (cycle - 1) & 1 == 1
            };
            meets |= (delay - 1..=delay + 1).any(is_taken);
            later |= 1 << (delay - 1);
        }
        self.bursts = later;
        meets
    }
}

impl<const K_MAX: u64> Unit for GemvSequencer<K_MAX> {
    const MODULE: &'static str = "gemv_sequencer";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("K_MAX", K_MAX as i64)];
    type In = GemvSequencerIn;
    type Out = GemvSequencerOut;
    type Probe = GemvSequencerProbe;

    fn variant() -> String {
        if K_MAX == 32 { String::new() } else { format!("k{K_MAX}") }
    }
}

impl<const K_MAX: u64> Model for GemvSequencer<K_MAX> {
    fn new() -> Self {
        Self::default()
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        GemvSequencerProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let beat = self.beat;
        let output = GemvSequencerOut {
            ready_o: self.is_ready(),
            beat_o: beat.is_some(),
            beat_word_o: U::new(beat.map_or(0, |beat| beat.word)),
            beat_first_o: beat.is_some_and(|beat| beat.first),
            beat_last_o: beat.is_some_and(|beat| beat.last),
            result_o: self.bursts & 1 == 1,
            fault_o: self.fault,
        };

        let Some(times) = self.times else {
            self.times = Some(Times {
                dot: input.dot_i.get().max(1),
                latency: input.latency_i.get().max(1),
                cl: input.cl_i.get().max(1),
            });
            self.fault = input.valid_i || input.read_i;
            return output;
        };
        let meets = self.ask_for(input.read_i, times);
        let begun = self.begins(input);
        self.fault = meets || input.valid_i && (begun.is_none() || input.read_i);
        self.beat = begun.or_else(|| self.goes_on());
        self.gap = if self.beat.is_some() { times.dot } else { self.gap.saturating_sub(1) };
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: (u64, u64, u64) = (2, 4, 14);

    /// The outputs of cycles with these commands, the first of which is for the timings.
    fn run(cycles: usize, commands: &[(usize, GemvSequencerIn)]) -> Vec<GemvSequencerOut> {
        let mut unit = GemvSequencer::<32>::new();
        let (dot, latency, cl) = TIMES;
        let timings = GemvSequencerIn {
            dot_i: U::new(dot),
            latency_i: U::new(latency),
            cl_i: U::new(cl),
            ..Default::default()
        };
        let command = |cycle| commands.iter().find(|(at, _)| *at == cycle).map(|(_, input)| *input);
        let inputs = (0..cycles).map(|cycle| match cycle {
            0 => timings,
            _ => command(cycle).unwrap_or_default(),
        });
        inputs.map(|input| unit.step(&input)).collect()
    }

    fn gemv(word: u64, count: u64) -> GemvSequencerIn {
        GemvSequencerIn {
            valid_i: true,
            gemv_i: true,
            word_i: U::new(word),
            count_i: U::new(count - 1),
            ..Default::default()
        }
    }

    fn dot_product(word: u64, first_i: bool, last_i: bool) -> GemvSequencerIn {
        GemvSequencerIn { gemv_i: false, first_i, last_i, ..gemv(word, 1) }
    }

    fn at(outputs: &[GemvSequencerOut], bit: impl Fn(&GemvSequencerOut) -> bool) -> Vec<usize> {
        (0..outputs.len()).filter(|&cycle| bit(&outputs[cycle])).collect()
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let outputs = run(12, &[(1, gemv(8, 3)), (7, dot_product(5, true, false))]);
        assert_eq!(at(&outputs, |o| o.ready_o), [1, 7, 9, 10, 11]);
        assert_eq!(at(&outputs, |o| o.beat_o), [2, 4, 6, 8]);
        let words: Vec<_> =
            [2, 4, 6, 8].map(|cycle: usize| outputs[cycle].beat_word_o.get()).into();
        assert_eq!(words, [8, 9, 10, 5]);
        assert_eq!(at(&outputs, |o| o.beat_first_o), [2, 8]);
        assert_eq!(at(&outputs, |o| o.beat_last_o), [6]);
        assert_eq!(at(&outputs, |o| o.result_o), [10]);
        assert_eq!(at(&outputs, |o| o.fault_o), [0; 0]);
    }

    #[test]
    fn a_tile_of_32_words_has_a_beat_every_two_cycles() {
        let outputs = run(80, &[(1, gemv(0, 32))]);
        let beats: Vec<_> = (0..32).map(|beat| 2 + 2 * beat).collect();
        assert_eq!(at(&outputs, |o| o.beat_o), beats);
        assert_eq!(at(&outputs, |o| o.result_o), [64 + 4]);
        assert_eq!(at(&outputs, |o| o.ready_o)[..2], [1, 65]);
    }

    #[test]
    fn what_is_not_obeyed_is_a_fault() {
        let read = GemvSequencerIn { read_i: true, ..Default::default() };
        let outputs =
            run(24, &[(1, gemv(0, 2)), (3, dot_product(1, true, true)), (6, gemv(30, 3))]);
        assert_eq!(at(&outputs, |o| o.fault_o), [4, 7]);
        assert_eq!(at(&outputs, |o| o.beat_o), [2, 4]);
        // Two bursts a cycle apart, and two that have room.
        let outputs = run(24, &[(2, read), (3, read), (5, read)]);
        assert_eq!(at(&outputs, |o| o.fault_o), [4]);
        assert_eq!(at(&outputs, |o| o.result_o), [16, 17, 19]);
        // A GEMV's last beat in cycle 4, its results in 8; an RDRESULT's in 9 had to be asked for before.
        let outputs = run(24, &[(1, dot_product(0, true, true)), (2, read), (9, gemv(0, 2))]);
        assert_eq!(at(&outputs, |o| o.result_o), [16]);
        assert_eq!(at(&outputs, |o| o.fault_o), [13]);
    }
}
