// SPDX-License-Identifier: MIT
//! `pimlico dpa build`: the program of an operator.

use crate::failure::Failure;
use crate::files::Output;
use crate::models::{find_model, model_name};
use crate::output;
use clap::{Args, ValueEnum};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{Config, HEADS, SumFormat};
use pimlico_dpa::{Instruction, REQUESTS};
use pimlico_host::program::attention::{self, MAX_CONTEXT, Passes};
use pimlico_host::program::{Program, gemv, static_word};
use std::path::PathBuf;

/// Headings of the options that go with one operator.
const ATTENTION: &str = "With --op attention";
const MATRIX: &str = "With --op gemv";

/// Longest context, unless it is said: the most that one pass has room for.
const CONTEXT_OF_ONE: usize = 131_072;

/// Arguments of `pimlico dpa build`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico dpa build --op attention --model llama-3.1-8b -o attention.bin
  pimlico dpa build --op attention --passes several --text -o long.txt
  pimlico dpa build --op gemv --rows 4096 --cols 14336 --text -o gemv.txt")]
pub struct BuildArguments {
    /// The operator
    #[arg(long, value_enum)]
    op: Op,
    /// The language model whose shapes are used
    #[arg(long, help_heading = ATTENTION, default_value = "gpt-175b", value_name = "NAME", value_parser = model_name())]
    model: String,
    /// Elements of a head's vectors, in place of the model's
    #[arg(long, help_heading = ATTENTION, value_name = "D")]
    head_dim: Option<usize>,
    /// Query heads that share K and V and are computed at once, in place of the model's
    #[arg(long, help_heading = ATTENTION, value_name = "G")]
    group: Option<usize>,
    /// The longest context that there are virtual rows for [default: 131072; with --passes several 262144]
    #[arg(long, help_heading = ATTENTION, value_name = "N")]
    context_max: Option<usize>,
    /// Whether the score buffer holds all scores, or the tokens are gone over in blocks: two programs
    #[arg(long, help_heading = ATTENTION, value_enum, default_value_t = PassesArgument::One)]
    passes: PassesArgument,
    /// Format of sums in bank PUs and adder unit
    #[arg(long, help_heading = ATTENTION, value_enum, default_value_t = Sums::Binary16)]
    sums: Sums,
    /// Rows of the matrix
    #[arg(long, help_heading = MATRIX, value_name = "R")]
    rows: Option<usize>,
    /// Columns of the matrix
    #[arg(long, help_heading = MATRIX, value_name = "C")]
    cols: Option<usize>,
    /// How the vector comes to the shared buffers
    #[arg(long, help_heading = MATRIX, value_enum, default_value_t = Buffers::PingPong)]
    io_buffers: Buffers,
    /// Spell every command out, for a context of --context-max: the static baseline, which is longer than
    /// the command buffer and has no tokens of a partial chunk
    #[arg(long = "static")]
    spelled: bool,
    /// Write the text form in place of words
    #[arg(long)]
    text: bool,
    /// The file; one that is there is replaced, `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
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
    let Built { program, tokens, what } = match arguments.op {
        Op::Attention => arguments.attention()?,
        Op::Gemv => arguments.gemv()?,
    };
    let words = if arguments.spelled {
        let mut words = Vec::new();
        program.spell(&tokens, 0, |command| words.push(static_word(&command)));
        words.push(Instruction::End.encode());
        words
    } else {
        program.words().map_err(|error| Failure::Input(error.to_string()))?
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
    fn attention(&self) -> Result<Built, Failure> {
        if self.rows.or(self.cols).is_some() {
            return Err(wrong("--rows and --cols: they go with --op gemv"));
        }
        let model = find_model(&self.model)?;
        let context = self.context_max.unwrap_or(match self.passes {
            PassesArgument::One => CONTEXT_OF_ONE,
            PassesArgument::Several => 2 * CONTEXT_OF_ONE,
        });
        if context > MAX_CONTEXT {
            return Err(wrong(format!("--context-max {context}: expected 1 to {MAX_CONTEXT}")));
        }
        let (passes, most) = match self.passes {
            PassesArgument::One => (Passes::One, HEADS),
            PassesArgument::Several => (Passes::Several, HEADS - 1),
        };
        let heads = self.group.unwrap_or(model.group().min(most));
        if !(1..=most).contains(&heads) {
            let problem = format!("--group {heads}: expected 1 to {most} query heads at once");
            return Err(wrong(problem));
        }
        let head_dim = self.head_dim.unwrap_or(model.head_dim);
        let longest = HeadLayout::new(&Config::ddr4_3200(), head_dim, context, 0).map_err(wrong)?;
        let sums = match self.sums {
            Sums::Binary16 => SumFormat::Binary16,
            Sums::Binary32 => SumFormat::Binary32,
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

    fn gemv(&self) -> Result<Built, Failure> {
        let (Some(rows), Some(columns)) = (self.rows, self.cols) else {
            return Err(wrong("--op gemv: expected --rows R and --cols C"));
        };
        let io_buffers = match self.io_buffers {
            Buffers::PingPong => IoBuffers::PingPong,
            Buffers::Single => IoBuffers::Single,
        };
        let layout = MatrixLayout::new(&Config::ddr4_3200(), rows, columns).map_err(wrong)?;
        let program = gemv::gemv(&layout, io_buffers);
        let what = format!("matrix of {rows} x {columns}, {} I/O buffers", io_buffers.name());
        Ok(Built { program, tokens: [0; REQUESTS], what })
    }
}
