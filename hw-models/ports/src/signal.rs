// SPDX-License-Identifier: MIT
//! Values on ports.

use crate::Shape;

/// A value that a port carries.
///
/// The bits of a signal stand in little-endian order: bit 0 of the value is bit 0 of the port,
/// element 0 of an array is at the bottom, as in a packed SystemVerilog array `[N-1:0][W-1:0]`.
///
/// # Structs and enums
///
/// `#[derive(Signal)]` makes a port of a struct or an enum, the twin of a type in the RTL's package:
///
/// ```
/// use pimlico_ports::{Signal, U, stimulus::one_in};
///
/// /// What is asked for.
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
/// #[signal(width = 2, sv = "array_kind_e", prefix = "Array")]
/// pub enum ArrayKind {
///     /// A column of one bank: `ArrayRd` in SystemVerilog.
///     #[default]
///     Rd = 1,
///     /// All banks are closed: `ArrayCloseAll`.
///     CloseAll = 3,
/// }
///
/// /// A request: `array_request_t` in SystemVerilog, as it says nothing else.
/// #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
/// pub struct ArrayRequest {
///     /// What is asked for.
///     pub kind: ArrayKind,
///     /// The row.
///     pub row: u16,
///     /// The bank.
///     pub bank: U<4>,
///     /// Rare in random stimulus.
///     #[draw(one_in(16))]
///     pub last: bool,
/// }
///
/// let request = ArrayRequest { kind: ArrayKind::CloseAll, row: 0x1234, bank: U::new(5), last: true };
/// assert_eq!(pimlico_ports::pack(&request), 0b11_0001001000110100_0101_1);
/// ```
///
/// * The **first field of a struct is the most significant**, as in a `struct packed`. Fields are signals:
///   numbers, flags, arrays, enums, other structs. `#[draw(...)]` draws one otherwise, as `=>` does in
///   [`ports!`](crate::ports!).
/// * An enum says its width, and the code of each item. A code that no item has reads as the enum's
///   [`Default`], so that a comparison of RTL and model compares bits, not values.
/// * The type's name in SystemVerilog is given with `sv`; by default it is the Rust name in `snake_case`
///   with `_t` (struct) or `_e` (enum). An item's name is its Rust name behind `prefix`.
pub trait Signal: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    /// Width in bits.
    const WIDTH: u32;
    /// What the bits mean.
    const SHAPE: Shape = Shape::Bits(Self::WIDTH);
    /// How many words of entropy [`draw`](Self::draw) takes.
    const DRAWS: usize = 1;

    /// Appends the value's `WIDTH` bits.
    fn write(&self, bits: &mut BitWriter<'_>);

    /// Takes a value from the next `WIDTH` bits.
    fn read(bits: &mut BitReader<'_>) -> Self;

    /// Maps entropy (`DRAWS` words) to a value. Small words give simple values and zero gives the
    /// simplest, so that shrinking the entropy simplifies the value.
    fn draw(entropy: &[u64]) -> Self;
}

/// A signal that has one of a few values, each with a code: an enum with `#[derive(Signal)]`.
pub trait Enumerated: Signal {
    /// All of them, in the order of the declaration.
    const ALL: &'static [Self];

    /// The code on the port.
    fn code(self) -> u64;

    /// The value with this code, if one has it.
    fn from_code(code: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|value| value.code() == code)
    }
}

/// The bits of a signal of up to 64 bits.
pub fn pack<T: Signal>(value: &T) -> u64 {
    const { assert!(T::WIDTH <= 64) };
    let mut words = [0; 2];
    value.write(&mut BitWriter::new(&mut words));
    u64::from(words[1]) << 32 | u64::from(words[0])
}

/// The signal of up to 64 bits that has these bits, the inverse of [`pack`]. Bits above the signal's do not
/// count.
pub fn unpack<T: Signal>(bits: u64) -> T {
    const { assert!(T::WIDTH <= 64) };
    T::read(&mut BitReader::new(&[bits as u32, (bits >> 32) as u32]))
}

/// Appends bit fields to a slice of words. A new port starts at a new word.
pub struct BitWriter<'a> {
    words: &'a mut [u32],
    at: u32,
}

impl<'a> BitWriter<'a> {
    /// Starts at the first word. The words are cleared.
    pub fn new(words: &'a mut [u32]) -> Self {
        words.fill(0);
        Self { words, at: 0 }
    }

    /// Appends the low `width` bits of `value`.
    #[inline]
    pub fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 64 && (width == 64 || value >> width == 0));
        let (shift, first) = (self.at % 32, (self.at / 32) as usize);
        self.at += width;
        if shift + width <= 32 {
            if width > 0 {
                self.words[first] |= (value as u32) << shift;
            }
            return;
        }
        let value = u128::from(value) << shift;
        for n in 0..self.at.div_ceil(32) as usize - first {
            self.words[first + n] |= (value >> (32 * n)) as u32;
        }
    }

    /// Moves on to the next word: the next port starts there.
    #[inline]
    pub fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }
}

