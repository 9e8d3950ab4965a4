// SPDX-License-Identifier: MIT
//! Scores on their way to the softmax unit, and its weights on their way to the data bus.

use crate::prim::Fifo;
use pimlico_dpa::types::{Element, Head, Place, Weigh};
use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A way of weights.
    unit WeightPath: "weight_path" {
        inputs WeightPathIn {
            /// Scores in the buffer are to become a word of weights.
            weigh_valid_i: bool => all_but_one_in(4),
            /// The scores that are to become a word; stable until weigh is accepted.
            weigh_i: Weigh,
            /// The softmax unit accepts a score, if there is one.
            ready_i: bool => all_but_one_in(3),
            /// The softmax unit has a weight.
            weight_valid_i: bool,
            /// The weight from the softmax unit.
            weight_i: u16,
            /// The oldest complete word leaves, only where there is one.
            taken_i: bool => one_in(3),
        }
        outputs WeightPathOut {
            /// The weigh is accepted, with its last score.
            taken_o: bool,
            /// There is a score for the softmax unit.
            score_valid_o: bool,
            /// Place of the score in the score buffer; 0 if there is none.
            place_o: Place,
            /// Query head of the score; 0 if there is none.
            head_o: Head,
            /// A word becomes complete, with the weight of this tCK.
            made_o: bool,
            /// There is a weight.
            weight_valid_o: bool,
            /// The weight with its head; 0 if there is none.
            weight_o: Element,
            /// The oldest complete word, 0 in the weights that it lacks; 0 if there is none.
            word_o: u64,
        }
        probes WeightPathProbe {}
    }
}

/// Words on their way.
const WORDS: usize = 16;

/// The cycle model of a weight path.
///
#[doc = contract!("rank/weight_path")]
#[derive(Clone, Debug)]
pub struct WeightPath {
    /// Scores of the weigh that are taken.
    index: u8,
    /// Words whose weights have not all come: head and count.
    coming: Fifo<(Head, U<3>), WORDS>,
    /// Weights of the first of them that have come.
    came: u8,
    word: u64,
    words: Fifo<u64, WORDS>,
}

impl Unit for WeightPath {
    const MODULE: &'static str = "weight_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("WORDS", WORDS as i64)];
    type In = WeightPathIn;
    type Out = WeightPathOut;
    type Probe = WeightPathProbe;
}

impl Model for WeightPath {
    fn new() -> Self {
        Self { index: 0, coming: Fifo::new(), came: 0, word: 0, words: Fifo::new() }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        WeightPathProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let mut output = WeightPathOut {
            word_o: self.words.oldest().copied().unwrap_or_default(),
            ..Default::default()
        };
        if input.weigh_valid_i {
            let Weigh { place, head, count } = input.weigh_i;
            output.score_valid_o = true;
            output.place_o = Place::new(place.get() + u64::from(self.index));
            output.head_o = head;
            output.taken_o = input.ready_i && u64::from(self.index) + 1 == count.get();
        }
        if let (true, Some((head, count))) = (input.weight_valid_i, self.coming.oldest()) {
            output.weight_valid_o = true;
            output.weight_o = Element { head: *head, bits: input.weight_i };
            output.made_o = u64::from(self.came) + 1 == count.get();
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let takes = input.weigh_valid_i && input.ready_i;
        let begins =
            (takes && self.index == 0).then_some((input.weigh_i.head, input.weigh_i.count));
        let word = self.word | u64::from(input.weight_i) << (16 * self.came);
        self.coming.clock(output.made_o, begins);
        self.words.clock(input.taken_i, output.made_o.then_some(word));
        if takes {
            self.index = if output.taken_o { 0 } else { (self.index + 1) % 4 };
        }
        if output.weight_valid_o {
            (self.word, self.came) =
                if output.made_o { (0, 0) } else { (word, (self.came + 1) % 4) };
        }
        output
    }
}
