// SPDX-License-Identifier: MIT
//! A rank as one design: eight chips with bank PUs, and the rank PU.

use super::{
    AdderUnit, AdderUnitIn, AdderUnitOut, CommandPath, CommandPathIn, CommandPathOut,
    CommandPathProbe, ContextQueue, ContextQueueIn, ContextQueueOut, OperandPath, OperandPathIn,
    OperandPathOut, PimChip, PimChipIn, PimChipOut, ResultPath, ResultPathIn, ResultPathOut,
    SlotTimer, SlotTimerIn, SoftmaxPath, SoftmaxPathIn, SoftmaxPathOut,
};
use crate::arith::{Binary16, Binary32, Format, Fp};
use crate::gear::{Gear, Gear1, lanes};
use pimlico_dpa::types::{
    Activity, ArrayRequest, Beat, Burst, BusRequest, CHIPS, CellWrite, Columns, DramPins, Element,
    Finish, Head, LANES, Options, PinCommand, Pins, RankEvents, RankResults, Timing, Weigh,
};
use pimlico_ports::{Model, U, Unit, ports};
use std::array::from_fn;

/// Places of the partial sums of the context.
const PARTIAL_SUMS: usize = 256;

ports! {
    /// A rank.
    unit PimRank: "pim_rank" {
        inputs PimRankIn {
            /// Timings of the DRAM. CL, CWL, tCCD_L and RL_MAC are multiples of GEAR.
            timing_i: Timing,
            /// Options of the rank: refresh.
            options_i: Options,
            /// Factor of the scores in binary16.
            scale_i: u16,
            /// The rank stands still: the cycle of the core does not exist for it.
            hold_i: bool,
            /// Memory mode: the host uses the chips as its memory.
            memory_i: bool,
            /// Memory mode: the host's command.
            host_pins_i: Pins,
            /// Memory mode: the host drives its data bus.
            host_dq_valid_i: bool,
            /// Memory mode: the beat that the host drives.
            host_dq_i: Beat,
            /// There is a request for the banks.
            array_valid_i: bool,
            /// The request for the banks.
            array_i: ArrayRequest,
            /// There is a request for the data bus.
            bus_valid_i: bool,
            /// The request for the data bus.
            bus_i: BusRequest,
            /// The host's burst for its next WR_SHARED, in the host's order.
            operand_i: Burst,
            /// The scores of a head are complete.
            finish_valid_i: bool,
            /// The head whose scores are complete.
            finish_i: Finish,
            /// Scores in the buffer are to become a word of weights.
            weigh_valid_i: bool,
            /// The scores of the word; stable until they are taken.
            weigh_i: Weigh,
            /// The oldest complete word of weights is dropped.
            weights_drop_i: bool,
            /// A head ends: REFs that were postponed are issued now.
            head_end_i: bool,
            /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
            cells_i: Columns,
        }
        outputs PimRankOut {
            /// Last beat of the cycle of the core.
            last_o: bool,
            /// The chips' command pins.
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
        probes PimRankProbe {}
    }
}

/// The cycle model of a rank, with sums of format `A`.
///
#[doc = contract!("rank/pim_rank")]
#[derive(Clone)]
pub struct PimRank<A: Format, const LATE: bool, const SCORES: usize, G: Gear> {
    /// The next beat of the cycle of the core.
    beat: usize,
    commands: CommandPath,
    slots: SlotTimer,
    operands: OperandPath,
    chips: [PimChip<A>; CHIPS],
    results: ResultPath<A, G>,
    adder: AdderUnit<Binary16, A, G>,
    partial_sums: Box<[[Fp<A>; CHIPS]]>,
    /// The partial sums that were read last.
    kept_sums: [Fp<A>; CHIPS],
    context: Context<A, G>,
    softmax: SoftmaxPath<LATE, SCORES, G>,
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: Gear> Unit
    for PimRank<A, LATE, SCORES, G>
{
    const MODULE: &'static str = "pim_rank";
    const PARAMETERS: &'static [(&'static str, i64)] = &[
        ("SUM_EXP_BITS", A::EXP_BITS as i64),
        ("SUM_MAN_BITS", A::MAN_BITS as i64),
        ("LATE", LATE as i64),
        ("SCORES", SCORES as i64),
        ("GEAR", G::TCK as i64),
    ];
    type In = PimRankIn;
    type Out = PimRankOut;
    type Probe = CommandPathProbe;
}

