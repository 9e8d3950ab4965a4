// SPDX-License-Identifier: MIT
//! Emulation of PIM (section 5, Table 4): the requests of a matrix times a vector, given to plain LPDDR5X in the place of banks with
//! PIM blocks.
//!
//! Both are simulated: on the one, writes to reserved rows change the mode, commands are of all banks and reads are MACs; on the
//! other, rows are memory, commands are of one bank and every read brings its data to the host. Requests, fences and the host's
//! controller are the same.
//!
//! A run on another machine begins at another time between two REFs. So the plain device runs from several of them ([`PHASES`]).

use crate::error::WorkloadError;
use crate::judge::lp5_pins::Lp5PinLog;
use pimlico_device::Device;
use pimlico_device::lp5::mode::DRAIN;
use pimlico_device::lp5::{
    AddressField, BurstPlace, Lp5Device, Lp5Layout, Lp5Options, Lp5Spec, Request, Vector,
};
use pimlico_host::lp5::Lp5Matrix;
use std::cell::Cell;

/// Parts of REFI after which the plain device begins.
pub const PHASES: u64 = 4;

/// The shapes of Table 4: outputs, inputs, and the emulation's printed difference in percent.
pub const TABLE_4: [(u64, u64, f64); 8] = [
    (2048, 4096, 3.54),
    (4096, 4096, 2.02),
    (8192, 4096, 3.05),
    (16_384, 4096, 0.66),
    (2048, 8192, 0.97),
    (4096, 8192, 0.69),
    (8192, 8192, 0.14),
    (16_384, 8192, 0.35),
];

/// A product on both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulated {
    /// Loads and stores of a channel, fences aside.
    pub requests: u64,
    /// MACs that arrived in each channel.
    pub macs: u64,
    /// tCK on banks with PIM blocks.
    pub pim_tck: u64,
    /// tCK on plain banks, from each part of REFI on; the first as with PIM blocks.
    pub plain_tck: [u64; PHASES as usize],
    /// Rules of the DRAM that were broken at the pins, of all runs.
    pub violations: u64,
}

impl Emulated {
    /// Simulates both.
    ///
    /// # Errors
    ///
    /// If there is no such device, the matrix does not fit it, or other reads arrived than were asked for.
    pub fn new(spec: &Lp5Spec, rows: u64, columns: u64) -> Result<Self, WorkloadError> {
        let map = spec.map()?;
        let layout = Lp5Layout::new(&map, rows, columns, map.weight_rows())?;
        let banks = map.count(AddressField::BankGroup) * map.count(AddressField::Bank);
        let matrix = Lp5Matrix::new(layout, 0);
        let of_blocks = ran(spec, &matrix, Lp5Options::default(), 0)?;
        let plain = Lp5Options { plain: true, ..Lp5Options::default() };
        let (asked, tiles) = (matrix.asked(), matrix.layout().tiles());
        let loads = banks * asked.outputs;
        expect("MACs of a channel with blocks", of_blocks.macs, asked.macs)?;
        expect("loads of a channel with blocks", of_blocks.reads, loads)?;
        let (mut plain_tck, mut violations) = ([0; PHASES as usize], of_blocks.violations);
        for (phase, tck) in (0..PHASES).zip(&mut plain_tck) {
            let wait = phase * spec.timing.refi_tck / PHASES;
            let found = ran(spec, &matrix, plain, wait)?;
            expect("requests of a plain channel", found.requests, of_blocks.requests)?;
            expect("MACs of a plain channel", found.macs, 0)?;
            // What is a MAC or a drain there brings data here.
            let reads = asked.macs + tiles * DRAIN as u64 + loads;
            expect("loads of a plain channel", found.reads, reads)?;
            *tck = found.tck;
            violations += found.violations;
        }
        let Ran { requests, macs, tck: pim_tck, .. } = of_blocks;
        Ok(Self { requests, macs, pim_tck, plain_tck, violations })
    }

