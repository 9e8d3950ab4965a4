// SPDX-License-Identifier: MIT
//! The host of LPDDR5X-PIM: a matrix into the banks, and its product with a vector, as loads and stores of each channel (PIM-SHERPA,
//! section 2.2 and Algorithm 1).
//!
//! ```text
//! for each output tile:
//!     fence; WR to the row that enters the mode of all banks; fence
//!     for each input tile of 128 columns:
//!         WR of 8 input registers, WR of the setup            to the first row of the tile's weights
//!         RD of each column and output register               MACs
//!     RD x 5 of the results' row                              drain
//!     WR x Q_o of the results' row                            output registers to rows
//!     WR to the row that leaves the mode; fence
//!     RD of Q_o columns of the results' row, in each bank
//! ```
//!
//! A fence has the host wait for its data, and so much longer as it takes the processor; rows are closed.

use pimlico_device::lp5::layout::{LANES, OUTPUT_REGISTERS};
use pimlico_device::lp5::mode::{DRAIN, ReservedRows, SETUP_COLUMN, Setup, TILE_COLUMNS};
use pimlico_device::lp5::{AddressField, BurstPlace, Lp5Device, Lp5Layout, Request, Vector};
use pimlico_device::{Device, DeviceError};

/// Data of a store that says nothing.
const NOTHING: Vector = [0; LANES];

/// A matrix in the banks, for its host.
#[derive(Clone, Debug)]
pub struct Lp5Matrix {
    layout: Lp5Layout,
    rows: ReservedRows,
    channels: u64,
    /// Banks of a channel, so that consecutive ones are in other groups.
    banks: Vec<u8>,
    fence_tck: u64,
}

/// MACs and registers that a product asks of each channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// MACs.
    pub macs: u64,
    /// Input registers to be written.
    pub inputs: u64,
    /// Output registers to be written to rows.
    pub outputs: u64,
}

impl Lp5Matrix {
    /// A matrix of a layout; the host's fences take `fence_tck` beside the time for data.
    ///
    /// # Panics
    ///
    /// If the layout is of several ranks, or reaches into the rows that change the mode.
    pub fn new(layout: Lp5Layout, fence_tck: u64) -> Self {
        let map = layout.map();
        assert_eq!(map.count(AddressField::Rank), 1, "one rank");
        let rows = map.count(AddressField::Row);
        assert!(
            layout.first_row() + layout.bank_rows() <= map.weight_rows().end,
            "rows of weights"
        );
        let [groups, in_group] =
            [AddressField::BankGroup, AddressField::Bank].map(|field| map.count(field));
        let number = |bank: u64, group: u64| (group * in_group + bank) as u8;
        let banks =
            (0..in_group).flat_map(|bank| (0..groups).map(move |group| number(bank, group)));
        Self {
            rows: ReservedRows::of(rows as usize),
            channels: map.count(AddressField::Channel),
            banks: banks.collect(),
            layout,
            fence_tck,
        }
    }

    /// tCK of a fence beside the wait for data.
    pub fn fence_tck(&self) -> u64 {
        self.fence_tck
    }

    /// Fences of a product that take these.
    pub fn fences(&self) -> u64 {
        2 * self.layout.tiles()
    }

    /// Where it lies.
    pub fn layout(&self) -> &Lp5Layout {
        &self.layout
    }

    /// What a product asks of each channel.
    pub fn asked(&self) -> Asked {
        let (_, columns) = self.layout.shape();
        Asked {
            macs: self.layout.registers() * columns,
            inputs: self.layout.tiles() * columns.div_ceil(LANES as u64),
            outputs: self.layout.registers(),
        }
    }

