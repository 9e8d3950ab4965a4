// SPDX-License-Identifier: MIT
//! The DRAM's side of a channel's pins as its units make it: `pim_mode` and sixteen `pim_block`, whoever executes them. They take
//! the place of the engine's [blocks](super::blocks) and of what it knows of modes.
//!
//! ```text
//! tCK        n          n + 1                     n + 3              the next step
//! command ─▶ pim_mode ─▶ banks: rows, cells       step ─▶ pim_block ─▶ sums of an RD_OUT to the row of results
//! data    ─────────────────────────────────────────▶
//! ```
//!
//! `pim_mode` has a cycle in every tCK, `pim_block` one in each step.

use super::blocks::{BANKS, BlockCounts, Vector};
use super::layout::LANES;
use crate::dram::Cells;
use pimlico_dpa::types::{PinCommand, Pins};
use pimlico_ports::{Instances, Mismatch, U};
use pimlico_units::arith::{Format, Fp};
use pimlico_units::bank::{PimBlock, PimBlockIn, PimBlockOut, PimMode, PimModeIn, PimModeOut};
use std::collections::VecDeque;

/// Rows of a bank whose modes `pim_mode` keeps.
pub const ROWS: usize = 65_536;

/// The row of results.
const RESULTS: usize = ROWS - 2;

/// A step of the blocks of a channel.
#[derive(Clone, Copy, Debug)]
pub struct BlockStep<'a> {
    /// What `pim_mode` says of it.
    pub mode: &'a PimModeOut,
    /// The burst of each bank.
    pub bursts: &'a [Vector; BANKS],
}

/// What the blocks of a channel show in a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockResults {
    /// The sums that an RD_OUT of the step before has read, of each bank.
    pub sums: Option<[Vector; BANKS]>,
    /// A block had a MAC of these under way.
    pub is_stale: bool,
}

/// The blocks of a channel, of whatever format.
pub trait BlockUnits {
    /// A step.
    fn step(&mut self, step: BlockStep<'_>) -> Result<BlockResults, Box<Mismatch>>;
}

/// UnitBlocks of elements of format `F` and sums of format `A`.
pub struct UnitBlocks<F: Format, A: Format> {
    blocks: Box<dyn Instances<PimBlock<F, A>>>,
    outputs: Vec<PimBlockOut<F, A>>,
}

impl<F: Format, A: Format> UnitBlocks<F, A> {
    /// Of sixteen instances that have been reset.
    pub fn new(blocks: Box<dyn Instances<PimBlock<F, A>>>) -> Self {
        Self { blocks, outputs: vec![PimBlockOut::default(); BANKS] }
    }
}

impl<F: Format, A: Format> BlockUnits for UnitBlocks<F, A> {
    fn step(&mut self, step: BlockStep<'_>) -> Result<BlockResults, Box<Mismatch>> {
        let BlockStep { mode, bursts } = step;
        let input = |burst: &Vector| PimBlockIn {
            write_i: mode.block_write_o,
            mac_i: mode.block_mac_o,
            read_i: mode.block_read_o,
            register_i: mode.register_o,
            element_i: mode.element_o,
            first_i: mode.first_o,
            data_i: burst.map(|bits| Fp::from_bits(bits.into())),
            ..PimBlockIn::default()
        };
        let inputs: [_; BANKS] = std::array::from_fn(|bank| input(&bursts[bank]));
        self.blocks.step(&inputs, &mut self.outputs)?;
        let sums = |bank: usize| self.outputs[bank].result_o.map(|sum| sum.to_bits() as u16);
        let is_valid = self.outputs.iter().all(|output| output.result_valid_o);
        Ok(BlockResults {
            sums: is_valid.then(|| std::array::from_fn(sums)),
            is_stale: self.outputs.iter().any(|output| output.stale_o),
        })
    }
}

/// A command that the banks obey in the next cycle.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    row: u16,
    column: usize,
    data: Vector,
}

/// The units of a channel.
pub struct Units {
    /// Number of the channel: in a mismatch instances are counted over all of them.
    channel: usize,
    mode: Box<dyn Instances<PimMode>>,
    blocks: Box<dyn BlockUnits>,
    /// tCK that the units have had.
    tck: u64,
    /// The row that each bank has open.
    open: [Option<u16>; BANKS],
    before: Before,
    /// Columns and data of the commands whose steps are to come.
    on_their_way: VecDeque<(usize, [Vector; BANKS])>,
    /// The column of the last step.
    column: usize,
    is_multi: bool,
    counts: BlockCounts,
}

impl Units {
    /// Of units that have been reset: an instance of the mode, and sixteen blocks.
    pub fn new(
        channel: usize,
        mode: Box<dyn Instances<PimMode>>,
        blocks: Box<dyn BlockUnits>,
    ) -> Self {
        let nothing = (0, [[0; LANES]; BANKS]);
        Self {
            channel,
            mode,
            blocks,
            tck: 0,
            open: [None; BANKS],
            before: Before::default(),
            on_their_way: VecDeque::from(vec![nothing; PimMode::<65_536>::LATENCY]),
            column: 0,
            is_multi: false,
            counts: BlockCounts::default(),
        }
    }

