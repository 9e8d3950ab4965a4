// SPDX-License-Identifier: MIT
//! Where the elements of a matrix are in the banks of LPDDR5X-PIM: no formula, but the order in which PIM blocks read.
//!
//! * An address is a number on an odometer whose wheels are the fields of the map, the last of them turning fastest.
//!   A field that stands twice is two wheels, of which the first is worth as much as the second has positions.
//! * Vectors of 16 rows are dealt to the banks like cards: to the channels, then to the bank groups, the banks, the
//!   ranks. Every bank gets as many, and above 8 a multiple of 8; cards that are missing are empty.
//! * A bank holds what its PIM block reads in the order in which it reads: its vectors eight at a time, of these column
//!   after column, of a column the registers in turn. It fills row after row, from the first column on.
//!
//! Places are found by doing this for all elements, and written down.

/// The fields of a map.
pub const FIELDS: [&str; 7] = ["row", "rank", "col", "bank", "bg", "ch", "byte"];
/// Rows of a vector.
const LANES: usize = 16;
/// Vectors that a PIM block has sums for at a time.
const REGISTERS: usize = 8;

/// A place: the value of each of the [`FIELDS`].
pub type Place = [u64; FIELDS.len()];

/// The number of a field.
fn number(name: &str) -> usize {
    FIELDS.iter().position(|field| *field == name).expect("a field's name")
}

/// An odometer, whose wheels are the fields of a map.
#[derive(Clone, Debug)]
pub struct Odometer {
    /// The slowest first: number of the field, and positions.
    wheels: Vec<(usize, u64)>,
}

impl Odometer {
    /// That of a map, which is right.
    ///
    /// # Panics
    ///
    /// If the map is none.
    pub fn new(map: &str) -> Self {
        let wheel = |word: &str| {
            let (name, bits) = word.split_once(':').expect("a field and its bits");
            (number(name), 1 << bits.parse::<u32>().expect("bits"))
        };
        Self { wheels: map.split_whitespace().map(wheel).collect() }
    }

    /// The place of every address, in the order of addresses. For small maps.
    pub fn places(&self) -> Vec<Place> {
        let wheels = &self.wheels;
        let mut shown = vec![0; wheels.len()];
        let mut places = Vec::new();
        loop {
            let mut place = Place::default();
            for ((field, positions), position) in wheels.iter().zip(&shown) {
                place[*field] = place[*field] * positions + position;
            }
            places.push(place);
            let turns = (0..wheels.len()).rev().find(|&wheel| {
                shown[wheel] = (shown[wheel] + 1) % wheels[wheel].1;
                shown[wheel] != 0
            });
            if turns.is_none() {
                return places;
            }
        }
    }

    /// The address of a place: what each wheel adds when it stands where the place wants it.
    pub fn address(&self, place: &Place) -> u64 {
        let mut left = *place;
        let (mut sum, mut worth) = (0, 1);
        for (field, positions) in self.wheels.iter().rev() {
            sum += worth * (left[*field] % positions);
            left[*field] /= positions;
            worth *= positions;
        }
        sum
    }

    /// Positions of a field in all of its wheels.
    fn positions(&self, name: &str) -> u64 {
        let of_field = self.wheels.iter().filter(|(field, _)| *field == number(name));
        of_field.map(|(_, positions)| positions).product()
    }

    /// Each bank with the vectors that it gets of a matrix of so many rows, in order; none for a card that is missing.
    fn dealt(&self, rows: usize) -> Vec<(Place, Vec<Option<usize>>)> {
        let mut hands = Vec::new();
        for rank in 0..self.positions("rank") {
            for bank in 0..self.positions("bank") {
                for group in 0..self.positions("bg") {
                    for channel in 0..self.positions("ch") {
                        let mut place = Place::default();
                        let at = [("rank", rank), ("bank", bank), ("bg", group), ("ch", channel)];
                        at.into_iter().for_each(|(name, value)| place[number(name)] = value);
                        hands.push((place, Vec::new()));
                    }
                }
            }
        }
        let mut cards = 0;
        let is_missing = |cards: usize, in_hand: usize| {
            cards * LANES < rows || in_hand > REGISTERS && !in_hand.is_multiple_of(REGISTERS)
        };
        while is_missing(cards, hands[0].1.len()) {
            for (_, hand) in &mut hands {
                hand.push((cards * LANES < rows).then_some(cards));
                cards += 1;
            }
        }
        hands
    }
}

/// The address of each element of a matrix of `rows` by `columns`, row by row, where it begins with a row of the banks.
///
/// # Panics
///
/// If the map is none.
pub fn addresses(map: &str, rows: usize, columns: usize, first_row: u64) -> Vec<u64> {
    let odometer = Odometer::new(map);
    let in_row = odometer.positions("col");
    let mut addresses = vec![u64::MAX; rows * columns];
    for (bank, vectors) in odometer.dealt(rows) {
        let (mut place, [row, column]) = (bank, ["row", "col"].map(number));
        place[row] = first_row;
        for eight in vectors.chunks(REGISTERS) {
            for of_matrix in 0..columns {
                for vector in eight {
                    let burst = odometer.address(&place);
                    for lane in 0..LANES {
                        let of_row = vector.map_or(rows, |vector| vector * LANES + lane);
                        if of_row < rows {
                            addresses[of_row * columns + of_matrix] = burst + 2 * lane as u64;
                        }
                    }
                    place[column] += 1;
                    if place[column] == in_row {
                        place[row] += 1;
                        place[column] = 0;
                    }
                }
            }
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odometer_has_every_address_once() {
        let odometer = Odometer::new("row:2 col:1 bank:1 ch:1 col:2 byte:1");
        let places = odometer.places();
        assert_eq!(places.len(), 1 << 8);
        for (at, place) in places.iter().enumerate() {
            assert_eq!(odometer.address(place), at as u64, "{place:?}");
        }
        // Row 0, column 1, bank 0, channel 1, column 1, byte 0: the upper digit of the column is worth four.
        assert_eq!(places[0b0010_1010][number("col")], 5);
    }

    #[test]
    fn the_toy_of_figure_3() {
        // One channel, four banks of one row of three columns, of which a map has four: 64 x 3 elements.
        let addresses = addresses("row:0 col:2 bank:2 byte:5", 64, 3, 0);
        // Vector 3 of the first column: rows 48 to 63, in bank 3, row 0, column 0.
        assert_eq!(addresses[48 * 3], 3 << 5);
        assert_eq!(addresses[63 * 3], (3 << 5) + 30);
        // Vector 0 of the third column: bank 0, column 2.
        assert_eq!(addresses[2], 2 << 7);
    }
}
