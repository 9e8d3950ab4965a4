// SPDX-License-Identifier: MIT
//! `pimlico fp`: single floating-point operations, on the model or the RTL.

mod input;

use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use input::Lines;
use pimlico_units::arith::{
    Bfloat16, Bfloat16Flush, Binary16, Binary16Flush, Format as FpFormat, Fp,
};
use std::io;

/// Arguments of `pimlico fp`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  pimlico fp mul 3C01 4201                          binary16 in hexadecimal: 3C00 is 1
  pimlico fp add 3F80 3F80 --format bf16
  pimlico fp recip --check < cases.txt")]
pub struct FpArguments {
    /// The operation
    #[arg(value_enum)]
    op: Op,
    /// Operands in hexadecimal; without them, one case a line from standard input
    #[arg(value_name = "HEX")]
    operands: Vec<String>,
    /// The operands' format
    #[arg(long, value_enum, default_value_t = Format::F16)]
    format: Format,
    /// 1: gradual underflow; 0: subnormal operands and results are flushed to zero
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    subnormals: u8,
    /// What computes
    #[arg(long, value_enum, default_value_t = Backend::Model)]
    backend: Backend,
    /// Compare with expected results: lines of operands, expected result and flags from standard
    /// input, as Berkeley TestFloat writes them; flags are ignored, any NaN equals any NaN
    #[arg(long, conflicts_with = "operands")]
    check: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Op {
    /// a + b
    Add,
    /// a * b
    Mul,
    /// The larger of a and b: `maximum` of IEEE 754-2019
    Max,
    /// e^a, to within one ULP
    Exp,
    /// 1 / a
    Recip,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// IEEE 754 binary16
    F16,
    /// bfloat16
    Bf16,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    /// The Rust model
    Model,
    /// The RTL, through Verilator
    Rtl,
}

/// Cases that are computed at a time.
const BATCH: usize = 4096;

/// Differences that `--check` prints.
const SHOWN: u64 = 10;

/// Runs the command.
pub fn run(arguments: &FpArguments) -> Result<(), Failure> {
    let mut unit = arguments.unit()?;
    if arguments.check {
        return check(arguments.op, unit.as_mut());
    }
    let arity = arguments.op.arity();
    if arguments.operands.is_empty() {
        return each_line(arity, unit.as_mut());
    }
    if arguments.operands.len() != arity {
        let given = arguments.operands.len();
        return Err(Failure::Input(format!("{arity} operands expected, {given} given")));
    }
    let mut operands = [0; 2];
    for (operand, text) in operands.iter_mut().zip(&arguments.operands) {
        *operand = input::number(text).map_err(|what| Failure::Input(what.to_string()))?;
    }
    output::print(&format!("{:04x}\n", unit.results(&[operands])[0]))
}

/// Computes each line of standard input.
fn each_line(arity: usize, unit: &mut dyn Compute) -> Result<(), Failure> {
    let mut lines = Lines::new(io::stdin().lock(), arity);
    let mut cases = Vec::with_capacity(BATCH);
    while lines.read(BATCH, &mut cases)? {
        let operands: Vec<_> = cases.iter().map(|case| [case[0], case[1 % arity]]).collect();
        let results = unit.results(&operands);
        output::print(&results.iter().map(|r| format!("{r:04x}\n")).collect::<String>())?;
    }
    Ok(())
}

/// Compares each line of standard input with the result that it expects.
fn check(op: Op, unit: &mut dyn Compute) -> Result<(), Failure> {
    let arity = op.arity();
    let mut lines = Lines::new(io::stdin().lock(), arity + 1).with_flags();
    let mut cases = Vec::with_capacity(BATCH);
    let (mut checked, mut different) = (0u64, 0u64);
    while lines.read(BATCH, &mut cases)? {
        let operands: Vec<_> = cases.iter().map(|case| [case[0], case[1 % arity]]).collect();
        for (case, got) in cases.iter().zip(unit.results(&operands)) {
            let expected = case[arity];
            checked += 1;
            if got == expected || unit.is_nan(got) && unit.is_nan(expected) {
                continue;
            }
            different += 1;
            if different <= SHOWN {
                let operands: Vec<_> = case[..arity].iter().map(|x| format!("{x:04x}")).collect();
                let operands = operands.join(" ");
                output::print(&format!("{operands}: {got:04x}, expected {expected:04x}\n"))?;
            }
        }
    }
    output::print(&format!("{checked} checked, {different} different\n"))?;
    match (checked, different) {
        (0, _) => Err(Failure::Check("no case on standard input: nothing was checked".to_owned())),
        (_, 0) => Ok(()),
        _ => Err(Failure::Check(format!("{different} of {checked} results differ"))),
    }
}

/// Something that computes an operation.
trait Compute {
    /// The results of pairs of operands; an operation with one operand takes the first.
    fn results(&mut self, operands: &[[u16; 2]]) -> Vec<u16>;

