// SPDX-License-Identifier: MIT
//! The host of a module. The host reaches the module only through the pins of its channel.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`aim`] | the host of a module of AiM channels: products and attention as programs |
//! | [`neupims`] | the host of NeuPIMs: products and attention as lists of commands |
//! | [`lp5_path`] | products of LPDDR5X-PIM whose loads go through a cache, or do not |
//! | [`lp5_copy`] | a host of LPDDR5X-PIM that copies a matrix: its threads, cache and queues |
//! | [`attribute`] | how a processor reaches memory: cacheable or not |
//! | [`cache`] | a processor's last-level cache |
//! | [`lp5`] | the host of LPDDR5X-PIM: matrices and products as loads and stores |
//! | [`swizzle`] | matrices in banks for PIM, of every device, and copies of them into the host's order |
//! | [`lp5_memory`] | LPDDR5X-PIM as plain memory: loads and stores by address |
//! | [`lp5_image`] | the memory of LPDDR5X-PIM with a model's matrices |
//! | [`kv_cache`] | transfer of K and V into the banks and back |
//! | `stretches` | what a host does from one REF to the next, found once |
//! | [`strips`] | writes of columns that need not be listed one by one |
//! | [`driver`] | loads and starts of the dispatcher |
//! | [`attached`] | a module behind the pins of its channel: windows, start, polls, results |
//! | [`program`] | programs for the module's dispatcher, built from an operator's shape |
//! | [`memory_controller`] | a memory controller that programs itself from the module's SPD image |
//! | [`allocator`] | rows of the banks for KV caches that grow, with their Va2Pa updates |
//!
//! ```
//! use pimlico_device::{Config, Options, mapping::Place};
//! use pimlico_host::{attached::Attached, kv_cache::HostPort, memory_controller::Transaction};
//!
//! // A burst into a bank and back, through the module's own SPD image and buffer chip.
//! let config = Config::ddr4_3200();
//! let mut rank = Attached::engine(&config, Options::default()).expect("a rank");
//! let mut host = HostPort::of(&config).expect("its image can be read");
//! let place = Place { bank: 3, row: 7, column: 5 };
//! host.transfer(&mut rank, [Transaction::Write(place, [9; 8])]).expect("there is such a place");
//! let (read, cost) = host.transfer(&mut rank, [Transaction::Read(place)]).expect("as before");
//! assert_eq!(read, [[9; 8]]);
//! assert!(cost.cycles > 0);
//! ```

pub mod aim;
pub mod allocator;
pub mod attached;
pub mod attribute;
pub mod cache;
pub mod driver;
pub mod kv_cache;
pub mod lp5;
pub mod lp5_copy;
pub mod lp5_image;
pub mod lp5_memory;
pub mod lp5_path;
pub mod memory_controller;
pub mod neupims;
pub mod program;
mod stretches;
pub mod strips;
pub mod swizzle;
