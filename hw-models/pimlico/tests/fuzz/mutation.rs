// SPDX-License-Identifier: MIT
//! What is done to a file that is in order.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Numbers at which readers break.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "17",
    "255",
    "256",
    "65535",
    "65536",
    "16777216",
    "16777217",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "0.5",
    "1e308",
];

/// Words that mean something to one reader or the other.
const WORDS: [&str; 30] = [
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"\u{1b}[31m\"",
    "NaN",
    "1e999",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ",",
    ":",
    ";",
    "=",
    "\"",
    "\n",
    "\\",
    "/*",
    "*/",
    "#",
    "@",
    "+",
    "loop",
    "end",
    "\0",
    "é",
];

/// A change of a file.
#[derive(Clone, Debug)]
pub enum Mutation {
    /// What is behind a place is gone.
    Cut(Index),
    /// A byte becomes another.
    Byte(Index, u8),
    /// A bit turns.
    Bit(Index, u8),
    /// A number of four or eight bytes becomes another, lowest byte first.
    Binary(Index, u64, bool),
    /// The n-th decimal number becomes another.
    Number(Index, &'static str),
    /// A word goes in.
    Insert(Index, &'static str),
    /// Some bytes are gone.
    Remove(Index, usize),
    /// Some bytes are there twice, or very often.
    Repeat(Index, usize, usize),
    /// A line changes its place.
    Line(Index, Index),
}

/// A change of any kind.
fn mutation() -> impl Strategy<Value = Mutation> {
    let binary = prop_oneof![
        (0..32u64).prop_map(|n| 1 << n),
        (0..64u64).prop_map(|n| 1 << n),
        Just(u64::MAX),
        Just(0),
        any::<u64>(),
        0..64u64,
        Just(u64::from(f32::NAN.to_bits())),
    ];
    prop_oneof![
        2 => any::<Index>().prop_map(Mutation::Cut),
        3 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Byte(at, byte)),
        3 => (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Mutation::Bit(at, bit)),
        4 => (any::<Index>(), binary, any::<bool>())
            .prop_map(|(at, number, wide)| Mutation::Binary(at, number, wide)),
        8 => (any::<Index>(), select(&NUMBERS[..])).prop_map(|(at, n)| Mutation::Number(at, n)),
        4 => (any::<Index>(), select(&WORDS[..])).prop_map(|(at, word)| Mutation::Insert(at, word)),
        3 => (any::<Index>(), 1..40usize).prop_map(|(at, count)| Mutation::Remove(at, count)),
        2 => (any::<Index>(), 1..40usize, prop_oneof![Just(1), Just(2), Just(20_000usize)])
            .prop_map(|(at, count, times)| Mutation::Repeat(at, count, times)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Line(from, to)),
    ]
}

/// One to four changes.
pub fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    prop::collection::vec(mutation(), 1..5)
}

/// A place in so many bytes, the end among them.
fn place(at: Index, bytes: &[u8]) -> usize {
    at.index(bytes.len() + 1)
}

/// Where the decimal numbers of a text are.
fn numbers(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let count = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count > 0 {
            found.push((at, at + count));
        }
        at += count.max(1);
    }
    found
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match *self {
            Self::Cut(at) => bytes.truncate(place(at, bytes)),
            Self::Byte(at, byte) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            Self::Bit(at, bit) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] ^= 1 << bit;
            }
            Self::Binary(at, number, wide) => {
                let number = &number.to_le_bytes()[..if wide { 8 } else { 4 }];
                // Most numbers are aligned.
                let at = place(at, bytes) & !3;
                let end = bytes.len().min(at + number.len());
                bytes[at..end].copy_from_slice(&number[..end - at]);
            }
            Self::Number(at, number) => {
                let numbers = numbers(bytes);
                if !numbers.is_empty() {
                    let (from, until) = numbers[at.index(numbers.len())];
                    bytes.splice(from..until, number.bytes());
                }
            }
            Self::Insert(at, word) => {
                let at = place(at, bytes);
                bytes.splice(at..at, word.bytes());
            }
            Self::Remove(at, count) => {
                let at = place(at, bytes);
                bytes.drain(at..bytes.len().min(at + count));
            }
            Self::Repeat(at, count, times) => {
                let at = place(at, bytes);
                let again = bytes[at..bytes.len().min(at + count)].repeat(times);
                bytes.splice(at..at, again);
            }
            Self::Line(from, to) => {
                let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
                let line = lines.remove(from.index(lines.len()));
                lines.insert(to.index(lines.len() + 1), line);
                *bytes = lines.join(&b'\n');
            }
            Self::Byte(..) | Self::Bit(..) => {}
        }
    }
}

/// A file with changes.
pub fn changed(file: &[u8], mutations: &[Mutation]) -> Vec<u8> {
    let mut bytes = file.to_vec();
    mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
    bytes
}
