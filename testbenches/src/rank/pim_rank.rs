// SPDX-License-Identifier: MIT
//! The rank as one Verilated design, in lockstep with the device's.
//!
//! It watches the device from its reset on. In each tCK the design gets what the device was asked for and
//! what its arrays read, and every port and probe of it is compared with what the device made.

use crate::{Rtl, Window, ffi};
use pimlico_device::{
    ArrayRequest, BusRequest, Config, LANES, Normalise, Observed, Observer, Options, Shared, Sum,
    SumFormat, SumPorts, controls,
};
use pimlico_ports::wave::Cycle;
use pimlico_ports::{Bundle, Instances, Mismatch, U, Unit};
use pimlico_units::arith::{Binary16, Fp};
use pimlico_units::rank::{
    FullPimRank, PimRank, PimRankIn, PimRankOut, PimRankProbe, RankControllerIn, RefreshManagerOut,
    SmallPimRank,
};
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
        Size::Small => RankLockstep::<2, 4>::boxed(config, options, seed, wave),
        Size::Full if ffi::unit(&FullPimRank::name()).is_none() => Err(NoRank::NotBuilt),
        Size::Full => RankLockstep::<8, 16>::boxed(config, options, seed, wave),
    }
}

/// Whether a mismatch is one of a rank as one design.
pub fn is_in_rank(mismatch: &Mismatch) -> bool {
    [SmallPimRank::name(), FullPimRank::name()].contains(&mismatch.unit)
}

/// The Verilated rank with the PUs of so many chips and banks.
struct RankLockstep<const CHIPS: usize, const BANKS: usize> {
    rtl: Rtl<PimRank<CHIPS, BANKS>>,
    /// The configuration: inputs without a request.
    idle: PimRankIn,
    tck: u64,
    history: VecDeque<PimRankIn>,
}

impl<const CHIPS: usize, const BANKS: usize> RankLockstep<CHIPS, BANKS> {
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
                let name = PimRank::<CHIPS, BANKS>::name().replace(':', ".");
                let file = folder.join(format!("{name}.rtl.vcd"));
                let from = 2 * from_tck.saturating_sub(super::BEFORE);
                rtl.trace(0, &file, Window { from, cycle_ps: config.tck_ps / 2 })?;
                Some(file)
            }
        };
        let idle = configuration(config, options);
        let history = VecDeque::with_capacity(HISTORY);
        Ok((Box::new(Self { rtl, idle, tck: 0, history }), file))
    }

    /// One beat: what the design puts out before its edge.
    fn beat(&mut self, input: &PimRankIn) -> Result<(PimRankOut, PimRankProbe), Box<Mismatch>> {
        let mut output = [PimRankOut::default()];
        self.rtl.step(std::slice::from_ref(input), &mut output)?;
        let [output] = output;
        Ok((output, self.rtl.probe(0)))
    }

    fn keep(&mut self, input: PimRankIn) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(input);
    }

    /// Compares what the design put out with what it should have.
    fn compare(
        &self,
        expected: (PimRankOut, PimRankProbe),
        got: (PimRankOut, PimRankProbe),
    ) -> Result<(), Box<Mismatch>> {
        if expected == got {
            return Ok(());
        }
        let cycle = |(outputs, probes)| Cycle { inputs: PimRankIn::default(), outputs, probes };
        let found = Mismatch::find::<PimRank<CHIPS, BANKS>>(&cycle(expected), &cycle(got));
        let inputs = self.history.iter().map(interesting).collect();
        let found = found.expect("called for a difference");
        Err(Box::new(Mismatch { cycle: self.tck, inputs, ..found }))
    }

    /// What the probes show where the device has `seen` that.
    fn probes(&self, seen: &Observed<'_>, sums: &SumPorts<'_>) -> PimRankProbe {
        let (pu_in, pu_out) = sums.bank_pus;
        let (adder_in, adder_out) = sums.adder_unit;
        let (softmax_in, softmax_out) = seen.softmax;
        let (word, burst) = seen.bus.written.unwrap_or_default();
        let number = |chip: usize, bank: usize| 8 * bank + chip;
        let built = |chip: usize, bank: usize| chip < CHIPS && bank * BANKS % 16 < BANKS;
        PimRankProbe {
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
            ..refresh_probes(seen.refresh)
        }
    }
}

