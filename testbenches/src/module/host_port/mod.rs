// SPDX-License-Identifier: MIT
//! Bench of `host_port`: a host that writes messages and operands, gives the pins away and takes them back, and
//! a module that takes operands and gives results.
//!
//! An episode is a DRAM with random timings and a few actions of the host, one after the other; what shrinks
//! is their list. Host and module follow the judge's port to know where the unit is: see [`judge`].

mod host;
mod judge;
mod module;
mod plan;
mod queue;
mod results;

use crate::coverage::Bins;
use crate::random::Random;
use crate::rank::judge::equal;
use crate::{Bench, OracleError};
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
fn same<T: Signal>(
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
        _ => (cwl + 2 + random.below(6)).min(48),
    };
    let (rp, rfc) = (1 + random.below(24), 1 + random.below(80));
    // The others are none of the unit's.
    let entropy: Vec<u64> = (0..Timing::DRAWS).map(|_| random.next()).collect();
    let others = Timing::draw(&entropy);
    Timing { cl: cl as u8, cwl: cwl as u8, rp: rp as u8, rfc: rfc as u16, ..others }
}
