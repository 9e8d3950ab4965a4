// SPDX-License-Identifier: MIT
//! Bits that a contract leaves open.

use crate::{PortInfo, Shape, Unit};
use bitvec::{order::Lsb0, slice::BitSlice};

/// Marks of the bits of a unit's outputs and probes that the contract leaves open in a cycle: what a
/// register without reset holds until it is loaded. A comparison ignores them and a waveform shows `x`.
pub struct Open<'a> {
    ports: [&'static [PortInfo]; 2],
    /// Those of outputs, then of probes; 1 is open.
    words: &'a mut [u32],
}

impl<'a> Open<'a> {
    /// None of the bits of unit `U`: clears `words`, which hold its outputs, then its probes.
    pub fn none<U: Unit>(words: &'a mut [u32]) -> Self {
        use crate::Bundle;
        words.fill(0);
        Self { ports: [U::Out::PORTS, U::Probe::PORTS], words }
    }

    /// An output or a probed register.
    ///
    /// # Panics
    ///
    /// If there is none of that name.
    pub fn port(&mut self, name: &str) -> Part<'_> {
        let mut rest = &mut *self.words;
        for port in self.ports.into_iter().flatten() {
            let (own, tail) = rest.split_at_mut(port.words());
            if port.name == name {
                return Part { words: own, shape: port.shape, lsb: 0 };
            }
            rest = tail;
        }
        panic!("no output or probe is called {name}")
    }
}

/// A port, or a part of one.
pub struct Part<'a> {
    words: &'a mut [u32],
    shape: Shape,
    lsb: u32,
}

impl Part<'_> {
    /// Element `i` of an array.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn element(self, i: usize) -> Self {
        match self.shape {
            Shape::Array(element, length) if i < length => {
                Self { shape: *element, lsb: self.lsb + i as u32 * element.width(), ..self }
            }
            shape => panic!("{shape:?} has no element {i}"),
        }
    }

    /// A field of a struct.
    ///
    /// # Panics
    ///
    /// If there is none of that name.
    pub fn field(self, name: &str) -> Self {
        let Shape::Struct { fields, .. } = self.shape else {
            panic!("{:?} has no fields", self.shape)
        };
        let mut lsb = self.lsb + self.shape.width();
        for (field, shape) in fields {
            lsb -= shape.width();
            if *field == name {
                return Self { shape: *shape, lsb, ..self };
            }
        }
        panic!("{:?} has no field {name}", self.shape)
    }

    /// Leaves it open.
    pub fn mark(self) {
        let bits = BitSlice::<_, Lsb0>::from_slice_mut(self.words);
        bits[self.lsb as usize..][..self.shape.width() as usize].fill(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Signal, ports};

    /// A request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    pub struct Request {
        row: u16,
        banks: [u8; 3],
    }

    ports! {
        /// A unit.
        unit Sample: "sample" {
            inputs SampleIn {}
            outputs SampleOut {
                /// Lanes.
                lanes_o: [u16; 3],
                /// A request.
                request_o: Request,
            }
            probes SampleProbe {
                /// A flag.
                flag_q: bool,
            }
        }
    }

    /// The unit's type.
    struct Sample;

    impl Unit for Sample {
        const MODULE: &'static str = "sample";
        const PARAMETERS: &'static [(&'static str, i64)] = &[];
        type In = SampleIn;
        type Out = SampleOut;
        type Probe = SampleProbe;
    }

    fn marked(mark: impl Fn(&mut Open<'_>)) -> [u32; 5] {
        let mut words = [u32::MAX; 5];
        mark(&mut Open::none::<Sample>(&mut words));
        words
    }

    #[test]
    fn ports_elements_and_fields_are_marked_alone() {
        assert_eq!(marked(|_| ()), [0; 5]);
        assert_eq!(marked(|open| open.port("lanes_o").mark()), [!0, 0xFFFF, 0, 0, 0]);
        assert_eq!(
            marked(|open| open.port("lanes_o").element(1).mark()),
            [0xFFFF_0000, 0, 0, 0, 0]
        );
        assert_eq!(marked(|open| open.port("flag_q").mark()), [0, 0, 0, 0, 1]);
        let row = |open: &mut Open<'_>| open.port("request_o").field("row").mark();
        assert_eq!(marked(row), [0, 0, 0xFF00_0000, 0xFF, 0]);
        let bank = |open: &mut Open<'_>| open.port("request_o").field("banks").element(1).mark();
        assert_eq!(marked(bank), [0, 0, 0xFF00, 0, 0]);
    }

    #[test]
    #[should_panic(expected = "no output or probe is called lanes_i")]
    fn a_port_that_is_not_there_is_refused() {
        marked(|open| open.port("lanes_i").mark());
    }
}
