// SPDX-License-Identifier: MIT

use super::*;
use crate::Config;
use proptest::collection::vec;
use proptest::num::{u8, u64};
use proptest::prelude::*;
use std::sync::LazyLock;

/// The description is read from a file once, and not for each case.
fn image(values: Values) -> [u8; SPD_BYTES] {
    static DESCRIPTION: LazyLock<Description> = LazyLock::new(Description::ddr4_3200);
    *DESCRIPTION.image(values).expect("it has room").as_bytes()
}

/// Seals all sections again.
fn seal(image: &mut [u8; SPD_BYTES]) {
    for section in [BASE, MODULE, OWN] {
        section.seal(image);
    }
}

#[test]
fn the_checksum_is_the_standard_one() {
    let mut image = [0; SPD_BYTES];
    image[..9].copy_from_slice(b"123456789");
    // The check value that catalogues of CRCs give for this polynomial.
    assert_eq!(Section { first: 0, last: 8 }.crc(&image), 0x31C3);
}

#[test]
fn the_module_is_two_of_the_rank() {
    for (name, row_bits, gbit) in [("ddr4-3200", 16, 8), ("ddr4-3200-16gb", 17, 16)] {
        let config = Config::of_rank(name).expect("a preset");
        is_two_of_the_rank(&config, &Description::of(&config), row_bits, gbit);
    }
}

/// The rows of a 16 Gb chip are more than a rank uses.
fn is_two_of_the_rank(config: &Config, description: &Description, row_bits: u64, gbit: u64) {
    let Description { module, timing } = description;
    assert_eq!(timing.tck_ps, config.tck_ps);
    assert_eq!(timing.rfc1_tck, config.timing.rfc_tck);
    assert_eq!(timing.ccd_l_tck, config.timing.ccd_l_tck);
    assert_eq!(module.chip_bits * config.organisation.chips as u64, 64);
    assert_eq!(module.bank_groups, config.organisation.bank_groups as u64);
    assert_eq!(module.banks_per_group, config.organisation.banks_per_group as u64);
    assert_eq!((module.row_bits, config.organisation.rows), (row_bits, 1 << 16));
    assert_eq!(module.chip_bits << module.column_bits, 8 * config.organisation.page_bytes as u64);
    assert_eq!((module.ranks, module.density_mbit()), (2, 1024 * gbit));
    assert!(description.image(Values::Spoofed).is_ok());
}

#[test]
fn bytes_are_where_the_standard_puts_them() {
    let honest = image(Values::Honest);
    assert_eq!(honest[..7], [0x23, 0x11, 0x0C, 0x0E, 0x85, 0x21, 0x00]);
    assert_eq!(honest[11..14], [0x03, 0x09, 0x03]);
    assert_eq!(honest[17..20], [0, 5, 5]); // 625 ps
    assert_eq!(honest[20..24], [0, 0x80, 0, 0]); // CL 22
    assert_eq!(honest[24..27], [110; 3]); // 13.75 ns
    assert_eq!(honest[27..30], [0x11, 4, 114]); // 260 and 370: 32.5 and 46.25 ns
    assert_eq!(honest[30..36], [0xF0, 0x0A, 0x20, 0x08, 0x00, 0x05]); // 350, 260, 160 ns
    assert_eq!(honest[36..41], [0, 170, 20, 40, 40]);
    assert_eq!(honest[41..46], [0, 120, 0, 20, 60]); // 15, 2.5, 7.5 ns
    assert_eq!(honest[117..126], [0; 9]);
    assert_eq!(honest[128..136], [0x11, 0x11, 0x1F, 0x05, 0, 0, 0, 0]);
    assert_eq!(honest[325..345], *b"\0\0\0\x01PIMLICO-L3-3200 ");
    assert_eq!(honest[353..361], *b"PIML\x01\x00\x10\x0C");

    let spoofed = image(Values::Spoofed);
    let changed: Vec<_> = (0..SPD_BYTES).filter(|&i| honest[i] != spoofed[i]).collect();
    // CL in 21 and 22, tAA, tWR, tWTR, the CRC; spoofed and tWL, the CRC.
    assert_eq!(changed, [21, 22, 24, 42, 44, 45, 126, 127, 358, 359, 380, 381]);
    assert_eq!(spoofed[20..25], [0, 0, 1, 0, 115]);
    assert_eq!(spoofed[41..46], [0, 125, 0, 25, 65]);
    assert_eq!(spoofed[358..360], [1, 15]);
}

