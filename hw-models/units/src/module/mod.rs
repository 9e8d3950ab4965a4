// SPDX-License-Identifier: MIT
//! What stands on the module, above its ranks.

mod dispatcher;

pub use dispatcher::{Dispatcher, DispatcherIn, DispatcherOut, DispatcherProbe, LoadKind};
