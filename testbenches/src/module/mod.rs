// SPDX-License-Identifier: MIT
//! Benches of what is on the module, above its ranks.

mod dispatcher;
mod pim_module;
mod plan;
