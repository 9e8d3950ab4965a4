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

/// Reads and writes, as fast as they are taken or with pauses, and tiles and GWRITEs.
struct Mixed {
    state: u64,
    /// One of so many cycles has a request of MEM.
    pause: u64,
    next_mem: u64,
    list: Vec<PimRequest>,
    events: Vec<(u64, ChannelEvent)>,
}

impl Mixed {
    fn below(&mut self, most: u64) -> u64 {
        // Knuth's multiplier; the upper bits are taken.
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % most
    }
}

impl ChannelHost for Mixed {
    fn mem(&mut self, now: u64) -> Option<MemRequest> {
        if now < self.next_mem {
            return None;
        }
        self.next_mem = now + self.below(self.pause);
        let data = (self.below(5) == 0).then_some([now as u16; BURST]);
        // Few rows of few banks, so that there are hits, conflicts and rows of PIM.
        let [bank, row, column] = [32, 4, 16].map(|most| self.below(most));
        Some(MemRequest { bank: bank as u8, row: row as u16, column: column as u8, data })
    }

    fn pim(&mut self, _: u64) -> Option<PimRequest> {
        if self.list.is_empty() {
            let row = self.below(6) as u16;
            match self.below(6) {
                0 => {
                    let bank = self.below(32) as u8;
                    self.list.push(PimRequest::Gwrite { bank, row });
                }
                kind => {
                    let sums = 1 + self.below(4);
                    let counts: Vec<u8> = (0..sums).map(|_| 1 + self.below(8) as u8).collect();
                    operation(row, &counts, kind == 1, &mut self.list);
                    self.list.reverse();
                }
            }
        }
        self.list.pop()
    }

    fn event(&mut self, now: u64, event: &ChannelEvent) {
        self.events.push((now, *event));
    }

    fn wakes(&self) -> Option<u64> {
        Some(self.next_mem)
    }

    fn is_done(&self) -> bool {
        false
    }
}

#[test]
fn a_channel_that_rests_is_one_that_is_stepped() {
    let spec = NeupimsSpec::built_in("hbm2-neupims").expect("it is there");
    for (seed, pause) in [(1, 1), (2, 1), (3, 4), (4, 30), (5, 400)] {
        let options = ChannelOptions {
            memory: if seed == 2 { Memory::Blocked } else { Memory::Dual },
            reads: if seed == 3 { ReadQueue::Long } else { ReadQueue::Short },
            ..ChannelOptions::default()
        };
        let run = |steps_all| {
            let mut channel = NeupimsChannel::new(&spec, &options);
            channel.steps_all = steps_all;
            let log = Log::default();
            channel.watch(Box::new(log.clone()));
            let (list, events) = (Vec::new(), Vec::new());
            let mut host = Mixed { state: seed, pause, next_mem: 0, list, events };
            channel.run(&mut host, 30_000).expect("no design in lockstep");
            let pins = std::mem::take(&mut *log.0.lock().expect("one at a time"));
            (pins, host.events, channel.take_statistics(), channel.tck())
        };
        let (rested, stepped) = (run(false), run(true));
        assert_eq!(rested.0, stepped.0, "{seed}: pins");
        assert_eq!(rested.1, stepped.1, "{seed}: events");
        assert_eq!((rested.2, rested.3), (stepped.2, stepped.3), "{seed}: statistics");
        assert!(rested.0.len() > 400, "{seed}: {}", rested.0.len());
    }
}
