// SPDX-License-Identifier: MIT
//! What Verilator counts in the RTL.
//!
//! A point is a place in the source: a block or a branch that ran, or a bit of a signal that changed.
//! All instances of a module in a unit, whatever their parameters, share its points. What a parameter
//! takes out of the design has none.
//!
//! A bit counts as reached when it has changed twice since the first reset, that is, has risen and
//! fallen. Not counted are signals named `unused*`, which a lint rule wants and nothing reads, and bits
//! that are tied as `waivers` says; Verilator itself leaves out signals of more than 256 bits. Assertions
//! have no points.

use super::waivers::is_waived;
use std::collections::BTreeMap;
use std::fmt;

/// What a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Runs of a block or branch.
    Line,
    /// Changes of a bit.
    Toggle,
}

impl Kind {
    /// From so many on, a point is reached.
    fn threshold(self) -> u64 {
        match self {
            Self::Line => 1,
            Self::Toggle => 2,
        }
    }
}

/// A place in the source, and how often it was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What is counted.
    pub kind: Kind,
    /// The source file, from the folder `rtl`.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// The bit, or the sort of branch (`if`, `else`, `case`, ...).
    pub what: String,
    /// How often.
    pub count: u64,
}

impl Point {
    /// Whether it was reached.
    pub fn is_reached(&self) -> bool {
        self.count >= self.kind.threshold()
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, what, .. } = self;
        write!(f, "{file}:{line}: {what}")
    }
}

/// Leaves changes out that are in `before` already: that a register gives up its random bits for those of
/// the reset is none that a test has made. Blocks stay: of those without an input Verilator runs some once
/// and for all, at the begin.
///
/// # Panics
///
/// If the points are not the same ones.
pub fn since(before: &[Point], mut now: Vec<Point>) -> Vec<Point> {
    assert_eq!(before.len(), now.len(), "points of two units");
    for (before, now) in before.iter().zip(&mut now).filter(|(_, now)| now.kind == Kind::Toggle) {
        now.count -= before.count;
    }
    now
}

/// A line of Verilator's data that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of Verilator's coverage data: expected {expected}")]
pub struct ParseError {
    /// Its number, from 1.
    pub line: usize,
    /// What it should have had.
    pub expected: &'static str,
}

/// Reads Verilator's data of a run of `unit`, sorted by place.
///
/// # Errors
///
/// If a line is not as Verilator writes it.
pub fn parse(unit: &str, data: &str) -> Result<Vec<Point>, ParseError> {
    let mut counts = BTreeMap::new();
    for (line, text) in (1..).zip(data.lines()).filter(|(_, text)| !text.starts_with('#')) {
        let parsed = record(text).map_err(|expected| ParseError { line, expected })?;
        if let Some((place, count)) = parsed.filter(|((kind, file, _, _, what), _)| {
            *kind == Kind::Line || counts_as_signal(unit, file, what)
        }) {
            *counts.entry(place).or_insert(0u64) += count;
        }
    }
    let point = |((kind, file, line, _, what), count)| {
        let (file, what): (&str, &str) = (file, what);
        Point { kind, file: file.to_owned(), line, what: what.to_owned(), count }
    };
    Ok(counts.into_iter().map(point).collect())
}

/// Kind, file, line, column and what is there.
type Place<'a> = (Kind, &'a str, u32, u32, &'a str);

