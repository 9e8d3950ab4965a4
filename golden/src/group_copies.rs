// SPDX-License-Identifier: MIT
//! Does a prefill copy its weights as PIM-SHERPA does (sections 4.1 and 4.3, Figures 5 and 7)?
//!
//! A [`CopyJudge`] is told the matrices of each group ([`Copied`]) and sees what threads did, step by step, in the order in
//! which it is said to have happened.
//!
//! * With two buffers (DDB), group *j* is in buffer *j* mod 2. The first group is copied before the first product, and every
//!   other in as many equal parts as the group before it has matrices: part *p* is copied beside the product with matrix
//!   *p*, and both end before the next product begins.
//! * With one buffer (OWR), a group is copied, then multiplied, before the next is copied.
//! * With none, nothing is copied.
//!
//! With any of them each product is in its order, one at a time, and has a group that was copied whole; a buffer is written
//! when the group in it has been multiplied whole; every byte of a group is copied once; times do not fall.

use std::fmt;

/// Bytes of an element.
const ELEMENT: u64 = 2;

/// What was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Rows and columns of the matrices of each group, in the order of their products.
    pub groups: Vec<Vec<(u64, u64)>>,
    /// Buffers: two, one or none.
    pub buffers: usize,
}

/// Something that threads did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The copy of a part of a group began.
    CopyBegan {
        /// Which group.
        group: usize,
        /// Into which buffer.
        buffer: usize,
        /// How many bytes.
        bytes: u64,
    },
    /// It ended.
    CopyEnded,
    /// The product with a matrix began.
    ProductBegan {
        /// Of which group.
        group: usize,
        /// Which of its matrices.
        matrix: usize,
        /// From which buffer, if there are any.
        buffer: Option<usize>,
    },
    /// It ended.
    ProductEnded,
}

/// A step that should not have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfStep {
    /// Its number, from 0; as many as there were, if one is missing.
    pub step: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for OutOfStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.what)
    }
}

impl std::error::Error for OutOfStep {}

/// Judges the steps of a prefill.
#[derive(Clone, Debug)]
pub struct CopyJudge {
    rules: Copied,
    /// Of each group the parts that were copied, and their bytes.
    parts: Vec<(usize, u64)>,
    /// The group that is being copied, and bytes of its part.
    copying: Option<(usize, u64)>,
    /// Products that began and that ended.
    began: usize,
    ended: usize,
    at: u64,
    steps: usize,
}

impl CopyJudge {
    /// Of a prefill that has not begun.
    pub fn new(rules: Copied) -> Self {
        let parts = vec![(0, 0); rules.groups.len()];
        Self { rules, parts, copying: None, began: 0, ended: 0, at: 0, steps: 0 }
    }

    /// Sees the next step, at a time in ns.
    pub fn see(&mut self, at_ns: u64, step: Step) -> Result<(), OutOfStep> {
        let seen = self.check(at_ns, step);
        let number = self.steps;
        self.steps += 1;
        seen.map_err(|what| OutOfStep { step: number, what: format!("{step:?}: {what}") })
    }

    /// The prefill is over.
    pub fn finish(&self) -> Result<(), OutOfStep> {
        let wrong = |what: String| Err(OutOfStep { step: self.steps, what });
        let products: usize = self.rules.groups.iter().map(Vec::len).sum();
        if self.ended != products {
            return wrong(format!("{} of {products} products", self.ended));
        }
        match self.copying {
            Some((group, _)) => wrong(format!("group {group} is being copied")),
            None => Ok(()),
        }
    }

    fn check(&mut self, at_ns: u64, step: Step) -> Result<(), String> {
        if at_ns < self.at {
            return Err(format!("at {at_ns} ns, after {} ns", self.at));
        }
        self.at = at_ns;
        match step {
            Step::CopyBegan { group, buffer, bytes } => self.copy_began(group, buffer, bytes),
            Step::CopyEnded => self.copy_ended(),
            Step::ProductBegan { group, matrix, buffer } => {
                self.product_began((group, matrix), buffer)
            }
            Step::ProductEnded if self.began == self.ended => Err("none is under way".to_owned()),
            Step::ProductEnded => {
                self.ended += 1;
                Ok(())
            }
        }
    }

