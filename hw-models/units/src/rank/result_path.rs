// SPDX-License-Identifier: MIT
//! Results on their way from the data bus through the adder unit.

use super::BurstTimerIn;
use super::burst_timer::Line;
use crate::arith::{Binary16, Format, Fp, sum_variant};
use crate::gear::{self, DefaultGear, Gear};
use crate::lap::Walk;
use crate::prim::{Delay, Fifo};
use pimlico_dpa::types::{Beat, LaneSums, Place, Sum, SumKind, TreeSum};
use pimlico_ports::{Model, Open, U, Unit, ports, stimulus::one_in};
use std::array::from_fn;
use std::marker::PhantomData;

ports! {
    /// A way of results with sums of format `A`.
    unit ResultPath<A: Format, G: Gear = DefaultGear>: "result_path" {
        inputs ResultPathIn {
            /// Clock: one edge per cycle of the rank's core.
            clk_core_i: bool,
            /// CL in cycles: 1 to 48 / `GEAR`.
            cl_i: u8,
            /// An RD_RESULT is on the pins: `sum_i` belongs to it.
            read_result_i: bool => one_in(3),
            /// What the adder unit does with the burst.
            sum_i: Sum,
            /// The data bus.
            dq_i: Beat,
            /// Outputs: the word that was asked for last, from the cycle after on.
            partial_outputs_i: [Fp<Binary16>; 4],
        }
        outputs ResultPathOut {
            /// Outputs: four partial sums are read.
            partial_read_o: bool,
            /// Outputs: place of the partial sums that are read, else 0.
            partial_place_o: Place,
            /// Context: partial sums are read, and are at the adder unit in the next cycle.
            sums_read_o: bool,
            /// Context: place of the partial sums that are read, else 0.
            sums_place_o: u8,
            /// Adder unit: a group in each lane for the trees.
            valid_o: bool,
            /// Adder unit: the lanes that accumulate.
            accumulate_o: G::Lanes<bool>,
            /// Adder unit: an element of each chip, by lane.
            x_o: G::Lanes<[Fp<A>; 8]>,
            /// Adder unit: partial sums of outputs, by lane; +0 where there is none.
            partial_o: G::Lanes<Fp<A>>,
            /// Adder unit: sums of the chips begin in the next cycle.
            begin_o: bool,
            /// Adder unit: the sums of the chips begin with partial sums; 0 without `begin_o`.
            goes_on_o: bool,
            /// Owner of the adder unit's sums over the chips; 0 if there are none.
            tree_o: TreeSum,
            /// The adder unit's sums of the chips end.
            lanes_valid_o: bool,
            /// Owner of the sums of the chips; 0 if there are none.
            lanes_o: LaneSums,
            /// No burst and no sum are in flight as this cycle begins.
            idle_o: bool,
        }
        probes ResultPathProbe {}
    }
}

/// Lanes, at the most.
const MOST: usize = 4;
/// Words of an element memory.
const WORDS: usize = 32;
/// Cycles of an adder.
const ADDER: usize = 2;
/// Cycles of the adder unit's tree.
const TREE: usize = 4 * ADDER;
/// Rows of the context at a time, at the most.
const ROWS: usize = 11;

/// An element of each chip, or a sum of each.
type Elements<A> = [Fp<A>; 8];

/// A row of the context: four elements of each chip, and whose their sums are.
#[derive(Clone, Copy, Debug)]
struct Row {
    number: u8,
    goes_on: bool,
    sums: LaneSums,
}

