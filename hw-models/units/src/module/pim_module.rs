// SPDX-License-Identifier: MIT
//! A module with a rank as one design: dispatcher, sequencer, rank.

use super::{Dispatcher, DispatcherIn, DispatcherOut};
use crate::arith::{Binary16, Format, sum_variant};
use crate::gear::{self, DefaultGear};
use crate::rank::{
    CommandPathProbe, PimRank, PimRankIn, PimRankOut, SequencedGear, SequencerIn, SequencerOut,
};
use pimlico_dpa::types::{
    Activity, BankSize, Beat, Burst, CellWrite, Columns, DramPins, Fault, Load, Options, Pins,
    RankEvents, RankResults, RunEnd, Start, Status, Timing,
};
use pimlico_ports::{Model, U, Unit, ports};

/// Places of L3's score buffer: 256 KB of binary16.
pub const SCORE_BUFFER: usize = 128 * 1024;

ports! {
    /// A module with a rank.
    unit PimModule: "pim_module" {
        inputs PimModuleIn {
            /// Timings of the DRAM. CL, CWL, tCCD_L and RL_MAC are multiples of GEAR.
            timing_i: Timing,
            /// Options of the rank: refresh.
            options_i: Options,
            /// Size of a bank: rows and columns.
            size_i: BankSize,
            /// Factor of the scores in binary16.
            scale_i: u16,
            /// Memory mode: the host uses the chips as its memory.
            memory_i: bool,
            /// Memory mode: the host's command.
            host_pins_i: Pins,
            /// Memory mode: the host drives its data bus.
            host_dq_valid_i: bool,
            /// Memory mode: the beat that the host drives.
            host_dq_i: Beat,
            /// The host writes to the module.
            load_valid_i: bool,
            /// The host's write: see dispatcher.
            load_i: Load,
            /// A run is to start.
            start_valid_i: bool,
            /// The run that is to start.
            start_i: Start,
            /// Words from the last `fetch_address_o` on, the first at the bottom.
            fetch_data_i: [u64; 2],
            /// The entry at the last `table_address_o`.
            table_data_i: u16,
            /// Bursts of the host for WR_SHARED that are still to be taken; 127 for more.
            operands_i: U<7>,
            /// The host's next burst is there. Once set, it is set until that burst is taken.
            operand_valid_i: bool,
            /// The host's burst for its next WR_SHARED, in the host's order; with `operand_valid_i`.
            operand_i: Burst,
            /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
            cells_i: Columns,
        }
        outputs PimModuleOut {
            /// The command buffer takes the host's data.
            command_write_o: bool,
            /// The Va2Pa table takes the host's data.
            table_write_o: bool,
            /// The host has written more than fits.
            overflow_o: bool,
            /// A start is accepted.
            start_ready_o: bool,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// Address of the first of the two words that are read.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Address of the entry that is read; 0 if none is.
            table_address_o: u16,
            /// The program has ended.
            end_valid_o: bool,
            /// Status and address of the program's end, else 0.
            end_o: RunEnd,
            /// Status of each request.
            status_o: [Status; 16],
            /// Fault of the run: see sequencer.
            fault_o: Fault,
            /// Everything that the run dispatched is done, and all banks are closed or about to be.
            over_o: bool,
            /// The host's burst is taken.
            operand_taken_o: bool,
            /// The command pins.
            pins_o: DramPins,
            /// The chips' data bus is driven.
            dq_valid_o: bool,
            /// A beat on the chips' data bus, which is pulled up.
            dq_o: Beat,
            /// Memory mode: the rank drives the host's data bus.
            host_dq_valid_o: bool,
            /// Memory mode: the beat that the rank drives, else 0.
            host_dq_o: Beat,
            /// A column is written to the cell arrays with the end of this beat.
            cells_write_valid_o: bool,
            /// The column that is written, from the first beat of its tCK on, else 0.
            cells_write_o: CellWrite,
            /// Events of the cycle of the core, for the sequencer.
            events_o: RankEvents,
            /// Busy units and lost slots, for statistics.
            activity_o: Activity,
            /// Scores, weights, context and outputs of the cycle of the core.
            results_o: RankResults,
        }
        probes PimModuleProbe {}
    }
}

/// The cycle model of a module with a rank, with sums of format `A` and a score buffer of `SCORES` places.
///
#[doc = contract!("module/pim_module")]
#[derive(Clone)]
pub struct PimModule<
    A: Format,
    const LATE: bool,
    const SCORES: usize = SCORE_BUFFER,
    G: SequencedGear = DefaultGear,
> {
    dispatcher: Dispatcher,
    sequencer: G::Sequencer<SCORES>,
    rank: PimRank<A, LATE, SCORES, G>,
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Unit
    for PimModule<A, LATE, SCORES, G>
{
    const MODULE: &'static str = "pim_module";
    const PARAMETERS: &'static [(&'static str, i64)] =
        <PimRank<A, LATE, SCORES, G> as Unit>::PARAMETERS;
    type In = PimModuleIn;
    type Out = PimModuleOut;
    type Probe = CommandPathProbe;
    const PROBED: (&'static str, &'static str) = ("command_path", "u_rank__DOT__u_commands");

    fn variant() -> String {
        let late = if LATE { "late" } else { "" };
        let scores = if SCORES == SCORE_BUFFER { String::new() } else { format!("scores{SCORES}") };
        let parts = [sum_variant::<Binary16, A>(), late.to_owned(), scores];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        gear::variant::<G>(&parts.collect::<Vec<_>>().join("_"))
    }
}

