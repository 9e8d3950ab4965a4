// SPDX-License-Identifier: MIT
//! Long conversations of a random host that keeps the protocol with a random module that does: none
//! of them is reported, whatever falls into one tCK.

use super::talk::{LOAD, MAILBOX, OPERANDS, RESULTS, STATUS, Status, ZERO, rules, start};
use pimlico_golden::host_protocol::{HostChecker, HostRules, HostViolation, WINDOW_ROW};
use pimlico_golden::pins::Pin;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ z >> 31) % n as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Any command.
    pub fn pin(&mut self) -> Pin {
        let bank = self.below(16);
        match self.below(12) {
            0..3 => Pin::Act { bank, row: WINDOW_ROW },
            3 => Pin::Act { bank, row: 7 },
            4..7 => Pin::Rd { bank, column: self.below(128) },
            7..9 => Pin::Wr { bank, column: 3 },
            9 => Pin::PreAll,
            10 => Pin::Ref,
            _ => [Pin::Pre { bank }, Pin::RdAll { column: 1 }][self.below(2)],
        }
    }

    /// Any burst.
    pub fn words(&mut self) -> [u64; 8] {
        let word = self.below(1 << 20) as u64;
        match self.below(4) {
            0 => start(word & 3),
            1 => [word, word, 0, 0, 0, 0, 0, 0],
            2 => [word & 0xF, word << 30 | word, 0, 0, 0, 0, 0, 0],
            _ => ZERO,
        }
    }
}

/// A burst in the queue.
#[derive(Clone, Copy, PartialEq)]
enum Burst {
    Load,
    Start(u64),
    Operand,
}

impl Burst {
    fn bank(self) -> usize {
        if self == Self::Operand { OPERANDS } else { MAILBOX }
    }

    fn words(self) -> [u64; 8] {
        match self {
            Self::Load => LOAD,
            Self::Start(operands) => start(operands),
            Self::Operand => [9; 8],
        }
    }
}

/// A module of one tCK to a cycle of the core.
#[derive(Default)]
struct Module {
    /// What is in the queue, each with the tCK from which on it is.
    queue: VecDeque<(u64, Burst)>,
    status: Status,
    /// Operands that the run still wants, and the tCK until which it lasts.
    run: (u64, u64),
    given_tck: u64,
    ref_tck: u64,
    rows_open: bool,
    /// Results that the host has read.
    read: [u64; 2],
    /// The status of each tCK.
    shown: Vec<[u64; 8]>,
}

impl Module {
    fn start_waits(&self, tck: u64) -> bool {
        self.queue.iter().any(|(from, burst)| *from <= tck && matches!(burst, Burst::Start(_)))
    }

    /// A tCK: the host's command, and the one on the chips' pins.
    fn step(&mut self, tck: u64, host: Option<Pin>, random: &mut Random) -> Option<Pin> {
        let waits = self.start_waits(tck);
        let state = self.status.state;
        self.shown.push(Status { waits, ..self.status }.words());
        let chips = match state {
            0 => host,
            1 => None,
            _ => self.command(tck, random),
        };
        let head = self.queue.front().filter(|(from, _)| *from < tck).map(|(_, burst)| *burst);
        match (state, host) {
            (0, Some(Pin::PreAll)) if waits => {
                (self.status.state, self.given_tck) = (1, tck);
            }
            (1, Some(Pin::PreAll)) if !waits => self.status.state = 0,
            (2, _) if self.run_step(tck, random) => {
                self.status.state = 1;
                self.status.runs += 1;
            }
            _ => {}
        }
        if head.is_some_and(|burst| self.takes(tck, state, burst, random)) {
            self.queue.pop_front();
            self.status.taken += 1;
        }
        chips
    }