/// The cycle model of a result path with sums of format `A`.
///
#[doc = contract!("rank/result_path")]
#[derive(Clone, Debug)]
pub struct ResultPath<A: Format, G: Gear = DefaultGear> {
    timer: Line,
    bursts: Fifo<Sum, 16>,
    /// The last seven beats, the last one first.
    beats: Delay<Beat, 7>,
    /// By the bursts since they entered.
    rows: [Option<Row>; ROWS],
    phase: u8,
    /// Number of the row whose elements come.
    number: u8,
    /// The row whose last burst is to come goes on.
    goes_on: bool,
    /// The memories of elements, by lane, and what has been read from each last.
    memory: Box<[[Elements<A>; WORDS]]>,
    kept: [Option<Elements<A>>; MOST],
    /// Inputs of the adder unit, where they are known.
    x: [Option<Elements<A>>; MOST],
    partial: Option<[Fp<A>; MOST]>,
    /// Whose the sums over the chips are, by the cycles since the group was at the adders, and whether they go
    /// on from partial sums.
    tree: Delay<Option<(bool, TreeSum)>, { TREE + 1 }>,
    gear: PhantomData<G>,
}

impl<A: Format, G: Gear> Unit for ResultPath<A, G> {
    const MODULE: &'static str = "result_path";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("GEAR", G::TCK as i64),
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("DEPTH", 16),
    ];
    type In = ResultPathIn<A, G>;
    type Out = ResultPathOut<A, G>;
    type Probe = ResultPathProbe<A, G>;

    fn variant() -> String {
        gear::variant::<G>(&sum_variant::<Binary16, A>())
    }
}

impl<A: Format, G: Gear> ResultPath<A, G> {
    /// Sums are of 32 bits.
    const WIDE: bool = A::WIDTH == 32;
    /// Elements of a chip that a word of the memories stands for.
    const WORDS_OF_ROW: usize = 4 / G::TCK;
    /// Numbers of rows.
    const NUMBERS: u8 = (8 * G::TCK) as u8;
    /// The age at which the sums of a row end, in cycles from its first read on.
    const ENDS: usize = Self::offset(3) + 2 + ADDER;

    /// Cycles from the first read of a row to that of its element `k`.
    const fn offset(k: usize) -> usize {
        k / G::TCK * (G::TCK * ADDER + 1) + k % G::TCK * ADDER
    }

    /// The row of this age, if there is one.
    fn row(&self, age: usize) -> Option<&Row> {
        let row = self.rows[age / G::BURST].as_ref();
        row.filter(|_| usize::from(self.phase) == age % G::BURST)
    }

    /// A beat in which the core's clock stands.
    pub fn beat_between(&mut self, dq: Beat) {
        self.beats.clock(dq);
    }

    /// No burst and no sum are in flight.
    pub fn is_idle(&self) -> bool {
        self.bursts.oldest().is_none()
            && self.tree.all().iter().all(Option::is_none)
            && self.rows.iter().all(Option::is_none)
    }

