// SPDX-License-Identifier: MIT
//! What `golden` says of many operands, for comparison with other people's arithmetic.
//!
//! `operations add|mul|max binary16|bfloat16` reads pairs of encodings from standard input, 16 bits
//! each in little-endian order, and writes the encoding of each result to standard output.
//! `scripts/check-numpy` drives it.

use pimlico_golden::exact;
use pimlico_golden::format::{Format, Subnormals};
use std::io::{self, Read, Write};
use std::process::ExitCode;

type Operation = fn(Format, Subnormals, u32, u32) -> u32;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("operations: {message}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), String> {
    let [operation, format] = arguments else {
        return Err("expected an operation and a format".to_owned());
    };
    let operation: Operation = match operation.as_str() {
        "add" => exact::add,
        "mul" => exact::mul,
        "max" => exact::max,
        other => return Err(format!("operation {other}; expected add, mul or max")),
    };
    let format = match format.as_str() {
        "binary16" => Format::BINARY16,
        "bfloat16" => Format::BFLOAT16,
        other => return Err(format!("format {other}; expected binary16 or bfloat16")),
    };

    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).map_err(|e| format!("standard input: {e}"))?;
    let (pairs, rest) = input.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("{} bytes on standard input; expected a multiple of 4", input.len()));
    }
    let result = |&[a0, a1, b0, b1]: &[u8; 4]| {
        let (a, b) = (u16::from_le_bytes([a0, a1]), u16::from_le_bytes([b0, b1]));
        (operation(format, Subnormals::Gradual, a.into(), b.into()) as u16).to_le_bytes()
    };
    let output: Vec<u8> = pairs.iter().flat_map(result).collect();
    io::stdout().write_all(&output).map_err(|e| format!("standard output: {e}"))
}
