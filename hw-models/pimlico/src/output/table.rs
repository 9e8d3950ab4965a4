// SPDX-License-Identifier: MIT
//! A table, for people, for a page of Markdown and for a spreadsheet.

use std::collections::HashSet;
use tabled::builder::Builder;
use tabled::settings::formatting::AlignmentStrategy;
use tabled::settings::{Alignment, Style, object::Columns};

/// Columns of a terminal that a table for people takes, at the most.
const WIDEST: usize = 120;

/// Columns of it that the names of rows have before they are broken.
const NAMES: usize = 24;

/// Columns of it between two cells, and beside the outer ones.
const BETWEEN: usize = 3;

/// A table with a header. Numbers are bare: their unit is in the header. For people their digits are in groups of three,
/// whatever the cells have.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Of all numbers, where the text before the table says it.
    unit: Option<&'static str>,
}

/// A table with a header.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let header = header.iter().map(|&name| name.to_owned()).collect();
    Table { header, rows: rows.into_iter().collect(), unit: None }
}

impl Table {
    /// The same with the unit of all numbers, which a spreadsheet has in the header.
    pub fn in_unit(self, unit: &'static str) -> Self {
        Self { unit: Some(unit), ..self }
    }

    /// For people, in as many parts as it takes to be no wider than a terminal.
    pub fn text(&self) -> String {
        let shown = self.shown();
        let parts = shown.parts();
        let parts: Vec<_> = parts.iter().map(|columns| shown.part(columns)).collect();
        parts.join("\n")
    }

    /// Markdown.
    pub fn markdown(&self) -> String {
        self.shown().as_markdown()
    }

    /// The same with the digits of all numbers in groups.
    fn shown(&self) -> Self {
        let row = |row: &Vec<String>| row.iter().map(|cell| in_groups(cell)).collect();
        Self { rows: self.rows.iter().map(row).collect(), ..self.clone() }
    }

    fn as_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let cell = |text: &String| text.replace('\n', ", ").replace('|', "\\|");
        let rule = |n| if self.is_of_numbers(n) { "---:" } else { "---" }.to_owned();
        let head = line(self.header.iter().map(cell).collect());
        let rule = line((0..self.header.len()).map(rule).collect());
        let rows = self.rows.iter().map(|row| line(row.iter().map(cell).collect()));
        head + &rule + &rows.collect::<String>()
    }

    /// Comma-separated values; numbers without spaces.
    pub fn separated(&self) -> String {
        let cell = |text: &String| {
            let text = in_one_piece(text).replace('\n', ", ");
            match text.contains([',', '"']) {
                true => format!("\"{}\"", text.replace('"', "\"\"")),
                false => text,
            }
        };
        let line =
            |cells: &Vec<String>| cells.iter().map(cell).collect::<Vec<_>>().join(",") + "\n";
        let name = |(n, name): (usize, &String)| match self.unit {
            Some(unit) if self.is_of_numbers(n) => format!("{name}, {unit}"),
            _ => name.clone(),
        };
        line(&self.header.iter().enumerate().map(name).collect())
            + &self.rows.iter().map(line).collect::<String>()
    }

    /// The cells of a column, without its name.
    fn cells(&self, column: usize) -> impl Iterator<Item = &String> {
        self.rows.iter().filter_map(move |row| row.get(column))
    }

    fn is_of_numbers(&self, column: usize) -> bool {
        let of_numbers = || self.cells(column).map(|cell| is_number(cell));
        // The first column has names, which may be numbers with words among them.
        if column == 0 { of_numbers().all(|is| is) } else { of_numbers().any(|is| is) }
    }

    /// How many columns say which row it is: the first, or the first two where names are there twice.
    fn names(&self) -> usize {
        let mut names = HashSet::new();
        let is_unique = self.cells(0).all(|name| names.insert(name));
        if is_unique { 1 } else { self.header.len().min(2) }
    }

    /// The columns of each part: the names of the rows are in all of them.
    fn parts(&self) -> Vec<Vec<usize>> {
        let names: Vec<usize> = (0..self.names()).collect();
        let mut parts = Vec::new();
        let mut part = names.clone();
        for column in names.len()..self.header.len() {
            let wider = [&part[..], &[column]].concat();
            if part.len() > names.len() && taken(wider.iter().map(|&n| self.least(n))) > WIDEST {
                parts.push(std::mem::replace(&mut part, [&names[..], &[column]].concat()));
            } else {
                part = wider;
            }
        }
        parts.push(part);
        parts
    }

    /// Columns of a terminal that a column takes where its lines are as short as they can be.
    fn least(&self, column: usize) -> usize {
        let of_cell =
            |cell: &String| if is_number(cell) { widest_line(cell) } else { longest_word(cell) };
        let cells = self.cells(column).map(of_cell);
        let least = cells.chain([longest_word(&self.header[column])]).max().unwrap_or(0);
        let names = if column == 0 { self.natural(0).min(NAMES) } else { 0 };
        least.max(names)
    }

    /// The same where no line is broken.
    fn natural(&self, column: usize) -> usize {
        let cells = self.cells(column).chain([&self.header[column]]);
        cells.map(|cell| widest_line(cell)).max().unwrap_or(0)
    }

    /// Some of the columns.
    fn part(&self, columns: &[usize]) -> String {
        let least: Vec<_> = columns.iter().map(|&n| self.least(n)).collect();
        let mut widths: Vec<_> = columns.iter().map(|&n| self.natural(n)).collect();
        while taken(widths.iter().copied()) > WIDEST {
            let is_wider = |n: &usize| widths[*n] > least[*n];
            let widest = (0..widths.len()).filter(is_wider).max_by_key(|&n| widths[n]);
            let Some(widest) = widest else { break };
            widths[widest] -= 1;
        }
        let line = |cells: &Vec<String>| {
            let cell = |(&n, &width): (&usize, &usize)| {
                cells.get(n).map_or(String::new(), |cell| broken(cell, width))
            };
            columns.iter().zip(&widths).map(cell).collect::<Vec<_>>()
        };
        let mut builder = Builder::default();
        builder.push_record(line(&self.header));
        self.rows.iter().for_each(|row| builder.push_record(line(row)));
        let mut table = builder.build();
        table.with(Style::psql()).with(AlignmentStrategy::PerLine);
        for (at, &column) in columns.iter().enumerate() {
            if self.is_of_numbers(column) {
                table.modify(Columns::one(at), Alignment::right());
            }
        }
        format!("{table}\n")
    }
}

