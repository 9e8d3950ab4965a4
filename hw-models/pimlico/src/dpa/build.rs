// SPDX-License-Identifier: MIT
//! `pimlico dpa build`: the programs of an operator, as `pimlico run` takes them.

mod aim;

use crate::device;
use crate::failure::Failure;
use crate::files::Output;
use crate::models::{find_model, model_name};
use crate::output;
use crate::values::{Switch, channels};
use clap::{Args, ValueEnum};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{DeviceSpec, HEADS, SumFormat, SystemKind};
use pimlico_dpa::{Instruction, REQUESTS};
use pimlico_host::program::attention::{self, MAX_CONTEXT, Passes};
use pimlico_host::program::{Program, gemv, static_word};
use std::path::PathBuf;

/// Headings of the options that go with one operator.
const ATTENTION: &str = "With --op attention";
const MATRIX: &str = "With --op gemv";

const OF_L3: &str = "With --system l3";
const OF_AIM: &str = "With --system aim";

/// Longest context, unless it is said: the most that one pass of a rank has room for.
const CONTEXT_OF_ONE: usize = 131_072;

/// Arguments of `pimlico dpa build`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico dpa build --op attention --model llama-3.1-8b -o attention.bin
  pimlico dpa build --op attention --passes several --text -o long.txt
  pimlico dpa build --op gemv --rows 4096 --cols 14336 --text -o gemv.txt
  pimlico dpa build --system aim --op attention --channels 2 --text -o aim.txt

With --system aim the file of attention has three programs, one behind the other, each with its end: score, softmax and
context.")]
pub struct BuildArguments {
    /// The operator
    #[arg(long, value_enum)]
    op: Op,
    /// The system that runs it
    #[arg(long, value_enum, default_value_t = SystemArgument::L3)]
    system: SystemArgument,
    /// The device: a built-in one by its name, or a file; see `pimlico device` [default: ddr4-3200; with --system aim
    /// gddr6-aim]
    #[arg(long, value_name = "NAME|FILE.toml")]
    device: Option<String>,
    /// The language model whose shapes are used
    #[arg(long, help_heading = ATTENTION, default_value = "gpt-175b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, help_heading = ATTENTION, value_name = "D")]
    head_dim: Option<usize>,
    /// Query heads that share K and V and are computed at once, in place of the model's; with --system aim one, unless rows
    /// are shared
    #[arg(long, help_heading = ATTENTION, value_name = "G")]
    group: Option<usize>,
    /// The longest context that there are virtual rows for [default: 131072; with --passes several 262144]
    #[arg(long, help_heading = ATTENTION, value_name = "N")]
    context_max: Option<usize>,
    /// Rows of the matrix
    #[arg(long, help_heading = MATRIX, value_name = "R")]
    rows: Option<usize>,
    /// Columns of the matrix
    #[arg(long, help_heading = MATRIX, value_name = "C")]
    cols: Option<usize>,
    /// How the vector comes to the shared or global buffers [default: the device's, ping-pong]
    #[arg(long, help_heading = MATRIX, value_enum)]
    io_buffers: Option<Buffers>,
    /// Of attention, whether the score buffer holds all scores, or the tokens are gone over in blocks: two programs
    /// [default: one]
    #[arg(long, help_heading = OF_L3, value_enum)]
    passes: Option<PassesArgument>,
    /// Of attention, format of sums in bank PUs and adder unit [default: the device's, binary16]
    #[arg(long, help_heading = OF_L3, value_enum)]
    sums: Option<Sums>,
    /// Spell every command out, for a context of --context-max: the static baseline, which is longer than
    /// the command buffer and has no tokens of a partial chunk
    #[arg(long = "static", help_heading = OF_L3)]
    spelled: bool,
    /// Channels of the module [default: the device's, 16]
    #[arg(long, help_heading = OF_AIM, value_name = "N", value_parser = channels)]
    channels: Option<usize>,
    /// Groups of channels [default: the device's, 1]
    #[arg(long, help_heading = OF_AIM, value_name = "N")]
    groups: Option<usize>,
    /// Of attention, whether all queries that share K and V run on a row while it is open [default: off]
    #[arg(long, help_heading = OF_AIM, value_enum)]
    shared_rows: Option<Switch>,
    /// Write the text form in place of words
    #[arg(long)]
    text: bool,
    /// The file; one that is there is replaced, `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SystemArgument {
    /// A rank of L3's DIMM-PIM
    L3,
    /// A module of AiM channels
    Aim,
}

