// SPDX-License-Identifier: MIT
//! Dispatcher, sequencer and rank as one Verilated design, in lockstep with the device's.
//!
//! It watches the device from its reset on. The design gets what the host writes, what the memories beside
//! the dispatcher and the arrays hold, and the host's operands; in each tCK every port and probe of it is
//! compared with what the device made.

use crate::{Rtl, Window, ffi};
use pimlico_device::{
    ArrayRequest, BusRequest, Config, LANES, Normalise, Observed, Observer, Options, Requests,
    Shared, Sum, SumFormat, SumPorts, Weigh, controls,
};
use pimlico_ports::wave::Cycle;
use pimlico_ports::{Bundle, Enumerated, Instances, Mismatch, U, Unit};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::module::{
    DispatcherIn, DispatcherOut, FullPimModule, PimModule, PimModuleIn, PimModuleOut,
    PimModuleProbe, SmallPimModule,
};
use pimlico_units::rank::{RankControllerIn, RefreshManagerOut};
use std::array::from_fn;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// How many tCK of inputs a mismatch report goes back.
const HISTORY: usize = 4;

/// Ports of more bits than this are left out of the report.
const WIDEST: u32 = 64;

/// The longest CL and CWL of the design.
const LONGEST_LATENCY: u64 = 48;

/// How long the design's bursts are on the data bus.
const BURST_TCK: u64 = 4;

/// Which of the Verilated ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Bank PUs of two chips, at a bank of each bank group.
    Small,
    /// All bank PUs.
    Full,
}

/// Why there is no rank to run in lockstep.
#[derive(Debug, thiserror::Error)]
pub enum NoRank {
    /// It has one way to work.
    #[error("the rank's RTL is L3's, with sums of binary16 and normalised weights: it has not {0}")]
    Options(&'static str),
    /// It has not been built.
    #[error(
        "the rank's RTL with all its bank PUs is not built in: build with PIMLICO_RANK=full, as \
         scripts/full-rank does"
    )]
    NotBuilt,
    /// A waveform cannot be written.
    #[error(transparent)]
    Wave(#[from] io::Error),
}

/// An observer for a rank that has just been made. See [`Rtl::new`] for the seed.
///
/// With a folder, the design writes its waveform there, from 64 tCK before `from_tck` on; what it is called
/// is returned.
pub fn lockstep(
    size: Size,
    config: &Config,
    options: Options,
    seed: u64,
    wave: Option<(&Path, u64)>,
) -> Result<(Box<dyn Observer>, Option<PathBuf>), NoRank> {
    if options.normalise != Normalise::Early {
        return Err(NoRank::Options("late normalisation"));
    }
    if options.sums != SumFormat::Binary16 {
        return Err(NoRank::Options("sums of binary32"));
    }
    let timing = &config.timing;
    let latencies = 2..=LONGEST_LATENCY;
    if !latencies.contains(&timing.cl_tck) || !latencies.contains(&timing.cwl_tck) {
        return Err(NoRank::Options("a CL or CWL beyond 2 to 48 tCK"));
    }
    if timing.ccd_s_tck < timing.burst_tck || timing.burst_tck != BURST_TCK {
        return Err(NoRank::Options("a burst of another length than 4 tCK"));
    }
    match size {
        Size::Small => ModuleLockstep::<2, 4>::boxed(config, options, seed, wave),
        Size::Full if ffi::unit(&FullPimModule::name()).is_none() => Err(NoRank::NotBuilt),
        Size::Full => ModuleLockstep::<8, 16>::boxed(config, options, seed, wave),
    }
}

/// Whether a mismatch is one of a module as one design.
pub fn is_in_module(mismatch: &Mismatch) -> bool {
    [SmallPimModule::name(), FullPimModule::name()].contains(&mismatch.unit)
}

/// The Verilated rank with the PUs of so many chips and banks.
struct ModuleLockstep<const CHIPS: usize, const BANKS: usize> {
    rtl: Rtl<PimModule<CHIPS, BANKS>>,
    /// The configuration: inputs without a request.
    idle: PimModuleIn,
    tck: u64,
    history: VecDeque<PimModuleIn>,
}