    /// Parts in which a group is copied.
    fn parts_of(&self, group: usize) -> usize {
        match (self.rules.buffers, group) {
            (2, 1..) => self.rules.groups[group - 1].len(),
            _ => 1,
        }
    }

    fn is_copied(&self, group: usize) -> bool {
        self.parts[group].0 == self.parts_of(group)
    }

    /// Products before the first of a group.
    fn before(&self, group: usize) -> usize {
        self.rules.groups[..group].iter().map(Vec::len).sum()
    }

    fn copy_began(&mut self, group: usize, buffer: usize, bytes: u64) -> Result<(), String> {
        if let Some((other, _)) = self.copying {
            return Err(format!("group {other} is being copied"));
        }
        let due = (0..self.rules.groups.len()).find(|group| !self.is_copied(*group));
        if due != Some(group) || self.rules.buffers == 0 {
            return Err(format!("due is {due:?}, with {} buffers", self.rules.buffers));
        }
        let expected = group % self.rules.buffers;
        if buffer != expected {
            return Err(format!("expected buffer {expected}"));
        }
        if let Some(former) = (group + 1).checked_sub(self.rules.buffers + 1)
            && self.ended < self.before(former + 1)
        {
            return Err(format!("group {former}, in the same buffer, is still wanted"));
        }
        let (part, _) = self.parts[group];
        let beside = (group > 0 && self.rules.buffers == 2).then(|| self.before(group - 1) + part);
        match beside {
            Some(product) if self.began <= product => {
                return Err(format!("before product {product}, beside which it belongs"));
            }
            None if self.began > self.ended => return Err("beside a product".to_owned()),
            _ => {}
        }
        let all = self.bytes_of(group);
        let column: u64 = self.rules.groups[group].iter().map(|(rows, _)| ELEMENT * rows).sum();
        let parts = self.parts_of(group) as u64;
        if (parts * bytes).abs_diff(all) > parts * column {
            return Err(format!("expected a {parts}th of {all} bytes"));
        }
        self.copying = Some((group, bytes));
        Ok(())
    }

    fn bytes_of(&self, group: usize) -> u64 {
        self.rules.groups[group].iter().map(|(rows, columns)| ELEMENT * rows * columns).sum()
    }

    fn copy_ended(&mut self) -> Result<(), String> {
        let (group, bytes) = self.copying.take().ok_or("none is under way")?;
        let (parts, copied) = &mut self.parts[group];
        *parts += 1;
        *copied += bytes;
        let copied = *copied;
        let all = self.bytes_of(group);
        match self.is_copied(group) && copied != all {
            true => Err(format!("{copied} of {all} bytes of group {group} were copied")),
            false => Ok(()),
        }
    }

