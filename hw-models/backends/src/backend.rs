// SPDX-License-Identifier: MIT
//! The back ends.

/// What executes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The engine: fast, and equal to the models in results, tCK and statistics.
    Fast,
    /// The cycle model of the module; of AiM channels a hub of two, for each group of them; of LPDDR5X-PIM those of mode and blocks
    /// in each channel; of NeuPIMs those of a channel's units, or of the channel.
    Model,
    /// The RTL of the module, through Verilator.
    Rtl,
    /// RTL and cycle model, every port compared in every cycle.
    Lockstep,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Fast, Self::Model, Self::Rtl, Self::Lockstep];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Model => "model",
            Self::Rtl => "rtl",
            Self::Lockstep => "lockstep",
        }
    }

    /// Whether it simulates the RTL.
    pub fn has_rtl(self) -> bool {
        matches!(self, Self::Rtl | Self::Lockstep)
    }
}
