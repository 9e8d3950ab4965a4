// SPDX-License-Identifier: MIT
//! Serving systems: requests, schedulers and memories over the costs of the devices.
//!
//! A [`Trace`](trace::Trace) is served by [`simulate`](simulate::simulate) on replicas of a model. Each iteration is a graph of
//! tasks ([`iteration`]) that the event core places in time; attention on L3's ranks costs what the cycle models say ([`costs`]).
//! `golden::timeline` is told of every task that is placed, of the room of every request and of every token.
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`studies`] | tables of runs, and their figures beside those of the papers |
//! | [`report`] | what is told of a run |
//! | [`simulate`] | serving a trace with L3's system or a baseline |
//! | `worker` | a replica at work |
//! | [`setup`] | what is served, and how |
//! | [`lol`] | LoL-PIM's modules over nodes |
//! | [`neupims`] | NeuPIMs' device and its scheduler |
//! | [`schedule`] | which requests an iteration has |
//! | [`intake`] | requests on their way into a system |
//! | [`outcome`] | what became of a run |
//! | [`predict`] | what the scheduler learns of costs |
//! | [`replica`] | what a replica of a model has of L3's system |
//! | [`hardware`] | L3's system |
//! | [`policy`] | how requests are served |
//! | [`memory`] | where K and V of requests go |
//! | [`metrics`] | what became of requests |
//! | [`iteration`] | an iteration on a GPU and what computes attention, as a graph of tasks |
//! | [`event`] | tasks on serial resources |
//! | [`costs`] | what a device's work costs, by tokens of the context |
//! | [`trace`] | requests: files, and seeded ones |
//! | [`gpu`] | GPUs as rooflines |
//! | [`llm`] | parameters and bytes of a language model |
//! | [`error`] | why something cannot be served |
//! | [`time`] | time: whole picoseconds |
//!
//! ```
//! use pimlico_serving::trace::synthetic;
//!
//! let trace = synthetic::make("openr1", 100, 1).expect("a data set of L3's");
//! assert_eq!(trace.moments().requests, 100);
//! ```

pub mod costs;
pub mod error;
pub mod event;
pub mod gpu;
pub mod hardware;
pub mod intake;
pub mod iteration;
pub mod llm;
pub mod lol;
pub mod memory;
pub mod metrics;
pub mod neupims;
pub mod outcome;
pub mod policy;
pub mod predict;
pub mod replica;
pub mod report;
pub mod schedule;
pub mod setup;
pub mod simulate;
pub mod studies;
pub mod time;
pub mod trace;
mod worker;
