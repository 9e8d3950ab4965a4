// SPDX-License-Identifier: MIT
//! Matrices of a model out of the banks of ranks.

use super::Kind;
use super::ranks::{Block, Member, OnRanks};
use crate::error::WorkloadError;
use crate::in_banks::{BankMatrix, Banked, Lines};
use crate::l3::gemv;
use crate::report::Written;

impl OnRanks<'_> {
    /// [`Machine::fetch`](super::Machine::fetch): by the host's memory controller, through the buffer chips.
    pub(super) fn fetch_blocks(
        &mut self,
        kind: Kind,
        layer: Option<usize>,
        rows: &[usize],
    ) -> Result<(Vec<BankMatrix<'static>>, Option<Written>), WorkloadError> {
        let (mut reads, mut bytes, mut lines) = (Vec::new(), 0, Vec::new());
        for Block { rank, layout, .. } in self.blocks(kind, layer) {
            let Member { rank: device, host, .. } = &mut self.members[rank];
            let (memory, cost) = gemv::fetch(*device, host, &layout)?;
            reads.push((rank, cost));
            bytes += gemv::bytes(&layout);
            lines.push(Lines { of: Banked::new(layout, memory), lines: 0..layout.rows });
        }
        Ok((BankMatrix::cut(lines, rows), Some(self.written(&reads, bytes))))
    }
}
