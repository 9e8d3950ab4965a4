// SPDX-License-Identifier: MIT
//! Waveforms (VCD, IEEE 1364-2005 section 18) of units, from the declaration of their ports.
//!
//! * Elements of an array are wires of their own: `x_i[3]`. Flags, arrays of single bits, are one wire.
//! * A struct is a scope that holds its fields: `request_i.row`.
//! * An enum is a wire with its code and, beside it, a string with the item's name: `command_o` and
//!   `command_o_name`.
//! * Bits that the contract of a unit leaves open are `x`.

use crate::{Bundle, PortInfo, Shape, UnitInfo};
use bitvec::{order::Lsb0, slice::BitSlice};
use std::io::{self, Write};
use vcd::{IdCode, ReferenceIndex, TimescaleUnit, Value, VarType, Writer};

/// A VCD file in the making: first [`declare`](Wave::declare) the scopes, then [`begin`](Wave::begin),
/// then for each cycle the values of each scope.
pub struct Wave<W: Write> {
    writer: Writer<W>,
    scopes: Vec<Vec<Wires>>,
}

/// The wires of a port.
struct Wires {
    words: usize,
    wires: Vec<Wire>,
    written: Option<Written>,
}

/// A value in the file, and what was last written.
struct Wire {
    id: IdCode,
    /// Its place in the port.
    lsb: usize,
    width: usize,
    /// The enum whose item's name it shows; none for bits.
    names: Option<Shape>,
    written: Option<Written>,
}

/// Bits, those that are open being 0 in `value`.
struct Written {
    value: Vec<u32>,
    open: Vec<u32>,
}

impl Written {
    /// Takes over new bits. Whether they differ from the old ones.
    fn update(written: &mut Option<Self>, value: &[u32], open: &[u32]) -> bool {
        let closed = || value.iter().zip(open).map(|(value, open)| value & !open);
        let same = |old: &Self| old.open == open && old.value.iter().copied().eq(closed());
        let changed = !written.as_ref().is_some_and(same);
        if changed {
            *written = Some(Self { value: closed().collect(), open: open.to_vec() });
        }
        changed
    }
}

/// A declared scope.
#[derive(Clone, Copy, Debug)]
pub struct ScopeId(usize);

impl<W: Write> Wave<W> {
    /// Starts a file with a timescale of 1 ps.
    pub fn new(to: W) -> io::Result<Self> {
        let mut writer = Writer::new(to);
        writer.version(concat!("Pimlico ", env!("CARGO_PKG_VERSION")))?;
        writer.timescale(1, TimescaleUnit::PS)?;
        Ok(Self { writer, scopes: Vec::new() })
    }

    /// Writes a comment, before anything is declared.
    pub fn comment(&mut self, text: &str) -> io::Result<()> {
        self.writer.comment(&text.replace('$', "_").replace('\n', "\n    "))
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
        let mut scope = Vec::with_capacity(ports.len());
        for port in ports {
            let mut wires = Vec::new();
            declare(&mut self.writer, port.name, &port.shape, 0, &mut wires)?;
            scope.push(Wires { words: port.words(), wires, written: None });
        }
        self.writer.upscope()?;
        self.scopes.push(scope);
        Ok(ScopeId(self.scopes.len() - 1))
    }

    /// Ends the declarations.
    pub fn begin(&mut self) -> io::Result<()> {
        self.writer.enddefinitions()
    }

    /// Moves to a time in ps. Times ascend.
    pub fn time(&mut self, ps: u64) -> io::Result<()> {
        self.writer.timestamp(ps)
    }

    /// Writes what has changed of those ports of `scope` that `bundle` has, `first` being the port that it
    /// starts at.
    pub fn change<B: Bundle>(
        &mut self,
        scope: ScopeId,
        first: usize,
        bundle: &B,
    ) -> io::Result<()> {
        self.change_words(scope, first, &bundle.words(), &vec![0; B::WORDS])
    }

