// SPDX-License-Identifier: MIT
//! A matrix times a vector in a channel of LPDDR5X-PIM: `pim_mode` and sixteen `pim_block`, RTL and model, on rows that
//! `golden` has laid out. The results are those of `golden`, bit for bit.

use pimlico_golden::column_gemv::column_gemv;
use pimlico_golden::format::{Format as GoldenFormat, Subnormals};
use pimlico_golden::lp5_layout::{FIELDS, Odometer, addresses};
use pimlico_golden::reduction::Precision;
use pimlico_ports::{Instances, U};
use pimlico_testbenches::Lockstep;
use pimlico_units::arith::{Bfloat16, Binary32, Format, Fp};
use pimlico_units::bank::{PimBlock, PimBlockIn, PimBlockOut, PimMode, PimModeIn, PimModeOut};
use std::collections::{HashMap, VecDeque};

const BANKS: usize = 16;
const LANES: usize = 16;
const COLUMNS: u64 = 64;
const REGISTERS: u64 = 8;
/// Columns of an input tile.
const INPUTS: usize = 128;
/// The first reserved row.
const RESERVED: u64 = 1020;
/// One channel of banks with 1024 rows.
const MAP: &str = "row:10 col:6 bank:2 bg:2 byte:5";

type Burst<F> = [Fp<F>; LANES];

/// A channel: what its commands do to its cells, and what its host reads.
struct Channel<A: Format> {
    mode: Box<dyn Instances<PimMode<1024>>>,
    blocks: Box<dyn Instances<PimBlock<Bfloat16, A>>>,
    odometer: Odometer,
    /// By address.
    cells: HashMap<u64, u16>,
    /// The row that is open, of all banks or of the host's.
    row: u64,
    /// Data of the blocks for the commands of the last cycles, the oldest first.
    on_their_way: VecDeque<(u64, Vec<Burst<Bfloat16>>)>,
    /// Column of the sums that the blocks have read.
    column: u64,
    macs: u64,
    flags: u64,
}

impl<A: Format> Channel<A> {
    fn new() -> Self {
        Self {
            mode: Box::new(Lockstep::<PimMode<1024>>::new(1, 1)),
            blocks: Box::new(Lockstep::<PimBlock<Bfloat16, A>>::new(BANKS, 2)),
            odometer: Odometer::new(MAP),
            cells: HashMap::new(),
            row: 0,
            on_their_way: VecDeque::from(vec![(0, Vec::new()); PimMode::<1024>::LATENCY]),
            column: 0,
            macs: 0,
            flags: 0,
        }
    }

    fn address(&self, bank: usize, row: u64, column: u64) -> u64 {
        self.odometer.address(&FIELDS.map(|field| match field {
            "row" => row,
            "col" => column,
            "bg" => bank as u64 % 4,
            "bank" => bank as u64 / 4,
            _ => 0,
        }))
    }

    /// A burst of a bank.
    fn burst(&self, bank: usize, row: u64, column: u64) -> Burst<Bfloat16> {
        let address = self.address(bank, row, column);
        let element = |lane| self.cells.get(&(address + 2 * lane as u64)).copied().unwrap_or(0);
        std::array::from_fn(|lane| Fp::from_bits(element(lane).into()))
    }

    /// A cycle of the channel, with the data of a WR.
    fn cycle(&mut self, input: PimModeIn, data: Burst<Bfloat16>) {
        let mut output = [PimModeOut::default()];
        self.mode.step(&[input], &mut output).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        let [output] = output;
        self.flags += u64::from(output.fault_o) + u64::from(output.outside_o);
        let column = input.column_i.get();
        let of_bank = |bank| if input.write_i { data } else { self.burst(bank, self.row, column) };
        let bursts = (0..BANKS).map(of_bank).collect();
        self.on_their_way.push_back((column, bursts));
        let (column, bursts) = self.on_their_way.pop_front().expect("three cycles");
        if output.step_o {
            self.step(&output, column, &bursts);
        }
    }

    /// A step of the blocks. Sums that they have read in the last go to the row of results.
    fn step(&mut self, output: &PimModeOut, column: u64, bursts: &[Burst<Bfloat16>]) {
        let input = |data_i: &Burst<Bfloat16>| PimBlockIn {
            write_i: output.block_write_o,
            mac_i: output.block_mac_o,
            read_i: output.block_read_o,
            register_i: output.register_o,
            element_i: output.element_o,
            first_i: output.first_o,
            data_i: *data_i,
            ..Default::default()
        };
        let inputs: Vec<_> = bursts.iter().map(input).collect();
        let mut outputs = vec![PimBlockOut::default(); BANKS];
        self.blocks.step(&inputs, &mut outputs).unwrap_or_else(|mismatch| panic!("{mismatch}"));
        self.macs += u64::from(output.block_mac_o);
        for (bank, output) in outputs.iter().enumerate() {
            self.flags += u64::from(output.stale_o);
            if output.result_valid_o {
                let address = self.address(bank, RESERVED + 2, self.column);
                for (lane, element) in output.result_o.iter().enumerate() {
                    self.cells.insert(address + 2 * lane as u64, element.to_bits() as u16);
                }
            }
        }
        self.column = column;
    }

    fn idle(&mut self, cycles: usize) {
        (0..cycles).for_each(|_| self.cycle(PimModeIn::default(), [Fp::ZERO; LANES]));
    }

    /// Closes all banks, and opens a row: of one bank in single-bank mode.
    fn open(&mut self, row: u64) {
        self.idle(4);
        let close = PimModeIn { precharge_i: true, all_i: true, ..PimModeIn::default() };
        self.cycle(close, [Fp::ZERO; LANES]);
        self.row = row;
        let open = PimModeIn { activate_i: true, row_i: row as u16, ..PimModeIn::default() };
        self.cycle(open, [Fp::ZERO; LANES]);
    }