/// Columns of a terminal that cells take side by side.
fn taken(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + BETWEEN).sum::<usize>() - 1
}

fn widest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn longest_word(text: &str) -> usize {
    words(text).iter().map(|word| word.chars().count()).max().unwrap_or(0)
}

/// The words of a text; a number whose digits are in groups is one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_group = word.bytes().take_while(u8::is_ascii_digit).count() == 3;
        match words.last_mut() {
            Some(before)
                if is_group && digits(before.split(' ').next_back().unwrap_or("")).is_some() =>
            {
                *before += &format!(" {word}");
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Whether a cell is a number, or several of them, as `2 of 4`.
fn is_number(cell: &str) -> bool {
    let unsigned = cell.trim_start_matches(['+', '-']);
    let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
    unsigned.starts_with(|c: char| c.is_ascii_digit()) && letters <= 2
}

/// Digits of a number before its point, with a sign or without, and what follows them; none if it is no plain number.
fn digits(word: &str) -> Option<(&str, &str)> {
    let unsigned = word.trim_start_matches(['+', '-']);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, rest) = unsigned.split_at(end);
    let is_fraction = |rest: &str| rest.bytes().all(|c| c.is_ascii_digit());
    let is_plain = rest.is_empty() || rest.strip_prefix('.').is_some_and(is_fraction);
    (!digits.is_empty() && is_plain).then_some((digits, rest))
}

/// A cell for people: where it is a number, or several of them, the digits of each are in groups.
fn in_groups(cell: &str) -> String {
    if !is_number(cell) {
        return cell.to_owned();
    }
    cell.split(' ').map(grouped_word).collect::<Vec<_>>().join(" ")
}

fn grouped_word(word: &str) -> String {
    match digits(word) {
        Some((digits, rest)) => {
            let sign = &word[..word.len() - digits.len() - rest.len()];
            format!("{sign}{}{rest}", super::in_threes(digits))
        }
        None => word.to_owned(),
    }
}

/// A number whose digits are in groups of three without the spaces between these; any other cell as it is.
fn in_one_piece(cell: &str) -> String {
    let words: Vec<_> = cell.split(' ').collect();
    let is_group = |(n, word): (usize, &&str)| {
        let is_last = n + 1 == words.len();
        digits(word).is_some_and(|(digits, rest)| {
            (digits.len() == 3 || n == 0 && digits.len() < 3)
                && (is_last || rest.is_empty())
                && (n == 0 || word.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    match words.iter().enumerate().all(is_group) {
        true => words.concat(),
        false => cell.to_owned(),
    }
}

/// A text in lines of so many characters, broken between words; a number stays whole.
fn broken(text: &str, width: usize) -> String {
    if is_number(text) || widest_line(text) <= width {
        return text.to_owned();
    }
    let mut lines = vec![String::new()];
    for (n, given) in text.lines().enumerate() {
        if n > 0 {
            lines.push(String::new());
        }
        for word in words(given) {
            let line = lines.last_mut().expect("there is one");
            if line.is_empty() {
                line.push_str(&word);
            } else if line.chars().count() + 1 + word.chars().count() <= width {
                line.push(' ');
                line.push_str(&word);
            } else {
                lines.push(word);
            }
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn numbers_are_to_the_right_and_words_to_the_left() {
        let of = table(
            &["unit", "area, GE", "kind"],
            [row(&["a", "1 234", "x"]), row(&["bb", "5", "yy"])],
        );
        let text = " unit | area, GE | kind \n------+----------+------\n a    |    1 234 | x    \n \
                    bb   |        5 | yy   \n";
        assert_eq!(of.text(), text);
        let markdown = "| unit | area, GE | kind |\n| --- | ---: | --- |\n| a | 1 234 | x |\n| bb | 5 | yy |\n";
        assert_eq!(of.markdown(), markdown);
    }

    #[test]
    fn values_with_separators_are_quoted_and_numbers_are_in_one_piece() {
        let of = table(&["unit", "GE"], [row(&["a, \"b\"", "1 234 567"])]);
        assert_eq!(of.separated(), "unit,GE\n\"a, \"\"b\"\"\",1234567\n");
        let of = table(&["unit", "sum"], [row(&["a", "1"])]).in_unit("GE");
        assert_eq!(of.separated(), "unit,\"sum, GE\"\na,1\n");
    }

    #[test]
    fn digits_are_in_groups_for_people_and_in_one_piece_for_a_spreadsheet() {
        for (cell, shown, bare) in [
            ("1234567", "1 234 567", "1234567"),
            ("1 234 567", "1 234 567", "1234567"),
            ("30443.103", "30 443.103", "30443.103"),
            ("2 538 843.1", "2 538 843.1", "2538843.1"),
            ("-1234.5", "-1 234.5", "-1234.5"),
            ("7444 to 9571", "7 444 to 9 571", "7444 to 9571"),
            ("32768 x 16", "32 768 x 16", "32768 x 16"),
            ("1.23e-4", "1.23e-4", "1.23e-4"),
            ("5.0  10.0  0", "5.0  10.0  0", "5.0  10.0  0"),
            ("1, 2000", "1, 2 000", "1, 2000"),
            ("2939 of a DRAM", "2939 of a DRAM", "2939 of a DRAM"),
        ] {
            let of = table(&["x", "value"], [row(&["a", cell])]);
            assert!(of.text().ends_with(&format!("| {shown} \n")), "{}", of.text());
            let csv = of.separated();
            let csv = csv.lines().last().expect("a row").trim_start_matches("a,");
            assert_eq!(csv.trim_matches('"'), bare);
        }
    }

    #[test]
    fn every_part_says_which_row_it_is() {
        let names: Vec<String> = (0..40).map(|n| format!("value {n}")).collect();
        let header: Vec<&str> =
            ["system", "unit"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let of_unit = |unit: &str| {
            let cells = (0..40).map(|n| (100_000 + n).to_string());
            ["l3", unit].into_iter().map(str::to_owned).chain(cells).collect::<Vec<_>>()
        };
        let text = table(&header, ["bank_pu", "tree_pu"].map(of_unit)).text();
        let parts = text.matches(" system | unit").count();
        assert!(parts > 1, "{text}");
        assert_eq!(text.matches(" l3     | tree_pu").count(), parts, "{text}");
    }

    #[test]
    fn a_number_in_a_text_is_in_one_line() {
        let text = "a matrix of 4 096 x 14 336, d_h 128, 16 384 tokens";
        let expected =
            ["a", "matrix", "of", "4 096", "x", "14 336,", "d_h", "128,", "16 384", "tokens"];
        assert_eq!(words(text), expected);
        assert_eq!(broken(text, 20), "a matrix of 4 096 x\n14 336, d_h 128,\n16 384 tokens");
    }

    #[test]
    fn what_is_too_wide_is_broken_between_words_and_then_between_columns() {
        let source = "words of a source that goes on and on ".repeat(5);
        let of = table(&["device", "MT/s", "source"], [row(&["ddr4", "3 200", &source])]);
        let text = of.text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDEST), "{text}");
        assert!(text.contains(" ddr4   | 3 200 | words of"), "{text}");
        let names: Vec<String> = (0..40).map(|n| format!("value {n}")).collect();
        let header: Vec<&str> =
            std::iter::once("work").chain(names.iter().map(String::as_str)).collect();
        let cells = (0..40).map(|n| (100_000 + n).to_string());
        let of = table(&header, [std::iter::once("a head".to_owned()).chain(cells).collect()]);
        let text = of.text();
        assert!(text.lines().all(|line| line.chars().count() <= WIDEST), "{text}");
        let heads = text.lines().filter(|line| line.starts_with(" a head ")).count();
        assert!(heads > 2 && text.contains("100 039"), "{text}");
        assert_eq!(text.matches("100 017").count(), 1);
    }
}
