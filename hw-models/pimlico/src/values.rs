// SPDX-License-Identifier: MIT
//! Values that flags of several commands take.

use clap::ValueEnum;
use pimlico_device::aim::MOST_CHANNELS;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

/// A number of channels.
pub fn channels(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_CHANNELS).contains(number));
    number.ok_or_else(|| format!("expected 1 to {MOST_CHANNELS} channels"))
}

/// A size of memory in bytes: a whole number and K, M or G, which are powers of 1024.
pub fn size(text: &str) -> Result<u64, String> {
    let expected = || "expected a whole number and K, M or G (powers of 1024), as 20M".to_owned();
    let text = text.strip_suffix("iB").unwrap_or(text);
    let (digits, shift) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 10),
        Some((at, 'M' | 'm')) => (&text[..at], 20),
        Some((at, 'G' | 'g')) => (&text[..at], 30),
        _ => return Err(expected()),
    };
    let number: u64 = digits.parse().ok().filter(|number| *number > 0).ok_or_else(expected)?;
    number.checked_mul(1 << shift).ok_or_else(expected)
}

/// A rate in bytes per second: a number and k, M or G, which are powers of 1000.
pub fn rate(text: &str) -> Result<f64, String> {
    let expected =
        || "expected bytes per second with k, M or G (powers of 1000), as 100M".to_owned();
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1e3),
        Some((at, 'M' | 'm')) => (&text[..at], 1e6),
        Some((at, 'G' | 'g')) => (&text[..at], 1e9),
        _ => return Err(expected()),
    };
    let number: f64 = digits.parse().map_err(|_| expected())?;
    let rate = number * unit;
    if !(1.0..=1e15).contains(&rate) {
        return Err(expected());
    }
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("20M"), Ok(20 << 20));
        assert_eq!(size("3GiB"), Ok(3 << 30));
        assert_eq!(size("1k"), Ok(1024));
        for wrong in ["", "20", "12Q", "M", "-1M", "0M", "1.5M", "99999999999G", "\u{e9}"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert_eq!(rate("1.5k"), Ok(1500.0));
        for wrong in ["0M", "100", "-1M", "nanM", "infG", "M", "0.0001k"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }
}
