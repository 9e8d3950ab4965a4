// SPDX-License-Identifier: MIT
//! What the host writes to a module so that programs can run on it, beside K, V and weights.

use pimlico_dpa::types::{Load, LoadKind};

/// Writes of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bursts on the host's data bus; 0 where the module is behind a link.
    pub bursts: u64,
    /// Bytes that mean something: a burst may have more.
    pub bytes: u64,
}

impl Sent {
    /// Of two.
    pub fn and(self, other: Self) -> Self {
        Self { bursts: self.bursts + other.bursts, bytes: self.bytes + other.bytes }
    }
}

/// What was written, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetUp {
    /// Words of programs.
    pub programs: Sent,
    /// Entries of the Va2Pa table: rows of the banks.
    pub rows: Sent,
    /// T_cur, segments and layers of requests.
    pub requests: Sent,
    /// STARTs.
    pub starts: Sent,
    /// Operands: queries and vectors.
    pub operands: Sent,
}

impl SetUp {
    /// Of two.
    pub fn and(self, other: Self) -> Self {
        Self {
            programs: self.programs.and(other.programs),
            rows: self.rows.and(other.rows),
            requests: self.requests.and(other.requests),
            starts: self.starts.and(other.starts),
            operands: self.operands.and(other.operands),
        }
    }

    /// A burst with writes of one kind.
    pub fn load(&mut self, writes: &[Load]) {
        let Some(Load { kind, .. }) = writes.first() else { return };
        let (of_kind, bytes) = match kind {
            LoadKind::Command | LoadKind::Clear => (&mut self.programs, 8),
            LoadKind::Entry => (&mut self.rows, 2),
            LoadKind::Tokens | LoadKind::Segment | LoadKind::Layers => (&mut self.requests, 4),
        };
        let bytes = if *kind == LoadKind::Clear { 0 } else { bytes * writes.len() as u64 };
        *of_kind = of_kind.and(Sent { bursts: 1, bytes });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_counts_for_its_kind() {
        let write = |kind| Load { kind, ..Load::default() };
        let mut set_up = SetUp::default();
        set_up.load(&[write(LoadKind::Clear)]);
        set_up.load(&[write(LoadKind::Command); 7]);
        set_up.load(&[write(LoadKind::Entry); 3]);
        set_up.load(&[write(LoadKind::Tokens)]);
        set_up.load(&[]);
        let sent = |bursts, bytes| Sent { bursts, bytes };
        let expected = SetUp {
            programs: sent(2, 56),
            rows: sent(1, 6),
            requests: sent(1, 4),
            ..SetUp::default()
        };
        assert_eq!(set_up, expected);
        assert_eq!(set_up.and(set_up).programs, sent(4, 112));
    }
}
