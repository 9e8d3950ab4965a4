// SPDX-License-Identifier: MIT
//! A netlist together with its cells: who drives and who loads each net, how long each output takes and
//! what its transitions cost.
//!
//! There is no layout: a net's load are the pins that it goes to, and a given capacitance for each of
//! them. Slews go from the ports, where they are given, through the tables, the longest of an output's
//! inputs as in timing analysis. **An output has one delay for each edge: the mean over its inputs**, in
//! ps, 1 at least; a flip-flop's is that from its clock.
//!
//! **Clocks** are the clock's port and the outputs of the gates behind it, as far as logic goes. A clock
//! is taken as a layout makes it: its tree's buffers give it the slew of the port, and bring each edge to
//! all flip-flops, gated or not, at the same time. So a clock has no delay.

use super::cells::{Cell, Cells, Delay, Energy, Sense};
use super::netlist::{Instance, Net, Netlist, ONE, ZERO};
use super::table::Beyond;
use super::{CLOCK, Delays, RESET};
use crate::liberty::Library;
use std::collections::{BTreeMap, BTreeSet};

/// A netlist that can be simulated.
pub struct Gates<'a> {
    /// The netlist.
    pub netlist: &'a Netlist,
    /// What is instantiated.
    pub gates: Vec<Gate<'a>>,
    /// Nets by number.
    pub nets: Vec<Wire>,
    /// Input ports but clock and reset.
    pub inputs: Vec<(&'a str, &'a [Net])>,
    /// The clock.
    pub clock: Net,
    /// The gates in it, drivers first.
    pub clock_gates: Vec<usize>,
    /// The reset, if there is one.
    pub reset: Option<Net>,
    /// Levels of logic.
    pub levels: usize,
    /// Supply in V.
    pub volts: f64,
    /// Energy in fJ of each transition that has one; see [`Gate::energies`].
    pub energies_fj: Vec<f64>,
    /// Area in gate equivalents.
    pub ge: f64,
}

/// An instance of a cell.
pub struct Gate<'a> {
    /// Its cell.
    pub cell: &'a Cell,
    /// The nets of its inputs.
    pub inputs: Vec<Net>,
    /// The nets of its outputs, if they go anywhere.
    pub outputs: Vec<Option<Net>>,
    /// Its level: behind those of its inputs. Flip-flops alone are on level 0.
    pub level: usize,
    /// Where its energies begin: two for each of the cell's, fall and rise.
    pub energies: usize,
}

impl Gate<'_> {
    /// The bit of the register in its state.
    pub fn register_bit(&self) -> u32 {
        1 << self.inputs.len()
    }
}

/// A net.
#[derive(Clone, Debug, Default)]
pub struct Wire {
    /// The pins that it goes to: gate and input.
    pub sinks: Vec<(u32, u8)>,
    /// Its load in fF.
    pub load_ff: f64,
    /// Delay of its driver in ps, where it falls and where it rises; none of a clock.
    pub delay_ps: [u32; 2],
    /// Slew in ps likewise.
    slew_ps: [f64; 2],
    /// Whether it is a clock: the port, or a gate's output behind it.
    pub is_clock: bool,
}

/// What is assumed where there is no layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surroundings {
    /// Slew of clock and ports in ps.
    pub slew_ps: f64,
    /// Capacitance of a wire in fF, for each pin that it goes to.
    pub wire_ff: f64,
}

impl<'a> Gates<'a> {
    /// Joins a netlist and its cells.
    pub fn new(
        netlist: &'a Netlist,
        cells: &'a Cells,
        library: &Library,
        delays: Delays,
        surroundings: Surroundings,
    ) -> Result<Self, String> {
        let mut nets = vec![Wire::default(); netlist.nets.len()];
        let port = |name| netlist.inputs.iter().find(|(port, _)| port == name).map(|(_, b)| b[0]);
        let clock = port(CLOCK).ok_or_else(|| format!("expected a port {CLOCK}"))?;
        let is_data = |(name, _): &&(String, Vec<Net>)| name != CLOCK && name != RESET;
        let inputs = netlist.inputs.iter().filter(is_data);
        let inputs = inputs.map(|(name, bits)| (name.as_str(), bits.as_slice())).collect();
        let mut gates = Vec::with_capacity(netlist.instances.len());
        let mut driven: BTreeSet<Net> =
            netlist.inputs.iter().flat_map(|(_, bits)| bits).copied().chain([ZERO, ONE]).collect();
        let mut energies = 0;
        let mut ge = 0.0;
        for instance in &netlist.instances {
            let cell = match cells.cells.get(&instance.cell) {
                Some(Ok(cell)) => cell,
                Some(Err(why)) => return Err(format!("cell {}: {why}", instance.cell)),
                None => return Err(format!("cell {}: not in the library", instance.cell)),
            };
            let gate = Gate { energies, ..connect(instance, cell)? };
            for net in gate.outputs.iter().flatten() {
                if !driven.insert(*net) {
                    return Err(format!("net {}: driven twice", netlist.nets[*net]));
                }
            }
            for (input, net) in gate.inputs.iter().enumerate() {
                nets[*net].sinks.push((gates.len() as u32, input as u8));
                nets[*net].load_ff += cell.inputs[input].capacitance_ff + surroundings.wire_ff;
            }
            energies += 2 * cell.energies;
            let area = library.cells.get(&instance.cell).map_or(0.0, |info| info.area_um2);
            ge += area / library.nand2_um2;
            gates.push(gate);
        }
        let mut design = Self {
            netlist,
            gates,
            nets,
            inputs,
            clock,
            clock_gates: Vec::new(),
            reset: port(RESET),
            levels: 0,
            volts: cells.volts,
            energies_fj: vec![0.0; energies],
            ge,
        };
        design.check_power()?;
        let order = design.level()?;
        design.find_clocks(&order)?;
        design.set_delays(&order, delays, surroundings)?;
        design.set_energies();
        Ok(design)
    }

