// SPDX-License-Identifier: MIT
//! The host's address map: which bits of a physical address are row, rank, bank group, bank, channel and column.
//!
//! A map is a string of fields from the top, each with its bits. A field that stands twice has its upper bits first:
//!
//! ```text
//! row:16 rank:0 col:5 bank:2 bg:2 ch:2 col:1 byte:5
//!
//!  32      17 16   12 11  10 9  8 7  6   5   4    0
//! +----------+-------+------+----+----+-----+------+
//! |   row    | col   | bank | bg | ch | col | byte |
//! +----------+-------+------+----+----+-----+------+
//! ```
//!
//! so that lines of 64 bytes go to the channels in turn, then to the bank groups, then to the banks. Bits that are XORed
//! into others are not modelled: no phone's are published.

use crate::config::Config;
use std::fmt;
use std::str::FromStr;

/// Bits of an address within a burst: 32 bytes, which a column command moves.
pub const BURST_BITS: u32 = 5;
/// Bytes of a burst.
pub const BURST_BYTES: usize = 1 << BURST_BITS;
/// Rows at the end of each bank that change its mode, and hold no weights.
pub const RESERVED_ROWS: u64 = 4;
/// Bits of an address, at the most.
const MOST_BITS: u32 = 48;

/// A part of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressField {
    /// Row of a bank.
    Row,
    /// Rank on a channel.
    Rank,
    /// Column of a row: a burst.
    Column,
    /// Bank of a bank group.
    Bank,
    /// Bank group of a rank.
    BankGroup,
    /// Channel.
    Channel,
    /// Byte of a burst.
    Byte,
}

impl AddressField {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Row,
        Self::Rank,
        Self::Column,
        Self::Bank,
        Self::BankGroup,
        Self::Channel,
        Self::Byte,
    ];

    /// Its name in a map.
    pub fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Rank => "rank",
            Self::Column => "col",
            Self::Bank => "bank",
            Self::BankGroup => "bg",
            Self::Channel => "ch",
            Self::Byte => "byte",
        }
    }
}

/// What an address stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Coordinates {
    /// Row of the bank.
    pub row: u64,
    /// Rank on the channel.
    pub rank: u64,
    /// Column of the row: a burst of 32 bytes.
    pub column: u64,
    /// Bank of the bank group.
    pub bank: u64,
    /// Bank group of the rank.
    pub bank_group: u64,
    /// Channel.
    pub channel: u64,
    /// Byte of the burst.
    pub byte: u64,
}

impl Coordinates {
    /// A part of them.
    pub fn field(&self, field: AddressField) -> u64 {
        match field {
            AddressField::Row => self.row,
            AddressField::Rank => self.rank,
            AddressField::Column => self.column,
            AddressField::Bank => self.bank,
            AddressField::BankGroup => self.bank_group,
            AddressField::Channel => self.channel,
            AddressField::Byte => self.byte,
        }
    }

    fn field_mut(&mut self, field: AddressField) -> &mut u64 {
        match field {
            AddressField::Row => &mut self.row,
            AddressField::Rank => &mut self.rank,
            AddressField::Column => &mut self.column,
            AddressField::Bank => &mut self.bank,
            AddressField::BankGroup => &mut self.bank_group,
            AddressField::Channel => &mut self.channel,
            AddressField::Byte => &mut self.byte,
        }
    }
}

impl fmt::Display for Coordinates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, rank, column, bank, bank_group, channel, byte } = self;
        write!(
            f,
            "channel {channel}, rank {rank}, bank group {bank_group}, bank {bank}, row {row}, column {column}, \
             byte {byte}"
        )
    }
}

/// What is wrong with an address map.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("address map {map:?}: {found}, expected {expected}")]
pub struct AddressMapError {
    /// The map.
    pub map: String,
    /// What is there.
    pub found: String,
    /// What should be.
    pub expected: String,
}

/// Some bits of a field, next to each other in the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    field: AddressField,
    bits: u32,
}

/// Which bits of an address are which part of it; see the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressMap {
    /// From the top.
    pieces: Vec<Piece>,
}

impl AddressMap {
    /// Four channels of one rank of 16 banks of 65536 rows of 2 KiB: 8 GiB.
    pub const DEFAULT: &'static str = "row:16 rank:0 col:5 bank:2 bg:2 ch:2 col:1 byte:5";

    /// Bits of a field.
    pub fn bits(&self, field: AddressField) -> u32 {
        let of_field = self.pieces.iter().filter(|piece| piece.field == field);
        of_field.map(|piece| piece.bits).sum()
    }

    /// How many values a field has.
    pub fn count(&self, field: AddressField) -> u64 {
        1 << self.bits(field)
    }

    /// Banks of all channels and ranks.
    pub fn banks(&self) -> u64 {
        use AddressField::{Bank, BankGroup, Channel, Rank};
        [Bank, BankGroup, Channel, Rank].into_iter().map(|field| self.count(field)).product()
    }

    /// Bytes of all of it.
    pub fn capacity(&self) -> u64 {
        1 << self.pieces.iter().map(|piece| piece.bits).sum::<u32>()
    }

