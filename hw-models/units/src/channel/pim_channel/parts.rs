// SPDX-License-Identifier: MIT
//! The units of a channel, and a cycle of all of them: each may be a model, RTL, or both in lockstep.

use super::global::{Fill, GlobalBuffer};
use super::{BankResults, BankRow, BankRows, ChannelPu, PimChannelIn, PimChannelOut};
use crate::arith::{Binary16, Format, Fp};
use crate::bank::{BankPuIn, BankPuOut, DualRowBufferIn, DualRowBufferOut, Sixteen};
use crate::channel::{
    ChannelCommand, ChannelController, ChannelControllerIn, ChannelControllerOut, GemvSequencer,
    GemvSequencerIn, GemvSequencerOut,
};
use pimlico_ports::{Instances, Mismatch, Model, U};
use std::marker::PhantomData;

/// Banks of a group.
const GROUP: usize = 4;
/// Cycles from the tCK of a command on the pins to its first beat.
const BEHIND: u64 = 2;
/// Cycles from a beat to its result.
const LATENCY: u32 = 1 + ChannelPu::<Binary16>::TREE_LATENCY as u32;

/// Whoever executes the units of a channel.
pub trait ChannelUnits<A: Format> {
    /// A cycle of the controller.
    fn controller(
        &mut self,
        input: &ChannelControllerIn,
    ) -> Result<ChannelControllerOut, Box<Mismatch>>;

    /// A cycle of the sequencer.
    fn sequencer(&mut self, input: &GemvSequencerIn) -> Result<GemvSequencerOut, Box<Mismatch>>;

    /// A cycle of all banks' row buffers.
    fn rows(
        &mut self,
        inputs: &[DualRowBufferIn<BankRow>],
        outputs: &mut [DualRowBufferOut<BankRow>],
    ) -> Result<(), Box<Mismatch>>;

    /// A cycle of all PUs.
    fn pus(
        &mut self,
        inputs: &[BankPuIn<Binary16, A, Sixteen>],
        outputs: &mut [BankPuOut<Binary16, A, Sixteen>],
    ) -> Result<(), Box<Mismatch>>;
}

/// Models.
#[derive(Clone)]
pub(super) struct ModelParts<A: Format> {
    pub(super) controller: ChannelController<32, 32>,
    pub(super) sequencer: GemvSequencer<32>,
    pub(super) rows: Vec<BankRows>,
    pub(super) pus: Vec<ChannelPu<A>>,
}

impl<A: Format> ChannelUnits<A> for ModelParts<A> {
    fn controller(
        &mut self,
        input: &ChannelControllerIn,
    ) -> Result<ChannelControllerOut, Box<Mismatch>> {
        Ok(self.controller.step(input))
    }

    fn sequencer(&mut self, input: &GemvSequencerIn) -> Result<GemvSequencerOut, Box<Mismatch>> {
        Ok(self.sequencer.step(input))
    }

    fn rows(
        &mut self,
        inputs: &[DualRowBufferIn<BankRow>],
        outputs: &mut [DualRowBufferOut<BankRow>],
    ) -> Result<(), Box<Mismatch>> {
        for ((rows, input), output) in self.rows.iter_mut().zip(inputs).zip(outputs) {
            *output = rows.step(input);
        }
        Ok(())
    }

    fn pus(
        &mut self,
        inputs: &[BankPuIn<Binary16, A, Sixteen>],
        outputs: &mut [BankPuOut<Binary16, A, Sixteen>],
    ) -> Result<(), Box<Mismatch>> {
        for ((pu, input), output) in self.pus.iter_mut().zip(inputs).zip(outputs) {
            *output = pu.step(input);
        }
        Ok(())
    }
}

/// Instances of each unit, of a channel with so many banks.
pub struct InstanceParts<A: Format> {
    /// The controller.
    pub controller: Box<dyn Instances<ChannelController<32, 32>>>,
    /// The sequencer.
    pub sequencer: Box<dyn Instances<GemvSequencer<32>>>,
    /// Row buffers, those of each bank.
    pub rows: Box<dyn Instances<BankRows>>,
    /// PUs, that of each bank.
    pub pus: Box<dyn Instances<ChannelPu<A>>>,
}