    /// Stores that write the matrix, row of the banks by row, padding as zeros. `vector` gives 16 rows of a column from a row on.
    pub fn stores<'a>(
        &'a self,
        channel: usize,
        vector: impl Fn(u64, u64) -> Vector + Copy + 'a,
    ) -> impl Iterator<Item = Request> + 'a {
        let (rows, columns) = self.layout.shape();
        let bursts = self.tiles().flat_map(move |(tile, registers)| {
            (0..columns).flat_map(move |column| (0..registers).map(move |q| (tile, q, column)))
        });
        bursts.flat_map(move |(tile, q, column)| {
            let register = OUTPUT_REGISTERS * tile + q;
            self.banks.iter().enumerate().map(move |(n, &bank)| {
                let row = LANES as u64 * self.vector_number(register, n, channel);
                let data = if row < rows { vector(row, column) } else { NOTHING };
                Request::Write(self.place(bank, (tile, q), column), data)
            })
        })
    }

    /// Loads and stores of a product with `inputs`.
    ///
    /// # Panics
    ///
    /// If there are not as many inputs as columns.
    pub fn product<'a>(&'a self, inputs: &'a [u16]) -> impl Iterator<Item = Request> + 'a {
        let (_, columns) = self.layout.shape();
        assert_eq!(inputs.len() as u64, columns, "an input for each column");
        self.tiles().flat_map(move |(tile, registers)| {
            let of_inputs = (0..columns).step_by(TILE_COLUMNS as usize);
            let macs =
                of_inputs.flat_map(move |begin| self.input_tile((tile, registers), begin, inputs));
            let results = self.rows.results();
            let drain = std::iter::repeat_n(self.read(0, results, 0), DRAIN);
            let outputs = (0..registers).map(move |q| self.write(results, q as u8, NOTHING));
            let loads = (0..registers).flat_map(move |q| {
                self.banks.iter().map(move |&bank| self.read(bank, results, q as u8))
            });
            self.enter().chain(macs).chain(drain).chain(outputs).chain(self.exit()).chain(loads)
        })
    }

    /// The outputs of a product, from what is read of the results' row; row by row of the matrix.
    fn collect(&self, channel: usize, read: u64, data: &Vector, outputs: &mut [u16]) {
        // Loads come tile by tile, register by register, bank by bank.
        let banks = self.banks.len() as u64;
        let (register, n) = (read / banks, (read % banks) as usize);
        let first = LANES as u64 * self.vector_number(register, n, channel);
        let of_vector = outputs.iter_mut().skip(first as usize);
        of_vector.zip(data).for_each(|(output, bits)| *output = *bits);
    }

    fn tiles(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0..self.layout.tiles()).map(|tile| (tile, self.layout.tile_registers(tile)))
    }

    /// The number of the vector in a register of a bank: the channel's digit is the lowest, then the bank group's.
    fn vector_number(&self, register: u64, n: usize, channel: usize) -> u64 {
        let banks = self.banks.len() as u64;
        (register * banks + n as u64) * self.channels + channel as u64
    }

    fn place(&self, bank: u8, register: (u64, u64), column: u64) -> BurstPlace {
        let at = self.layout.vector_of(0, register, column);
        BurstPlace { bank, row: at.row as u32, column: at.column as u8 }
    }

    fn read(&self, bank: u8, row: u32, column: u8) -> Request {
        Request::Read(BurstPlace { bank, row, column })
    }

    fn write(&self, row: u32, column: u8, data: Vector) -> Request {
        Request::Write(BurstPlace { bank: 0, row, column }, data)
    }

    fn enter(&self) -> impl Iterator<Item = Request> + use<> {
        let enter = self.write(self.rows.enter(), 0, NOTHING);
        [Request::Fence { tck: 0 }, enter, Request::Fence { tck: self.fence_tck }].into_iter()
    }

    fn exit(&self) -> impl Iterator<Item = Request> + use<> {
        let exit = self.write(self.rows.exit(), 0, NOTHING);
        [exit, Request::Fence { tck: self.fence_tck }].into_iter()
    }

    /// Inputs, setup and MACs of an input tile.
    fn input_tile<'a>(
        &'a self,
        (tile, registers): (u64, u64),
        begin: u64,
        inputs: &'a [u16],
    ) -> impl Iterator<Item = Request> + 'a {
        let first = self.place(0, (tile, 0), begin);
        let inputs = &inputs[begin as usize..];
        let inputs = &inputs[..inputs.len().min(TILE_COLUMNS as usize)];
        let writes = inputs.chunks(LANES).zip(0..).map(move |(chunk, register)| {
            let mut data = NOTHING;
            data[..chunk.len()].copy_from_slice(chunk);
            self.write(first.row, register, data)
        });
        let burst = 64 * u64::from(first.row) + u64::from(first.column);
        let mut setup = NOTHING;
        setup[0] = Setup::new(burst, registers, begin == 0).to_bits();
        let setup = self.write(first.row, SETUP_COLUMN, setup);
        let columns = begin..begin + inputs.len() as u64;
        let macs = columns.flat_map(move |column| {
            (0..registers).map(move |q| Request::Read(self.place(0, (tile, q), column)))
        });
        writes.chain([setup]).chain(macs)
    }

    /// Writes the matrix into the banks of a device.
    ///
    /// # Errors
    ///
    /// If the waveform cannot be written.
    pub fn load(
        &self,
        device: &mut Lp5Device,
        vector: impl Fn(u64, u64) -> Vector + Copy,
    ) -> Result<(), DeviceError> {
        device.run(|channel| self.stores(channel, vector), |_, _, _| {})
    }

    /// Multiplies. Returns an output for each row of the matrix.
    ///
    /// # Errors
    ///
    /// If the waveform cannot be written.
    ///
    /// # Panics
    ///
    /// If there are not as many inputs as columns.
    pub fn multiply(
        &self,
        device: &mut Lp5Device,
        inputs: &[u16],
    ) -> Result<Vec<u16>, DeviceError> {
        self.multiply_by(device, |_| self.product(inputs))
    }

    /// The same with requests of each channel that are those of [`product`](Self::product), or are made of them.
    ///
    /// # Errors
    ///
    /// If the waveform cannot be written.
    pub fn multiply_by<R: Iterator<Item = Request>>(
        &self,
        device: &mut Lp5Device,
        requests: impl Fn(usize) -> R,
    ) -> Result<Vec<u16>, DeviceError> {
        let mut outputs = vec![0; self.layout.shape().0 as usize];
        let mut reads = vec![0; device.channels()];
        let results = self.rows.results();
        device.run(requests, |channel, place, data| {
            if place.row == results {
                self.collect(channel, reads[channel], data, &mut outputs);
                reads[channel] += 1;
            }
        })?;
        Ok(outputs)
    }

    /// tCK of a device that are ns, or just longer.
    pub fn tck_of_ns(device: &Lp5Device, ns: u64) -> u64 {
        (1000 * ns).div_ceil(device.config().tck_ps)
    }
}