impl<const CHIPS: usize, const BANKS: usize> ModuleLockstep<CHIPS, BANKS> {
    fn boxed(
        config: &Config,
        options: Options,
        seed: u64,
        wave: Option<(&Path, u64)>,
    ) -> Result<(Box<dyn Observer>, Option<PathBuf>), NoRank> {
        let mut rtl = Rtl::new(1, seed);
        let file = match wave {
            None => None,
            Some((folder, from_tck)) => {
                std::fs::create_dir_all(folder)?;
                let name = PimModule::<CHIPS, BANKS>::name().replace(':', ".");
                let file = folder.join(format!("{name}.rtl.vcd"));
                let from = 2 * from_tck.saturating_sub(crate::rank::BEFORE);
                rtl.trace(0, &file, Window { from, cycle_ps: config.tck_ps / 2 })?;
                Some(file)
            }
        };
        let idle = configuration(config, options);
        let history = VecDeque::with_capacity(HISTORY);
        Ok((Box::new(Self { rtl, idle, tck: 0, history }), file))
    }

    /// One beat: what the design puts out before its edge.
    fn beat(
        &mut self,
        input: &PimModuleIn,
    ) -> Result<(PimModuleOut, PimModuleProbe), Box<Mismatch>> {
        let mut output = [PimModuleOut::default()];
        self.rtl.step(std::slice::from_ref(input), &mut output)?;
        let [output] = output;
        Ok((output, self.rtl.probe(0)))
    }

    fn keep(&mut self, input: PimModuleIn) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(input);
    }

    /// Compares what the design put out with what it should have.
    fn compare(
        &self,
        expected: (PimModuleOut, PimModuleProbe),
        got: (PimModuleOut, PimModuleProbe),
    ) -> Result<(), Box<Mismatch>> {
        if expected == got {
            return Ok(());
        }
        let cycle = |(outputs, probes)| Cycle { inputs: PimModuleIn::default(), outputs, probes };
        let found = Mismatch::find::<PimModule<CHIPS, BANKS>>(&cycle(expected), &cycle(got));
        let inputs = self.history.iter().map(interesting).collect();
        let found = found.expect("called for a difference");
        Err(Box::new(Mismatch { cycle: self.tck, inputs, ..found }))
    }

    /// What the probes show where the device has `seen` that.
    fn probes(&self, seen: &Observed<'_>, sums: &SumPorts<'_>) -> PimModuleProbe {
        let (pu_in, pu_out) = sums.bank_pus;
        let (adder_in, adder_out) = sums.adder_unit;
        let (softmax_in, softmax_out) = seen.softmax;
        let (word, burst) = seen.bus.written.unwrap_or_default();
        let number = |chip: usize, bank: usize| 8 * bank + chip;
        let built = |chip: usize, bank: usize| chip < CHIPS && bank * BANKS % 16 < BANKS;
        PimModuleProbe {
            shared_written: if seen.bus.written.is_some() { 0xFF } else { 0 },
            written_word: [word as u8; 8],
            shared_data: burst,
            pu_beat: from_fn(|chip| {
                let beat = &pu_in[chip];
                let bits = [beat.valid_i, beat.accumulate_i, beat.first_i, beat.last_i];
                U::new(bits.iter().rev().fold(0, |all, bit| all << 1 | u64::from(*bit)))
            }),
            pu_shared: from_fn(|chip| word_of(&pu_in[chip].shared_i)),
            pu_row: from_fn(|chip| {
                let row = |bank| word_of(&pu_in[number(chip, bank)].row_i);
                from_fn(|bank| if built(chip, bank) { row(bank) } else { 0 })
            }),
            pu_result_valid: from_fn(|chip| {
                let valid =
                    |bank: &usize| built(chip, *bank) && pu_out[number(chip, *bank)].result_valid_o;
                (0..16).filter(valid).map(|bank| 1 << bank).sum()
            }),
            pu_result: from_fn(|chip| {
                from_fn(|bank| word_of(&pu_out[number(chip, bank)].result_o))
            }),
            adder_valid: adder_in.valid_i,
            adder_accumulate: adder_in.accumulate_i,
            adder_first: adder_in.first_i,
            adder_last: adder_in.last_i,
            adder_partial: bits(adder_in.partial_i),
            adder_x: adder_in.x_i.map(bits),
            tree_valid: adder_out.tree_valid_o,
            tree: bits(adder_out.tree_o),
            lanes_valid: adder_out.lanes_valid_o,
            lanes: adder_out.lanes_o.map(bits),
            score_mask: softmax_in.mask_i,
            score_first: softmax_in.first_i,
            score_head: softmax_in.head_i,
            finish_head: softmax_in.finish_head_i,
            weigh: bits(softmax_in.weigh_i),
            weigh_head: softmax_in.weigh_head_i,
            scaled: bits(softmax_out.scaled_o),
            max_valid: softmax_out.max_valid_o,
            largest: bits(softmax_out.max_o),
            exp_valid: softmax_out.exp_valid_o,
            exponential: bits(softmax_out.exp_o),
            factor: bits(softmax_out.factor_o),
            finish_ready: softmax_out.finish_ready_o,
            reciprocal: softmax_out.recip_o.to_bits(),
            weigh_ready: softmax_out.weigh_ready_o,
            weight: bits(softmax_out.weight_o),
            refresh_wanted: seen.refresh.refresh_o,
            refresh_forced: seen.refresh.force_o,
            refresh_owed: seen.refresh.owed_o,
            ..requests(seen.requests, seen.weigh)
        }
    }
}