/// Takes bit fields from a slice of words; the inverse of [`BitWriter`].
pub struct BitReader<'a> {
    words: &'a [u32],
    at: u32,
}

impl<'a> BitReader<'a> {
    /// Starts at the first word.
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, at: 0 }
    }

    /// Takes the next `width` bits.
    #[inline]
    pub fn take(&mut self, width: u32) -> u64 {
        debug_assert!(width <= 64);
        let (first, shift) = ((self.at / 32) as usize, self.at % 32);
        let words = (self.at + width).div_ceil(32) as usize - first;
        let word = |n: usize| if n < words { u64::from(self.words[first + n]) } else { 0 };
        let above = if shift > 0 { word(2) << (64 - shift) } else { 0 };
        let value = (word(0) | word(1) << 32) >> shift | above;
        self.at += width;
        if width == 64 { value } else { value & ((1 << width) - 1) }
    }

    /// Moves on to the next word: the next port starts there.
    #[inline]
    pub fn align(&mut self) {
        self.at = self.at.next_multiple_of(32);
    }
}

impl Signal for bool {
    const WIDTH: u32 = 1;

    #[inline]
    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(*self), 1);
    }

    #[inline]
    fn read(bits: &mut BitReader<'_>) -> Self {
        bits.take(1) != 0
    }

    fn draw(entropy: &[u64]) -> Self {
        entropy[0] & 1 != 0
    }
}

macro_rules! unsigned {
    ($($ty:ty),*) => {$(
        impl Signal for $ty {
            const WIDTH: u32 = <$ty>::BITS;

            #[inline]
            fn write(&self, bits: &mut BitWriter<'_>) {
                bits.put(u64::from(*self), Self::WIDTH);
            }

            #[inline]
            fn read(bits: &mut BitReader<'_>) -> Self {
                bits.take(Self::WIDTH) as $ty
            }

            fn draw(entropy: &[u64]) -> Self {
                entropy[0] as $ty
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64);

/// An unsigned number of `W` bits, for widths (up to 32) that Rust has no type for.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct U<const W: u32>(u32);

impl<const W: u32> U<W> {
    /// The low `W` bits of `value`.
    pub const fn new(value: u64) -> Self {
        assert!(W >= 1 && W <= 32);
        Self(value as u32 & (u32::MAX >> (32 - W)))
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0 as u64
    }
}

impl<const W: u32> std::fmt::Debug for U<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<const W: u32> Signal for U<W> {
    const WIDTH: u32 = W;

    #[inline]
    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(self.get(), W);
    }

    #[inline]
    fn read(bits: &mut BitReader<'_>) -> Self {
        Self::new(bits.take(W))
    }

    fn draw(entropy: &[u64]) -> Self {
        Self::new(entropy[0])
    }
}

impl<T: Signal, const N: usize> Signal for [T; N]
where
    [T; N]: Default,
{
    const WIDTH: u32 = T::WIDTH * N as u32;
    const DRAWS: usize = T::DRAWS * N;
    const SHAPE: Shape = Shape::Array(&T::SHAPE, N);

    #[inline]
    fn write(&self, bits: &mut BitWriter<'_>) {
        for element in self {
            element.write(bits);
        }
    }

    #[inline]
    fn read(bits: &mut BitReader<'_>) -> Self {
        std::array::from_fn(|_| T::read(bits))
    }

    fn draw(entropy: &[u64]) -> Self {
        std::array::from_fn(|i| T::draw(&entropy[i * T::DRAWS..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Signal>(value: T) {
        let mut words = [u32::MAX; 8];
        let mut writer = BitWriter::new(&mut words);
        writer.put(5, 3); // fields need not start at a word
        value.write(&mut writer);
        writer.align();
        writer.put(9, 7);
        let mut reader = BitReader::new(&words);
        assert_eq!(reader.take(3), 5);
        assert_eq!(T::read(&mut reader), value);
        reader.align();
        assert_eq!(reader.take(7), 9);
    }

    #[test]
    fn every_kind_of_signal_survives_the_trip_through_words() {
        round_trip(true);
        round_trip(0xA5u8);
        round_trip(0xFFFF_FFFF_FFFF_FFFFu64);
        round_trip(U::<29>::new(0x1234_5678));
        round_trip([0x7C00u16, 0x8001, 0, 0xFFFF]);
        round_trip([[1u16, 2], [3, 4], [5, 6]]);
        round_trip([U::<5>::new(31); 17]);
    }

    #[test]
    fn element_zero_is_at_the_bottom() {
        let mut words = [0; 2];
        [0x1111u16, 0x2222, 0x3333].write(&mut BitWriter::new(&mut words));
        assert_eq!(words, [0x2222_1111, 0x0000_3333]);
    }

    #[test]
    fn no_entropy_draws_the_simplest_value() {
        assert_eq!(<[u16; 4]>::draw(&[0; 4]), [0; 4]);
        assert!(!bool::draw(&[0]));
    }
}
