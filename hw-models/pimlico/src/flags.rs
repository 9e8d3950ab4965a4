// SPDX-License-Identifier: MIT
//! What the flags of all commands have in common.
//!
//! A value that begins with a minus and a digit is the value of the flag before it, so that what is wrong with it is told
//! by the flag's name. Names of a choice are taken in capitals too. A list takes commas, and where nothing can follow
//! it but flags, several values.

use clap::{Arg, Command};

/// The commands with this.
pub fn with_common(command: Command) -> Command {
    let is_open = command.get_positionals().next().is_none() && !command.has_subcommands();
    let common = |argument: Arg| match argument.get_action().takes_values() {
        true => of_value(argument, is_open),
        false => argument,
    };
    command.mut_args(common).mut_subcommands(with_common)
}

/// A flag with a value; `is_open` if a list of values ends at the next flag.
fn of_value(argument: Arg, is_open: bool) -> Arg {
    let argument = argument.allow_negative_numbers(true).ignore_case(true);
    if argument.get_value_delimiter().is_none() {
        return argument;
    }
    let how = if is_open { "commas or spaces" } else { "commas" };
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    let help = format!("{help}; several with {how} between them");
    let argument = if is_open { argument.num_args(1..) } else { argument };
    argument.help(help)
}
