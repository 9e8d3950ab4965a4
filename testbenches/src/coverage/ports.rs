// SPDX-License-Identifier: MIT
//! The plan of a unit whose bench has none of its own: every port takes values of every sort.

use super::Bins;
use pimlico_ports::{Bundle, PortInfo, Unit};

const FLAG: [&str; 2] = ["0", "1"];
const NUMBER: [&str; 3] = ["lowest", "between", "highest"];
/// A word is too wide for its ends to come by chance.
const WORD: [&str; 4] = ["outer bits 00", "outer bits 01", "outer bits 10", "outer bits 11"];

/// Widest port that counts as a number.
const NUMBER_WIDTH: u32 = 6;

/// Declares the bins.
pub fn plan<U: Unit>(bins: &mut Bins) {
    for port in U::In::PORTS.iter().chain(U::Out::PORTS) {
        bins.declare(port.name, names(port).iter().copied());
    }
}

/// Marks the values of a cycle.
pub fn cover<U: Unit>(input: &U::In, output: &U::Out, bins: &mut Bins) {
    mark(input, bins);
    mark(output, bins);
}

fn names(port: &PortInfo) -> &'static [&'static str] {
    match port.width {
        1 => &FLAG,
        2..=NUMBER_WIDTH => &NUMBER,
        _ => &WORD,
    }
}

fn mark<B: Bundle>(bundle: &B, bins: &mut Bins) {
    bundle.for_each_port(|port, bits| {
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