/// What stands on the wires between the parts of a module in a beat: inputs and outputs.
struct Wires {
    dispatcher: (DispatcherIn, DispatcherOut),
    sequencer: (SequencerIn, SequencerOut),
    rank: (PimRankIn, PimRankOut),
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Model
    for PimModule<A, LATE, SCORES, G>
{
    fn new() -> Self {
        Self {
            dispatcher: Dispatcher::new(),
            sequencer: G::Sequencer::<SCORES>::new(),
            rank: PimRank::new(),
        }
    }

    fn reset(&mut self) {
        self.dispatcher.reset();
        self.sequencer.reset();
        self.rank.reset();
    }

    fn probe(&self) -> Self::Probe {
        self.rank.probe()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        self.wires(input).output()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let wires = self.wires(input);
        if wires.rank.1.last_o && (accesses(input) || !input.memory_i) {
            self.dispatcher.step(&wires.dispatcher.0);
            self.sequencer.step(&wires.sequencer.0);
        }
        self.rank.step(&wires.rank.0);
        wires.output()
    }
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>
    PimModule<A, LATE, SCORES, G>
{
    /// What stands on the wires under `input`. Requests come from registers; so each part is settled behind
    /// those whose outputs it depends on.
    fn wires(&self, input: &PimModuleIn) -> Wires {
        let asked = self.sequencer.settle(&SequencerIn::default());
        let dispatcher_in = DispatcherIn {
            load_valid_i: input.load_valid_i,
            load_i: input.load_i,
            start_valid_i: input.start_valid_i,
            start_i: input.start_i,
            stop_i: asked.fault_o != Fault::None,
            fetch_data_i: input.fetch_data_i,
            table_data_i: input.table_data_i,
            dispatch_ready_i: asked.dispatch_ready_o,
        };
        let dispatcher = self.dispatcher.settle(&dispatcher_in);
        let rank_in = rank_in(input, &asked);
        let rank = self.rank.settle(&rank_in);
        let sequencer_in = SequencerIn {
            size_i: input.size_i,
            burst_i: input.timing_i.ccd_result.div_ceil(G::TCK as u8).max(G::BURST as u8),
            wide_i: A::WIDTH > Binary16::WIDTH,
            start_i: input.start_valid_i && dispatcher.start_ready_o,
            done_i: dispatcher.end_valid_o,
            operands_i: input.operands_i,
            operand_valid_i: input.operand_valid_i,
            dispatch_valid_i: dispatcher.dispatch_valid_o,
            dispatch_i: dispatcher.dispatch_o,
            events_i: rank.events_o,
        };
        Wires {
            dispatcher: (dispatcher_in, dispatcher),
            sequencer: (sequencer_in, asked),
            rank: (rank_in, rank),
        }
    }
}

/// The host writes to the module or starts a run.
fn accesses(input: &PimModuleIn) -> bool {
    input.load_valid_i || input.start_valid_i
}

fn rank_in(input: &PimModuleIn, asked: &SequencerOut) -> PimRankIn {
    PimRankIn {
        timing_i: input.timing_i,
        options_i: input.options_i,
        scale_i: input.scale_i,
        hold_i: accesses(input) && !input.memory_i,
        memory_i: input.memory_i,
        host_pins_i: input.host_pins_i,
        host_dq_valid_i: input.host_dq_valid_i,
        host_dq_i: input.host_dq_i,
        array_valid_i: asked.array_valid_o,
        array_i: asked.array_o,
        bus_valid_i: asked.bus_valid_o,
        bus_i: asked.bus_o,
        operand_i: input.operand_i,
        finish_valid_i: asked.finish_valid_o,
        finish_i: asked.finish_o,
        weigh_valid_i: asked.weigh_valid_o,
        weigh_i: asked.weigh_o,
        weights_drop_i: asked.weights_drop_o,
        head_end_i: asked.head_end_o,
        cells_i: input.cells_i,
    }
}

impl Wires {
    fn output(&self) -> PimModuleOut {
        let (dispatcher, asked, rank) = (&self.dispatcher.1, &self.sequencer.1, &self.rank.1);
        PimModuleOut {
            command_write_o: dispatcher.command_write_o,
            table_write_o: dispatcher.table_write_o,
            overflow_o: dispatcher.overflow_o,
            start_ready_o: dispatcher.start_ready_o,
            fetch_read_o: dispatcher.fetch_read_o,
            fetch_address_o: dispatcher.fetch_address_o,
            table_read_o: dispatcher.table_read_o,
            table_address_o: dispatcher.table_address_o,
            end_valid_o: dispatcher.end_valid_o,
            end_o: dispatcher.end_o,
            status_o: dispatcher.status_o,
            fault_o: asked.fault_o,
            over_o: asked.done_o,
            operand_taken_o: rank.events_o.bus_taken && asked.bus_o.write && asked.bus_o.host,
            pins_o: rank.pins_o,
            dq_valid_o: rank.dq_valid_o,
            dq_o: rank.dq_o,
            host_dq_valid_o: rank.host_dq_valid_o,
            host_dq_o: rank.host_dq_o,
            cells_write_valid_o: rank.cells_write_valid_o,
            cells_write_o: rank.cells_write_o,
            events_o: rank.events_o,
            activity_o: rank.activity_o,
            results_o: rank.results_o,
        }
    }
}
