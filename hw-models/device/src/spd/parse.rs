// SPDX-License-Identifier: MIT
//! Reads an image as a host does.

use super::{
    Advertised, BASE, MODULE, MODULE_TYPE, OWN, OWN_KEY, OWN_VERSION, SPD_BYTES, Spd, SpdError,
    SpdModule, SpdTiming, field,
};

type Image = [u8; SPD_BYTES];

impl Spd {
    /// What an image tells a host.
    pub fn parse(image: &[u8]) -> Result<Advertised, SpdError> {
        let image: &Image = image.try_into().map_err(|_| SpdError::Length(image.len()))?;
        check_type(image)?;
        let crc = [BASE.check(image)?, MODULE.check(image)?];
        let module = module(image)?;
        let mut timing = timing(image)?;
        let relayout_tck = own(image, &mut timing)?;
        Ok(Advertised { module, timing, relayout_tck, crc })
    }
}

/// Checks that `bits` of a byte are `value`.
fn expect(
    image: &Image,
    byte: usize,
    bits: u8,
    value: u8,
    what: &'static str,
    expected: &'static str,
) -> Result<(), SpdError> {
    let found = image[byte];
    if found & bits == value {
        return Ok(());
    }
    Err(SpdError::Byte { byte, what, found, expected })
}

fn check_type(image: &Image) -> Result<(), SpdError> {
    expect(image, 2, 0xFF, 0x0C, "memory type", "0x0c, DDR4")?;
    expect(image, 1, 0xF0, 0x10, "revision", "0x10 to 0x1f, 1.0 to 1.15")?;
    expect(image, 0, 0x70, 0x20, "size", "0x20 in bits 6 to 4, 512 bytes")?;
    expect(image, 3, 0xFF, MODULE_TYPE, "module type", "0x0e, one buffer chip with all byte lanes")
}

fn module(image: &Image) -> Result<SpdModule, SpdError> {
    let bits = |byte: usize, shift: u32, count: u32| image[byte] >> shift & ((1 << count) - 1);
    expect(image, 4, 0x20, 0, "banks", "4 or 8 in a group")?;
    if bits(4, 6, 2) == 3 {
        expect(image, 4, 0x40, 0, "bank groups", "1, 2 or 4")?;
    }
    expect(image, 6, 0xF3, 0, "package", "0x00, a single die")?;
    expect(image, 12, 0x44, 0, "organisation", "ranks alike, chips of 4 to 32 lines")?;
    expect(image, 13, 0x07, 0x03, "bus width", "0x03, 64 bits")?;
    expect(image, 17, 0x0F, 0, "timebases", "0x00, 125 ps and 1 ps")?;
    if bits(5, 3, 3) == 7 || bits(5, 0, 3) > 3 {
        let expected = "0x00 to 0x33, rows of 12 to 18 bits, columns of 9 to 12";
        return Err(SpdError::Byte { byte: 5, what: "addressing", found: image[5], expected });
    }
    let part: String = image[329..349]
        .iter()
        .map(|&byte| if (b' '..=b'~').contains(&byte) { char::from(byte) } else { ' ' })
        .collect();
    let module = SpdModule {
        ranks: u64::from(bits(12, 3, 3)) + 1,
        chip_bits: 4 << bits(12, 0, 2),
        bank_groups: 1 << bits(4, 6, 2),
        banks_per_group: 4 << bits(4, 4, 1),
        row_bits: u64::from(bits(5, 3, 3)) + 12,
        column_bits: u64::from(bits(5, 0, 2)) + 9,
        manufacturer_id: u16::from_le_bytes([image[320], image[321]]),
        serial: u32::from_be_bytes([image[325], image[326], image[327], image[328]]),
        part_number: part.trim_end().to_owned(),
    };
    if module.density_mbit() != 256 << bits(4, 0, 4) {
        let expected = "the density that banks, rows and columns make";
        return Err(SpdError::Byte { byte: 4, what: "density", found: image[4], expected });
    }
    Ok(module)
}

fn timing(image: &Image) -> Result<SpdTiming, SpdError> {
    let mut timing = SpdTiming { tck_ps: field::TCK_MIN.read_ps(image)?, ..Default::default() };
    let tck_ps = timing.tck_ps;
    if !field::TCK_PS.contains(&tck_ps) {
        let expected = format!("{} to {} ps", field::TCK_PS.start(), field::TCK_PS.end());
        return Err(SpdError::value("tCKAVGmin", format!("{tck_ps} ps"), expected));
    }
    for time in &field::TIMES {
        *(time.of)(&mut timing) = time.read(image, tck_ps)?;
    }
    timing.cl_tck = cas_latency(image, timing.cl_tck)?;
    timing.wl_tck = standard_wl(tck_ps);
    timing.rtp_tck = field::clocks(7500, tck_ps).max(4);
    Ok(timing)
}

/// The shortest supported CAS latency that is not shorter than `least_tck`.
fn cas_latency(image: &Image, least_tck: u64) -> Result<u64, SpdError> {
    let supported = u32::from_le_bytes([image[20], image[21], image[22], image[23]]);
    let first = if supported >> 31 == 0 { 7 } else { 23 };
    (first..first + 30)
        .find(|&cl| cl >= least_tck && supported >> (cl - first) & 1 != 0)
        .ok_or_else(|| {
            let value = format!("{least_tck} tCK");
            SpdError::value("tAA", value, "a time not longer than a supported CAS latency")
        })
}

/// The write latency by the clock period: the first set of MR2 (JESD79-4 table 31).
fn standard_wl(tck_ps: u64) -> u64 {
    match tck_ps {
        1250.. => 9,
        1070.. => 10,
        935.. => 11,
        833.. => 12,
        750.. => 14,
        _ => 16,
    }
}

/// Reads the bytes that are Pimlico's own, if there are such; returns by how much the image is spoofed.
fn own(image: &Image, timing: &mut SpdTiming) -> Result<u64, SpdError> {
    if &image[353..357] != OWN_KEY {
        return Ok(0);
    }
    OWN.check(image)?;
    expect(image, 357, 0xFF, OWN_VERSION, "version of bytes 353 to 381", "0x01")?;
    for (byte, what) in [(359, "tWL"), (360, "tRTP")] {
        if image[byte] == 0 {
            let expected = "a number of clocks";
            return Err(SpdError::Byte { byte, what, found: 0, expected });
        }
    }
    timing.wl_tck = image[359].into();
    timing.rtp_tck = image[360].into();
    let relayout_tck = image[358].into();
    let SpdTiming { cl_tck, wr_tck, wtr_s_tck, wtr_l_tck, .. } = *timing;
    if [cl_tck, wr_tck, wtr_s_tck, wtr_l_tck].into_iter().any(|tck| tck <= relayout_tck) {
        let expected = "less than CL, tWR and tWTR";
        let (what, found) = ("clocks of re-layout", image[358]);
        return Err(SpdError::Byte { byte: 358, what, found, expected });
    }
    Ok(relayout_tck)
}
