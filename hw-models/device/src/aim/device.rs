// SPDX-License-Identifier: MIT
//! What operators need of a module of AiM channels, whoever executes it.

use super::attention::{self, AimAttention, AimHead};
use super::gemv::{Operand, gemv};
use super::layout::{AimLayout, Write};
use super::module::Module;
use super::units::AimOptions;
use super::wave::AimWave;
use crate::config::Config;
use crate::error::DeviceError;
use crate::pins::PinWatch;
use crate::statistics::Statistics;
use std::io;
use std::path::Path;

/// A module of AiM channels with its host. Time goes in tCK since the reset. What writes or computes ends with all banks
/// closed and no REF owed.
pub trait AimDevice {
    /// Organisation and timing of a channel.
    fn config(&self) -> &Config;

    /// How it works.
    fn options(&self) -> AimOptions;

    /// tCK since the reset.
    fn tck(&self) -> u64;

    /// Starts a measurement: statistics count from here. Operators measure themselves.
    fn begin(&mut self);

    /// Ends a measurement.
    fn end(&mut self) -> Statistics;

    /// Writes columns.
    fn write(&mut self, writes: &mut dyn Iterator<Item = Write>) -> Result<(), DeviceError>;

    /// Multiplies a matrix that is in the banks with a vector.
    ///
    /// # Panics
    ///
    /// If the vector has not as many elements as the matrix has columns.
    fn product(
        &mut self,
        layout: &AimLayout,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DeviceError>;

    /// Computes the attention of a query to a head that is in the banks; `scale` is the factor of the scores in
    /// binary16.
    ///
    /// # Panics
    ///
    /// If the query has not as many elements as the head's vectors.
    fn attention(
        &mut self,
        head: &AimHead,
        query: &[u16],
        scale: u16,
    ) -> Result<AimAttention, DeviceError>;

    /// Has the pins of a channel watched from here on: all have the same commands, and data at the same time.
    fn watch(&mut self, watch: Box<dyn PinWatch>);

    /// Writes a waveform of what follows to a file.
    fn trace(&mut self, file: &Path) -> io::Result<()>;

    /// Ends the waveform.
    fn finish_trace(&mut self) -> io::Result<()>;
}

impl AimDevice for Module {
    fn config(&self) -> &Config {
        self.config()
    }

    fn options(&self) -> AimOptions {
        self.options()
    }

    fn tck(&self) -> u64 {
        self.tck()
    }

    fn begin(&mut self) {
        self.begin();
    }

    fn end(&mut self) -> Statistics {
        self.end()
    }

    fn write(&mut self, writes: &mut dyn Iterator<Item = Write>) -> Result<(), DeviceError> {
        self.write(writes)
    }

    fn product(
        &mut self,
        layout: &AimLayout,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DeviceError> {
        gemv(self, layout, Operand::Vector(vector), 0)
    }

    fn attention(
        &mut self,
        head: &AimHead,
        query: &[u16],
        scale: u16,
    ) -> Result<AimAttention, DeviceError> {
        attention::attention(self, head, query, scale)
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch(watch);
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        let wave = AimWave::create(file, self.config().tck_ps)?;
        self.trace(wave);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.finish_trace().map_err(io::Error::other)
    }
}
