// SPDX-License-Identifier: MIT
//! Scores on their way to the softmax unit, and its weights on their way to the data bus.

use crate::gear::{self, DefaultGear, Gear, lanes};
use crate::lap::Walk;
use crate::prim::Fifo;
use pimlico_dpa::types::{Element, Head, Place, Weigh};
use pimlico_ports::{
    Model, Open, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};
use std::marker::PhantomData;

ports! {
    /// A way of weights.
    unit WeightPath<G: Gear = DefaultGear>: "weight_path" {
        inputs WeightPathIn {
            /// Scores in the buffer are to become a word of weights.
            weigh_valid_i: bool => all_but_one_in(4),
            /// The scores that are to become a word; stable until weigh is accepted.
            weigh_i: Weigh,
            /// The score buffer has its read port for others.
            busy_i: bool => one_in(8),
            /// The softmax unit accepts a group of scores, if there is one.
            ready_i: bool => all_but_one_in(3),
            /// The softmax unit has a group of weights.
            weight_valid_i: bool,
            /// The weights from the softmax unit.
            weight_i: G::Lanes<u16>,
            /// The oldest complete word leaves, only where there is one.
            taken_i: bool => one_in(3),
        }
        outputs WeightPathOut {
            /// The weigh is accepted: the last of its scores are asked for.
            taken_o: bool,
            /// Scores are asked for; they are there in the next cycle.
            read_o: bool,
            /// Place of the first score that is asked for in the score buffer; 0 if there is none.
            place_o: Place,
            /// There is a group of scores for the softmax unit.
            score_valid_o: bool,
            /// Element of the score buffer's word that is the first score of the group.
            element_o: U<2>,
            /// Query head of the scores.
            head_o: Head,
            /// A word becomes complete, with the weights of this cycle.
            made_o: bool,
            /// There are weights, by lane.
            weight_valid_o: G::Lanes<bool>,
            /// The weights with their head; 0 where there is none.
            weight_o: G::Lanes<Element>,
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
pub struct WeightPath<G: Gear = DefaultGear> {
    /// Scores of the weigh that have been asked for.
    index: u8,
    /// The group of scores that was asked for, if the softmax unit has not accepted it: the element that is
    /// its first, and its head.
    group: Option<(U<2>, Head)>,
    /// Words whose weights have not all come: head and count.
    coming: Fifo<(Head, U<3>), WORDS>,
    /// Weights of the first of them that have come.
    came: u8,
    word: u64,
    words: Fifo<u64, WORDS>,
    gear: PhantomData<G>,
}

impl<G: Gear> Unit for WeightPath<G> {
    const MODULE: &'static str = "weight_path";
    const PARAMETERS: &'static [(&'static str, i64)] =
        &[("WORDS", WORDS as i64), ("GEAR", G::TCK as i64)];
    type In = WeightPathIn<G>;
    type Out = WeightPathOut<G>;
    type Probe = WeightPathProbe<G>;

    fn variant() -> String {
        gear::variant::<G>("")
    }
}

impl<G: Gear> WeightPath<G> {
    /// Whether no score is on its way to the softmax unit.
    pub(super) fn rests(&self) -> bool {
        self.group.is_none()
    }

    /// Goes over what is no data, for [laps](crate::lap).
    pub(super) fn walk(&self, walk: &mut Walk<'_>) {
        let Self { index, group, coming, came, word: _, words, gear: _ } = self;
        walk.still(*index);
        walk.still(group.is_some());
        if let Some((element, head)) = group {
            walk.bits(element);
            walk.bits(head);
        }
        walk.size(coming.count());
        for (head, count) in coming.all() {
            walk.bits(head);
            walk.bits(count);
        }
        walk.still(*came);
        walk.size(words.count());
    }

    /// The oldest complete word; 0 if there is none.
    pub(super) fn word(&self) -> u64 {
        self.words.oldest().copied().unwrap_or_default()
    }
}

impl<G: Gear> Model for WeightPath<G> {
    fn new() -> Self {
        Self {
            index: 0,
            group: None,
            coming: Fifo::new(),
            came: 0,
            word: 0,
            words: Fifo::new(),
            gear: PhantomData,
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.group.is_none() {
            open.port("element_o").mark();
            open.port("head_o").mark();
        }
    }

    fn probe(&self) -> Self::Probe {
        WeightPathProbe::default()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let mut output = WeightPathOut {
            word_o: self.word(),
            score_valid_o: self.group.is_some(),
            ..Default::default()
        };
        (output.element_o, output.head_o) = self.group.unwrap_or_default();
        if input.weigh_valid_i {
            let Weigh { place, count, .. } = input.weigh_i;
            output.read_o = !input.busy_i && (self.group.is_none() || input.ready_i);
            output.place_o = Place::new(place.get() + u64::from(self.index));
            output.taken_o = output.read_o && u64::from(self.index) + G::TCK as u64 >= count.get();
        }
        if let (true, Some((head, count))) = (input.weight_valid_i, self.coming.oldest()) {
            let lacking = count.get().saturating_sub(self.came.into());
            let weights = input.weight_i.as_ref();
            output.weight_valid_o = lanes::<G, _>(|lane| (lane as u64) < lacking);
            output.weight_o = lanes::<G, _>(|lane| match (lane as u64) < lacking {
                true => Element { head: *head, bits: weights[lane] },
                false => Element::default(),
            });
            output.made_o = lacking <= G::TCK as u64;
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.clock(input, &output);
        output
    }
}

impl<G: Gear> WeightPath<G> {
    /// The end of a cycle with these outputs.
    #[inline]
    pub(super) fn clock(&mut self, input: &WeightPathIn<G>, output: &WeightPathOut<G>) {
        let comes = input.weight_valid_i && self.coming.oldest().is_some();
        let begins =
            (output.read_o && self.index == 0).then_some((input.weigh_i.head, input.weigh_i.count));
        let mut word = self.word;
        for (lane, weight) in output.weight_o.as_ref().iter().enumerate() {
            if output.weight_valid_o.as_ref()[lane] {
                let bits = 16 * ((usize::from(self.came) + lane) % 4);
                word = word & !(0xFFFF << bits) | u64::from(weight.bits) << bits;
            }
        }
        self.coming.clock(output.made_o, begins);
        self.words.clock(input.taken_i, output.made_o.then_some(word));
        if input.ready_i {
            self.group = None;
        }
        if output.read_o {
            self.group = Some((U::new(output.place_o.get()), input.weigh_i.head));
            self.index = if output.taken_o { 0 } else { (self.index + G::TCK as u8) % 4 };
        }
        if comes {
            (self.word, self.came) =
                if output.made_o { (0, 0) } else { (word, (self.came + G::TCK as u8) % 4) };
        }
    }
}