#[derive(Clone, Copy, ValueEnum)]
enum Op {
    /// Score, softmax and context of query heads that share K and V
    Attention,
    /// A matrix times a vector
    Gemv,
}

#[derive(Clone, Copy, ValueEnum)]
enum PassesArgument {
    /// Contexts whose scores fit the score buffer
    One,
    /// Longer ones
    Several,
}

#[derive(Clone, Copy, ValueEnum)]
enum Sums {
    /// That of the elements
    Binary16,
    /// A wider one
    Binary32,
}

#[derive(Clone, Copy, ValueEnum)]
enum Buffers {
    /// Into one half while the other is in use
    PingPong,
    /// Into the only half
    Single,
}

impl From<Buffers> for IoBuffers {
    fn from(buffers: Buffers) -> Self {
        match buffers {
            Buffers::PingPong => Self::PingPong,
            Buffers::Single => Self::Single,
        }
    }
}

/// The words of a file, and what they are for.
struct Written {
    words: Vec<u64>,
    what: String,
}

/// A program, the tokens for which it is spelled out, and what it is for.
struct Built {
    program: Program,
    tokens: [u32; REQUESTS],
    what: String,
}

/// Runs the command.
pub fn run(arguments: &BuildArguments) -> Result<(), Failure> {
    let file = &arguments.output;
    let opened = Output::open(file)?;
    let to_stdout = opened.is_stdout();
    arguments.check()?;
    let Written { words, what } = match arguments.system {
        SystemArgument::L3 => arguments.of_l3()?,
        SystemArgument::Aim => aim::build(arguments)?,
    };
    let bytes: Vec<u8> = match arguments.text {
        true => pimlico_dpa::disassemble(&words).into_bytes(),
        false => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
    };
    opened.write(&bytes)?;
    let words = words.len();
    output::tell_written(file, to_stdout, &format!("{words} words, {} bytes; {what}", 8 * words))
}

fn wrong(error: impl std::fmt::Display) -> Failure {
    Failure::Input(error.to_string())
}

impl BuildArguments {
    /// Whether the options go with the system and the operator.
    fn check(&self) -> Result<(), Failure> {
        let (l3, aim) = (SystemArgument::L3, SystemArgument::Aim);
        for (option, given, system, name) in [
            ("--passes", self.passes.is_some(), l3, "l3"),
            ("--sums", self.sums.is_some(), l3, "l3"),
            ("--static", self.spelled, l3, "l3"),
            ("--channels", self.channels.is_some(), aim, "aim"),
            ("--groups", self.groups.is_some(), aim, "aim"),
            ("--shared-rows", self.shared_rows.is_some(), aim, "aim"),
        ] {
            if given && system != self.system {
                return Err(wrong(format!("{option}: it goes with --system {name}")));
            }
        }
        if matches!(self.op, Op::Attention) && self.rows.or(self.cols).is_some() {
            return Err(wrong("--rows and --cols: they go with --op gemv"));
        }
        Ok(())
    }

    /// The device.
    fn spec(&self) -> Result<DeviceSpec, Failure> {
        let system = match self.system {
            SystemArgument::L3 => SystemKind::L3,
            SystemArgument::Aim => SystemKind::Aim,
        };
        let Some(name) = &self.device else { return Ok(device::of_system(system)) };
        let spec = device::find(name)?;
        if spec.system != system {
            let (is, given) = (spec.system.name(), system.name());
            return Err(wrong(format!("--device {name}: of --system {is}, not of {given}")));
        }
        Ok(spec)
    }

