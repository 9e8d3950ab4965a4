// SPDX-License-Identifier: MIT
//! What comes of the adder unit's sums in a cycle: scores, weights, elements of the context, outputs.

use super::softmax::{Softened, SoftmaxInput, SoftmaxWay};
use super::sums::{Added, SumWay};
use crate::dispatch::Made;
use pimlico_dpa::types::{Element, RankEvents, RankResults, Score};
use pimlico_ports::U;
use pimlico_units::rank::SequencerOut;

/// The units behind the bank PUs.
pub struct Behind<'a> {
    pub sums: &'a mut dyn SumWay,
    pub softmax: &'a mut dyn SoftmaxWay,
    /// tCK of a cycle: lanes of the adder unit.
    pub lanes: usize,
}

impl Behind<'_> {
    /// Whether a cycle changes nothing in which this is requested, and this comes out of the adder unit.
    pub fn rests(&self, asked: &SequencerOut, added: &Added, word_taken: bool) -> bool {
        let asks = asked.finish_valid_o || asked.weigh_valid_o || word_taken;
        let comes = added.tree.is_some() || added.reads.is_some() || self.sums.context().is_some();
        !asks && !comes && self.softmax.rests()
    }

    /// A cycle of the softmax unit: scores, weights and, where they are normalised late, sums go through it; `added` is what
    /// comes out of the adder unit, `word_taken` that the oldest word of weights leaves. Tells what is made, and returns whether
    /// the unit works and what the host is shown.
    pub fn step(
        &mut self,
        asked: &SequencerOut,
        added: &Added,
        word_taken: bool,
        events: &mut RankEvents,
        tell: &mut dyn FnMut(Made),
    ) -> (bool, Option<RankResults>) {
        let context = self.sums.context();
        let is_late = self.softmax.is_late();
        let sum = context.filter(|_| is_late).map(|context| (context.sums[0], context.head));
        let given = SoftmaxInput { tree: added.tree, reads: added.reads, word_taken, sum };
        let made = self.softmax.step(asked, &given);
        self.sums.give_outputs(self.softmax.partial_outputs());
        let mut elements = [made.context, None, None, None];
        match context {
            Some(context) if !is_late => {
                self.sums.take_context(self.lanes);
                for (element, bits) in elements.iter_mut().zip(context.rounded).take(self.lanes) {
                    *element = Some(Element { head: context.head, bits });
                }
            }
            _ if made.sum_taken => self.sums.take_context(1),
            _ => {}
        }
        events.scaled = made.scaled;
        events.finish_taken = made.finish_taken;
        events.finished = made.finished;
        events.weigh_taken = made.weigh_taken;
        events.word_made = made.word_made;
        events.context_made = U::new(elements.iter().flatten().count() as u64);
        events.output_made = U::new(made.outputs.iter().flatten().count() as u64);
        tell_all(&made, &elements, tell);
        let is_made = events.context_made != U::new(0) || events.output_made != U::new(0);
        (made.works, is_made.then(|| results(&elements, &made.outputs)))
    }
}

fn tell_all(made: &Softened, context: &[Option<Element>; 4], tell: &mut dyn FnMut(Made)) {
    for Element { head, bits } in made.weights.into_iter().flatten() {
        tell(Made::Weight { head: head.get() as usize, bits });
    }
    for Score { head, bits, .. } in made.scores.into_iter().flatten().filter(|s| !s.masked) {
        tell(Made::Score { head: head.get() as usize, bits });
    }
    for Element { head, bits } in context.iter().copied().flatten() {
        tell(Made::Context { head: head.get() as usize, bits });
    }
    for bits in made.outputs.into_iter().flatten() {
        tell(Made::Output(bits));
    }
}

/// The elements of the context and the outputs of a cycle, by lane.
fn results(context: &[Option<Element>; 4], outputs: &[Option<u16>; 4]) -> RankResults {
    fn valid<T>(lanes: &[Option<T>; 4]) -> U<4> {
        let bits = lanes.iter().enumerate().map(|(n, lane)| u64::from(lane.is_some()) << n);
        U::new(bits.sum())
    }
    RankResults {
        context_valid: valid(context),
        context_element: context.map(Option::unwrap_or_default),
        output_valid: valid(outputs),
        output_element: outputs.map(Option::unwrap_or_default),
        ..RankResults::default()
    }
}
