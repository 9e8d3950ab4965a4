// SPDX-License-Identifier: MIT
//! Chip of the rank: PUs at its banks, shared buffer and data lines.

use super::{BurstSource, BurstSourceIn, BurstTimer, BurstTimerIn, PimKey};
use crate::arith::{Binary16, Format, Fp, sum_variant};
use crate::bank::{BankPu, BankPuIn};
use crate::prim::{DdrOut, Fifo};
use pimlico_dpa::types::{BANKS, Bank, Column, DramPins, PinCommand, Pins, ReadAll, ResultAddress};
use pimlico_ports::{Model, Open, Unit, ports};
use std::array::from_fn;

ports! {
    /// A chip with sums of format `A`.
    unit PimChip<A: Format>: "pim_chip" {
        inputs PimChipIn {
            /// Clock: one edge per tCK, in memory mode as well.
            clk_tck_i: bool,
            /// Clock of the PUs.
            clk_pu_i: bool,
            /// The second of the two beats of a tCK.
            second_i: bool,
            /// CL, 4 to 48.
            cl_i: u8,
            /// CWL, 4 to 48.
            cwl_i: u8,
            /// RL_MAC, 0 to LONGEST: from an RD_ALL to its columns at the PUs.
            rl_mac_i: u8,
            /// The command pins.
            pins_i: DramPins,
            /// The column, from each bank's row buffer: of an RD in its tCK, of an RD_ALL RL_MAC later.
            cells_i: [[Fp<Binary16>; 4]; 16],
            /// The data lines.
            dq_i: u8,
        }
        outputs PimChipOut {
            /// What the chip drives on the data lines; 0 if nothing, from the first tCK after reset on.
            dq_o: u8,
            /// The chip drives the data lines.
            drives_o: bool,
            /// A word of the shared buffer is written.
            written_o: bool,
            /// A column of a bank is to be written: the burst of a WR is complete.
            cells_write_o: bool,
            /// Bank of the column to be written; 0 if there is none.
            cells_write_bank_o: Bank,
            /// Column to be written; 0 if there is none.
            cells_write_column_o: Column,
            /// Data of the column to be written; 0 if there is none.
            cells_write_data_o: u64,
            /// The PUs' results are new; set for a slot.
            result_valid_o: bool,
            /// The chip obeys the commands of processing in memory; the cell arrays obey ACT_ALL with it alone.
            unlocked_o: bool,
            /// No data are in flight as this tCK begins.
            idle_o: bool,
        }
        probes PimChipProbe {}
    }
}

/// The longest RL_MAC, in tCK.
const LONGEST_RL_MAC: u8 = 12;

/// Where a burst goes.
#[derive(Clone, Copy, Debug, Default)]
struct Target {
    /// To the shared buffer: `column` is its word.
    shared: bool,
    bank: Bank,
    column: Column,
}

/// What an RD_ALL says of its columns, and its word of the shared buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    what: ReadAll,
    word: u8,
}

/// What the last RD_ALL has brought for the PUs.
#[derive(Clone, Copy, Debug, Default)]
struct Latch {
    what: ReadAll,
    shared: u64,
    rows: [[Fp<Binary16>; 4]; BANKS],
}

/// The cycle model of a chip with sums of format `A`.
///
#[doc = contract!("rank/pim_chip")]
#[derive(Clone)]
pub struct PimChip<A: Format> {
    key: PimKey,
    take: BurstTimer,
    targets: Fifo<Target, 16>,
    /// The last six bytes of the last tCK, the last one at the top, and that of the last beat.
    beats: u64,
    beat: u8,
    shared: [u64; 256],
    /// The word that was set, and the one that an RD_ALL reads next.
    set: u8,
    next: u8,
    /// Bit n: an RD_ALL n + 1 tCK ago.
    line: u64,
    /// RD_ALLs whose columns are on their way.
    pending: Fifo<Asked, 4>,
    /// The slot has a beat for the PUs.
    valid: bool,
    latch: Latch,
    pus: [BankPu<Binary16, A>; BANKS],
    /// The scores of bank groups 1 to 3, from the RD_RESULT of those of group 0 on.
    kept: [u64; 3],
    drive: BurstTimer,
    /// What an RD or RD_RESULT has read in the last tCK.
    read: Option<u64>,
    results: BurstSource<u8>,
    dq: DdrOut<u8>,
}