impl<A: Format> ChannelUnits<A> for InstanceParts<A> {
    fn controller(
        &mut self,
        input: &ChannelControllerIn,
    ) -> Result<ChannelControllerOut, Box<Mismatch>> {
        let mut output = [ChannelControllerOut::default()];
        self.controller.step(&[*input], &mut output)?;
        Ok(output[0])
    }

    fn sequencer(&mut self, input: &GemvSequencerIn) -> Result<GemvSequencerOut, Box<Mismatch>> {
        let mut output = [GemvSequencerOut::default()];
        self.sequencer.step(&[*input], &mut output)?;
        Ok(output[0])
    }

    fn rows(
        &mut self,
        inputs: &[DualRowBufferIn<BankRow>],
        outputs: &mut [DualRowBufferOut<BankRow>],
    ) -> Result<(), Box<Mismatch>> {
        self.rows.step(inputs, outputs)
    }

    fn pus(
        &mut self,
        inputs: &[BankPuIn<Binary16, A, Sixteen>],
        outputs: &mut [BankPuOut<Binary16, A, Sixteen>],
    ) -> Result<(), Box<Mismatch>> {
        self.pus.step(inputs, outputs)
    }
}

/// The registers of a channel beside those of its units.
#[derive(Clone, Debug)]
pub struct ChannelParts<R: BankResults, A: Format> {
    results: PhantomData<R>,
    /// Whether all banks are of one pseudo-rank; none in the first cycle after reset.
    single: Option<bool>,
    /// What was on the pins in the last cycle.
    pins: ChannelControllerOut,
    /// The last dot products were a GEMV's.
    is_gemv: bool,
    /// The beat of the last cycle: whether it begins and ends a sum.
    beat: Option<(bool, bool)>,
    has_begun: bool,
    has_sums: bool,
    /// The bank of an RD in the last cycle.
    reads: Option<usize>,
    /// Last beats of GEMVs, by their age.
    sends: u32,
    global: GlobalBuffer,
    rows_in: Vec<DualRowBufferIn<BankRow>>,
    rows_out: Vec<DualRowBufferOut<BankRow>>,
    pus_in: Vec<BankPuIn<Binary16, A, Sixteen>>,
    pus_out: Vec<BankPuOut<Binary16, A, Sixteen>>,
}

impl<R: BankResults, A: Format> ChannelParts<R, A> {
    /// A channel that has been reset.
    #[must_use]
    pub fn new() -> Self {
        Self {
            results: PhantomData,
            single: None,
            pins: ChannelControllerOut::default(),
            is_gemv: false,
            beat: None,
            has_begun: false,
            has_sums: false,
            reads: None,
            sends: 0,
            global: GlobalBuffer::new(),
            rows_in: vec![DualRowBufferIn::default(); R::BANKS],
            rows_out: vec![DualRowBufferOut::default(); R::BANKS],
            pus_in: vec![BankPuIn::default(); R::BANKS],
            pus_out: vec![BankPuOut::default(); R::BANKS],
        }
    }

    /// The same, and it allocates nothing.
    pub(super) fn reset(&mut self) {
        (self.single, self.pins, self.is_gemv) = (None, ChannelControllerOut::default(), false);
        (self.beat, self.has_begun, self.has_sums, self.sends) = (None, false, false, 0);
        (self.reads, self.global) = (None, GlobalBuffer::new());
        self.rows_in.fill(DualRowBufferIn::default());
        self.pus_in.fill(BankPuIn::default());
    }

    /// A cycle.
    ///
    /// # Errors
    ///
    /// If units in lockstep differ.
    pub fn cycle<U: ChannelUnits<A> + ?Sized>(
        &mut self,
        units: &mut U,
        input: &PimChannelIn<R>,
    ) -> Result<PimChannelOut<R>, Box<Mismatch>> {
        let controller = units.controller(&input.controller())?;
        let command = Command::of(&self.pins);
        let sequencer = units.sequencer(&self.sequencer_in(input, command))?;
        self.put_rows(input, command, &sequencer);
        units.rows(&self.rows_in, &mut self.rows_out)?;
        self.put_pus();
        units.pus(&self.pus_in, &mut self.pus_out)?;
        let output = self.output(&controller, &sequencer, command);

        self.edge(input, controller, &sequencer, command);
        Ok(output)
    }

