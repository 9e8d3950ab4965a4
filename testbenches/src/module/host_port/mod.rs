// SPDX-License-Identifier: MIT
//! Bench of `host_port`: a host that writes messages and operands, gives the pins away and takes them back, and
//! a module that takes operands and gives results.
//!
//! An episode is a DRAM with random timings and a few actions of the host, one after the other; what shrinks
//! is their list. Host and module follow the judge's port to know where the unit is: see [`judge`].

mod host;
pub(super) mod judge;
mod module;
mod plan;
mod queue;
mod results;

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use crate::judge::equal;
use crate::random::Random;
use host::Host;
use judge::Port;
use module::Module;
use pimlico_dpa::types::Timing;
use pimlico_ports::{BitWriter, Signal};
use pimlico_units::gear::Gear;
use pimlico_units::module::{HostPort, HostPortIn, HostPortOut};
use proptest::collection::vec;
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};

/// tCK of an episode, at the most.
const EPISODE: usize = 2500;
/// Actions of the host in it, at the most.
const ACTIONS: usize = 24;
/// tCK behind the last action.
const REST: usize = 60;

impl<G: Gear> Bench for HostPort<G> {
    fn episodes() -> BoxedStrategy<Vec<HostPortIn>> {
        let drawn = (ANY.no_shrink(), vec(ANY.no_shrink(), 1..=ACTIONS));
        drawn.prop_map(|(seed, actions)| episode(seed, &actions, G::TCK)).boxed()
    }

    fn plan(bins: &mut Bins) {
        plan::plan(G::TCK, bins);
    }

    fn cover(inputs: &[HostPortIn], _: &[HostPortOut], bins: &mut Bins) {
        plan::cover(G::TCK, inputs, bins);
    }

    fn oracle(inputs: &[HostPortIn], outputs: &[HostPortOut]) -> Result<u64, OracleError> {
        let mut port = Port::new(G::TCK);
        let mut checked = 0;
        for (tck, (inputs, outputs)) in inputs.chunks(2).zip(outputs.chunks(2)).enumerate() {
            for (second, (input, output)) in inputs.iter().zip(outputs).enumerate() {
                checked += judge(&port, 2 * tck + second, input, output)?;
            }
            if let [first, second] = inputs {
                port.step(first, second);
            }
        }
        Ok(checked)
    }
}

/// Compares the outputs of a beat; returns how many of them say something.
fn judge(
    port: &Port,
    beat: usize,
    input: &HostPortIn,
    output: &HostPortOut,
) -> Result<u64, OracleError> {
    let expected = port.expected(input, beat % 2 == 1);
    let (dq_open, expected) = (expected.dq_open, expected.out);
    let what = || format!("{:?}, tCK {}", port.owner, port.tck);
    macro_rules! same {
        ($($port:ident),*) => {$(
            same(beat, stringify!($port), (&output.$port, &expected.$port), what)?;
        )*};
    }
    same!(memory_o, owns_o, pins_o, load_valid_o, load_o, start_valid_o, start_o, scale_o);
    same!(operands_o, operand_valid_o, host_dq_valid_o);
    if expected.operand_valid_o {
        same!(operand_o);
    }
    if !dq_open {
        same!(host_dq_o);
    }
    let said = [expected.load_valid_o, expected.start_valid_o, expected.operand_valid_o];
    let said = said.iter().filter(|said| **said).count() as u64;
    Ok(said + u64::from(expected.host_dq_valid_o && !dq_open))
}

/// Compares a port of any width.
pub(super) fn same<T: Signal>(
    beat: usize,
    port: &'static str,
    (got, expected): (&T, &T),
    what: impl Fn() -> String,
) -> Result<(), OracleError> {
    if got == expected {
        return Ok(());
    }
    let bits = |value: &T| {
        let mut words = vec![0; T::WIDTH.div_ceil(32) as usize];
        value.write(&mut BitWriter::new(&mut words));
        words
    };
    let pairs = bits(got).into_iter().zip(bits(expected)).enumerate();
    for (word, (got, expected)) in pairs {
        equal(beat, port, got, expected, || format!("word {word}; {}", what()))?;
    }
    Ok(())
}

/// The inputs of an episode.
fn episode(seed: u64, actions: &[u64], gear: usize) -> Vec<HostPortIn> {
    let mut random = Random(seed);
    let timing_i = timings(&mut random);
    let mut host = Host::new(random.next(), actions, (timing_i.cl, timing_i.cwl));
    let mut module = Module::new(random.next(), gear);
    let mut port = Port::new(gear);
    let (mut inputs, mut rest) = (Vec::new(), REST);
    while inputs.len() < 2 * EPISODE && rest > 0 {
        rest -= usize::from(host.is_done());
        let host_pins_i = host.pins(&port);
        let beats = [false, true].map(|second| {
            let driven = host.module_beat(port.tck);
            let mut input = HostPortIn {
                timing_i,
                host_pins_i,
                host_dq_i: host.beat(port.tck, second),
                module_dq_valid_i: driven.is_some(),
                module_dq_i: driven.unwrap_or(0),
                ..HostPortIn::default()
            };
            module.drive(&port, second, &mut input);
            input
        });
        port.step(&beats[0], &beats[1]);
        if port.unspecified {
            break; // of the memory's contents
        }
        inputs.extend(beats);
    }
    inputs
}

