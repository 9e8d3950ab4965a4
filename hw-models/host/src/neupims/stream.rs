// SPDX-License-Identifier: MIT
//! Requests without end: reads as weights for the NPU are, and tiles back to back.

use pimlico_device::neupims::request::operation;
use pimlico_device::neupims::{
    BANKS, BURST, COLUMNS, ChannelEvent, ChannelHost, GROUP, MemRequest, PimRequest, WORDS,
};
use std::collections::VecDeque;

/// Pseudo-random numbers (Steele, Lea, Flood: SplitMix64).
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    /// A number below another.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % most
    }
}

/// Reads of whole rows in several sequences that take turns, as parts of a matrix are read side by side: each has banks of its own,
/// alternately of either half of the channel, and reads its rows from the first burst to the last. Sequences are not in step: each
/// has read as much of its row when another begins one. Or random bursts.
#[derive(Clone, Debug)]
pub struct WeightStream {
    rows: std::ops::Range<u16>,
    next: u64,
    random: Option<SplitMix>,
}

impl WeightStream {
    /// Sequences of a stream of weights.
    const SEQUENCES: u64 = 8;

    /// Of these rows of all banks, again and again.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn new(rows: std::ops::Range<u16>) -> Self {
        assert!(!rows.is_empty(), "a row to read");
        Self { rows, next: 0, random: None }
    }

    /// Bursts at random places of these rows, a third of them writes.
    ///
    /// # Panics
    ///
    /// If there are no rows.
    pub fn random(rows: std::ops::Range<u16>, seed: u64) -> Self {
        Self { random: Some(SplitMix(seed)), ..Self::new(rows) }
    }

    fn request(&mut self) -> MemRequest {
        if let Some(random) = &mut self.random {
            let row = self.rows.start + random.below(self.rows.len() as u64) as u16;
            let [bank, column] = [BANKS, COLUMNS].map(|most| random.below(most as u64) as u8);
            let data = (random.below(3) == 0).then_some([0; BURST]);
            return MemRequest { bank, row, column, data };
        }
        let (columns, banks) = (COLUMNS as u64, BANKS as u64);
        let sequence = self.next % Self::SEQUENCES;
        // Out of step by as much as divides a row among them.
        let burst = self.next / Self::SEQUENCES + sequence * columns / Self::SEQUENCES;
        let (column, of_row) = (burst % columns, burst / columns);
        let of_sequence = banks / Self::SEQUENCES;
        let number = sequence + Self::SEQUENCES * (of_row % of_sequence);
        let row = of_row / of_sequence % self.rows.len() as u64;
        self.next += 1;
        MemRequest {
            bank: bank(number) as u8,
            row: self.rows.start + row as u16,
            column: column as u8,
            data: None,
        }
    }
}

/// The banks so that neighbours are of different halves, and then of different groups.
fn bank(number: u64) -> u64 {
    let (half, n) = (number % 2, number / 2);
    let groups = (BANKS / 2 / GROUP) as u64;
    half * BANKS as u64 / 2 + n % groups * GROUP as u64 + n / groups
}

/// Operations back to back, each of another row than the one before.
pub struct TileStream {
    /// Words of the sums of each operation, from its number; none: a GWRITE.
    counts: Box<dyn FnMut(u64) -> Vec<u8> + Send>,
    rows: std::ops::Range<u16>,
    fine: bool,
    number: u64,
    list: VecDeque<PimRequest>,
}

impl TileStream {
    /// Of these rows, in turn.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn new(
        rows: std::ops::Range<u16>,
        fine: bool,
        counts: impl FnMut(u64) -> Vec<u8> + Send + 'static,
    ) -> Self {
        assert!(!rows.is_empty(), "a row to open");
        let counts = Box::new(counts);
        Self { counts, rows, fine, number: 0, list: VecDeque::new() }
    }

    /// Operations of one to eight sums of random words, 32 at the most, and a GWRITE before every eighth, on average.
    ///
    /// # Panics
    ///
    /// If there are no rows.
    pub fn random(rows: std::ops::Range<u16>, fine: bool, seed: u64) -> Self {
        let mut random = SplitMix(!seed);
        let counts = move |_| {
            if random.below(8) == 0 {
                return Vec::new();
            }
            let sums = 1 + random.below(8);
            let most = WORDS as u64 / sums;
            (0..sums).map(|_| 1 + random.below(most) as u8).collect()
        };
        Self::new(rows, fine, counts)
    }

    fn request(&mut self) -> Option<PimRequest> {
        if self.list.is_empty() {
            let row = self.rows.start + (self.number % self.rows.len() as u64) as u16;
            let counts = (self.counts)(self.number);
            let mut list = Vec::new();
            match counts.is_empty() {
                true => list.push(PimRequest::Gwrite { bank: (row % BANKS as u16) as u8, row }),
                false => operation(row, &counts, self.fine, &mut list),
            }
            self.list.extend(list);
            self.number += 1;
        }
        self.list.pop_front()
    }
}

/// Both, or one of them, without end.
pub struct Both {
    /// Reads.
    pub mem: Option<WeightStream>,
    /// Tiles.
    pub pim: Option<TileStream>,
}

impl ChannelHost for Both {
    fn mem(&mut self, _: u64) -> Option<MemRequest> {
        self.mem.as_mut().map(WeightStream::request)
    }

    fn pim(&mut self, _: u64) -> Option<PimRequest> {
        self.pim.as_mut().and_then(TileStream::request)
    }

    fn event(&mut self, _: u64, _: &ChannelEvent) {}

    fn is_done(&self) -> bool {
        false
    }
}
