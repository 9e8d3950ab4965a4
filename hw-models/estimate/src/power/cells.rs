// SPDX-License-Identifier: MIT
//! The cells of a library as a simulation and its energy need them: functions, capacitances, delays,
//! energies and leakage. In fF, ps, fJ and nW, whatever the units of the library are.

use super::function::{Function, MOST_VARIABLES, Truth};
use super::liberty::{self, Units};
use super::table::Table;
use crate::liberty::Library;
use liberty_parser::liberty::Group;
use std::collections::BTreeMap;

/// The cells of a library.
#[derive(Clone, Debug)]
pub struct Cells {
    /// Supply in V.
    pub volts: f64,
    /// The cells by name; of those that cannot be simulated, why.
    pub cells: BTreeMap<String, Result<Cell, String>>,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Input pins. A state of the cell has a bit for each of them, the first in bit 0, and the bit of a
    /// flip-flop's register behind them.
    pub inputs: Vec<Input>,
    /// Output pins.
    pub outputs: Vec<Output>,
    /// What it holds.
    pub register: Option<Register>,
    /// Leakage in nW, each where its condition holds; the first that does.
    pub leakage_nw: Vec<(Option<Truth>, f64)>,
    /// How many energies its pins have together; see [`Energy::number`].
    pub energies: usize,
}

/// An input pin.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its capacitance in fF.
    pub capacitance_ff: f64,
    /// What a transition of it takes, whatever the outputs do.
    pub energies: Vec<Energy>,
}

/// An output pin.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its function of the cell's state.
    pub function: Truth,
    /// Delays from inputs.
    pub delays: Vec<Delay>,
    /// What a transition of it takes.
    pub energies: Vec<Energy>,
}

/// A flip-flop's register: one edge of one clock.
#[derive(Clone, Debug)]
pub struct Register {
    /// The input that is its clock.
    pub clock: usize,
    /// Whether it is the rising edge that counts.
    pub is_rising: bool,
    /// What it takes with the edge.
    pub next: Truth,
    /// Where it is cleared at once.
    pub clear: Option<Truth>,
    /// Where it is set at once.
    pub preset: Option<Truth>,
}

/// Delay from an input to an output.
#[derive(Clone, Debug)]
pub struct Delay {
    /// The input.
    pub input: usize,
    /// How the output's edges come from the input's.
    pub sense: Sense,
    /// Delay and slew in ps where the output falls and where it rises.
    pub edges: [Option<(Table, Table)>; 2],
}

/// Which edge of an input makes an edge of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// The same.
    Positive,
    /// The other.
    Negative,
    /// Either.
    Both,
}

/// Energy of a transition.
#[derive(Clone, Debug)]
pub struct Energy {
    /// Its number among those of the cell.
    pub number: usize,
    /// The inputs that are the cause, for an output; all where none is named.
    pub inputs: Vec<usize>,
    /// Where it holds.
    pub when: Option<Truth>,
    /// fJ where the pin falls and where it rises.
    pub edges: [Option<Table>; 2],
}

impl Energy {
    /// Whether it holds for a transition that `input` caused.
    pub fn is_of(&self, input: usize) -> bool {
        self.inputs.is_empty() || self.inputs.contains(&input)
    }

    /// Whether it holds in a state.
    pub fn holds(&self, state: u32) -> bool {
        self.when.as_ref().is_none_or(|when| when.at(state))
    }
}

impl Cells {
    /// The cells of a library.
    pub fn of(library: &Library) -> Result<Self, String> {
        Self::read(std::str::from_utf8(&library.text).map_err(|_| "expected UTF-8")?)
    }

    /// Reads the cells of a library's text. Only of what is used must be known how it works: a cell that is not
    /// understood is kept with the reason.
    pub fn read(text: &str) -> Result<Self, String> {
        let library = liberty::library(text)?;
        let units = Units::read(&library)?;
        let read = |cell: &Group| (cell.name.clone(), Reader { units: &units, cell }.read());
        Ok(Self { volts: units.volts, cells: library.iter_cells().map(read).collect() })
    }
}

/// Reads a cell.
struct Reader<'a> {
    units: &'a Units,
    cell: &'a Group,
}

