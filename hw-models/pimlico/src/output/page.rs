// SPDX-License-Identifier: MIT
//! A report for people: text and tables, in the format that is asked for.

use super::table::Table;
use clap::{Args, ValueEnum};
use std::fmt;
use std::ops::{Add, AddAssign};

/// How a result is printed.
#[derive(Args, Clone, Copy, Default)]
pub struct FormatArguments {
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl FormatArguments {
    /// The format.
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// A format.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    #[value(alias = "table")]
    Text,
    /// One document
    Json,
    /// The same text and tables in Markdown
    Md,
    /// The tables alone, comma-separated, an empty line between two
    Csv,
}

/// Text and tables, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Page(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Table(Table),
}

impl Page {
    /// For people.
    pub fn text(&self) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Table(table) => table.text(),
        };
        self.0.iter().map(part).collect()
    }

    /// Markdown: each line of text is a paragraph.
    pub fn markdown(&self) -> String {
        let mut paragraphs: Vec<String> = Vec::new();
        for part in &self.0 {
            match part {
                Part::Table(table) => paragraphs.push(table.markdown()),
                Part::Text(text) => {
                    let lines = text.lines().filter(|line| !line.trim().is_empty());
                    paragraphs.extend(lines.map(|line| format!("{line}\n")));
                }
            }
        }
        paragraphs.join("\n")
    }

    /// Comma-separated values: what reads this reads columns.
    pub fn separated(&self) -> String {
        let tables = self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Table(table) => Some(table.separated()),
        });
        tables.collect::<Vec<_>>().join("\n")
    }
}

impl From<String> for Page {
    fn from(text: String) -> Self {
        Self(vec![Part::Text(text)])
    }
}

impl From<&str> for Page {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Table> for Page {
    fn from(table: Table) -> Self {
        Self(vec![Part::Table(table)])
    }
}

impl<T: Into<Self>> AddAssign<T> for Page {
    fn add_assign(&mut self, other: T) {
        for part in other.into().0 {
            match (self.0.last_mut(), part) {
                (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
                (_, part) => self.0.push(part),
            }
        }
    }
}

impl<T: Into<Self>> Add<T> for Page {
    type Output = Self;

    fn add(mut self, other: T) -> Self {
        self += other;
        self
    }
}

impl fmt::Write for Page {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self += text;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::table;
    use std::fmt::Write;

    #[test]
    fn a_page_is_text_and_tables_in_each_format() {
        let rows = || [vec!["a".to_owned(), "1 000".to_owned()]];
        let mut page = Page::from("title\n\n") + table(&["unit", "tCK"], rows());
        let _ = writeln!(page, "\nnote: {}", 1);
        page += table(&["x"], [vec!["2".to_owned()]]);
        let text =
            "title\n\n unit |   tCK \n------+-------\n a    | 1 000 \n\nnote: 1\n x \n---\n 2 \n";
        assert_eq!(page.text(), text);
        let markdown = "title\n\n| unit | tCK |\n| --- | ---: |\n| a | 1 000 |\n\nnote: 1\n\n| x |\n| ---: |\n| 2 |\n";
        assert_eq!(page.markdown(), markdown);
        assert_eq!(page.separated(), "unit,tCK\na,1000\n\nx\n2\n");
    }
}
