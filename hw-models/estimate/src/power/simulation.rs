// SPDX-License-Identifier: MIT
//! A netlist clock by clock, its transitions counted.
//!
//! A clock begins with its rising edge, which is that of gated clocks too where it passes: flip-flops
//! take what was at their inputs before it, and the ports change at the same time. Then transitions go
//! through the logic until all is still, however long that takes. The clock falls at half its period;
//! but what the falling edge triggers takes what is there when all is still, as in a period that is long
//! enough for the logic. Then that goes through the logic, and the outputs are what the model's are in
//! that clock.
//!
//! A gated clock that changes at any other time than the port's would make edges of its own: an error.
//!
//! **Delays are inertial**: a gate is evaluated once for all inputs that change at a time; where that
//! gives another value than is due already, what is due is dropped, and the new value comes a delay
//! later. So a pulse that is shorter than the delay of a gate does not pass it, and a longer one is a
//! glitch that counts. Without delays each net changes once in a clock at the most.

use super::design::Gates;
use super::function::Truth;
use super::netlist::{Net, ONE};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// Clocks.
    pub clocks: u64,
    /// Transitions of each net.
    pub toggles: Vec<u64>,
    /// Those clocks of each in which it ended otherwise than it began.
    pub settled: Vec<u64>,
    /// Transitions that take an energy, as [`Gates::energies_fj`] has them.
    pub energies: Vec<u64>,
    /// Leakage in nW, summed up over the clocks.
    pub leakage_nw: f64,
    /// Time in ps until all was still after flip-flops took their inputs, at the most.
    pub still_ps: u64,
}

impl Counts {
    /// Nothing counted.
    pub fn new(design: &Gates) -> Self {
        Self {
            clocks: 0,
            toggles: vec![0; design.nets.len()],
            settled: vec![0; design.nets.len()],
            energies: vec![0; design.energies_fj.len()],
            leakage_nw: 0.0,
            still_ps: 0,
        }
    }
}

/// What is due at a net.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    /// Counts what was due at the net; events with an older number have been dropped.
    number: u32,
    is_due: bool,
    value: bool,
    /// The gate and its input that made it so.
    cause: (u32, u8),
    /// Which of the gate's outputs it is.
    output: u8,
}

/// A netlist under simulation.
pub struct Simulation<'a> {
    design: &'a Gates<'a>,
    values: Vec<bool>,
    /// Of each gate, the bits of its inputs and of its register.
    states: Vec<u32>,
    /// Of each gate, the inputs that have changed since it was evaluated.
    changed: Vec<u32>,
    /// The gates of which some have, by level; all at the first where there are delays.
    touched: Vec<Vec<u32>>,
    has_delays: bool,
    due: Vec<Due>,
    /// What is due: time, net and number.
    events: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Nets that have changed in this clock, an odd number of times or an even one.
    moved: Vec<u32>,
    is_odd: Vec<bool>,
    is_moved: Vec<bool>,
    /// Leakage in nW of the gates whose leakage does not depend on their state.
    constant_nw: f64,
    /// Gates whose leakage does.
    leaks: Vec<usize>,
    /// Time from the edge on until which the clock is high, in ps.
    high_ps: u64,
    /// The flip-flops that an edge of their clocks has triggered, and that have not taken their inputs.
    triggered: Vec<u32>,
    /// A gated clock that changed, or would have, without the port's.
    glitch: Option<Net>,
}

