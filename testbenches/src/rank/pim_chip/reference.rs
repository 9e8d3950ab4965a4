// SPDX-License-Identifier: MIT
//! What a `pim_chip` does with what it is told, tCK by tCK: `golden`'s sums behind the commands' latencies.

use super::super::known_code;
use super::{ACCUMULATE_EDGES, BANKS, BURST, TREE_EDGES, of_pim};
use crate::arith::precision;
use crate::due::pop_due;
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_golden::pins::Lock;
use pimlico_golden::reduction::Precision;
use pimlico_units::arith::{Binary16, Format, Fp};
use pimlico_units::rank::PimChipIn;
use std::collections::VecDeque;

/// The sums of a bank.
#[derive(Clone, Default)]
struct Bank {
    tree: u32,
    sums: [u32; 4],
    /// What the result register gets, and with which edge.
    results: Vec<(usize, Registered)>,
}

/// What a result register gets.
#[derive(Clone, Copy)]
enum Registered {
    Score(u32),
    Sums([u32; 4]),
}

/// What is known of the chip, tCK by tCK; what it drives, beat by beat.
pub struct Chip<A: Format> {
    golden: Precision,
    format: std::marker::PhantomData<A>,
    banks: Vec<Bank>,
    /// Scores of bank groups 1 to 3, as they were when those of group 0 were read.
    kept: [u32; BANKS],
    /// The word that was set, and the one that an RD_ALL reads next.
    words: [u8; 2],
    /// RD_ALLs on their way: when their columns are there, their words, and what they say.
    pending: VecDeque<(usize, u8, u64)>,
    /// Words of the shared buffer, and the tCK from which on each is there.
    shared: Vec<(usize, u8, u64)>,
    /// Edges of the PUs' clock before each tCK.
    pub edges: Vec<usize>,
    /// The edges with which results are new.
    pub result_edges: Vec<usize>,
    pub driven: Vec<Option<u8>>,
    pub busy: Vec<bool>,
    pub written: Vec<bool>,
    pub writes: Vec<Option<(u64, u8, u64)>>,
    lock: Lock,
    /// Before the end of each tCK.
    pub unlocked: Vec<bool>,
}

impl<A: Format> Chip<A> {
    pub fn new(beats: usize) -> Self {
        let tck = beats / 2 + 128;
        Self {
            golden: precision::<Binary16, A>(),
            format: std::marker::PhantomData,
            banks: vec![Bank::default(); BANKS],
            kept: [0; BANKS],
            words: [0; 2],
            pending: VecDeque::new(),
            shared: Vec::new(),
            edges: vec![0],
            result_edges: Vec::new(),
            driven: vec![None; 2 * tck],
            busy: vec![false; tck],
            written: vec![false; tck],
            writes: vec![None; tck],
            lock: Lock::new(true),
            unlocked: Vec::new(),
        }
    }

    /// A command, and what comes of it later.
    pub fn tck(&mut self, tck: usize, input: &PimChipIn<A>, inputs: &[PimChipIn<A>]) {
        let pins = known_code(&input.pins_i).unwrap_or_default();
        let is_locked = self.lock.is_locked();
        self.unlocked.push(!is_locked);
        if pins.command == PinCommand::Mrs {
            self.lock.mrs(pins.bank(), pins.row());
        }
        let ignored = is_locked && of_pim(pins.command).is_some();
        let pins = if ignored { Pins::NONE } else { pins };
        let Pins { command, bank, column, .. } = pins;
        let edges = self.edges[tck] + usize::from(input.clk_pu_i);
        self.edges.push(edges);
        let cwl = usize::from(input.cwl_i);
        let data = || {
            let bytes = inputs.iter().skip(2 * (tck + cwl)).take(2 * BURST);
            bytes.enumerate().map(|(n, input)| u64::from(input.dq_i) << (8 * n)).sum()
        };
        let end = tck + cwl + BURST;
        match command {
            PinCommand::SetWord => self.words = [column; 2],
            PinCommand::RdAll => self.ask(tck, usize::from(input.rl_mac_i), bank.get()),
            PinCommand::Rd => {
                let elements = input.cells_i[bank.get() as usize];
                self.drive(tck, input, elements.map(|element| (16, element.to_bits())).into());
            }
            PinCommand::RdResult => {
                let results = self.results(column, edges);
                self.drive(tck, input, results);
            }
            PinCommand::WrShared => {
                self.shared.push((end, column, data()));
                self.written[end - 1] = true;
            }
            PinCommand::Wr => self.writes[end - 1] = Some((bank.get(), column, data())),
            _ => {}
        }
        if let Some((_, word, bits)) = pop_due(&mut self.pending, |(at, ..)| *at == tck) {
            self.read_all(tck, edges, input, word, bits);
        }
        if matches!(command, PinCommand::Wr | PinCommand::WrShared) {
            self.busy[tck + 1..end].fill(true);
        }
    }