    /// The same for words, with marks of the bits that are open.
    fn change_words(
        &mut self,
        scope: ScopeId,
        first: usize,
        words: &[u32],
        open: &[u32],
    ) -> io::Result<()> {
        let Self { writer, scopes } = self;
        let mut from = 0;
        for port in &mut scopes[scope.0][first..] {
            let range = from..from + port.words;
            if range.end > words.len() {
                break;
            }
            from = range.end;
            let (value, open) = (&words[range.clone()], &open[range]);
            if Written::update(&mut port.written, value, open) {
                let [value, open] = [value, open].map(BitSlice::from_slice);
                for wire in &mut port.wires {
                    wire.change(writer, value, open)?;
                }
            }
        }
        Ok(())
    }

    /// Finishes the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Declares the wires of a port, or of a part of one that begins at bit `lsb`.
fn declare(
    writer: &mut Writer<impl Write>,
    name: &str,
    shape: &Shape,
    lsb: u32,
    wires: &mut Vec<Wire>,
) -> io::Result<()> {
    match *shape {
        Shape::Array(element, length) if element.width() > 1 => {
            for i in 0..length {
                let lsb = lsb + i as u32 * element.width();
                declare(writer, &format!("{name}[{i}]"), element, lsb, wires)?;
            }
            return Ok(());
        }
        Shape::Struct { fields, .. } => {
            writer.add_module(name)?;
            let mut lsb = lsb + shape.width();
            for (field, shape) in fields {
                lsb -= shape.width();
                declare(writer, field, shape, lsb, wires)?;
            }
            return writer.upscope();
        }
        Shape::Bits(_) | Shape::Number { .. } | Shape::Enum { .. } | Shape::Array(..) => {}
    }
    let width = shape.width();
    let range = (width > 1).then(|| ReferenceIndex::Range(width as i32 - 1, 0));
    let id = writer.add_var(VarType::Wire, width, name, range)?;
    let (lsb, width) = (lsb as usize, width as usize);
    wires.push(Wire { id, lsb, width, names: None, written: None });
    if let Shape::Enum { .. } = shape {
        let id = writer.add_var(VarType::String, 1, &format!("{name}_name"), None)?;
        wires.push(Wire { id, lsb, width, names: Some(*shape), written: None });
    }
    Ok(())
}

impl Wire {
    fn change(
        &mut self,
        writer: &mut Writer<impl Write>,
        port: &BitSlice<u32, Lsb0>,
        open: &BitSlice<u32, Lsb0>,
    ) -> io::Result<()> {
        let range = self.lsb..self.lsb + self.width;
        let [new, open] = [&port[range.clone()], &open[range]].map(words);
        if !Written::update(&mut self.written, &new, &open) {
            return Ok(());
        }
        let [value, open] =
            [&new, &open].map(|w| &BitSlice::<_, Lsb0>::from_slice(w)[..self.width]);
        if let Some(names) = &self.names {
            let item = names.item(value).unwrap_or("?");
            return writer.change_string(self.id, if open.any() { "x" } else { item });
        }
        let bits = value.iter().zip(open).rev();
        let mut bits = bits.map(|(bit, open)| if *open { Value::X } else { Value::from(*bit) });
        match bits.next() {
            Some(bit) if self.width == 1 => writer.change_scalar(self.id, bit),
            first => writer.change_vector(self.id, first.into_iter().chain(bits)),
        }
    }
}

/// Bits from a word on.
fn words(bits: &BitSlice<u32, Lsb0>) -> Vec<u32> {
    use bitvec::field::BitField;
    bits.chunks(32).map(BitField::load_le).collect()
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
}

/// Values of a unit's ports in one cycle.
#[derive(Clone, Copy, Debug)]
pub struct Cycle<'a> {
    /// Words of the inputs held in the cycle.
    pub inputs: &'a [u32],
    /// Words of the outputs that settled and, behind them, of the probed registers before the edge.
    pub observed: &'a [u32],
    /// Which of those bits the contract leaves open; see [`Open`](crate::Open).
    pub open: &'a [u32],
}