    fn product_began(
        &mut self,
        (group, matrix): (usize, usize),
        buffer: Option<usize>,
    ) -> Result<(), String> {
        if self.began > self.ended {
            return Err("another is under way".to_owned());
        }
        let all = self.rules.groups.iter().enumerate();
        let mut all = all.flat_map(|(group, of)| (0..of.len()).map(move |matrix| (group, matrix)));
        let due = all.nth(self.began);
        if due != Some((group, matrix)) {
            return Err(format!("due is {due:?}"));
        }
        let buffers = self.rules.buffers;
        let expected = (buffers > 0).then(|| group % buffers);
        if buffer != expected {
            return Err(format!("expected buffer {expected:?}"));
        }
        if buffers > 0 && !self.is_copied(group) {
            return Err(format!("group {group} is not copied whole"));
        }
        // The barrier behind the product before.
        if let Some((copying, _)) = self.copying {
            return Err(format!("group {copying} is being copied"));
        }
        let next = self.parts.get(group + 1);
        if let Some((parts, _)) = next.filter(|_| buffers == 2)
            && *parts < matrix
        {
            return Err(format!("{parts} of {matrix} parts of group {} are copied", group + 1));
        }
        self.began += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Step::*;

    /// A group of two matrices, and one of one.
    fn two() -> Copied {
        Copied { groups: vec![vec![(4, 3), (2, 3)], vec![(5, 5)]], buffers: 2 }
    }

    fn copy(group: usize, buffer: usize, bytes: u64) -> Step {
        CopyBegan { group, buffer, bytes }
    }

    fn product(group: usize, matrix: usize, buffer: usize) -> Step {
        ProductBegan { group, matrix, buffer: Some(buffer) }
    }

    fn double_buffered() -> Vec<Step> {
        vec![
            copy(0, 0, 36),
            CopyEnded,
            product(0, 0, 0),
            copy(1, 1, 20),
            CopyEnded,
            ProductEnded,
            product(0, 1, 0),
            ProductEnded,
            copy(1, 1, 30),
            CopyEnded,
            product(1, 0, 1),
            ProductEnded,
        ]
    }

    fn judged(rules: Copied, steps: &[Step]) -> Result<(), String> {
        let mut judge = CopyJudge::new(rules);
        for (at, step) in steps.iter().enumerate() {
            judge.see(at as u64, *step).map_err(|wrong| wrong.to_string())?;
        }
        judge.finish().map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn steps_that_follow_the_method_are_right() {
        assert_eq!(judged(two(), &double_buffered()), Ok(()));
        let one = Copied { groups: vec![vec![(4, 3)], vec![(2, 3)]], buffers: 1 };
        let [first, second] = [product(0, 0, 0), product(1, 0, 0)];
        let turns = [
            copy(0, 0, 24),
            CopyEnded,
            first,
            ProductEnded,
            copy(1, 0, 12),
            CopyEnded,
            second,
            ProductEnded,
        ];
        assert_eq!(judged(one.clone(), &turns), Ok(()));
        // The copy of the second beside the first product.
        let mut early = turns;
        early.swap(3, 4);
        assert!(judged(one, &early).is_err_and(|what| what.contains("still wanted")));
        let none = Copied { buffers: 0, groups: vec![vec![(4, 3)]] };
        let alone = [ProductBegan { group: 0, matrix: 0, buffer: None }, ProductEnded];
        assert_eq!(judged(none.clone(), &alone), Ok(()));
        assert!(judged(none, &turns[..2]).is_err());
    }

    #[test]
    fn every_step_is_needed() {
        for left_out in 0..double_buffered().len() {
            let mut steps = double_buffered();
            steps.remove(left_out);
            assert!(judged(two(), &steps).is_err(), "without {:?}", double_buffered()[left_out]);
        }
    }

    #[test]
    fn no_two_dependent_steps_may_change_places() {
        for first in 0..double_buffered().len() - 1 {
            let mut steps = double_buffered();
            steps.swap(first, first + 1);
            // The end of a copy and of the product beside it; the beginning of a copy and the end of that product.
            let is_free = first == 4 || first == 7;
            assert_eq!(judged(two(), &steps).is_ok(), is_free, "{first}");
        }
    }

    #[test]
    fn other_faults_are_found() {
        let with = |at: usize, step: Step| {
            let mut steps = double_buffered();
            steps[at] = step;
            judged(two(), &steps).expect_err("a fault")
        };
        assert!(with(3, copy(1, 0, 20)).contains("expected buffer 1"));
        assert!(with(10, product(1, 0, 0)).contains("expected buffer Some(1)"));
        // A quarter, here a half, that is too large, and one that leaves a column out.
        assert!(with(3, copy(1, 1, 40)).contains("expected a 2th of 50 bytes"));
        assert!(with(8, copy(1, 1, 20)).contains("40 of 50 bytes"));
        // A product before the barrier: the part is not copied.
        let mut steps = double_buffered();
        let early: Vec<_> = steps.drain(8..10).collect();
        steps.truncate(9);
        assert!(judged(two(), &steps).is_err_and(|what| what.contains("not copied whole")));
        let mut steps = double_buffered();
        steps.drain(3..5);
        steps.splice(6..6, early);
        assert!(judged(two(), &steps).is_err_and(|what| what.contains("0 of 1 parts")));
        let mut judge = CopyJudge::new(two());
        judge.see(5, copy(0, 0, 36)).expect("the first");
        assert!(judge.see(4, CopyEnded).is_err());
    }
}