    /// Bytes of one row of all banks.
    pub fn row_bytes(&self) -> u64 {
        self.capacity() >> self.bits(AddressField::Row)
    }

    /// Whether all bits of the row are above all others, so that a row of all banks is contiguous.
    pub fn has_rows_on_top(&self) -> bool {
        let mut fields = self.pieces.iter().filter(|piece| piece.bits > 0).map(|piece| piece.field);
        let below = fields.by_ref().find(|field| *field != AddressField::Row);
        below.is_none() || fields.all(|field| field != AddressField::Row)
    }

    /// The rows of a bank that may hold weights: all but those that change its mode.
    pub fn weight_rows(&self) -> std::ops::Range<u64> {
        0..self.count(AddressField::Row).saturating_sub(RESERVED_ROWS)
    }

    /// The address of coordinates.
    ///
    /// # Panics
    ///
    /// If a coordinate has more bits than the map has for it.
    pub fn encode(&self, at: &Coordinates) -> u64 {
        let mut left = *at;
        let (mut address, mut shift) = (0, 0);
        for &Piece { field, bits } in self.pieces.iter().rev() {
            let value = left.field_mut(field);
            address |= (*value & ((1 << bits) - 1)) << shift;
            *value >>= bits;
            shift += bits;
        }
        assert_eq!(left, Coordinates::default(), "{at}: outside of the map");
        address
    }

    /// The coordinates of an address.
    ///
    /// # Panics
    ///
    /// If the address is beyond the capacity.
    pub fn decode(&self, address: u64) -> Coordinates {
        assert!(address < self.capacity(), "address {address} of {}", self.capacity());
        let mut at = Coordinates::default();
        let mut above = self.pieces.iter().map(|piece| piece.bits).sum::<u32>();
        for &Piece { field, bits } in &self.pieces {
            above -= bits;
            let value = at.field_mut(field);
            *value = *value << bits | (address >> above & ((1 << bits) - 1));
        }
        at
    }

    /// Whether it is a map of so many channels and ranks of a DRAM: no bit is missing and none is too many.
    pub fn check(
        &self,
        config: &Config,
        channels: usize,
        ranks: usize,
    ) -> Result<(), AddressMapError> {
        let organisation = &config.organisation;
        for (field, count, what) in [
            (AddressField::Row, organisation.rows, "rows"),
            (AddressField::Rank, ranks, "ranks"),
            (AddressField::Column, config.columns(), "columns"),
            (AddressField::Bank, organisation.banks_per_group, "banks in a group"),
            (AddressField::BankGroup, organisation.bank_groups, "bank groups"),
            (AddressField::Channel, channels, "channels"),
            (AddressField::Byte, organisation.column_bytes, "bytes of a column"),
        ] {
            if self.count(field) != count as u64 {
                let found = format!("{}:{}", field.name(), self.bits(field));
                let expected = format!("bits for {count} {what}");
                return Err(AddressMapError { map: self.to_string(), found, expected });
            }
        }
        Ok(())
    }
}

impl fmt::Display for AddressMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Piece { field, bits }) in self.pieces.iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            write!(f, "{space}{}:{bits}", field.name())?;
        }
        Ok(())
    }
}

impl FromStr for AddressMap {
    type Err = AddressMapError;

    fn from_str(map: &str) -> Result<Self, AddressMapError> {
        let wrong = |found: String, expected: &str| AddressMapError {
            map: map.chars().take(100).collect(),
            found,
            expected: expected.to_owned(),
        };
        let mut pieces = Vec::new();
        let mut all = 0;
        for word in map.split_whitespace() {
            let piece = piece(word).ok_or_else(|| {
                let word: String = word.chars().take(40).collect();
                let names = "row, rank, col, bank, bg, ch or byte, a colon and 0 to 48 bits";
                wrong(format!("{word:?}"), names)
            })?;
            all += piece.bits;
            if all > MOST_BITS {
                return Err(wrong(format!("{all} bits or more"), "at most 48"));
            }
            pieces.push(piece);
        }
        let of_burst = Piece { field: AddressField::Byte, bits: BURST_BITS };
        let map = Self { pieces };
        match map.pieces.last() {
            Some(last) if *last == of_burst && map.bits(AddressField::Byte) == BURST_BITS => {
                Ok(map)
            }
            last => {
                let found = last.map_or("no field".to_owned(), |piece| {
                    format!(
                        "{}:{} at the end, {} bits of byte",
                        piece.field.name(),
                        piece.bits,
                        map.bits(AddressField::Byte)
                    )
                });
                Err(wrong(found, "byte:5 at the end and nowhere else"))
            }
        }
    }
}

/// A field and its bits.
fn piece(word: &str) -> Option<Piece> {
    let (name, bits) = word.split_once(':')?;
    let field = AddressField::ALL.into_iter().find(|field| field.name() == name)?;
    let is_number = bits.bytes().all(|c| c.is_ascii_digit());
    let bits = bits.parse().ok().filter(|&bits| is_number && bits <= MOST_BITS)?;
    Some(Piece { field, bits })
}