/// Reads one record: fields in quotes, each behind byte 1 with its key in front of byte 2 and its value
/// behind; then the count. None for a kind that is not counted here.
fn record(text: &str) -> Result<Option<(Place<'_>, u64)>, &'static str> {
    let fields = text.strip_prefix("C '").ok_or("a record \"C '...' count\"")?;
    let (fields, count) = fields.rsplit_once("' ").ok_or("a record \"C '...' count\"")?;
    let count = count.parse().map_err(|_| "a count behind the record")?;
    let field = |key: &str| {
        let mut pairs = fields.split('\u{1}').filter_map(|field| field.split_once('\u{2}'));
        pairs.find_map(|(name, value)| (name == key).then_some(value))
    };
    let number = |key| field(key).and_then(|value| value.parse().ok());
    let page = field("page").ok_or("a field \"page\"")?;
    let kind = match page.split_once('/').map(|(kind, _)| kind) {
        Some("v_toggle") => Kind::Toggle,
        Some("v_line" | "v_branch") => Kind::Line,
        _ => return Ok(None),
    };
    let file = from_rtl(field("f").ok_or("a field \"f\"")?);
    let line = number("l").ok_or("a number as field \"l\"")?;
    let column = number("n").ok_or("a number as field \"n\"")?;
    let what = field("o").ok_or("a field \"o\"")?;
    Ok(Some(((kind, file, line, column, what), count)))
}

/// The path behind the folder `rtl`, which may stand anywhere.
fn from_rtl(file: &str) -> &str {
    let rtl = file.rfind("rtl/").filter(|at| *at == 0 || file[..*at].ends_with('/'));
    rtl.map_or(file, |at| &file[at..])
}

/// Whether the bit counts.
fn counts_as_signal(unit: &str, file: &str, bit: &str) -> bool {
    let signal = bit.rsplit('.').next().unwrap_or(bit);
    !signal.starts_with("unused") && !is_waived(unit, file, bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fields: &[(&str, &str)], count: u64) -> String {
        let fields: String = fields.iter().map(|(k, v)| format!("\u{1}{k}\u{2}{v}")).collect();
        format!("C '{fields}' {count}\n")
    }

    fn toggle(page: &str, bit: &str, count: u64) -> String {
        let file = "rtl/prim/pipe.sv";
        line(&[("f", file), ("l", "9"), ("n", "3"), ("page", page), ("o", bit)], count)
    }

    fn branch(column: &str, what: &str, count: u64) -> String {
        let file = "/home/me/rtl/bank/bank_pu.sv";
        let page = "v_branch/bank_pu";
        line(&[("f", file), ("l", "40"), ("n", column), ("page", page), ("o", what)], count)
    }

    #[test]
    fn a_bit_is_reached_when_it_has_risen_and_fallen_in_any_instance() {
        let data = "# SystemC::Coverage-3\n".to_owned()
            + &toggle("v_toggle/pipe__W10", "data_o[0]", 1)
            + &toggle("v_toggle/pipe__W24", "data_o[0]", 1)
            + &toggle("v_toggle/pipe__W24", "data_o[1]", 1);
        let points = parse("fp_mul", &data).expect("as Verilator writes it");
        assert_eq!(points.len(), 2);
        assert_eq!(points[0].to_string(), "rtl/prim/pipe.sv:9: data_o[0]");
        assert_eq!(points.iter().map(Point::is_reached).collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn what_the_first_reset_changes_does_not_count() {
        let read = |changes, runs| {
            let data = toggle("v_toggle/pipe", "data_o[0]", changes) + &branch("5", "if", runs);
            parse("bank_pu", &data).expect("as Verilator writes it")
        };
        let counts = |points: Vec<Point>| points.iter().map(|p| p.count).collect::<Vec<_>>();
        assert_eq!(counts(since(&read(1, 1), read(2, 1))), [1, 1]);
    }

    #[test]
    fn branches_of_one_line_are_points_of_their_own() {
        let data = branch("5", "if", 0) + &branch("6", "else", 7) + &branch("9", "if", 1);
        let points = parse("bank_pu", &data).expect("as Verilator writes it");
        assert_eq!(points.iter().map(Point::is_reached).collect::<Vec<_>>(), [false, true, true]);
        assert_eq!(points[0].to_string(), "rtl/bank/bank_pu.sv:40: if");
    }

    #[test]
    fn what_nothing_reads_does_not_count() {
        let data = toggle("v_toggle/pipe", "unused_carry[3]", 0)
            + &toggle("v_toggle/pipe", "gen_lane[2].unused_zero", 0)
            + &line(&[("page", "v_user/pipe"), ("o", "cover")], 0);
        assert_eq!(parse("fp_mul", &data), Ok(Vec::new()));
    }

    #[test]
    fn data_of_another_format_is_an_error_with_its_place() {
        let good = toggle("v_toggle/pipe", "data_o[0]", 1);
        for (bad, expected) in [
            ("SF:rtl/prim/pipe.sv", "a record \"C '...' count\""),
            ("C 'x' many", "a count behind the record"),
            ("C '\u{1}page\u{2}v_line/a\u{1}f\u{2}a.sv' 1", "a number as field \"l\""),
        ] {
            let error = ParseError { line: 2, expected };
            assert_eq!(parse("fp_mul", &format!("{good}{bad}\n")), Err(error));
        }
    }
}