    /// Energies and leakage must be there for a figure to mean anything.
    fn check_power(&self) -> Result<(), String> {
        let has = |f: &dyn Fn(&Cell) -> bool| self.gates.iter().any(|gate| f(gate.cell));
        if !has(&|cell| cell.energies > 0) {
            return Err("expected internal_power of the cells".to_owned());
        }
        if !has(&|cell| !cell.leakage_nw.is_empty()) {
            return Err("expected cell_leakage_power or leakage_power of the cells".to_owned());
        }
        Ok(())
    }

    /// Gives each gate its level; returns the gates in an order in which drivers come first.
    fn level(&mut self) -> Result<Vec<usize>, String> {
        let is_logic = |gate: &Gate| gate.cell.register.is_none();
        let mut missing: Vec<usize> = vec![0; self.gates.len()];
        let mut driver = BTreeMap::new();
        for (n, gate) in self.gates.iter().enumerate() {
            driver.extend(gate.outputs.iter().flatten().map(|net| (*net, n)));
        }
        for (n, gate) in self.gates.iter().enumerate().filter(|(_, gate)| is_logic(gate)) {
            let drivers = gate.inputs.iter().filter_map(|net| driver.get(net));
            missing[n] = drivers.filter(|driver| is_logic(&self.gates[**driver])).count();
        }
        let mut order: Vec<usize> =
            (0..self.gates.len()).filter(|n| !is_logic(&self.gates[*n])).collect();
        order.extend(
            (0..self.gates.len()).filter(|n| is_logic(&self.gates[*n]) && missing[*n] == 0),
        );
        let mut next = 0;
        while let Some(&n) = order.get(next) {
            next += 1;
            let level = self.gates[n].level;
            self.levels = self.levels.max(level + 1);
            if !is_logic(&self.gates[n]) {
                continue;
            }
            let outputs: Vec<Net> = self.gates[n].outputs.iter().flatten().copied().collect();
            for net in outputs {
                for (sink, _) in &self.nets[net].sinks {
                    let sink = *sink as usize;
                    let gate = &mut self.gates[sink];
                    if gate.cell.register.is_some() {
                        continue;
                    }
                    gate.level = gate.level.max(level + 1);
                    missing[sink] -= 1;
                    if missing[sink] == 0 {
                        order.push(sink);
                    }
                }
            }
        }
        match (0..self.gates.len()).find(|n| missing[*n] > 0) {
            None => Ok(order),
            Some(n) => {
                let name = &self.netlist.instances[n].name;
                Err(format!("{name}: expected logic without a loop"))
            }
        }
    }

    /// Follows the clock through logic to the flip-flops.
    fn find_clocks(&mut self, order: &[usize]) -> Result<(), String> {
        self.nets[self.clock].is_clock = true;
        for &n in order {
            let gate = &self.gates[n];
            let of_clock = |net: &Net| self.nets[*net].is_clock;
            if gate.cell.register.is_none() && gate.inputs.iter().any(of_clock) {
                self.clock_gates.push(n);
                gate.outputs.iter().flatten().for_each(|net| self.nets[*net].is_clock = true);
            }
        }
        let has_none = |gate: &Gate| {
            let register = gate.cell.register.as_ref();
            register.is_some_and(|register| !self.nets[gate.inputs[register.clock]].is_clock)
        };
        match self.gates.iter().position(has_none) {
            None => Ok(()),
            Some(n) => {
                let name = &self.netlist.instances[n].name;
                Err(format!("{name}: expected its clock from the port {CLOCK}"))
            }
        }
    }