    /// Whether the burst at the head leaves the queue.
    fn takes(&mut self, tck: u64, state: u64, burst: Burst, random: &mut Random) -> bool {
        match burst {
            Burst::Load => state != 2,
            Burst::Start(operands) if state == 1 && tck > self.given_tck + 22 => {
                self.status.state = 2;
                self.status.fault = 0;
                // Some runs want fewer than were announced.
                let wanted = if random.one_in(4) { operands / 2 } else { operands };
                self.run = (wanted, tck + random.below(3000) as u64);
                true
            }
            Burst::Start(_) => false,
            Burst::Operand if state != 2 => true,
            Burst::Operand => {
                let takes = self.run.0 > 0 && random.one_in(30);
                self.run.0 -= u64::from(takes);
                takes
            }
        }
    }

    /// Results, and whether the run ends.
    fn run_step(&mut self, tck: u64, random: &mut Random) -> bool {
        let (wanted, until) = self.run;
        if tck < until && random.one_in(20) {
            let [contexts, outputs] = self.read.map(|read| read + 60);
            self.status.contexts += u64::from(self.status.contexts < contexts);
            self.status.outputs += u64::from(self.status.outputs < outputs && random.one_in(2));
        }
        let fault = wanted > 0 && random.one_in(20_000);
        if fault {
            self.status.fault = 5;
            self.run = (0, tck + 9);
        }
        !fault && wanted == 0 && tck >= until && (self.ref_tck == 0 || tck >= self.ref_tck + 560)
    }

    /// A command of a run.
    fn command(&mut self, tck: u64, random: &mut Random) -> Option<Pin> {
        if tck >= self.run.1 || !random.one_in(8) {
            return None;
        }
        let bank = random.below(16);
        let pin = match random.below(7) {
            0 => Pin::ActAll { bank: 0, row: 3 },
            1 => Pin::PreAll,
            2 => Pin::SetWord { word: 3 },
            3 if self.rows_open => Pin::Rd { bank, column: 1 },
            4 if self.rows_open => Pin::Wr { bank, column: 1 },
            5 if random.one_in(9) => Pin::Ref,
            _ => Pin::WrShared { word: 4 },
        };
        match pin {
            Pin::ActAll { .. } => self.rows_open = true,
            Pin::PreAll => self.rows_open = false,
            Pin::Ref => self.ref_tck = tck,
            _ => {}
        }
        Some(pin)
    }
}

/// Data that the checker is told at a tCK.
enum Data {
    Write(Burst),
    Read,
    Status,
    Result(u64),
}

/// A host that knows what it has read.
#[derive(Default)]
struct Host {
    script: VecDeque<Burst>,
    /// The pins are its own, as far as it knows.
    owns: bool,
    /// Bursts and STARTs sent.
    sent: u64,
    starts: u64,
    /// End of tWR after the last of them.
    written_tck: u64,
    known: Status,
    polled_tck: u64,
    /// Results that it has read.
    read: [u64; 2],
    open: BTreeMap<usize, usize>,
    column_tck: u64,
    /// When each of its data are told, their first tCK, and what they are.
    data: BTreeMap<u64, Vec<(u64, Data)>>,
}

impl Host {
    /// Some messages, and STARTs with their operands.
    fn plan(&mut self, random: &mut Random) {
        for _ in 0..1 + random.below(3) {
            self.script.extend(vec![Burst::Load; random.below(4)]);
            let operands = [0, 3, 20, 200][random.below(4)];
            self.script.push_back(Burst::Start(operands));
            self.script.extend(vec![Burst::Operand; operands as usize]);
        }
    }

    /// All runs have ended, so that a PREA takes the pins.
    fn ended(&self) -> bool {
        self.known.state == 1 && self.known.runs == self.starts
    }

    /// Nothing more is to be sent, either.
    fn over(&self) -> bool {
        self.ended() && self.script.is_empty()
    }