impl<'a> Simulation<'a> {
    /// A netlist that has been reset, with all inputs 0 and in the midst of a clock. The clock is high for
    /// `high_ps`; where energies depend on it, this matters.
    pub fn new(design: &'a Gates<'a>, high_ps: u64) -> Self {
        let depends = |n: &usize| {
            design.gates[*n].cell.leakage_nw.first().is_some_and(|(when, _)| when.is_some())
        };
        let (leaks, constant): (Vec<_>, Vec<_>) = (0..design.gates.len()).partition(depends);
        let leakage = |n: usize| design.gates[n].cell.leakage_nw.first().map_or(0.0, |(_, nw)| *nw);
        let mut simulation = Self {
            design,
            values: vec![false; design.nets.len()],
            states: vec![0; design.gates.len()],
            changed: vec![0; design.gates.len()],
            touched: vec![Vec::new(); design.levels.max(1)],
            has_delays: false,
            due: vec![Due::default(); design.nets.len()],
            events: BinaryHeap::new(),
            moved: Vec::new(),
            is_odd: vec![false; design.nets.len()],
            is_moved: vec![false; design.nets.len()],
            constant_nw: constant.into_iter().map(leakage).sum(),
            leaks,
            high_ps,
            triggered: Vec::new(),
            glitch: None,
        };
        simulation.reset();
        simulation
    }

    fn reset(&mut self) {
        let mut none = None;
        self.set(ONE, true, &mut none);
        self.set(self.design.clock, true, &mut none);
        for (n, gate) in self.design.gates.iter().enumerate() {
            if gate.cell.register.is_none() {
                self.touch(n, u32::MAX);
            }
        }
        self.settle(&mut none);
        // What clears or sets one register may hang on another.
        for _ in 0..2 {
            let is_register = |n: &u32| self.design.gates[*n as usize].cell.register.is_some();
            let registers = (0..self.design.gates.len() as u32).filter(is_register);
            self.take(registers.collect(), true);
            self.settle(&mut none);
        }
        if let Some(reset) = self.design.reset {
            self.set(reset, true, &mut none);
            self.settle(&mut none);
        }
        self.forget_moved(&mut none);
        // None of this was an edge.
        self.triggered.clear();
        self.glitch = None;
    }

    /// The value of a net.
    pub fn value(&self, net: Net) -> bool {
        self.values[net]
    }

    /// A gated clock that has changed without the port's: what has been simulated means nothing.
    pub fn glitch(&self) -> Option<Net> {
        self.glitch
    }

    /// One clock without delays, not counted unless `counts` are given. `inputs` says what the bits of
    /// the ports become.
    pub fn settle_clock(
        &mut self,
        inputs: impl Iterator<Item = (Net, bool)>,
        counts: Option<&mut Counts>,
    ) {
        let mut counts = counts;
        self.begin(inputs, &mut counts);
        self.settle(&mut counts);
        self.edge(false, &mut counts);
        self.take_triggered();
        self.settle(&mut counts);
        self.end(&mut counts);
    }

    /// One clock with the delays of the design; counted.
    pub fn delayed_clock(
        &mut self,
        inputs: impl Iterator<Item = (Net, bool)>,
        counts: &mut Counts,
    ) {
        let mut counts = Some(counts);
        self.has_delays = true;
        self.begin(inputs, &mut counts);
        self.evaluate_touched(0);
        self.run(0, self.high_ps, &mut counts);
        self.edge(false, &mut counts);
        self.evaluate_touched(self.high_ps);
        let still_ps = self.run(0, u64::MAX, &mut counts);
        if !self.triggered.is_empty() {
            let from_ps = still_ps.max(self.high_ps);
            self.take_triggered();
            self.evaluate_touched(from_ps);
            self.run(from_ps, u64::MAX, &mut counts);
        }
        self.has_delays = false;
        self.end(&mut counts);
    }

    /// Lets happen what is due before `until_ps`; returns when the last of it was, `from_ps` where nothing
    /// was. It is still so long after `from_ps`, when flip-flops took their inputs.
    fn run(&mut self, from_ps: u64, until_ps: u64, counts: &mut Option<&mut Counts>) -> u64 {
        let mut last_ps = from_ps;
        while let Some(&Reverse((now, ..))) = self.events.peek()
            && now < until_ps
        {
            while self.events.peek().is_some_and(|event| event.0.0 == now)
                && let Some(Reverse((_, net, number))) = self.events.pop()
            {
                let due = &mut self.due[net as usize];
                if due.is_due && due.number == number {
                    due.is_due = false;
                    let due = *due;
                    last_ps = now;
                    self.count_output(due, counts);
                    self.set(net as usize, due.value, counts);
                }
            }
            self.evaluate_touched(now);
        }
        if let Some(counts) = counts {
            counts.still_ps = counts.still_ps.max(last_ps - from_ps);
        }
        last_ps
    }