impl<const CHIPS: usize, const BANKS: usize> Observer for RankLockstep<CHIPS, BANKS> {
    fn pim(&mut self, seen: &Observed<'_>) -> Result<(), Box<Mismatch>> {
        let sums = seen.sums.expect("sums of binary16, as was asked for");
        self.idle.scale_i = bits(seen.softmax.0.scale_i);
        let input = input(&self.idle, seen, &sums);
        self.keep(input);
        let [first_beat, expected] = outputs(seen, &sums);
        // Of the tCK's first beat no more than the data bus is settled.
        let (outputs, probes) = self.beat(&input)?;
        let PimRankOut { dq_valid_o, dq_o, .. } = first_beat;
        self.compare((PimRankOut { dq_valid_o, dq_o, ..outputs }, probes), (outputs, probes))?;
        let got = self.beat(&input)?;
        self.compare((expected, self.probes(seen, &sums)), got)?;
        self.tck += 1;
        Ok(())
    }

    fn memory(
        &mut self,
        refreshed: bool,
        refresh: &RefreshManagerOut,
    ) -> Result<(), Box<Mismatch>> {
        let input = PimRankIn { memory_i: true, memory_refresh_i: refreshed, ..self.idle };
        self.keep(input);
        self.beat(&input)?;
        let (outputs, got) = self.beat(&input)?;
        let PimRankProbe { refresh_wanted, refresh_forced, refresh_owed, .. } =
            refresh_probes(refresh);
        let expected = PimRankProbe { refresh_wanted, refresh_forced, refresh_owed, ..got };
        self.compare((outputs, expected), (outputs, got))?;
        self.tck += 1;
        Ok(())
    }
}

/// The design's inputs without a request.
fn configuration(config: &Config, options: Options) -> PimRankIn {
    let RankControllerIn {
        ccd_s_i,
        ccd_l_i,
        rrd_s_i,
        rrd_l_i,
        rcd_i,
        rcd_wr_i,
        rcd_mac_i,
        ras_i,
        rp_i,
        rtp_i,
        rd_to_wr_i,
        wr_to_rd_s_i,
        wr_to_rd_l_i,
        wr_to_pre_i,
        faw_i,
        rc_i,
        rfc_i,
        staggered_i,
        ..
    } = controls(&config.timing, options.activation);
    let latency = |tck: u64| u8::try_from(tck).expect("no more than the design's longest");
    PimRankIn {
        ccd_s_i,
        ccd_l_i,
        rrd_s_i,
        rrd_l_i,
        rcd_i,
        rcd_wr_i,
        rcd_mac_i,
        ras_i,
        rp_i,
        rtp_i,
        rd_to_wr_i,
        wr_to_rd_s_i,
        wr_to_rd_l_i,
        wr_to_pre_i,
        faw_i,
        rc_i,
        rfc_i,
        staggered_i,
        cl_i: latency(config.timing.cl_tck),
        cwl_i: latency(config.timing.cwl_tck),
        refresh_enable_i: options.refresh,
        refi_i: U::new(config.timing.refi_tck),
        ..Default::default()
    }
}

/// The design's inputs for a tCK in which the device was asked for that.
fn input(idle: &PimRankIn, seen: &Observed<'_>, sums: &SumPorts<'_>) -> PimRankIn {
    let results = sums.bank_pus.1;
    let mut input = PimRankIn {
        head_end_i: seen.requests.head_end,
        rows_i: seen.rows.map_or([[0; 8]; 16], |rows| from_fn(|bank| rows[bank])),
        unbuilt_results_i: from_fn(|bank| {
            from_fn(|chip| word_of(&results[8 * bank + chip].result_o))
        }),
        ..*idle
    };
    match seen.requests.array {
        Some(ArrayRequest::Read(read)) => {
            input.array_valid_i = true;
            input.array_row_i = read.row as u16;
            input.array_column_i = read.column as u8;
            input.array_shared_i = read.shared as u8;
            input.array_accumulate_i = read.accumulate;
            input.array_first_i = read.first;
            input.array_last_i = read.last;
        }
        Some(ArrayRequest::CloseAll) => {
            input.array_valid_i = true;
            input.array_close_i = true;
        }
        None => {}
    }
    match seen.requests.bus {
        Some(BusRequest::Write { word, data }) => {
            input.bus_valid_i = true;
            input.bus_write_i = true;
            input.bus_address_i = word as u8;
            (input.bus_host_i, input.bus_data_i) = match data {
                Shared::Host(beats) => (true, beats),
                Shared::RankPu(burst) => (false, burst),
            };
        }
        Some(BusRequest::Results { results, sum }) => {
            input.bus_valid_i = true;
            input.bus_address_i = results.address() as u8;
            ask_for_sum(&mut input, sum);
        }
        None => {}
    }
    if let Some(head) = seen.requests.finish {
        input.finish_valid_i = true;
        input.finish_head_i = U::new(head as u64);
    }
    if let Some(weigh) = seen.requests.weigh {
        input.weigh_valid_i = true;
        input.weigh_place_i = U::new(weigh.place as u64);
        input.weigh_head_i = U::new(weigh.head as u64);
    }
    input
}