    /// A command, or none.
    fn command(&mut self, tck: u64, random: &mut Random) -> Option<Pin> {
        if tck < self.column_tck || !random.one_in(6) {
            return None;
        }
        if tck > self.polled_tck + 1000 || random.one_in(20) {
            return Some(self.window(STATUS + 4 * random.below(4), false, 0));
        }
        let waiting = self.starts > self.known.runs;
        // tWR.
        let closes = tck >= self.written_tck;
        match random.below(12) {
            0..5 => self.send(tck),
            5..8 => self.result(random),
            // Gives the pins, takes them back, closes windows.
            8 if !closes => None,
            8 if self.owns && waiting => {
                self.owns = false;
                self.known.state = 1;
                Some(Pin::PreAll)
            }
            8 if !self.owns && self.over() => {
                self.owns = true;
                Some(Pin::PreAll)
            }
            8 if !self.owns && !self.ended() && random.one_in(9) => Some(Pin::PreAll),
            9 if self.owns && closes => self.memory(random),
            10 if closes => self.open.first_key_value().map(|(&bank, _)| Pin::Pre { bank }),
            11 => Some(self.window(MAILBOX + 4 * random.below(4), false, 0)),
            _ => None,
        }
    }

    /// The host's own memory. A PREA would give the pins away if a START waits.
    fn memory(&mut self, random: &mut Random) -> Option<Pin> {
        let bank = random.below(16);
        match random.below(4) {
            0 => Some(Pin::Ref),
            1 if self.starts == self.known.runs => Some(Pin::PreAll),
            _ if self.open.get(&bank) == Some(&7) => Some(Pin::Rd { bank, column: 1 }),
            _ if self.open.contains_key(&bank) => Some(Pin::Pre { bank }),
            _ => Some(Pin::Act { bank, row: 7 }),
        }
    }

    /// An RD or WR of a window, or first what opens it.
    fn window(&self, bank: usize, write: bool, column: usize) -> Pin {
        match self.open.get(&bank) {
            Some(&WINDOW_ROW) if write => Pin::Wr { bank, column },
            Some(&WINDOW_ROW) => Pin::Rd { bank, column },
            Some(_) => Pin::Pre { bank },
            None => Pin::Act { bank, row: WINDOW_ROW },
        }
    }

    fn send(&mut self, tck: u64) -> Option<Pin> {
        let burst = *self.script.front()?;
        if self.sent - self.known.taken >= 128 {
            return None;
        }
        Some(self.window(burst.bank() + 4 * (tck as usize % 4), true, 3))
    }

    fn result(&mut self, random: &mut Random) -> Option<Pin> {
        let stream = random.below(2);
        let counted = [self.known.contexts, self.known.outputs][stream];
        let again = random.one_in(5) && self.read[stream] > 0;
        let n = self.read[stream] - u64::from(again);
        (n < counted).then(|| {
            let n = n as usize;
            self.window(RESULTS + 8 * stream + 4 * (n % 2), false, n / 2 % 128)
        })
    }

    /// What a command that was given does, and the data that it asks for.
    fn given(&mut self, tck: u64, pin: Pin, module: &mut Module) {
        match pin {
            Pin::Act { bank, row } => drop(self.open.insert(bank, row)),
            Pin::Pre { bank } => drop(self.open.remove(&bank)),
            Pin::PreAll => self.open.clear(),
            Pin::Rd { bank, column } => self.reads(tck, bank, column),
            Pin::Wr { .. } => self.writes(tck, module),
            _ => {}
        }
        if matches!(pin, Pin::Rd { .. } | Pin::Wr { .. }) {
            self.column_tck = tck + 4;
        }
    }

    fn reads(&mut self, tck: u64, bank: usize, column: usize) {
        let (stream, place) = (bank / 8, (column & 31) * 2 + bank / 4 % 2);
        let data = match bank % 4 {
            _ if self.open[&bank] != WINDOW_ROW => Data::Result(77),
            STATUS => Data::Status,
            RESULTS => {
                let next = self.read[stream];
                self.read[stream] += u64::from(next % 64 == place as u64);
                Data::Result(self.read[stream] - 1)
            }
            _ => Data::Read,
        };
        if matches!(data, Data::Status) {
            self.polled_tck = tck;
        }
        self.data.entry(tck + 23 + 4).or_default().push((tck + 23, data));
    }

