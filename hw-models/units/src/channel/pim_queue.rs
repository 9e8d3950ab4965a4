// SPDX-License-Identifier: MIT
//! Queue of PIM requests, and the operation that is under way.

use crate::prim::Fifo;
use pimlico_ports::{
    Model, U, Unit, ports,
    stimulus::{all_but_one_in, one_in},
};

ports! {
    /// A queue of PIM requests.
    unit PimQueue: "pim_queue" {
        inputs PimQueueIn {
            /// A request.
            valid_i: bool => all_but_one_in(4),
            /// Kind of the request: HEADER, GWRITE, GEMV, DOTPRODUCT, RDRESULT from 0 on.
            kind_i: U<3>,
            /// Bank of a GWRITE.
            bank_i: U<5>,
            /// Row of a HEADER or GWRITE.
            row_i: U<15>,
            /// First word of a GEMV or DOTPRODUCT.
            word_i: U<5>,
            /// Dot products of a HEADER or GEMV, less one.
            count_i: U<5>,
            /// Bursts of results of a HEADER, less one.
            results_i: U<3>,
            /// The DOTPRODUCT begins a sum.
            first_i: bool,
            /// The DOTPRODUCT ends a sum; the GEMV or RDRESULT ends the operation.
            last_i: bool,
            /// The operation is admitted.
            admit_i: bool => one_in(4),
            /// A REF is due: the operation has to be admitted again.
            refresh_i: bool => one_in(16),
            /// The command, or the operation if it is a GWRITE, is issued.
            taken_i: bool,
        }
        outputs PimQueueOut {
            /// A request is accepted.
            ready_o: bool,
            /// There is an operation.
            op_valid_o: bool,
            /// The operation is a GWRITE; else a GEMV.
            op_gwrite_o: bool,
            /// Bank of the GWRITE.
            op_bank_o: U<5>,
            /// Row of the operation.
            op_row_o: U<15>,
            /// Dot products of the operation, less one.
            op_count_o: U<5>,
            /// Bursts of results of the operation, less one.
            op_results_o: U<3>,
            /// The operation is admitted.
            admitted_o: bool,
            /// There is a command of the operation.
            command_valid_o: bool,
            /// Kind of the command: GEMV, DOTPRODUCT or RDRESULT, or zero.
            command_kind_o: U<3>,
            /// First word of the command.
            command_word_o: U<5>,
            /// Dot products of the command, less one.
            command_count_o: U<5>,
            /// Whether the command begins a sum.
            command_first_o: bool,
            /// Whether the command ends a sum, or the operation.
            command_last_o: bool,
            /// There is neither a request nor an operation.
            empty_o: bool,
            /// In the last cycle a request was dropped.
            fault_o: bool,
        }
        probes PimQueueProbe {}
    }
}

/// Kind of a request for PIM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PimKind {
    /// PIM_HEADER: row, dot products and results of the operation that follows.
    Header = 0,
    /// PIM_GWRITE: fills the global buffer from a row.
    Gwrite = 1,
    /// PIM_GEMV: dot products of some words, and their results.
    Gemv = 2,
    /// PIM_DOTPRODUCT: the dot product of a word.
    DotProduct = 3,
    /// PIM_RDRESULT: the results of the sum.
    ReadResult = 4,
}

impl PimKind {
    fn of(code: u8) -> Option<Self> {
        let all = [Self::Header, Self::Gwrite, Self::Gemv, Self::DotProduct, Self::ReadResult];
        all.get(usize::from(code)).copied()
    }
}

/// Requests that wait.
const DEPTH: usize = 16;
/// Words of a row.
const WORDS: u8 = 32;

/// A request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PimRequest {
    pub kind: u8,
    pub bank: u8,
    pub row: u16,
    pub word: u8,
    pub count: u8,
    pub results: u8,
    pub first: bool,
    pub last: bool,
}

/// The operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Operation {
    pub gwrite: bool,
    pub bank: u8,
    pub row: u16,
    pub count: u8,
    pub results: u8,
}

/// What the controller tells the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub admit: bool,
    pub refresh: bool,
    pub taken: bool,
}