impl UnitScope {
    /// Declares the scope of a unit, under the name of its module.
    pub fn declare(wave: &mut Wave<impl Write>, unit: &UnitInfo) -> io::Result<Self> {
        let inputs = CLOCK_AND_RESET.len();
        let outputs = inputs + unit.inputs.len();
        let all = [&CLOCK_AND_RESET, unit.inputs, unit.outputs, unit.probes].concat();
        Ok(Self { ports: wave.declare(unit.module, &all)?, inputs, outputs })
    }

    /// Writes the values of a cycle, at the time the wave stands at.
    pub fn change(&self, wave: &mut Wave<impl Write>, cycle: &Cycle<'_>) -> io::Result<()> {
        let no_open = vec![0; cycle.inputs.len()];
        wave.change_words(self.ports, self.inputs, cycle.inputs, &no_open)?;
        wave.change_words(self.ports, self.outputs, cycle.observed, cycle.open)
    }

    /// Writes clock and reset.
    pub fn clock(&self, wave: &mut Wave<impl Write>, clk_i: bool, rst_ni: bool) -> io::Result<()> {
        wave.change_words(self.ports, 0, &[clk_i, rst_ni].map(u32::from), &[0; 2])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Open, Signal, Unit, ports};

    /// A command.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    #[signal(width = 2, sv = "command_e", prefix = "Pin")]
    pub enum Command {
        /// None.
        #[default]
        None = 0,
        /// A read.
        Rd = 2,
    }

    /// A request.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Signal)]
    pub struct Request {
        command: Command,
        row: crate::U<3>,
        last: bool,
    }

