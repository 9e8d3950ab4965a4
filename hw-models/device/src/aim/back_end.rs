// SPDX-License-Identifier: MIT
//! What makes instances of units, whoever executes them.

use pimlico_ports::{Instances, Model};

/// Makes instances of any unit: a back end.
pub trait BackEnd {
    /// Why it cannot.
    type Error;

    /// `count` instances that have been reset; a clock of theirs takes `cycle_ps`.
    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error>;
}

/// The models.
pub(crate) struct ModelBackEnd;

impl BackEnd for ModelBackEnd {
    type Error = std::convert::Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        _cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error> {
        Ok(M::instances(count))
    }
}