impl Reader<'_> {
    fn read(&self) -> Result<Cell, String> {
        let kinds = ["latch", "latch_bank", "ff_bank", "statetable", "bus", "bundle", "test_cell"];
        if let Some(kind) =
            self.cell.iter_subgroups().find(|group| kinds.contains(&group.type_.as_str()))
        {
            return Err(format!("expected logic or a flip-flop, found {}", kind.type_));
        }
        let pins = |direction| {
            let is_so = move |pin: &&Group| liberty::word(pin, "direction") == Some(direction);
            self.cell.iter_pins().filter(is_so).collect::<Vec<_>>()
        };
        let (inputs, outputs) = (pins("input"), pins("output"));
        if inputs.len() + outputs.len() != self.cell.iter_pins().count() {
            return Err("expected pins that are input or output".to_owned());
        }
        if inputs.len() >= MOST_VARIABLES {
            return Err(format!("expected fewer than {MOST_VARIABLES} inputs"));
        }
        let names: Vec<&str> = inputs.iter().map(|pin| pin.name.as_str()).collect();
        let flip_flop = self.flip_flop()?;
        let register = |name: &str| {
            let [own, inverted] = flip_flop.as_ref()?.names;
            let register = Function::Variable(names.len());
            match name {
                _ if name == own => Some(register),
                _ if name == inverted => Some(Function::Not(register.into())),
                _ => None,
            }
        };
        let input = |name: &str| {
            names.iter().position(|n| *n == name).map(Function::Variable).or_else(|| register(name))
        };
        let mut formulas = BTreeMap::new();
        for pin in &outputs {
            let has = |name| pin.simple_attribute(name).is_some();
            if has("three_state") {
                return Err(format!("pin {}: expected no three_state", pin.name));
            }
            let text = liberty::word(pin, "function")
                .ok_or_else(|| format!("pin {}: expected a function", pin.name))?;
            formulas.insert(pin.name.clone(), Function::parse(text, &input)?);
        }
        // Conditions may name outputs as well.
        let any = |name: &str| input(name).or_else(|| formulas.get(name).cloned());
        let variables = names.len() + usize::from(flip_flop.is_some());
        let truth = |text: &str| Ok(Truth::of(&Function::parse(text, &any)?, variables));

        let mut energies = 0;
        let mut of_inputs = Vec::new();
        for pin in &inputs {
            of_inputs.push(Input {
                name: pin.name.clone(),
                capacitance_ff: self.units.capacitance_ff(pin)?,
                energies: self.energies(pin, &names, &truth, &mut energies)?,
            });
        }
        let mut of_outputs = Vec::new();
        for pin in &outputs {
            of_outputs.push(Output {
                name: pin.name.clone(),
                function: Truth::of(&formulas[&pin.name], variables),
                delays: self.delays(pin, &names)?,
                energies: self.energies(pin, &names, &truth, &mut energies)?,
            });
        }
        let register = match &flip_flop {
            None => None,
            Some(flip_flop) => {
                let clock = Function::parse(flip_flop.clock, &input)?;
                let (clock, is_rising) = edge_of(&clock, names.len()).ok_or_else(|| {
                    let found = flip_flop.clock;
                    format!("expected an edge of an input, found clocked_on {found}")
                })?;
                Some(Register {
                    clock,
                    is_rising,
                    next: truth(flip_flop.next)?,
                    clear: flip_flop.clear.map(truth).transpose()?,
                    preset: flip_flop.preset.map(truth).transpose()?,
                })
            }
        };
        let leakage_nw = self.leakage(&truth)?;
        Ok(Cell { inputs: of_inputs, outputs: of_outputs, register, leakage_nw, energies })
    }

    fn flip_flop(&self) -> Result<Option<FlipFlop<'_>>, String> {
        let mut groups = self.cell.iter_subgroups_of_type("ff");
        let Some(group) = groups.next() else { return Ok(None) };
        let mut names = group.name.split(',').map(|name| name.trim().trim_matches('"'));
        let text =
            |name: &str| liberty::word(group, name).ok_or_else(|| format!("ff: expected {name}"));
        Ok(Some(FlipFlop {
            names: [names.next().unwrap_or_default(), names.next().unwrap_or_default()],
            clock: text("clocked_on")?,
            next: text("next_state")?,
            clear: liberty::word(group, "clear"),
            preset: liberty::word(group, "preset"),
        }))
    }

    fn energies(
        &self,
        pin: &Group,
        names: &[&str],
        truth: &dyn Fn(&str) -> Result<Truth, String>,
        count: &mut usize,
    ) -> Result<Vec<Energy>, String> {
        let mut energies = Vec::new();
        for group in pin.iter_subgroups_of_type("internal_power") {
            let related = related_inputs(group, names);
            let table = |name| match group.iter_subgroups_of_type(name).next() {
                Some(table) => self.units.energy_fj(table).map(Some),
                None => Ok(None),
            };
            let both = table("power")?;
            let edges = [
                table("fall_power")?.or_else(|| both.clone()),
                table("rise_power")?.or_else(|| both.clone()),
            ];
            let when = liberty::word(group, "when").map(truth).transpose()?;
            energies.push(Energy { number: *count, inputs: related, when, edges });
            *count += 1;
        }
        // Where a condition holds it goes before what holds otherwise.
        energies.sort_by_key(|energy| energy.when.is_none());
        Ok(energies)
    }

    fn delays(&self, pin: &Group, names: &[&str]) -> Result<Vec<Delay>, String> {
        let mut delays = Vec::new();
        for group in pin.iter_subgroups_of_type("timing") {
            let kind = liberty::word(group, "timing_type").unwrap_or("combinational");
            if !["combinational", "rising_edge", "falling_edge"].contains(&kind) {
                continue;
            }
            let sense = match liberty::word(group, "timing_sense") {
                Some("positive_unate") if kind == "combinational" => Sense::Positive,
                Some("negative_unate") if kind == "combinational" => Sense::Negative,
                _ => Sense::Both,
            };
            let edge = |delay, slew| {
                let table = |name| group.iter_subgroups_of_type(name).next();
                let (Some(delay), Some(slew)) = (table(delay), table(slew)) else {
                    return Ok(None);
                };
                let [delay, slew] = [self.units.time_ps(delay)?, self.units.time_ps(slew)?];
                Ok::<_, String>(Some((delay, slew)))
            };
            let edges =
                [edge("cell_fall", "fall_transition")?, edge("cell_rise", "rise_transition")?];
            for input in related_inputs(group, names) {
                delays.push(Delay { input, sense, edges: edges.clone() });
            }
        }
        Ok(delays)
    }

    fn leakage(
        &self,
        truth: &dyn Fn(&str) -> Result<Truth, String>,
    ) -> Result<Vec<(Option<Truth>, f64)>, String> {
        let mut leakage = Vec::new();
        for group in self.cell.iter_subgroups_of_type("leakage_power") {
            let when = liberty::word(group, "when").map(truth).transpose()?;
            if let Some(value) = liberty::number(group, "value") {
                leakage.push((when, value * self.units.leakage_nw));
            }
        }
        leakage.sort_by_key(|(when, _)| when.is_none());
        let value = liberty::number(self.cell, "cell_leakage_power")
            .or(self.units.default_leakage)
            .map(|value| (None, value * self.units.leakage_nw));
        leakage.extend(value);
        Ok(leakage)
    }
}

/// A flip-flop's group.
struct FlipFlop<'a> {
    /// Of its register and of the register's inverse.
    names: [&'a str; 2],
    clock: &'a str,
    next: &'a str,
    clear: Option<&'a str>,
    preset: Option<&'a str>,
}

/// The input whose edge a flip-flop's clock is, and whether that is the rising one.
fn edge_of(clock: &Function, inputs: usize) -> Option<(usize, bool)> {
    match clock {
        Function::Variable(input) if *input < inputs => Some((*input, true)),
        Function::Not(inverted) => edge_of(inverted, inputs).map(|(input, is)| (input, !is)),
        _ => None,
    }
}

/// The inputs among the related pins.
fn related_inputs(group: &Group, names: &[&str]) -> Vec<usize> {
    let related = liberty::word(group, "related_pin").unwrap_or_default();
    let related = related.split_whitespace();
    related.filter_map(|name| names.iter().position(|n| *n == name)).collect()
}
