// SPDX-License-Identifier: MIT
//! A command in the pipeline.

use crate::lap::Walk;
use pimlico_dpa::{Dispatch, Modification, NO_ROW, Opcode, SLOTS, Status, Target};
use pimlico_ports::{Enumerated, U};

/// Modifications, each with the number of its loop's repetition.
pub(super) type Products = [Option<(Modification, u32)>; SLOTS];

/// A command in the pipeline, or the end of its run.
#[derive(Clone, Copy, Default)]
pub(super) struct Stage {
    /// How the run ends, if it does.
    pub(super) ends: Option<Status>,
    /// The request goes on to its next layer, if the run is done.
    pub(super) next_layer: bool,
    pub(super) address: u32,
    /// Its opcode; none where there is no command.
    pub(super) kind: Opcode,
    pub(super) request: u8,
    pub(super) head: u8,
    /// Of a MAC its virtual row, and its row once that is known.
    pub(super) place: u32,
    pub(super) column: u8,
    pub(super) word: u8,
    pub(super) first: bool,
    pub(super) last: bool,
    pub(super) opens: bool,
    pub(super) tokens: u32,
}

/// So many bits, all set.
const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl Stage {
    pub(super) fn end(status: Status, address: u32) -> Self {
        Self { ends: Some(status), address, ..Self::default() }
    }

    /// Whether a row is looked up.
    pub(super) fn looks_up(&self) -> bool {
        self.ends.is_none() && self.has_row()
    }

    pub(super) fn has_row(&self) -> bool {
        self.kind.has_row()
    }

    /// With the table's entry.
    pub(super) fn found(mut self, row: u16) -> Self {
        if self.looks_up() {
            self.place = row.into();
            if row == NO_ROW {
                self.ends = Some(Status::Va2PaMiss);
            }
        }
        self
    }

    /// The command as it is dispatched.
    pub(super) fn dispatched(&self) -> Dispatch {
        let has_row = self.has_row();
        Dispatch {
            kind: self.kind,
            request: U::new(self.request.into()),
            head: U::new(self.head.into()),
            row: if has_row { self.place as u16 } else { 0 },
            place: U::new(if has_row { 0 } else { self.place.into() }),
            column: self.column,
            word: self.word,
            first: self.first,
            last: self.last,
            opens: self.opens,
            tokens: U::new(self.tokens.into()),
        }
    }

    /// Adds the products.
    pub(super) fn multiply(mut self, products: &Products) -> Self {
        let mut place = u64::from(self.place);
        let [mut column, mut word, mut head] = [self.column, self.word, self.head].map(u64::from);
        let mut wraps = false;
        for (Modification { target, coefficient, .. }, number) in products.iter().flatten() {
            // As wide as in the RTL, which is wide enough for all that a program can make of it.
            let product = (coefficient.get() * u64::from(*number)) & low(19);
            match target {
                Target::None => {}
                Target::Place => place += product,
                Target::Place64 => place += (product & low(13)) << 6,
                Target::Column => column += product & low(10),
                Target::Word => word += product & low(10),
                Target::WordWraps => {
                    word += product & low(10);
                    wraps = true;
                }
                Target::Head => head += product & low(10),
            }
        }
        let overflows = place > self.kind.max_place().into()
            || column > 0xFF
            || word > 0xFF && !wraps
            || head > 7;
        if self.ends.is_none() && overflows {
            self.ends = Some(Status::FieldOverflow);
        }
        self.place = place as u32 & 0x3_FFFF;
        (self.column, self.word, self.head) = (column as u8, word as u8, head as u8 & 7);
        self
    }
}

impl Stage {
    /// Goes over all of it, for [laps](crate::lap); `is_found` where its row has been looked up.
    pub(super) fn walk(&mut self, walk: &mut Walk<'_>, is_found: bool) {
        let has_row = self.has_row();
        let Self {
            ends,
            next_layer,
            address,
            kind,
            request,
            head,
            place,
            column,
            word,
            first,
            last,
            opens,
            tokens,
        } = self;
        walk.refuse_if(ends.is_some());
        walk.still(kind.code());
        for number in [address, tokens] {
            walk.still(*number);
        }
        for number in [request, head, column, word] {
            walk.still(*number);
        }
        for flag in [next_layer, first, last, opens] {
            walk.still(*flag);
        }
        match (has_row, is_found) {
            (true, true) => {
                let mut row = *place as u16;
                walk.row(&mut row);
                *place = row.into();
            }
            (true, false) => walk.entry(place),
            (false, _) => walk.moves(place),
        }
    }
}
