// SPDX-License-Identifier: MIT
//! What a run consists of over time: tokens, operators, heads, phases. Each is a row of bands.

use super::time::Time;
use super::{LEFT, MARGIN, RIGHT};
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, TEXT};
use pimlico_device::{Reads, Timeline};
use pimlico_workload::report::Report;
use pimlico_workload::report::decode::DecodeReport;
use plotters::prelude::*;

/// Height of a band, of a row with it, and of the key.
const BAND: i32 = 18;
const ROW: i32 = 22;
const KEY: i32 = 24;
/// Pixels of a band on average, at the least; narrower ones are no picture.
const LEAST: i64 = 3;

/// Colours of bands, which no cause and no unit has.
const COLOURS: [RGBColor; 8] = [
    RGBColor(197, 225, 165),
    RGBColor(248, 187, 208),
    RGBColor(179, 229, 252),
    RGBColor(255, 224, 178),
    RGBColor(209, 196, 233),
    RGBColor(255, 245, 157),
    RGBColor(178, 223, 219),
    RGBColor(215, 204, 200),
];
/// Title of the row of heads.
pub const HEADS: &str = "K and V head";
/// Of bands that are numbered.
const NUMBERED: [RGBColor; 2] = [RGBColor(238, 238, 238), RGBColor(207, 216, 220)];

/// A stretch of time and what it is.
pub struct Span {
    pub from_tck: u64,
    pub until_tck: u64,
    name: String,
}

/// Spans one behind the other.
pub struct Row {
    pub title: String,
    pub spans: Vec<Span>,
    /// Names that a colour stands for, in the order of their first spans; none if they are numbers.
    names: Vec<String>,
}

impl Row {
    fn named(title: &str, spans: Vec<Span>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for Span { name, .. } in &spans {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        Self { title: title.to_owned(), spans, names }
    }

    fn numbered(title: String, spans: Vec<Span>) -> Self {
        Self { title, spans, names: Vec::new() }
    }

    /// The names that colours stand for, and their colours.
    pub fn colours(&self) -> impl Iterator<Item = (&str, RGBColor)> {
        self.names.iter().map(String::as_str).zip(COLOURS.into_iter().cycle())
    }

    /// The spans of a name.
    pub fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Span> {
        self.spans.iter().filter(move |span| span.name == name)
    }

    /// Whether bands can be told apart.
    pub fn is_wide(&self, time: &Time) -> bool {
        let covered: u64 = self.spans.iter().map(|span| span.until_tck - span.from_tck).sum();
        let pixels = covered as f64 / time.tck() as f64 * f64::from(RIGHT - LEFT);
        pixels as i64 >= LEAST * self.spans.len() as i64
    }

    /// Whether the names of all bands have room in them.
    fn says_all(&self, time: &Time) -> bool {
        self.names.iter().all(|name| self.of(name).any(|span| has_room(span, time)))
    }

    fn colour(&self, number: usize) -> RGBColor {
        let name = &self.spans[number].name;
        let known = self.colours().find(|(other, _)| other == name);
        known.map_or(NUMBERED[number % 2], |(_, colour)| colour)
    }
}

/// The rows of a run, the longest spans first.
pub fn rows(timeline: &Timeline, report: &Report, time: &Time) -> Vec<Row> {
    let tokens = report.of::<DecodeReport>().map(tokens);
    let by_operator = merged(timeline, |run| run.operator.to_owned());
    let operators = Row::named("operator", by_operator);
    let several = operators.names.len() > 1;
    let mut rows: Vec<Row> = tokens.into_iter().collect();
    if several {
        rows.push(operators);
    } else {
        let parts = merged(timeline, |run| run.part.clone());
        if parts.len() > 1 {
            rows.push(Row::numbered(HEADS.to_owned(), parts));
        }
        let phases = phases(timeline, time);
        if !phases.is_empty() {
            rows.push(Row::named("phase", phases));
        }
    }
    rows
}

/// Tokens, one behind the other.
fn tokens(decode: &DecodeReport) -> Row {
    let mut from_tck = 0;
    let span = |token: &pimlico_workload::report::decode::TokenReport| {
        let span =
            Span { from_tck, until_tck: from_tck + token.cycles, name: token.position.to_string() };
        from_tck = span.until_tck;
        span
    };
    let last = decode.tokens.last().map_or(0, |token| token.position);
    Row::numbered(format!("token 0 to {last}"), decode.tokens.iter().map(span).collect())
}

/// The runs of programs, those of one name together.
fn merged(timeline: &Timeline, name: impl Fn(&pimlico_device::ProgramRun) -> String) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for run in timeline.runs() {
        let name = name(run);
        match spans.last_mut() {
            Some(last) if last.name == name => continue,
            Some(last) => last.until_tck = run.from_tck,
            None => {}
        }
        spans.push(Span { from_tck: run.from_tck, until_tck: timeline.tck(), name });
    }
    spans
}

/// Score, softmax and context of each run of attention; a run of a matrix has none.
fn phases(timeline: &Timeline, time: &Time) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut add = |from_tck, until_tck: u64, name: &str| {
        let until_tck = until_tck.min(time.tck());
        spans.push(Span { from_tck, until_tck, name: name.to_owned() });
    };
    if !timeline.reads().iter().any(|reads| reads.accumulate) {
        return spans;
    }
    let mut before: Option<Reads> = None;
    for reads in timeline.reads() {
        let Reads { from_tck, until_tck, accumulate } = *reads;
        if let Some(score) = before.filter(|before| accumulate && !before.accumulate) {
            add(score.until_tck.min(from_tck), from_tck, "softmax");
        }
        add(from_tck, until_tck, if accumulate { "context" } else { "score" });
        before = Some(*reads);
    }
    spans
}

/// Height of the rows with their key.
pub fn height(rows: &[Row]) -> i32 {
    let key = if rows.iter().any(|row| !row.names.is_empty()) { KEY } else { 0 };
    match rows.len() as i32 {
        0 => 0,
        rows => 8 + rows * ROW + key,
    }
}

/// Draws the rows.
pub fn draw(area: &Area<'_>, rows: &[Row], time: &Time, top: i32) -> Drawn {
    let top = top + 8;
    for (n, row) in (0..).zip(rows) {
        let top = top + n * ROW;
        drawing::write(area, &row.title, (MARGIN, top + BAND / 2), TEXT, Anchor::Left)?;
        for (number, span) in row.spans.iter().enumerate() {
            let (left, right) = ends(span, time);
            let corners = [(left, top), (right, top + BAND)];
            area.draw(&Rectangle::new(corners, row.colour(number).filled()))?;
            area.draw(&Rectangle::new(corners, GREY.stroke_width(1)))?;
            if has_room(span, time) {
                let middle = ((left + right) / 2, top + BAND / 2);
                drawing::write(area, &span.name, middle, TEXT, Anchor::Middle)?;
            }
        }
    }
    let middle = top + rows.len() as i32 * ROW + KEY / 2 - 2;
    let named = rows.iter().filter(|row| !row.says_all(time));
    drawing::key(area, named.flat_map(Row::colours), (LEFT, middle))
}

fn ends(span: &Span, time: &Time) -> (i32, i32) {
    (time.x(span.from_tck as f64), time.x(span.until_tck as f64))
}

fn has_room(span: &Span, time: &Time) -> bool {
    let (left, right) = ends(span, time);
    drawing::width_of(&span.name, TEXT) <= right - left
}
