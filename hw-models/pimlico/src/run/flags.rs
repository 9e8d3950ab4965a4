// SPDX-License-Identifier: MIT
//! Which flag goes with which operator on which system. What is given beside them is refused: a flag that
//! would do nothing is a mistake.

use super::arguments::{Op, RunArguments, System};
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The arguments, and which of the flags were given.
pub struct Given {
    pub arguments: RunArguments,
    flags: Vec<&'static str>,
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        RunArguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        RunArguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |flag: &&str| matches.value_source(&id(flag)) == Some(ValueSource::CommandLine);
        let flags = FLAGS.iter().map(|(flag, ..)| *flag).filter(given).collect();
        Ok(Self { arguments: RunArguments::from_arg_matches(matches)?, flags })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The name by which the parser knows a flag.
fn id(flag: &str) -> String {
    flag.replace('-', "_")
}

/// On which systems.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Both,
    L3,
    Aim,
}

use On::{Aim, Both, L3};
use Op::{Attention, Decode, Fc, Gemv, Layer};

const ALL: &[Op] = &[Attention, Fc, Gemv, Layer, Decode];
/// Those whose shapes are a model's.
const OF_MODEL: &[Op] = &[Attention, Fc, Layer];
/// Those with scores.
const OF_SCORES: &[Op] = &[Attention, Layer];
/// Those with weights: attention on an AiM has I/O buffers as well.
const OF_WEIGHTS: &[Op] = &[Fc, Gemv, Layer, Decode];
/// Those that run on one rank from beginning to end.
const OF_ONE_RANK: &[Op] = &[Attention, Fc, Gemv, Decode];

/// Each flag with the operators that take it, system by system. Flags that are not here go with all.
const FLAGS: &[(&str, On, &[Op])] = &[
    ("model", Both, OF_MODEL),
    ("config", Both, &[Attention, Fc, Layer, Decode]),
    ("context", Both, OF_SCORES),
    ("batch", Both, &[Attention]),
    ("heads", Both, &[Attention]),
    ("group", Both, &[Attention]),
    ("head-dim", Both, &[Attention]),
    ("layers", L3, &[Layer]),
    ("distribution", Both, OF_SCORES),
    ("normalise", L3, &[Attention, Layer, Decode]),
    ("sums", L3, ALL),
    ("gear", L3, ALL),
    ("poll", L3, ALL),
    ("ccd-result", L3, ALL),
    ("wtr-shared", L3, ALL),
    ("rl-mac", L3, ALL),
    ("rows", Both, &[Gemv]),
    ("cols", Both, &[Gemv]),
    ("io-buffers", L3, OF_WEIGHTS),
    ("io-buffers", Aim, &[Attention, Fc, Gemv, Decode]),
    ("mode-change", Aim, &[Attention, Fc, Gemv, Decode]),
    ("channels", Both, ALL),
    ("dimms", L3, ALL),
    ("ranks", L3, ALL),
    ("mdq", L3, &[Attention, Fc, Gemv, Layer]),
    ("tp", Both, &[Fc]),
    ("lm-head", Both, &[Fc]),
    ("program", L3, &[Attention, Gemv]),
    ("context-max", L3, &[Attention]),
    ("threads", L3, &[Attention, Fc, Gemv, Layer]),
    ("timing-only", L3, &[Attention, Fc, Gemv, Layer]),
    ("vcd", L3, OF_ONE_RANK),
    ("vcd", Aim, ALL),
    ("plot", L3, OF_ONE_RANK),
    ("weights", Both, &[Decode]),
    ("tokenizer", Both, &[Decode]),
    ("prompt", Both, &[Decode]),
    ("tokens", Both, &[Decode]),
    ("temperature", Both, &[Decode]),
];

impl Given {
    /// The same with what `--device` names.
    pub fn with_device(self) -> Result<Self, Failure> {
        Ok(Self { arguments: self.arguments.with_device()?, ..self })
    }

    /// Refuses flags that would do nothing.
    pub fn check(&self) -> Result<(), Failure> {
        let (system, op) = (self.arguments.system(), self.arguments.op);
        let refused = self.flags.iter().find(|flag| !takes(system, op, flag));
        refused.map_or(Ok(()), |flag| Err(Failure::Input(refusal(system, op, flag))))
    }
}

/// Whether an operator on a system takes a flag.
pub(super) fn takes(system: System, op: Op, flag: &str) -> bool {
    of(flag).any(|(on, ops)| is_on(on, system) && ops.contains(&op))
}

