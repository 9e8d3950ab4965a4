// SPDX-License-Identifier: MIT
//! The judge of a dispatcher: every command of a run, and its end, in the cycle in which they are due.

use super::Sizes;
use crate::bench::OracleError;
use pimlico_dpa::NO_ROW;
use pimlico_dpa::types::{Load, LoadKind};
use pimlico_golden::dispatch::{self, Dispatched, Ending, Machine, Request, Run, status};
use pimlico_ports::Enumerated;
use pimlico_units::module::{DispatcherIn, DispatcherOut};
use std::collections::VecDeque;

/// A command or the end of a run, and when it is at the output.
struct Due {
    /// From this cycle on,
    from: usize,
    /// until it leaves in this one.
    leaves: usize,
    what: What,
}

enum What {
    Command(Dispatched),
    /// Status; address, where it is known; whether the request goes on to its next layer.
    End(u32, Option<u32>, bool),
}

/// Follows the host's writes and starts, and knows what is due.
pub(super) struct Judge<'a> {
    inputs: &'a [DispatcherIn],
    sizes: Sizes,
    machine: Machine,
    overflow: bool,
    statuses: [u32; 16],
    /// The request that runs.
    running: Option<usize>,
    /// Requests whose layer nobody knows, as a run that was disturbed may have gone on to the next.
    lost: Vec<bool>,
    /// What is due of it; nothing is known where it is disturbed.
    due: Option<VecDeque<Due>>,
    /// What the memories were last asked for; of the table, in this run.
    window: usize,
    entry: Option<usize>,
    /// The command buffer, beyond the program as well.
    commands: Vec<u64>,
    /// What was due and came.
    pub checked: u64,
}

impl<'a> Judge<'a> {
    pub fn new(sizes: Sizes, inputs: &'a [DispatcherIn]) -> Self {
        let machine = Machine {
            words: Vec::new(),
            table: vec![NO_ROW; sizes.entries],
            requests: vec![Request::default(); sizes.requests],
        };
        Self {
            inputs,
            sizes,
            machine,
            overflow: false,
            statuses: [0; 16],
            running: None,
            lost: vec![false; sizes.requests],
            due: None,
            window: 0,
            entry: None,
            commands: vec![0; sizes.commands],
            checked: 0,
        }
    }

    pub fn judge(&mut self, clock: usize, output: &DispatcherOut) -> Result<(), OracleError> {
        let input = &self.inputs[clock];
        let check = |port, got: u64, expected: u64, what: &str| {
            if got == expected {
                return Ok(());
            }
            let (got, expected, what) = (got as u32, expected as u32, what.to_owned());
            Err(OracleError { cycle: clock as u64, port, got, expected, what })
        };

        if input.load_valid_i || self.running.is_some() && self.memories_lie(input) {
            self.due = None; // the run is disturbed
        }
        check("start_ready_o", output.start_ready_o.into(), self.running.is_none().into(), "busy")?;
        check("overflow_o", output.overflow_o.into(), self.overflow.into(), "what was written")?;
        for (got, expected) in output.status_o.iter().zip(self.statuses) {
            check("status_o", got.code(), expected.into(), "status of a request")?;
        }

        // What is at the output.
        let now = self.due.as_ref().map(|due| due.front().filter(|due| due.from <= clock));
        if let Some(now) = now {
            let (valid, done) = match now.map(|due| &due.what) {
                Some(What::Command(_)) => (true, false),
                Some(What::End(..)) => (false, true),
                None => (false, false),
            };
            check("dispatch_valid_o", output.dispatch_valid_o.into(), valid.into(), "in time")?;
            check("end_valid_o", output.end_valid_o.into(), done.into(), "in time")?;
            if let Some(Due { leaves, what, .. }) = now {
                self.checked += 1;
                for (port, got, expected) in fields(what, output) {
                    check(port, got, expected.into(), "of what is due")?;
                }
                let running = self.running.and_then(|it| self.machine.requests.get_mut(it));
                if let What::End(.., next_layer) = what {
                    let layer = running.as_ref().map_or(0, |request| request.layer());
                    check("end_o.layer", output.end_o.layer.into(), layer, "of what is due")?;
                    if let Some(request) = running {
                        request.steps += u64::from(*next_layer);
                    }
                }
                if *leaves == clock {
                    self.due.as_mut().and_then(VecDeque::pop_front);
                }
            }
        }
        if output.end_valid_o {
            if let Some(request) = self.running.take().filter(|&it| it < self.sizes.requests) {
                let status = output.end_o.status as u32;
                self.statuses[request] = status;
                let has_layers = self.machine.requests[request].layers > 1;
                self.lost[request] |= self.due.is_none() && has_layers && status == status::DONE;
            }
            self.due = None;
        }

        // The host.
        let writes = self.load(input);
        let [command, entry] =
            [LoadKind::Command, LoadKind::Entry].map(|kind| writes == Some(kind));
        check("command_write_o", output.command_write_o.into(), command.into(), "what fits")?;
        check("table_write_o", output.table_write_o.into(), entry.into(), "what fits")?;
        if input.start_valid_i && output.start_ready_o {
            let request = input.start_i.request.get() as usize;
            self.running = Some(request);
            self.entry = None;
            let is_known = !input.load_valid_i && !self.lost.contains(&true);
            self.due = is_known.then(|| self.plan(clock, request));
            if request < self.sizes.requests {
                self.statuses[request] = 1;
            }
        }
        if output.fetch_read_o {
            self.window = output.fetch_address_o.get() as usize;
        }
        if output.table_read_o {
            let entry = usize::from(output.table_address_o);
            let is_there = entry < self.machine.table.len();
            check("table_address_o", u64::from(!is_there), 0, "beyond the table")?;
            self.entry = Some(entry);
        }
        Ok(())
    }

