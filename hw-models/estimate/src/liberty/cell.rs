// SPDX-License-Identifier: MIT
//! What is to know of a cell.

use super::{FullAdder, Inverter};
use crate::function::truth_table;
use liberty_parser::Value;
use liberty_parser::liberty::Group;

/// Its area in um2, if it says one.
pub fn area(cell: &Group) -> Option<f64> {
    match cell.simple_attribute("area")? {
        Value::Float(area) => Some(*area),
        _ => None,
    }
}

/// An attribute that is a word, in quotation marks or not.
fn word<'a>(group: &'a Group, name: &str) -> Option<&'a str> {
    match group.simple_attribute(name)? {
        Value::String(word) | Value::Expression(word) => Some(word),
        _ => None,
    }
}

/// The names of its inputs, and of its outputs with their truth tables.
fn functions(cell: &Group) -> (Vec<&str>, Vec<(&str, Option<u64>)>) {
    let pins =
        |direction| cell.iter_pins().filter(move |pin| word(pin, "direction") == Some(direction));
    let inputs: Vec<&str> = pins("input").map(|pin| pin.name.as_str()).collect();
    let table = |pin: &Group| truth_table(word(pin, "function")?, &inputs);
    let outputs = pins("output").map(|pin| (pin.name.as_str(), table(pin))).collect();
    (inputs, outputs)
}

/// Whether it is a two-input NAND.
pub fn is_nand2(cell: &Group) -> bool {
    let (inputs, outputs) = functions(cell);
    inputs.len() == 2 && matches!(outputs.as_slice(), [(_, Some(0b0111))])
}

/// Its pins, if it is an inverter that says how long it takes.
pub fn inverter(cell: &Group) -> Option<Inverter> {
    let (inputs, outputs) = functions(cell);
    let ([input], [(output, Some(0b01))]) = (inputs.as_slice(), outputs.as_slice()) else {
        return None;
    };
    let [cell_name, input, output] = [&cell.name, *input, *output].map(str::to_owned);
    is_timed(cell).then_some(Inverter { cell: cell_name, input, output })
}

/// Its pins, if it is a full adder.
pub fn full_adder(cell: &Group) -> Option<FullAdder> {
    let (inputs, outputs) = functions(cell);
    let ([a, b, c], [_, _]) = (inputs.as_slice(), outputs.as_slice()) else { return None };
    let output = |table| {
        let mut outputs = outputs.iter();
        outputs.find(|(_, found)| *found == Some(table)).map(|(name, _)| (*name).to_owned())
    };
    Some(FullAdder {
        cell: cell.name.clone(),
        inputs: [*a, *b, *c].map(str::to_owned),
        sum: output(0b1001_0110)?,
        carry: output(0b1110_1000)?,
    })
}

/// Whether it is a flip-flop or a latch.
pub fn holds_state(cell: &Group) -> bool {
    cell.iter_subgroups().any(|group| ["ff", "latch"].contains(&group.type_.as_str()))
}

/// Whether it says how long it takes.
pub fn is_timed(cell: &Group) -> bool {
    cell.iter_pins().any(|pin| pin.iter_subgroups().any(|group| group.type_ == "timing"))
}
