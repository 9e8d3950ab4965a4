// SPDX-License-Identifier: MIT
//! A channel: its controller, stepped where anything can happen and at rest otherwise, and its banks.

use super::banks::{Banks, Faults};
use super::controller::Controller;
use super::design::{ChannelDesign, Hardware, Ways};
use super::events::Events;
use super::options::{ChannelOptions, ReadQueue};
use super::pins::{ChannelPins, ChannelWatch};
use super::preset::NeupimsSpec;
use super::request::{BurstData, ChannelEvent, MemRequest, PimRequest};
use super::sizes::BURST;
use super::statistics::{ChannelStatistics, Operation};
use crate::config::ConfigError;
use crate::error::DeviceError;
use pimlico_ports::U;
use pimlico_units::channel::{ChannelCommand, ChannelControllerIn, ChannelControllerOut, PimKind};
use std::collections::VecDeque;

/// Requests of MEM under way at the most: tags.
const TAGS: usize = 256;

/// Who asks a channel for something.
pub trait ChannelHost {
    /// The next request of MEM, if there is one now.
    fn mem(&mut self, now: u64) -> Option<MemRequest>;

    /// The next request for PIM, if there is one now.
    fn pim(&mut self, now: u64) -> Option<PimRequest>;

    /// Something has happened.
    fn event(&mut self, now: u64, event: &ChannelEvent);

    /// When it may have another request though nothing happens.
    fn wakes(&self) -> Option<u64> {
        None
    }

    /// It has no more requests, and has been told of all that it waits for.
    fn is_done(&self) -> bool;
}

/// Times that the engine needs beside its controller.
#[derive(Clone, Copy, Debug)]
struct Times {
    burst: u64,
    cl: u64,
    dot: u64,
    latency: u64,
    rtp: u64,
    ras: u64,
    gwrite: u64,
}

/// A request of MEM without its data.
#[derive(Clone, Copy, Default)]
struct Access {
    bank: u8,
    column: u8,
    row: u16,
    write: bool,
    /// It is in the controller.
    waits: bool,
}

/// A channel.
pub struct NeupimsChannel {
    controller: Controller,
    /// In the place of the controller, and of the banks.
    hardware: Option<Box<Hardware>>,
    reads: ReadQueue,
    input: ChannelControllerIn,
    times: Times,
    tck: u64,
    is_idle: bool,
    /// Requests that wait to be accepted.
    mem: Option<MemRequest>,
    pim: Option<PimRequest>,
    /// Requests of MEM in the controller, by tag, and the data of writes.
    tags: Box<[Access; TAGS]>,
    data: Box<[BurstData; TAGS]>,
    free: Vec<u8>,
    /// PIM's commands in the controller: whether each ends its operation.
    ends: VecDeque<bool>,
    admitted: Option<Operation>,
    last_activation: u64,
    last_dot: u64,
    /// What the host is to be told of, and when.
    events: Events,
    banks: Option<Box<Banks>>,
    statistics: ChannelStatistics,
    dropped: u64,
    watch: Option<Box<dyn ChannelWatch>>,
    /// Every cycle is stepped, for comparison.
    #[cfg(test)]
    pub(super) steps_all: bool,
}

impl NeupimsChannel {
    /// A channel that has just been reset.
    pub fn new(spec: &NeupimsSpec, options: &ChannelOptions) -> Self {
        let (t, p) = (&spec.timing, &spec.pim);
        Self {
            controller: Controller::new(options.reads),
            hardware: None,
            reads: options.reads,
            input: options.inputs(spec),
            times: Times {
                burst: t.bl,
                cl: t.cl,
                dot: p.dot,
                latency: p.fill * p.dot,
                rtp: t.rtp,
                ras: t.ras,
                gwrite: p.gwrite,
            },
            tck: 0,
            is_idle: false,
            mem: None,
            pim: None,
            tags: Box::new([Access::default(); TAGS]),
            data: Box::new([[0; BURST]; TAGS]),
            free: (0..=u8::MAX).rev().collect(),
            ends: VecDeque::new(),
            admitted: None,
            last_activation: 0,
            last_dot: 0,
            events: Events::default(),
            banks: options
                .data
                .then(|| Box::new(Banks::new(options.sums, spec.organisation.pseudo_ranks))),
            statistics: ChannelStatistics::default(),
            dropped: 0,
            watch: None,
            #[cfg(test)]
            steps_all: false,
        }
    }

    /// Has a design in the place of the engine's controller and banks. The channel has just been reset.
    ///
    /// # Errors
    ///
    /// If the controller's queue of reads is one that no design has.
    pub fn attach(&mut self, design: Box<dyn ChannelDesign>) -> Result<(), ConfigError> {
        if self.reads != ReadQueue::Short {
            return Err(ConfigError::key(&"the RTL's queue has 32 reads"));
        }
        let Times { cl, burst, latency, .. } = self.times;
        self.banks = None;
        self.hardware = Some(Box::new(Hardware::new(design, Ways { cl, burst, latency })));
        Ok(())
    }

