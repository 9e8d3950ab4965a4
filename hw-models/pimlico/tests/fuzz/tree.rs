// SPDX-License-Identifier: MIT
//! Commands and their arguments, as `pimlico commands` tells them: a new one is in the cases at once.

use serde::Deserialize;
use std::process::Command;

/// A command.
#[derive(Clone, Debug, Deserialize)]
pub struct Leaf {
    pub path: Vec<String>,
    pub arguments: Vec<Argument>,
}

/// An argument of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Argument {
    pub name: String,
    pub flag: Option<String>,
    pub kind: Kind,
    pub required: bool,
    pub list: bool,
    pub values: Vec<String>,
}

/// What an argument takes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Switch,
    Choice,
    Integer,
    Number,
    File,
    Text,
}

/// All commands.
pub fn leaves() -> Vec<Leaf> {
    let printed = Command::new(env!("CARGO_BIN_EXE_pimlico")).arg("commands").output();
    let printed = printed.expect("the command runs").stdout;
    let text = String::from_utf8(printed).expect("text");
    let leaf = |line: &str| serde_json::from_str(line).expect("an object in a line");
    text.lines().map(leaf).collect()
}