    /// Rows and columns of the matrix.
    fn matrix(&self) -> Result<(usize, usize), Failure> {
        let shape = self.rows.zip(self.cols);
        shape.ok_or_else(|| wrong("--op gemv: expected --rows R and --cols C"))
    }

    /// How vectors come to the PUs of a device.
    fn io_buffers(&self, spec: &DeviceSpec) -> IoBuffers {
        self.io_buffers.map_or(spec.buffers.io, IoBuffers::from)
    }

    fn of_l3(&self) -> Result<Written, Failure> {
        let spec = self.spec()?;
        let Built { program, tokens, what } = match self.op {
            Op::Attention => self.attention(&spec)?,
            Op::Gemv => self.gemv(&spec)?,
        };
        let words = if self.spelled {
            let mut words = Vec::new();
            program.spell(&tokens, 0, |command| words.push(static_word(&command)));
            words.push(Instruction::End.encode());
            words
        } else {
            program.words().map_err(wrong)?
        };
        Ok(Written { words, what })
    }

    fn attention(&self, spec: &DeviceSpec) -> Result<Built, Failure> {
        let passes = self.passes.unwrap_or(PassesArgument::One);
        let model = find_model(&self.model)?;
        let context = self.context_max.unwrap_or(match passes {
            PassesArgument::One => CONTEXT_OF_ONE,
            PassesArgument::Several => 2 * CONTEXT_OF_ONE,
        });
        if context > MAX_CONTEXT {
            return Err(wrong(format!("--context-max {context}: expected 1 to {MAX_CONTEXT}")));
        }
        let (passes, most) = match passes {
            PassesArgument::One => (Passes::One, HEADS),
            PassesArgument::Several => (Passes::Several, HEADS - 1),
        };
        let heads = self.group.unwrap_or(model.group().min(most));
        if !(1..=most).contains(&heads) {
            let problem = format!("--group {heads}: expected 1 to {most} query heads at once");
            return Err(wrong(problem));
        }
        let head_dim = self.head_dim.unwrap_or(model.head_dim);
        let longest = HeadLayout::new(&spec.config(), head_dim, context, 0).map_err(wrong)?;
        let sums = match self.sums {
            None => spec.options().sums,
            Some(Sums::Binary16) => SumFormat::Binary16,
            Some(Sums::Binary32) => SumFormat::Binary32,
        };
        let block = match passes {
            Passes::One => attention::capacity(heads),
            Passes::Several => attention::block(&longest, heads),
        };
        let mut tokens = [0; REQUESTS];
        let mut what = format!("{heads} query heads of {head_dim}, contexts up to ");
        match passes {
            Passes::One => {
                let context = context.min(block);
                tokens[0] = context as u32;
                what += &format!("{context} in one pass");
            }
            Passes::Several if context <= block => {
                let problem = format!("--context-max {context}: one pass takes up to {block}");
                return Err(wrong(problem));
            }
            Passes::Several => {
                tokens[0] = (context - block) as u32;
                tokens[usize::from(attention::BLOCK_REQUEST)] = block as u32;
                what += &format!(
                    "{context} in blocks of {block}; T_cur: the tokens behind the first block; of \
                     request {}: {block}",
                    attention::BLOCK_REQUEST
                );
            }
        }
        let program = attention::attention(&longest, heads, sums, passes);
        Ok(Built { program, tokens, what })
    }

    fn gemv(&self, spec: &DeviceSpec) -> Result<Built, Failure> {
        let (rows, columns) = self.matrix()?;
        let io_buffers = self.io_buffers(spec);
        let layout = MatrixLayout::new(&spec.config(), rows, columns).map_err(wrong)?;
        let program = gemv::gemv(&layout, io_buffers);
        let what = format!("matrix of {rows} x {columns}, {} I/O buffers", io_buffers.name());
        Ok(Built { program, tokens: [0; REQUESTS], what })
    }
}
