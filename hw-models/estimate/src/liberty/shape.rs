// SPDX-License-Identifier: MIT
//! What a text has to look like before a parser may see it: brackets that close, and not too many in
//! each other, as the parser goes down a level with each; no line and no number too long for it; no
//! comments, which it would take for operators in the middle of an expression, with brackets behind them.

/// Brackets in each other, at the most: a library has some eight.
const MOST_DEPTH: usize = 32;
/// Bytes of a line, at the most, as the parser counts them in 16 bits.
const LONGEST_LINE: usize = 65_000;
/// Digits of a number, at the most: the parser takes no more than 768.
const MOST_DIGITS: usize = 300;

/// Where a text is no Liberty, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misshapen {
    /// The line, from 1 on.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

/// The text with blanks in place of its comments, line for line, if its brackets, strings and comments
/// close and it has only bytes that a text has.
pub fn without_comments(text: &str) -> Result<String, Misshapen> {
    let text = text.as_bytes();
    let mut shown = text.to_vec();
    let wrong = |line, what: &str| Err(Misshapen { line, what: what.to_owned() });
    let mut open: Vec<(u8, usize)> = Vec::with_capacity(MOST_DEPTH);
    let mut line = 1;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\n' => line += 1,
            0..=8 | 14..=31 | 127 => {
                return wrong(line, "a control character: expected a text in Liberty format");
            }
            b'"' => {
                let Some(length) = text[at..].iter().position(|&b| b == b'"') else {
                    return wrong(line, "a string that does not end");
                };
                line += lines(&text[at..at + length]);
                at += length + 1;
            }
            b'/' if text.get(at) == Some(&b'*') => {
                let Some(length) = text[at + 1..].windows(2).position(|pair| pair == b"*/") else {
                    return wrong(line, "a comment that does not end");
                };
                line += lines(&text[at..at + 1 + length]);
                shown[at - 1..at + length + 3]
                    .iter_mut()
                    .filter(|b| **b != b'\n')
                    .for_each(|b| *b = b' ');
                at += length + 3;
            }
            b'{' | b'(' if open.len() == MOST_DEPTH => {
                return wrong(line, &format!("more than {MOST_DEPTH} brackets in each other"));
            }
            b'{' | b'(' => open.push((byte, line)),
            b'}' | b')' => {
                let opening = if byte == b'}' { b'{' } else { b'(' };
                match open.pop() {
                    Some((bracket, _)) if bracket == opening => {}
                    Some((bracket, begun)) => {
                        let (bracket, byte) = (char::from(bracket), char::from(byte));
                        let what = format!("a {byte} where the {bracket} of line {begun} is open");
                        return wrong(line, &what);
                    }
                    None => {
                        let what = format!("a {} that closes nothing", char::from(byte));
                        return wrong(line, &what);
                    }
                }
            }
            _ => {}
        }
    }
    match open.pop() {
        Some((bracket, begun)) => wrong(
            line,
            &format!("the file ends, but the {} of line {begun} is open", bracket as char),
        ),
        None => {
            check_lengths(text)?;
            Ok(String::from_utf8(shown).expect("whole comments were replaced"))
        }
    }
}

/// Looks for lines and numbers that are too long.
fn check_lengths(text: &[u8]) -> Result<(), Misshapen> {
    for (line, bytes) in (1..).zip(text.split(|&byte| byte == b'\n')) {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        let mut numbers = bytes.split(|byte| !is_digit(byte));
        let what = match () {
            () if bytes.len() > LONGEST_LINE => format!("a line of more than {LONGEST_LINE} bytes"),
            () if numbers.any(|digits| digits.len() > MOST_DIGITS) => {
                format!("a number of more than {MOST_DIGITS} digits")
            }
            () => continue,
        };
        return Err(Misshapen { line, what });
    }
    Ok(())
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (usize, String) {
        let Misshapen { line, what } = without_comments(text).expect_err("misshapen");
        (line, what)
    }

    #[test]
    fn brackets_in_strings_and_comments_do_not_count() {
        let shown = without_comments("a(b) { /* } \n (é */ c : \"}/*}}\n)\"; }\n");
        assert_eq!(shown, Ok("a(b) {      \n        c : \"}/*}}\n)\"; }\n".to_owned()));
        assert_eq!(without_comments(""), Ok(String::new()));
    }

    #[test]
    fn what_does_not_close_is_said_with_both_lines() {
        let closes = |text| refused(text);
        assert_eq!(
            closes("a(b) {\n\n c(d) {\n}\n").1,
            "the file ends, but the { of line 1 is open"
        );
        assert_eq!(closes("a(b) {\n}\n}"), (3, "a } that closes nothing".to_owned()));
        assert_eq!(
            closes("a(b {\n}"),
            (2, "the file ends, but the ( of line 1 is open".to_owned())
        );
        assert_eq!(closes("a(\n{)"), (2, "a ) where the { of line 2 is open".to_owned()));
        assert_eq!(closes("\n\"abc\n"), (2, "a string that does not end".to_owned()));
        assert_eq!(closes("\n/* abc\n"), (2, "a comment that does not end".to_owned()));
        assert_eq!(closes("a /*/ b").1, "a comment that does not end");
        assert_eq!(closes("a\n\0").0, 2);
        assert_eq!(closes("\"\n\n\" }").0, 3);
        assert!(closes(&"(".repeat(100_000)).1.contains("in each other"));
    }

    #[test]
    fn lines_and_numbers_that_are_too_long_for_the_parser_are_refused() {
        assert_eq!(refused(&" ".repeat(70_000)), (1, "a line of more than 65000 bytes".to_owned()));
        let number = "1".repeat(400);
        let expected = (2, "a number of more than 300 digits".to_owned());
        assert_eq!(refused(&format!("a\nb : 0.{number};\n")), expected);
        assert!(without_comments(&format!("a(b) {{ c : {}; }}", &number[..200])).is_ok());
    }
}
