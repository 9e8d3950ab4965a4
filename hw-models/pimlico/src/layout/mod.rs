// SPDX-License-Identifier: MIT
//! `pimlico layout`: matrices as they lie in LPDDR5X-PIM, of PIM-SHERPA, and on other devices.
//!
//! * [`convert`]: a model as the image of that memory.
//! * [`check`]: an image back, beside the model.
//! * [`copy`]: a matrix into the host's order, timed on the device.
//! * [`prefill`]: a prompt on the host, with weights copied out of an image.
//! * [`show`]: where an element of a matrix is.
//! * [`image`]: the file of an image.
//! * [`target`]: the host's order of a matrix.
//! * [`weights`]: the matrices of a model, in 16 bits.

mod check;
mod convert;
mod copy;
mod image;
mod prefill;
mod show;
mod target;
mod weights;

use crate::failure::Failure;
use clap::{Args, Subcommand};

/// Arguments of `pimlico layout`.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct LayoutCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write a model's matrices as the image of LPDDR5X-PIM's memory, in the order of physical addresses
    Convert(convert::ConvertArguments),
    /// Convert an image back and compare it with the model
    Check(check::CheckArguments),
    /// Copy a matrix that lies for PIM into the host's order, timed on the device
    Copy(copy::CopyArguments),
    /// Take a prompt through the model on the host, with weights that lie in LPDDR5X-PIM: copied beside GEMM, before it, or not
    Prefill(prefill::PrefillArguments),
    /// Show where an element of a matrix lies
    Show(show::ShowArguments),
}

/// Runs the command.
pub fn run(command: &LayoutCommand) -> Result<(), Failure> {
    match &command.action {
        Action::Convert(arguments) => convert::run(arguments),
        Action::Check(arguments) => check::run(arguments),
        Action::Copy(arguments) => copy::run(arguments),
        Action::Prefill(arguments) => prefill::run(arguments),
        Action::Show(arguments) => show::run(arguments),
    }
}
