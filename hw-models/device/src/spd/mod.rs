// SPDX-License-Identifier: MIT
//! Serial Presence Detect: the 512 bytes from which a host's memory controller programs itself.
//!
//! The image is that of a DDR4 module (JEDEC standard 21-C, annex L, "SPD for DDR4 SDRAM modules"):
//! base section with its CRC in bytes 126 and 127, the section of its module type with its CRC in bytes
//! 254 and 255, manufacturing data from byte 320 on. [`Description::image`] writes it, [`Spd::parse`]
//! reads it as a host does.
//!
//! # Module type
//!
//! All data lines of the module lead to one buffer chip. Byte 3 says so with a type of its own,
//! [`MODULE_TYPE`]: an LRDIMM (0x04) has a data buffer for each byte lane, none of which sees the bytes that
//! re-layout exchanges between lanes; and behind the register of an RDIMM (0x01) the data lines go straight to
//! the chips. Firmware that knows JEDEC's types alone leaves such a module out.
//!
//! Annex L has no section for this type. Ours has what those of RDIMM and LRDIMM begin alike with:
//!
//! | bytes | |
//! | --- | --- |
//! | 128 to 130 | height, thickness, reference raw card (none) |
//! | 131 | bits 3, 2: rows of chips on the card; bits 1, 0: buffer chips; bits 7 to 4, JEDEC's kinds of register: 0 |
//! | 132 | 0 |
//! | 133, 134 | manufacturer of the buffer chip, where theirs have the register's |
//! | 135 to 253 | 0 |
//!
//! # Honest and spoofed
//!
//! Re-layout holds all data for [`RELAYOUT_TCK`] on their way between host and chips, and commands
//! for no time at all. A host that knows the chips' own timing is late with what it writes and early
//! to fetch what it reads. So the image names other values (L3 section 4.1), with which the host
//! keeps the chips' timing without knowing of the unit:
//!
//! | parameter | value | why | where |
//! | --- | --- | --- | --- |
//! | tWL | - 1 | data leave the host a clock before the chips take them | byte 359, below |
//! | tWR | + 1 | counts from the end of the data; at the chips they end a clock later | bytes 41, 42 |
//! | tWTR_S, tWTR_L | + 1 | count from there as well | bytes 43 to 45 |
//! | CL | + 1 | data reach the host a clock after they leave the chips | tAA in bytes 24, 123; bytes 20 to 23 |
//!
//! So a write command is followed by PRE and by RD, and a read command by PRE, no later than with the
//! chips' own values. What counts from command to command stays as it is: tRCD, tRP, tRAS, tRC, tRRD,
//! tFAW, tCCD, tRFC, and tRTP, which counts from the RD command. Between ranks as well all data are
//! shifted alike. One thing does cost time: from RD to WR the host waits CL + BL + a gap - tWL, which
//! is two clocks more than before, and has to, as the data bus at its pins is busy for longer.
//!
//! The chips' mode registers hold the true CL and tWL: the buffer chip puts them in place of the host's
//! values when a mode register is set (`rtl/module/host_modes.sv`). A host can set only values with a code:
//! 23 is a CL of JESD79-4, and 15 is no CWL.
//!
//! The shift is one *clock*, while most fields hold *times*: it is right at one clock rate. The image
//! therefore offers one, tCKmin = tCKmax, and one CAS latency.
//!
//! # What the standard has no field for
//!
//! tWL and tRTP are in no SPD; a host takes tWL from a table by speed, and 7.5 ns for tRTP. Here they
//! stand in bytes 353 to 381, which are the manufacturer's:
//!
//! | bytes | |
//! | --- | --- |
//! | 353 to 356 | `PIML`, in ASCII; anything else: not such a module, and the table applies |
//! | 357 | version of this layout, 1 |
//! | 358 | clocks by which tWL, tWR, tWTR and CL are spoofed; 0: the image is honest |
//! | 359 | tWL in tCK that the host has to use |
//! | 360 | tRTP in tCK |
//! | 361 to 379 | 0 |
//! | 380, 381 | CRC of bytes 353 to 379, low byte first |
//!
//! # Times
//!
//! Times are multiples of 125 ps, with corrections of 1 ps for some (bytes 117 to 125). Timing is in
//! clocks here. Where a correction exists a time is exact, elsewhere it is the multiple not above it:
//! the host, which rounds up to whole clocks (after taking off 2.5 %, JESD79-4 section 13.5), comes
//! to the same number of clocks. At 625 ps every time is exact.

