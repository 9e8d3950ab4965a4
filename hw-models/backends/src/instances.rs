// SPDX-License-Identifier: MIT
//! Instances of a unit on each back end.

use crate::backend::Backend;
use crate::error::BackendError;
use pimlico_ports::{Instances, Model, Models};

/// So many instances of a unit that have just been reset. The RTL is Verilated if it has not been; what it leaves open is
/// taken from the seed (see `pimlico_testbenches::Rtl`).
///
/// # Errors
///
/// If the RTL cannot be made, or this build has no back ends of RTL.
#[cfg(feature = "rtl")]
pub(crate) fn instances<M: Model>(
    backend: Backend,
    count: usize,
    seed: u64,
) -> Result<Box<dyn Instances<M>>, BackendError> {
    use pimlico_testbenches::build::{self, Waves};
    use pimlico_testbenches::{Lockstep, Rtl};
    if backend.has_rtl() {
        build::prepare(&M::info(), Waves::Without)?;
    }
    Ok(match backend {
        Backend::Fast | Backend::Model => Box::new(Models::new(count)),
        Backend::Rtl => Box::new(Rtl::new(count, seed)),
        Backend::Lockstep => Box::new(Lockstep::new(count, seed)),
    })
}

/// The same without back ends of RTL.
#[cfg(not(feature = "rtl"))]
pub(crate) fn instances<M: Model>(
    backend: Backend,
    count: usize,
    _: u64,
) -> Result<Box<dyn Instances<M>>, BackendError> {
    match backend {
        Backend::Fast | Backend::Model => Ok(Box::new(Models::new(count))),
        Backend::Rtl | Backend::Lockstep => Err(BackendError::NotBuilt(backend)),
    }
}
