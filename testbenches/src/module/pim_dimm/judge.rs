// SPDX-License-Identifier: MIT
//! What a module in its channel is to do: the reference of `host_port` stands in front of a model of `pim_module`, whose
//! wires `golden` judges; what the unit shows has to be what these show.

use super::plan;
use crate::bench::OracleError;
use crate::module::host_port::judge::{Event, Owner, Port};
use crate::module::host_port::same;
use crate::module::pim_module::{is_wide, judge};
use pimlico_dpa::types::{Fault, PinCommand, Status};
use pimlico_ports::Model;
use pimlico_units::arith::Format;
use pimlico_units::module::{
    HostPortIn, HostPortOut, PimDimmIn, PimDimmOut, PimModule, PimModuleIn, PimModuleOut,
};
use pimlico_units::rank::SequencedGear;

/// Both, and what they have seen.
pub(super) struct Judge<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> {
    port: Port,
    module: PimModule<A, LATE, SCORES, G>,
    of_module: judge::Judge,
    /// What has happened, as bins of the plan.
    pub seen: Vec<(&'static str, usize)>,
    compared: u64,
}

impl<A: Format, const LATE: bool, const SCORES: usize, G: SequencedGear> Judge<A, LATE, SCORES, G> {
    pub fn new(first: &PimDimmIn) -> Self {
        let of_module = module_in(first, &HostPortOut::default());
        Self {
            port: Port::new(G::TCK),
            module: PimModule::new(),
            of_module: judge::Judge::new(&of_module, is_wide::<A>(), LATE, SCORES, G::TCK),
            seen: Vec::new(),
            compared: 0,
        }
    }

    /// Runs that have ended.
    pub fn runs(&self) -> u64 {
        self.port.runs_ended()
    }

    /// Results of runs that golden has judged.
    pub fn results(&self) -> u64 {
        self.of_module.results
    }

    /// What was checked.
    pub fn checked(&self) -> u64 {
        self.of_module.checked + self.compared
    }

    /// A tCK: its two beats, the first of which is this cycle.
    pub fn tck(
        &mut self,
        cycle: u64,
        inputs: &[PimDimmIn],
        outputs: &[PimDimmOut],
    ) -> Result<(), OracleError> {
        let (&[_, _], &[_, _]) = (&inputs, &outputs) else { return Ok(()) };
        let mut host_in = [HostPortIn::default(); 2];
        let mut module_ins = [PimModuleIn::default(); 2];
        let mut module_outs = [PimModuleOut::default(); 2];
        for (beat, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let bare = HostPortIn {
                timing_i: input.timing_i,
                host_pins_i: input.host_pins_i,
                host_dq_i: input.host_dq_i,
                ..HostPortIn::default()
            };
            let asked = self.port.expected(&bare, beat == 1).out;
            module_ins[beat] = module_in(input, &asked);
            module_outs[beat] = self.module.step(&module_ins[beat]);
            host_in[beat] = host_port_in(bare, &module_outs[beat]);
            let expected = self.port.expected(&host_in[beat], beat == 1);
            let open = expected.dq_open;
            self.compare(cycle as usize + beat, output, &expected.out, &module_outs[beat], open)?;
        }
        self.of_module.tck(cycle, &module_ins, &module_outs)?;
        self.port.step(&host_in[0], &host_in[1]);
        self.see(&inputs[1], &module_outs[1]);
        Ok(())
    }

    /// What has happened in the tCK that is over.
    fn see(&mut self, input: &PimDimmIn, module: &PimModuleOut) {
        let seen = &mut self.seen;
        if module.pins_o.decode().command == PinCommand::Ref {
            seen.push((plan::REF, usize::from(self.port.owner == Owner::Run)));
        }
        if input.host_dq_valid_i {
            seen.push((plan::DRIVES, self.port.owner as usize));
        }
        for event in &self.port.events {
            seen.push(match *event {
                Event::Starts { behind_a_run, .. } => (plan::START, behind_a_run.into()),
                Event::Asks(_) => (plan::REST, 0),
                Event::Refreshing { .. } => (plan::REST, 1),
                Event::Result { stream, .. } => (plan::READ, stream),
                Event::Ends { .. } => match (module.fault_o, self.port.last_end().status) {
                    (Fault::None, Status::Done) => (plan::END, 0),
                    (Fault::None, _) => (plan::END, 1),
                    _ => (plan::END, 2),
                },
                _ => continue,
            });
        }
    }

    /// The end of the episode.
    pub fn end(&mut self, cycle: u64) -> Result<(), OracleError> {
        self.of_module.end(cycle)
    }

    /// Compares what the unit shows in a beat.
    fn compare(
        &mut self,
        beat: usize,
        output: &PimDimmOut,
        host: &HostPortOut,
        module: &PimModuleOut,
        dq_open: bool,
    ) -> Result<(), OracleError> {
        let what = || "host_port and pim_module have another value there".to_owned();
        macro_rules! same {
            ($($of:ident: $($port:ident),*);* $(;)?) => {$($(
                same(beat, stringify!($port), (&output.$port, &$of.$port), what)?;
            )*)*};
        }
        same! {
            host: memory_o, load_o, host_dq_valid_o;
            module: command_write_o, table_write_o, fetch_read_o, fetch_address_o, table_read_o,
                table_address_o, pins_o, dq_valid_o, dq_o, cells_write_valid_o, cells_write_o, events_o,
                activity_o, results_o;
        }
        if !dq_open {
            same!(host: host_dq_o);
        }
        self.compared += u64::from(output.host_dq_valid_o && !dq_open);
        Ok(())
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

fn host_port_in(bare: HostPortIn, module: &PimModuleOut) -> HostPortIn {
    HostPortIn {
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
        ..bare
    }
}
