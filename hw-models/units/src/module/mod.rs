// SPDX-License-Identifier: MIT
//! What stands on the module, above its ranks.

mod dispatcher;
mod pim_module;

pub use dispatcher::{Dispatcher, DispatcherIn, DispatcherOut, DispatcherProbe};
pub use pim_module::{PimModule, PimModuleIn, PimModuleOut, PimModuleProbe, SCORE_BUFFER};