/// The queue of the context. The softmax unit normalises one sum in a cycle.
#[derive(Clone)]
enum Context<A: Format, G: Gear> {
    Early(ContextQueue<A, false, G>),
    Late(ContextQueue<A, true, Gear1>),
}

/// What goes into it.
#[derive(Clone, Copy)]
struct ContextIn<A: Format> {
    /// Complete sums with their head.
    row: Option<(Head, [Fp<A>; CHIPS])>,
    sum_ready: bool,
    context: Option<Fp<Binary16>>,
}

/// What comes out of it.
#[derive(Clone, Copy)]
struct ContextOut {
    /// Whether there is a sum for the softmax unit, the sum, and its head.
    sum: (bool, Fp<Binary32>, Head),
    /// Elements that leave.
    count: u64,
    elements: [Element; LANES],
    is_idle: bool,
}

impl<A: Format, G: Gear> Context<A, G> {
    fn new(late: bool) -> Self {
        if late { Self::Late(ContextQueue::new()) } else { Self::Early(ContextQueue::new()) }
    }

    fn reset(&mut self) {
        match self {
            Self::Early(queue) => queue.reset(),
            Self::Late(queue) => queue.reset(),
        }
    }

    fn settle(&self, input: &ContextIn<A>) -> ContextOut {
        fn out<G: Gear>(queue: ContextQueueOut<impl Format, G>) -> ContextOut {
            ContextOut {
                sum: (queue.sum_valid_o, queue.sum_o.as_ref()[0], queue.sum_head_o),
                count: if queue.valid_o { G::TCK as u64 } else { 0 },
                elements: in_lanes(queue.element_o.as_ref()),
                is_idle: queue.idle_o,
            }
        }
        match self {
            Self::Early(queue) => out(queue.settle(&input.ports())),
            Self::Late(queue) => out(queue.settle(&input.ports())),
        }
    }

    fn step(&mut self, input: &ContextIn<A>) {
        match self {
            Self::Early(queue) => {
                queue.step(&input.ports());
            }
            Self::Late(queue) => {
                queue.step(&input.ports());
            }
        }
    }
}

impl<A: Format> ContextIn<A> {
    fn ports<G: Gear>(&self) -> ContextQueueIn<A, G> {
        let (head_i, sums_i) = self.row.unwrap_or_default();
        ContextQueueIn {
            push_i: self.row.is_some(),
            head_i,
            sums_i,
            sum_ready_i: self.sum_ready,
            context_valid_i: self.context.is_some(),
            context_i: lanes::<G, _>(|_| self.context.unwrap_or_default()),
            ..Default::default()
        }
    }
}

