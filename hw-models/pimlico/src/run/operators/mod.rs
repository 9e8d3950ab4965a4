// SPDX-License-Identifier: MIT
//! The operators of `pimlico run`, each on every system that has it.
//!
//! An operator is a file here, which implements [`Face`], and a line of [`OPERATORS`]; what it computes is an
//! [`Operator`] of `pimlico_workload`.

mod attention;
mod decode;
mod fc;
mod gemv;
mod layer;

use super::Job;
use super::arguments::RunArguments;
use super::groups::Common;
use super::systems::{self, SYSTEMS};
use super::text::OwnText;
use crate::failure::Failure;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use pimlico_workload::operator::Operator;
use pimlico_workload::report::Report;
use std::path::Path;

/// The operators, in the order of the help.
const OPERATORS: [Entry; 5] = [
    Entry::of::<attention::Attention>(),
    Entry::of::<gemv::Gemv>(),
    Entry::of::<fc::Fc>(),
    Entry::of::<layer::Layer>(),
    Entry::of::<decode::Decode>(),
];

/// An operator as the command has it: what implements it are the operator's own options, which stand before all others
/// on every system.
pub(super) trait Face: Args + 'static {
    /// Its name.
    const NAME: &'static str;
    /// What it is.
    const ABOUT: &'static str;
    /// What its progress is counted in.
    const UNIT: &'static str = "elements";
    /// Whether it runs in pieces on one rank as well as on several.
    const IN_PIECES: bool = false;
    /// The common options that mean something to it, beside those that every run has.
    const OPTIONS: &'static [Common];
    /// The end of its help: what follows `pimlico run`, on some of the systems.
    const EXAMPLES: &'static [&'static str];
    /// What follows its name in the example for the others.
    const EXAMPLE: &'static str = "";
    /// What is run.
    type Job: Operator + 'static;
    /// Its own part of the report.
    type Report: 'static;

    /// What to run.
    fn job(&self, arguments: &RunArguments) -> Result<Self::Job, Failure>;

    /// The config.json that its shapes come from, if they do.
    fn config(&self) -> Option<&Path> {
        None
    }

    /// The options of its own that ask for the same job.
    fn words(&self, job: &Self::Job) -> String;

    /// Its own part of the report for people.
    fn text(own: &Self::Report, report: &Report) -> OwnText;
}

/// An operator of any kind that was asked for.
pub(super) trait Asked {
    /// What to run.
    fn make(&self, arguments: &RunArguments) -> Result<Job, Failure>;

    /// Its own part of its report for people.
    fn told(&self, report: &Report) -> OwnText;
}

impl<F: Face> Asked for F {
    fn make(&self, arguments: &RunArguments) -> Result<Job, Failure> {
        let job = self.job(arguments)?;
        let words = self.words(&job);
        let config = self.config().map(Path::to_owned);
        Ok(Job { operator: Box::new(job), unit: F::UNIT, words, config })
    }

    fn told(&self, report: &Report) -> OwnText {
        F::text(report.of().expect("the report is of this operator"), report)
    }
}

/// An operator in the list of all.
struct Entry {
    name: &'static str,
    /// Its command on a system.
    command: fn(&systems::Entry) -> Command,
    /// What was given to that.
    read: fn(&systems::Entry, &ArgMatches) -> Result<RunCommand, clap::Error>,
}

impl Entry {
    const fn of<F: Face>() -> Self {
        Self { name: F::NAME, command: command::<F>, read: read::<F> }
    }
}

/// The common options of an operator on a system, in the order of the help. What runs in pieces has no waveform.
fn common<F: Face>(system: &systems::Entry) -> impl Iterator<Item = Common> {
    let options = system.options;
    let in_pieces = F::IN_PIECES && options.contains(&Common::Spread);
    let is_in_both = move |group: &Common| F::OPTIONS.contains(group) && options.contains(group);
    Common::ALL.iter().copied().filter(move |group| {
        let is_left_out = in_pieces && *group == Common::Waveform;
        Common::EVERY.contains(group) || is_in_both(group) && !is_left_out
    })
}

fn command<F: Face>(system: &systems::Entry) -> Command {
    let command = F::augment_args(Command::new(F::NAME));
    let command = system.command(command, common::<F>(system));
    command.about(F::ABOUT).after_help(examples::<F>(system.name()))
}

/// The end of an operator's help on a system.
fn examples<F: Face>(system: &str) -> String {
    let is_on_it = |words: &&str| words.split(' ').next() == Some(system);
    let mut lines: Vec<_> =
        F::EXAMPLES.iter().copied().filter(is_on_it).map(str::to_owned).collect();
    if lines.is_empty() {
        lines.push(format!("{system} {} {}", F::NAME, F::EXAMPLE).trim_end().to_owned());
    }
    let title = if lines.len() == 1 { "Example:" } else { "Examples:" };
    lines.iter().fold(title.to_owned(), |text, words| text + "\n  pimlico run " + words)
}

