// SPDX-License-Identifier: MIT
//! Libraries of standard cells, in the Liberty format: what an area needs of them.

use liberty_parser::Value;
use liberty_parser::ast::{GroupItem, LibertyAst};
use liberty_parser::liberty::Group;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of a library, at the most.
const MOST_BYTES: u64 = 256 << 20;
/// Groups in each other, at the most: a library has some six.
const MOST_DEPTH: usize = 32;

/// A library.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its name, as it says itself.
    pub name: String,
    /// Its file.
    pub file: PathBuf,
    /// Its bytes.
    pub(crate) text: Vec<u8>,
    /// Area of the smallest two-input NAND in um2: a gate equivalent.
    pub nand2_um2: f64,
    /// Its name.
    pub nand2: String,
    /// The cells by name.
    pub(crate) cells: BTreeMap<String, CellInfo>,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellInfo {
    /// Area in um2.
    pub area_um2: f64,
    /// It holds state.
    pub holds_state: bool,
}

/// What is wrong with a library.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", file.display())]
pub struct LibraryError {
    /// Which file.
    pub file: PathBuf,
    /// What is wrong, and where.
    pub what: String,
}

impl Library {
    /// Reads a library.
    pub fn read(file: &Path) -> Result<Self, LibraryError> {
        let error = |what: String| LibraryError { file: file.to_owned(), what };
        let size = std::fs::metadata(file).map_err(|e| error(e.to_string()))?;
        if !size.is_file() || size.len() > MOST_BYTES {
            return Err(error(format!("expected a file of at most {MOST_BYTES} bytes")));
        }
        let text = std::fs::read(file).map_err(|e| error(e.to_string()))?;
        Self::parse(file, text).map_err(error)
    }

    fn parse(file: &Path, text: Vec<u8>) -> Result<Self, String> {
        let source = std::str::from_utf8(&text)
            .map_err(|e| format!("byte {}: not a text in UTF-8", e.valid_up_to()))?;
        check_nesting(source)?;
        let parsed = LibertyAst::from_string(source).map_err(|e| first_place(&e.to_string()))?;
        let is_group = |item: &GroupItem| matches!(item, GroupItem::Group(..));
        let mut libraries = parsed.0.into_iter().filter(is_group).map(Group::from_group_item);
        let (Some(library), None) = (libraries.next(), libraries.next()) else {
            return Err("expected one library".to_owned());
        };
        let nand2 = library
            .iter_cells()
            .filter(|cell| is_nand2(cell))
            .filter_map(|cell| Some((area(cell)?, cell.name.clone())))
            .filter(|(area, _)| *area > 0.0)
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (nand2_um2, nand2) =
            nand2.ok_or("no cell with an area whose function is that of a two-input NAND")?;
        let info = |cell: &Group| {
            let kinds = ["ff", "latch"];
            let holds_state = cell.iter_subgroups().any(|g| kinds.contains(&g.type_.as_str()));
            Some((cell.name.clone(), CellInfo { area_um2: area(cell)?, holds_state }))
        };
        let cells = library.iter_cells().filter_map(info).collect();
        let name = library.name.clone();
        Ok(Self { name, file: file.to_owned(), nand2_um2, nand2, cells, text })
    }
}

/// The parser goes down a level with each brace.
fn check_nesting(source: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for (number, line) in source.lines().enumerate() {
        for byte in line.bytes() {
            match byte {
                b'{' => depth += 1,
                b'}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > MOST_DEPTH {
                return Err(format!("line {}: more than {MOST_DEPTH} groups nested", number + 1));
            }
        }
    }
    Ok(())
}

/// The first place that the parser's message names.
fn first_place(message: &str) -> String {
    let place = message.split("at line ").nth(1).and_then(|rest| rest.split(':').next());
    let expected = message.lines().find(|line| line.starts_with("expected "));
    match (place, expected) {
        (Some(line), Some(expected)) => format!("line {line}: {expected}"),
        (Some(line), None) => format!("line {line}: expected Liberty"),
        _ => "expected Liberty".to_owned(),
    }
}

fn area(cell: &Group) -> Option<f64> {
    match cell.simple_attribute("area")? {
        Value::Float(area) if area.is_finite() => Some(*area),
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

fn is_nand2(cell: &Group) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
library(small) {
  cell(NAND) { area : 2.5; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "(!(A B))"; } }
  cell(BIG) { area : 4; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(B & A)"; } }
  cell(NOR) { area : 1; pin(A) { direction : input; } pin(B) { direction : input; }
    pin(Y) { direction : output; function : "!(A | B)"; } }
  cell(FF) { area : 9; ff(IQ, IQN) { next_state : "D"; } pin(D) { direction : input; } }
}
"#;

    fn parse(text: &str) -> Result<Library, String> {
        Library::parse(Path::new("x.lib"), text.as_bytes().to_vec())
    }

    #[test]
    fn the_smallest_nand_is_the_unit() {
        let library = parse(SMALL).expect("a library");
        assert_eq!((library.name.as_str(), library.nand2.as_str()), ("small", "NAND"));
        assert_eq!(library.nand2_um2, 2.5);
        assert_eq!(library.cells["FF"], CellInfo { area_um2: 9.0, holds_state: true });
        assert!(!library.cells["BIG"].holds_state);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let without = SMALL.replace("area : 4;", "area : 4 area : 5;");
        let error = parse(&without).expect_err("a semicolon is missing");
        assert!(error.contains("line "), "{error}");
        let error = parse(&SMALL[..200]).expect_err("half a library");
        assert!(error.contains("line "), "{error}");
        let error = parse(&SMALL.replace("!(A B)", "A").replace("!(B & A)", "B"));
        assert!(error.expect_err("no NAND").contains("two-input NAND"));
        assert!(parse("").expect_err("nothing").contains("expected"));
        let nested = "library(a) ".to_owned() + &"{ b(c) ".repeat(100_000);
        assert!(parse(&nested).expect_err("deep").contains("nested"));
    }
}