#[test]
fn a_host_that_obeys_the_spoofed_image_keeps_the_chips_timing() {
    let chips = Description::ddr4_3200().timing;
    let burst_tck = 4;
    let host = Spd::parse(&image(Values::Spoofed)).expect("its own image");
    assert_eq!((host.values(), host.true_timing()), (Values::Spoofed, chips.clone()));
    let host = host.timing;
    // Data, which re-layout holds for a clock, are on time on both sides.
    assert_eq!(host.wl_tck + RELAYOUT_TCK, chips.wl_tck);
    assert_eq!(chips.cl_tck + RELAYOUT_TCK, host.cl_tck);
    // From WR to PRE and from WR to RD it is as long as the chips need, and no longer.
    let after_write =
        |t: &SpdTiming| [t.wr_tck, t.wtr_s_tck, t.wtr_l_tck].map(|tck| t.wl_tck + burst_tck + tck);
    assert_eq!(after_write(&host), after_write(&chips));
    // Nothing else is touched.
    let SpdTiming { cl_tck, wl_tck, wr_tck, wtr_s_tck, wtr_l_tck, .. } = chips;
    assert_eq!(SpdTiming { cl_tck, wl_tck, wr_tck, wtr_s_tck, wtr_l_tck, ..host }, chips);

    let honest = Spd::parse(&image(Values::Honest)).expect("its own image");
    assert_eq!((honest.values(), honest.timing), (Values::Honest, chips));
}

#[test]
fn a_module_of_another_make_has_the_standard_write_latency() {
    for (tck_ps, wl_tck, rtp_tck) in
        [(1250, 9, 6), (1071, 10, 7), (938, 11, 8), (833, 12, 9), (750, 14, 10), (625, 16, 12)]
    {
        let mut description = Description::ddr4_3200();
        description.timing =
            SpdTiming { tck_ps, cl_tck: 14, rcd_tck: 14, rp_tck: 14, ..description.timing };
        let honest = description.image(Values::Honest).expect("it has room");
        let mut image = *honest.as_bytes();
        image[353..382].fill(0);
        let advertised = Spd::parse(&image).expect("a standard image");
        assert_eq!((advertised.timing.wl_tck, advertised.timing.rtp_tck), (wl_tck, rtp_tck));
        assert_eq!(advertised.values(), Values::Honest);
    }
}

