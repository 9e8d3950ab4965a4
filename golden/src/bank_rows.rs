// SPDX-License-Identifier: MIT
//! Do layers that are streamed into the banks of several ranks keep to rows of their own?
//!
//! A [`RowJudge`] is told of the rows that a host gives to layers and takes back, of those that it keeps for the whole run
//! (K, V, the head), and of rows that it has seen written. It keeps a map of its own of who has which row, and finds
//!
//! * a row that is given while somebody has it, or to a layer on another rank than its own: layer *k* belongs on rank
//!   *k* mod R, so that it can be written while layer *k* - 1 computes;
//! * more rows at once than the limit;
//! * a write into a row that the layer being written does not have;
//! * a layer that is used with a row that was not written since it was given, or a row that is opened for it and belongs to
//!   another layer or to nobody;
//! * rows that are taken back from a layer that has none, and rows that are still out when the run is over.

use std::collections::BTreeMap;

/// A row of all banks of a rank: the rank, and its number there.
pub type Row = (usize, usize);

/// Who has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// What stays for the run.
    Kept,
    /// A layer.
    Layer(usize),
}

/// Judges who has which rows.
#[derive(Clone, Debug)]
pub struct RowJudge {
    ranks: usize,
    limit: Option<u64>,
    /// Who has each row, and whether it was written since.
    held: BTreeMap<Row, (Holder, bool)>,
    most: u64,
}

impl RowJudge {
    /// Of so many ranks, of which nobody has a row, and of so many rows at once.
    pub fn new(ranks: usize, limit: Option<u64>) -> Self {
        Self { ranks, limit, held: BTreeMap::new(), most: 0 }
    }

    /// The most rows at once so far.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Rows are given to somebody.
    pub fn given(
        &mut self,
        holder: Holder,
        rank: usize,
        rows: impl IntoIterator<Item = usize>,
    ) -> Result<(), String> {
        if rank >= self.ranks {
            return Err(format!("{holder:?} on rank {rank} of {}", self.ranks));
        }
        if let Holder::Layer(layer) = holder {
            let due = layer % self.ranks;
            if rank != due {
                return Err(format!("layer {layer} is given rows of rank {rank}, due is {due}"));
            }
            if self.held.values().any(|(other, _)| *other == holder) {
                return Err(format!("layer {layer} is given rows twice"));
            }
        }
        for row in rows {
            if let Some((other, _)) = self.held.insert((rank, row), (holder, false)) {
                return Err(format!(
                    "row {row} of rank {rank} is given to {holder:?}; {other:?} has it"
                ));
            }
        }
        let held = self.held.len() as u64;
        self.most = self.most.max(held);
        match self.limit {
            Some(limit) if held > limit => {
                Err(format!("{held} rows are in use, above the limit of {limit}"))
            }
            _ => Ok(()),
        }
    }

