// SPDX-License-Identifier: MIT
//! The systems and operators of `pimlico run`, each with the options that it knows.

use super::arguments::{Op, RunArguments, System};
use super::groups::{
    AimDevice, Dram, Execution, Group, Heads, HowMany, Longest, Matrix, OneLayer, Picture, Program,
    RankDevice, Sample, Scores, Seed, Shapes, Share, SharedBuffers, Softmax, Spread, Text,
    Waveform, groups,
};
use clap::{Args, Command, Subcommand};

/// Arguments of `pimlico run`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct RunCommand {
    #[command(subcommand)]
    on: On,
}

const EXAMPLES: &str = "\
Examples:
  pimlico run l3 attention --context 16384          a head of GPT-175B
  pimlico run l3 gemv --rows 4096 --cols 4096       a matrix times a vector
  pimlico run l3 layer --model llama-3.1-8b         a decoder layer
  pimlico run l3 decode --tokens 20                 text by a built-in model
  pimlico run aim fc --model llama-3.2-1b --json    matrices on GDDR6-AiM

`pimlico run SYSTEM OPERATOR --help` has an operator's options.";

#[derive(Subcommand)]
enum On {
    /// L3's DIMM-PIM, ranks of DDR4-3200: attention, gemv, fc, layer, decode
    #[command(subcommand)]
    L3(L3),
    /// LoL-PIM's module, channels of GDDR6-AiM behind a hub: attention, gemv, fc, layer, decode
    #[command(subcommand)]
    Aim(Aim),
}

#[derive(Subcommand)]
enum L3 {
    /// Score, softmax and context of a layer's heads, for one token that is being generated
    #[command(after_help = "\
Examples:
  pimlico run l3 attention --model llama-3.1-8b --heads 4 --context 8192
  pimlico run l3 attention --context 100,2000 --normalise late --sums binary32
  pimlico run l3 attention --heads 96 --channels 4 --ranks 2 --timing-only
  pimlico run l3 attention --backend lockstep --plot attention.svg")]
    Attention(Box<L3Attention>),
    /// A matrix times a vector, of which fully-connected layers are made
    #[command(after_help = "\
Examples:
  pimlico run l3 gemv --rows 4096 --cols 4096
  pimlico run l3 gemv --rows 64 --cols 40 --channels 2 --io-buffers single")]
    Gemv(Box<L3Gemv>),
    /// The fully-connected operators of a decoder layer
    #[command(after_help = "\
Examples:
  pimlico run l3 fc --model llama-3.2-1b --tp 8
  pimlico run l3 fc --config config.json --lm-head --json")]
    Fc(Box<L3Fc>),
    /// A decoder layer, for one token that is being generated: all heads and all matrices
    #[command(after_help = "\
Examples:
  pimlico run l3 layer --model llama-3.2-1b --context 2048
  pimlico run l3 layer --channels 16 --dimms 2 --ranks 2 --layers 96 --timing-only")]
    Layer(Box<L3Layer>),
    /// Text, token by token, with a whole language model
    #[command(after_help = "\
Examples:
  pimlico run l3 decode --tokens 20 --prompt 'in a small town'
  pimlico run l3 decode --weights stories260K.bin --tokenizer tok512.bin")]
    Decode(Box<L3Decode>),
}

#[derive(Subcommand)]
enum Aim {
    /// Score, softmax and context of a layer's heads, for one token that is being generated
    #[command(after_help = "\
Examples:
  pimlico run aim attention --model qwen1.5-7b --context 4096 --channels 2
  pimlico run aim attention --model qwen1.5-7b --heads 32 --groups 8 --timing-only
  pimlico run aim attention --io-buffers single --mode-change off")]
    Attention(Box<AimAttention>),
    /// A matrix times a vector, of which fully-connected layers are made
    #[command(after_help = "Example:\n  pimlico run aim gemv --rows 4096 --cols 4096")]
    Gemv(Box<AimGemv>),
    /// The fully-connected operators of a decoder layer
    #[command(after_help = "Example:\n  pimlico run aim fc --model llama-3.2-1b --tp 8")]
    Fc(Box<AimFc>),
    /// A decoder layer, for one token that is being generated: all heads and all matrices
    #[command(after_help = "Example:\n  pimlico run aim layer --model qwen1.5-7b --timing-only")]
    Layer(Box<AimLayer>),
    /// Text, token by token, with a whole language model
    #[command(after_help = "Example:\n  pimlico run aim decode --tokens 20")]
    Decode(Box<AimDecode>),
}

