// SPDX-License-Identifier: MIT
//! What the bits of a value on a port mean.

use bitvec::{order::Lsb0, slice::BitSlice};

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

/// A part of a port that is one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// What stands behind the port's name to name it: `[3]`, `.row`, `.slots[1].level`; empty for a port
    /// that is one value.
    pub path: String,
    /// Bits, a number or an enum.
    pub shape: Shape,
    /// The place of its bit 0 in the port.
    pub lsb: u32,
}

impl Leaf {
    /// Its bits among those of the port.
    pub fn of<'a>(&self, port: &'a BitSlice<u32, Lsb0>) -> &'a BitSlice<u32, Lsb0> {
        &port[self.lsb as usize..][..self.shape.width() as usize]
    }
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

    /// The parts that are one value each, in the order of a reader: an array's elements from 0, a struct's
    /// fields as they are declared. Single bits in an array are flags of one vector, and so one value.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.collect(String::new(), 0, &mut leaves);
        leaves
    }

    fn collect(&self, path: String, lsb: u32, leaves: &mut Vec<Leaf>) {
        match *self {
            Self::Array(element, length) if element.width() > 1 => {
                for i in 0..length {
                    let lsb = lsb + i as u32 * element.width();
                    element.collect(format!("{path}[{i}]"), lsb, leaves);
                }
            }
            Self::Struct { fields, .. } => {
                let mut lsb = lsb + self.width();
                for (name, field) in fields {
                    lsb -= field.width();
                    field.collect(format!("{path}.{name}"), lsb, leaves);
                }
            }
            Self::Array(..) => leaves.push(Leaf { path, shape: Self::Bits(self.width()), lsb }),
            Self::Bits(_) | Self::Number { .. } | Self::Enum { .. } => {
                leaves.push(Leaf { path, shape: *self, lsb });
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