/// The queue behind its ports: the channel's controller has it without them.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    requests: Fifo<PimRequest, DEPTH>,
    valid: bool,
    operation: Operation,
    admitted: bool,
    fault: bool,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            requests: Fifo::new(),
            valid: false,
            operation: Operation::default(),
            admitted: false,
            fault: false,
        }
    }

    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !self.requests.is_full()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.valid && self.requests.is_empty()
    }

    #[inline]
    pub(super) fn has_fault(&self) -> bool {
        self.fault
    }

    /// The operation that is under way.
    #[inline]
    pub(super) fn operation(&self) -> Option<&Operation> {
        self.valid.then_some(&self.operation)
    }

    #[inline]
    pub(super) fn is_admitted(&self) -> bool {
        self.admitted
    }

    /// The operation's next command.
    pub(super) fn command(&self) -> Option<(PimKind, &PimRequest)> {
        if !self.valid {
            return None;
        }
        let request = self.requests.oldest()?;
        let kind = PimKind::of(request.kind)?;
        let is_command = match kind {
            PimKind::Header | PimKind::Gwrite => false,
            PimKind::Gemv => request.word + request.count < WORDS,
            PimKind::DotProduct | PimKind::ReadResult => true,
        };
        (!self.operation.gwrite && is_command).then_some((kind, request))
    }

    /// A cycle. Returns whether anything has changed, so that another cycle with the same inputs and no request could differ.
    #[inline]
    pub(super) fn step(&mut self, told: Told, request: Option<PimRequest>) -> bool {
        // Where there is nothing, there is no operation that could be admitted or end.
        let is_idle = request.is_none() && self.is_empty() && !self.fault;
        !is_idle && self.step_busy(told, request)
    }

    fn step_busy(&mut self, told: Told, request: Option<PimRequest>) -> bool {
        let request = request.filter(|_| self.is_ready());
        let had_fault = self.fault;
        let admitted = self.admitted;
        let waits = self.valid
            && (self.operation.gwrite || self.requests.is_empty() || self.command().is_some());
        if waits && !told.taken && !had_fault && request.is_none() {
            self.admitted = !told.refresh && (admitted || told.admit);
            return admitted != self.admitted;
        }
        let (mut pop, mut ends, mut loads) = (false, false, None);
        self.fault = false;
        if self.valid && self.operation.gwrite {
            ends = told.taken;
        } else if let Some((kind, command)) = self.command() {
            pop = told.taken;
            ends = told.taken && command.last && kind != PimKind::DotProduct;
        } else if let Some(&head) = self.requests.oldest() {
            let kind = PimKind::of(head.kind);
            let begins = matches!(kind, Some(PimKind::Header | PimKind::Gwrite));
            self.fault = self.valid || !begins;
            pop = !self.valid || !begins;
            // An operation ends where the next one begins, and with its last command, even one that is dropped.
            ends = self.valid && (begins || kind == Some(PimKind::Gemv) && head.last);
            loads = (begins && !self.valid).then_some(Operation {
                gwrite: kind == Some(PimKind::Gwrite),
                bank: head.bank,
                row: head.row,
                count: head.count,
                results: head.results,
            });
        }
        self.admitted = self.valid && !ends && !told.refresh && (self.admitted || told.admit);
        self.valid = self.valid && !ends || loads.is_some();
        self.operation = loads.unwrap_or(self.operation);
        self.requests.clock(pop, request);
        pop || ends || request.is_some() || self.fault || had_fault || admitted != self.admitted
    }
}

/// The cycle model of a queue of PIM requests.
///
#[doc = contract!("channel/pim_queue")]
#[derive(Clone, Debug)]
pub struct PimQueue(Queue);

impl Unit for PimQueue {
    const MODULE: &'static str = "pim_queue";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = PimQueueIn;
    type Out = PimQueueOut;
    type Probe = PimQueueProbe;

    fn variant() -> String {
        String::new()
    }
}