mod field;
mod image;
mod parse;

use crate::config::{Config, ConfigError, Organisation};
use pimlico_units::rank::RelayoutUnit;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Bytes of an image.
pub const SPD_BYTES: usize = 512;

/// Byte 3, the module type: one buffer chip with all byte lanes. Annex L leaves 0xE in bits 3 to 0 unassigned;
/// bits 7 to 4 are those of a hybrid module, which this is not.
pub const MODULE_TYPE: u8 = 0x0E;

/// Clocks for which re-layout of 16-bit elements on x8 chips holds the data: two beats.
pub const RELAYOUT_TCK: u64 = RelayoutUnit::<16, 8>::GROUP as u64 / 2;

/// Modules that are described, by the preset of their chips: with the times of finer refresh, which a preset has not.
const DESCRIBED: [(&str, &str); 2] = [
    ("ddr4-3200", include_str!("../../presets/ddr4-3200-spd.toml")),
    ("ddr4-3200-16gb", include_str!("../../presets/ddr4-3200-16gb-spd.toml")),
];

/// The same, behind the organisation of their chips: read once, and not for each piece of work.
static MODULES: LazyLock<Vec<(Organisation, Description)>> = LazyLock::new(|| {
    let read = |&(name, text): &(&str, &str)| {
        let chips = Config::of_rank(name).expect("tested below");
        (chips.organisation, Description::parse(text).expect("tested below"))
    };
    DESCRIBED.iter().map(read).collect()
});

/// Data lines of a module, without ECC.
const BUS_BITS: u64 = 64;
/// The fewest bits of a row's and of a column's address that an image can tell.
const LEAST_ROW_BITS: u64 = 12;
const LEAST_COLUMN_BITS: u64 = 9;
/// Characters of a part number, at most.
const PART_NUMBER: usize = 20;

/// Timing parameters (JESD79-4 section 13), in tCK.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // the names are the standard's
pub struct SpdTiming {
    /// Clock period in ps.
    #[serde(rename = "tCK_ps")]
    pub tck_ps: u64,
    /// From RD to the first data.
    #[serde(rename = "CL")]
    pub cl_tck: u64,
    /// From WR to the first data.
    #[serde(rename = "WL")]
    pub wl_tck: u64,
    #[serde(rename = "RCD")]
    pub rcd_tck: u64,
    #[serde(rename = "RP")]
    pub rp_tck: u64,
    #[serde(rename = "RAS")]
    pub ras_tck: u64,
    #[serde(rename = "RC")]
    pub rc_tck: u64,
    #[serde(rename = "RRD_S")]
    pub rrd_s_tck: u64,
    #[serde(rename = "RRD_L")]
    pub rrd_l_tck: u64,
    #[serde(rename = "FAW")]
    pub faw_tck: u64,
    #[serde(rename = "CCD_L")]
    pub ccd_l_tck: u64,
    /// From the end of written data to RD in another bank group.
    #[serde(rename = "WTR_S")]
    pub wtr_s_tck: u64,
    /// From the end of written data to RD in the same bank group.
    #[serde(rename = "WTR_L")]
    pub wtr_l_tck: u64,
    /// From the end of written data to PRE.
    #[serde(rename = "WR")]
    pub wr_tck: u64,
    /// From RD to PRE.
    #[serde(rename = "RTP")]
    pub rtp_tck: u64,
    #[serde(rename = "RFC1")]
    pub rfc1_tck: u64,
    #[serde(rename = "RFC2")]
    pub rfc2_tck: u64,
    #[serde(rename = "RFC4")]
    pub rfc4_tck: u64,
}

/// What a module is made of.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct SpdModule {
    /// Ranks.
    pub ranks: u64,
    /// Data lines of a chip.
    pub chip_bits: u64,
    /// Bank groups in a chip.
    pub bank_groups: u64,
    /// Banks in a bank group.
    pub banks_per_group: u64,
    /// Bits of a row's address.
    pub row_bits: u64,
    /// Bits of a column's address.
    pub column_bits: u64,
    /// JEP106 code: in the low byte how many continuation codes, in the high byte the last one.
    pub manufacturer_id: u16,
    /// Serial number.
    pub serial: u32,
    /// Part number, up to 20 characters.
    pub part_number: String,
}

