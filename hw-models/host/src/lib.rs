// SPDX-License-Identifier: MIT
//! The host of a module: it reaches the module through the pins of its channel, and owns it.
//!
//! From the top down; a module imports from modules below it alone:
//!
//! * [`kv_cache`]: K and V on their way into the banks and back.
//! * [`driver`]: what the host writes to the dispatcher.
//! * [`attached`]: a module behind the pins of its channel: windows, start, polls, results.
//! * [`program`]: programs for the module's dispatcher, built from an operator's shape.
//! * [`memory_controller`]: a memory controller that programs itself from the module's SPD image.
//! * [`allocator`]: rows of the banks for KV caches that grow, and the Va2Pa updates that go with it.

pub mod allocator;
pub mod attached;
pub mod driver;
pub mod kv_cache;
pub mod memory_controller;
pub mod program;