    /// Rows were written for somebody.
    pub fn written(
        &mut self,
        holder: Holder,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<(), String> {
        for row in rows {
            match self.held.get_mut(&row) {
                Some((of, written)) if *of == holder => *written = true,
                other => {
                    let (rank, row) = row;
                    let has = other
                        .map_or("nobody has it".to_owned(), |(of, _)| format!("{of:?} has it"));
                    return Err(format!(
                        "{holder:?} is written into row {row} of rank {rank}; {has}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// A layer is used.
    pub fn used(&self, layer: usize) -> Result<(), String> {
        let mut rows =
            self.held.iter().filter(|(_, (of, _))| *of == Holder::Layer(layer)).peekable();
        if rows.peek().is_none() {
            return Err(format!("layer {layer} is used and has no rows"));
        }
        match rows.find(|(_, (_, written))| !written) {
            Some(((rank, row), _)) => {
                Err(format!("layer {layer} is used; row {row} of rank {rank} was not written"))
            }
            None => Ok(()),
        }
    }

    /// Rows were opened while a layer, or what stays, was used.
    pub fn opened(
        &self,
        holder: Holder,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<(), String> {
        for row in rows {
            let of = self.held.get(&row).map(|(of, _)| *of);
            if of != Some(holder) && of != Some(Holder::Kept) {
                let (rank, row) = row;
                return Err(format!(
                    "row {row} of rank {rank} is opened for {holder:?}; it is {of:?}'s"
                ));
            }
        }
        Ok(())
    }

    /// A layer's rows are taken back.
    pub fn taken_back(&mut self, layer: usize) -> Result<(), String> {
        let before = self.held.len();
        self.held.retain(|_, (of, _)| *of != Holder::Layer(layer));
        match self.held.len() == before {
            true => Err(format!("layer {layer} gives rows back and has none")),
            false => Ok(()),
        }
    }

    /// The run is over: of the layers, those for which `may_stay` says so may have rows.
    pub fn finish(&self, may_stay: impl Fn(usize) -> bool) -> Result<(), String> {
        let left = self.held.values().find_map(|(of, _)| match of {
            Holder::Layer(layer) if !may_stay(*layer) => Some(layer),
            _ => None,
        });
        left.map_or(Ok(()), |layer| Err(format!("layer {layer} has not given its rows back")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Holder::{Kept, Layer};

    /// Rows 0 and 1 of both ranks stay; layer 0 is in rank 0, layer 1 in rank 1.
    fn two_layers() -> RowJudge {
        let mut judge = RowJudge::new(2, Some(8));
        judge.given(Kept, 0, 0..2).expect("free");
        judge.given(Kept, 1, 0..2).expect("free");
        for layer in [0, 1] {
            judge.given(Layer(layer), layer, 2..4).expect("free");
            judge.written(Layer(layer), [(layer, 2), (layer, 3)]).expect("its own");
        }
        judge
    }

    #[test]
    fn a_run_that_keeps_to_its_rows_is_passed() {
        let mut judge = two_layers();
        for layer in 0..10 {
            judge.used(layer).expect("written");
            judge.taken_back(layer).expect("had rows");
            judge.given(Layer(layer + 2), layer % 2, 2..4).expect("free again");
            judge.written(Layer(layer + 2), [(layer % 2, 2), (layer % 2, 3)]).expect("its own");
        }
        assert_eq!(judge.most(), 8);
        assert!(judge.finish(|layer| layer >= 10).is_ok());
        assert!(judge.finish(|_| false).expect_err("left").contains("has not given"));
    }

    #[test]
    fn every_breach_is_found() {
        let breach = |what: &dyn Fn(&mut RowJudge) -> Result<(), String>| {
            what(&mut two_layers()).expect_err("a breach")
        };
        assert_eq!(
            breach(&|judge| judge.given(Layer(2), 0, 3..5)),
            "row 3 of rank 0 is given to Layer(2); Layer(0) has it"
        );
        assert!(breach(&|judge| judge.given(Layer(3), 0, 4..6)).contains("due is 1"));
        assert!(breach(&|judge| judge.given(Layer(2), 2, 4..6)).contains("rank 2 of 2"));
        assert!(breach(&|judge| judge.given(Layer(0), 0, 4..6)).contains("twice"));
        assert_eq!(
            breach(&|judge| judge.given(Layer(2), 0, 4..6)),
            "10 rows are in use, above the limit of 8"
        );
        assert!(breach(&|judge| judge.written(Layer(0), [(1, 2)])).contains("Layer(1) has it"));
        assert!(breach(&|judge| judge.written(Layer(0), [(0, 4)])).contains("nobody has it"));
        assert!(breach(&|judge| judge.written(Layer(0), [(0, 1)])).contains("Kept has it"));
        assert!(breach(&|judge| judge.used(2)).contains("no rows"));
        assert!(breach(&|judge| judge.opened(Layer(0), [(0, 0), (1, 3)])).contains("Layer(1)"));
        assert!(breach(&|judge| judge.opened(Kept, [(0, 3)])).contains("Layer(0)"));
        let unwritten = breach(&|judge| {
            judge.taken_back(0)?;
            judge.given(Layer(2), 0, 2..4)?;
            judge.written(Layer(2), [(0, 2)])?;
            judge.used(2)
        });
        assert_eq!(unwritten, "layer 2 is used; row 3 of rank 0 was not written");
        assert!(breach(&|judge| judge.taken_back(7)).contains("has none"));
    }
}