    /// Whether the value is a NaN.
    fn is_nan(&self, value: u16) -> bool;
}

/// The model of an operation.
struct Model {
    operation: fn(u32, u32) -> u32,
    infinity: u32,
}

impl Compute for Model {
    fn results(&mut self, operands: &[[u16; 2]]) -> Vec<u16> {
        let compute = |[a, b]: &[u16; 2]| (self.operation)((*a).into(), (*b).into()) as u16;
        operands.iter().map(compute).collect()
    }

    fn is_nan(&self, value: u16) -> bool {
        u32::from(value) & 0x7FFF > self.infinity
    }
}

impl Op {
    /// How many operands it takes.
    fn arity(self) -> usize {
        match self {
            Self::Add | Self::Mul | Self::Max => 2,
            Self::Exp | Self::Recip => 1,
        }
    }

    /// Its RTL module.
    #[cfg(feature = "rtl")]
    fn module(self) -> &'static str {
        match self {
            Self::Add => "fp_add",
            Self::Mul => "fp_mul",
            Self::Max => "fp_max",
            Self::Exp => "fp_exp",
            Self::Recip => "fp_recip",
        }
    }

    fn model<F: FpFormat>(self) -> Model {
        fn of<F: FpFormat>(bits: u32) -> Fp<F> {
            Fp::from_bits(bits)
        }
        let operation: fn(u32, u32) -> u32 = match self {
            Self::Add => |a, b| (of::<F>(a) + of(b)).to_bits(),
            Self::Mul => |a, b| (of::<F>(a) * of(b)).to_bits(),
            Self::Max => |a, b| of::<F>(a).max(of(b)).to_bits(),
            Self::Exp => |a, _| of::<F>(a).exp().to_bits(),
            Self::Recip => |a, _| of::<F>(a).recip().to_bits(),
        };
        Model { operation, infinity: F::INFINITY }
    }
}

impl FpArguments {
    fn unit(&self) -> Result<Box<dyn Compute>, Failure> {
        let (model, variant) = match (self.format, self.subnormals) {
            (Format::F16, 0) => (self.op.model::<Binary16Flush>(), Binary16Flush::LABEL),
            (Format::F16, _) => (self.op.model::<Binary16>(), Binary16::LABEL),
            (Format::Bf16, 0) => (self.op.model::<Bfloat16Flush>(), Bfloat16Flush::LABEL),
            (Format::Bf16, _) => (self.op.model::<Bfloat16>(), Bfloat16::LABEL),
        };
        match self.backend {
            Backend::Model => Ok(Box::new(model)),
            Backend::Rtl => rtl(self.op, variant, model),
        }
    }
}

#[cfg(not(feature = "rtl"))]
fn rtl(_: Op, _: &str, _: Model) -> Result<Box<dyn Compute>, Failure> {
    Err(Failure::not_built("--backend rtl", "rtl"))
}

#[cfg(feature = "rtl")]
fn rtl(op: Op, variant: &str, model: Model) -> Result<Box<dyn Compute>, Failure> {
    use pimlico_testbenches::Function;

    struct Rtl {
        function: Function,
        model: Model,
    }

    impl Compute for Rtl {
        fn results(&mut self, operands: &[[u16; 2]]) -> Vec<u16> {
            operands.iter().map(|[a, b]| self.function.result(*a, *b) as u16).collect()
        }

        fn is_nan(&self, value: u16) -> bool {
            self.model.is_nan(value)
        }
    }

    let function = Function::new(op.module(), variant);
    Ok(Box::new(Rtl { function, model }))
}