impl<A: Format> Unit for PimChip<A> {
    const MODULE: &'static str = "pim_chip";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("DEPTH", 16),
        ("LONGEST", LONGEST_RL_MAC as i64),
    ];
    type In = PimChipIn<A>;
    type Out = PimChipOut<A>;
    type Probe = PimChipProbe<A>;

    fn variant() -> String {
        sum_variant::<Binary16, A>()
    }
}

impl<A: Format> Model for PimChip<A> {
    fn new() -> Self {
        Self {
            key: PimKey::default(),
            take: BurstTimer::new(),
            targets: Fifo::new(),
            beats: 0,
            beat: 0,
            shared: [0; 256],
            set: 0,
            next: 0,
            line: 0,
            pending: Fifo::new(),
            valid: false,
            latch: Latch::default(),
            pus: from_fn(|_| BankPu::new()),
            kept: [0; 3],
            drive: BurstTimer::new(),
            read: None,
            results: BurstSource::new(),
            dq: DdrOut::new(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        PimChipProbe::default()
    }

    fn mark_open(&self, open: &mut Open<'_>) {
        if self.dq.is_open {
            open.port("dq_o").mark();
        }
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        let target = self.targets.oldest();
        let results = self.results.settle(&Default::default());
        let command = self.key.obeyed(input.pins_i.decode()).command;
        let taken = self.take.settle(&take_timer(command, input)).last_o;
        let mut output = PimChipOut {
            dq_o: self.dq.beat(),
            drives_o: results.drives_o,
            result_valid_o: self.pus[0].settle(&Default::default()).result_valid_o,
            unlocked_o: self.key.is_unlocked(),
            idle_o: self.pending.oldest().is_none()
                && target.is_none()
                && self.read.is_none()
                && !results.valid_o,
            ..Default::default()
        };
        match target.filter(|_| taken) {
            Some(Target { shared: true, .. }) => output.written_o = true,
            Some(Target { bank, column, .. }) => {
                output.cells_write_o = true;
                output.cells_write_bank_o = *bank;
                output.cells_write_column_o = *column;
                output.cells_write_data_o = self.word(input);
            }
            None => {}
        }
        output
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        let pins = self.key.obeyed(input.pins_i.decode());
        let Pins { command, bank, column, .. } = pins;
        let line = self.line << 1 | u64::from(command == PinCommand::RdAll);
        let arrives = line >> (input.rl_mac_i & 15) & 1 != 0;
        let delays = input.rl_mac_i != 0;
        let asked = self.asked(pins);
        let arriving = match self.pending.oldest() {
            Some(oldest) if delays => *oldest,
            _ => asked,
        };
        let word = self.word(input);
        let pair = self.results.settle(&Default::default()).pair_o;
        self.dq.clock(input.second_i, input.clk_tck_i, pair);
        self.beat = input.dq_i;
        if input.clk_pu_i {
            let Latch { what, shared, rows } = self.latch;
            let factors = factors(what.accumulate, shared);
            for (bank, (pu, row_i)) in self.pus.iter_mut().zip(rows).enumerate() {
                pu.step(&BankPuIn {
                    valid_i: self.valid,
                    accumulate_i: what.accumulate,
                    first_i: what.first,
                    last_i: what.last,
                    row_i,
                    shared_i: factors[bank / 4],
                    ..Default::default()
                });
            }
            self.valid = arrives;
        }
        if input.second_i && arrives {
            self.latch.what = arriving.what;
            self.latch.rows = input.cells_i;
        }
        let address = ResultAddress::of_bits(column);
        let of_first = !address.context_sums && address.lane.get() == 0;
        if input.second_i && command == PinCommand::RdResult && of_first {
            self.kept = from_fn(|n| self.scores(n + 1));
        }
        if input.clk_tck_i {
            self.key.command(pins);
            if arrives {
                self.latch.shared = self.shared[usize::from(arriving.word)];
            }
            let reads_all = command == PinCommand::RdAll;
            if reads_all {
                self.next = asked.word.wrapping_add(1);
            }
            self.line = line;
            self.pending.clock(arrives && delays, (reads_all && delays).then_some(asked));
            if command == PinCommand::SetWord {
                (self.set, self.next) = (column, column);
            }
            let taken = self.take.step(&take_timer(command, input)).last_o;
            if let Some(target) = self.targets.oldest().filter(|_| output.written_o) {
                self.shared[usize::from(target.column)] = word;
            }
            self.beats = word >> 16;
            let shared = command == PinCommand::WrShared;
            let target = Target { shared, bank, column };
            self.targets.clock(taken, writes(command).then_some(target));
            let asks = self.drive.step(&drive_timer(command, input));
            self.results.step(&BurstSourceIn {
                push_i: self.read.is_some(),
                beats_i: self.read.unwrap_or_default().to_le_bytes(),
                busy_i: asks.busy_o,
                index_i: asks.index_o,
                ..Default::default()
            });
            self.read = self.read(pins, input);
        }
        output
    }
}

impl<A: Format> PimChip<A> {
    /// The burst that is arriving, with the beat on the data lines.
    fn word(&self, input: &PimChipIn<A>) -> u64 {
        self.beats | u64::from(self.beat) << 48 | u64::from(input.dq_i) << 56
    }

    /// What the pins say if they show an RD_ALL.
    fn asked(&self, pins: Pins) -> Asked {
        let what = pins.read_all();
        Asked { what, word: if what.back { self.set } else { self.next } }
    }

    /// What an RD or RD_RESULT reads.
    fn read(&self, pins: Pins, input: &PimChipIn<A>) -> Option<u64> {
        let Pins { command, bank, column, .. } = pins;
        match command {
            PinCommand::Rd => Some(word_of(input.cells_i[bank.get() as usize])),
            PinCommand::RdResult => Some(self.results_at(ResultAddress::of_bits(column))),
            _ => None,
        }
    }

    /// What an RD_RESULT reads.
    fn results_at(&self, address: ResultAddress) -> u64 {
        let ResultAddress { context_sums, upper, bank, lane, .. } = address;
        let (bank, lane) = (bank.get() as usize, lane.get() as usize);
        if !context_sums {
            return lane.checked_sub(1).map_or_else(|| self.scores(0), |kept| self.kept[kept]);
        }
        let sums = 64 / A::WIDTH as usize; // in a burst
        let first = if upper { BANKS / 4 - sums } else { 0 };
        let of_group = |n: usize| self.sum(4 * (first + n) + bank, lane) << (A::WIDTH as usize * n);
        (0..sums).map(of_group).sum()
    }

    /// The scores of a bank group in the result registers.
    fn scores(&self, group: usize) -> u64 {
        (0..4).map(|n| (self.sum(4 * group + n, 0) & 0xFFFF) << (16 * n)).sum()
    }

    /// What a lane of a bank's result register holds.
    fn sum(&self, bank: usize, lane: usize) -> u64 {
        u64::from(self.pus[bank].settle(&Default::default()).result_o[lane].to_bits())
    }
}

fn writes(command: PinCommand) -> bool {
    matches!(command, PinCommand::WrShared | PinCommand::Wr)
}

fn take_timer<A: Format>(command: PinCommand, input: &PimChipIn<A>) -> BurstTimerIn {
    BurstTimerIn { command_i: writes(command), latency_i: input.cwl_i }
}

/// A burst is asked for two tCK before it is on the data lines.
fn drive_timer<A: Format>(command: PinCommand, input: &PimChipIn<A>) -> BurstTimerIn {
    let command_i = matches!(command, PinCommand::RdResult | PinCommand::Rd);
    BurstTimerIn { command_i, latency_i: input.cl_i.wrapping_sub(2) }
}

/// The elements of a word.
fn elements(word: u64) -> [Fp<Binary16>; 4] {
    from_fn(|lane| Fp::from_bits((word >> (16 * lane)) as u32 & 0xFFFF))
}

/// The factors of a bank group: in accumulator mode the group has one element of the word for all lanes.
fn factors(accumulate: bool, shared: u64) -> [[Fp<Binary16>; 4]; 4] {
    let word = elements(shared);
    from_fn(|group| if accumulate { [word[group]; 4] } else { word })
}

/// The word of four elements.
fn word_of(elements: [Fp<Binary16>; 4]) -> u64 {
    elements.iter().rev().fold(0, |word, element| word << 16 | u64::from(element.to_bits()))
}
