// SPDX-License-Identifier: MIT
//! Studies: tables of runs, and their figures beside those of the papers.
//!
//! * [`costs`]: tables of costs beside exact ones.
//! * [`gpus`]: the rooflines beside measured kernels.
//! * [`lab`]: what the studies of L3 share.
//! * [`throughput`]: L3 and its baselines on four data sets and three models.
//! * [`l3`]: L3's other figures.
//! * [`predictor`]: what L3's scheduler learns.
//! * [`lol`]: LoL-PIM's figures.
//! * [`neupims`]: NeuPIMs' figures.

pub mod costs;
pub mod gpus;
pub mod l3;
pub mod lab;
pub mod lol;
pub mod neupims;
pub mod predictor;
pub mod throughput;

use serde::Serialize;

/// What a study found; it serialises to the document that `--json` prints.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Study {
    /// Its name on the command line.
    pub study: &'static str,
    /// What it is about.
    pub title: String,
    /// Its tables.
    pub tables: Vec<StudyTable>,
    /// Figures beside the papers'.
    pub figures: Vec<Figure>,
    /// What does not hold, by `golden::timeline`.
    pub violations: u64,
    /// What is to know about the figures.
    pub notes: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, Serialize)]
pub struct StudyTable {
    /// What it shows.
    pub title: String,
    /// The columns.
    pub columns: Vec<&'static str>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number.
    Number(Number),
}

/// A number with the digits behind its point.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// The number.
    pub value: f64,
    /// Digits behind the point.
    pub digits: usize,
}

impl Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let scale = 10f64.powi(self.digits as i32);
        let rounded = (self.value * scale).round() / scale;
        if self.digits == 0 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// A figure beside that of a paper.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// The paper's, in its words.
    pub paper: String,
    /// Ours.
    pub ours: f64,
    /// The band in which ours is expected.
    pub band: [f64; 2],
    /// Whether it is.
    pub holds: bool,
    /// Why not.
    pub cause: Option<String>,
}

impl Figure {
    /// A figure with its band; the cause is told only where the figure is outside.
    pub fn new(what: &str, paper: &str, ours: f64, band: [f64; 2], cause: &str) -> Self {
        let holds = (band[0]..=band[1]).contains(&ours);
        let cause = (!holds).then(|| cause.to_owned());
        Self { what: what.to_owned(), paper: paper.to_owned(), ours, band, holds, cause }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A cell with a number.
pub fn number(value: f64, digits: usize) -> Cell {
    Cell::Number(Number { value, digits })
}

/// A cell with a whole number.
pub fn whole(value: u64) -> Cell {
    number(value as f64, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_outside_of_its_band_has_a_cause() {
        let inside = Figure::new("a", "1.5x", 1.4, [1.0, 2.0], "none");
        assert!(inside.holds && inside.cause.is_none());
        let outside = Figure::new("a", "1.5x", 2.4, [1.0, 2.0], "a reason");
        assert_eq!((outside.holds, outside.cause.as_deref()), (false, Some("a reason")));
    }

    #[test]
    fn cells_are_numbers_or_words() {
        let cells = serde_json::to_string(&[whole(12), number(1.256, 2), "x".into()]);
        assert_eq!(cells.expect("JSON"), "[12,1.26,\"x\"]");
    }
}
