// SPDX-License-Identifier: MIT
//! What the bits of a value on a port mean.

/// The type of a value on a port, as data: what a check, a report or a waveform needs to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// So many bits: a flag, or an unsigned number.
    Bits(u32),
    /// A floating-point number of an interchange format (IEEE 754-2019 section 3.4): sign, exponent,
    /// trailing significand.
    Number {
        /// Width of the exponent field.
        exponent_bits: u32,
        /// Width of the trailing significand field.
        mantissa_bits: u32,
    },
    /// A packed array, element 0 at the bottom.
    Array(&'static Shape, usize),
    /// A packed struct.
    Struct {
        /// Name of its type in the RTL.
        name: &'static str,
        /// Its fields by name, the most significant first.
        fields: &'static [(&'static str, Shape)],
    },
    /// An enum.
    Enum {
        /// Name of its type in the RTL.
        name: &'static str,
        /// Width in bits.
        width: u32,
        /// Its items: name in the RTL and code. Other codes may occur in the RTL and mean nothing.
        items: &'static [(&'static str, u64)],
    },
}

impl Shape {
    /// Width in bits.
    pub const fn width(&self) -> u32 {
        match *self {
            Self::Bits(width) | Self::Enum { width, .. } => width,
            Self::Number { exponent_bits, mantissa_bits } => 1 + exponent_bits + mantissa_bits,
            Self::Array(element, length) => element.width() * length as u32,
            Self::Struct { fields, .. } => {
                let (mut width, mut i) = (0, 0);
                while i < fields.len() {
                    width += fields[i].1.width();
                    i += 1;
                }
                width
            }
        }
    }

    /// Calls `visit` with this shape and all that it is made of.
    pub fn for_each(&self, visit: &mut impl FnMut(&Self)) {
        visit(self);
        match self {
            Self::Bits(_) | Self::Number { .. } | Self::Enum { .. } => {}
            Self::Array(element, _) => element.for_each(visit),
            Self::Struct { fields, .. } => {
                fields.iter().for_each(|(_, field)| field.for_each(visit));
            }
        }
    }
}