impl<const CHIPS: usize, const BANKS: usize> Observer for ModuleLockstep<CHIPS, BANKS> {
    fn pim(&mut self, seen: &Observed<'_>) -> Result<(), Box<Mismatch>> {
        let sums = seen.sums.expect("sums of binary16, as was asked for");
        self.idle.scale_i = bits(seen.softmax.0.scale_i);
        let input = input(&self.idle, seen, &sums);
        self.keep(input);
        let [first_beat, expected] = outputs(seen, &sums);
        // Of the tCK's first beat no more than the data bus is settled.
        let (outputs, probes) = self.beat(&input)?;
        let PimModuleOut { dq_valid_o, dq_o, .. } = first_beat;
        self.compare((PimModuleOut { dq_valid_o, dq_o, ..outputs }, probes), (outputs, probes))?;
        let got = self.beat(&input)?;
        self.compare((expected, self.probes(seen, &sums)), got)?;
        self.tck += 1;
        Ok(())
    }

    fn host(
        &mut self,
        (driven, put_out): (&DispatcherIn, &DispatcherOut),
    ) -> Result<(), Box<Mismatch>> {
        let input = with_dispatcher(&self.idle, driven);
        self.keep(input);
        self.beat(&input)?;
        let (outputs, probes) = self.beat(&input)?;
        self.compare((with_dispatched(outputs, put_out), probes), (outputs, probes))
    }

    fn memory(
        &mut self,
        refreshed: bool,
        refresh: &RefreshManagerOut,
    ) -> Result<(), Box<Mismatch>> {
        let input = PimModuleIn { memory_i: true, memory_refresh_i: refreshed, ..self.idle };
        self.keep(input);
        self.beat(&input)?;
        let (outputs, got) = self.beat(&input)?;
        let PimModuleProbe { refresh_wanted, refresh_forced, refresh_owed, .. } =
            refresh_probes(refresh);
        let expected = PimModuleProbe { refresh_wanted, refresh_forced, refresh_owed, ..got };
        self.compare((outputs, expected), (outputs, got))?;
        self.tck += 1;
        Ok(())
    }
}

/// The design's inputs without a request.
fn configuration(config: &Config, options: Options) -> PimModuleIn {
    let RankControllerIn { timing_i: timing, staggered_i, .. } =
        controls(&config.timing, options.activation);
    PimModuleIn {
        ccd_s_i: timing.ccd_s,
        ccd_l_i: timing.ccd_l,
        rrd_s_i: timing.rrd_s,
        rrd_l_i: timing.rrd_l,
        rcd_i: timing.rcd,
        rcd_wr_i: timing.rcd_wr,
        rcd_mac_i: timing.rcd_mac,
        ras_i: timing.ras,
        rp_i: timing.rp,
        rtp_i: timing.rtp,
        rd_to_wr_i: timing.rd_to_wr,
        wr_to_rd_s_i: timing.wr_to_rd_s,
        wr_to_rd_l_i: timing.wr_to_rd_l,
        wr_to_pre_i: timing.wr_to_pre,
        faw_i: timing.faw,
        rc_i: timing.rc,
        rfc_i: timing.rfc,
        staggered_i,
        cl_i: timing.cl,
        cwl_i: timing.cwl,
        refresh_enable_i: options.refresh,
        refi_i: timing.refi,
        bank_rows_i: U::new(config.organisation.rows as u64),
        bank_columns_i: U::new(config.columns() as u64),
        ..Default::default()
    }
}

