// SPDX-License-Identifier: MIT
//! Addresses of a copy in LPDDR5X-PIM, by golden's odometer.

use pimlico_device::lp5::BurstPlace;
use pimlico_golden::lp5_layout::{FIELDS, Odometer};

/// Addresses of memory that begins with a row of all banks.
pub struct CopyAddresses {
    odometer: Odometer,
    first_row: u64,
    /// Banks of a group.
    in_group: u64,
}

impl CopyAddresses {
    /// Of an address map that is right, with the bits of the row above all others.
    pub fn new(map: &str, first_row: u64) -> Self {
        let bits = |word: &str| word.strip_prefix("bank:")?.parse::<u32>().ok();
        let bits: u32 = map.split_whitespace().filter_map(bits).sum();
        Self { odometer: Odometer::new(map), first_row, in_group: 1 << bits }
    }

    /// The byte of that memory with which a burst begins.
    pub fn byte(&self, channel: usize, place: BurstPlace) -> u64 {
        let bank = u64::from(place.bank);
        let at = FIELDS.map(|field| match field {
            "row" => u64::from(place.row) - self.first_row,
            "col" => place.column.into(),
            "bg" => bank / self.in_group,
            "bank" => bank % self.in_group,
            "ch" => channel as u64,
            _ => 0,
        });
        self.odometer.address(&at)
    }
}
