// SPDX-License-Identifier: MIT
//! A unit's power: its netlist simulated with delays under the inputs of a real workload, its
//! transitions counted, and what they cost by the library's tables.
//!
//! * [`stimulus`]: the inputs, recorded from the device, by phase, and what the model puts out.
//! * [`netlist`], [`cells`]: what synthesis wrote, and what the library says of its cells.
//! * [`design`]: the two joined: loads, slews, delays, energy of each transition.
//! * [`simulation`]: clock by clock, with inertial delays, so that glitches count.
//! * [`estimate`]: all of it, and the outputs compared with the model's in every clock.
//! * [`export`]: the same simulation for another simulator.
//!
//! Energy has three parts. **Switching**: half C V^2 for each transition of a net, C being the input
//! pins that it goes to and, if given, a capacitance for each of their wires; nets that a port drives
//! are counted with the unit that loads them. **Internal**: `internal_power` of the output that changes,
//! for the input that caused it, and of input pins that have their own (the clock pins above all), by
//! load and slew; tables are not read beyond their ends. **Leakage**: that of the cell, or of its state
//! at the end of each clock where the library tells them apart.
//!
//! What is left out, as there is no layout: wires, unless a capacitance is given; the tree of buffers
//! of the clock, whose load are the flip-flops alone.

pub mod cells;
pub mod design;
pub mod export;
pub mod function;
mod liberty;
pub mod netlist;
pub mod simulation;
pub mod stimulus;
mod store;
pub mod table;
#[cfg(test)]
mod tests;

pub use design::Surroundings;
pub use stimulus::{Phase, Recorder, Stimulus, Tape, Track};
pub use store::Store;

use crate::liberty::Library;
use crate::tools::ToolError;
use cells::Cells;
use design::Gates;
use netlist::{Net, Netlist};
use serde::{Deserialize, Serialize};
use simulation::{Counts, Simulation};
use stimulus::Ports;

/// Name of every unit's clock port.
const CLOCK: &str = "clk_i";
/// Name of its reset.
const RESET: &str = "rst_ni";

/// How long outputs take to follow inputs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Delays {
    /// No time: no glitches.
    Zero,
    /// All the same.
    Unit,
    /// As the library says for load and slew.
    Liberty,
}

/// How power is estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Delays.
    pub delays: Delays,
    /// What is assumed of ports and wires.
    pub surroundings: Surroundings,
    /// Clock period in ns, for mW, and for leakage per clock.
    pub clock_ns: f64,
}

/// Power in mW by what takes it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Power {
    /// Inside the cells.
    pub internal: f64,
    /// Loads of the nets.
    pub switching: f64,
    /// Leakage.
    pub leakage: f64,
}

impl Power {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.internal + self.switching + self.leakage
    }

    /// What depends on transitions.
    pub fn dynamic(&self) -> f64 {
        self.internal + self.switching
    }

    /// So many times as much.
    pub fn times(&self, factor: f64) -> Self {
        let Self { internal, switching, leakage } = self;
        Self {
            internal: internal * factor,
            switching: switching * factor,
            leakage: leakage * factor,
        }
    }

    /// Both.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            internal: self.internal + other.internal,
            switching: self.switching + other.switching,
            leakage: self.leakage + other.leakage,
        }
    }
}

/// Power in a phase.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct PhasePower {
    /// Which.
    pub phase: Phase,
    /// The unit's clocks in the phase of the workload.
    pub clocks: u64,
    /// Those that were simulated with delays and counted.
    pub counted: u64,
    /// Mean power.
    pub power: Power,
    /// Mean energy of a clock in pJ, with what leaks in its period.
    pub pj_per_clock: f64,
    /// Transitions of all nets but clocks, in a clock.
    pub toggles_per_clock: f64,
    /// The part of them that was undone in the same clock.
    pub glitches: f64,
    /// The longest time until all was still after flip-flops took their inputs, in ns; 0 without delays.
    pub still_ns: f64,
}

/// A unit's power.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct UnitPower {
    /// Name of the unit.
    pub unit: String,
    /// Area in gate equivalents.
    pub ge: f64,
    /// Instances of cells.
    pub cells: u64,
    /// The unit's clock in the device, in ns.
    pub device_clock_ns: f64,
    /// Clocks in which the outputs were compared with the model's.
    pub compared: u64,
    /// Power by phase, of those phases that it has clocks in.
    pub phases: Vec<PhasePower>,
}