/// What the dispatcher gets, for the design's inputs.
fn with_dispatcher(idle: &PimModuleIn, dispatcher: &DispatcherIn) -> PimModuleIn {
    PimModuleIn {
        load_valid_i: dispatcher.load_valid_i,
        load_kind_i: U::new(dispatcher.load_i.kind.code()),
        load_address_i: dispatcher.load_i.address,
        load_data_i: dispatcher.load_i.data,
        start_valid_i: dispatcher.start_valid_i,
        start_request_i: dispatcher.start_i.request,
        start_address_i: dispatcher.start_i.address,
        fetch_data_i: dispatcher.fetch_data_i,
        table_data_i: dispatcher.table_data_i,
        ..*idle
    }
}

/// What the dispatcher puts out, among the design's outputs.
fn with_dispatched(outputs: PimModuleOut, dispatcher: &DispatcherOut) -> PimModuleOut {
    PimModuleOut {
        command_write_o: dispatcher.command_write_o,
        table_write_o: dispatcher.table_write_o,
        overflow_o: dispatcher.overflow_o,
        start_ready_o: dispatcher.start_ready_o,
        fetch_read_o: dispatcher.fetch_read_o,
        fetch_address_o: dispatcher.fetch_address_o,
        table_read_o: dispatcher.table_read_o,
        table_address_o: dispatcher.table_address_o,
        ended_o: dispatcher.end_valid_o,
        ended_status_o: U::new(dispatcher.end_o.status.code()),
        ended_address_o: dispatcher.end_o.address,
        status_o: dispatcher.status_o.map(|status| U::new(status.code())),
        ..outputs
    }
}

/// The design's inputs for a tCK of the device.
fn input(idle: &PimModuleIn, seen: &Observed<'_>, sums: &SumPorts<'_>) -> PimModuleIn {
    let results = sums.bank_pus.1;
    PimModuleIn {
        operands_i: U::new(seen.sequencer.operands),
        operand_i: *seen.sequencer.operand,
        rows_i: seen.rows.map_or([[0; 8]; 16], |rows| from_fn(|bank| rows[bank])),
        unbuilt_results_i: from_fn(|bank| {
            from_fn(|chip| word_of(&results[8 * bank + chip].result_o))
        }),
        ..with_dispatcher(idle, seen.dispatcher.0)
    }
}

/// The probes at the rank's request ports.
fn requests(requests: &Requests, weigh: Option<Weigh>) -> PimModuleProbe {
    let mut probes = PimModuleProbe { head_end_i: requests.head_end, ..Default::default() };
    match requests.array {
        Some(ArrayRequest::Read(read)) => {
            probes.array_valid_i = true;
            probes.array_row_i = read.row as u16;
            probes.array_column_i = read.column as u8;
            probes.array_shared_i = read.shared as u8;
            probes.array_accumulate_i = read.accumulate;
            probes.array_first_i = read.first;
            probes.array_last_i = read.last;
        }
        Some(ArrayRequest::CloseAll) => {
            probes.array_valid_i = true;
            probes.array_close_i = true;
        }
        None => {}
    }
    match requests.bus {
        Some(BusRequest::Write { word, data }) => {
            probes.bus_valid_i = true;
            probes.bus_write_i = true;
            probes.bus_address_i = word as u8;
            (probes.bus_host_i, probes.bus_data_i) = match data {
                Shared::Host(beats) => (true, beats),
                Shared::RankPu(burst) => (false, burst),
            };
        }
        Some(BusRequest::Results { results, sum }) => {
            probes.bus_valid_i = true;
            probes.bus_address_i = results.address() as u8;
            put_sum(&mut probes, sum);
        }
        None => {}
    }
    if let Some(head) = requests.finish {
        probes.finish_valid_i = true;
        probes.finish_head_i = U::new(head as u64);
    }
    if let Some(weigh) = weigh {
        probes.weigh_valid_i = true;
        probes.weigh_place_i = U::new(weigh.place as u64);
        probes.weigh_head_i = U::new(weigh.head as u64);
    }
    probes
}

