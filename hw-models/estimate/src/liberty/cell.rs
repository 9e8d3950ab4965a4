// SPDX-License-Identifier: MIT
//! What is to know of a cell.

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

/// Whether it is a two-input NAND.
pub fn is_nand2(cell: &Group) -> bool {
    let pins =
        |direction| cell.iter_pins().filter(move |pin| word(pin, "direction") == Some(direction));
    let inputs: Vec<&str> = pins("input").map(|pin| pin.name.as_str()).collect();
    let outputs: Vec<&str> = pins("output").filter_map(|pin| word(pin, "function")).collect();
    let ([a, b], [function]) = (inputs.as_slice(), outputs.as_slice()) else { return false };
    let plain: String = function
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| if c == '*' { '&' } else { c })
        .collect();
    // With blanks for AND, the names stand side by side.
    let nand = |x: &str, y: &str| {
        [format!("{x}&{y}"), format!("{x}{y}")]
            .iter()
            .flat_map(|and| {
                [
                    format!("!({and})"),
                    format!("(!({and}))"),
                    format!("({and})'"),
                    format!("(({and})')"),
                ]
            })
            .chain([format!("!{x}|!{y}"), format!("(!{x}|!{y})"), format!("(!{x})|(!{y})")])
            .chain([format!("!{x}+!{y}"), format!("(!{x}+!{y})"), format!("(!{x})+(!{y})")])
            .any(|form| form == plain)
    };
    nand(a, b) || nand(b, a)
}

/// Whether it is a flip-flop or a latch.
pub fn holds_state(cell: &Group) -> bool {
    cell.iter_subgroups().any(|group| ["ff", "latch"].contains(&group.type_.as_str()))
}

/// Whether it says how long it takes.
pub fn is_timed(cell: &Group) -> bool {
    cell.iter_pins().any(|pin| pin.iter_subgroups().any(|group| group.type_ == "timing"))
}
