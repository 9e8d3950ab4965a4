// SPDX-License-Identifier: MIT
//! Why the file of a device is refused.

/// Why a preset is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It is not the TOML of a [`Config`](super::Config).
    #[error("preset, line {line}: {message}")]
    Syntax {
        /// Line, counted from 1; of a missing key, that of the table that lacks it.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A key is missing, unknown or of another type, or its value cannot be.
    #[error("{0}")]
    Key(String),
    /// Its name would not do in a report or a file's name.
    #[error("preset name {0:?}, expected 1 to 64 letters, digits, '-', '_' or '.'")]
    Name(String),
    /// A value cannot be.
    #[error("preset {preset}: {key} = {value}, expected {expected}")]
    Value {
        /// Name of the preset.
        preset: String,
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
}

impl ConfigError {
    /// One line from what is said of a key.
    pub(crate) fn key(error: &dyn std::fmt::Display) -> Self {
        Self::Key(printable(&error.to_string()))
    }

    /// One line from what the parser says, with the text of the line if it quotes the value alone.
    pub(crate) fn syntax(text: &str, error: &toml::de::Error) -> Self {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = &text.as_bytes()[..at];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let source = text.lines().nth(line - 1).unwrap_or_default().trim();
        let message = format!("{} (in: {source})", error.message());
        Self::Syntax { line, message: printable(&message) }
    }
}

/// The first of a message as a line.
fn printable(message: &str) -> String {
    let printable = |c: char| if c.is_control() { ' ' } else { c };
    message.trim().chars().map(printable).take(400).collect()
}