fn put_sum(probes: &mut PimModuleProbe, sum: Sum) {
    match sum {
        Sum::Tree(scores) => {
            probes.sum_head_i = U::new(scores.head as u64);
            probes.sum_first_i = scores.first;
            probes.sum_tokens_i = U::new(scores.tokens.min(LANES) as u64);
            probes.sum_place_i = U::new(scores.place.unwrap_or_default() as u64);
            probes.sum_keep_i = scores.place.is_some();
        }
        Sum::Outputs(outputs) => {
            probes.sum_kind_i = U::new(1);
            probes.sum_place_i = U::new(outputs.place as u64);
            probes.sum_goes_on_i = outputs.goes_on;
            probes.sum_complete_i = outputs.complete;
        }
        Sum::Lanes(lanes) => {
            probes.sum_kind_i = U::new(2);
            probes.sum_head_i = U::new(lanes.head as u64);
            probes.sum_first_i = lanes.first;
            probes.sum_last_i = lanes.last;
            probes.sum_place_i = U::new(lanes.place as u64);
            probes.sum_goes_on_i = lanes.goes_on;
            probes.sum_complete_i = lanes.complete;
        }
    }
}

/// What the design puts out, in the two beats of a tCK in which that happened.
fn outputs(seen: &Observed<'_>, sums: &SumPorts<'_>) -> [PimModuleOut; 2] {
    let Observed { events, controller, .. } = seen;
    let x = &sums.adder_unit.0.x_i;
    [0, 1].map(|beat| {
        let results = seen.bus.results.then(|| {
            let byte = |element: &Fp<Binary16>| bits(*element).to_le_bytes()[beat];
            u64::from_le_bytes(from_fn(|chip| byte(&x[chip])))
        });
        let dq = results.or(seen.bus.operands[beat]);
        let asked = seen.sequencer.asked;
        let of_rank = PimModuleOut {
            fault_o: U::new(asked.fault_o.code()),
            over_o: asked.done_o,
            operand_taken_o: events.bus_taken && asked.bus_o.host,
            command_o: U::new(controller.pins_o.command.code()),
            bank_o: controller.pins_o.bank,
            row_o: controller.pins_o.row,
            column_o: controller.pins_o.column,
            dq_valid_o: dq.is_some(),
            dq_o: dq.unwrap_or(u64::MAX),
            array_taken_o: events.array_taken,
            bus_taken_o: events.bus_taken,
            finish_taken_o: events.finish_taken,
            weigh_taken_o: seen.softmax.0.weigh_valid_i && seen.softmax.1.weigh_ready_o,
            read_o: events.read,
            results_taken_o: events.results_taken,
            written_o: events.written,
            results_o: events.results,
            score_valid_o: events.score.is_some(),
            score_o: events.score.map_or(0, |(bits, _)| bits),
            scaled_o: events.scaled,
            finished_o: events.finished,
            weight_valid_o: events.weight.is_some(),
            weight_o: events.weight.map_or(0, |(bits, _)| bits),
            context_valid_o: events.context.is_some(),
            context_o: events.context.map_or(0, |(bits, _)| bits),
            output_valid_o: events.output.is_some(),
            output_o: events.output.unwrap_or_default(),
            idle_o: controller.idle_o,
            lost_row_switch_o: controller.lost_row_switch_o,
            lost_refresh_o: controller.lost_refresh_o,
            ..Default::default()
        };
        with_dispatched(of_rank, seen.dispatcher.1)
    })
}

fn refresh_probes(refresh: &RefreshManagerOut) -> PimModuleProbe {
    PimModuleProbe {
        refresh_wanted: refresh.refresh_o,
        refresh_forced: refresh.force_o,
        refresh_owed: refresh.owed_o,
        ..Default::default()
    }
}

fn bits(element: Fp<Binary16>) -> u16 {
    element.to_bits() as u16
}

/// Four elements as they stand in a word.
fn word_of(elements: &[Fp<Binary16>; LANES]) -> u64 {
    elements.iter().rev().fold(0, |word, element| word << 16 | u64::from(bits(*element)))
}

/// The inputs that say something: neither 0 nor wide nor the configuration.
fn interesting(input: &PimModuleIn) -> Vec<(&'static str, String)> {
    let requests = PimModuleIn::PORTS.iter().position(|port| port.name == "memory_i").unwrap_or(0);
    let mut values = Vec::new();
    let mut number = 0;
    input.for_each_port(|port, bits| {
        if number >= requests && port.width <= WIDEST && bits.any() {
            values.push((port.name, pimlico_ports::hex(bits)));
        }
        number += 1;
    });
    values
}
