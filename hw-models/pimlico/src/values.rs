// SPDX-License-Identifier: MIT
//! Values that flags of several commands take.

use clap::ValueEnum;
use pimlico_device::aim::MOST_CHANNELS;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// They are
    On,
    /// They are not, to compare with models that have no refresh
    Off,
}

/// A number of channels.
pub fn channels(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_CHANNELS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_CHANNELS} channels"))
}