impl SpdModule {
    /// Bits of a chip, in Mbit.
    pub fn density_mbit(&self) -> u64 {
        let banks = self.bank_groups.saturating_mul(self.banks_per_group);
        let address_bits = self.row_bits.saturating_add(self.column_bits).min(63);
        banks.saturating_mul(self.chip_bits).saturating_mul(1 << address_bits) >> 20
    }
}

/// A module and its true timing: what an image is made from.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// What it is made of.
    pub module: SpdModule,
    /// The chips' own timing.
    pub timing: SpdTiming,
}

/// Which values an image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// The chips' own.
    Honest,
    /// Those with which a host makes up for re-layout.
    Spoofed,
}

/// What an image tells a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// What the module is made of.
    pub module: SpdModule,
    /// What the host programs.
    pub timing: SpdTiming,
    /// Clocks by which `timing` is spoofed; 0: not at all.
    pub relayout_tck: u64,
    /// The CRCs of base section and module section.
    pub crc: [u16; 2],
}

impl Advertised {
    /// Which values these are.
    pub fn values(&self) -> Values {
        if self.relayout_tck == 0 { Values::Honest } else { Values::Spoofed }
    }

    /// The chips' own timing.
    pub fn true_timing(&self) -> SpdTiming {
        let SpdTiming { cl_tck, wl_tck, wr_tck, wtr_s_tck, wtr_l_tck, .. } = self.timing;
        SpdTiming {
            cl_tck: cl_tck - self.relayout_tck,
            wl_tck: wl_tck + self.relayout_tck,
            wr_tck: wr_tck - self.relayout_tck,
            wtr_s_tck: wtr_s_tck - self.relayout_tck,
            wtr_l_tck: wtr_l_tck - self.relayout_tck,
            ..self.timing
        }
    }
}

impl SpdTiming {
    /// What a host programs itself with that knows the chips of a preset and the re-layout in front of them, whatever an
    /// image has room for.
    pub fn of_host(config: &Config) -> Self {
        Self::of_chips(config).spoofed(RELAYOUT_TCK)
    }

    /// The chips' own, of a preset.
    pub fn of_chips(config: &Config) -> Self {
        let t = &config.timing;
        Self {
            tck_ps: config.tck_ps,
            cl_tck: t.cl_tck,
            wl_tck: t.cwl_tck,
            rcd_tck: t.rcd_tck.max(t.rcd_wr_tck),
            rp_tck: t.rp_tck,
            ras_tck: t.ras_tck,
            rc_tck: t.rc_tck,
            rrd_s_tck: t.rrd_s_tck,
            rrd_l_tck: t.rrd_l_tck,
            faw_tck: t.faw_tck,
            ccd_l_tck: t.ccd_l_tck,
            wtr_s_tck: t.wtr_s_tck,
            wtr_l_tck: t.wtr_l_tck,
            wr_tck: t.wr_tck,
            rtp_tck: t.rtp_tck,
            rfc1_tck: t.rfc_tck,
            rfc2_tck: t.rfc_tck,
            rfc4_tck: t.rfc_tck,
        }
    }

    /// The values with which a host makes up for data that are held for `relayout_tck`; tWL must be
    /// longer than that.
    fn spoofed(&self, relayout_tck: u64) -> Self {
        Self {
            cl_tck: self.cl_tck + relayout_tck,
            wl_tck: self.wl_tck - relayout_tck,
            wr_tck: self.wr_tck + relayout_tck,
            wtr_s_tck: self.wtr_s_tck + relayout_tck,
            wtr_l_tck: self.wtr_l_tck + relayout_tck,
            ..*self
        }
    }
}

/// An image.
pub struct Spd([u8; SPD_BYTES]);

impl Spd {
    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8; SPD_BYTES] {
        &self.0
    }
}

impl Description {
    /// The module of L3's DIMM-PIM.
    pub fn ddr4_3200() -> Self {
        Self::of(&Config::ddr4_3200())
    }

    /// A module of such chips: that of a preset, or one of a rank of them.
    pub fn of(config: &Config) -> Self {
        let is_of = |(chips, module): &&(Organisation, Self)| {
            *chips == config.organisation && module.has_chips(config)
        };
        let described = MODULES.iter().find(is_of);
        described.map_or_else(|| Self::of_rank(config), |(_, module)| module.clone())
    }