groups! { L3Attention:
    shapes: Shapes, heads: Heads, scores: Scores, seed: Seed, softmax: Softmax, device: RankDevice,
    dram: Dram, many: HowMany, spread: Spread, program: Program, longest: Longest,
    execution: Execution, waveform: Waveform, picture: Picture,
}

groups! { L3Gemv:
    matrix: Matrix, seed: Seed, device: RankDevice, dram: Dram, buffers: SharedBuffers,
    many: HowMany, spread: Spread, program: Program, execution: Execution, waveform: Waveform,
    picture: Picture,
}

groups! { L3Fc:
    shapes: Shapes, share: Share, seed: Seed, device: RankDevice, dram: Dram,
    buffers: SharedBuffers, many: HowMany, spread: Spread, execution: Execution,
    waveform: Waveform, picture: Picture,
}

groups! { L3Layer:
    shapes: Shapes, layer: OneLayer, scores: Scores, seed: Seed, softmax: Softmax,
    device: RankDevice, dram: Dram, buffers: SharedBuffers, many: HowMany, spread: Spread,
    execution: Execution,
}

groups! { L3Decode:
    text: Text, seed: Seed, softmax: Softmax, device: RankDevice, dram: Dram,
    buffers: SharedBuffers, many: HowMany, execution: Execution, waveform: Waveform,
    picture: Picture,
}

groups! { AimAttention:
    shapes: Shapes, heads: Heads, scores: Scores, seed: Seed, device: AimDevice, dram: Dram,
    sample: Sample, execution: Execution, waveform: Waveform,
}

groups! { AimGemv:
    matrix: Matrix, seed: Seed, device: AimDevice, dram: Dram, execution: Execution,
    waveform: Waveform,
}

groups! { AimFc:
    shapes: Shapes, share: Share, seed: Seed, device: AimDevice, dram: Dram, execution: Execution,
    waveform: Waveform,
}

groups! { AimLayer:
    shapes: Shapes, layer: OneLayer, scores: Scores, seed: Seed, device: AimDevice, dram: Dram,
    sample: Sample, execution: Execution, waveform: Waveform,
}

groups! { AimDecode:
    text: Text, seed: Seed, device: AimDevice, dram: Dram, execution: Execution,
    waveform: Waveform,
}

impl From<RunCommand> for RunArguments {
    fn from(command: RunCommand) -> Self {
        match command.on {
            On::L3(operator) => operator.into(),
            On::Aim(operator) => operator.into(),
        }
    }
}

impl From<L3> for RunArguments {
    fn from(operator: L3) -> Self {
        match operator {
            L3::Attention(given) => with(System::L3, Op::Attention, *given),
            L3::Gemv(given) => with(System::L3, Op::Gemv, *given),
            L3::Fc(given) => with(System::L3, Op::Fc, *given),
            L3::Layer(given) => with(System::L3, Op::Layer, *given),
            L3::Decode(given) => with(System::L3, Op::Decode, *given),
        }
    }
}

impl From<Aim> for RunArguments {
    fn from(operator: Aim) -> Self {
        match operator {
            Aim::Attention(given) => with(System::Aim, Op::Attention, *given),
            Aim::Gemv(given) => with(System::Aim, Op::Gemv, *given),
            Aim::Fc(given) => with(System::Aim, Op::Fc, *given),
            Aim::Layer(given) => with(System::Aim, Op::Layer, *given),
            Aim::Decode(given) => with(System::Aim, Op::Decode, *given),
        }
    }
}