    /// Whether the memories give something else than what was written. Nobody asks for more than the
    /// program has.
    fn memories_lie(&self, input: &DispatcherIn) -> bool {
        let words = self.machine.words.iter().skip(self.window);
        let mut pairs = words.zip(&input.fetch_data_i);
        pairs.any(|(held, given)| held != given)
            || self.entry.is_some_and(|entry| self.machine.table[entry] != input.table_data_i)
    }

    /// Takes what the host writes; returns the kind, if it fits.
    fn load(&mut self, input: &DispatcherIn) -> Option<LoadKind> {
        let Load { kind, address, data } = input.load_i;
        let at = usize::from(address);
        let (room, bits) = self.sizes.of(kind);
        if !input.load_valid_i {
            return None;
        }
        if at >= room || data.checked_shr(bits).unwrap_or(0) != 0 {
            self.overflow = true;
            return None;
        }
        match kind {
            LoadKind::Command => {
                self.commands[at] = data;
                let length = self.machine.words.len().max(at + 1);
                self.machine.words.clear();
                self.machine.words.extend_from_slice(&self.commands[..length]);
            }
            LoadKind::Entry => self.machine.table[at] = data as u16,
            LoadKind::Tokens => self.machine.requests[at].tokens = data as u32,
            LoadKind::Segment | LoadKind::Layers => {
                let request = &mut self.machine.requests[at];
                match kind {
                    LoadKind::Segment => request.set_segment(data),
                    _ => request.set_layers(data),
                }
                self.lost[at] = false;
            }
            LoadKind::Clear => {
                self.machine.words.clear();
                self.overflow = false;
            }
        }
        Some(kind)
    }

    /// What a run puts out, and when: each thing goes through five registers, where it waits for the
    /// one before, and a turn is taken where the first register is free. What is not put out, a NOP or the
    /// beginning of a loop, leaves the first when the second is free; behind a loop that begins, the next turn
    /// is taken when it has left.
    fn plan(&self, start: usize, request: usize) -> VecDeque<Due> {
        let address = self.inputs[start].start_i.address.get() as u32;
        let clocks = self.inputs.len() - start;
        let run = match self.overflow {
            true => {
                let status = status::BUFFER_OVERFLOW;
                let ending = Ending { status, address, turn: 0, next_layer: false };
                Run { ending: Some(ending), ..Run::default() }
            }
            false => dispatch::run(&self.machine, request, address as usize, clocks as u64),
        };
        let mut commands = run.commands.into_iter().peekable();
        let mut loops = run.loops.into_iter().peekable();
        let mut due = VecDeque::new();
        let mut turn_at = start;
        // When the last turn has left the first register; and when the last thing is in the third, the fourth
        // and the fifth register, and leaves.
        let (mut second, mut third, mut fourth, mut fifth, mut leaves) = (0, 0, 0, 0, 0usize);
        for turn in 0.. {
            turn_at = (turn_at + 1).max(second.max(1) - 1);
            second = (turn_at + 2).max(third);
            let Some(input) = self.inputs.get(turn_at) else { break };
            let ending = run.ending.filter(|ending| ending.turn == turn);
            let what = if input.stop_i {
                What::End(status::STOPPED, None, false)
            } else if let Some(Ending { status, address, next_layer, .. }) = ending {
                What::End(status, Some(address), next_layer)
            } else if let Some(command) = commands.next_if(|command| command.turn == turn) {
                What::Command(command)
            } else {
                if loops.next_if_eq(&turn).is_some() {
                    turn_at = second - 1;
                }
                continue;
            };
            third = (second + 1).max(fourth);
            fourth = (third + 1).max(fifth);
            fifth = (fourth + 1).max(leaves + 1);
            let ends = matches!(what, What::End(..));
            let later = || (fifth..self.inputs.len()).find(|&at| self.inputs[at].dispatch_ready_i);
            leaves = if ends { fifth } else { later().unwrap_or(usize::MAX - 1) };
            due.push_back(Due { from: fifth, leaves, what });
            if ends || leaves > self.inputs.len() {
                break;
            }
        }
        due
    }
}

/// Each field of what is due, as it is and as it should be.
fn fields(what: &What, output: &DispatcherOut) -> Vec<(&'static str, u64, u32)> {
    match what {
        What::Command(command) => {
            let Dispatched {
                opcode, request, head, row, place, column, word, flags, tokens, ..
            } = *command;
            let got = output.dispatch_o;
            vec![
                ("dispatch_o.kind", got.kind.code(), opcode),
                ("dispatch_o.request", got.request.get(), request),
                ("dispatch_o.head", got.head.get(), head),
                ("dispatch_o.row", got.row.into(), row),
                ("dispatch_o.place", got.place.get(), place),
                ("dispatch_o.column", got.column.into(), column),
                ("dispatch_o.word", got.word.into(), word),
                ("dispatch_o.first", got.first.into(), flags[0].into()),
                ("dispatch_o.last", got.last.into(), flags[1].into()),
                ("dispatch_o.opens", got.opens.into(), flags[2].into()),
                ("dispatch_o.tokens", got.tokens.get(), tokens),
            ]
        }
        What::End(status, address, _) => {
            let got = output.end_o;
            let mut fields = vec![("end_o.status", got.status.code(), *status)];
            fields.extend(address.map(|it| ("end_o.address", got.address.get(), it)));
            fields
        }
    }
}
