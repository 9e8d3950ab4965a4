// SPDX-License-Identifier: MIT
//! Whatever executes units: the models, the RTL, or both in lockstep.

use crate::{Mismatch, Model, Unit};
use std::any::Any;

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

    /// The first of them, which stands for all where they have been told the same.
    pub fn first(&self) -> Option<&M> {
        self.0.first()
    }

    /// The model, if there is but one.
    pub fn only(&mut self) -> Option<&mut M> {
        let Self(models) = self;
        if let [model] = &mut models[..] { Some(model) } else { None }
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