    /// The rising edge, unless the clock is high already as it is after the reset, and the ports.
    fn begin(
        &mut self,
        inputs: impl Iterator<Item = (Net, bool)>,
        counts: &mut Option<&mut Counts>,
    ) {
        self.edge(true, counts);
        self.take_triggered();
        inputs.for_each(|(net, value)| self.set(net, value, counts));
    }

    /// An edge of the clock's port, and of the clocks behind it. Flip-flops are triggered, and take nothing
    /// yet.
    fn edge(&mut self, is_rising: bool, counts: &mut Option<&mut Counts>) {
        let design = self.design;
        self.set(design.clock, is_rising, counts);
        for &n in &design.clock_gates {
            if self.changed[n] != 0 {
                self.evaluate(n, counts);
            }
        }
    }

    fn take_triggered(&mut self) {
        let triggered = std::mem::take(&mut self.triggered);
        self.triggered = self.take(triggered, false);
    }

    /// What the flip-flops take becomes due: what clears or sets them, and unless it is the reset what is
    /// at their inputs. Returns the list, empty.
    fn take(&mut self, mut registers: Vec<u32>, is_reset: bool) -> Vec<u32> {
        let design = self.design;
        for n in registers.drain(..) {
            let gate = &design.gates[n as usize];
            let Some(register) = &gate.cell.register else { continue };
            let state = self.states[n as usize];
            let holds = |truth: &Option<Truth>| truth.as_ref().is_some_and(|truth| truth.at(state));
            let value = match (holds(&register.clear), holds(&register.preset)) {
                (true, _) => false,
                (false, true) => true,
                _ if is_reset => state & gate.register_bit() != 0,
                _ => register.next.at(state),
            };
            let is_same = (state & gate.register_bit() != 0) == value;
            if !is_same {
                self.states[n as usize] ^= gate.register_bit();
            }
            if !is_same || is_reset {
                self.touch(n as usize, 1 << register.clock);
            }
        }
        registers
    }

    fn touch(&mut self, gate: usize, inputs: u32) {
        if self.changed[gate] == 0 {
            let level = if self.has_delays { 0 } else { self.design.gates[gate].level };
            self.touched[level].push(gate as u32);
        }
        self.changed[gate] |= inputs;
    }

