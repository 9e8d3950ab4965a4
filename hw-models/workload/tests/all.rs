// SPDX-License-Identifier: MIT
//! All tests of the crate in one program, a module each: every program would compile the models that it runs for itself.

mod aim;
mod aim_ahead;
mod aim_heads;
mod attention;
mod bursts;
mod cases;
mod changed_programs;
mod checkpoint;
mod decode;
mod engine;
mod functional;
mod gemv;
mod groups;
mod host_protocol;
mod hub;
mod laps;
mod layer;
mod lazy_rows;
mod many_ranks;
mod memory_path;
mod neupims;
mod own_programs;
mod pin_codes;
mod programs;
mod residency;
mod slots;
mod stretches;
mod timing_only;