fn read<F: Face>(system: &systems::Entry, given: &ArgMatches) -> Result<RunCommand, clap::Error> {
    let own = (system.read)(given)?;
    let mut arguments = Box::new(RunArguments::new(*system, own, F::NAME, F::IN_PIECES));
    for group in common::<F>(system) {
        group.put(given, &mut arguments)?;
    }
    let operator = Box::new(F::from_arg_matches(given)?);
    Ok(RunCommand { arguments, operator })
}

/// Arguments of `pimlico run`.
pub struct RunCommand {
    pub(super) arguments: Box<RunArguments>,
    pub(super) operator: Box<dyn Asked>,
}

const EXAMPLES: &str = "\
Examples:
  pimlico run l3 attention --context 16384          a head of GPT-175B
  pimlico run l3 gemv --rows 4096 --cols 4096       a matrix times a vector
  pimlico run l3 layer --model llama-3.1-8b         a decoder layer
  pimlico run l3 decode --tokens 20                 text by a built-in model
  pimlico run aim fc --model llama-3.2-1b --json    matrices on GDDR6-AiM
  pimlico run lp5 gemv --rows 4096 --cols 4096      a matrix on LPDDR5X-PIM
  pimlico run lp5 decode --prefill host             text, with the prompt on the host
  pimlico run neupims attention --context 300       a request on NeuPIMs

`pimlico run SYSTEM OPERATOR --help` has an operator's options.";