    /// Drives numbers of so many bits, the first first.
    fn drive(&mut self, tck: usize, input: &PimChipIn<A>, numbers: Vec<(u32, u32)>) {
        let begin = tck + usize::from(input.cl_i);
        let bytes = numbers
            .into_iter()
            .flat_map(|(bits, number)| number.to_le_bytes().into_iter().take(bits as usize / 8));
        let beats = &mut self.driven[2 * begin..2 * (begin + BURST)];
        beats.iter_mut().zip(bytes).for_each(|(beat, byte)| *beat = Some(byte));
        self.busy[tck + 1..begin + BURST].fill(true);
    }

    /// The numbers of an RD_RESULT, as its address bits are documented.
    fn results(&mut self, address: u8, edges: usize) -> Vec<(u32, u32)> {
        let (group, bank, lane) = (usize::from(address & 3), address >> 2 & 3, address & 3);
        if address & 0x80 == 0 {
            if group == 0 {
                self.kept = std::array::from_fn(|bank| self.banks[bank].lane(0, edges) & 0xFFFF);
            }
            return self.kept[4 * group..][..4].iter().map(|score| (16, *score)).collect();
        }
        let groups = match (A::WIDTH, address & 0x40) {
            (16, _) => 0..4,
            (_, 0) => 0..2,
            _ => 2..4,
        };
        let sum = |group: u8| self.banks[usize::from(4 * group + bank)].lane(lane.into(), edges);
        groups.map(|group| (A::WIDTH, sum(group))).collect()
    }

    /// An RD_ALL: its word is known with it, its columns come later.
    fn ask(&mut self, tck: usize, rl_mac: usize, bits: u64) {
        let word = self.words[usize::from(bits & 1 == 0)];
        self.words[1] = word.wrapping_add(1);
        self.pending.push_back((tck + rl_mac, word, bits));
        self.busy[tck + 1..=tck + rl_mac].fill(true);
    }

    /// The columns of an RD_ALL, which go into the latches with this edge.
    fn read_all(&mut self, tck: usize, edge: usize, input: &PimChipIn<A>, word: u8, bits: u64) {
        let [accumulate, first, last] = [3, 2, 1].map(|bit| bits >> bit & 1 != 0);
        let written = self.shared.iter().filter(|(at, of, _)| *at <= tck && *of == word);
        // The last one that was written.
        let word = written.max_by_key(|(at, ..)| *at).map_or(0, |(.., word)| *word);
        let factor = |lane: usize| (word >> (16 * lane)) as u32 & 0xFFFF;
        let later = if accumulate { ACCUMULATE_EDGES } else { TREE_EDGES };
        let golden = self.golden;
        for (number, (bank, row)) in self.banks.iter_mut().zip(&input.cells_i).enumerate() {
            let row = row.map(Fp::to_bits);
            let result = if accumulate {
                for (sum, x) in bank.sums.iter_mut().zip(row) {
                    let product = golden.product(x, factor(number / 4));
                    *sum = golden.add(product, if first { 0 } else { *sum });
                }
                Registered::Sums(bank.sums)
            } else {
                let products = std::array::from_fn(|k| golden.product(row[k], factor(k)));
                let sum = if first { 0 } else { bank.tree };
                bank.tree = golden.add(golden.lanes_sum(products), sum);
                Registered::Score(golden.element(bank.tree))
            };
            if last {
                bank.results.push((edge + later, result));
            }
        }
        if last {
            self.result_edges.push(edge + later);
        }
    }
}

impl Bank {
    /// What a lane of the result register holds after so many edges.
    fn lane(&self, lane: usize, edges: usize) -> u32 {
        let there = self.results.iter().filter(|(edge, _)| *edge <= edges);
        let of_lane = there.filter_map(|(edge, result)| match result {
            Registered::Score(score) if lane == 0 => Some((*edge, *score)),
            Registered::Score(_) => None,
            Registered::Sums(sums) => Some((*edge, sums[lane])),
        });
        of_lane.max_by_key(|(edge, _)| *edge).map_or(0, |(_, bits)| bits)
    }
}
