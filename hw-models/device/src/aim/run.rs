// SPDX-License-Identifier: MIT
//! Runs of programs on a module.
//!
//! Commands are those that the dispatcher makes of a program, and have the meaning that they have for the hub. What they
//! take on the channels and in the EPU is counted; the time of the dispatcher is not, nor that of loads: all commands of a
//! run are known when it starts. So the queues never wait for commands or operands, and a product is 34 to 36 tCK ahead of
//! the hub's (`rtl/module/aim_hub.md`). A phase begins when the one before it is done, and a CLOSE_ALL ends when no REF is owed.

use super::device::{AimDevice, AimStart};
use super::known::SpanKind;
use super::layout::RowWrites;
use super::module::Module;
use super::program::{Phase, Work, phases};
use super::queues::Queues;
use super::requests::{ArrayRequest, Events, Requests};
use super::spans::{ChunkSpans, ReadSpans, WriteSpans};
use super::units::{AimOptions, Elements};
use super::weigh::Weighing;
use crate::device::Device;
use crate::dispatch::{DispatchError, PATIENCE_TCK};
use crate::error::DeviceError;

impl AimDevice for Module {
    fn options(&self) -> AimOptions {
        self.options
    }

    fn leave_data_out(&mut self) {
        self.leave_data_out();
    }

    fn write(&mut self, rows: &mut dyn Iterator<Item = RowWrites<'_>>) -> Result<(), DeviceError> {
        let mut kept = None;
        for writes in rows {
            let mut spans = WriteSpans::new(&writes);
            kept = self.mark(&mut spans, kept);
            if !spans.are_done {
                self.write_row(&writes)?;
            }
        }
        self.leave_spans();
        Ok(())
    }

    /// A program that is wrong anywhere is not begun.
    fn run(&mut self, start: AimStart<'_>) -> Result<(), DeviceError> {
        let AimStart { request, operands, .. } = start;
        let (phases, ends_layer) = self.phases(start)?;
        let mut opens = true;
        for phase in &phases {
            match phase {
                Phase::Work(work) => {
                    self.step_until(Requests::default(), Self::is_idle)?;
                    self.work(work, operands, opens)?;
                    opens &= work.stretches.is_empty();
                }
                Phase::Weigh { head, place, tokens } => {
                    self.step_until(Requests::default(), Self::is_idle)?;
                    self.weigh(Weighing::new(*head, *place, *tokens, self.options.softmax_lanes))?;
                }
                Phase::Close => {
                    let array = Some(ArrayRequest::CloseAll);
                    let close = Requests { array, head_end: true, ..Default::default() };
                    self.step_until(close, Self::is_settled)?;
                }
            }
        }
        self.step_until(Requests::default(), Self::is_settled)?;
        if ends_layer {
            self.loaded.next_layer(request);
        }
        Ok(())
    }

    fn begin_softmax(&mut self, start: AimStart<'_>) -> Result<(), DeviceError> {
        self.finish_softmax()?;
        match self.phases(start)?.0[..] {
            [Phase::Weigh { place, tokens, head }, Phase::Close] => {
                self.step_until(Requests::default(), Self::is_idle)?;
                self.weighing =
                    Some(Weighing::new(head, place, tokens, self.options.softmax_lanes));
                Ok(())
            }
            _ => Err(DispatchError::NotBeside.into()),
        }
    }

    fn finish_softmax(&mut self) -> Result<u64, DeviceError> {
        let (mut kept, mut marked) = (None, None);
        while let Some(weighing) = &self.weighing {
            let chunks = Some(weighing.chunks());
            if chunks != marked {
                kept = self.mark(&mut ChunkSpans, kept);
                marked = self.weighing.as_ref().map(Weighing::chunks);
            }
            self.step(&mut Requests::default())?;
        }
        self.leave_spans();
        Ok(self.weighed_tck)
    }

    fn passed_spans(&self, kind: SpanKind) -> u64 {
        self.known.passed(kind)
    }

    fn stored(&self, channel: usize, bank: usize, row: usize, column: usize) -> Elements {
        self.column(channel, bank, row, column)
    }

    fn gpr(&self, place: usize, count: usize) -> &[u16] {
        self.epu.gpr(place, count)
    }
}

impl Module {
    /// Writes follow each other, until the last one is accepted.
    fn write_row(&mut self, writes: &RowWrites<'_>) -> Result<(), DeviceError> {
        let mut next = 0;
        while next < writes.count() {
            let array = Some(ArrayRequest::Write(writes.write(next)));
            let mut requests = Requests { array, ..Default::default() };
            while !self.step(&mut requests)?.array_taken {
                self.wait();
            }
            next += 1;
            next += self.write_on(writes, next);
        }
        Ok(())
    }

    /// The phases of a program, and whether it ends a layer.
    fn phases(&self, start: AimStart<'_>) -> Result<(Vec<Phase>, bool), DeviceError> {
        let AimStart { request, address, operands } = start;
        let fault = |status| DispatchError::Fault { request, status, address };
        let mut commands = self.loaded.commands(request, address).map_err(fault)?;
        let (words, pus) = (operands.len(), self.options.pus());
        let phases = phases(&mut commands, request, words, &self.config, pus)?;
        Ok((phases, commands.ends_layer()))
    }

    /// Works through the commands of a phase; `opens`: there was no column before it in the run.
    fn work(&mut self, work: &Work, operands: &[Elements], opens: bool) -> Result<(), DeviceError> {
        let mut queues = Queues::new(self, work, operands, opens);
        let mut requests = Requests::default();
        let mut last_event_tck = self.tck();
        let (mut kept, mut marked) = (None, None);
        while !queues.are_empty() {
            if queues.begins_row().is_some_and(|row| marked != Some(row)) {
                let mut spans = ReadSpans { queues: &mut queues, requests: &mut requests };
                kept = self.mark(&mut spans, kept);
                marked = queues.begins_row();
                last_event_tck = self.tck();
            }
            let now = self.tck();
            queues.ask(self, &mut requests);
            let events = self.step(&mut requests)?;
            queues.see(now, &events);
            if is_event(&events) {
                last_event_tck = now;
                self.read_on(&mut queues)?;
            } else {
                self.wait_until(|now| queues.waits(now));
            }
            be_patient(last_event_tck, now)?;
        }
        self.leave_spans();
        Ok(())
    }

    /// Makes weights of scores.
    fn weigh(&mut self, weighing: Weighing) -> Result<(), DeviceError> {
        self.finish_softmax()?;
        self.weighing = Some(weighing);
        self.finish_softmax().map(drop)
    }

    /// Asks for something, which may be nothing, until it was taken and `done` holds.
    fn step_until(
        &mut self,
        mut requests: Requests,
        done: fn(&Self) -> bool,
    ) -> Result<(), DeviceError> {
        let from_tck = self.tck();
        while requests.array.is_some() || !done(self) {
            let taken = self.step(&mut requests)?.array_taken;
            if !taken && !requests.head_end && !done(self) {
                self.wait();
            }
            requests.head_end = false;
            be_patient(from_tck, self.tck())?;
        }
        Ok(())
    }
}

fn is_event(events: &Events) -> bool {
    events.array_taken || events.bus_taken || events.read || events.operand || events.results
}

/// An error if nothing has happened for long.
fn be_patient(last_event_tck: u64, now: u64) -> Result<(), DispatchError> {
    match now - last_event_tck <= PATIENCE_TCK {
        true => Ok(()),
        false => Err(DispatchError::Stuck { overwritten: false }),
    }
}