    /// By how much the emulation's time differs, in percent of PIM's, from each part of REFI on.
    pub fn differences(&self) -> [f64; PHASES as usize] {
        self.plain_tck.map(|tck| 100.0 * (tck as f64 / self.pim_tck as f64 - 1.0))
    }

    /// The most that it differs, in percent.
    pub fn most(&self) -> f64 {
        self.differences().into_iter().map(f64::abs).fold(0.0, f64::max)
    }
}

/// A run; counts are of channel 0, to which those of the others are equal.
struct Ran {
    requests: u64,
    macs: u64,
    reads: u64,
    tck: u64,
    violations: u64,
}

fn ran(
    spec: &Lp5Spec,
    matrix: &Lp5Matrix,
    options: Lp5Options,
    wait: u64,
) -> Result<Ran, WorkloadError> {
    let mut device = Lp5Device::new(spec, options)?;
    let pins = Lp5PinLog::of(&mut device);
    device.run(|_| [Request::Fence { tck: wait }].into_iter(), |_, _, _| {})?;
    device.begin();
    // Times do not depend on the data.
    let inputs = vec![0; matrix.layout().shape().1 as usize];
    let asked = Cell::new(0);
    let requests = |channel: usize| {
        let asked = &asked;
        matrix.product(&inputs).inspect(move |request| {
            asked.set(asked.get() + u64::from(channel == 0 && request.place().is_some()));
        })
    };
    let mut reads = vec![0; device.channels()];
    let mut read = |channel: usize, _: BurstPlace, _: &Vector| reads[channel] += 1;
    device.run(requests, &mut read)?;
    for (channel, of_channel) in reads.iter().enumerate() {
        expect("loads of a channel", *of_channel, reads[0])?;
        expect("MACs of a channel", device.counts(channel).macs, device.counts(0).macs)?;
    }
    let macs = device.counts(0).macs;
    let findings = Lp5PinLog::findings(&pins, device.tck());
    let tck = device.end().cycles;
    Ok(Ran { requests: asked.get(), macs, reads: reads[0], tck, violations: findings.violations.0 })
}

/// Fails, if it is not as many.
fn expect(what: &str, found: u64, expected: u64) -> Result<(), WorkloadError> {
    let message = || format!("{what}: {found}, expected {expected}");
    if found == expected { Ok(()) } else { Err(WorkloadError::Check(message())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Lp5Spec {
        Lp5Spec::built_in("lpddr5x-8533-pim").expect("it is there")
    }

    #[test]
    fn plain_banks_take_as_long_as_those_with_blocks() {
        for (rows, columns) in [(512, 300), (2048, 4096), (9000, 130)] {
            let found = Emulated::new(&spec(), rows, columns).expect("it runs");
            assert_eq!(found.violations, 0, "{rows} x {columns}");
            assert_eq!(found.plain_tck[0], found.pim_tck, "{rows} x {columns}");
            // A REF more or fewer, and the rows that it closes.
            let timing = spec().timing;
            let of_refresh = timing.rfc_tck + timing.rc_tck + timing.rcd_tck;
            for tck in found.plain_tck {
                assert!(tck.abs_diff(found.pim_tck) <= of_refresh, "{rows} x {columns}: {tck}");
            }
        }
    }

    /// A MAC that waits longer behind an ACT than a read does is what the plain device cannot know.
    #[test]
    fn a_slower_mac_is_seen() {
        let mut slow = spec();
        slow.timing.rcd_mac_tck += 20;
        let found = Emulated::new(&slow, 2048, 2048).expect("it runs");
        assert_eq!(found.violations, 0);
        assert!(found.plain_tck[0] < found.pim_tck, "{found:?}");
        // As if it were not there.
        let as_fast = Emulated::new(&spec(), 2048, 2048).expect("it runs");
        assert_eq!(found.plain_tck, as_fast.plain_tck);
    }
}
