// SPDX-License-Identifier: MIT
//! Rows that a module writes without data: those that are known are passed, and what is seen of others is known from there on.

use super::known::{KnownRow, RowBegin};
use super::layout::RowWrites;
use super::module::Module;
use crate::tape::{Tape, Told};
use pimlico_units::lap::{Survey, Walk};

/// What becomes of the writes of a row.
pub enum RowOutcome {
    /// They were known, and are done.
    Passed,
    /// They are to be stepped. What is on the pins is kept, if there is something that they may be known by.
    Stepped(Option<RowBegin>),
}

impl Module {
    /// Rows whose writes were known, and passed, since the reset: for tests.
    pub fn passed_rows(&self) -> u64 {
        self.known_rows.passed
    }

    /// Writes of a row begin, behind those of one that was kept, if it was. If they are known, they are done; else they are to be
    /// stepped, and may be kept.
    pub(super) fn begin_row(
        &mut self,
        writes: &RowWrites<'_>,
        kept: Option<RowBegin>,
    ) -> RowOutcome {
        let tape = self.teller.keep(None);
        let Some(begin) = self.begun(writes) else { return RowOutcome::Stepped(None) };
        let before =
            kept.and_then(|kept| KnownRow::between(kept, &begin, tape.unwrap_or_default()));
        if let Some(before) = before {
            self.known_rows.see(before);
        }
        if self.pass_row(&begin) {
            return RowOutcome::Passed;
        }
        self.teller.keep(Some(Tape::default()));
        RowOutcome::Stepped(Some(begin))
    }

    /// No row is kept.
    pub(super) fn leave_rows(&mut self) {
        self.teller.keep(None);
    }

    /// Where writes of a row begin, if there are no data and nothing but writes is under way.
    fn begun(&mut self, writes: &RowWrites<'_>) -> Option<RowBegin> {
        if !self.writes_without_data() {
            return None;
        }
        let (refreshing, left) = self.control.refreshing()?;
        let row = writes.row() as u16;
        let mut survey = Survey::default();
        self.walk(&mut Walk::survey(&mut survey, row, 0));
        let (shape, tck) = (writes.shape(), self.tck);
        let begin = RowBegin { shape, row, tck, survey, refreshing, left };
        (!begin.survey.refused).then_some(begin)
    }

    /// A row is done that begins so, if it is known and those who watch take what it has.
    fn pass_row(&mut self, begin: &RowBegin) -> bool {
        let Some(row) = self.known_rows.row(begin) else { return false };
        let told = row.told(begin);
        let takes = |told: Told| match told {
            Told::Writes { run, .. } => self.teller.takes(&run),
            _ => true,
        };
        if !told.clone().all(takes) {
            return false;
        }
        // There are no all-bank RDs.
        told.for_each(|told| self.teller.again(&told, &[]));
        let (refreshing, left) = row.refreshing(begin);
        let by = row.by.clone();
        self.control.set_refreshing(refreshing, left);
        self.walk(&mut Walk::on(&by, 1));
        self.known_rows.passed += 1;
        true
    }
}
