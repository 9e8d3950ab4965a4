// SPDX-License-Identifier: MIT
//! Where the times stand: one table for writing and reading.

use super::{SPD_BYTES, SpdError, SpdTiming};

/// The medium timebase in ps; the fine one is 1 ps.
const MTB_PS: i64 = 125;

/// A time in the image.
pub struct Field {
    pub name: &'static str,
    /// Its parameter.
    pub of: fn(&mut SpdTiming) -> &mut u64,
    /// The least number of clocks that JESD79-4 lets it be, however long a clock.
    pub floor_tck: u64,
    /// The low byte of how many times 125 ps it is.
    low: usize,
    /// Where the higher bits stand: byte, lowest bit, how many.
    high: Option<(usize, u32, u32)>,
    /// The correction in ps, signed.
    fine: Option<usize>,
}

impl Field {
    const fn new(
        name: &'static str,
        of: fn(&mut SpdTiming) -> &mut u64,
        floor_tck: u64,
        low: usize,
    ) -> Self {
        Self { name, of, floor_tck, low, high: None, fine: None }
    }

    /// With four more bits, from bit `shift` of `byte` on.
    const fn nibble(mut self, byte: usize, shift: u32) -> Self {
        self.high = Some((byte, shift, 4));
        self
    }

    /// With eight more bits in `byte`.
    const fn byte(mut self, byte: usize) -> Self {
        self.high = Some((byte, 0, 8));
        self
    }

    /// With a correction in `byte`.
    const fn fine(mut self, byte: usize) -> Self {
        self.fine = Some(byte);
        self
    }

    /// The largest multiple of 125 ps that it has room for.
    fn max_mtb(&self) -> i64 {
        (1 << (8 + self.high.map_or(0, |(_, _, bits)| bits))) - 1
    }

    /// The largest number of clocks that it has room for.
    pub fn max_tck(&self, tck_ps: u64) -> u64 {
        (self.max_mtb() * MTB_PS) as u64 / tck_ps
    }

    /// Writes a time of so many clocks.
    pub fn write(
        &self,
        image: &mut [u8; SPD_BYTES],
        tck: u64,
        tck_ps: u64,
    ) -> Result<(), SpdError> {
        let max = self.max_tck(tck_ps);
        if !(self.floor_tck..=max).contains(&tck) {
            let expected = format!("{} to {max} tCK", self.floor_tck);
            return Err(SpdError::value(self.name, format!("{tck} tCK"), expected));
        }
        self.write_ps(image, (tck * tck_ps) as i64);
        Ok(())
    }

    /// Writes a time that there is room for.
    fn write_ps(&self, image: &mut [u8; SPD_BYTES], ps: i64) {
        let mut mtb = ps / MTB_PS;
        if let Some(byte) = self.fine {
            mtb = (ps as u64).div_ceil(MTB_PS as u64) as i64;
            image[byte] = (ps - mtb * MTB_PS) as i8 as u8;
        }
        image[self.low] = mtb as u8;
        if let Some((byte, shift, _)) = self.high {
            image[byte] |= ((mtb >> 8) as u8) << shift;
        }
    }

    /// Reads the time in ps, which must not be nothing.
    pub fn read_ps(&self, image: &[u8; SPD_BYTES]) -> Result<u64, SpdError> {
        let mut mtb = i64::from(image[self.low]);
        if let Some((byte, shift, bits)) = self.high {
            mtb |= i64::from(u32::from(image[byte]) >> shift & ((1 << bits) - 1)) << 8;
        }
        let fine = self.fine.map_or(0, |byte| i64::from(image[byte] as i8));
        let ps = mtb * MTB_PS + fine;
        u64::try_from(ps)
            .ok()
            .filter(|&ps| ps > 0)
            .ok_or_else(|| SpdError::value(self.name, format!("{ps} ps"), "a time over 0 ps"))
    }

    /// Reads the time in clocks.
    pub fn read(&self, image: &[u8; SPD_BYTES], tck_ps: u64) -> Result<u64, SpdError> {
        Ok(clocks(self.read_ps(image)?, tck_ps).max(self.floor_tck))
    }
}

/// The clocks that a time takes: 2.5 % of a clock is taken off, and rounded up (JESD79-4, 13.5).
pub fn clocks(ps: u64, tck_ps: u64) -> u64 {
    (ps * 1000 / tck_ps + 974) / 1000
}

/// The shortest clock period.
pub const TCK_MIN: Field = Field::new("tCKAVGmin", |t| &mut t.tck_ps, 1, 18).fine(125);
/// The longest.
pub const TCK_MAX: Field = Field::new("tCKAVGmax", |t| &mut t.tck_ps, 1, 19).fine(124);
/// Clock periods that DDR4 knows, in ps.
pub const TCK_PS: std::ops::RangeInclusive<u64> = 500..=1600;

/// Writes the clock period.
pub fn write_tck(image: &mut [u8; SPD_BYTES], tck_ps: u64) {
    TCK_MIN.write_ps(image, tck_ps as i64);
    TCK_MAX.write_ps(image, tck_ps as i64);
}

/// The times, but the clock periods. CL comes from tAA.
pub const TIMES: [Field; 15] = [
    Field::new("tAA", |t| &mut t.cl_tck, 7, 24).fine(123),
    Field::new("tRCD", |t| &mut t.rcd_tck, 1, 25).fine(122),
    Field::new("tRP", |t| &mut t.rp_tck, 1, 26).fine(121),
    Field::new("tRAS", |t| &mut t.ras_tck, 1, 28).nibble(27, 0),
    Field::new("tRC", |t| &mut t.rc_tck, 1, 29).nibble(27, 4).fine(120),
    Field::new("tRFC1", |t| &mut t.rfc1_tck, 1, 30).byte(31),
    Field::new("tRFC2", |t| &mut t.rfc2_tck, 1, 32).byte(33),
    Field::new("tRFC4", |t| &mut t.rfc4_tck, 1, 34).byte(35),
    Field::new("tFAW", |t| &mut t.faw_tck, 1, 37).nibble(36, 0),
    Field::new("tRRD_S", |t| &mut t.rrd_s_tck, 4, 38).fine(119),
    Field::new("tRRD_L", |t| &mut t.rrd_l_tck, 4, 39).fine(118),
    Field::new("tCCD_L", |t| &mut t.ccd_l_tck, 5, 40).fine(117),
    Field::new("tWR", |t| &mut t.wr_tck, 1, 42).nibble(41, 0),
    Field::new("tWTR_S", |t| &mut t.wtr_s_tck, 2, 44).nibble(43, 0),
    Field::new("tWTR_L", |t| &mut t.wtr_l_tck, 4, 45).nibble(43, 4),
];