fn with(system: System, op: Op, given: impl Group) -> RunArguments {
    let mut arguments = RunArguments::new(system, op);
    given.put(&mut arguments);
    arguments
}

/// Whether an operator on a system has a flag.
pub(super) fn takes(system: System, op: Op, flag: &str) -> bool {
    let command = RunCommand::augment_args(Command::new("run"));
    let system = command.find_subcommand(system.name());
    let operator = system.and_then(|system| system.find_subcommand(op.name()));
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
    use clap::FromArgMatches;

    #[test]
    fn an_operator_has_what_means_something_to_it() {
        for (system, op, has, lacks) in [
            (System::L3, Op::Attention, "context", "rows"),
            (System::L3, Op::Gemv, "rows", "heads"),
            (System::L3, Op::Fc, "tp", "normalise"),
            (System::L3, Op::Layer, "layers", "vcd"),
            (System::L3, Op::Decode, "prompt", "model"),
            (System::Aim, Op::Attention, "mode-change", "sums"),
            (System::Aim, Op::Gemv, "vcd", "plot"),
            (System::Aim, Op::Fc, "lm-head", "ranks"),
            (System::Aim, Op::Layer, "timing-only", "threads"),
            (System::Aim, Op::Decode, "channels", "poll"),
        ] {
            assert!(takes(system, op, has), "{} {}: {has}", system.name(), op.name());
            assert!(!takes(system, op, lacks), "{} {}: {lacks}", system.name(), op.name());
        }
        assert_eq!(with_flag("rows"), ["l3 gemv", "aim gemv"]);
        assert_eq!(with_flag("context-max"), ["l3 attention"]);
        assert_eq!(with_flag("seed").len(), 10);
    }

    /// The arguments of a line from `run` on.
    fn parsed(line: &str) -> RunArguments {
        let matches = RunCommand::augment_args(Command::new("run"))
            .try_get_matches_from(line.split_whitespace());
        let command = RunCommand::from_arg_matches(&matches.expect(line));
        RunArguments::from(command.expect(line))
    }

    #[test]
    fn the_command_that_does_the_same_again_is_understood() {
        for line in [
            "run l3 attention --program x --context-max 9 --gear 4 --rl-mac 8 --poll 9",
            "run l3 gemv --rows 9 --cols 9 --channels 2 --ranks 2 --mdq shared --timing-only",
            "run l3 fc --model llama-3.2-1b --tp 8 --lm-head --sums binary32",
            "run l3 layer --model llama-3.2-1b --layers 2 --distribution peaked --refresh off",
            "run l3 decode --prompt a --temperature 1 --seed 9 --normalise late",
            "run aim attention --io-buffers single --mode-change off --channels 3",
            "run aim layer --model llama-3.2-1b --channels 8 --groups 4",
            "run aim gemv --rows 9 --cols 9 --faw-banks 4",
            "run aim fc --model llama-3.2-1b",
            "run aim layer --model llama-3.2-1b --layers 2 --timing-only",
            "run l3 decode --tokens 3 --prompt a --channels 2 --ranks 2 --mdq shared",
            "run aim decode --tokens 3 --prompt a",
        ] {
            let again = |line: &str| {
                let arguments = parsed(line);
                let job = arguments.job().expect(line);
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
        let attention = parsed("run l3 attention");
        let gemv = parsed("run l3 gemv --rows 1 --cols 1");
        assert_eq!((&attention.model, &attention.context), (&gemv.model, &gemv.context));
        assert_eq!((attention.batch, attention.heads), (gemv.batch, gemv.heads));
        assert_eq!(parsed("run l3 layer --context 9").context, [9]);
        assert!(parsed("run aim gemv --rows 1 --cols 1").system() == System::Aim);
    }
}