    ports! {
        /// A unit.
        unit Sample: "sample" {
            inputs SampleIn {
                /// A request.
                request_i: Request,
                /// Lanes.
                x_i: [u8; 2],
            }
            outputs SampleOut {
                /// Flags.
                flags_o: [bool; 3],
                /// A command.
                command_o: Command,
            }
            probes SampleProbe {
                /// A word.
                word_q: [u16; 3],
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

    fn text(cycles: &[(SampleIn, SampleOut, SampleProbe, [u32; 4])]) -> String {
        let mut text = Vec::new();
        let mut wave = Wave::new(&mut text).expect("writable");
        wave.comment("sample, seed 1\n$end").expect("writable");
        let scope = UnitScope::declare(&mut wave, &Sample::info()).expect("writable");
        wave.begin().expect("writable");
        for (number, (inputs, outputs, probes, open)) in (0..).zip(cycles) {
            wave.time(1000 * number).expect("writable");
            scope.clock(&mut wave, false, true).expect("writable");
            let observed = [outputs.words(), probes.words()].concat();
            let cycle = Cycle { inputs: &inputs.words(), observed: &observed, open };
            scope.change(&mut wave, &cycle).expect("writable");
            wave.time(1000 * number + 500).expect("writable");
            scope.clock(&mut wave, true, true).expect("writable");
        }
        wave.finish().expect("writable");
        String::from_utf8(text).expect("ASCII")
    }

    #[test]
    fn lanes_fields_and_names_are_wires_of_their_own() {
        let version = env!("CARGO_PKG_VERSION");
        let text = text(&[]);
        assert_eq!(
            text,
            format!(
                "$version\n    Pimlico {version}\n$end\n$timescale 1 ps $end\n\
                 $comment\n    sample, seed 1\n    _end\n$end\n\
                 $scope module sample $end\n\
                 $var wire 1 ! clk_i $end\n\
                 $var wire 1 \" rst_ni $end\n\
                 $scope module request_i $end\n\
                 $var wire 2 # command [1:0] $end\n\
                 $var string 1 $ command_name $end\n\
                 $var wire 3 % row [2:0] $end\n\
                 $var wire 1 & last $end\n\
                 $upscope $end\n\
                 $var wire 8 ' x_i[0] [7:0] $end\n\
                 $var wire 8 ( x_i[1] [7:0] $end\n\
                 $var wire 3 ) flags_o [2:0] $end\n\
                 $var wire 2 * command_o [1:0] $end\n\
                 $var string 1 + command_o_name $end\n\
                 $var wire 16 , word_q[0] [15:0] $end\n\
                 $var wire 16 - word_q[1] [15:0] $end\n\
                 $var wire 16 . word_q[2] [15:0] $end\n\
                 $upscope $end\n\
                 $enddefinitions $end\n"
            )
        );
        let header = vcd::Parser::new(text.as_bytes()).parse_header().expect("it is a VCD file");
        assert!(header.find_var(&["sample", "request_i", "row"]).is_some());
        assert_eq!(header.find_var(&["sample", "x_i[1]"]).map(|var| var.size), Some(8));
    }

    #[test]
    fn values_are_written_when_they_change() {
        let request_i = Request { command: Command::Rd, row: crate::U::new(5), last: true };
        let inputs = SampleIn { request_i, x_i: [1, 0x80] };
        let outputs = SampleOut { flags_o: [true, false, false], command_o: Command::Rd };
        let probes = SampleProbe { word_q: [0xFFFF, 1, 0] };
        let mut later = inputs;
        later.x_i[1] = 0x81;
        later.request_i.command = Command::None;
        let nothing = [0; 4];
        let text = text(&[(inputs, outputs, probes, nothing), (later, outputs, probes, nothing)]);
        let (_, values) = text.split_once("$enddefinitions $end\n").expect("they end");
        assert_eq!(
            values,
            "#0\n0!\n1\"\nb10 #\nsPinRd $\nb101 %\n1&\nb00000001 '\nb10000000 (\nb001 )\n\
             b10 *\nsPinRd +\nb1111111111111111 ,\nb0000000000000001 -\nb0000000000000000 .\n\
             #500\n1!\n\
             #1000\n0!\nb00 #\nsPinNone $\nb10000001 (\n#1500\n1!\n"
        );
    }

    #[test]
    fn what_is_open_is_x_whatever_its_value() {
        let mut open = [0; 4];
        let mut marks = Open::none::<Sample>(&mut open);
        marks.port("command_o").mark();
        marks.port("word_q").element(1).mark();
        let input = SampleIn::default();
        let one = SampleOut { command_o: Command::Rd, ..Default::default() };
        let other = SampleOut::default();
        let [first, second] = [[7, 8, 9], [7, 5, 9]].map(|word_q| SampleProbe { word_q });
        let written = text(&[(input, one, first, open), (input, other, second, open)]);
        assert!(written.contains("bxx *\nsx +\nb0000000000000111 ,\nbxxxxxxxxxxxxxxxx -\n"));
        let (_, later) = written.split_once("#1000\n").expect("the second cycle");
        assert_eq!(later, "0!\n#1500\n1!\n", "nothing that counts has changed");
        let swapped = text(&[(input, other, second, open), (input, one, first, open)]);
        assert_eq!(swapped, written);
        let known = text(&[(input, one, first, open), (input, one, first, [0; 4])]);
        let (_, later) = known.split_once("#1000\n").expect("the second cycle");
        assert_eq!(later, "0!\nb10 *\nsPinRd +\nb0000000000001000 -\n#1500\n1!\n");
    }

    #[test]
    fn a_code_of_no_item_has_no_name() {
        let mut words = Vec::new();
        let mut wave = Wave::new(&mut words).expect("writable");
        let scope = wave.declare("sample", SampleOut::PORTS).expect("writable");
        wave.begin().expect("writable");
        wave.change_words(scope, 0, &[0, 3], &[0, 0]).expect("writable");
        wave.finish().expect("writable");
        let text = String::from_utf8(words).expect("ASCII");
        assert!(text.ends_with("b000 !\nb11 \"\ns? #\n"), "{text}");
    }
}
