// SPDX-License-Identifier: MIT
//! Text of input on its way to a terminal: control characters are escaped, and a message has no long words.

use std::borrow::Cow;

/// Characters of a word of a message, at the most: more than a file's name has.
const LONGEST_WORD: usize = 260;

/// Characters of a line of a message, at the most.
const LONGEST_LINE: usize = 6000;

/// Characters that a long word keeps of its end: of a path, that is the file.
const END: usize = 60;

/// A text with its control characters escaped, but for ends of lines and tabs.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match u8::try_from(c) {
            _ if !is_control(c) => escaped.push(c),
            Ok(byte) => escaped += &format!("\\x{byte:02x}"),
            Err(_) => escaped.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// A JSON document with the control characters escaped that JSON leaves in text.
pub fn plain_json(document: &str) -> Cow<'_, str> {
    if !document.contains(is_control) {
        return Cow::Borrowed(document);
    }
    let escaped = |c: char| match is_control(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    Cow::Owned(document.chars().map(escaped).collect())
}

/// A message: a text with its control characters escaped, of whose long words and lines the middle is left out.
pub fn message(text: &str) -> String {
    let line = |line: &str| {
        let words = line.split(' ').map(|word| shortened(word, LONGEST_WORD));
        shortened(&words.collect::<Vec<_>>().join(" "), LONGEST_LINE)
    };
    plain(text).split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a terminal takes it for a command, or turns the text around it.
fn is_control(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !['\n', '\t'].contains(&c)
}

fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let begin: String = text.chars().take(most - END).collect();
    let end: String = text.chars().skip(count - END).collect();
    format!("{begin}[... {} characters]{end}", count - most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(plain("a\n\tb ü"), "a\n\tb ü");
        assert_eq!(plain("\x1b[31m\r\x07\x7f\u{9b}"), "\\x1b[31m\\x0d\\x07\\x7f\\x9b");
        assert_eq!(plain("\u{202e}"), "\\u{202e}");
        let json = plain_json("{\n  \"a\": \"\x7f\u{202e}\"\n}");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["a"], "\x7f\u{202e}");
    }

    #[test]
    fn long_words_and_lines_lose_their_middle() {
        let short = "a message of words, each on its own".repeat(20);
        assert_eq!(message(&short), short);
        let word = format!("file {}/end: wrong", "x".repeat(200_000));
        let cut = message(&word);
        assert!(cut.len() < 400 && cut.starts_with("file xxx"), "{cut}");
        assert!(cut.ends_with("xxx/end: wrong") && cut.contains(" characters]"), "{cut}");
        assert!(message(&"word ".repeat(100_000)).len() < 7000);
    }
}
