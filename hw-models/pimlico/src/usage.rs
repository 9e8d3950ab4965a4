// SPDX-License-Identifier: MIT
//! What is wrong with a command line, in one line.

use crate::names;
use crate::run;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::ffi::OsString;

/// Values of an argument that a message lists, at the most.
const MOST_VALUES: usize = 8;

/// What is wrong with these words, and what may have been meant.
pub fn wrong(error: &Error, command: &Command, words: &[OsString]) -> String {
    if let Some(unknown) = unknown_value(error, command, words) {
        return unknown;
    }
    let text = error.to_string();
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paragraphs = text.split("\n\n").map(words);
    let what = paragraphs.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let hint = match error.kind() {
        ErrorKind::UnknownArgument => operators(error),
        ErrorKind::InvalidSubcommand => subcommands(error, command),
        _ => None,
    };
    let is_similar = |text: &String| text.starts_with("tip: ") && text.contains(" similar ");
    match hint.or_else(|| paragraphs.find(is_similar)) {
        Some(hint) => format!("{what}; {hint}"),
        None => what,
    }
}

/// A value that there is not, where a list of all would be long.
fn unknown_value(error: &Error, command: &Command, words: &[OsString]) -> Option<String> {
    let ContextValue::Strings(values) = error.get(ContextKind::ValidValue)? else { return None };
    if values.len() <= MOST_VALUES {
        return None;
    }
    let [argument, given] = [ContextKind::InvalidArg, ContextKind::InvalidValue];
    let (argument, given) = (text(error, argument)?, text(error, given)?);
    let (command, called) = called(command, words);
    // Where the help does not list them, the command itself does.
    let is_in_help =
        command.get_arguments().all(|argument| !argument.is_hide_possible_values_set());
    let list = if is_in_help { called + " --help" } else { called };
    let instead = names::instead(&given, values.iter().map(String::as_str), &list);
    Some(format!("invalid value '{given}' for '{argument}'; {instead}"))
}

/// The subcommand that words call, and how.
fn called<'a>(mut command: &'a Command, words: &[OsString]) -> (&'a Command, String) {
    let mut called = vec!["pimlico"];
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(inner) => command = inner,
            None => break,
        }
        called.push(command.get_name());
    }
    let called = called.join(" ");
    (command, called)
}

/// The operators of `pimlico run` that have an argument which this one has not.
fn operators(error: &Error) -> Option<String> {
    path(error)?.next().filter(|command| command == "run")?;
    let flag = text(error, ContextKind::InvalidArg)?;
    let with_flag = run::with_flag(flag.strip_prefix("--")?.split('=').next()?);
    (!with_flag.is_empty()).then(|| format!("it goes with `pimlico run` {}", with_flag.join(", ")))
}

/// The subcommands that there are in place of one that is not.
fn subcommands(error: &Error, command: &Command) -> Option<String> {
    let mut command = command;
    for name in path(error)? {
        command = command.find_subcommand(&name)?;
    }
    let names: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
    Some(format!("there are {}", names.join(", ")))
}

/// The subcommands whose usage is told.
fn path(error: &Error) -> Option<impl Iterator<Item = String>> {
    let usage = text(error, ContextKind::Usage)?;
    let (_, path) = usage.split_once("pimlico")?;
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let path: Vec<_> = path.split_whitespace().take_while(is_name).map(str::to_owned).collect();
    Some(path.into_iter())
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        _ => None,
    }
}
