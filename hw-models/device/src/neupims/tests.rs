// SPDX-License-Identifier: MIT
//! A channel beside the checker at its pins, and its PUs beside their definition.

use super::request::operation;
use super::*;
use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
use pimlico_units::arith::{Binary16, Binary32, Format, Fp};
use pimlico_units::channel::ChannelCommand;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Commands with their tCK.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(u64, ChannelPins)>>>);

impl ChannelWatch for Log {
    fn command(&mut self, at_tck: u64, pins: ChannelPins) {
        self.0.lock().expect("one at a time").push((at_tck, pins));
    }
}

/// A host with a list for PIM.
struct List {
    pim: std::vec::IntoIter<PimRequest>,
    results: usize,
}

impl ChannelHost for List {
    fn mem(&mut self, _: u64) -> Option<MemRequest> {
        None
    }

    fn pim(&mut self, _: u64) -> Option<PimRequest> {
        self.pim.next()
    }

    fn event(&mut self, _: u64, event: &ChannelEvent) {
        self.results -= usize::from(matches!(event, ChannelEvent::Results(_)));
    }

    fn is_done(&self) -> bool {
        self.pim.len() == 0 && self.results == 0
    }
}

/// Times of the commands behind the second PIM_PRECHARGE, from it on: PIM_ACTIVATIONs, the first dot products, the last, and the next
/// PIM_PRECHARGE.
fn schedule(pseudo_ranks: u64, fine: bool) -> (Vec<u64>, u64, u64, u64) {
    let spec = NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
    let spec = spec.with_pseudo_ranks(pseudo_ranks).expect("one or two");
    let options = ChannelOptions { refresh: false, ..ChannelOptions::default() };
    let mut channel = NeupimsChannel::new(&spec, &options);
    let log = Log::default();
    channel.watch(Box::new(log.clone()));
    let mut list = Vec::new();
    for row in 2..6 {
        operation(row, &[32], fine, &mut list);
    }
    channel
        .run(&mut List { pim: list.into_iter(), results: 4 }, 100_000)
        .expect("no design in lockstep");
    assert_eq!((channel.dropped(), channel.faults().count()), (0, 0));
    let of = |command| {
        let log = log.0.lock().expect("one at a time").clone();
        let of = log.into_iter().filter(move |(_, pins)| pins.command == command);
        of.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let precharges = of(ChannelCommand::PimPrecharge);
    let (from, until) = (precharges[0], precharges[1]);
    let within = |all: Vec<u64>| -> Vec<u64> {
        all.into_iter().filter(|at| (from..until).contains(at)).map(|at| at - from).collect()
    };
    let dots =
        within(of(if fine { ChannelCommand::PimDotProduct } else { ChannelCommand::PimGemv }));
    let last = dots.last().copied().unwrap_or(0) + if fine { 0 } else { 31 * 2 };
    (within(of(ChannelCommand::PimActivation)), dots[0], last, until - from)
}

#[test]
fn a_tile_has_the_reference_schedule() {
    for fine in [false, true] {
        let (activations, first, last, next) = schedule(2, fine);
        assert_eq!(activations, [14, 15, 44, 45, 74, 75, 104, 105], "fine: {fine}");
        assert_eq!((first, last), (119, 181), "fine: {fine}");
        if !fine {
            assert_eq!(next, 187);
        }
    }
    let (activations, first, last, next) = schedule(1, false);
    assert_eq!(activations, [14, 44, 74, 104, 134, 164, 194, 224]);
    assert_eq!((first, last, next), (238, 300, 306));
}

fn pin(pins: ChannelPins) -> Option<DualPin> {
    let (bank, row) = (usize::from(pins.bank), u64::from(pins.row));
    let column = u64::from(pins.column);
    Some(match pins.command {
        ChannelCommand::None => return None,
        ChannelCommand::Act => DualPin::Act { bank, row },
        ChannelCommand::Pre => DualPin::Pre { bank },
        ChannelCommand::PreAll => DualPin::PreAll { rank: bank / 16 },
        ChannelCommand::Rd => DualPin::Rd { bank, column },
        ChannelCommand::Wr => DualPin::Wr { bank, column },
        ChannelCommand::Ref => DualPin::Ref { rank: bank / 16 },
        ChannelCommand::PimActivation => DualPin::PimActivation { group: bank / 4, row },
        ChannelCommand::PimPrecharge => DualPin::PimPrecharge { bank: (!pins.all).then_some(bank) },
        ChannelCommand::PimGwrite => DualPin::Gwrite { bank },
        ChannelCommand::PimDotProduct => DualPin::DotProduct { word: column },
        ChannelCommand::PimGemv => DualPin::Gemv { word: column, count: pins.count.into() },
        ChannelCommand::PimReadResult => DualPin::ReadResult,
    })
}

/// A host of random bursts, and of operations.
struct Random {
    mem: std::vec::IntoIter<MemRequest>,
    list: List,
    under_way: usize,
    /// What was written last to each place that is read, and by which reads something else was found.
    written: std::collections::BTreeMap<(u8, u16, u8), BurstData>,
    wrong: usize,
}

impl ChannelHost for Random {
    fn mem(&mut self, _: u64) -> Option<MemRequest> {
        let next = self.mem.next();
        self.under_way += usize::from(next.is_some());
        next
    }

    fn pim(&mut self, now: u64) -> Option<PimRequest> {
        self.list.pim(now)
    }

    fn event(&mut self, now: u64, event: &ChannelEvent) {
        match event {
            ChannelEvent::Written(MemRequest { bank, row, column, data }) => {
                self.under_way -= 1;
                self.written.insert((*bank, *row, *column), data.expect("a write has data"));
            }
            ChannelEvent::Read(MemRequest { bank, row, column, .. }, found) => {
                self.under_way -= 1;
                let zero = [0; BURST];
                let expected = self.written.get(&(*bank, *row, *column)).unwrap_or(&zero);
                // A write may have passed it on its way back.
                self.wrong += usize::from(found != expected && *found != zero);
            }
            event => self.list.event(now, event),
        }
    }

    fn is_done(&self) -> bool {
        self.under_way == 0 && self.mem.len() == 0 && self.list.is_done()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_channel_keeps_the_rules_at_its_pins(
        bursts in prop::collection::vec((0u8..32, 2u16..6, 0u8..16, any::<Option<u16>>()), 0..300),
        tiles in prop::collection::vec((2u16..8, prop::collection::vec(1u8..9, 1..5), any::<bool>()), 0..20),
        blocked in any::<bool>(),
        fine in any::<bool>(),
        bankwise in any::<bool>(),
        steer in any::<bool>(),
    ) {
        let spec = NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
        let memory = if blocked { Memory::Blocked } else { Memory::Dual };
        let guard_tck = if fine { 4 * 14 } else { 0 };
        let options = ChannelOptions { memory, bankwise, steer, guard_tck, ..ChannelOptions::default() };
        let mut channel = NeupimsChannel::new(&spec, &options);
        let log = Log::default();
        channel.watch(Box::new(log.clone()));
        let mut list = Vec::new();
        let mut results = 0;
        for (row, counts, gwrite) in &tiles {
            if *gwrite {
                list.push(PimRequest::Gwrite { bank: 4 * (*row as u8), row: *row });
            }
            operation(*row, counts, fine, &mut list);
            results += counts.len();
        }
        let request = |&(bank, row, column, data): &(u8, u16, u8, Option<u16>)| {
            MemRequest { bank, row, column, data: data.map(|data| [data; BURST]) }
        };
        let mem: Vec<_> = bursts.iter().map(request).collect();
        let mut host = Random {
            mem: mem.into_iter(),
            list: List { pim: list.into_iter(), results },
            under_way: 0,
            written: Default::default(),
            wrong: 0,
        };
        channel.run(&mut host, 1_000_000).expect("no design in lockstep");
        prop_assert!(host.is_done(), "it hangs at {}", channel.tck());
        let statistics = channel.take_statistics();
        prop_assert_eq!(statistics.late, 0);
        prop_assert_eq!(statistics.tck, channel.tck());
        prop_assert_eq!(statistics.bursts(), bursts.len() as u64);
        prop_assert_eq!(statistics.results, results as u64);
        prop_assert_eq!((channel.dropped(), channel.faults().count()), (0, 0));
        let mut checker = DualChecker::new(DualRules::NEUPIMS);
        let log = log.0.lock().expect("one at a time").clone();
        for (at, pins) in log {
            let pin = pin(pins).expect("a command");
            let found = checker.command(at, pin);
            prop_assert!(found.is_empty(), "{}", found[0]);
        }
        let late = checker.finish(channel.tck());
        prop_assert!(late.is_empty(), "{}", late[0]);
    }

    #[test]
    fn sums_are_those_of_the_definition(
        words in prop::collection::vec((prop::array::uniform16(any::<u16>()), prop::array::uniform16(any::<u16>())), 1..6),
    ) {
        for format in [PuSums::Binary16, PuSums::Binary32] {
            let mut pus = pus::ChannelPus::new(format);
            for (n, (row, factors)) in words.iter().enumerate() {
                pus.dot(n == 0, &[*row; BANKS], factors);
            }
            let expected = match format {
                PuSums::Binary16 => defined::<Binary16>(&words),
                PuSums::Binary32 => defined::<Binary32>(&words),
            };
            prop_assert_eq!(pus.results(), [expected; BANKS], "{:?}", format);
        }
    }
}

/// A sum as the units define it, in a format.
fn defined<A: Format>(words: &[([u16; WORD], [u16; WORD])]) -> u16 {
    let sum = words.iter().fold(Fp::<A>::ZERO, |sum, (row, factors)| {
        let fp = |bits: u16| Fp::<Binary16>::from_bits(bits.into());
        let mut terms: Vec<Fp<A>> =
            row.iter().zip(factors).map(|(&a, &b)| (fp(a) * fp(b)).widen()).collect();
        while terms.len() > 1 {
            terms = terms.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        terms[0] + sum
    });
    sum.narrow::<Binary16>().to_bits() as u16
}