impl UnitPower {
    /// Power in a phase.
    pub fn phase(&self, phase: Phase) -> Option<&PhasePower> {
        self.phases.iter().find(|of| of.phase == phase)
    }

    /// Mean power over the clocks of the workload, whatever the phase: at the clock of the estimate.
    pub fn mean(&self) -> Power {
        let busy = || self.phases.iter().filter(|phase| phase.phase != Phase::Idle);
        let clocks: u64 = busy().map(|phase| phase.clocks).sum();
        let share = |of: &PhasePower| of.power.times(of.clocks as f64 / clocks.max(1) as f64);
        busy().fold(Power::default(), |sum, of| sum.and(&share(of)))
    }
}

/// Why there is no estimate.
#[derive(Debug, thiserror::Error)]
pub enum PowerError {
    /// A tool is missing, or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The library does not say what is needed.
    #[error("{}: {what}", file.display())]
    Library {
        /// Its file.
        file: std::path::PathBuf,
        /// What is not there.
        what: String,
    },
    /// The netlist is not understood.
    #[error("netlist of {unit}: {what}")]
    Netlist {
        /// The unit.
        unit: String,
        /// What is wrong, and where.
        what: String,
    },
    /// The netlist does not do what the model does.
    #[error(
        "{unit}: netlist and model differ in clock {clock}, port {port}: netlist {netlist}, model \
         {model}"
    )]
    Differs {
        /// The unit.
        unit: String,
        /// The clock.
        clock: usize,
        /// The first output that differs.
        port: &'static str,
        /// The netlist's value.
        netlist: String,
        /// The model's.
        model: String,
    },
}

impl PowerError {
    /// Whether it is a check that failed, and no wrong input.
    pub fn is_difference(&self) -> bool {
        matches!(self, Self::Differs { .. })
    }
}

/// A netlist simulated under a workload.
pub struct Activity<'a> {
    /// The netlist with its cells.
    pub design: Gates<'a>,
    /// What was counted in each phase.
    pub counts: [Counts; Phase::ALL.len()],
}

/// Simulates a unit's netlist under a workload, and compares its outputs with the model's in every
/// clock, but for what the contract leaves open.
pub fn simulate<'a>(
    netlist: &'a Netlist,
    cells: &'a Cells,
    library: &Library,
    stimulus: &Stimulus,
    options: Options,
) -> Result<Activity<'a>, PowerError> {
    let Options { delays, surroundings, clock_ns } = options;
    let wrong = |what| PowerError::Netlist { unit: stimulus.unit.clone(), what };
    let design = Gates::new(netlist, cells, library, delays, surroundings).map_err(wrong)?;
    let inputs = places(&stimulus.inputs, &design.inputs).map_err(wrong)?;
    let outputs: Vec<_> =
        netlist.outputs.iter().map(|(name, bits)| (name.as_str(), bits.as_slice())).collect();
    let outputs = places(&stimulus.outputs, &outputs).map_err(wrong)?;

    let mut counts = [(); Phase::ALL.len()].map(|()| Counts::new(&design));
    let mut simulation = Simulation::new(&design, (500.0 * clock_ns) as u64);
    for (clock, phase) in stimulus.phases.iter().enumerate() {
        let words = stimulus.inputs.clock(clock);
        let values = inputs.iter().map(|place| (place.net, place.bit(words)));
        match phase {
            Some(phase) if delays != Delays::Zero => {
                simulation.delayed_clock(values, &mut counts[*phase as usize]);
            }
            phase => {
                let counts = phase.map(|phase| &mut counts[phase as usize]);
                simulation.settle_clock(values, counts);
            }
        }
        if let Some(net) = simulation.glitch() {
            let net = &netlist.nets[net];
            let expected = format!("expected a gated clock to change with the port {CLOCK} only");
            return Err(wrong(format!("net {net}, clock {clock}: {expected}")));
        }
        let (words, open) = (stimulus.outputs.clock(clock), stimulus.open.clock(clock));
        let differs =
            |place: &&Place| !place.bit(open) && simulation.value(place.net) != place.bit(words);
        if let Some(place) = outputs.iter().find(differs) {
            return Err(difference(stimulus, clock, place.port, &outputs, &simulation));
        }
    }
    drop(simulation);
    Ok(Activity { design, counts })
}

