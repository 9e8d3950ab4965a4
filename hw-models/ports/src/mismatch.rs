// SPDX-License-Identifier: MIT
//! What differs between a model and its RTL.

use crate::show::lines_of;
use crate::{Bundle, PortInfo, UnitInfo, lines};
use bitvec::{order::Lsb0, slice::BitSlice};
use std::fmt;

/// The first difference between a model and its RTL.
#[derive(Clone, Debug, Default)]
pub struct Mismatch {
    /// Name of the unit.
    pub unit: String,
    /// Which of the instances.
    pub instance: usize,
    /// Cycle since the last reset, from 0.
    pub cycle: u64,
    /// Output port or probed register, and what part of it: `lanes_o[4]`, `request_o.row`.
    pub port: String,
    /// The model's value, e.g. `0x7e00 (NaN)`.
    pub model: String,
    /// The RTL's value.
    pub rtl: String,
    /// How many parts of that port differ.
    pub parts: usize,
    /// The other ports that differ in the cycle.
    pub others: Vec<&'static str>,
    /// The inputs up to this cycle.
    pub inputs: InputHistory,
}

impl Mismatch {
    /// What stands for the port where an assertion in the RTL failed.
    pub const ASSERTION: &str = "(assertion)";

    /// The first difference between words of a unit's outputs and probes, of model and RTL, where the contract leaves nothing
    /// open.
    pub fn find(unit: &UnitInfo, [model, rtl, open]: [&[u32]; 3]) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut from = 0;
        for port in unit.outputs.iter().chain(unit.probes) {
            let range = from..from + port.words();
            from = range.end;
            let [model, rtl, open] = [model, rtl, open]
                .map(|words| BitSlice::<_, Lsb0>::from_slice(&words[range.clone()]));
            let mut leaves = port.shape.leaves();
            leaves.retain(|leaf| {
                let bits = leaf.of(model).iter().zip(leaf.of(rtl)).zip(leaf.of(open));
                bits.into_iter().any(|((model, rtl), open)| *model != *rtl && !*open)
            });
            match (leaves.first(), &mut found) {
                (None, _) => {}
                (Some(_), Some(found)) => found.others.push(port.name),
                (Some(leaf), None) => {
                    let [model, rtl] = [model, rtl].map(|bits| leaf.shape.show(leaf.of(bits)));
                    let port = format!("{}{}", port.name, leaf.path);
                    let parts = leaves.len();
                    let unit = unit.name.clone();
                    found = Some(Self { unit, port, model, rtl, parts, ..Default::default() });
                }
            }
        }
        found
    }

    /// Port and values: `lanes_o[4] model 0x7e00 (NaN) rtl 0x3c01 (1.00098), first of 3 lanes`.
    pub fn difference(&self) -> String {
        let Self { port, model, rtl, parts, .. } = self;
        let what = if port.ends_with(']') { "lanes" } else { "fields" };
        let first = if *parts > 1 { format!(", first of {parts} {what}") } else { String::new() };
        format!("{port} model {model} rtl {rtl}{first}")
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, instance, cycle, others, inputs, .. } = self;
        writeln!(f, "mismatch in {unit}, instance {instance}, cycle {cycle}")?;
        writeln!(f, "  {}", self.difference())?;
        if !others.is_empty() {
            writeln!(f, "  also: {}", others.join(", "))?;
        }
        write!(f, "{inputs}")
    }
}

impl std::error::Error for Mismatch {}

/// The inputs of the last cycles before a failure, for its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputHistory {
    /// The first of the cycles, counted since the reset.
    pub first: u64,
    /// The inputs of each cycle: the ports and their values, as [`lines`](crate::lines) has them.
    pub cycles: Vec<Vec<(&'static str, String)>>,
}

impl InputHistory {
    /// How many cycles a report goes back.
    pub const CYCLES: usize = 8;

    /// The last of `inputs`, those of the cycles from `first` on.
    pub fn of<'a, B: Bundle>(first: u64, inputs: impl ExactSizeIterator<Item = &'a B>) -> Self {
        let skipped = inputs.len().saturating_sub(Self::CYCLES);
        Self { first: first + skipped as u64, cycles: inputs.skip(skipped).map(lines).collect() }
    }

    /// The same by the words of these ports; all of the cycles.
    pub fn of_words<'a>(
        first: u64,
        ports: &[PortInfo],
        inputs: impl Iterator<Item = &'a [u32]>,
    ) -> Self {
        Self { first, cycles: inputs.map(|words| lines_of(ports, words)).collect() }
    }
}

