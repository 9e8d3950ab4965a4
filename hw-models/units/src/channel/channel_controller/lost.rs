// SPDX-License-Identifier: MIT
//! Why a cycle was lost.

/// Why PIM made no dot products in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PimLost {
    /// It did, or had no operation.
    #[default]
    None = 0,
    /// Rows are closed and opened, or the operation is estimated.
    Activation = 1,
    /// tFAW, or an ACT of MEM in its window.
    Window = 2,
    /// The global buffer is filled.
    Gwrite = 3,
    /// A REF.
    Refresh = 4,
    /// The operation does not fit before the next REF.
    Admission = 5,
    /// MEM has the row, or with a single row buffer the channel.
    MemRow = 6,
    /// The data bus.
    Bus = 7,
    /// The operation's next command has not come.
    Feed = 8,
}

/// Why MEM moved no burst in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemLost {
    /// It did, in either tCK of the burst, or had no request, or the data bus is not free for the next.
    #[default]
    None = 0,
    /// Rows are closed and opened.
    Row = 1,
    /// tFAW, or an ACT that would hold PIM back.
    Window = 2,
    /// PIM has the row, the bank, or the channel.
    Reserved = 3,
    /// Another command was on the pins.
    CommandBus = 4,
    /// A REF.
    Refresh = 5,
    /// Results of PIM have the data bus.
    Results = 6,
}