impl Args for RunCommand {
    fn augment_args(command: Command) -> Command {
        let of_system = |system: systems::Entry| {
            let there_are = || OPERATORS.iter().filter(|operator| system.has(operator.name));
            let names: Vec<_> = there_are().map(|operator| operator.name).collect();
            let names = names.join(", ");
            Command::new(system.name())
                .about(format!("{}: {names}", system.about))
                .subcommand_required(true)
                .arg_required_else_help(true)
                .subcommands(there_are().map(|operator| (operator.command)(&system)))
        };
        command
            .after_help(EXAMPLES)
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(SYSTEMS.map(of_system))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RunCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of = |matches: &ArgMatches| {
            let (system, matches) = matches.subcommand()?;
            let (operator, matches) = matches.subcommand()?;
            let system = SYSTEMS.into_iter().find(|other| other.name() == system)?;
            let operator = OPERATORS.into_iter().find(|other| other.name == operator)?;
            Some((operator.read)(&system, matches))
        };
        let missing = || clap::Error::raw(ErrorKind::MissingSubcommand, "no system and operator");
        of(matches).unwrap_or_else(|| Err(missing()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Whether an operator on a system has a flag.
pub(super) fn takes(system: &str, op: &str, flag: &str) -> bool {
    let command = RunCommand::augment_args(Command::new("run"));
    let system = command.find_subcommand(system);
    let operator = system.and_then(|system| system.find_subcommand(op));
    operator.is_some_and(|operator| has(operator, flag))
}

fn has(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(flag))
}

/// The operators that have a flag, as they are called.
pub fn with_flag(flag: &str) -> Vec<String> {
    let command = RunCommand::augment_args(Command::new("run"));
    let of_system = |system: &Command| {
        let operators = system.get_subcommands().filter(|operator| has(operator, flag));
        let called = |operator: &Command| format!("{} {}", system.get_name(), operator.get_name());
        operators.map(called).collect::<Vec<_>>()
    };
    command.get_subcommands().flat_map(of_system).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::SystemKind;

    #[test]
    fn an_operator_has_what_means_something_to_it() {
        for (system, op, has, lacks) in [
            ("l3", "attention", "context", "rows"),
            ("l3", "gemv", "rows", "heads"),
            ("l3", "fc", "tp", "normalise"),
            ("l3", "layer", "layers", "vcd"),
            ("l3", "decode", "prompt", "model"),
            ("aim", "attention", "mode-change", "sums"),
            ("aim", "gemv", "plot", "tp"),
            ("aim", "fc", "lm-head", "ranks"),
            ("aim", "layer", "threads", "ranks"),
            ("aim", "decode", "channels", "poll"),
            ("lp5", "gemv", "fence-ns", "io-buffers"),
            ("lp5", "gemv", "elements", "prefill"),
            ("lp5", "decode", "policy", "residency"),
            ("aim", "decode", "prefill", "residency"),
        ] {
            assert!(takes(system, op, has), "{system} {op}: {has}");
            assert!(!takes(system, op, lacks), "{system} {op}: {lacks}");
        }
        assert!(!takes("lp5", "fc", "model"));
        assert_eq!(with_flag("rows"), ["l3 gemv", "aim gemv", "lp5 gemv"]);
        assert_eq!(with_flag("context-max"), ["l3 attention", "aim attention"]);
        assert_eq!(with_flag("program"), ["l3 attention", "l3 gemv", "aim attention", "aim gemv"]);
        let there_are = SYSTEMS
            .iter()
            .flat_map(|system| OPERATORS.iter().filter(|operator| system.has(operator.name)));
        assert_eq!(with_flag("seed").len(), there_are.count());
    }

    /// The arguments of a line from `run` on.
    fn parsed(line: &str) -> RunCommand {
        let matches = RunCommand::augment_args(Command::new("run"))
            .try_get_matches_from(line.split_whitespace());
        RunCommand::from_arg_matches(&matches.expect(line)).expect(line)
    }

    #[test]
    fn the_command_that_does_the_same_again_is_understood() {
        for line in [
            "run l3 attention --program x --context 9 --context-max 9 --gear 4 --rl-mac 8 --poll 9",
            "run l3 gemv --rows 9 --cols 9 --channels 2 --ranks 2 --mdq shared --timing-only",
            "run l3 fc --model llama-3.2-1b --tp 8 --lm-head --sums binary32",
            "run l3 layer --model llama-3.2-1b --layers 2 --distribution peaked --refresh off",
            "run l3 decode --prompt a --temperature 1 --seed 9 --normalise late",
            "run aim attention --io-buffers single --mode-change off --channels 3",
            "run aim layer --model llama-3.2-1b --channels 8 --groups 4",
            "run aim attention --softmax-lanes 8 --head-pipeline on",
            "run aim attention --program x --context 9 --context-max 99 --channels 2",
            "run aim attention --group 4 --heads 4 --shared-rows on",
            "run aim gemv --rows 9 --cols 9 --faw-banks 4",
            "run aim gemv --rows 9 --cols 9 --io-buffers single --pu-clocks 1",
            "run aim fc --model llama-3.2-1b",
            "run aim layer --model llama-3.2-1b --layers 2 --timing-only",
            "run l3 decode --tokens 3 --prompt a --channels 2 --ranks 2 --mdq shared",
            "run aim decode --tokens 3 --prompt a",
            "run l3 decode --tokens 3 --prompt a --prefill host --policy owr --buffer 64K --compute-threads 2",
            "run lp5 decode --tokens 3 --prompt a --prefill host --policy ddb --copy-threads 2",
            "run lp5 decode --tokens 3 --prompt a --elements binary16",
            "run lp5 gemv --rows 9 --cols 9",
            "run lp5 gemv --rows 9 --cols 9 --elements binary16 --sums binary32 --fence-ns 150",
            "run lp5 gemv --rows 9 --cols 9 --cma 20M",
        ] {
            let again = |line: &str| {
                let RunCommand { arguments, operator } = parsed(line);
                let job = operator.make(&arguments).expect(line);
                let again = super::super::again(&job, &arguments).replace("'a'", "a");
                again.strip_prefix("pimlico ").expect("the command").to_owned()
            };
            let first = again(line);
            assert!(first.starts_with(line.split(" --").next().expect("an operator")), "{first}");
            assert_eq!(again(&first), first);
        }
    }

    #[test]
    fn what_is_not_given_has_the_same_default_with_every_operator() {
        let words = |line: &str| {
            let RunCommand { arguments, operator } = parsed(line);
            operator.make(&arguments).expect(line).words
        };
        let of = |line: &str| parsed(line).arguments;
        let [attention, gemv] = ["run l3 attention", "run aim gemv --rows 1 --cols 1"].map(of);
        let own = parsed("run l3 attention").arguments.own;
        let new = RunArguments::new(attention.system, own, "attention", false);
        assert_eq!(gemv.own.words(&gemv), " --mode-change on");
        for given in [&attention, &gemv] {
            assert!(given.refresh == new.refresh && given.backend == new.backend);
            assert_eq!((given.seed, &given.report), (new.seed, &new.report));
        }
        let default = "--model gpt-175b --context 2048 --distribution random";
        assert_eq!(words("run l3 layer"), default);
        let attention = words("run l3 attention");
        for flag in ["--model gpt-175b", "--heads 1 ", "--context 2048", "--distribution random"] {
            assert!(attention.contains(flag), "{attention}");
        }
        assert_eq!(words("run l3 layer --context 9"), default.replace("2048", "9"));
        assert_eq!(gemv.system.kind, Some(SystemKind::Aim));
    }
}