    fn writes(&mut self, tck: u64, module: &mut Module) {
        let burst = self.script.pop_front().expect("a burst to send");
        self.sent += 1;
        self.written_tck = tck + 16 + 4 + 24;
        if matches!(burst, Burst::Start(_)) {
            self.starts += 1;
        }
        module.queue.push_back((tck + 20, burst));
        self.data.entry(tck + 15 + 4).or_default().push((tck + 15, Data::Write(burst)));
    }

    /// A status that was read.
    fn told(&mut self, words: [u64; 8], module: &mut Module) {
        let counts = [0, 16, 32, 48].map(|shift| words[1] >> shift & 0xFFFF);
        let [taken, contexts, outputs, runs] = counts;
        let (state, fault) = (words[0] & 3, words[0] >> 8 & 15);
        self.known = Status { state, fault, taken, contexts, outputs, runs, ..self.known };
        // A PREA in a run has taken the pins, as the run had ended.
        self.owns |= state == 0 && runs == self.starts && runs > 0;
        if fault != 0 && runs == self.starts {
            while self.script.front() == Some(&Burst::Operand) {
                self.script.pop_front();
            }
            self.read = [contexts, outputs];
        }
        module.read = self.read;
    }
}

/// What a conversation has met in a tCK, in which the module went on from a state.
fn event(host: &Host, module: &Module, tck: u64, state: u64) -> Option<&'static str> {
    let status = &module.status;
    match (state, status.state) {
        (1, 0) if !host.owns => Some("pins taken in passing"),
        (1, 1) if status.runs > 0 && module.start_waits(tck) => Some("START behind a run"),
        (2, 1) if status.fault != 0 => Some("fault"),
        _ if host.sent - host.known.taken == 128 => Some("full queue"),
        _ => None,
    }
}

/// A conversation of so many tCK, and then to its end.
fn conversation(seed: u64, tcks: u64, met: &mut BTreeSet<&'static str>) -> Vec<HostViolation> {
    let mut random = Random(seed);
    let mut checker = HostChecker::new(HostRules { poll: Some(2000), ..rules() });
    let mut module = Module::default();
    let mut host = Host { owns: true, ..Host::default() };
    let mut found = Vec::new();
    for tck in 0.. {
        for (from, data) in host.data.remove(&tck).unwrap_or_default() {
            found.extend(match data {
                Data::Write(burst) => checker.write_data(from, burst.words()),
                Data::Read => checker.read_data(from, ZERO),
                Data::Result(n) => checker.read_data(from, [n; 8]),
                Data::Status => {
                    let words = module.shown[from as usize - 2];
                    host.told(words, &mut module);
                    checker.read_data(from, words)
                }
            });
        }
        let idle = host.owns && host.script.is_empty() && host.starts == host.known.runs;
        let stops = idle && tck > tcks;
        if stops && host.data.is_empty() {
            break;
        }
        if idle && !stops {
            host.plan(&mut random);
        }
        let pin = if stops { None } else { host.command(tck, &mut random) };
        if let Some(pin) = pin {
            host.given(tck, pin, &mut module);
            found.extend(checker.command(tck, pin));
        }
        let state = module.status.state;
        if let Some(chips) = module.step(tck, pin, &mut random) {
            found.extend(checker.chips(tck, chips));
        }
        met.extend(event(&host, &module, tck, state));
        assert!(found.is_empty(), "{} (seed {seed})", found[0]);
        assert!(tck < 20 * tcks, "the conversation ends (seed {seed})");
    }
    assert!(host.known.runs > 20, "{} runs", host.known.runs);
    let end = module.shown.len() as u64 + 100;
    found.extend(checker.finish(end));
    found
}

#[test]
fn random_conversations_pass() {
    let mut met = BTreeSet::new();
    for seed in 0..8 {
        assert_eq!(conversation(seed, 300_000, &mut met), []);
    }
    assert_eq!(met.len(), 4, "{met:?}");
}