    fn set_delays(
        &mut self,
        order: &[usize],
        delays: Delays,
        surroundings: Surroundings,
    ) -> Result<(), String> {
        for wire in &mut self.nets {
            wire.slew_ps = [surroundings.slew_ps; 2];
            wire.delay_ps = [u32::from(!wire.is_clock); 2];
        }
        for &n in order {
            let gate = &self.gates[n];
            for (output, net) in gate.cell.outputs.iter().zip(&gate.outputs) {
                let Some(net) = net.filter(|net| !self.nets[*net].is_clock) else { continue };
                for edge in 0..2 {
                    let load_ff = self.nets[net].load_ff;
                    let (mut sum, mut count, mut longest) = (0.0, 0, None::<f64>);
                    for delay in &output.delays {
                        let Some((table, slew)) = &delay.edges[edge] else { continue };
                        let from = self.slew_of(gate.inputs[delay.input], delay, edge);
                        sum += table.at(load_ff, from, Beyond::Straight);
                        count += 1;
                        let slew = slew.at(load_ff, from, Beyond::Straight).max(0.0);
                        longest = Some(longest.map_or(slew, |longest| longest.max(slew)));
                    }
                    if count == 0 && delays == Delays::Liberty && !gate.inputs.is_empty() {
                        let cell = &self.netlist.instances[n].cell;
                        return Err(format!("cell {cell}, pin {}: expected delays", output.name));
                    }
                    let wire = &mut self.nets[net];
                    wire.slew_ps[edge] = longest.unwrap_or(surroundings.slew_ps);
                    if delays == Delays::Liberty && count > 0 {
                        wire.delay_ps[edge] = (sum / f64::from(count)).round().max(1.0) as u32;
                    }
                }
            }
        }
        Ok(())
    }

    /// The slew of the input's edge that makes an edge of the output.
    fn slew_of(&self, input: Net, delay: &Delay, edge: usize) -> f64 {
        let [fall, rise] = self.nets[input].slew_ps;
        match (delay.sense, edge) {
            (Sense::Both, _) => fall.max(rise),
            (Sense::Positive, 1) | (Sense::Negative, 0) => rise,
            _ => fall,
        }
    }

    fn set_energies(&mut self) {
        let mut energies_fj = vec![0.0; self.energies_fj.len()];
        for gate in &self.gates {
            let mut set = |energy: &Energy, edge: usize, load_ff, slew_ps| {
                if let Some(table) = &energy.edges[edge] {
                    energies_fj[gate.energies + 2 * energy.number + edge] =
                        table.at(load_ff, slew_ps, Beyond::Flat);
                }
            };
            for (input, net) in gate.cell.inputs.iter().zip(&gate.inputs) {
                for energy in &input.energies {
                    let slew = self.nets[*net].slew_ps;
                    (0..2).for_each(|edge| set(energy, edge, 0.0, slew[edge]));
                }
            }
            for (output, net) in gate.cell.outputs.iter().zip(&gate.outputs) {
                let Some(net) = *net else { continue };
                let load_ff = self.nets[net].load_ff;
                for energy in &output.energies {
                    for edge in 0..2 {
                        // Of several inputs, the slowest.
                        let slews = output.delays.iter().filter(|d| energy.is_of(d.input));
                        let slews =
                            slews.map(|delay| self.slew_of(gate.inputs[delay.input], delay, edge));
                        set(energy, edge, load_ff, slews.fold(0.0, f64::max));
                    }
                }
            }
        }
        self.energies_fj = energies_fj;
    }

    /// Energy in fJ of a transition of a net, for its load.
    pub fn switching_fj(&self, net: Net) -> f64 {
        0.5 * self.nets[net].load_ff * self.volts * self.volts
    }
}

/// The nets of an instance's pins.
fn connect<'a>(instance: &Instance, cell: &'a Cell) -> Result<Gate<'a>, String> {
    let net = |name: &str| instance.pins.iter().find(|(pin, _)| pin == name).map(|(_, net)| *net);
    let inputs = cell.inputs.iter().map(|pin| {
        let missing = || format!("{}: expected a net at pin {}", instance.name, pin.name);
        net(&pin.name).ok_or_else(missing)
    });
    let inputs = inputs.collect::<Result<_, _>>()?;
    let outputs: Vec<_> = cell.outputs.iter().map(|pin| net(&pin.name)).collect();
    let is_pin = |name: &str| {
        let inputs = cell.inputs.iter().map(|pin| &pin.name);
        inputs.chain(cell.outputs.iter().map(|pin| &pin.name)).any(|pin| pin == name)
    };
    match instance.pins.iter().find(|(pin, _)| !is_pin(pin)) {
        Some((pin, _)) => {
            Err(format!("{}: cell {} has no pin {pin}", instance.name, instance.cell))
        }
        None => Ok(Gate {
            cell,
            inputs,
            outputs,
            level: usize::from(cell.register.is_none()),
            energies: 0,
        }),
    }
}
