// SPDX-License-Identifier: MIT
//! The command as a user meets it: documents, messages, exit status. All in one program, so that a test that takes long has
//! others beside it.
//!
//! * [`report`]: keys and figures of `run`'s report.
//! * [`options`]: options of `run` and what they change.
//! * [`systems`]: modules of channels, several ranks, and the back ends that need no RTL.
//! * [`device`]: devices from files.
//! * [`decode`], [`prefill`]: text on every system; [`layout`], [`model_dir`], [`safetensors`]: models in files.
//! * [`dpa`], [`judged`]: programs of the user's own.
//! * [`lp5`]: matrices on LPDDR5X-PIM by `run lp5`.
//! * [`serving`]: traces and serving systems.
//! * [`neupims`]: `sweep neupims`; [`channels`]: `run neupims` and `sweep row-buffers`.
//! * [`sweeps`]: comparisons by `sweep`; [`pieces`]: the same in pieces.
//! * [`spd`]: the module's SPD image.
//! * [`refusals`], [`input`]: wrong input; [`files`]: what is written, and where.
//! * [`usage`], [`formats`]: spelling, help and tables; [`readme`]: the documents show what the command prints.
//! * [`fp`]: single operations.
//! * [`estimate`], [`estimate_power`]: area, clock and power.
//! * [`with_rtl`]: what needs the RTL.
//! * [`cosim`]: co-simulation of units; [`own_rtl`]: of RTL of the user's own.

#[path = "../common/mod.rs"]
mod common;

mod channels;
#[cfg(feature = "cosim")]
mod cosim;
mod decode;
mod device;
mod dpa;
mod estimate;
mod estimate_power;
mod files;
mod formats;
mod fp;
mod input;
mod judged;
mod layout;
mod lp5;
mod model_dir;
mod neupims;
mod options;
#[cfg(feature = "cosim")]
mod own_rtl;
mod pieces;
mod prefill;
mod readme;
mod refusals;
mod report;
mod safetensors;
mod serving;
mod spd;
mod sweeps;
mod systems;
mod usage;
#[cfg(feature = "rtl")]
mod with_rtl;

use std::process::{Command, Output};

fn pimlico(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pimlico"))
        .args(arguments.split_whitespace())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .expect("the command runs")
}

fn json(arguments: &str) -> serde_json::Value {
    let output = pimlico(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {message}");
    common::document(&output.stdout)
}

/// The one line that a wrong call gives; clap's own messages have more.
fn refused(arguments: &str) -> String {
    let output = pimlico(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments}");
    assert!(output.stdout.is_empty(), "{arguments}");
    String::from_utf8(output.stderr).expect("text")
}

/// The number at a path of keys.
fn number(of: &serde_json::Value, path: &str) -> f64 {
    let value = path.split('.').fold(of, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path}: a number"))
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).expect("text")
}
