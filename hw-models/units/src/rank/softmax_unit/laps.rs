// SPDX-License-Identifier: MIT
//! What of a softmax unit is the same behind a lap: see [`lap`](crate::lap).

use super::{Chunk, Group, Pass, SoftmaxUnit, Stage};
use crate::arith::Format;
use crate::gear::Width;
use crate::lap::Walk;

impl<F: Format, const LATE: bool, G: Width> SoftmaxUnit<F, LATE, G> {
    /// Goes over what is no number of the softmax. When it does what hangs on none of these.
    pub fn walk(&self, walk: &mut Walk<'_>) {
        let Self {
            maximum: _,
            total: _,
            position,
            head,
            first,
            scale,
            largest: _,
            old: _,
            peak: _,
            chunk: _,
            active,
            active_chunk,
            ended,
            stages,
            factor: _,
            sum,
            normalised,
            divider,
            finish_head,
            recip: _,
            finished,
            busy,
        } = self;
        for number in [position, head, finish_head] {
            walk.size(*number);
        }
        for flag in [first, finished] {
            walk.still(*flag);
        }
        for number in [ended, busy] {
            walk.still(*number);
        }
        for group in scale.in_order() {
            walk.still(group.is_some());
            if let Some(Group { scaled: _, place, head, first }) = group {
                walk.size(*place);
                walk.size(*head);
                walk.still(*first);
            }
        }
        walk.size(active.map_or(0, |place| place + 1));
        let Chunk { head, first, peak: _, old: _, maximum: _ } = active_chunk;
        walk.size(*head);
        walk.still(*first);
        for stage in stages.in_order() {
            walk.still(stage.is_some());
            if let Some(Stage { pass, head, first, place, exps: _, factor: _ }) = stage {
                walk.still(*pass == Pass::Weigh);
                walk.size(*head);
                walk.still(*first);
                walk.size(*place);
            }
        }
        normalised.in_order().for_each(|there| walk.still(there.is_some()));
        sum.walk(walk);
        divider.walk(walk);
    }
}