/// What stands on the wires between the parts of a rank in a beat: the inputs and outputs of each.
struct Wires<A: Format, G: Gear> {
    /// Processing in memory: neither memory mode nor a tCK that is none of the rank's.
    runs: bool,
    slot_begins: bool,
    commands: (CommandPathIn, CommandPathOut),
    slots: SlotTimerIn,
    operands: (OperandPathIn, OperandPathOut),
    chips: [PimChipIn<A>; CHIPS],
    chips_out: [PimChipOut<A>; CHIPS],
    /// The chips' data bus, and whether it is driven.
    dq: (bool, Beat),
    results: (ResultPathIn<A, G>, ResultPathOut<A, G>),
    adder: (AdderUnitIn<Binary16, A, G>, AdderUnitOut<Binary16, A, G>),
    context: (ContextIn<A>, ContextOut),
    softmax: (SoftmaxPathIn<G>, SoftmaxPathOut<G>),
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: Gear> Model
    for PimRank<A, LATE, SCORES, G>
{
    fn new() -> Self {
        Self {
            beat: 0,
            commands: CommandPath::new(),
            slots: SlotTimer::new(),
            operands: OperandPath::new(),
            chips: from_fn(|_| PimChip::new()),
            results: ResultPath::new(),
            adder: AdderUnit::new(),
            partial_sums: vec![[Fp::ZERO; CHIPS]; PARTIAL_SUMS].into(),
            kept_sums: [Fp::ZERO; CHIPS],
            context: Context::new(LATE),
            softmax: SoftmaxPath::new(),
        }
    }

    fn reset(&mut self) {
        self.beat = 0;
        self.commands.reset();
        self.slots.reset();
        self.operands.reset();
        self.chips.iter_mut().for_each(PimChip::reset);
        self.results.reset();
        self.adder.reset();
        self.partial_sums.fill([Fp::ZERO; CHIPS]);
        self.kept_sums = [Fp::ZERO; CHIPS];
        self.context.reset();
        self.softmax.reset();
    }

    fn probe(&self) -> Self::Probe {
        self.commands.probe()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        self.output(input, &self.wires(input))
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let wires = self.wires(input);
        let output = self.output(input, &wires);
        if !input.hold_i {
            self.operands.step(&wires.operands.0);
            for (chip, input) in self.chips.iter_mut().zip(&wires.chips) {
                chip.step(input);
            }
            self.results.step(&wires.results.0);
        }
        if self.is_second() && !input.hold_i {
            self.commands.step(&wires.commands.0);
        }
        if self.is_last() && !input.hold_i {
            self.slots.step(&wires.slots);
        }
        if self.is_last() && wires.runs {
            self.adder.step(&wires.adder.0);
            let results = &wires.results.1;
            if results.sums_read_o {
                self.kept_sums = self.partial_sums[usize::from(results.sums_place_o)];
            }
            if results.lanes_valid_o && !results.lanes_o.complete {
                let place = usize::from(results.lanes_o.place);
                self.partial_sums[place] = wires.adder.1.lanes_o;
            }
            self.context.step(&wires.context.0);
            self.softmax.step(&wires.softmax.0);
        }
        self.beat = (self.beat + 1) % (2 * G::TCK);
        output
    }
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: Gear> PimRank<A, LATE, SCORES, G> {
    /// This beat is the second of its tCK.
    fn is_second(&self) -> bool {
        self.beat % 2 == 1
    }

    /// This beat is in the first tCK of the cycle of the core.
    fn is_first_tck(&self) -> bool {
        self.beat < 2
    }

    /// This beat is the last of the cycle of the core.
    fn is_last(&self) -> bool {
        self.beat == 2 * G::TCK - 1
    }

    /// What stands on the wires under `input`. Each part is settled behind those whose outputs it depends
    /// on; an input that only the part's registers take is put in place later.
    fn wires(&self, input: &PimRankIn) -> Wires<A, G> {
        let runs = !input.memory_i && !input.hold_i;
        let cycles = input.timing_i.in_cycles(G::TCK as u8);
        let commands_in = self.commands_in(input, cycles, runs);
        let commands = self.commands.settle(&commands_in);
        let slots = SlotTimerIn {
            enable_i: runs,
            read_all_i: commands.command_o.command == PinCommand::RdAll,
            latency_i: cycles.rl_mac,
            slot_i: cycles.ccd_l,
        };
        let slot_begins = self.slots.settle(&slots).begin_o;

        // The chips and their data bus.
        let mut chips = self.chips_in(input, &commands, slot_begins);
        let mut chips_out = from_fn(|c| self.chips[c].settle(&chips[c]));
        let mut operands_in = self.operands_in(input, &commands, &chips_out, runs);
        let operands = self.operands.settle(&operands_in);
        let dq = match (chips_out[0].drives_o, operands.valid_o) {
            (true, _) => (true, operands_in.chips_dq_i),
            (_, true) => (true, operands.data_o),
            _ => (false, Beat::MAX),
        };
        for (chip, dq_i) in chips.iter_mut().zip(dq.1.to_le_bytes()) {
            chip.dq_i = dq_i;
        }
        if chips_out[0].cells_write_o {
            chips_out = from_fn(|c| self.chips[c].settle(&chips[c]));
        }

        // Results and what they become.
        let adder = self.adder.settle(&AdderUnitIn::default());
        let partial_outputs = self.softmax.partial_outputs();
        let results_in = self.results_in(cycles.cl, &commands, dq.1, partial_outputs, runs);
        let results = self.results.settle(&results_in);
        let mut softmax_in = softmax_in(input, &commands, &adder, &results);
        let mut softmax = self.softmax.settle(&softmax_in);
        let context_in = context_in(&adder, &results, &softmax);
        let context = self.context.settle(&context_in);
        (softmax_in.sum_valid_i, softmax_in.sum_i, softmax_in.sum_head_i) = context.sum;
        softmax.busy_o |= context.sum.0 && softmax.sum_ready_o;
        operands_in.word_i = softmax.word_o;
        Wires {
            runs,
            slot_begins,
            commands: (commands_in, commands),
            slots,
            operands: (operands_in, operands),
            chips,
            chips_out,
            dq,
            adder: (adder_in(&results, self.kept_sums), adder),
            results: (results_in, results),
            context: (context_in, context),
            softmax: (softmax_in, softmax),
        }
    }

    fn commands_in(&self, input: &PimRankIn, timing_i: Timing, runs: bool) -> CommandPathIn {
        CommandPathIn {
            clk_core_i: self.is_last() && !input.hold_i,
            clk_pim_i: self.is_last() && runs,
            first_i: self.is_first_tck(),
            timing_i,
            options_i: input.options_i,
            hold_i: input.hold_i,
            memory_i: input.memory_i,
            host_pins_i: input.host_pins_i,
            array_valid_i: input.array_valid_i,
            array_i: input.array_i,
            bus_valid_i: input.bus_valid_i,
            bus_i: input.bus_i,
            head_end_i: input.head_end_i,
        }
    }

    fn chips_in(
        &self,
        input: &PimRankIn,
        commands: &CommandPathOut,
        slot_begins: bool,
    ) -> [PimChipIn<A>; CHIPS] {
        from_fn(|c| PimChipIn {
            clk_tck_i: self.is_second() && !input.hold_i,
            clk_pu_i: self.beat == 0 && slot_begins,
            second_i: self.is_second(),
            cl_i: input.timing_i.cl,
            cwl_i: input.timing_i.cwl,
            rl_mac_i: input.timing_i.rl_mac,
            pins_i: commands.pins_o.encode(),
            cells_i: from_fn(|bank| elements(input.cells_i[bank][c])),
            dq_i: 0,
            ..Default::default()
        })
    }

    fn operands_in(
        &self,
        input: &PimRankIn,
        commands: &CommandPathOut,
        chips: &[PimChipOut<A>; CHIPS],
        runs: bool,
    ) -> OperandPathIn {
        OperandPathIn {
            clk_tck_i: self.is_second() && runs,
            second_i: self.is_second(),
            cwl_i: input.timing_i.cwl,
            memory_i: input.memory_i,
            push_i: commands.bus_taken_o && input.bus_i.write && self.is_last(),
            host_i: input.bus_i.host,
            burst_i: input.operand_i,
            word_i: 0,
            wr_shared_i: commands.command_o.command == PinCommand::WrShared && self.is_first_tck(),
            wr_host_i: commands.transfer_o.host,
            host_dq_valid_i: input.host_dq_valid_i,
            host_dq_i: input.host_dq_i,
            chips_valid_i: chips[0].drives_o,
            chips_dq_i: Beat::from_le_bytes(from_fn(|c| chips[c].dq_o)),
        }
    }

    fn results_in(
        &self,
        cl_i: u8,
        commands: &CommandPathOut,
        dq_i: Beat,
        partial_outputs: [u16; LANES],
        runs: bool,
    ) -> ResultPathIn<A, G> {
        ResultPathIn {
            clk_core_i: self.is_last() && runs,
            cl_i,
            read_result_i: commands.command_o.command == PinCommand::RdResult,
            sum_i: commands.transfer_o.sum,
            dq_i,
            partial_outputs_i: partial_outputs.map(|bits| Fp::from_bits(bits.into())),
            ..Default::default()
        }
    }

    fn output(&self, input: &PimRankIn, wires: &Wires<A, G>) -> PimRankOut {
        let commands = &wires.commands.1;
        let Pins { command, .. } = commands.command_o;
        let (chips, softmax, context) = (&wires.chips_out, &wires.softmax.1, &wires.context.1);
        let [chip, ..] = chips;
        let events = RankEvents {
            array_taken: commands.array_taken_o,
            bus_taken: commands.bus_taken_o,
            finish_taken: softmax.finish_taken_o,
            weigh_taken: softmax.weigh_taken_o,
            read: command == PinCommand::RdAll,
            results_taken: command == PinCommand::RdResult,
            written: chip.written_o,
            results: wires.slot_begins && chip.result_valid_o,
            scaled: softmax.scaled_o,
            finished: softmax.finished_o,
            word_made: softmax.word_made_o,
            context_made: U::new(context.count),
            output_made: U::new(if softmax.output_valid_o.as_ref()[0] { G::TCK as u64 } else { 0 }),
        };
        let busy = Activity {
            lost_row_switch: commands.lost_row_switch_o,
            lost_refresh: commands.lost_refresh_o,
            opens: command == PinCommand::RdAll && commands.mac_o.opens,
            adder: chip.drives_o,
            softmax: softmax.busy_o,
            ..Default::default()
        };
        let writes = self.is_second() && !input.hold_i && chip.cells_write_o;
        let write = CellWrite {
            bank: chip.cells_write_bank_o,
            column: chip.cells_write_column_o,
            data: from_fn(|c| chips[c].cells_write_data_o),
        };
        PimRankOut {
            last_o: self.is_last(),
            pins_o: commands.pins_o.encode(),
            dq_valid_o: wires.dq.0,
            dq_o: wires.dq.1,
            host_dq_valid_o: wires.operands.1.host_dq_valid_o,
            host_dq_o: wires.operands.1.host_dq_o,
            cells_write_valid_o: writes,
            cells_write_o: write,
            events_o: if wires.runs { events } else { RankEvents::default() },
            activity_o: Activity {
                idle: commands.idle_o,
                settled: commands.settled_o
                    && chip.idle_o
                    && wires.results.1.idle_o
                    && context.is_idle,
                ..if wires.runs { busy } else { Activity::default() }
            },
            results_o: RankResults {
                score_valid: lane_bits(softmax.score_valid_o.as_ref()),
                score: in_lanes(softmax.score_o.as_ref()),
                weight_valid: lane_bits(softmax.weight_valid_o.as_ref()),
                weight: in_lanes(softmax.weight_o.as_ref()),
                context_valid: U::new((1 << context.count) - 1),
                context_element: context.elements,
                output_valid: lane_bits(softmax.output_valid_o.as_ref()),
                output_element: in_lanes(softmax.output_o.as_ref()),
            },
        }
    }
}

fn adder_in<A: Format, G: Gear>(
    results: &ResultPathOut<A, G>,
    start_i: [Fp<A>; CHIPS],
) -> AdderUnitIn<Binary16, A, G> {
    AdderUnitIn {
        valid_i: results.valid_o,
        accumulate_i: results.accumulate_o,
        x_i: results.x_o,
        partial_i: results.partial_o,
        begin_i: results.begin_o,
        goes_on_i: results.goes_on_o,
        start_i,
        ..Default::default()
    }
}

/// The inputs but for the sum of the context.
fn softmax_in<A: Format, G: Gear>(
    input: &PimRankIn,
    commands: &CommandPathOut,
    adder: &AdderUnitOut<Binary16, A, G>,
    results: &ResultPathOut<A, G>,
) -> SoftmaxPathIn<G> {
    let BusRequest { write, host, .. } = input.bus_i;
    let takes_word = commands.bus_taken_o && write && !host;
    SoftmaxPathIn {
        scale_i: input.scale_i,
        tree_valid_i: adder.tree_valid_o,
        tree_i: lanes::<G, _>(|lane| adder.tree_o.as_ref()[lane].to_bits() as u16),
        tree_of_i: results.tree_o,
        partial_read_i: results.partial_read_o,
        partial_place_i: results.partial_place_o,
        finish_valid_i: input.finish_valid_i,
        finish_i: input.finish_i,
        weigh_valid_i: input.weigh_valid_i,
        weigh_i: input.weigh_i,
        word_taken_i: input.weights_drop_i || takes_word,
        ..Default::default()
    }
}

fn context_in<A: Format, G: Gear>(
    adder: &AdderUnitOut<Binary16, A, G>,
    results: &ResultPathOut<A, G>,
    softmax: &SoftmaxPathOut<G>,
) -> ContextIn<A> {
    ContextIn {
        row: (results.lanes_valid_o && results.lanes_o.complete)
            .then_some((results.lanes_o.head, adder.lanes_o)),
        sum_ready: softmax.sum_ready_o,
        context: softmax.context_valid_o.then(|| Fp::from_bits(softmax.context_o.into())),
    }
}

/// These elements in their lanes, and nothing in the others.
fn in_lanes<T: Copy + Default>(elements: &[T]) -> [T; LANES] {
    from_fn(|lane| elements.get(lane).copied().unwrap_or_default())
}

/// A bit for each lane.
fn lane_bits(lanes: &[bool]) -> U<4> {
    U::new(lanes.iter().rev().fold(0, |bits, lane| 2 * bits + u64::from(*lane)))
}

/// The elements of a word.
fn elements(word: u64) -> [Fp<Binary16>; 4] {
    from_fn(|lane| Fp::from_bits((word >> (16 * lane)) as u32 & 0xFFFF))
}