/// Mostly short ones, so that much happens.
fn timings(random: &mut Random) -> Timing {
    let cwl = match random.below(8) {
        0 => 46,
        1 => 4 + random.below(43),
        2 => 4,
        _ => 4 + random.below(8),
    };
    let cl = match random.below(8) {
        0 => 48,
        1 => cwl + 2 + random.below(47 - cwl),
        // Those that MR0 has a code for.
        2..6 => (cwl + 2).max(9 + random.below(24)),
        _ => (cwl + 2 + random.below(6)).min(48),
    };
    let (rp, rfc) = (1 + random.below(24), 1 + random.below(80));
    // The others are none of the unit's.
    let entropy: Vec<u64> = (0..Timing::DRAWS).map(|_| random.next()).collect();
    let others = Timing::draw(&entropy);
    Timing { cl: cl as u8, cwl: cwl as u8, rp: rp as u8, rfc: rfc as u16, ..others }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_dpa::types::{Fault, Status};
    use pimlico_ports::{Model, U};
    use pimlico_units::gear::{DefaultGear, Gear1, Gear4, Width as _};

    /// Inputs of an episode.
    fn inputs(random: &mut Random, gear: usize) -> Vec<HostPortIn> {
        let actions: Vec<u64> = (0..ACTIONS).map(|_| random.next()).collect();
        episode(random.next(), &actions, gear)
    }

    /// What the model puts out.
    fn outputs<G: Gear>(inputs: &[HostPortIn]) -> Vec<HostPortOut> {
        let mut unit = HostPort::<G>::new();
        inputs.iter().map(|input| unit.step(input)).collect()
    }

    fn judged<G: Gear>(episodes: u64) -> u64 {
        let mut random = Random(episodes);
        let episode = |number| {
            let inputs = inputs(&mut random, G::TCK);
            match HostPort::<G>::oracle(&inputs, &outputs::<G>(&inputs)) {
                Ok(checked) => checked,
                Err(error) => panic!("episode {number}: {error}"),
            }
        };
        (0..episodes).map(episode).sum()
    }

    #[test]
    fn the_model_does_what_the_judge_expects() {
        assert!(judged::<Gear1>(20) > 5000);
        assert!(judged::<DefaultGear>(20) > 5000);
        assert!(judged::<Gear4>(20) > 5000);
    }

    /// Ports at which the judge finds that a unit has been given other inputs than it.
    fn found(change: impl Fn(&mut HostPortIn)) -> Vec<&'static str> {
        let mut random = Random(3);
        let episode = |_| {
            let inputs = inputs(&mut random, DefaultGear::TCK);
            let mut changed = inputs.clone();
            changed.iter_mut().for_each(&change);
            let outputs = outputs::<DefaultGear>(&changed);
            HostPort::<DefaultGear>::oracle(&inputs, &outputs).err().map(|error| error.port)
        };
        (0..30).filter_map(episode).collect()
    }

    #[test]
    fn a_unit_with_other_timings_is_found() {
        assert!(!found(|input| input.timing_i.cl += 1).is_empty());
        assert!(!found(|input| input.timing_i.cwl += 1).is_empty());
        assert!(found(|input| input.timing_i.rp += 4).contains(&"start_valid_o"));
        assert!(found(|input| input.timing_i.rfc += 4).contains(&"memory_o"));
    }

    #[test]
    fn what_the_module_says_counts() {
        assert!(found(|input| input.settled_i = false).contains(&"memory_o"));
        assert!(found(|input| input.over_i = false).contains(&"memory_o"));
        assert!(found(|input| input.refresh_i = false).contains(&"memory_o"));
        assert!(found(|input| input.operand_taken_i = false).contains(&"operands_o"));
        let shown: [fn(&mut HostPortIn); 8] = [
            |input| input.overflow_i = false,
            |input| input.end_valid_i = false,
            |input| input.end_i.address = U::new(0),
            |input| input.status_i[15] = Status::NotStarted,
            |input| input.fault_i = Fault::None,
            |input| input.results_i.context_element[1].bits = 0,
            |input| input.results_i.output_element[0] = 0,
            |input| input.module_dq_i = 0,
        ];
        for change in shown {
            assert!(found(change).contains(&"host_dq_o"));
        }
    }
}
