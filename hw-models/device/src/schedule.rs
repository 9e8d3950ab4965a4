// SPDX-License-Identifier: MIT
//! What the rank is asked for to compute score and context of one head.
//!
//! A schedule knows the order of requests and what each waits for, and no timing: the rank controller
//! has that. What a request waits for is the data that it works on.
//!
//! ```text
//! score     WR_SHARED Q ──▶ RD_ALL chunk 0, chunk 1, ...   b columns each
//!                               └─▶ RD_RESULT chunk 0 ──▶ 16 sums out of the adder unit
//! context   WR_SHARED weights 0, 1, ... ──▶ RD_ALL column 0, 1, ...   four tokens each
//!                                               └─▶ RD_RESULT, after the last ──▶ 32 b sums
//! ```
//!
//! With *b* bursts in a vector and a slot of tCCD_L = 8 tCK, a chunk is read in 8 b tCK and its 16 sums
//! leave in 16 tCK beside that. Where b = 1 they leave more slowly than they are read: then a chunk
//! takes two slots, one of them a bubble.

use crate::bank_pus::SHARED_WORDS;
use crate::mapping::{self, BURST, HeadLayout};
use crate::rank::{
    AllBankRead, ArrayRequest, BusRequest, Events, Rank, RankError, Requests, Shared, Sum,
};
use crate::{Config, LANES, Results, Statistics};
use pimlico_units::rank::RankController;

/// Computes the scores of a head: for each token the product of its K vector with `q`.
pub fn score(
    rank: &mut Rank,
    layout: &HeadLayout,
    q: &[u16],
) -> Result<(Vec<u16>, Statistics), RankError> {
    let banks = rank.config().banks();
    let groups = rank.config().organisation.bank_groups;
    let (bursts, chunks) = (layout.bursts(), layout.chunks());
    let mut fills = (0..bursts)
        .map(|word| BusRequest::Write { word, data: Shared::Host(mapping::beats_of(q, word)) })
        .peekable();
    let mut reads = (0..chunks)
        .flat_map(|chunk| (0..bursts).map(move |burst| (chunk, burst)))
        .map(|(chunk, burst)| {
            let (row, column) = layout.k_column(chunk, burst);
            AllBankRead {
                row,
                column,
                shared: burst,
                accumulate: false,
                first: burst == 0,
                last: burst == bursts - 1,
                opens: (chunk, burst) == (0, 0),
            }
        })
        .peekable();
    let mut drain =
        Drain::new((0..groups).map(|group| (Results::Scores { group }, Sum::Tree)).collect());

    let mut scores = Vec::with_capacity(chunks * banks);
    let mut written = 0;
    let mut pace = Pace::new(rank.config(), bursts);
    rank.begin();
    while scores.len() < chunks * banks {
        let now = rank.tck();
        let may_read = |_: &&AllBankRead| written == bursts && pace.allows(now);
        let requests = Requests {
            array: reads.peek().filter(may_read).copied().map(ArrayRequest::Read),
            bus: fills.peek().copied().or_else(|| drain.request()),
            ..Default::default()
        };
        let events = rank.step(&requests)?;
        if events.array_taken {
            reads.next();
            pace.taken();
        }
        if events.bus_taken && fills.next().is_none() {
            drain.taken();
        }
        if events.read {
            pace.issued(now);
        }
        written += usize::from(events.written);
        drain.see(&events);
        scores.extend(events.tree);
    }
    scores.truncate(layout.context);
    Ok((scores, rank.end()))
}

