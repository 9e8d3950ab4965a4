// SPDX-License-Identifier: MIT
//! A list of commands for PIM, and operands that reach the global buffer by way of two rows.
//!
//! An operand is written to one of two rows, in turn, as bursts of MEM. Its GWRITE is sent when all of them are on the pins, and the row
//! is written again when the GWRITE has been. A list has as many GWRITEs as there are operands, in the same order.

use pimlico_device::neupims::layout::STAGES;
use pimlico_device::neupims::{BANKS, BURST, ChannelEvent, ChannelHost, MemRequest, PimRequest};
use std::collections::VecDeque;

/// Operands on their way to the global buffer.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    /// Those that are not written yet, and from when on they are there.
    waiting: VecDeque<(u64, Vec<u16>)>,
    bursts: VecDeque<MemRequest>,
    /// Bursts of each operand that are not on the pins yet. Those of two operands may overtake each other.
    missing: Vec<usize>,
    /// GWRITEs that were on the pins.
    taken: u64,
}

impl Operands {
    /// The next operand, which is there from a tCK on.
    pub fn put(&mut self, from_tck: u64, elements: Vec<u16>) {
        self.waiting.push_back((from_tck, elements));
    }

    fn has_row(&self) -> bool {
        (self.missing.len() as u64) < self.taken + STAGES.len() as u64
    }

    fn next_burst(&mut self, now: u64) -> Option<MemRequest> {
        if self.bursts.is_empty()
            && self.has_row()
            && self.waiting.front().is_some_and(|(from, _)| *from <= now)
            && let Some((_, elements)) = self.waiting.pop_front()
        {
            let (bank, row) = STAGES[self.missing.len() % STAGES.len()];
            let bursts = elements.chunks(BURST).zip(0..).map(|(chunk, column)| {
                let mut data = [0; BURST];
                data[..chunk.len()].copy_from_slice(chunk);
                MemRequest { bank, row, column, data: Some(data) }
            });
            self.bursts.extend(bursts);
            self.missing.push(self.bursts.len());
        }
        self.bursts.pop_front()
    }

    /// A burst is on the pins: it is of the last operand that had its row.
    fn wrote(&mut self, request: &MemRequest) {
        let stage = STAGES.iter().position(|stage| *stage == (request.bank, request.row));
        let of_stage = |number: &usize| Some(number % STAGES.len()) == stage;
        if let Some(number) = (0..self.missing.len()).rev().find(of_stage) {
            self.missing[number] -= 1;
        }
    }

    /// Whether an operand is in its row.
    fn is_written(&self, number: u64) -> bool {
        self.missing.get(number as usize) == Some(&0)
    }

    fn wakes(&self) -> Option<u64> {
        self.waiting.front().map(|(from, _)| *from).filter(|_| self.has_row())
    }

    fn is_done(&self) -> bool {
        let is_written = self.missing.iter().rev().take(STAGES.len()).all(|&missing| missing == 0);
        self.waiting.is_empty() && self.bursts.is_empty() && is_written
    }
}

/// Who takes the results of a list.
pub trait ResultSink {
    /// The next results have come; more operands may follow from them.
    fn take(&mut self, now: u64, results: &[u16; BANKS], operands: &mut Operands);

    /// Whether all that are expected have come.
    fn is_done(&self) -> bool;
}

/// A list that is sent.
pub struct Script<'a, R> {
    list: Box<dyn Iterator<Item = PimRequest> + Send + 'a>,
    held: Option<PimRequest>,
    has_ended: bool,
    gwrites: u64,
    operands: Operands,
    results: R,
}

impl<'a, R: ResultSink> Script<'a, R> {
    /// A list. Banks and rows of its GWRITEs are those of the operands.
    pub fn new(
        list: impl Iterator<Item = PimRequest> + Send + 'a,
        operands: Operands,
        results: R,
    ) -> Self {
        let list = Box::new(list);
        Self { list, held: None, has_ended: false, gwrites: 0, operands, results }
    }

    /// Who took the results.
    pub fn into_results(self) -> R {
        self.results
    }
}

impl<R: ResultSink> ChannelHost for Script<'_, R> {
    fn mem(&mut self, now: u64) -> Option<MemRequest> {
        self.operands.next_burst(now)
    }

    fn pim(&mut self, _: u64) -> Option<PimRequest> {
        if self.held.is_none() && !self.has_ended {
            self.held = self.list.next();
            self.has_ended = self.held.is_none();
        }
        match self.held {
            Some(PimRequest::Gwrite { .. }) => {
                if !self.operands.is_written(self.gwrites) {
                    return None;
                }
                let (bank, row) = STAGES[self.gwrites as usize % STAGES.len()];
                self.gwrites += 1;
                self.held = None;
                Some(PimRequest::Gwrite { bank, row })
            }
            _ => self.held.take(),
        }
    }

    fn event(&mut self, now: u64, event: &ChannelEvent) {
        match event {
            ChannelEvent::Written(request) => self.operands.wrote(request),
            ChannelEvent::Gwrite => self.operands.taken += 1,
            ChannelEvent::Results(results) => self.results.take(now, results, &mut self.operands),
            ChannelEvent::Read(..) => {}
        }
    }

    fn wakes(&self) -> Option<u64> {
        self.operands.wakes()
    }

    fn is_done(&self) -> bool {
        self.has_ended && self.held.is_none() && self.operands.is_done() && self.results.is_done()
    }
}
