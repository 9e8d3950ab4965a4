// SPDX-License-Identifier: MIT
//! Bursts through the re-layout unit: each chip gets what the mapping names, and the way back undoes
//! the way there.

use pimlico_device::mapping::burst_of;
use pimlico_golden::relayout::chip_lanes;
use pimlico_ports::{Instances, Model};
use pimlico_testbenches::Lockstep;
use pimlico_units::rank::{RelayoutUnit, RelayoutUnitIn, RelayoutUnitOut};
use proptest::array::{uniform8, uniform32};
use proptest::num::{u16, u64};
use proptest::proptest;

/// Sends a burst through RTL and model, after `idle` clocks without one.
fn through<M>(unit: &mut Lockstep<M>, burst: [u64; 8], to_host_i: bool, idle: usize) -> [u64; 8]
where
    M: Model<In = RelayoutUnitIn, Out = RelayoutUnitOut>,
{
    let nothing = RelayoutUnitIn::default();
    let beat = |data_i| RelayoutUnitIn { valid_i: true, to_host_i, data_i, ..nothing };
    let inputs = std::iter::repeat_n(nothing, idle).chain(burst.map(beat)).chain([nothing; 4]);
    let mut received = Vec::new();
    for input in inputs {
        let mut output = [RelayoutUnitOut::default()];
        unit.step(&[input], &mut output).expect("no mismatch");
        if output[0].valid_o {
            received.push(output[0].data_o);
        }
    }
    received.try_into().expect("as many beats come out as go in")
}

/// There and back.
fn is_undone<const ELEMENT_BITS: usize, const CHIP_BITS: usize>(burst: [u64; 8], idle: usize) {
    let mut unit = Lockstep::<RelayoutUnit<ELEMENT_BITS, CHIP_BITS>>::new(1, 1);
    let chips = through(&mut unit, burst, false, idle);
    assert_eq!(through(&mut unit, chips, true, 0), burst);
    let host = through(&mut unit, burst, true, 1);
    assert_eq!(through(&mut unit, host, false, 2), burst);
}

proptest! {
    #[test]
    fn re_layout_is_undone_on_the_way_back(burst in uniform8(u64::ANY), idle in 0..5usize) {
        is_undone::<16, 8>(burst, idle);
        is_undone::<16, 4>(burst, idle);
        is_undone::<8, 4>(burst, idle);
        is_undone::<8, 8>(burst, idle);
    }

    #[test]
    fn each_chip_gets_the_elements_that_the_mapping_names(elements in uniform32(u16::ANY)) {
        let host = std::array::from_fn(|beat| {
            (0..4).map(|e| u64::from(elements[4 * beat + e]) << (16 * e)).sum()
        });
        let mut unit = Lockstep::<RelayoutUnit<16, 8>>::new(1, 1);
        let received = through(&mut unit, host, false, 0);
        for chip in 0..8 {
            // A chip's eight bytes, the first beat's lowest.
            let bytes = received.map(|beat| beat.to_le_bytes()[chip]);
            assert_eq!(u64::from_le_bytes(bytes), burst_of(&elements, 0)[chip]);
            let lanes: [u16; 4] =
                std::array::from_fn(|p| u16::from_le_bytes([bytes[2 * p], bytes[2 * p + 1]]));
            assert_eq!(lanes, chip_lanes(&elements, chip));
        }
    }
}