impl Model for PimQueue {
    fn new() -> Self {
        Self(Queue::new())
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        PimQueueProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let queue = &mut self.0;
        let Operation { gwrite, bank, row, count, results } = queue.operation;
        let head = queue.command().map(|(_, head)| *head);
        let command = head.unwrap_or_default();
        let output = PimQueueOut {
            ready_o: queue.is_ready(),
            op_valid_o: queue.valid,
            op_gwrite_o: gwrite,
            op_bank_o: U::new(bank.into()),
            op_row_o: U::new(row.into()),
            op_count_o: U::new(count.into()),
            op_results_o: U::new(results.into()),
            admitted_o: queue.admitted,
            command_valid_o: head.is_some(),
            command_kind_o: U::new(command.kind.into()),
            command_word_o: U::new(command.word.into()),
            command_count_o: U::new(command.count.into()),
            command_first_o: command.first,
            command_last_o: command.last,
            empty_o: queue.is_empty(),
            fault_o: queue.fault,
        };
        let told = Told { admit: input.admit_i, refresh: input.refresh_i, taken: input.taken_i };
        let request = input.valid_i.then_some(PimRequest {
            kind: input.kind_i.get() as u8,
            bank: input.bank_i.get() as u8,
            row: input.row_i.get() as u16,
            word: input.word_i.get() as u8,
            count: input.count_i.get() as u8,
            results: input.results_i.get() as u8,
            first: input.first_i,
            last: input.last_i,
        });
        queue.step(told, request);
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(kind: PimKind) -> PimQueueIn {
        PimQueueIn { valid_i: true, kind_i: U::new(kind as u64), ..Default::default() }
    }

    fn header(row: u64) -> PimQueueIn {
        PimQueueIn { row_i: U::new(row), count_i: U::new(31), ..request(PimKind::Header) }
    }

    fn gemv(word: u64, count: u64, last_i: bool) -> PimQueueIn {
        let (word_i, count_i) = (U::new(word), U::new(count - 1));
        PimQueueIn { word_i, count_i, last_i, ..request(PimKind::Gemv) }
    }

    fn run(inputs: &[PimQueueIn]) -> Vec<PimQueueOut> {
        let mut unit = PimQueue::new();
        inputs.iter().map(|input| unit.step(input)).collect()
    }

    fn set(outputs: &[PimQueueOut], of: fn(&PimQueueOut) -> bool) -> Vec<usize> {
        (0..outputs.len()).filter(|&cycle| of(&outputs[cycle])).collect()
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let none = PimQueueIn::default();
        let admit = PimQueueIn { admit_i: true, ..none };
        let taken = PimQueueIn { taken_i: true, ..none };
        let outputs = run(&[
            header(7),
            gemv(0, 32, true),
            header(8),
            none,
            admit,
            none,
            taken,
            none,
            none,
            none,
        ]);
        assert_eq!(set(&outputs, |o| o.op_valid_o), [2, 3, 4, 5, 6, 8, 9]);
        assert_eq!(set(&outputs, |o| o.command_valid_o), [2, 3, 4, 5, 6]);
        assert_eq!(set(&outputs, |o| o.admitted_o), [5, 6]);
        assert_eq!((outputs[6].op_row_o.get(), outputs[8].op_row_o.get()), (7, 8));
        assert_eq!(set(&outputs, |o| o.fault_o), [0; 0]);
    }

    #[test]
    fn a_ref_takes_the_admission_back() {
        let none = PimQueueIn::default();
        let refresh = PimQueueIn { refresh_i: true, admit_i: true, ..none };
        let admit = PimQueueIn { admit_i: true, ..none };
        let outputs = run(&[header(7), none, admit, none, refresh, none, admit, none]);
        assert_eq!(set(&outputs, |o| o.admitted_o), [3, 4, 7]);
    }

    #[test]
    fn what_does_not_belong_is_dropped() {
        let none = PimQueueIn::default();
        // A GEMV without an operation; one whose words do not exist; a HEADER before the last command.
        let outputs = run(&[gemv(0, 1, true), none, none, none]);
        assert_eq!((set(&outputs, |o| o.fault_o), outputs[2].empty_o), (vec![2], true));
        let outputs = run(&[header(7), gemv(30, 3, false), none, none, none]);
        assert_eq!(set(&outputs, |o| o.fault_o), [3]);
        assert_eq!(set(&outputs, |o| o.op_valid_o), [2, 3, 4]);
        let outputs = run(&[header(7), header(8), none, none, none, none]);
        assert_eq!(set(&outputs, |o| o.fault_o), [3]);
        assert_eq!(set(&outputs, |o| o.op_valid_o), [2, 4, 5]);
        assert_eq!(outputs[4].op_row_o.get(), 8);
        let unknown = PimQueueIn { kind_i: U::new(6), ..header(0) };
        assert_eq!(set(&run(&[unknown, none, none]), |o| o.fault_o), [2]);
    }

    #[test]
    fn a_gwrite_is_an_operation_and_its_command() {
        let none = PimQueueIn::default();
        let gwrite =
            PimQueueIn { bank_i: U::new(19), row_i: U::new(4), ..request(PimKind::Gwrite) };
        let taken = PimQueueIn { taken_i: true, ..none };
        let outputs = run(&[gwrite, none, none, taken, none]);
        assert_eq!(set(&outputs, |o| o.op_valid_o && o.op_gwrite_o), [2, 3]);
        assert_eq!((outputs[3].op_bank_o.get(), outputs[3].op_row_o.get()), (19, 4));
        assert!(outputs[4].empty_o);
    }

    #[test]
    fn there_is_room_for_sixteen() {
        let mut inputs = [gemv(0, 1, false); 24];
        inputs[0] = header(1);
        let outputs = run(&inputs);
        // The HEADER is the operation; sixteen of its commands wait.
        assert_eq!(outputs.iter().position(|output| !output.ready_o), Some(17));
    }
}