    /// Whether these are its chips' timings.
    fn has_chips(&self, config: &Config) -> bool {
        let SpdTiming { rfc2_tck, rfc4_tck, .. } = self.timing;
        SpdTiming { rfc2_tck, rfc4_tck, ..SpdTiming::of_chips(config) } == self.timing
    }

    /// A module of a rank of such chips, as far as an image has room: it tells no fewer rows and columns than DDR4's
    /// smallest chips have.
    fn of_rank(config: &Config) -> Self {
        let Organisation { chips, bank_groups, banks_per_group, page_bytes, rows, .. } =
            config.organisation;
        let chip_bits = BUS_BITS / chips.max(1) as u64;
        let columns = 8 * page_bytes as u64 / chip_bits.max(1);
        let bits = |count: u64| u64::from(count.max(1).next_power_of_two().ilog2());
        let module = SpdModule {
            ranks: 1,
            chip_bits,
            bank_groups: bank_groups as u64,
            banks_per_group: banks_per_group as u64,
            row_bits: bits(rows as u64).max(LEAST_ROW_BITS),
            column_bits: bits(columns).max(LEAST_COLUMN_BITS),
            manufacturer_id: 0,
            serial: 1,
            part_number: config.name.chars().take(PART_NUMBER).collect(),
        };
        Self { module, timing: SpdTiming::of_chips(config) }
    }

    /// Reads a preset. Its values are checked when an image is made of it.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::syntax(text, &error))
    }
}

/// Why an image cannot be read or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpdError {
    /// It is no image of a DDR4 SPD.
    #[error("{0} bytes, expected 512, a DDR4 SPD")]
    Length(usize),
    /// A byte has a value that is not known or not supported.
    #[error("byte {byte}, {what}: {found:#04x}, expected {expected}")]
    Byte {
        /// Where.
        byte: usize,
        /// What the byte tells.
        what: &'static str,
        /// Its value.
        found: u8,
        /// What it may be.
        expected: &'static str,
    },
    /// A section does not have its checksum.
    #[error("CRC of bytes {first}-{last}: {found:#06x} in the image, computed {computed:#06x}")]
    Crc {
        /// First byte of the section.
        first: usize,
        /// Its last byte; the CRC follows.
        last: usize,
        /// What stands there.
        found: u16,
        /// What should.
        computed: u16,
    },
    /// A value that cannot be, or that the image has no room for.
    #[error("{name} = {value}, expected {expected}")]
    Value {
        /// Its name.
        name: &'static str,
        /// The value.
        value: String,
        /// What it may be.
        expected: String,
    },
}

impl SpdError {
    fn value(name: &'static str, value: impl ToString, expected: impl ToString) -> Self {
        Self::Value { name, value: value.to_string(), expected: expected.to_string() }
    }
}

/// A section with its CRC behind it.
struct Section {
    first: usize,
    last: usize,
}

const BASE: Section = Section { first: 0, last: 125 };
const MODULE: Section = Section { first: 128, last: 253 };
const OWN: Section = Section { first: 353, last: 379 };

/// What the bytes of [`OWN`] begin with.
const OWN_KEY: &[u8; 4] = b"PIML";
/// Version of their layout.
const OWN_VERSION: u8 = 1;

impl Section {
    /// Its checksum: CRC-16 with the polynomial x^16 + x^12 + x^5 + 1, from 0, highest bit first.
    fn crc(&self, image: &[u8; SPD_BYTES]) -> u16 {
        image[self.first..=self.last].iter().fold(0, |crc: u16, &byte| {
            (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
                if crc & 0x8000 != 0 { crc << 1 ^ 0x1021 } else { crc << 1 }
            })
        })
    }

    /// Puts its checksum behind it.
    fn seal(&self, image: &mut [u8; SPD_BYTES]) {
        let crc = self.crc(image).to_le_bytes();
        image[self.last + 1..][..2].copy_from_slice(&crc);
    }

    /// Checks it, and returns it.
    fn check(&self, image: &[u8; SPD_BYTES]) -> Result<u16, SpdError> {
        let found = u16::from_le_bytes([image[self.last + 1], image[self.last + 2]]);
        let computed = self.crc(image);
        if found == computed {
            return Ok(found);
        }
        Err(SpdError::Crc { first: self.first, last: self.last, found, computed })
    }
}

#[cfg(test)]
mod tests;
