// SPDX-License-Identifier: MIT
//! `pimlico commands`: what commands and arguments there are, for tools.

use crate::failure::Failure;
use crate::output;
use clap::{Arg, Command};
use serde::Serialize;
use std::any::TypeId;
use std::num::NonZero;
use std::path::PathBuf;

/// A command that has no further ones.
#[derive(Serialize)]
struct Leaf<'a> {
    /// The words that call it.
    path: Vec<&'a str>,
    arguments: Vec<Argument<'a>>,
}

/// An argument of it.
#[derive(Serialize)]
struct Argument<'a> {
    name: &'a str,
    /// The flag, without `--`; none if the place says what it is.
    flag: Option<&'a str>,
    kind: Kind,
    required: bool,
    /// Several values are separated by commas.
    list: bool,
    /// The values that there are, if they are few.
    values: Vec<String>,
}

/// What an argument takes.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    /// Nothing: it is there or not.
    Switch,
    /// One of few words.
    Choice,
    Integer,
    Number,
    File,
    Text,
}

/// Prints them.
pub fn list(command: &Command) -> Result<(), Failure> {
    let mut text = String::new();
    let mut path = Vec::new();
    walk(command, &mut path, &mut |leaf| {
        text += &serde_json::to_string(leaf).expect("a leaf is written");
        text.push('\n');
    });
    output::print(&text)
}

fn walk<'a>(command: &'a Command, path: &mut Vec<&'a str>, tell: &mut impl FnMut(&Leaf<'a>)) {
    if !command.has_subcommands() {
        let arguments = command.get_arguments().map(argument).collect();
        tell(&Leaf { path: path.clone(), arguments });
    }
    for inner in command.get_subcommands() {
        path.push(inner.get_name());
        walk(inner, path, tell);
        path.pop();
    }
}

fn argument(argument: &Arg) -> Argument<'_> {
    let values = argument.get_possible_values();
    let values: Vec<_> = values.iter().map(|value| value.get_name().to_owned()).collect();
    Argument {
        name: argument.get_id().as_str(),
        flag: argument.get_long(),
        kind: kind(argument, !values.is_empty()),
        required: argument.is_required_set(),
        list: argument.get_value_delimiter().is_some(),
        values,
    }
}

fn kind(argument: &Arg, is_choice: bool) -> Kind {
    let of = argument.get_value_parser().type_id();
    let integers = [
        TypeId::of::<u8>(),
        TypeId::of::<u16>(),
        TypeId::of::<u32>(),
        TypeId::of::<u64>(),
        TypeId::of::<i64>(),
        TypeId::of::<usize>(),
        TypeId::of::<NonZero<usize>>(),
    ];
    match () {
        () if !argument.get_action().takes_values() => Kind::Switch,
        () if is_choice => Kind::Choice,
        () if integers.into_iter().any(|integer| of == integer) => Kind::Integer,
        () if of == TypeId::of::<f64>() || of == TypeId::of::<f32>() => Kind::Number,
        () if of == TypeId::of::<PathBuf>() => Kind::File,
        () => Kind::Text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_listed_with_its_arguments() {
        let command = Cli::command();
        let (mut paths, mut integers) = (Vec::new(), 0);
        walk(&command, &mut Vec::new(), &mut |leaf| {
            let count = |of: &&Argument<'_>| matches!(of.kind, Kind::Integer);
            integers += leaf.arguments.iter().filter(count).count();
            paths.push(leaf.path.join(" "));
        });
        for path in ["run l3 attention", "run aim gemv", "dpa expand", "spd show", "commands"] {
            assert!(paths.iter().any(|other| other == path), "{path}: {paths:?}");
        }
        assert!(integers > 50, "{integers}");
    }
}
