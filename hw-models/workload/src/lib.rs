// SPDX-License-Identifier: MIT
//! The operators of language models on the devices.
//!
//! An [`Operator`](operator::Operator) is planned, run and judged on a [`System`](system::System). Its data are made or read
//! and written into the banks; then the operator runs, and its results are compared with the references of `golden`. Of the
//! modules that an operator uses, only [`judge`] sees `golden`. A new operator is a file of its own beside `attention`; a new
//! device is one file in [`system`] and one in [`machine`].
//!
//! # Modules
//!
//! The modules from the top down. A module imports only from modules below it (`rtl/tests/imports.rs`).
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`spd_check`] | a study: what re-layout costs the host, and whether it breaks the chips' timing |
//! | [`memory_path`] | from the memory controller through the buffer chip to the chips' pins |
//! | [`subnormals`] | a study: a head with subnormal numbers flushed to zero |
//! | [`numerics`] | a study: early or late normalisation, sums of 16 or 32 bits |
//! | [`study`] | a study: what programs of the dispatcher save |
//! | [`batch`] | a study: how many requests fit, with static and with lazy allocation |
//! | [`channel_groups`] | a study: attention of a layer with the channels of a module in groups |
//! | [`io_buffers`] | a study: ping-pong I/O buffers against single ones, beside LoL-PIM's figures |
//! | [`sherpa`] | a study: prefill with weights that lie as LPDDR5X-PIM wants them, beside PIM-SHERPA's figures |
//! | [`copy`] | a study: matrices that lie for PIM, copied by the host into its own order |
//! | [`neupims`] | products and attention on channels of NeuPIMs, and a study of their row buffers |
//! | [`decode`] | an operator: text, token by token, with a whole model |
//! | [`prefill`] | a prompt on the host, with weights that lie in the layout of a device |
//! | [`layer`] | an operator: a decoder layer |
//! | [`fc`] | an operator: the fully-connected operators of a layer |
//! | [`gemv`] | an operator: a matrix times a vector |
//! | [`attention`] | an operator: the attention of a layer's heads |
//! | [`operator`] | what an operator is |
//! | [`system`] | what operators run on: a rank, the ranks of a device, a module of AiM channels, LPDDR5X-PIM |
//! | [`machine`] | the same with a whole model in the banks |
//! | [`in_banks`] | matrices in the banks as the host copies or reads them |
//! | [`aim`] | what a module of AiM channels does of operators |
//! | [`error`] | why an operator cannot be run |
//! | [`outcome`] | what became of tasks, and its report |
//! | [`l3`] | what a rank does of operators |
//! | [`judge`] | results beside those of `golden`; the checkers at the pins |
//! | [`results`] | what a device makes of attention |
//! | [`report`] | what a run cost, and how far it is from the reference |
//! | [`host_memory`] | memory of this machine, and what runs take of it |
//! | [`task`] | what operators are made of |
//! | [`placement`] | which rank has which heads and rows |
//! | [`parallel`] | work on the host's own threads |
//!
//! ```
//! use pimlico_device::{Config, Options, gemv::IoBuffers};
//! use pimlico_host::attached::Attached;
//! use pimlico_workload::{gemv::GemvJob, operator};
//!
//! let mut rank = Attached::engine(&Config::ddr4_3200(), Options::default()).expect("a rank");
//! let job = GemvJob { rows: 16, columns: 64, io_buffers: IoBuffers::PingPong, seed: 1 };
//! let report = operator::on_rank(&mut rank, &job).expect("it fits");
//! assert!(report.total.cycles > 0 && report.pin_violations == 0);
//! ```

pub mod aim;
pub mod attention;
pub mod batch;
pub mod channel_groups;
pub mod copy;
pub mod decode;
pub mod error;
pub mod fc;
pub mod gemv;
pub mod host_memory;
pub mod in_banks;
pub mod io_buffers;
pub mod judge;
pub mod l3;
pub mod layer;
pub mod machine;
pub mod memory_path;
pub mod neupims;
pub mod numerics;
pub mod operator;
pub mod outcome;
pub mod parallel;
pub mod placement;
pub mod prefill;
pub mod report;
pub mod results;
pub mod sherpa;
pub mod spd_check;
pub mod study;
pub mod subnormals;
pub mod system;
pub mod task;
