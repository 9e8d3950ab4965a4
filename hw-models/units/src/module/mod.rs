// SPDX-License-Identifier: MIT
//! What stands on the module, above its ranks or channels.

mod aim_hub;
mod dispatcher;
mod host_port;
mod pim_dimm;
mod pim_module;

pub use aim_hub::{AimHub, AimHubIn, AimHubOut, AimHubProbe};
pub use dispatcher::{Dispatcher, DispatcherIn, DispatcherOut, DispatcherProbe, Taken};
pub use host_port::{HostPort, HostPortIn, HostPortOut, HostPortProbe};
pub use pim_dimm::{PimDimm, PimDimmIn, PimDimmOut, PimDimmProbe};
pub use pim_module::{PimModule, PimModuleIn, PimModuleOut, PimModuleProbe, SCORE_BUFFER};
