// SPDX-License-Identifier: MIT
//! A report for people: text and tables, in the format that is asked for.

use super::table::Table;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZero;
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
    /// Only this table of a result that has several, counted from 1; for programs that read --format csv and expect
    /// the same columns in every line
    #[arg(long, value_name = "N", conflicts_with = "json")]
    table: Option<NonZero<usize>>,
}

impl FormatArguments {
    /// The format.
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// What is printed of a page: all of it, or the one table.
    pub fn of(self, page: &Page) -> Result<Cow<'_, Page>, Failure> {
        let Some(number) = self.table else { return Ok(Cow::Borrowed(page)) };
        let tables: Vec<_> = page.tables().collect();
        match tables.get(number.get() - 1) {
            _ if self.format() == Format::Json => {
                Err(Failure::Input("--table: it does not go with --format json".to_owned()))
            }
            Some(&table) => Ok(Cow::Owned(table.clone().into())),
            None => {
                let count = tables.len();
                Err(Failure::Input(format!("--table {number}: expected 1 to {count}")))
            }
        }
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

/// Text and tables, one after the other.
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
        self.tables().map(Table::separated).collect::<Vec<_>>().join("\n")
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Table(table) => Some(table),
        })
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