/// A unit's power under a workload.
pub fn estimate(
    netlist: &Netlist,
    cells: &Cells,
    library: &Library,
    stimulus: &Stimulus,
    options: Options,
) -> Result<UnitPower, PowerError> {
    let Activity { design, counts } = simulate(netlist, cells, library, stimulus, options)?;
    let phases = Phase::ALL.into_iter().zip(&counts).filter(|(_, counts)| counts.clocks > 0);
    let phases = phases.map(|(phase, counts)| {
        let clocks = stimulus.clocks[phase as usize];
        phase_power(&design, counts, phase, clocks, options.clock_ns)
    });
    Ok(UnitPower {
        unit: stimulus.unit.clone(),
        ge: design.ge,
        cells: design.gates.len() as u64,
        device_clock_ns: stimulus.clock_ps as f64 / 1000.0,
        compared: stimulus.phases.len() as u64,
        phases: phases.collect(),
    })
}

/// Sums up what was counted.
fn phase_power(
    design: &Gates,
    counts: &Counts,
    phase: Phase,
    clocks: u64,
    clock_ns: f64,
) -> PhasePower {
    let counted = counts.clocks as f64;
    let fj_internal: f64 =
        counts.energies.iter().zip(&design.energies_fj).map(|(n, fj)| *n as f64 * fj).sum();
    let toggles = counts.toggles.iter().enumerate();
    let fj_switching: f64 = toggles.map(|(net, n)| *n as f64 * design.switching_fj(net)).sum();
    // fJ / ns = uW, nW = 1e-6 mW
    let mw = |fj: f64| fj / counted / clock_ns / 1e3;
    let power = Power {
        internal: mw(fj_internal),
        switching: mw(fj_switching),
        leakage: counts.leakage_nw / counted / 1e6,
    };
    let but_clocks = |counts: &[u64]| {
        let nets = counts.iter().zip(&design.nets).filter(|(_, net)| !net.is_clock);
        nets.map(|(count, _)| count).sum::<u64>() as f64
    };
    let (toggles, settled) = (but_clocks(&counts.toggles), but_clocks(&counts.settled));
    PhasePower {
        phase,
        clocks,
        counted: counts.clocks,
        power,
        pj_per_clock: power.total() * clock_ns,
        toggles_per_clock: toggles / counted,
        glitches: if toggles > 0.0 { 1.0 - settled / toggles } else { 0.0 },
        still_ns: counts.still_ps as f64 / 1e3,
    }
}

/// Where a bit of a port is: in a clock's words and in the netlist.
struct Place {
    port: usize,
    word: usize,
    shift: u32,
    net: Net,
}

impl Place {
    fn bit(&self, words: &[u32]) -> bool {
        words[self.word] >> self.shift & 1 != 0
    }
}

/// The bits of the declared ports in the netlist.
fn places(ports: &Ports, nets: &[(&str, &[Net])]) -> Result<Vec<Place>, String> {
    let mut places = Vec::new();
    let mut word = 0;
    for (number, port) in ports.ports.iter().enumerate() {
        let found = nets.iter().find(|(name, _)| *name == port.name).map(|(_, nets)| *nets);
        let nets = found.filter(|nets| nets.len() == port.width as usize);
        let nets = nets.ok_or_else(|| format!("expected port {} of {}", port.name, port.width))?;
        places.extend(nets.iter().enumerate().map(|(bit, net)| Place {
            port: number,
            word: word + bit / 32,
            shift: bit as u32 % 32,
            net: *net,
        }));
        word += port.words();
    }
    Ok(places)
}

/// The port that differs, in full.
fn difference(
    stimulus: &Stimulus,
    clock: usize,
    port: usize,
    outputs: &[Place],
    simulation: &Simulation,
) -> PowerError {
    let words = stimulus.outputs.clock(clock);
    let hex = |bit: &dyn Fn(&Place) -> bool| {
        let bits: Vec<bool> = outputs.iter().filter(|p| p.port == port).map(bit).collect();
        let digit = |bits: &[bool]| {
            let value = bits.iter().rev().fold(0, |value, bit| 2 * value + u32::from(*bit));
            char::from_digit(value, 16).expect("four bits")
        };
        bits.chunks(4).rev().map(digit).collect::<String>()
    };
    PowerError::Differs {
        unit: stimulus.unit.clone(),
        clock,
        port: stimulus.outputs.ports[port].name,
        netlist: hex(&|place| simulation.value(place.net)),
        model: hex(&|place| place.bit(words)),
    }
}
