// SPDX-License-Identifier: MIT
//! Values in text.

use crate::bundle::for_each_port;
use crate::{Bundle, PortInfo, Shape};
use bitvec::{field::BitField, order::Lsb0, slice::BitSlice};

type Bits = BitSlice<u32, Lsb0>;

/// Bits in hexadecimal, most significant digit first.
pub fn hex(bits: &Bits) -> String {
    let digits = bits.chunks(4).rev();
    digits.map(|d| char::from_digit(d.load_le::<u32>(), 16).expect("a nibble")).collect()
}

/// Every port of a bundle with its value in hexadecimal.
pub fn values<B: Bundle>(bundle: &B) -> Vec<(&'static str, String)> {
    let mut values = Vec::new();
    bundle.for_each_port(|port, bits| values.push((port.name, hex(bits))));
    values
}

/// Every port of a bundle as a line of a report has it: numbers in hexadecimal, enums by name, arrays in
/// brackets from element 0, structs in braces by field.
pub fn lines<B: Bundle>(bundle: &B) -> Vec<(&'static str, String)> {
    lines_of(B::PORTS, &bundle.words())
}

/// The same of ports and their words.
pub(crate) fn lines_of(ports: &[PortInfo], words: &[u32]) -> Vec<(&'static str, String)> {
    let mut lines = Vec::with_capacity(ports.len());
    for_each_port(ports, words, &mut |port, bits| {
        lines.push((port.name, port.shape.brief(bits)));
    });
    lines
}

impl Shape {
    /// A value in full, as a report of one value has it: `0x3c01 (1.00098)`, `PinRdAll (7)`.
    pub fn show(&self, bits: &Bits) -> String {
        match self {
            Self::Bits(1) => hex(bits),
            Self::Number { mantissa_bits, .. } => {
                format!(
                    "0x{} ({})",
                    hex(bits),
                    decimal(number(bits.load_le(), *mantissa_bits, self.width()))
                )
            }
            Self::Enum { .. } => {
                let name = self.item(bits).unwrap_or("no item");
                format!("{name} ({})", bits.load_le::<u64>())
            }
            Self::Bits(_) | Self::Array(..) | Self::Struct { .. } => format!("0x{}", hex(bits)),
        }
    }

    /// A value in short.
    fn brief(&self, bits: &Bits) -> String {
        match *self {
            Self::Array(element, _) if element.width() > 1 => {
                let elements = bits.chunks(element.width() as usize);
                let elements: Vec<String> = elements.map(|bits| element.brief(bits)).collect();
                format!("[{}]", elements.join(" "))
            }
            Self::Struct { fields, .. } => {
                let mut rest = bits;
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, shape)| {
                        let (below, own) = rest.split_at(rest.len() - shape.width() as usize);
                        rest = below;
                        format!("{name}={}", shape.brief(own))
                    })
                    .collect();
                format!("{{{}}}", fields.join(" "))
            }
            Self::Enum { .. } => self.item(bits).map_or_else(|| hex(bits), str::to_owned),
            Self::Bits(_) | Self::Number { .. } | Self::Array(..) => hex(bits),
        }
    }

    /// Name of the item of an enum that has this code.
    pub(crate) fn item(&self, bits: &Bits) -> Option<&'static str> {
        let Self::Enum { items, .. } = self else { return None };
        let code: u64 = bits.load_le();
        items.iter().find(|(_, of)| *of == code).map(|(name, _)| *name)
    }
}

/// The number in an interchange format of `width` bits.
fn number(bits: u64, mantissa_bits: u32, width: u32) -> f64 {
    let exponent_bits = width - 1 - mantissa_bits;
    let (exponent_max, bias) = ((1 << exponent_bits) - 1, (1 << (exponent_bits - 1)) - 1);
    let exponent = (bits >> mantissa_bits) as i32 & exponent_max;
    let mantissa = (bits & ((1 << mantissa_bits) - 1)) as f64;
    let one = (1u64 << mantissa_bits) as f64;
    let magnitude = match exponent {
        0 => mantissa / one * 2f64.powi(1 - bias),
        _ if exponent < exponent_max => (1.0 + mantissa / one) * 2f64.powi(exponent - bias),
        _ if mantissa == 0.0 => f64::INFINITY,
        _ => f64::NAN,
    };
    if bits >> (width - 1) == 0 { magnitude } else { -magnitude }
}