/// Computes the context of a head: the sum of the V vectors, each times its token's weight. Ends the
/// head: all banks are closed then, and no REF is owed.
pub fn context(
    rank: &mut Rank,
    layout: &HeadLayout,
    weights: &[u16],
) -> Result<(Vec<u16>, Statistics), RankError> {
    let (bursts, quads) = (layout.bursts(), layout.quads());
    let sums = bursts * LANES;

    let mut fills = (0..quads).map(|quad| BusRequest::Write {
        word: quad % SHARED_WORDS,
        data: Shared::RankPu(mapping::weights_of(weights, quad)),
    });
    let mut fill = fills.next();
    let mut reads = (0..quads)
        .map(|quad| {
            let (row, column) = layout.v_column(quad);
            AllBankRead {
                row,
                column,
                shared: quad % SHARED_WORDS,
                accumulate: true,
                first: quad == 0,
                last: quad == quads - 1,
                opens: quad == 0,
            }
        })
        .enumerate()
        .peekable();
    let result = |n| Results::Context { bank: n / LANES, lane: n % LANES };
    let mut drain = Drain::new((0..sums).map(|n| (result(n), Sum::Lanes)).collect());

    let mut context = Vec::with_capacity(bursts * BURST);
    let (mut asked, mut written, mut read) = (0, 0, 0);
    rank.begin();
    while context.len() < bursts * BURST {
        // A word is written again only when it has been read.
        let room = asked < read + SHARED_WORDS;
        let requests = Requests {
            array: reads.peek().filter(|(n, _)| *n < written).map(|(_, r)| ArrayRequest::Read(*r)),
            bus: fill.filter(|_| room).or_else(|| drain.request()),
            ..Default::default()
        };
        let events = rank.step(&requests)?;
        if events.array_taken {
            reads.next();
        }
        if events.bus_taken {
            if fill.is_some() {
                fill = fills.next();
                asked += 1;
            } else {
                drain.taken();
            }
        }
        written += usize::from(events.written);
        read += usize::from(events.read);
        drain.see(&events);
        context.extend(events.lanes.into_iter().flatten());
    }
    context.truncate(layout.head_dim);
    end_head(rank)?;
    Ok((context, rank.end()))
}

/// Closes all banks and lets the REFs come that were postponed.
fn end_head(rank: &mut Rank) -> Result<(), RankError> {
    let mut requests =
        Requests { array: Some(ArrayRequest::CloseAll), head_end: true, ..Default::default() };
    while requests.array.is_some() || !rank.is_settled() {
        let events = rank.step(&requests)?;
        requests.head_end = false;
        requests.array = requests.array.filter(|_| !events.array_taken);
    }
    Ok(())
}

/// Asks for the results of the bank PUs, again and again the same.
struct Drain {
    results: Vec<(Results, Sum)>,
    /// How many of them are still to be asked for, and how many to leave the bank PUs.
    to_ask: usize,
    to_leave: usize,
}

impl Drain {
    fn new(results: Vec<(Results, Sum)>) -> Self {
        Self { results, to_ask: 0, to_leave: 0 }
    }

    fn request(&self) -> Option<BusRequest> {
        let next = self.results.len() - self.to_ask;
        self.results.get(next).map(|&(results, sum)| BusRequest::Results { results, sum })
    }

    fn taken(&mut self) {
        self.to_ask -= 1;
    }

    fn see(&mut self, events: &Events) {
        self.to_leave -= usize::from(events.results_taken);
        if events.results {
            assert!(self.to_leave == 0, "results overwritten before they were read");
            self.to_ask = self.results.len();
            self.to_leave = self.results.len();
        }
    }
}

/// Holds chunks of one burst back: they drain more slowly than they are read.
struct Pace {
    /// tCK from one chunk to the next; 0 where nothing has to be held back.
    chunk_tck: u64,
    next_tck: u64,
    under_way: bool,
}

impl Pace {
    fn new(config: &Config, bursts: usize) -> Self {
        let read_tck = bursts as u64 * config.timing.ccd_l_tck;
        let drain_tck = config.banks() as u64;
        let chunk_tck = if read_tck < drain_tck { drain_tck } else { 0 };
        Self { chunk_tck, next_tck: 0, under_way: false }
    }

    fn allows(&self, at_tck: u64) -> bool {
        self.chunk_tck == 0 || !self.under_way && at_tck + RankController::LATENCY >= self.next_tck
    }

    fn taken(&mut self) {
        self.under_way = true;
    }

    fn issued(&mut self, at_tck: u64) {
        self.under_way = false;
        self.next_tck = at_tck + self.chunk_tck;
    }
}