    /// Goes over what of it is no data, for [laps](crate::lap), where no sums of the context are in flight.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
        let Self {
            timer,
            bursts,
            beats: _,
            rows,
            // Without a row it runs free, and the next row begins it anew.
            phase: _,
            number,
            goes_on,
            memory: _,
            kept: _,
            x: _,
            partial: _,
            tree,
            gear: _,
        } = self;
        walk.refuse_if(rows.iter().any(Option::is_some));
        timer.walk(walk);
        walk.size(bursts.count());
        bursts.all_mut().for_each(|sum| walk.sum(sum));
        walk.still(*number);
        walk.still(*goes_on);
        for cycles in 0..=TREE {
            let group = &mut tree[cycles];
            walk.still(group.is_some());
            if let Some((goes_on, sum)) = group {
                walk.still(*goes_on);
                walk.bits(&TreeSum { place: Place::default(), ..*sum });
                walk.moves(&mut sum.place);
            }
        }
    }

    /// The beat on the bus so many beats ago.
    fn beat(&self, ago: usize, dq: Beat) -> Beat {
        if ago == 0 { dq } else { self.beats[ago - 1] }
    }

    /// What the chips have sent in `count` beats, of which the last was on the bus so many beats ago.
    fn sent(&self, count: usize, last: usize, dq: Beat) -> [u32; 8] {
        from_fn(|chip| {
            (0..count).fold(0, |bits, n| {
                bits | u32::from(self.beat(last + count - 1 - n, dq).to_le_bytes()[chip]) << (8 * n)
            })
        })
    }

    /// Elements of 16 bits in this cycle.
    fn element(&self, lane: usize, dq: Beat) -> [Fp<Binary16>; 8] {
        self.sent(2, 2 * (G::TCK - 1 - lane), dq).map(Fp::from_bits)
    }

    /// Elements of a burst of the context go to the memories.
    fn write(&mut self, sum: &Sum, index: usize, dq: Beat) {
        let word = Self::WORDS_OF_ROW * usize::from(self.number);
        if !Self::WIDE {
            for lane in 0..G::TCK {
                let x = self.sent(2, 2 * (G::TCK - 1 - lane), dq).map(Fp::from_bits);
                self.memory[lane][word + index] = x;
            }
            return;
        }
        // Two elements in a burst of four tCK, eight beats.
        for n in 0..2 {
            let last = 4 * (n + 1);
            let beats = 2 * G::TCK * (index + 1);
            if last > 2 * G::TCK * index && last <= beats {
                let k = n + if sum.first { 0 } else { 2 };
                self.memory[k % G::TCK][word + k / G::TCK] =
                    self.sent(4, beats - last, dq).map(Fp::from_bits);
            }
        }
    }

    /// The core's clock, but for the timer and the queue. `on_bus` is the burst, and its cycle.
    fn clock(&mut self, input: &ResultPathIn<A, G>, on_bus: Option<(Sum, usize)>) {
        // Inputs of the adder unit.
        let tree = on_bus.filter(|(sum, _)| sum.kind != SumKind::Context);
        for lane in 0..G::TCK {
            self.x[lane] = match tree {
                Some(_) => Some(self.element(lane, input.dq_i).map(Fp::widen)),
                None => self.kept[lane],
            };
        }
        let outputs = self.tree[5].filter(|(goes_on, _)| *goes_on);
        self.partial = Some(from_fn(|lane| match outputs {
            Some((_, sum)) => {
                input.partial_outputs_i[(sum.place.get() as usize | lane) % 4].widen()
            }
            None => Fp::ZERO,
        }));
        self.tree.clock(tree.map(|(sum, index)| owner::<G>(&sum, index)));

        // Rows of the context.
        for k in 0..4 {
            if let Some(row) = self.row(Self::offset(k)) {
                let word = Self::WORDS_OF_ROW * usize::from(row.number) + k / G::TCK;
                self.kept[k % G::TCK] = Some(self.memory[k % G::TCK][word]);
            }
        }
        let last_phase = usize::from(self.phase) == G::BURST - 1;
        let mut enters = None;
        if let Some((sum, index)) = on_bus.filter(|(sum, _)| sum.kind == SumKind::Context) {
            self.write(&sum, index, input.dq_i);
            if sum.first {
                self.goes_on = sum.goes_on;
            }
            if sum.last && (last_phase || self.rows.iter().all(Option::is_none)) {
                let Sum { head, complete, place, .. } = sum;
                let sums = LaneSums { head, complete, place: place.get() as u8 };
                enters = Some(Row { number: self.number, goes_on: self.goes_on, sums });
            }
            if sum.last && index == G::BURST - 1 {
                self.number = (self.number + 1) % Self::NUMBERS;
            }
        }
        if last_phase || enters.is_some() {
            let rows = Self::ENDS / G::BURST + 1;
            self.rows[..rows].rotate_right(1);
            self.rows[0] = enters;
            self.phase = 0;
        } else {
            self.phase += 1;
        }
    }
}

