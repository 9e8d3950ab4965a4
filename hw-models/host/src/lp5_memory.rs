// SPDX-License-Identifier: MIT
//! LPDDR5X-PIM as the host's plain memory: loads and stores of bursts by their physical addresses, where no mode is changed.

use pimlico_device::lp5::{AddressField, AddressMap, BurstPlace, Coordinates, Request, Vector};

/// The channel of an address, and where its burst is there.
pub fn place(map: &AddressMap, address: u64) -> (usize, BurstPlace) {
    let at = map.decode(address);
    let bank = at.bank_group * map.count(AddressField::Bank) + at.bank;
    let place = BurstPlace { bank: bank as u8, row: at.row as u32, column: at.column as u8 };
    (at.channel as usize, place)
}

/// The address of a burst in a channel.
///
/// # Panics
///
/// If the map has no such place.
pub fn address(map: &AddressMap, channel: usize, place: BurstPlace) -> u64 {
    let in_group = map.count(AddressField::Bank);
    let (bank_group, bank) = (u64::from(place.bank) / in_group, u64::from(place.bank) % in_group);
    let (row, column) = (place.row.into(), place.column.into());
    let channel = channel as u64;
    map.encode(&Coordinates { row, column, bank_group, bank, channel, rank: 0, byte: 0 })
}

/// Loads of bursts, in the order of their addresses, for each channel.
pub fn loads(map: &AddressMap, addresses: impl IntoIterator<Item = u64>) -> Vec<Vec<Request>> {
    let mut channels = channels(map);
    for address in addresses {
        let (channel, place) = place(map, address);
        channels[channel].push(Request::Read(place));
    }
    channels
}

/// Stores of bursts, in the order of their addresses, for each channel.
pub fn stores(
    map: &AddressMap,
    bursts: impl IntoIterator<Item = (u64, Vector)>,
) -> Vec<Vec<Request>> {
    let mut channels = channels(map);
    for (address, data) in bursts {
        let (channel, place) = place(map, address);
        channels[channel].push(Request::Write(place, data));
    }
    channels
}

fn channels(map: &AddressMap) -> Vec<Vec<Request>> {
    vec![Vec::new(); map.count(AddressField::Channel) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::Device;
    use pimlico_device::lp5::{Lp5Device, Lp5Options, Lp5Spec};
    use std::collections::BTreeMap;

    #[test]
    fn what_is_stored_is_loaded() {
        let spec = Lp5Spec::built_in("lpddr5x-8533-pim").expect("a device");
        let map = spec.map().expect("a map");
        let mut device = Lp5Device::new(&spec, Lp5Options::default()).expect("a device");
        // Two rows of all banks, but for a few.
        let addresses = || (3 * map.row_bytes()..5 * map.row_bytes()).step_by(3 * 32);
        let data =
            |address: u64| -> Vector { std::array::from_fn(|n| (address / 32) as u16 ^ n as u16) };
        let stores = stores(&map, addresses().map(|address| (address, data(address))));
        device.run(|channel| stores[channel].iter().copied(), |_, _, _| {}).expect("it runs");
        let loads = loads(&map, addresses());
        let mut found = BTreeMap::new();
        let read = |channel, burst, data: &Vector| {
            found.insert(address(&map, channel, burst), *data);
        };
        device.run(|channel| loads[channel].iter().copied(), read).expect("it runs");
        let expected: BTreeMap<_, _> =
            addresses().map(|address| (address, data(address))).collect();
        assert!(found == expected && device.tck() > 0);
    }
}