fn of(flag: &str) -> impl Iterator<Item = (On, &'static [Op])> {
    let of_flag = FLAGS.iter().filter(move |(name, ..)| *name == flag);
    of_flag.map(|&(_, on, ops)| (on, ops))
}

fn is_on(on: On, system: System) -> bool {
    match on {
        Both => true,
        L3 => system == System::L3,
        Aim => system == System::Aim,
    }
}

/// What is wrong with a flag: the system, or else the operator.
fn refusal(system: System, op: Op, flag: &str) -> String {
    let ops: Vec<_> =
        of(flag).filter(|(on, _)| is_on(*on, system)).flat_map(|(_, ops)| ops).collect();
    let (given, expected) = if ops.is_empty() {
        let other = if system == System::L3 { System::Aim } else { System::L3 };
        (format!("--system {}", system.name()), format!("--system {}", other.name()))
    } else {
        let names: Vec<_> = ops.iter().map(|op| op.name()).collect();
        (format!("--op {}", op.name()), format!("--op {}", names.join(", ")))
    };
    let instead = if (flag, op) == ("model", Decode) { ", which takes --weights FILE" } else { "" };
    format!("--{flag}: it goes with {expected}, not with {given}{instead}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn command() -> Command {
        Given::augment_args(Command::new("run"))
    }

    fn check(line: &str) -> Result<(), String> {
        let words = std::iter::once("run").chain(line.split_whitespace());
        let matches = command().try_get_matches_from(words).map_err(|error| error.to_string())?;
        let given = Given::from_arg_matches(&matches).map_err(|error| error.to_string())?;
        given.check().map_err(|error| error.to_string())
    }

    #[test]
    fn every_flag_is_in_the_table_or_goes_with_all() {
        let go_with_all = [
            "system",
            "device",
            "op",
            "faw-banks",
            "refresh",
            "backend",
            "seed",
            "report",
            "json",
            "help",
        ];
        let in_table: HashSet<_> = FLAGS.iter().map(|(flag, ..)| *flag).collect();
        let command = command();
        let flags: HashSet<_> =
            command.get_arguments().filter_map(|argument| argument.get_long()).collect();
        let wanted: HashSet<_> = flags.into_iter().filter(|f| !go_with_all.contains(f)).collect();
        assert_eq!(in_table, wanted);
        for flag in in_table {
            let is_known = command.get_arguments().any(|argument| argument.get_id() == &*id(flag));
            assert!(is_known, "{flag}");
        }
    }

    /// A value that the parser takes.
    fn value(flag: &str) -> &'static str {
        match flag {
            "lm-head" | "timing-only" => "",
            "distribution" => "peaked",
            "normalise" => "late",
            "sums" => "binary32",
            "io-buffers" => "single",
            "mode-change" => "off",
            "mdq" => "shared",
            "ccd-result" | "rl-mac" => "8",
            _ => "1",
        }
    }

    #[test]
    fn each_operator_takes_its_flags_and_refuses_the_others() {
        let (mut taken, mut refused) = (0, 0);
        for (system, name) in [(System::L3, "l3"), (System::Aim, "aim")] {
            for &op in ALL {
                for (flag, ..) in FLAGS {
                    let line =
                        format!("--system {name} --op {} --{flag} {}", op.name(), value(flag));
                    match check(&line) {
                        Ok(()) => {
                            assert!(takes(system, op, flag), "{line}");
                            taken += 1;
                        }
                        Err(message) => {
                            assert!(!takes(system, op, flag), "{line}: {message}");
                            let (flag, op) = (format!("--{flag}: "), format!("--op {}", op.name()));
                            assert!(message.contains(&flag), "{message}");
                            assert!(message.contains(&op) || message.contains("--system"));
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(taken > 100 && refused > 100, "{taken} {refused}");
    }

    #[test]
    fn a_refusal_names_what_was_given_and_what_is_expected() {
        for (line, expected) in [
            ("--op fc --heads 2", "--heads: it goes with --op attention, not with --op fc"),
            (
                "--op decode --context 9",
                "--context: it goes with --op attention, layer, not with --op decode",
            ),
            ("--system aim --dimms 2", "--dimms: it goes with --system l3, not with --system aim"),
            (
                "--op layer --vcd x",
                "--vcd: it goes with --op attention, fc, gemv, decode, not with --op layer",
            ),
        ] {
            let message = check(line).expect_err(line);
            assert_eq!(message, format!("pimlico: {expected}"));
        }
        // What is not given has its default with every operator.
        for op in ALL {
            assert_eq!(check(&format!("--op {}", op.name())), Ok(()));
        }
    }
}