impl<A: Format, G: Gear> Model for ResultPath<A, G> {
    fn new() -> Self {
        Self {
            timer: Line::default(),
            bursts: Fifo::new(),
            beats: Delay::of([0; 7]),
            rows: [None; ROWS],
            phase: 0,
            number: 0,
            goes_on: false,
            memory: vec![[[Fp::ZERO; 8]; WORDS]; G::TCK].into(),
            kept: [None; MOST],
            x: [None; MOST],
            partial: None,
            tree: Delay::of([None; TREE + 1]),
            gear: PhantomData,
        }
    }

    fn reset(&mut self) {
        self.timer = Line::default();
        self.bursts = Fifo::new();
        self.beats = Delay::of([0; 7]);
        self.rows = [None; ROWS];
        (self.phase, self.number, self.goes_on) = (0, 0, false);
        self.memory.fill([[Fp::ZERO; 8]; WORDS]);
        (self.kept, self.x, self.partial) = ([None; MOST], [None; MOST], None);
        self.tree = Delay::of([None; TREE + 1]);
    }

    fn probe(&self) -> Self::Probe {
        ResultPathProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        for lane in (0..G::TCK).filter(|lane| self.x[*lane].is_none()) {
            open.port("x_o").element(lane).mark();
        }
        if self.partial.is_none() {
            open.port("partial_o").mark();
        }
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let mut output: Self::Out = ResultPathOut {
            valid_o: self.tree[0].is_some(),
            x_o: gear::lanes::<G, Elements<A>>(|lane| self.x[lane].unwrap_or([Fp::ZERO; 8])),
            partial_o: gear::lanes::<G, Fp<A>>(|lane| self.partial.map_or(Fp::ZERO, |p| p[lane])),
            tree_o: self.tree[TREE].map_or_else(TreeSum::default, |(_, sum)| sum),
            idle_o: self.is_idle(),
            ..Default::default()
        };
        if let Some((true, TreeSum { place, .. })) = self.tree[4]
            && place.get().is_multiple_of(4)
        {
            (output.partial_read_o, output.partial_place_o) = (true, place);
        }
        if let Some(row) = self.row(0).filter(|row| row.goes_on) {
            (output.sums_read_o, output.sums_place_o) = (true, row.sums.place);
        }
        if let Some(row) = self.row(1) {
            (output.begin_o, output.goes_on_o) = (true, row.goes_on);
        }
        for k in 0..4 {
            let accumulate: &mut [bool] = output.accumulate_o.as_mut();
            accumulate[k % G::TCK] |= self.row(Self::offset(k) + 2).is_some();
        }
        if let Some(row) = self.row(Self::ENDS) {
            (output.lanes_valid_o, output.lanes_o) = (true, row.sums);
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        if input.clk_core_i {
            let timer = BurstTimerIn { command_i: input.read_result_i, latency_i: input.cl_i };
            let on_bus = self.timer.step(&timer, G::BURST);
            let burst = self.bursts.oldest().copied().filter(|_| on_bus.busy_o);
            self.clock(input, burst.map(|sum| (sum, on_bus.index_o.get() as usize)));
            let ends = on_bus.busy_o && on_bus.last_o;
            self.bursts.clock(ends, input.read_result_i.then_some(input.sum_i));
        }
        self.beats.clock(input.dq_i);
        output
    }
}

/// Whose the sums of a group are: of a burst, in one of its cycles. And whether they go on.
fn owner<G: Gear>(sum: &Sum, index: usize) -> (bool, TreeSum) {
    let Sum { kind, head, first, tokens, place, keep, goes_on, complete, .. } = *sum;
    let is_output = kind == SumKind::Outputs;
    let group = (index * G::TCK) as u64;
    let masked = (0..G::TCK as u64)
        .filter(|lane| group + lane >= tokens.get())
        .fold(0, |masked, lane| masked | 1 << lane);
    let owner = TreeSum {
        is_output,
        head,
        first,
        masked: U::new(masked),
        keep,
        complete,
        place: Place::new(place.get() + group),
    };
    (is_output && goes_on, owner)
}
