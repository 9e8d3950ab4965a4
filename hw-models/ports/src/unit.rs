// SPDX-License-Identifier: MIT
//! Units and their clocked models.

use crate::{Bundle, Instances, Models, Open, PortInfo, words_of};

/// A hardware unit: an RTL module with fixed parameters, and its ports.
pub trait Unit: 'static {
    /// Name of the RTL module.
    const MODULE: &'static str;
    /// Parameters of the RTL module that differ from its defaults or matter to the reader.
    const PARAMETERS: &'static [(&'static str, i64)];
    /// Input ports, without clock and reset.
    type In: Bundle;
    /// Output ports.
    type Out: Bundle;
    /// Registers inside the module that lockstep compares as well.
    type Probe: Bundle;

    /// The module that has the probed registers, and the path of its instance; empty for the unit itself.
    const PROBED: (&'static str, &'static str) = (Self::MODULE, "");

    /// Words that hold the outputs and, behind them, the probes.
    const OBSERVED_WORDS: usize = words_of(Self::Out::PORTS) + words_of(Self::Probe::PORTS);

    /// What tells this parameter set from others of the same module, e.g. `bfloat16`; empty for
    /// the module's defaults. Letters, digits and `_` only.
    fn variant() -> String {
        String::new()
    }

    /// Name of this parameter set: `fp_mul` or `fp_mul:bfloat16`.
    fn name() -> String {
        match Self::variant().as_str() {
            "" => Self::MODULE.to_owned(),
            variant => format!("{}:{variant}", Self::MODULE),
        }
    }

    /// The declaration as data.
    fn info() -> UnitInfo {
        UnitInfo {
            name: Self::name(),
            module: Self::MODULE,
            parameters: Self::PARAMETERS,
            inputs: Self::In::PORTS,
            outputs: Self::Out::PORTS,
            probes: Self::Probe::PORTS,
            probed: Self::PROBED,
        }
    }
}

/// A unit's declaration as data: what a generator or a listing needs.
#[derive(Clone, Debug)]
pub struct UnitInfo {
    /// Name of the parameter set, unique among all units.
    pub name: String,
    /// Name of the RTL module.
    pub module: &'static str,
    /// Parameters of the RTL module.
    pub parameters: &'static [(&'static str, i64)],
    /// Input ports, without clock and reset.
    pub inputs: &'static [PortInfo],
    /// Output ports.
    pub outputs: &'static [PortInfo],
    /// Compared registers inside.
    pub probes: &'static [PortInfo],
    /// The module that has the probed registers, and the path of its instance in the unit.
    pub probed: (&'static str, &'static str),
}

/// A cycle-accurate model of a unit.
///
/// Time goes in cycles. In a cycle the inputs are held, the outputs settle (they may depend on the
/// inputs of the same cycle), and at its end the rising clock edge moves the registers.
pub trait Model: Unit + Clone {
    /// A unit that has been reset.
    fn new() -> Self;

    /// `count` models that have been reset, in the fastest way that there is.
    fn instances(count: usize) -> Box<dyn Instances<Self>> {
        Box::new(Models::<Self>::new(count))
    }

    /// Puts every register to its reset value; those that have none, to zero.
    fn reset(&mut self);

    /// Marks which bits of this cycle's outputs and probes, before the edge, the contract leaves open:
    /// where a register without reset has not been loaded yet.
    fn mark_open(&self, _open: &mut Open<'_>) {}

    /// The probed registers, as they stand before the next edge.
    fn probe(&self) -> Self::Probe;

    /// The outputs that settle under `input`; no edge follows.
    fn settle(&self, input: &Self::In) -> Self::Out {
        self.clone().step(input)
    }

    /// One cycle: returns the outputs that settle under `input`, then takes the clock edge.
    /// Allocates nothing.
    fn step(&mut self, input: &Self::In) -> Self::Out;
}