    fn sequencer_in(&self, input: &PimChannelIn<R>, command: Command) -> GemvSequencerIn {
        let is = |other: ChannelCommand| command.code == other as u64;
        GemvSequencerIn {
            dot_i: input.dot_i,
            latency_i: U::new(input.latency_i.get().saturating_sub(BEHIND).max(1)),
            cl_i: U::new(input.cl_i.get().saturating_sub(1)),
            valid_i: is(ChannelCommand::PimGemv) || is(ChannelCommand::PimDotProduct),
            gemv_i: is(ChannelCommand::PimGemv),
            count_i: self.pins.count_o,
            word_i: self.pins.column_o,
            first_i: self.pins.first_o,
            last_i: self.pins.last_o,
            read_i: is(ChannelCommand::PimReadResult),
        }
    }

    /// What the banks' row buffers are told.
    fn put_rows(
        &mut self,
        input: &PimChannelIn<R>,
        command: Command,
        sequencer: &GemvSequencerOut,
    ) {
        let is = |other: ChannelCommand| command.code == other as u64;
        let (of_bank, is_single) = (command.bank, self.single.unwrap_or(false));
        let all = self.pins.all_o;
        let (act, activation) = (is(ChannelCommand::Act), is(ChannelCommand::PimActivation));
        let (read, write) = (is(ChannelCommand::Rd), is(ChannelCommand::Wr));
        for (bank, rows) in self.rows_in.iter_mut().enumerate() {
            let is_bank = bank == of_bank;
            let is_group = bank / GROUP == of_bank / GROUP;
            let is_rank = is_single || bank / 16 == of_bank / 16;
            let fill = self.global.fill().filter(|fill| fill.bank == bank);
            let accesses = (read || write) && is_bank;
            // The row of the cells matters where one was activated in the last cycle.
            if rows.activate_i {
                rows.cells_i = input.cells_i[bank % GROUP];
            }
            rows.activate_i = act && is_bank || activation && is_group;
            rows.precharge_i = is(ChannelCommand::Pre) && is_bank
                || is(ChannelCommand::PreAll) && is_rank
                || is(ChannelCommand::PimPrecharge) && (all || is_bank);
            rows.refresh_i = is(ChannelCommand::Ref) && is_rank;
            rows.pim_i = activation || is(ChannelCommand::PimPrecharge);
            rows.row_i = self.pins.row_o;
            rows.mem_valid_i = accesses || fill.is_some();
            rows.mem_write_i = write && is_bank;
            rows.mem_column_i = match fill {
                Some(Fill { column, .. }) if !accesses => U::new(column as u64),
                _ => U::new(self.pins.column_o.get() & 15),
            };
            if rows.mem_write_i {
                rows.mem_data_i = input.mem_data_i;
            }
            rows.pim_valid_i = sequencer.beat_o;
            rows.pim_word_i = sequencer.beat_word_o;
        }
    }

    /// What the PUs are told: the words of the last cycle's beat.
    fn put_pus(&mut self) {
        let (first, last) = self.beat.unwrap_or((false, false));
        let factors = elements(&self.global.word());
        for (pu, rows) in self.pus_in.iter_mut().zip(&self.rows_out) {
            pu.valid_i = self.beat.is_some();
            pu.first_i = first || !self.has_begun;
            pu.last_i = last;
            pu.row_i = elements(&rows.pim_data_o);
            pu.shared_i = factors;
        }
    }