    /// tCK since the reset.
    pub fn tck(&self) -> u64 {
        self.tck
    }

    /// Has the pins watched from here on.
    pub fn watch(&mut self, watch: Box<dyn ChannelWatch>) {
        self.watch = Some(watch);
    }

    /// Has them watched no longer.
    pub fn unwatch(&mut self) {
        self.watch = None;
    }

    /// What it did since the last time, or since the reset.
    pub fn take_statistics(&mut self) -> ChannelStatistics {
        std::mem::take(&mut self.statistics)
    }

    /// What the banks could not obey; none without data.
    pub fn faults(&self) -> Faults {
        if let Some(hardware) = &self.hardware {
            return hardware.faults();
        }
        self.banks.as_ref().map(|banks| banks.faults()).unwrap_or_default()
    }

    /// Requests for PIM that the controller dropped, as they are of no operation.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Does what a host asks for, until that is done, or until a tCK.
    ///
    /// # Errors
    ///
    /// If a design in lockstep differs.
    pub fn run(&mut self, host: &mut dyn ChannelHost, until: u64) -> Result<(), DeviceError> {
        while self.tck < until {
            self.tell(host);
            if self.mem.is_none() && !self.free.is_empty() {
                self.mem = host.mem(self.tck);
                self.put_mem();
            }
            if self.pim.is_none() {
                self.pim = host.pim(self.tck);
                self.put_pim();
            }
            let is_empty = self.mem.is_none() && self.pim.is_none() && self.events.is_empty();
            if is_empty && self.is_idle && self.tck > 1 && host.is_done() {
                return Ok(());
            }
            self.go_on(Some(host), until)?;
        }
        Ok(())
    }

    /// Lets time pass.
    ///
    /// # Errors
    ///
    /// If a design in lockstep differs.
    pub fn idle_until(&mut self, tck: u64) -> Result<(), DeviceError> {
        while self.tck < tck {
            self.go_on(None, tck)?;
        }
        Ok(())
    }

    fn tell(&mut self, host: &mut dyn ChannelHost) {
        while let Some(event) = self.events.due(self.tck) {
            host.event(self.tck, event);
            self.events.pop();
        }
    }

    /// For how many cycles from here on nothing happens; a design is stepped.
    fn rest_limit(&self) -> u64 {
        #[cfg(test)]
        if self.steps_all {
            return 0;
        }
        if self.hardware.is_some() { 0 } else { self.controller.rest_limit() }
    }

    /// The next tCK, or several in which nothing happens.
    fn go_on(&mut self, host: Option<&dyn ChannelHost>, until: u64) -> Result<(), DeviceError> {
        let limit = self.rest_limit();
        if limit > 1 {
            let ahead = self.controller.rest(0);
            let accepts =
                self.mem.is_some() && ahead.mem_ready_o || self.pim.is_some() && ahead.pim_ready_o;
            if !accepts {
                let wakes = host.and_then(ChannelHost::wakes);
                let next = [self.events.next(), wakes]
                    .into_iter()
                    .flatten()
                    .filter(|next| *next > self.tck);
                let next = next.min().unwrap_or(u64::MAX).min(until);
                let cycles = limit.min(next - self.tck);
                let out = self.controller.rest(cycles);
                self.account(&out, cycles);
                self.tck += cycles;
                return Ok(());
            }
        }
        self.step()
    }

    fn account(&mut self, out: &ChannelControllerOut, cycles: u64) -> ChannelPins {
        let pins = ChannelPins::of(out);
        let (mem, pim) = (out.mem_lost_o.get(), out.pim_lost_o.get());
        self.statistics.account(cycles, &pins, mem, pim);
        self.is_idle = out.idle_o;
        pins
    }

    fn step(&mut self) -> Result<(), DeviceError> {
        self.input.mem_valid_i = self.mem.is_some();
        self.input.pim_valid_i = self.pim.is_some();
        if let (Some(_), Some(&tag)) = (&self.mem, self.free.last()) {
            self.input.mem_tag_i = tag;
        }
        let out = match &mut self.hardware {
            Some(hardware) => hardware.step(self.tck, &self.input, &mut self.events)?,
            None => self.controller.step(&self.input),
        };
        let pins = self.account(&out, 1);
        if out.mem_ready_o
            && self.input.mem_valid_i
            && let Some(MemRequest { bank, row, column, data }) = &self.mem
        {
            self.free.pop();
            let tag = usize::from(self.input.mem_tag_i);
            self.tags[tag] = Access {
                bank: *bank,
                column: *column,
                row: *row,
                write: data.is_some(),
                waits: true,
            };
            if let Some(data) = data {
                self.data[tag] = *data;
            }
            self.mem = None;
            self.is_idle = false;
        }
        if out.pim_ready_o
            && let Some(request) = self.pim.take()
        {
            match request {
                PimRequest::Header { .. } => {}
                PimRequest::Gwrite { .. } => self.ends.push_back(true),
                PimRequest::DotProduct { .. } => self.ends.push_back(false),
                PimRequest::Gemv { last, .. } | PimRequest::ReadResult { last } => {
                    self.ends.push_back(last);
                }
            }
            self.is_idle = false;
        }
        if out.admit_o {
            self.admitted = Some(Operation {
                admitted_tck: self.tck - 1,
                estimated_tck: out.estimate_o.get(),
                tck: 0,
            });
        }
        self.dropped += u64::from(out.fault_o);
        if pins.command != ChannelCommand::None {
            self.obey(&pins, &out);
        }
        self.tck += 1;
        Ok(())
    }