/// A number with six significant digits.
fn decimal(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value.is_nan() { "NaN".to_owned() } else { format!("{value}") };
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it was written so");
    match exponent.parse::<i32>() {
        Ok(exponent @ -5..=5) => {
            let decimals = (5 - exponent) as usize;
            without_zeros(&format!("{value:.decimals$}")).to_owned()
        }
        _ => format!("{}e{exponent}", without_zeros(digits)),
    }
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY16: Shape = Shape::Number { exponent_bits: 5, mantissa_bits: 10 };
    const COMMAND: Shape =
        Shape::Enum { name: "command_e", width: 4, items: &[("None", 0), ("RdAll", 7)] };
    const REQUEST: Shape = Shape::Struct {
        name: "request_t",
        fields: &[
            ("command", COMMAND),
            ("last", Shape::Bits(1)),
            ("row", Shape::Bits(12)),
            ("lanes", Shape::Array(&Shape::Bits(8), 2)),
            ("flags", Shape::Array(&Shape::Bits(1), 5)),
        ],
    };

    fn of(words: &[u32], shape: &Shape, text: impl Fn(&Shape, &Bits) -> String) -> String {
        text(shape, &Bits::from_slice(words)[..shape.width() as usize])
    }

    #[test]
    fn numbers_are_shown_with_their_bits() {
        let show = |word| of(&[word], &BINARY16, Shape::show);
        assert_eq!(show(0x3C01), "0x3c01 (1.00098)");
        assert_eq!(show(0x7E00), "0x7e00 (NaN)");
        assert_eq!(show(0x7C00), "0x7c00 (inf)");
        assert_eq!(show(0xFC00), "0xfc00 (-inf)");
        assert_eq!(show(0x8000), "0x8000 (-0)");
        assert_eq!(show(0x0001), "0x0001 (5.96046e-8)");
        assert_eq!(show(0xFBFF), "0xfbff (-65504)");
        assert_eq!(show(0x2E66), "0x2e66 (0.0999756)");
        let binary32 = Shape::Number { exponent_bits: 8, mantissa_bits: 23 };
        for value in [1.0f32, -3.25, 1e38, 1.2e-41, f32::MIN_POSITIVE, 123_456.7] {
            let got = number(value.to_bits().into(), 23, binary32.width());
            assert_eq!(got, f64::from(value));
        }
        assert_eq!(of(&[0x7149_F2CA], &binary32, Shape::show), "0x7149f2ca (1e30)");
        assert_eq!(of(&[0x4B18_967F], &binary32, Shape::show), "0x4b18967f (1e7)");
        let bfloat16 = Shape::Number { exponent_bits: 8, mantissa_bits: 7 };
        assert_eq!(of(&[0x4049], &bfloat16, Shape::show), "0x4049 (3.14062)");
    }

    #[test]
    fn codes_are_shown_by_name() {
        assert_eq!(of(&[7], &COMMAND, Shape::show), "RdAll (7)");
        assert_eq!(of(&[11], &COMMAND, Shape::show), "no item (11)");
        assert_eq!(of(&[1], &Shape::Bits(1), Shape::show), "1");
        assert_eq!(of(&[0x12, 3], &Shape::Bits(34), Shape::show), "0x300000012");
    }

    #[test]
    fn parts_are_shown_by_field_and_element() {
        let word = 7 << 34 | 1 << 33 | 0x123u64 << 21 | 0xBBAA << 5 | 0x11;
        let text = of(&[word as u32, (word >> 32) as u32], &REQUEST, Shape::brief);
        assert_eq!(text, "{command=RdAll last=1 row=123 lanes=[aa bb] flags=11}");
        let text = of(&[0x0002_3C01], &Shape::Array(&BINARY16, 2), Shape::brief);
        assert_eq!(text, "[3c01 0002]");
    }

    #[test]
    fn leaves_are_what_has_a_value() {
        let shape = Shape::Array(&REQUEST, 2);
        let leaves: Vec<_> = shape.leaves().into_iter().map(|l| (l.path, l.lsb)).collect();
        let expected = [
            ("[0].command", 34),
            ("[0].last", 33),
            ("[0].row", 21),
            ("[0].lanes[0]", 5),
            ("[0].lanes[1]", 13),
            ("[0].flags", 0),
            ("[1].command", 72),
        ];
        assert_eq!(leaves[..7], expected.map(|(path, lsb)| (path.to_owned(), lsb)));
        assert_eq!(leaves.len(), 12);
        assert_eq!(REQUEST.leaves()[5].shape, Shape::Bits(5), "flags are one value");
        assert_eq!(BINARY16.leaves()[0].path, "");
    }
}
