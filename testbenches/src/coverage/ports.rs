// SPDX-License-Identifier: MIT
//! The plan of a unit whose bench has none of its own: every port takes values of every sort.

use super::Bins;
use pimlico_ports::{Bundle, PortInfo, Unit, for_each_port};

const FLAG: [&str; 2] = ["0", "1"];
const NUMBER: [&str; 3] = ["lowest", "between", "highest"];
/// A word is too wide for its ends to come by chance.
const WORD: [&str; 4] = ["outer bits 00", "outer bits 01", "outer bits 10", "outer bits 11"];

/// Widest port that counts as a number.
const NUMBER_WIDTH: u32 = 6;

/// Declares the bins.
pub fn plan<U: Unit>(bins: &mut Bins) {
    declare(U::In::PORTS, bins);
    declare(U::Out::PORTS, bins);
}

fn declare(ports: &[PortInfo], bins: &mut Bins) {
    for port in ports {
        bins.declare(port.name, names(port).iter().copied());
    }
}

/// Marks the values of a cycle.
pub fn cover<U: Unit>(input: &U::In, output: &U::Out, bins: &mut Bins) {
    mark(U::In::PORTS, &input.words(), bins);
    mark(U::Out::PORTS, &output.words(), bins);
}

fn names(port: &PortInfo) -> &'static [&'static str] {
    match port.width {
        1 => &FLAG,
        2..=NUMBER_WIDTH => &NUMBER,
        _ => &WORD,
    }
}

fn mark(ports: &[PortInfo], words: &[u32], bins: &mut Bins) {
    for_each_port(ports, words, &mut |port, bits| {
        let bit = |at: u32| usize::from(bits[at as usize]);
        let bin = match port.width {
            1 => bit(0),
            2..=NUMBER_WIDTH if bits.not_any() => 0,
            2..=NUMBER_WIDTH if bits.all() => 2,
            2..=NUMBER_WIDTH => 1,
            width => 2 * bit(width - 1) + bit(0),
        };
        bins.hit(port.name, bin);
    });
}
