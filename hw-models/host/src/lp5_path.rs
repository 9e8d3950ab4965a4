// SPDX-License-Identifier: MIT
//! Products on LPDDR5X-PIM whose loads of weights go the way that the memory's attribute says.

use crate::attribute::MemoryPath;
use crate::lp5::Lp5Matrix;
use pimlico_device::lp5::{AddressField, BurstPlace, Coordinates, Request};

/// What a product asks of each channel if its loads of weights go by a path: those of all channels in turn, as one
/// program has them. Stores, and loads of the rows that are no memory, go as they are.
///
/// # Panics
///
/// If there are not as many inputs as columns.
pub fn product_by(matrix: &Lp5Matrix, inputs: &[u16], path: &mut MemoryPath) -> Vec<Vec<Request>> {
    let layout = matrix.layout();
    let map = layout.map();
    let in_group = map.count(AddressField::Bank);
    let weights = layout.first_row()..layout.first_row() + layout.bank_rows();
    let mut channels = vec![Vec::new(); map.count(AddressField::Channel) as usize];
    for request in matrix.product(inputs) {
        let place = match request {
            Request::Read(place) if weights.contains(&u64::from(place.row)) => place,
            other => {
                channels.iter_mut().for_each(|requests| requests.push(other));
                continue;
            }
        };
        let (bank, row, column) = (u64::from(place.bank), place.row.into(), place.column.into());
        let (bank_group, bank) = (bank / in_group, bank % in_group);
        for channel in 0..channels.len() as u64 {
            let at = Coordinates { row, column, bank_group, bank, channel, rank: 0, byte: 0 };
            path.load(map.encode(&at), |burst| {
                let at = map.decode(burst);
                let bank = (at.bank_group * in_group + at.bank) as u8;
                let place = BurstPlace { bank, row: at.row as u32, column: at.column as u8 };
                channels[at.channel as usize].push(Request::Read(place));
            });
        }
    }
    channels
}