    fn put_mem(&mut self) {
        if let Some(request) = &self.mem {
            self.input.mem_write_i = request.data.is_some();
            self.input.mem_bank_i = U::new(request.bank.into());
            self.input.mem_row_i = U::new(request.row.into());
            self.input.mem_column_i = U::new(request.column.into());
        }
    }

    fn put_pim(&mut self) {
        let Some(request) = self.pim else { return };
        let less_one = |count: u8| u64::from(count.saturating_sub(1));
        let (kind, bank, row, word, count, results, first, last) = match request {
            PimRequest::Header { row, dots, results } => {
                (PimKind::Header, 0, row, 0, less_one(dots), less_one(results), false, false)
            }
            PimRequest::Gwrite { bank, row } => (PimKind::Gwrite, bank, row, 0, 0, 0, false, false),
            PimRequest::Gemv { word, count, last } => {
                (PimKind::Gemv, 0, 0, word, less_one(count), 0, false, last)
            }
            PimRequest::DotProduct { word, first, last } => {
                (PimKind::DotProduct, 0, 0, word, 0, 0, first, last)
            }
            PimRequest::ReadResult { last } => (PimKind::ReadResult, 0, 0, 0, 0, 0, false, last),
        };
        self.input.pim_kind_i = U::new(kind as u64);
        self.input.pim_bank_i = U::new(bank.into());
        self.input.pim_row_i = U::new(row.into());
        self.input.pim_word_i = U::new(word.into());
        self.input.pim_count_i = U::new(count);
        self.input.pim_results_i = U::new(results);
        self.input.pim_first_i = first;
        self.input.pim_last_i = last;
    }

    fn obey(&mut self, pins: &ChannelPins, out: &ChannelControllerOut) {
        let (now, times) = (self.tck, self.times);
        if let Some(watch) = &mut self.watch {
            watch.command(now, *pins);
        }
        if out.mem_issued_o {
            let tag = usize::from(out.mem_tag_o);
            let access = std::mem::take(&mut self.tags[tag]);
            if access.waits {
                self.free.push(out.mem_tag_o);
                self.move_burst(access, tag);
            }
        }
        let results = match &mut self.banks {
            Some(banks) => banks.command(pins),
            None => None,
        };
        match pins.command {
            ChannelCommand::PimActivation => self.last_activation = now,
            ChannelCommand::PimGwrite => self.events.put(now + 1, ChannelEvent::Gwrite),
            ChannelCommand::PimDotProduct => self.last_dot = now,
            ChannelCommand::PimGemv => {
                self.last_dot = now + u64::from(pins.count - 1) * times.dot;
                let due = self.last_dot + times.latency + times.burst;
                self.events.put(due, ChannelEvent::Results(results.unwrap_or_default()));
            }
            ChannelCommand::PimReadResult => {
                let due = now + times.cl + times.burst;
                self.events.put(due, ChannelEvent::Results(results.unwrap_or_default()));
            }
            _ => {}
        }
        if out.pim_issued_o && self.ends.pop_front() == Some(true) {
            self.end_operation(pins.command);
        }
    }

    /// An operation has had its last command.
    fn end_operation(&mut self, command: ChannelCommand) {
        let Times { rtp, ras, gwrite, .. } = self.times;
        let end = match command {
            ChannelCommand::PimGwrite => self.tck + gwrite,
            _ => (self.last_dot + rtp).max(self.last_activation + ras).max(self.tck),
        };
        if let Some(operation) = self.admitted.take() {
            self.statistics.ended(Operation { tck: end - operation.admitted_tck, ..operation });
        }
    }

    /// An RD or WR.
    fn move_burst(&mut self, access: Access, tag: usize) {
        let Access { bank, row, column, write, .. } = access;
        if write {
            let data = self.data[tag];
            if let Some(banks) = &mut self.banks {
                banks.write(bank, column, &data);
            }
            if let Some(hardware) = &mut self.hardware {
                hardware.write(&data);
            }
            let request = MemRequest { bank, row, column, data: Some(data) };
            self.events.put(self.tck + 1, ChannelEvent::Written(request));
        } else {
            let due = self.tck + self.times.cl + self.times.burst;
            let request = MemRequest { bank, row, column, data: None };
            match &mut self.banks {
                Some(banks) => {
                    let data = banks.read(bank, column);
                    self.events.put(due, ChannelEvent::Read(request, data));
                }
                None => self.events.put_read(due, request),
            }
        }
    }
}