    fn read(&mut self, column: u64) {
        let read = PimModeIn { read_i: true, column_i: U::new(column), ..PimModeIn::default() };
        self.cycle(read, [Fp::ZERO; LANES]);
    }

    fn write(&mut self, column: u64, data: Burst<Bfloat16>) {
        let (column_i, setup_i) = (U::new(column), data[0].to_bits() as u16);
        let write = PimModeIn { write_i: true, column_i, setup_i, ..PimModeIn::default() };
        self.cycle(write, data);
    }

    /// MACs of an input tile: bursts of all banks, from `start` on.
    fn tile(&mut self, start: u64, registers: u64, first: bool, inputs: &[u16]) {
        let setup = (start % 1024) | (registers - 1) << 10 | u64::from(first) << 13;
        self.open(start / COLUMNS);
        for (register, part) in (0..).zip(inputs.chunks(LANES)) {
            let element = |lane| part.get(lane).copied().unwrap_or(0);
            self.write(register, std::array::from_fn(|lane| Fp::from_bits(element(lane).into())));
        }
        self.write(REGISTERS, [Fp::from_bits(setup as u32); LANES]);
        for burst in start..start + registers * inputs.len() as u64 {
            if burst / COLUMNS != self.row {
                self.open(burst / COLUMNS);
            }
            self.read(burst % COLUMNS);
        }
    }

    /// Outputs of a matrix, whose rows stand one behind the other, times a vector, with so many steps to drain the blocks.
    fn multiply(&mut self, matrix: &[u16], inputs: &[u16], drain: usize) -> Vec<u16> {
        const FIRST_ROW: u64 = 5;
        let (rows, columns) = (matrix.len() / inputs.len(), inputs.len());
        let places = addresses(MAP, rows, columns, FIRST_ROW);
        self.cells.extend(places.into_iter().zip(matrix.iter().copied()));
        let vectors = rows.div_ceil(LANES * BANKS) as u64;
        let mut outputs = vec![0; rows];
        for first_register in (0..vectors).step_by(REGISTERS as usize) {
            let registers = (vectors - first_register).min(REGISTERS);
            self.open(RESERVED);
            self.write(0, [Fp::ZERO; LANES]);
            for (tile, part) in inputs.chunks(INPUTS).enumerate() {
                let start = first_register * columns as u64 + (tile * INPUTS) as u64 * registers;
                self.tile(FIRST_ROW * COLUMNS + start, registers, tile == 0, part);
            }
            self.open(RESERVED + 2);
            (0..drain).for_each(|_| self.read(0));
            (0..registers).for_each(|q| self.write(q, [Fp::ZERO; LANES]));
            self.open(RESERVED + 1);
            self.write(0, [Fp::ZERO; LANES]);
            self.idle(4);
            for register in 0..registers {
                for bank in 0..BANKS {
                    let vector = (first_register + register) as usize * BANKS + bank;
                    let burst = self.burst(bank, RESERVED + 2, register);
                    let of_rows = outputs.iter_mut().skip(vector * LANES);
                    of_rows.zip(burst).for_each(|(output, sum)| *output = sum.to_bits() as u16);
                }
            }
        }
        outputs
    }
}

/// Elements between 1/2 and 2 of either sign, of a small generator.
fn elements(count: usize, seed: u64) -> Vec<u16> {
    let mut state = seed;
    let mut element = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let bits = (state >> 40) as u16;
        bits & 0x8000 | (0x3F00 + (bits & 0xFF))
    };
    (0..count).map(|_| element()).collect()
}

/// Outputs of the channel and of golden, MACs, and how often something was out of order.
fn outputs<A: Format>(
    sums: GoldenFormat,
    (rows, columns): (usize, usize),
    drain: usize,
) -> (Vec<u16>, Vec<u16>, u64, u64) {
    let subnormals = Subnormals::Gradual;
    let precision = Precision { elements: GoldenFormat::BFLOAT16, subnormals, sums };
    let (matrix, inputs) = (elements(rows * columns, 3), elements(columns, 4));
    let mut channel = Channel::<A>::new();
    let outputs = channel.multiply(&matrix, &inputs, drain);
    (outputs, column_gemv(&precision, &matrix, &inputs), channel.macs, channel.flags)
}

const DRAIN: usize = PimBlock::<Bfloat16>::DRAIN;

#[test]
fn a_matrix_times_a_vector_is_that_of_golden() {
    // One register, which every step adds to; three of them; two output tiles, the second of which starts within a row.
    for (shape, macs) in [((256, 140), 140), ((700, 300), 3 * 300), ((4096, 140), 16 * 140)] {
        let (outputs, golden, count, flags) =
            outputs::<Bfloat16>(GoldenFormat::BFLOAT16, shape, DRAIN);
        assert_eq!((count, flags), (macs, 0), "{shape:?}");
        assert!(outputs == golden, "{shape:?}");
        let (outputs, golden, ..) = self::outputs::<Binary32>(GoldenFormat::BINARY32, shape, DRAIN);
        assert!(outputs == golden, "{shape:?}, sums of 32 bits");
    }
}

#[test]
fn a_drain_that_is_a_step_too_short_is_seen() {
    let shape = (256, 140);
    let (outputs, golden, _, flags) = outputs::<Bfloat16>(GoldenFormat::BFLOAT16, shape, DRAIN - 1);
    assert_eq!(flags, BANKS as u64, "all blocks say so");
    assert!(outputs != golden);
}