#[test]
fn clocks_are_rounded_as_the_standard_says() {
    // tAA of 13.75 ns at 1600, 1866 and 2133 MT/s; 15 ns at 2400, whose clock is 0.833 ns.
    for (ps, tck_ps, tck) in
        [(13750, 1250, 11), (13750, 1071, 13), (13750, 938, 15), (15000, 833, 18)]
    {
        assert_eq!(field::clocks(ps, tck_ps), tck);
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let broken = |byte: usize, value: u8| {
        let mut image = image(Values::Spoofed);
        image[byte] = value;
        if !(126..128).contains(&byte) && !(254..256).contains(&byte) && byte != 380 {
            seal(&mut image);
        }
        Spd::parse(&image).expect_err("broken").to_string()
    };
    for (byte, value, expected) in [
        (2, 0x0B, "byte 2, memory type: 0x0b, expected 0x0c, DDR4"),
        (1, 0x20, "byte 1, revision: 0x20, expected 0x10 to 0x1f"),
        (0, 0x13, "byte 0, size: 0x13"),
        (3, 0x04, "byte 3, module type: 0x04, expected 0x0e, one buffer chip with all byte lanes"),
        (3, 0x9E, "byte 3, module type: 0x9e"),
        (4, 0x84, "byte 4, density: 0x84"),
        (4, 0xC5, "byte 4, bank groups"),
        (5, 0x39, "byte 5, addressing"),
        (6, 0x80, "byte 6, package"),
        (12, 0x49, "byte 12, organisation"),
        (13, 0x02, "byte 13, bus width"),
        (17, 0x01, "byte 17, timebases"),
        (18, 0, "tCKAVGmin = 0 ps, expected a time over 0 ps"),
        (18, 3, "tCKAVGmin = 375 ps, expected 500 to 1600 ps"),
        (22, 0, "tAA = 23 tCK, expected a time not longer than a supported CAS latency"),
        (25, 0, "tRCD = 0 ps"),
        (357, 9, "byte 357, version"),
        (358, 5, "byte 358, clocks of re-layout: 0x05, expected less than"),
        (359, 0, "byte 359, tWL: 0x00"),
        (126, 0, "CRC of bytes 0-125: 0x"),
        (255, 0, "CRC of bytes 128-253: 0x"),
        (380, 0, "CRC of bytes 353-379: 0x"),
    ] {
        let error = broken(byte, value);
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let whole = image(Values::Honest);
    for length in 0..SPD_BYTES {
        assert_eq!(Spd::parse(&whole[..length]), Err(SpdError::Length(length)));
    }
    assert_eq!(Spd::parse(&[0; 513]), Err(SpdError::Length(513)));
}

#[test]
fn every_bit_of_a_section_is_guarded() {
    // But the key of Pimlico's own bytes: without it the module is one of another make.
    let whole = image(Values::Spoofed);
    for bit in (0..8 * 256).chain(8 * 357..8 * 382) {
        let mut image = whole;
        image[bit / 8] ^= 1 << (bit % 8);
        assert!(Spd::parse(&image).is_err(), "byte {} bit {}", bit / 8, bit % 8);
    }
}

#[test]
fn what_an_image_has_no_room_for_is_refused() {
    type Change = fn(&mut Description);
    let changes: [(Change, &str); 13] = [
        (|d| d.timing.tck_ps = 0, "tCK = 0 ps, expected 500 to 1600 ps"),
        (|d| d.timing.cl_tck = 36, "CL = 36 tCK, expected 7 to 35 tCK"),
        (|d| d.timing.wl_tck = 1, "WL = 1 tCK, expected 2 to 64 tCK"),
        (|d| d.timing.rtp_tck = 0, "RTP = 0 tCK"),
        (|d| d.timing.rcd_tck = 52, "tRCD = 52 tCK, expected 0 to 51 tCK"),
        (|d| d.timing.rcd_tck = 0, "tRCD = 0 tCK, expected 1 to 51 tCK"),
        (|d| d.timing.wr_tck = u64::MAX, "tWR = 18446744073709551615 tCK"),
        (|d| d.timing.wr_tck = 819, "tWR = 820 tCK, expected 1 to 819 tCK"),
        (|d| d.module.ranks = 9, "ranks = 9"),
        (|d| d.module.chip_bits = 6, "chip_bits = 6, expected a power of two, 4 to 32"),
        (|d| d.module.row_bits = 63, "row_bits = 63"),
        (|d| d.module.part_number = "x".repeat(21), "expected 1 to 20 ASCII characters"),
        (|d| d.module.part_number = "\n".to_owned(), "part_number = \"\\n\""),
    ];
    for (change, expected) in changes {
        let mut description = Description::ddr4_3200();
        change(&mut description);
        let error = description.image(Values::Spoofed).err().expect(expected).to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let text = include_str!("../../presets/ddr4-3200-spd.toml").replace("WR = 24", "WRX = 24");
    assert!(Description::parse(&text).expect_err("no WRX").to_string().contains("WRX"));
}

/// Any timing that an image has room for, also spoofed.
fn timings() -> impl Strategy<Value = SpdTiming> {
    (field::TCK_PS, 2..=64u64, 4..=64u64, vec(u64::ANY, field::TIMES.len())).prop_map(
        |(tck_ps, wl_tck, rtp_tck, draws)| {
            let mut timing = SpdTiming { tck_ps, wl_tck, rtp_tck, ..Default::default() };
            for (time, draw) in field::TIMES.iter().zip(draws) {
                let mut max = time.max_tck(tck_ps) - RELAYOUT_TCK;
                if time.name == "tAA" {
                    max = max.min(36 - RELAYOUT_TCK);
                }
                *(time.of)(&mut timing) = time.floor_tck + draw % (max - time.floor_tck + 1);
            }
            timing
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn timing_survives_the_image(timing in timings(), serial: u32) {
        let module = SpdModule { serial, ..Description::ddr4_3200().module };
        let description = Description { module: module.clone(), timing: timing.clone() };
        for values in [Values::Honest, Values::Spoofed] {
            let image = description.image(values).expect("it has room");
            let advertised = Spd::parse(image.as_bytes()).expect("its own image");
            prop_assert_eq!(&advertised.module, &module);
            prop_assert_eq!(advertised.true_timing(), timing.clone());
            prop_assert_eq!(advertised.values(), values);
            let shift = if values == Values::Spoofed { RELAYOUT_TCK } else { 0 };
            prop_assert_eq!(advertised.timing, timing.spoofed(shift));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn no_bytes_make_it_panic(words in vec(u64::ANY, SPD_BYTES / 8), length in 0..=SPD_BYTES) {
        let bytes = words.into_iter().flat_map(u64::to_le_bytes).collect::<Vec<_>>();
        let _ = Spd::parse(&bytes);
        let _ = Spd::parse(&bytes[..length]);
        // Past the checks of type and checksums.
        let mut bytes: [u8; SPD_BYTES] = bytes.try_into().expect("as many");
        let whole = image(Values::Spoofed);
        bytes[..4].copy_from_slice(&whole[..4]);
        seal(&mut bytes);
        let _ = Spd::parse(&bytes).map(|advertised| advertised.true_timing());
    }

    #[test]
    fn no_changes_make_it_panic(changes in vec((0..SPD_BYTES, u8::ANY), 1..8)) {
        let mut image = image(Values::Spoofed);
        for (byte, value) in changes {
            image[byte] = value;
        }
        seal(&mut image);
        let _ = Spd::parse(&image).map(|advertised| advertised.true_timing());
    }
}
