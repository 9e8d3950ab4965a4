// SPDX-License-Identifier: MIT
//! Writes an image.

use super::{
    BASE, Description, MODULE, MODULE_TYPE, OWN, OWN_KEY, OWN_VERSION, RELAYOUT_TCK, SPD_BYTES,
    Spd, SpdError, SpdModule, SpdTiming, Values, field,
};
use std::ops::RangeInclusive;

/// Clocks that the host may have to wait from a command to its data or to PRE.
const LATENCY_TCK: RangeInclusive<u64> = 4..=64;
/// CAS latencies: bit 0 of byte 20 is 7, bit 5 of byte 23 is 36.
const CL_TCK: RangeInclusive<u64> = 7..=36;

impl Description {
    /// The image of this module.
    pub fn image(&self, values: Values) -> Result<Spd, SpdError> {
        let Description { module, timing } = self;
        let relayout_tck = match values {
            Values::Honest => 0,
            Values::Spoofed => RELAYOUT_TCK,
        };
        within("tCK", timing.tck_ps, field::TCK_PS, "ps")?;
        within("WL", timing.wl_tck, 1 + RELAYOUT_TCK..=*LATENCY_TCK.end(), "tCK")?;
        within("RTP", timing.rtp_tck, LATENCY_TCK, "tCK")?;
        within("CL", timing.cl_tck, *CL_TCK.start()..=CL_TCK.end() - relayout_tck, "tCK")?;
        for time in &field::TIMES {
            // Checked before anything is added to it.
            let mut timing = timing.clone();
            within(time.name, *(time.of)(&mut timing), 0..=time.max_tck(timing.tck_ps), "tCK")?;
        }
        let mut timing = timing.spoofed(relayout_tck);

        let mut image = [0; SPD_BYTES];
        write_organisation(&mut image, module)?;
        write_timing(&mut image, &mut timing)?;
        BASE.seal(&mut image);
        write_module(&mut image, module);
        MODULE.seal(&mut image);
        write_manufacture(&mut image, module)?;
        write_own(&mut image, &timing, relayout_tck);
        OWN.seal(&mut image);
        Ok(Spd(image))
    }
}

fn within(
    name: &'static str,
    value: u64,
    range: RangeInclusive<u64>,
    unit: &str,
) -> Result<(), SpdError> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("{} to {} {unit}", range.start(), range.end());
    Err(SpdError::value(name, format!("{value} {unit}"), expected))
}

/// The code of a power of two, counted from `first`.
fn code(name: &'static str, value: u64, first: u64, codes: u32) -> Result<u8, SpdError> {
    (0..codes).find(|&code| first << code == value).map(|code| code as u8).ok_or_else(|| {
        SpdError::value(name, value, format!("a power of two, {first} to {}", first << (codes - 1)))
    })
}

fn write_organisation(image: &mut [u8; SPD_BYTES], module: &SpdModule) -> Result<(), SpdError> {
    within("ranks", module.ranks, 1..=8, "")?;
    within("row_bits", module.row_bits, 12..=18, "")?;
    within("column_bits", module.column_bits, 9..=12, "")?;
    let groups = code("bank_groups", module.bank_groups, 1, 3)?;
    let banks = code("banks_per_group", module.banks_per_group, 4, 2)?;
    let width = code("chip_bits", module.chip_bits, 4, 4)?;
    let density = code("Mbit of a chip", module.density_mbit(), 256, 8)?;

    image[0] = 0x23; // 384 bytes used of 512
    image[1] = 0x11; // revision 1.1
    image[2] = 0x0C; // DDR4
    image[3] = MODULE_TYPE;
    image[4] = groups << 6 | banks << 4 | density;
    image[5] = (module.row_bits as u8 - 12) << 3 | (module.column_bits as u8 - 9);
    image[11] = 0x03; // 1.2 V, operable and endurant
    image[12] = (module.ranks as u8 - 1) << 3 | width;
    image[13] = 0x03; // 64 bits without ECC
    Ok(())
}

fn write_timing(image: &mut [u8; SPD_BYTES], timing: &mut SpdTiming) -> Result<(), SpdError> {
    let tck_ps = timing.tck_ps;
    field::write_tck(image, tck_ps);
    let cl = 1u32 << (timing.cl_tck - CL_TCK.start());
    image[20..24].copy_from_slice(&cl.to_le_bytes());
    for time in &field::TIMES {
        time.write(image, *(time.of)(timing), tck_ps)?;
    }
    Ok(())
}

fn write_module(image: &mut [u8; SPD_BYTES], module: &SpdModule) {
    image[128] = 0x11; // 31 to 32 mm high
    image[129] = 0x11; // 1 to 2 mm on both sides
    image[130] = 0x1F; // no reference raw card
    image[131] = 0x05; // one row of chips, one buffer chip
    image[133..135].copy_from_slice(&module.manufacturer_id.to_le_bytes());
}

fn write_manufacture(image: &mut [u8; SPD_BYTES], module: &SpdModule) -> Result<(), SpdError> {
    let part = module.part_number.as_bytes();
    let printable = part.iter().all(|byte| (b' '..=b'~').contains(byte));
    if !printable || !(1..=20).contains(&part.len()) {
        let value = format!("{:?}", module.part_number);
        return Err(SpdError::value("part_number", value, "1 to 20 ASCII characters"));
    }
    image[320..322].copy_from_slice(&module.manufacturer_id.to_le_bytes());
    image[325..329].copy_from_slice(&module.serial.to_be_bytes());
    image[329..349].fill(b' ');
    image[329..329 + part.len()].copy_from_slice(part);
    Ok(())
}

fn write_own(image: &mut [u8; SPD_BYTES], timing: &SpdTiming, relayout_tck: u64) {
    image[353..357].copy_from_slice(OWN_KEY);
    image[357] = OWN_VERSION;
    image[358] = relayout_tck as u8;
    image[359] = timing.wl_tck as u8;
    image[360] = timing.rtp_tck as u8;
}
