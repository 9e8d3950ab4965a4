// SPDX-License-Identifier: MIT
//! LPDDR5X-PIM with the models of its units behind the pins against the engine: the same results, tCK, counts and statistics.

use pimlico_device::lp5::layout::LANES;
use pimlico_device::lp5::mode::DRAIN;
use pimlico_device::lp5::units::{BlockUnits, UnitBlocks, Units};
use pimlico_device::lp5::{
    BlockCounts, BlockElements, BlockFormats, Lp5Device, Lp5Layout, Lp5Options, Lp5Spec, Request,
    Vector,
};
use pimlico_device::{Device, Statistics};
use pimlico_host::lp5::Lp5Matrix;
use pimlico_ports::Model;
use pimlico_units::arith::{Bfloat16, Binary16, Binary32};
use pimlico_units::bank::{PimBlock, PimMode};

fn blocks(formats: BlockFormats) -> Box<dyn BlockUnits> {
    use BlockElements::{Bfloat16 as B, Binary16 as H};
    match (formats.elements, formats.wide) {
        (B, false) => Box::new(UnitBlocks::new(PimBlock::<Bfloat16>::instances(16))),
        (B, true) => Box::new(UnitBlocks::new(PimBlock::<Bfloat16, Binary32>::instances(16))),
        (H, false) => Box::new(UnitBlocks::new(PimBlock::<Binary16>::instances(16))),
        (H, true) => Box::new(UnitBlocks::new(PimBlock::<Binary16, Binary32>::instances(16))),
    }
}

fn spec() -> Lp5Spec {
    Lp5Spec::built_in("lpddr5x-8533-pim").expect("a device")
}

fn devices(options: Lp5Options) -> [Lp5Device; 2] {
    [false, true].map(|has_units| {
        let mut device = Lp5Device::new(&spec(), options).expect("a device");
        for channel in (0..device.channels()).filter(|_| has_units) {
            let units = Units::new(channel, PimMode::instances(1), blocks(options.formats));
            device.attach(channel, units).expect("rows of the unit");
        }
        device
    })
}

/// Moderate numbers of either format.
fn number(n: u64) -> u16 {
    let bits = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0x3C00 + (bits >> 40) as u16 % 0x0300) | ((bits >> 60) as u16 & 0x8000)
}

/// Outputs, cost, and what arrived in each channel.
type Ran = (Vec<u16>, Statistics, Vec<BlockCounts>);

/// A product twice, whose requests are changed on their way.
fn product(
    device: &mut Lp5Device,
    (rows, columns): (u64, u64),
    change: &dyn Fn(Vec<Request>) -> Vec<Request>,
) -> Ran {
    let map = spec().map().expect("a map");
    let layout = Lp5Layout::new(&map, rows, columns, 3..65_532).expect("it fits");
    let matrix = Lp5Matrix::new(layout, 20);
    let vector = |row: u64, column: u64| -> Vector {
        let of_row = |row: u64| if row < rows { number(row * columns + column) } else { 0 };
        std::array::from_fn(|lane| of_row(row + lane as u64))
    };
    matrix.load(device, vector).expect("it is written");
    let mut outputs = Vec::new();
    device.begin();
    for turn in 0..2 {
        let inputs: Vec<u16> = (0..columns).map(|n| number(n + 7 * turn + 1)).collect();
        let requests = change(matrix.product(&inputs).collect());
        let of_channel = |_| requests.iter().copied();
        outputs.extend(matrix.multiply_by(device, of_channel).expect("it runs"));
    }
    let counts = (0..device.channels()).map(|channel| device.counts(channel)).collect();
    (outputs, device.end(), counts)
}

fn both(
    options: Lp5Options,
    shape: (u64, u64),
    change: &dyn Fn(Vec<Request>) -> Vec<Request>,
) -> [Ran; 2] {
    devices(options).map(|mut device| {
        let ran = product(&mut device, shape, change);
        assert!((0..4).all(|channel| !device.is_multi_bank(channel)));
        ran
    })
}

#[test]
fn units_make_what_the_engine_makes() {
    for (elements, wide, shape) in [
        (BlockElements::Bfloat16, false, (1024, 140)),
        (BlockElements::Bfloat16, true, (3000, 129)),
        (BlockElements::Binary16, false, (100, 300)),
        (BlockElements::Binary16, true, (9000, 20)),
        (BlockElements::Bfloat16, false, (1, 1)),
    ] {
        for refresh in [true, false] {
            let formats = BlockFormats { elements, wide };
            let options = Lp5Options { formats, refresh, plain: false };
            let [engine, units] = both(options, shape, &|requests| requests);
            assert!(engine.0 == units.0, "{options:?}, {shape:?}");
            assert_eq!((engine.1, &engine.2), (units.1, &units.2), "{options:?}, {shape:?}");
            assert!(engine.2[3].macs > 0 && engine.0.iter().any(|bits| *bits != 0));
        }
    }
}

/// Where the host does what it should not, both say so, and make the same of it.
#[test]
fn faults_of_the_host_are_the_same() {
    let is_mac = |request: &Request| matches!(request, Request::Read(at) if at.row < 60_000);
    let is_drain = |request: &Request| matches!(request, Request::Read(at) if at.row == 65_534);
    let short_drain = |requests: Vec<Request>| -> Vec<Request> {
        let first = requests.iter().position(is_drain).expect("a drain");
        let kept = |n: &usize| !(first..first + DRAIN - 3).contains(n);
        (0..requests.len()).filter(kept).map(|n| requests[n]).collect()
    };
    let outside = |mut requests: Vec<Request>| -> Vec<Request> {
        let last = requests.iter().rposition(is_mac).expect("a MAC");
        if let Request::Read(at) = &mut requests[last] {
            at.row += 5;
        }
        requests
    };
    let stray = |mut requests: Vec<Request>| -> Vec<Request> {
        let first = requests.iter().position(is_mac).expect("a MAC");
        let mut at = requests[first].place().expect("a place");
        at.column = 40;
        requests.insert(first, Request::Write(at, [1; LANES]));
        requests
    };
    type Change<'a> = &'a dyn Fn(Vec<Request>) -> Vec<Request>;
    type Count = fn(&BlockCounts) -> u64;
    let changes: [(Change<'_>, Count); 3] = [
        (&short_drain, |counts| counts.stale),
        (&outside, |counts| counts.faults),
        (&stray, |counts| counts.faults),
    ];
    for (change, count) in changes {
        let [engine, units] = both(Lp5Options::default(), (1024, 40), change);
        assert!(engine.0 == units.0);
        assert_eq!(engine.2, units.2);
        assert!(count(&units.2[0]) > 0, "{:?}", units.2[0]);
    }
}