impl fmt::Display for InputHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  last inputs:")?;
        for (ports, cycle) in self.cycles.iter().zip(self.first..) {
            write!(f, "\n    cycle {cycle}:")?;
            for (name, value) in ports {
                write!(f, " {name}={value}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Shape, Signal, Unit, ports};

    /// A command.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    #[signal(width = 3, prefix = "Pin")]
    pub enum Command {
        /// None.
        #[default]
        None = 0,
        /// A read.
        Rd = 5,
    }

    /// A request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    pub struct Request {
        command: Command,
        row: u16,
    }

    /// A binary16 number.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    pub struct Half(u16);

    impl Signal for Half {
        const WIDTH: u32 = 16;
        const SHAPE: Shape = Shape::Number { exponent_bits: 5, mantissa_bits: 10 };

        fn write(&self, bits: &mut crate::BitWriter<'_>) {
            self.0.write(bits);
        }

        fn read(bits: &mut crate::BitReader<'_>) -> Self {
            Self(u16::read(bits))
        }

        fn draw(entropy: &[u64]) -> Self {
            Self(u16::draw(entropy))
        }
    }

    ports! {
        /// A unit.
        unit Sample: "sample" {
            inputs SampleIn {
                /// A request.
                request_i: Request,
                /// Numbers.
                x_i: [Half; 2],
            }
            outputs SampleOut {
                /// Numbers.
                lanes_o: [Half; 8],
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

    fn words(change: impl Fn(&mut SampleOut, &mut SampleProbe)) -> Vec<u32> {
        let (mut outputs, mut probes) = (SampleOut::default(), SampleProbe::default());
        change(&mut outputs, &mut probes);
        [outputs.words(), probes.words()].concat()
    }

    const NOTHING_OPEN: [u32; 6] = [0; 6];

    fn find(model: &[u32], rtl: &[u32], open: &[u32]) -> Option<Mismatch> {
        Mismatch::find(&Sample::info(), [model, rtl, open])
    }

    #[test]
    fn a_lane_is_named_with_its_numbers() {
        let model = words(|outputs, _| outputs.lanes_o[4..7].fill(Half(0x7E00)));
        let rtl = words(|outputs, probes| {
            outputs.lanes_o[4] = Half(0x3C01);
            probes.flag_q = true;
        });
        let found = find(&model, &rtl, &NOTHING_OPEN).expect("they differ");
        let request = Request { command: Command::Rd, row: 0x12 };
        let input = SampleIn { request_i: request, x_i: [Half(0x3C00), Half(1)] };
        let inputs = InputHistory::of(6, [SampleIn::default(), input].iter());
        assert_eq!(
            Mismatch { cycle: 7, inputs, ..found }.to_string(),
            "mismatch in sample, instance 0, cycle 7
  lanes_o[4] model 0x7e00 (NaN) rtl 0x3c01 (1.00098), first of 3 lanes
  also: flag_q
  last inputs:
    cycle 6: request_i={command=PinNone row=0000} x_i=[0000 0000]
    cycle 7: request_i={command=PinRd row=0012} x_i=[3c00 0001]"
        );
    }

    #[test]
    fn a_field_is_named_and_a_code_by_its_item() {
        let model =
            words(|outputs, _| outputs.request_o = Request { command: Command::Rd, row: 3 });
        let mut rtl = model.clone();
        rtl[4] ^= 0x2_0001;
        let found = find(&model, &rtl, &NOTHING_OPEN).expect("they differ");
        let Mismatch { port, model, rtl, parts, others, .. } = found;
        assert_eq!((port.as_str(), parts), ("request_o.command", 2));
        assert_eq!((model.as_str(), rtl.as_str()), ("PinRd (5)", "no item (7)"));
        assert!(others.is_empty());
    }

    #[test]
    fn a_report_goes_back_some_cycles() {
        let inputs: Vec<SampleIn> =
            (0..10).map(|i| SampleIn { x_i: [Half(i); 2], ..Default::default() }).collect();
        let history = InputHistory::of(0, inputs.iter());
        assert_eq!((history.first, history.cycles.len()), (2, InputHistory::CYCLES));
        assert_eq!(history.cycles[7][1], ("x_i", "[0009 0009]".to_owned()));
    }

    #[test]
    fn what_is_open_is_equal() {
        let model = words(|_, _| ());
        let rtl = words(|outputs, _| outputs.lanes_o[1] = Half(0x8001));
        let found = |open: u32| find(&model, &rtl, &[open, 0, 0, 0, 0, 0]);
        assert!(found(0xFFFF_0000).is_none());
        assert!(found(0x8001_0000).is_none());
        assert!(found(0x8000_0000).is_some(), "a bit is not open");
        assert!(found(0x0000_FFFF).is_some(), "another lane is");
        assert!(find(&model, &model, &NOTHING_OPEN).is_none());
    }
}
