// SPDX-License-Identifier: MIT
//! What a host writes to the mailbox of a module, and what it reads of its status: `rtl/module/host_port.md`.

use pimlico_device::data_bus::{BEATS, Beats};
use pimlico_device::mapping::Place;
use pimlico_dpa::types::{Fault, Load, RunEnd, Status};
use pimlico_ports::{Enumerated, U};

/// The row of a bank that is a window.
pub const WINDOW_ROW: usize = 65535;
/// Bursts that the module's queue has room for.
pub const QUEUE: u64 = 128;
/// Bursts of each stream of results that the module keeps.
pub const RESULTS: u16 = 64;

/// Banks of a bank group, and bank groups.
const BANKS: usize = 4;
const GROUPS: usize = 4;
/// Words of a LOAD, at most.
const WORDS: usize = BEATS - 1;

const LOAD: u64 = 1;
const START: u64 = 2;

/// A window, by its bank in each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    Mailbox = 0,
    Operands = 1,
    Status = 2,
    Results = 3,
}

/// A place in a window.
fn place(window: Window, group: usize, column: usize) -> Place {
    Place { bank: BANKS * group + window as usize, row: WINDOW_ROW, column }
}

/// Where the host writes its `number`th message or operand: round the bank groups, so that they can follow each other
/// at tCCD_S.
pub fn mailbox(number: u64) -> Place {
    place(Window::Mailbox, number as usize % GROUPS, 0)
}

/// The same for an operand.
pub fn operands(number: u64) -> Place {
    place(Window::Operands, number as usize % GROUPS, 0)
}

/// Where the host reads the status.
pub fn status() -> Place {
    place(Window::Status, 0, 0)
}

/// A stream of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Elements of the context.
    Context,
    /// Outputs of a matrix.
    Outputs,
}

/// Where the host reads a burst of a stream, by its number.
pub fn results(stream: Stream, number: u16) -> Place {
    let (number, of_stream) = (usize::from(number % RESULTS), GROUPS / 2 * stream as usize);
    place(Window::Results, of_stream + number % 2, number / 2)
}

/// The writes that a LOAD each holds, in their order: those of a kind to addresses that follow each other share one.
pub fn parts(writes: &[Load]) -> impl Iterator<Item = &[Load]> {
    let follows =
        |a: &Load, b: &Load| b.kind == a.kind && a.address.checked_add(1) == Some(b.address);
    writes.chunk_by(follows).flat_map(|run| run.chunks(WORDS))
}

/// The LOAD of a part.
pub fn load(words: &[Load]) -> Beats {
    let Load { kind, address, .. } = words[0];
    let mut beats = [0; BEATS];
    beats[0] = LOAD | kind.code() << 4 | (words.len() as u64) << 8 | u64::from(address) << 16;
    for (beat, word) in beats[1..].iter_mut().zip(words) {
        *beat = word.data;
    }
    beats
}

/// A start of a run.
pub fn start(request: u8, address: u16, scale: u16, operands: usize) -> Beats {
    let mut beats = [0; BEATS];
    beats[0] = START | u64::from(request) << 16 | u64::from(address) << 32 | u64::from(scale) << 48;
    beats[1] = operands as u64;
    beats
}

/// The last state of the pins.
const PINS_RUN: u64 = 2;
/// Bits of words 0 to 2 that are not 0 in any status.
const STATUS_BITS: [u64; 3] = [0xFFFF_3FFF_FF7F, u64::MAX, u64::MAX];

/// The status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModuleStatus {
    /// A run has the pins.
    pub runs: bool,
    /// The host may take the pins.
    pub ended: bool,
    /// The queue had no room for a burst.
    pub lost: bool,
    /// A message was none.
    pub refused: bool,
    /// Fault of the last run.
    pub fault: Fault,
    /// How the program of the last run ended.
    pub end: RunEnd,
    /// Bursts that have left the queue, modulo 65536.
    pub taken: u16,
    /// Bursts of the context, modulo 65536.
    pub contexts: u16,
    /// Bursts of outputs, modulo 65536.
    pub outputs: u16,
}

impl ModuleStatus {
    /// What a read of the window tells, if it is a status.
    pub fn of(beats: &Beats) -> Option<Self> {
        let of_status = STATUS_BITS.into_iter().chain(std::iter::repeat(0));
        if beats.iter().zip(of_status).any(|(word, bits)| word & !bits != 0) {
            return None;
        }
        let bits = |word: usize, from: u32, count: u32| beats[word] >> from & ((1 << count) - 1);
        let flag = |bit| bits(0, bit, 1) != 0;
        let count = |from| bits(1, from, 16) as u16;
        let state = bits(0, 0, 2);
        (state <= PINS_RUN).then_some(())?;
        Some(Self {
            runs: state == PINS_RUN,
            ended: flag(3),
            lost: flag(4),
            refused: flag(5),
            fault: Fault::from_code(bits(0, 8, 4))?,
            end: RunEnd {
                status: Status::from_code(bits(0, 12, 4))?,
                address: U::new(bits(0, 16, 14)),
                layer: bits(0, 32, 16) as u16,
            },
            taken: count(0),
            contexts: count(16),
            outputs: count(32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::data_bus::UNDRIVEN;

    #[test]
    fn what_is_no_status_is_none() {
        let good = [2 | 1 << 16, 5 | 7 << 32, 0, 0, 0, 0, 0, 0];
        let status = ModuleStatus::of(&good).expect("a status");
        assert_eq!((status.runs, status.taken, status.outputs), (true, 5, 7));
        assert_eq!(ModuleStatus::of(&[UNDRIVEN; BEATS]), None);
        // A state, a fault and an end that there are not; bits that are 0.
        for (word, bits) in [(0, 3), (0, 15 << 8), (0, 15 << 12), (0, 1 << 7), (0, 1 << 63), (3, 1)]
        {
            let mut bad = good;
            bad[word] |= bits;
            assert_eq!(ModuleStatus::of(&bad), None, "{word} {bits:#x}");
        }
    }
}