    /// What arrived at the blocks since the operator began.
    pub(super) fn counts(&self) -> BlockCounts {
        self.counts
    }

    /// Starts an operator.
    pub(super) fn begin(&mut self) {
        self.counts = BlockCounts::default();
    }

    /// Whether the last command was one of all banks.
    pub(super) fn is_multi(&self) -> bool {
        self.is_multi
    }

    /// The row that a bank has open.
    pub(super) fn open_row(&self, bank: usize) -> Option<u16> {
        self.open[bank]
    }

    /// Cycles without a command.
    pub(super) fn idle_until(
        &mut self,
        tck: u64,
        cells: &mut Cells<Vector>,
    ) -> Result<(), Box<Mismatch>> {
        while self.tck < tck {
            self.cycle(PimModeIn::default(), [0; LANES], cells)?;
        }
        Ok(())
    }

    /// A command, with the data of a WR.
    pub(super) fn command(
        &mut self,
        at_tck: u64,
        pins: Pins,
        data: Vector,
        cells: &mut Cells<Vector>,
    ) -> Result<(), Box<Mismatch>> {
        self.idle_until(at_tck, cells)?;
        let is = |command: PinCommand| pins.command == command;
        let input = PimModeIn {
            activate_i: is(PinCommand::Act),
            precharge_i: is(PinCommand::Pre) || is(PinCommand::PreAll),
            all_i: is(PinCommand::PreAll),
            read_i: is(PinCommand::Rd),
            write_i: is(PinCommand::Wr),
            bank_i: U::new(pins.bank() as u64),
            row_i: if is(PinCommand::Act) { pins.row() as u16 } else { 0 },
            column_i: U::new(pins.column() as u64 % 64),
            setup_i: data[0],
        };
        self.cycle(input, data, cells)
    }

    fn cycle(
        &mut self,
        input: PimModeIn,
        data: Vector,
        cells: &mut Cells<Vector>,
    ) -> Result<(), Box<Mismatch>> {
        let mut output = [PimModeOut::default()];
        let stepped = self.mode.step(&[input], &mut output);
        stepped.map_err(|mismatch| of_channel(mismatch, self.channel))?;
        let [output] = output;
        self.tck += 1;
        self.is_multi = output.multi_o;
        self.counts.faults += u64::from(output.fault_o) + u64::from(output.outside_o);
        self.obey(&output, cells);
        let column = input.column_i.get() as usize;
        let bursts = match (input.read_i, input.write_i) {
            (_, true) => [data; BANKS],
            (true, _) => std::array::from_fn(|bank| match self.open[bank] {
                Some(row) => cells.read(bank, row.into(), column),
                None => [0; LANES],
            }),
            _ => [[0; LANES]; BANKS],
        };
        self.before = Before { row: input.row_i, column, data };
        self.on_their_way.push_back((column, bursts));
        let Some((column, bursts)) = self.on_their_way.pop_front() else { return Ok(()) };
        if output.step_o { self.step(&output, column, &bursts, cells) } else { Ok(()) }
    }

    /// What the banks do for the command of the cycle before.
    fn obey(&mut self, output: &PimModeOut, cells: &mut Cells<Vector>) {
        let Before { row, column, data } = self.before;
        for bank in (0..BANKS).filter(|bank| output.banks_o >> bank & 1 != 0) {
            if output.activate_o {
                self.open[bank] = Some(row);
            }
            if output.precharge_o {
                self.open[bank] = None;
            }
            if output.write_o
                && let Some(row) = self.open[bank]
            {
                cells.write(bank, row.into(), column, data);
            }
        }
    }

    /// A step of the blocks. What they have read in the last goes to the rows that are open.
    fn step(
        &mut self,
        mode: &PimModeOut,
        column: usize,
        bursts: &[Vector; BANKS],
        cells: &mut Cells<Vector>,
    ) -> Result<(), Box<Mismatch>> {
        let results = self.blocks.step(BlockStep { mode, bursts });
        let results = results.map_err(|mismatch| of_channel(mismatch, BANKS * self.channel))?;
        self.counts.macs += u64::from(mode.block_mac_o);
        self.counts.inputs += u64::from(mode.block_write_o);
        self.counts.outputs += u64::from(mode.block_read_o);
        self.counts.stale += u64::from(results.is_stale);
        if let Some(sums) = results.sums {
            for (bank, sums) in sums.iter().enumerate() {
                cells.write(bank, RESULTS, self.column, *sums);
            }
        }
        self.column = column;
        Ok(())
    }
}

/// Counts the instance of a mismatch from the first of its channel.
fn of_channel(mut mismatch: Box<Mismatch>, first: usize) -> Box<Mismatch> {
    mismatch.instance += first;
    mismatch
}