    /// Sets a net and tells those that it goes to.
    fn set(&mut self, net: Net, value: bool, counts: &mut Option<&mut Counts>) {
        if self.values[net] == value {
            return;
        }
        self.values[net] = value;
        if let Some(counts) = counts {
            counts.toggles[net] += 1;
            self.is_odd[net] ^= true;
            if !std::mem::replace(&mut self.is_moved[net], true) {
                self.moved.push(net as u32);
            }
        }
        let design = self.design;
        for &(gate, input) in &design.nets[net].sinks {
            let (n, of) = (gate as usize, &design.gates[gate as usize]);
            let pin = &of.cell.inputs[usize::from(input)];
            if let (Some(counts), false) = (counts.as_deref_mut(), pin.energies.is_empty()) {
                let state = self.states[n];
                if let Some(energy) = pin.energies.iter().find(|energy| energy.holds(state)) {
                    counts.energies[of.energies + 2 * energy.number + usize::from(value)] += 1;
                }
            }
            self.states[n] ^= 1 << input;
            match &of.cell.register {
                None => self.touch(n, 1 << input),
                Some(register) if register.clock == usize::from(input) => {
                    if register.is_rising == value {
                        self.triggered.push(gate);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// The energy of a transition of an output.
    fn count_output(&self, due: Due, counts: &mut Option<&mut Counts>) {
        let Some(counts) = counts else { return };
        let (gate, input) = due.cause;
        let gate = gate as usize;
        let of = &self.design.gates[gate];
        let energies = &of.cell.outputs[usize::from(due.output)].energies;
        let state = self.states[gate];
        let mut energies = energies.iter().filter(|energy| energy.is_of(input.into()));
        if let Some(energy) = energies.find(|energy| energy.holds(state)) {
            counts.energies[of.energies + 2 * energy.number + usize::from(due.value)] += 1;
        }
    }

    /// Evaluates what was touched, level by level, without delays.
    fn settle(&mut self, counts: &mut Option<&mut Counts>) {
        for level in 0..self.touched.len() {
            let mut touched = std::mem::take(&mut self.touched[level]);
            for gate in touched.drain(..) {
                let moved = self.evaluate(gate as usize, counts);
                self.changed[gate as usize] = 0;
                self.glitch = self.glitch.or(moved.filter(|net| self.design.nets[*net].is_clock));
            }
            // A gate touches none of its own level, nor one that is over.
            self.touched[level] = touched;
        }
    }

    /// Sets the outputs of a gate, without delays. Returns one that has changed.
    fn evaluate(&mut self, n: usize, counts: &mut Option<&mut Counts>) -> Option<Net> {
        let gate = &self.design.gates[n];
        let cause = (n as u32, self.changed[n].trailing_zeros() as u8);
        let mut moved = None;
        for (number, (output, net)) in gate.cell.outputs.iter().zip(&gate.outputs).enumerate() {
            let Some(net) = *net else { continue };
            let value = output.function.at(self.states[n]);
            if self.values[net] != value {
                let output = number as u8;
                self.count_output(Due { value, cause, output, ..Due::default() }, counts);
                self.set(net, value, counts);
                moved = Some(net);
            }
        }
        moved
    }

    /// Evaluates what was touched: what comes of it is due later.
    fn evaluate_touched(&mut self, now_ps: u64) {
        let design = self.design;
        let mut touched = std::mem::take(&mut self.touched[0]);
        for gate in touched.drain(..) {
            let n = gate as usize;
            let cause = (gate, std::mem::take(&mut self.changed[n]).trailing_zeros() as u8);
            let of = &design.gates[n];
            for (number, (output, net)) in of.cell.outputs.iter().zip(&of.outputs).enumerate() {
                let Some(net) = *net else { continue };
                let value = output.function.at(self.states[n]);
                if design.nets[net].is_clock {
                    // It follows the port's edges at once.
                    let is_glitch = value != self.values[net];
                    self.glitch = self.glitch.or(is_glitch.then_some(net));
                    continue;
                }
                let due = &mut self.due[net];
                if due.is_due && due.value == value {
                    continue;
                }
                due.is_due = value != self.values[net];
                if due.is_due {
                    let number_of_event = due.number.wrapping_add(1);
                    let output = number as u8;
                    *due = Due { number: number_of_event, is_due: true, value, cause, output };
                    let delay = design.nets[net].delay_ps[usize::from(value)];
                    let event = (now_ps + u64::from(delay), net as u32, number_of_event);
                    self.events.push(Reverse(event));
                }
            }
        }
        self.touched[0] = touched;
    }

    /// The end of a clock.
    fn end(&mut self, counts: &mut Option<&mut Counts>) {
        self.forget_moved(counts);
        let Some(counts) = counts else { return };
        counts.clocks += 1;
        let leaks = self.leaks.iter().map(|&n| {
            let leakage = &self.design.gates[n].cell.leakage_nw;
            let holds =
                |when: &Option<Truth>| when.as_ref().is_none_or(|when| when.at(self.states[n]));
            leakage.iter().find(|(when, _)| holds(when)).map_or(0.0, |(_, nw)| *nw)
        });
        counts.leakage_nw += self.constant_nw + leaks.sum::<f64>();
    }

    fn forget_moved(&mut self, counts: &mut Option<&mut Counts>) {
        for net in self.moved.drain(..) {
            let net = net as usize;
            self.is_moved[net] = false;
            if std::mem::take(&mut self.is_odd[net])
                && let Some(counts) = counts
            {
                counts.settled[net] += 1;
            }
        }
    }
}