fn ask_for_sum(input: &mut PimRankIn, sum: Sum) {
    match sum {
        Sum::Tree(scores) => {
            input.sum_head_i = U::new(scores.head as u64);
            input.sum_first_i = scores.first;
            input.sum_tokens_i = U::new(scores.tokens.min(LANES) as u64);
            input.sum_place_i = U::new(scores.place.unwrap_or_default() as u64);
            input.sum_keep_i = scores.place.is_some();
        }
        Sum::Outputs(outputs) => {
            input.sum_kind_i = U::new(1);
            input.sum_place_i = U::new(outputs.place as u64);
            input.sum_goes_on_i = outputs.goes_on;
            input.sum_complete_i = outputs.complete;
        }
        Sum::Lanes(lanes) => {
            input.sum_kind_i = U::new(2);
            input.sum_first_i = lanes.first;
            input.sum_last_i = lanes.last;
            input.sum_place_i = U::new(lanes.place as u64);
            input.sum_goes_on_i = lanes.goes_on;
            input.sum_complete_i = lanes.complete;
        }
    }
}

/// What the design puts out, in the two beats of a tCK in which that happened.
fn outputs(seen: &Observed<'_>, sums: &SumPorts<'_>) -> [PimRankOut; 2] {
    let Observed { events, controller, .. } = seen;
    let x = &sums.adder_unit.0.x_i;
    [0, 1].map(|beat| {
        let results = seen.bus.results.then(|| {
            let byte = |element: &Fp<Binary16>| bits(*element).to_le_bytes()[beat];
            u64::from_le_bytes(from_fn(|chip| byte(&x[chip])))
        });
        let dq = results.or(seen.bus.operands[beat]);
        PimRankOut {
            command_o: controller.command_o,
            bank_o: controller.bank_o,
            row_o: controller.row_o,
            column_o: controller.column_o,
            dq_valid_o: dq.is_some(),
            dq_o: dq.unwrap_or(u64::MAX),
            array_taken_o: events.array_taken,
            bus_taken_o: events.bus_taken,
            finish_taken_o: events.finish_taken,
            weigh_taken_o: events.weigh_taken,
            read_o: events.read,
            results_taken_o: events.results_taken,
            written_o: events.written,
            results_o: events.results,
            score_valid_o: events.score.is_some(),
            score_o: events.score.map_or(0, |(bits, _)| bits),
            scaled_o: events.scaled,
            finished_o: events.finished,
            weight_valid_o: events.weight.is_some(),
            weight_o: events.weight.unwrap_or_default(),
            context_valid_o: events.context.is_some(),
            context_o: events.context.map_or(0, |(bits, _)| bits),
            output_valid_o: events.output.is_some(),
            output_o: events.output.unwrap_or_default(),
            idle_o: controller.idle_o,
            lost_row_switch_o: controller.lost_row_switch_o,
            lost_refresh_o: controller.lost_refresh_o,
        }
    })
}

fn refresh_probes(refresh: &RefreshManagerOut) -> PimRankProbe {
    PimRankProbe {
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
fn interesting(input: &PimRankIn) -> Vec<(&'static str, String)> {
    let requests = PimRankIn::PORTS.iter().position(|port| port.name == "memory_i").unwrap_or(0);
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
