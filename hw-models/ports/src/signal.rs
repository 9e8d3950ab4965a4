// SPDX-License-Identifier: MIT
//! Values on ports.

/// A value that a port carries.
///
/// The bits of a signal stand in little-endian order: bit 0 of the value is bit 0 of the port,
/// element 0 of an array is at the bottom, as in a packed SystemVerilog array `[N-1:0][W-1:0]`.
pub trait Signal: Copy + Default + PartialEq + std::fmt::Debug + 'static {
    /// Width in bits.
    const WIDTH: u32;
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
        let mut value = u128::from(value) << (self.at % 32);
        let mut word = (self.at / 32) as usize;
        self.at += width;
        while value != 0 {
            self.words[word] |= value as u32;
            value >>= 32;
            word += 1;
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
        let first = (self.at / 32) as usize;
        let last = ((self.at + width).div_ceil(32)) as usize;
        let mut value = 0u128;
        for (i, word) in self.words[first..last].iter().enumerate() {
            value |= u128::from(*word) << (32 * i);
        }
        let value = (value >> (self.at % 32)) as u64;
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

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(u64::from(*self), 1);
    }

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

            fn write(&self, bits: &mut BitWriter<'_>) {
                bits.put(u64::from(*self), Self::WIDTH);
            }

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

/// An unsigned number of `W` bits, for widths (up to 64) that Rust has no type for.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct U<const W: u32>(u64);

impl<const W: u32> U<W> {
    /// The low `W` bits of `value`.
    pub const fn new(value: u64) -> Self {
        assert!(W >= 1 && W <= 64);
        Self(value & (u64::MAX >> (64 - W)))
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const W: u32> std::fmt::Debug for U<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<const W: u32> Signal for U<W> {
    const WIDTH: u32 = W;

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(self.0, W);
    }

    fn read(bits: &mut BitReader<'_>) -> Self {
        Self(bits.take(W))
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

    fn write(&self, bits: &mut BitWriter<'_>) {
        for element in self {
            element.write(bits);
        }
    }

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
        round_trip(U::<37>::new(0x1F_1234_5678));
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
