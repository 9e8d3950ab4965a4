// SPDX-License-Identifier: MIT
//! What a host needs of a module of AiM channels, whoever executes it.

use super::known::SpanKind;
use super::layout::RowWrites;
use super::units::{AimOptions, Elements};
use crate::device::{Device, Loads};
use crate::dispatch::DispatchError;
use crate::error::DeviceError;

/// A run of a program: see `aim_hub`'s contract for what its commands do.
#[derive(Clone, Copy, Debug)]
pub struct AimStart<'a> {
    /// The request.
    pub request: u8,
    /// The first word of its program in the command buffer.
    pub address: u16,
    /// The words of the host, in the order in which the program fills the global buffers with them.
    pub operands: &'a [Elements],
}

/// A module of AiM channels that runs programs.
pub trait AimDevice: Device + Loads {
    /// How it works.
    fn options(&self) -> AimOptions;

    /// Writes columns. What runs behind it finds them in the arrays; rows stay open. All channels have the WR on their pins,
    /// and data: those that do not take the column are masked.
    fn write(&mut self, rows: &mut dyn Iterator<Item = RowWrites<'_>>) -> Result<(), DeviceError>;

    /// Runs a program that closes all banks at its end. Ends with no REF owed; after an error the module cannot be used
    /// again.
    fn run(&mut self, start: AimStart<'_>) -> Result<(), DeviceError>;

    /// Begins a program that is the softmax of a head. It goes on beside what runs until
    /// [`finish_softmax`](Self::finish_softmax), which is not a softmax. What has no EPU beside the channels cannot.
    fn begin_softmax(&mut self, _: AimStart<'_>) -> Result<(), DeviceError> {
        Err(DispatchError::NotBeside.into())
    }

    /// Waits for the softmax that was begun, if it is not over. Returns the tCK at which the last one was.
    fn finish_softmax(&mut self) -> Result<u64, DeviceError> {
        Ok(self.tck())
    }

    /// From the reset on, data are of no account: what is written need not be kept, and what is made may be anything.
    /// What happens, and when, stays as it is.
    fn leave_data_out(&mut self) {}

    /// Spans of a kind that were known, and passed, since the reset: for tests.
    fn passed_spans(&self, _: SpanKind) -> u64 {
        0
    }

    /// What lies in a column of a bank of a channel. It takes no time: the hub has no path from the banks to the host but
    /// that of results.
    fn stored(&self, channel: usize, bank: usize, row: usize, column: usize) -> Elements;

    /// Elements of the GPR from a place on.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    fn gpr(&self, place: usize, count: usize) -> &[u16];
}
