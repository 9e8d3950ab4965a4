// SPDX-License-Identifier: MIT
//! Time: whole picoseconds. Nothing on the time axis is a floating-point number, so that results are the same on every
//! machine.

/// Picoseconds in a second.
pub const SECOND: u64 = 1_000_000_000_000;
/// Picoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000_000;
/// Picoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000_000;
/// Picoseconds in a nanosecond.
pub const NANOSECOND: u64 = 1000;

/// How long an amount takes at so much a second, rounded up: bytes, or floating-point operations.
///
/// # Panics
///
/// If nothing is done in a second.
pub fn duration(amount: u128, per_second: u128) -> u64 {
    let ps = (amount * u128::from(SECOND)).div_ceil(per_second);
    u64::try_from(ps).unwrap_or(u64::MAX)
}

/// A rate of which so many thousandths are used.
pub fn thousandths(rate: u64, of_thousand: u64) -> u128 {
    u128::from(rate) * u128::from(of_thousand) / 1000
}

/// Seconds, for reports.
pub fn seconds(ps: u64) -> f64 {
    ps as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!(duration(32, 32_000_000_000), NANOSECOND);
        assert_eq!(duration(1, 3 * u128::from(SECOND)), 1);
        assert_eq!(duration(0, 1), 0);
        assert_eq!(duration(u128::from(u64::MAX), 1), u64::MAX);
        assert_eq!(thousandths(312, 500), 156);
    }
}
