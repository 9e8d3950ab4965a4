// SPDX-License-Identifier: MIT
//! Lines of hexadecimal numbers.

use crate::failure::Failure;
use std::io::{BufRead, Read};

/// Longest line that is read, in bytes.
const LONGEST: u64 = 256;

/// Why a word is no number.
#[derive(Debug, thiserror::Error)]
#[error("`{word}` is no hexadecimal number of 16 bits")]
pub struct NotANumber {
    word: String,
}

/// The number that `word` is, with or without `0x`.
pub fn number(word: &str) -> Result<u16, NotANumber> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    // `from_str_radix` would take a sign.
    let hexadecimal = digits.chars().all(|c| c.is_ascii_hexdigit());
    let number = u16::from_str_radix(digits, 16).ok().filter(|_| hexadecimal);
    number.ok_or_else(|| NotANumber { word: word.chars().take(40).collect() })
}

/// Reads numbers from lines, and nothing behind them but what is said. Empty lines are ignored.
pub struct Lines<R> {
    reader: R,
    /// Numbers in a line.
    numbers: usize,
    /// Whether flags of exceptions may stand behind them: two digits, which are not looked at.
    with_flags: bool,
    line: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// Reads `numbers` numbers, three at the most, from each line.
    pub fn new(reader: R, numbers: usize) -> Self {
        Self { reader, numbers, with_flags: false, line: 0, buffer: Vec::new() }
    }

    /// The same of lines that may end in flags, as Berkeley TestFloat writes them.
    pub fn with_flags(self) -> Self {
        Self { with_flags: true, ..self }
    }

    /// Reads up to `count` lines into `cases`. Returns false at the end.
    pub fn read(&mut self, count: usize, cases: &mut Vec<[u16; 3]>) -> Result<bool, Failure> {
        cases.clear();
        while cases.len() < count {
            self.buffer.clear();
            self.line += 1;
            let read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer);
            let read = read.map_err(|e| Failure::Input(format!("standard input: {e}")))?;
            if read == 0 {
                break;
            }
            if read as u64 == LONGEST && self.buffer.last() != Some(&b'\n') {
                return Err(self.error(format!("longer than {LONGEST} bytes")));
            }
            let text = str::from_utf8(&self.buffer);
            let text = text.map_err(|_| self.error("not text".to_owned()))?;
            if !text.trim().is_empty() {
                cases.push(self.case(text)?);
            }
        }
        Ok(!cases.is_empty())
    }

    fn case(&self, text: &str) -> Result<[u16; 3], Failure> {
        let mut case = [0; 3];
        let mut words = text.split_whitespace();
        for slot in &mut case[..self.numbers] {
            let word = words.next().ok_or_else(|| {
                self.error(format!("{} hexadecimal numbers expected", self.numbers))
            })?;
            *slot = number(word).map_err(|what| self.error(what.to_string()))?;
        }
        let is_flags = |word: &&str| word.len() <= 2 && number(word).is_ok();
        let mut words = words.peekable();
        if self.with_flags {
            let _ = words.next_if(is_flags);
        }
        if let Some(word) = words.next() {
            let (numbers, word) = (self.numbers, word.chars().take(40).collect::<String>());
            let flags = if self.with_flags { " and flags" } else { "" };
            let problem = format!("`{word}` behind the {numbers} numbers{flags} of a line");
            return Err(self.error(problem));
        }
        Ok(case)
    }

    fn error(&self, what: String) -> Failure {
        Failure::Input(format!("standard input, line {}: {what}", self.line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], numbers: usize) -> Result<Vec<[u16; 3]>, String> {
        let mut cases = Vec::new();
        let read = Lines::new(text, numbers).read(100, &mut cases);
        read.map(|_| cases).map_err(|failure| failure.to_string())
    }

    #[test]
    fn numbers_come_from_lines() {
        let cases = read(b"3C00 0x4000 4000\n\nffff 0 1", 3);
        assert_eq!(cases, Ok(vec![[0x3C00, 0x4000, 0x4000], [0xFFFF, 0, 1]]));
    }

    #[test]
    fn flags_are_read_where_they_may_be() {
        let read = |text: &[u8]| {
            let mut cases = Vec::new();
            let read = Lines::new(text, 3).with_flags().read(100, &mut cases);
            read.map(|_| cases).map_err(|failure| failure.to_string())
        };
        assert_eq!(read(b"1 2 3 1F\n4 5 6\n"), Ok(vec![[1, 2, 3], [4, 5, 6]]));
        for wrong in [&b"1 2 3 01 more"[..], b"1 2 3 zz", b"1 2 3 123"] {
            let error = read(wrong).expect_err("it is wrong");
            assert!(error.contains("behind the 3 numbers and flags of a line"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (text, expected) in [
            (&b"3C00 4000\n3C00\n"[..], "line 2: 2 hexadecimal numbers expected"),
            (b"3C00 +400", "line 1: `+400` is no hexadecimal number"),
            (b"1 12345", "`12345` is no"),
            (b"1 0x", "`0x` is no"),
            (b"1 \xff", "not text"),
            (b"1 2\n3 4 05\n", "line 2: `05` behind the 2 numbers of a line"),
            (&[b'1'; 5000], "line 1: longer than 256 bytes"),
        ] {
            let error = read(text, 2).expect_err("it is wrong");
            assert!(error.contains(expected), "{error}");
        }
    }
}
