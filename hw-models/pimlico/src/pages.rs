// SPDX-License-Identifier: MIT
//! `pimlico completions` and `pimlico man`: what a shell and `man` read of the command.

use crate::failure::Failure;
use crate::files::OutputFolder;
use crate::output;
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

/// Arguments of `pimlico completions`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico completions bash > ~/.local/share/bash-completion/completions/pimlico
  pimlico completions fish > ~/.config/fish/completions/pimlico.fish")]
pub struct CompletionsArguments {
    /// The shell that is to complete commands
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `pimlico man`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico man | man -l -
  pimlico man --dir ~/.local/share/man/man1")]
pub struct ManArguments {
    /// Write a page of each command to this folder [default: the command's own page to standard output]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the completions.
pub fn completions(arguments: &CompletionsArguments, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "pimlico", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Prints or writes the pages.
pub fn man(arguments: &ManArguments, command: Command) -> Result<(), Failure> {
    match &arguments.dir {
        None => {
            let mut page = Vec::new();
            let rendered = clap_mangen::Man::new(command).render(&mut page);
            rendered.map_err(|error| Failure::Input(format!("the page: {error}")))?;
            output::print(&String::from_utf8_lossy(&page))
        }
        Some(folder) => {
            let pages = OutputFolder::open(folder)?;
            let written = clap_mangen::generate_to(command, pages.path());
            written.map_err(|error| pages.failed(&error))?;
            pages.whole()
        }
    }
}
