// SPDX-License-Identifier: MIT
//! Benches of what is on the module, above its ranks.

mod aim_hub;
mod dispatcher;
mod host_port;
mod pim_dimm;
mod pim_module;
mod plan;
