// SPDX-License-Identifier: MIT
//! Whatever executes units: the models, the RTL, or both in lockstep.

use crate::wave::Cycle;
use crate::{Model, Unit};
use std::any::Any;
use std::fmt;

/// Some instances of a unit that step together.
///
/// This is the one interface behind which the back ends stand. A device drives it and need not know
/// which of them it is; it may ask, for what one of them can do better.
pub trait Instances<U: Unit>: Any {
    /// Resets every instance.
    fn reset(&mut self);

    /// `outputs[i]` becomes what instance `i` puts out under `inputs[i]`; no edge follows. For outputs that
    /// the inputs of their cycle depend on.
    fn settle(&mut self, inputs: &[U::In], outputs: &mut [U::Out]) -> Result<(), Box<Mismatch>>;

    /// One cycle: `outputs[i]` becomes what instance `i` puts out under `inputs[i]`, then all take
    /// the clock edge.
    fn step(&mut self, inputs: &[U::In], outputs: &mut [U::Out]) -> Result<(), Box<Mismatch>>;
}

/// The models themselves.
pub struct Models<M>(Vec<M>);

impl<M: Model> Models<M> {
    /// `count` models that have been reset.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| M::new()).collect())
    }
}

impl<M: Model> Instances<M> for Models<M> {
    fn reset(&mut self) {
        self.0.iter_mut().for_each(M::reset);
    }

    fn settle(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        if let ([model], [input], [output]) = (&self.0[..], inputs, &mut *outputs) {
            *output = model.settle(input);
            return Ok(());
        }
        for ((model, input), output) in self.0.iter().zip(inputs).zip(outputs) {
            *output = model.settle(input);
        }
        Ok(())
    }

    fn step(&mut self, inputs: &[M::In], outputs: &mut [M::Out]) -> Result<(), Box<Mismatch>> {
        // One by itself is what most units are.
        if let ([model], [input], [output]) = (&mut self.0[..], inputs, &mut *outputs) {
            *output = model.step(input);
            return Ok(());
        }
        for ((model, input), output) in self.0.iter_mut().zip(inputs).zip(outputs) {
            *output = model.step(input);
        }
        Ok(())
    }
}

/// The first difference between a model and its RTL.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// Name of the unit.
    pub unit: String,
    /// Which of the instances.
    pub instance: usize,
    /// Cycle since the last reset, from 0.
    pub cycle: u64,
    /// Output port or probed register.
    pub port: &'static str,
    /// The model's value, in hexadecimal.
    pub model: String,
    /// The RTL's value, in hexadecimal.
    pub rtl: String,
    /// The inputs of the last cycles, oldest first, this cycle's last; each port with its value.
    pub inputs: Vec<Vec<(&'static str, String)>>,
}

impl Mismatch {
    /// What stands for the port where an assertion in the RTL failed.
    pub const ASSERTION: &str = "(assertion)";

    /// The first port in which two cycles with the same inputs differ, if they do.
    pub fn find<U: Unit>(model: &Cycle<U>, rtl: &Cycle<U>) -> Option<Self> {
        let ports = |cycle: &Cycle<U>| {
            let mut ports = values(&cycle.outputs);
            ports.extend(values(&cycle.probes));
            ports
        };
        let difference = ports(model).into_iter().zip(ports(rtl)).find(|(m, r)| m != r);
        let ((port, model), (_, rtl)) = difference?;
        Some(Self { unit: U::name(), instance: 0, cycle: 0, port, model, rtl, inputs: Vec::new() })
    }
}

/// Every port of a bundle with its value in hexadecimal.
pub fn values<B: crate::Bundle>(bundle: &B) -> Vec<(&'static str, String)> {
    let mut values = Vec::new();
    bundle.for_each_port(|port, bits| values.push((port.name, crate::hex(bits))));
    values
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, instance, cycle, port, model, rtl, inputs } = self;
        writeln!(f, "mismatch in {unit}, instance {instance}, cycle {cycle}, port {port}")?;
        writeln!(f, "  model {model}")?;
        writeln!(f, "  rtl   {rtl}")?;
        write!(f, "  last inputs:")?;
        let first = (cycle + 1).saturating_sub(inputs.len() as u64);
        for (ports, cycle) in inputs.iter().zip(first..) {
            write!(f, "\n    cycle {cycle}:")?;
            for (name, value) in ports {
                write!(f, " {name}={value}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Mismatch {}
