// SPDX-License-Identifier: MIT
//! Waveforms (VCD, IEEE 1364-2005 section 18) of units, from the declaration of their ports.

use crate::{Bundle, PortInfo, Shape, Unit};
use bitvec::{order::Lsb0, slice::BitSlice};
use std::io::{self, Write};
use vcd::{IdCode, TimescaleUnit, Value, Writer};

/// A VCD file in the making: first [`declare`](Wave::declare) the scopes, then [`begin`](Wave::begin),
/// then for each cycle the values of each scope.
pub struct Wave<W: Write> {
    writer: Writer<W>,
    signals: Vec<Vec<Wire>>,
}

/// A port in the file, with the value last written.
struct Wire {
    id: IdCode,
    words: Vec<u32>,
    written: bool,
}

/// A declared scope.
#[derive(Clone, Copy, Debug)]
pub struct ScopeId(usize);

impl<W: Write> Wave<W> {
    /// Starts a file with a timescale of 1 ps.
    pub fn new(to: W) -> io::Result<Self> {
        let mut writer = Writer::new(to);
        writer.timescale(1, TimescaleUnit::PS)?;
        Ok(Self { writer, signals: Vec::new() })
    }

    /// Opens a scope that holds the scopes declared until [`close`](Self::close).
    pub fn open(&mut self, name: &str) -> io::Result<()> {
        self.writer.add_module(name)
    }

    /// Closes the scope opened last.
    pub fn close(&mut self) -> io::Result<()> {
        self.writer.upscope()
    }

    /// Declares a scope `name` that holds `ports`.
    pub fn declare(&mut self, name: &str, ports: &[PortInfo]) -> io::Result<ScopeId> {
        self.writer.add_module(name)?;
        let wires = ports.iter().map(|port| {
            let id = self.writer.add_wire(port.width, port.name)?;
            Ok(Wire { id, words: vec![0; port.words()], written: false })
        });
        let wires = wires.collect::<io::Result<_>>()?;
        self.writer.upscope()?;
        self.signals.push(wires);
        Ok(ScopeId(self.signals.len() - 1))
    }

    /// Ends the declarations.
    pub fn begin(&mut self) -> io::Result<()> {
        self.writer.enddefinitions()
    }

    /// Moves to a time in ps. Times ascend.
    pub fn time(&mut self, ps: u64) -> io::Result<()> {
        self.writer.timestamp(ps)
    }

    /// Writes those ports of `scope` that changed, `first` being the port that `bundle` starts at.
    pub fn change<B: Bundle>(
        &mut self,
        scope: ScopeId,
        first: usize,
        bundle: &B,
    ) -> io::Result<()> {
        let mut index = first;
        let mut result = Ok(());
        let Self { writer, signals } = self;
        bundle.for_each_port(|_, bits| {
            let wire = &mut signals[scope.0][index];
            index += 1;
            if result.is_ok() {
                result = wire.change(writer, bits);
            }
        });
        result
    }

    /// Finishes the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Wire {
    fn change(
        &mut self,
        writer: &mut Writer<impl Write>,
        bits: &BitSlice<u32, Lsb0>,
    ) -> io::Result<()> {
        let old = &BitSlice::<u32, Lsb0>::from_slice(&self.words)[..bits.len()];
        if self.written && old == bits {
            return Ok(());
        }
        self.written = true;
        BitSlice::<u32, Lsb0>::from_slice_mut(&mut self.words)[..bits.len()]
            .copy_from_bitslice(bits);
        if bits.len() == 1 {
            writer.change_scalar(self.id, Value::from(bits[0]))
        } else {
            writer.change_vector(self.id, bits.iter().rev().map(|bit| Value::from(*bit)))
        }
    }
}

/// Clock and reset, which every unit has beside its declared ports.
const CLOCK_AND_RESET: [PortInfo; 2] = [
    PortInfo { name: "clk_i", width: 1, shape: Shape::Bits(1), doc: "Clock." },
    PortInfo {
        name: "rst_ni",
        width: 1,
        shape: Shape::Bits(1),
        doc: "Asynchronous reset, active low.",
    },
];

/// A unit's scope: clock and reset, inputs, outputs and probes, under the RTL's names.
#[derive(Clone, Copy, Debug)]
pub struct UnitScope {
    ports: ScopeId,
    inputs: usize,
    outputs: usize,
    probes: usize,
}

/// Values of a unit's ports in one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<U: Unit> {
    /// The inputs held in the cycle.
    pub inputs: U::In,
    /// The outputs that settled.
    pub outputs: U::Out,
    /// The registers before the edge.
    pub probes: U::Probe,
}

impl UnitScope {
    /// Declares the scope of a unit.
    pub fn declare<U: Unit>(wave: &mut Wave<impl Write>, name: &str) -> io::Result<Self> {
        let inputs = CLOCK_AND_RESET.len();
        let outputs = inputs + U::In::PORTS.len();
        let probes = outputs + U::Out::PORTS.len();
        let all = [&CLOCK_AND_RESET, U::In::PORTS, U::Out::PORTS, U::Probe::PORTS].concat();
        Ok(Self { ports: wave.declare(name, &all)?, inputs, outputs, probes })
    }

    /// Writes the values of a cycle, at the time the wave stands at.
    pub fn change<U: Unit>(&self, wave: &mut Wave<impl Write>, cycle: &Cycle<U>) -> io::Result<()> {
        wave.change(self.ports, self.inputs, &cycle.inputs)?;
        wave.change(self.ports, self.outputs, &cycle.outputs)?;
        wave.change(self.ports, self.probes, &cycle.probes)
    }

    /// Writes clock and reset.
    pub fn clock(&self, wave: &mut Wave<impl Write>, clk_i: bool, rst_ni: bool) -> io::Result<()> {
        for (wire, bit) in [(0, clk_i), (1, rst_ni)] {
            let Wave { writer, signals } = wave;
            let bits = [u32::from(bit)];
            signals[self.ports.0][wire].change(writer, &BitSlice::from_slice(&bits)[..1])?;
        }
        Ok(())
    }
}
