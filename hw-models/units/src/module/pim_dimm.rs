// SPDX-License-Identifier: MIT
//! A module in its channel as one design: the host's side, and the module with its rank.

use super::{HostPort, HostPortIn, HostPortOut, PimModule, PimModuleIn, PimModuleOut};
use crate::arith::Format;
use crate::gear::DefaultGear;
use crate::module::SCORE_BUFFER;
use crate::rank::{CommandPathProbe, SequencedGear};
use pimlico_dpa::types::{
    Activity, BankSize, Beat, CellWrite, Columns, DramPins, Load, Options, PinCommand, RankEvents,
    RankResults, Timing,
};
use pimlico_ports::{Model, U, Unit, ports};

ports! {
    /// A module in its channel.
    unit PimDimm: "pim_dimm" {
        inputs PimDimmIn {
            /// Timings of the DRAM. CL, CWL, tCCD_L and RL_MAC are multiples of GEAR.
            timing_i: Timing,
            /// Options of the rank: refresh.
            options_i: Options,
            /// Size of a bank: rows and columns.
            size_i: BankSize,
            /// The host's command pins.
            host_pins_i: DramPins,
            /// The host drives its data bus.
            host_dq_valid_i: bool,
            /// The beat that the host drives.
            host_dq_i: Beat,
            /// Words from the last `fetch_address_o` on, the first at the bottom.
            fetch_data_i: [u64; 2],
            /// The entry at the last `table_address_o`.
            table_data_i: u16,
            /// The column of every bank: of the RD on the pins, of the RD_ALL RL_MAC before.
            cells_i: Columns,
        }
        outputs PimDimmOut {
            /// The command buffer takes the data of `load_o`.
            command_write_o: bool,
            /// The Va2Pa table takes the data of `load_o`.
            table_write_o: bool,
            /// What the dispatcher is written, else 0.
            load_o: Load,
            /// The command buffer is read.
            fetch_read_o: bool,
            /// Address of the first of the two words that are read.
            fetch_address_o: U<14>,
            /// The Va2Pa table is read.
            table_read_o: bool,
            /// Address of the entry that is read; 0 if none is.
            table_address_o: u16,
            /// The command pins of the chips.
            pins_o: DramPins,
            /// The chips' data bus is driven.
            dq_valid_o: bool,
            /// A beat on the chips' data bus, which is pulled up.
            dq_o: Beat,
            /// The module drives the host's data bus.
            host_dq_valid_o: bool,
            /// The beat that the module drives, else 0.
            host_dq_o: Beat,
            /// A column is written to the cell arrays with the end of this beat.
            cells_write_valid_o: bool,
            /// The column that is written, from the first beat of its tCK on, else 0.
            cells_write_o: CellWrite,
            /// The module does not own the chips' command pins.
            memory_o: bool,
            /// Events of the cycle of the core.
            events_o: RankEvents,
            /// Busy units and lost slots, for statistics.
            activity_o: Activity,
            /// Scores, weights, context and outputs of the cycle of the core.
            results_o: RankResults,
        }
        probes PimDimmProbe {}
    }
}

/// The cycle model of a module in its channel, with sums of format `A` and a score buffer of `SCORES` places.
///
#[doc = contract!("module/pim_dimm")]
#[derive(Clone)]
pub struct PimDimm<
    A: Format,
    const LATE: bool,
    const SCORES: usize = SCORE_BUFFER,
    G: SequencedGear = DefaultGear,
> {
    host: HostPort<G>,
    module: PimModule<A, LATE, SCORES, G>,
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Unit
    for PimDimm<A, LATE, SCORES, G>
{
    const MODULE: &'static str = "pim_dimm";
    const PARAMETERS: &'static [(&'static str, i64)] =
        <PimModule<A, LATE, SCORES, G> as Unit>::PARAMETERS;
    type In = PimDimmIn;
    type Out = PimDimmOut;
    type Probe = CommandPathProbe;
    const PROBED: (&'static str, &'static str) =
        ("command_path", "u_module__DOT__u_rank__DOT__u_commands");

    fn variant() -> String {
        PimModule::<A, LATE, SCORES, G>::variant()
    }
}