    fn output(
        &mut self,
        controller: &ChannelControllerOut,
        sequencer: &GemvSequencerOut,
        command: Command,
    ) -> PimChannelOut<R> {
        let is = |other: ChannelCommand| command.code == other as u64;
        let activates = is(ChannelCommand::Act) || is(ChannelCommand::PimActivation);
        let mut output: PimChannelOut<R> = PimChannelOut {
            activate_o: activates && command.bank < R::BANKS,
            burst_o: sequencer.result_o,
            overrun_o: sequencer.fault_o,
            ..PimChannelOut::of_controller(controller)
        };
        if output.activate_o {
            output.activate_pim_o = is(ChannelCommand::PimActivation);
            (output.activate_bank_o, output.activate_row_o) = (self.pins.bank_o, self.pins.row_o);
        }
        for (bank, rows) in self.rows_out.iter().enumerate() {
            if rows.mem_data_valid_o && self.reads == Some(bank) {
                (output.read_o, output.read_data_o) = (true, rows.mem_data_o);
            }
            if rows.restore_o {
                output.restore_o = true;
                output.restore_bank_o = U::new(bank as u64);
                output.restore_row_o = rows.restore_row_o;
                output.restore_column_o = rows.restore_column_o;
                output.restore_data_o = rows.restore_data_o;
            }
            output.conflict_o |= rows.row_conflict_o;
            output.stale_o |= rows.stale_o;
            output.misuse_o |= rows.misuse_o;
        }
        let is_new = self.pus_out[0].result_valid_o;
        self.has_sums |= is_new;
        output.gemv_results_o = is_new && self.sends >> (LATENCY - 1) & 1 == 1;
        output.read_results_o = is(ChannelCommand::PimReadResult);
        if self.has_sums && (output.gemv_results_o || output.read_results_o) {
            for (result, pu) in output.results_o.as_mut().iter_mut().zip(&self.pus_out) {
                *result = pu.score().to_bits() as u16;
            }
        }
        output
    }

    /// The clock edge.
    fn edge(
        &mut self,
        input: &PimChannelIn<R>,
        controller: ChannelControllerOut,
        sequencer: &GemvSequencerOut,
        command: Command,
    ) {
        let is = |other: ChannelCommand| command.code == other as u64;
        // What was read, but not for an RD, is for the global buffer.
        let mut data = [0; 8];
        for (bank, rows) in self.rows_out.iter().enumerate() {
            if rows.mem_data_valid_o && self.reads != Some(bank) {
                data = rows.mem_data_o;
            }
        }
        let accesses = is(ChannelCommand::Rd) || is(ChannelCommand::Wr);
        let fills = self.global.fill().map(|fill| fill.bank);
        let is_taken = !(accesses && fills == Some(command.bank) && command.bank < R::BANKS);
        let copy = is(ChannelCommand::PimGwrite).then_some(command.bank);
        let beat = sequencer.beat_o.then_some(sequencer.beat_word_o.get() as usize);
        self.global.step(copy, is_taken, &data, beat);

        let sends = sequencer.beat_o && sequencer.beat_last_o && self.is_gemv;
        self.sends = self.sends << 1 | u32::from(sends);
        if is(ChannelCommand::PimGemv) || is(ChannelCommand::PimDotProduct) {
            self.is_gemv = is(ChannelCommand::PimGemv);
        }
        self.has_begun |= self.beat.is_some();
        self.beat = sequencer.beat_o.then_some((sequencer.beat_first_o, sequencer.beat_last_o));
        self.reads = is(ChannelCommand::Rd).then_some(command.bank);
        self.single.get_or_insert(input.single_i);
        self.pins = controller;
    }
}

impl<R: BankResults, A: Format> Default for ChannelParts<R, A> {
    fn default() -> Self {
        Self::new()
    }
}

/// The command that the banks obey.
#[derive(Clone, Copy)]
struct Command {
    code: u64,
    bank: usize,
}

impl Command {
    fn of(pins: &ChannelControllerOut) -> Self {
        Self { code: pins.command_o.get(), bank: pins.bank_o.get() as usize }
    }
}

/// The elements of a word.
fn elements(word: &[u64; 4]) -> [Fp<Binary16>; 16] {
    std::array::from_fn(|n| Fp::from_bits((word[n / 4] >> (16 * (n % 4)) & 0xFFFF) as _))
}
