// SPDX-License-Identifier: MIT
//! What the host writes to the mailbox.

/// Kind of a message, by bits 1 to 0 of word 0 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    /// With the number of operands that follow.
    Start(u64),
    Other,
}

const LOAD: u64 = 1;
const START: u64 = 2;
/// Bits of word 0 that a LOAD has: kind, `load_kind_e`, number, address.
const LOAD_BITS: u64 = 0xFFFF_0773;
/// Bits of word 0 that a START has: kind, request, first word, factor.
const START_BITS: u64 = 0xFFFF_3FFF_000F_0003;
/// The last of `load_kind_e`.
const LAST_LOAD_KIND: u64 = 5;

pub(super) fn kind(words: &[u64; 8]) -> Kind {
    match words[0] & 3 {
        LOAD => Kind::Load,
        START => Kind::Start(words[1] & 0xFFFF_FFFF),
        _ => Kind::Other,
    }
}

/// What is wrong with a message, if anything.
pub(super) fn flaw(words: &[u64; 8]) -> Option<&'static str> {
    let word = words[0];
    match kind(words) {
        Kind::Other => Some("is neither LOAD nor START"),
        Kind::Load if word & !LOAD_BITS != 0 => Some("is a LOAD with reserved bits set"),
        Kind::Load if word >> 4 & 7 > LAST_LOAD_KIND => Some("is a LOAD of a kind there is not"),
        Kind::Load if word >> 8 & 7 == 0 => Some("is a LOAD of no word"),
        Kind::Start(_) if word & !START_BITS != 0 => Some("is a START with reserved bits set"),
        _ => None,
    }
}