/// What stands on the wires between the parts in a beat: inputs and outputs.
struct Wires {
    host: (HostPortIn, HostPortOut),
    module: (PimModuleIn, PimModuleOut),
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Model
    for PimDimm<A, LATE, SCORES, G>
{
    fn new() -> Self {
        Self { host: HostPort::new(), module: PimModule::new() }
    }

    fn reset(&mut self) {
        self.host.reset();
        self.module.reset();
    }

    fn probe(&self) -> Self::Probe {
        self.module.probe()
    }

    fn settle(&self, input: &Self::In) -> Self::Out {
        self.wires(input).output()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let wires = self.wires(input);
        self.host.step(&wires.host.0);
        self.module.step(&wires.module.0);
        wires.output()
    }
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear>
    PimDimm<A, LATE, SCORES, G>
{
    /// What stands on the wires under `input`. What the host's side asks of the module depends on the host's pins
    /// alone, and what it drives on the host's data bus on what the module drives there.
    fn wires(&self, input: &PimDimmIn) -> Wires {
        let of_host = HostPortIn {
            timing_i: input.timing_i,
            host_pins_i: input.host_pins_i,
            host_dq_i: input.host_dq_i,
            ..HostPortIn::default()
        };
        let asked = self.host.settle(&of_host);
        let module_in = module_in(input, &asked);
        let module = self.module.settle(&module_in);
        let host_in = HostPortIn {
            module_dq_valid_i: module.host_dq_valid_o,
            module_dq_i: module.host_dq_o,
            overflow_i: module.overflow_o,
            end_valid_i: module.end_valid_o,
            end_i: module.end_o,
            status_i: module.status_o,
            fault_i: module.fault_o,
            over_i: module.over_o,
            settled_i: module.activity_o.settled,
            refresh_i: module.pins_o.decode().command == PinCommand::Ref,
            operand_taken_i: module.operand_taken_o,
            results_i: module.results_o,
            ..of_host
        };
        let host = HostPortOut {
            host_dq_valid_o: asked.host_dq_valid_o || module.host_dq_valid_o,
            host_dq_o: if asked.host_dq_valid_o { asked.host_dq_o } else { module.host_dq_o },
            ..asked
        };
        Wires { host: (host_in, host), module: (module_in, module) }
    }
}

fn module_in(input: &PimDimmIn, host: &HostPortOut) -> PimModuleIn {
    PimModuleIn {
        timing_i: input.timing_i,
        options_i: input.options_i,
        size_i: input.size_i,
        scale_i: host.scale_o,
        memory_i: host.memory_o,
        host_pins_i: host.pins_o,
        host_dq_valid_i: input.host_dq_valid_i && host.owns_o,
        host_dq_i: input.host_dq_i,
        load_valid_i: host.load_valid_o,
        load_i: host.load_o,
        start_valid_i: host.start_valid_o,
        start_i: host.start_o,
        fetch_data_i: input.fetch_data_i,
        table_data_i: input.table_data_i,
        operands_i: host.operands_o,
        operand_valid_i: host.operand_valid_o,
        operand_i: host.operand_o,
        cells_i: input.cells_i,
    }
}

impl Wires {
    fn output(&self) -> PimDimmOut {
        let (host, module) = (&self.host.1, &self.module.1);
        PimDimmOut {
            command_write_o: module.command_write_o,
            table_write_o: module.table_write_o,
            load_o: host.load_o,
            fetch_read_o: module.fetch_read_o,
            fetch_address_o: module.fetch_address_o,
            table_read_o: module.table_read_o,
            table_address_o: module.table_address_o,
            pins_o: module.pins_o,
            dq_valid_o: module.dq_valid_o,
            dq_o: module.dq_o,
            host_dq_valid_o: host.host_dq_valid_o,
            host_dq_o: host.host_dq_o,
            cells_write_valid_o: module.cells_write_valid_o,
            cells_write_o: module.cells_write_o,
            memory_o: host.memory_o,
            events_o: module.events_o,
            activity_o: module.activity_o,
            results_o: module.results_o,
        }
    }
}
