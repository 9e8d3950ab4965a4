// SPDX-License-Identifier: MIT
//! Mode of a channel of LPDDR5X-PIM, and what column commands mean to its PIM blocks.

use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// The mode of a channel.
    unit PimMode: "pim_mode" {
        inputs PimModeIn {
            /// A row is activated.
            activate_i: bool => one_in(8),
            /// A bank is closed.
            precharge_i: bool => one_in(8),
            /// The precharge is of all banks.
            all_i: bool,
            /// A column is read.
            read_i: bool,
            /// A column is written.
            write_i: bool,
            /// Bank of the command: bank group in the upper two bits.
            bank_i: U<4>,
            /// Row that is activated.
            row_i: u16,
            /// Column of the RD or WR.
            column_i: U<6>,
            /// Low 16 bits of the data of a WR.
            setup_i: u16,
        }
        outputs PimModeOut {
            /// Multi-bank mode.
            multi_o: bool,
            /// Banks that obey the command of the last cycle.
            banks_o: u16,
            /// These banks activate the row.
            activate_o: bool,
            /// These banks are closed.
            precharge_o: bool,
            /// The column is read to the data bus.
            read_o: bool,
            /// The column is written from the data bus.
            write_o: bool,
            /// The column is written from the output registers of the blocks.
            write_results_o: bool,
            /// The command of the last cycle found a bank or a row in a wrong state.
            fault_o: bool,
            /// The blocks make a step: for the column command three cycles before.
            step_o: bool,
            /// The step is a WR_IN.
            block_write_o: bool,
            /// The step is a MAC.
            block_mac_o: bool,
            /// The step is an RD_OUT.
            block_read_o: bool,
            /// WR_IN: input register; MAC and RD_OUT: output register; else 0.
            register_o: U<3>,
            /// MAC: element of the input registers; else 0.
            element_o: U<7>,
            /// The MAC begins its sum.
            first_o: bool,
            /// The RD of the step was of a burst outside of the input tile.
            outside_o: bool,
        }
        probes PimModeProbe {}
    }
}

/// Banks of the channel.
const BANKS: usize = 16;
/// Bursts in a row.
const COLUMNS: u16 = 64;
/// Bursts after which the positions of MACs are the same again.
const POSITIONS: u16 = 1024;
/// Elements of the input registers.
const ELEMENTS: u16 = 128;
/// Column of a SETUP, behind those of the registers.
const SETUP: u64 = 8;
/// Reserved rows, the last of each bank.
const RESERVED: u64 = 4;

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Cells,
    Enter,
    Exit,
    Results,
    Spare,
}

/// What a SETUP says of the input tile.
#[derive(Clone, Copy, Debug)]
struct Tile {
    start: u16,
    registers: u16,
    first: bool,
}

impl From<u16> for Tile {
    fn from(data: u16) -> Self {
        Self {
            start: data % POSITIONS,
            registers: (data >> 10) % 8 + 1,
            first: data >> 13 & 1 == 1,
        }
    }
}

/// A step of the blocks.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    write: bool,
    mac: bool,
    read: bool,
    register: u64,
    element: u64,
    first: bool,
    outside: bool,
}

impl Tile {
    /// The MAC of a burst.
    fn mac(&self, position: u16) -> Step {
        let distance = position.wrapping_sub(self.start) % POSITIONS;
        let (element, register) = (distance / self.registers, distance % self.registers);
        if element >= ELEMENTS {
            return Step { outside: true, ..Step::default() };
        }
        let (element, register) = (element.into(), register.into());
        Step { mac: true, register, element, first: self.first && element == 0, ..Step::default() }
    }
}

/// The cycle model of a channel's mode, of banks with `ROWS` rows.
///
#[doc = contract!("bank/pim_mode")]
#[derive(Clone)]
pub struct PimMode<const ROWS: u64 = 65536> {
    multi: bool,
    /// The row that each bank has open.
    open: [Option<u16>; BANKS],
    /// The row that was activated in multi-bank mode.
    row: Option<u16>,
    tile: Tile,
    /// The steps of the last three cycles, the last first.
    steps: [Option<Step>; 3],
    /// What the banks do, in the registers of the outputs.
    output: PimModeOut,
}

impl<const ROWS: u64> PimMode<ROWS> {
    /// Cycles from a column command to the step of the blocks.
    pub const LATENCY: usize = 3;

    fn purpose(row: u16) -> Purpose {
        match u64::from(row).checked_sub(ROWS - RESERVED) {
            Some(0) => Purpose::Enter,
            Some(1) => Purpose::Exit,
            Some(2) => Purpose::Results,
            Some(3) => Purpose::Spare,
            _ => Purpose::Cells,
        }
    }

    /// The banks of a command.
    fn banks(&self, input: &PimModeIn, all: bool) -> u16 {
        if self.multi || all { u16::MAX } else { 1 << input.bank_i.get() }
    }

    fn activate(&mut self, input: &PimModeIn) {
        let banks = self.banks(input, false);
        for open in of(&mut self.open, banks) {
            self.output.fault_o |= open.is_some();
            *open = Some(input.row_i);
        }
        if self.multi {
            self.row = Some(input.row_i);
        }
        (self.output.activate_o, self.output.banks_o) = (true, banks);
    }

    fn precharge(&mut self, input: &PimModeIn) {
        let banks = self.banks(input, input.all_i);
        of(&mut self.open, banks).for_each(|open| *open = None);
        if self.multi {
            self.row = None;
        }
        (self.output.precharge_o, self.output.banks_o) = (true, banks);
    }

    /// An RD or WR in single-bank mode.
    fn single(&mut self, input: &PimModeIn) {
        let Some(row) = self.open[input.bank_i.get() as usize] else {
            self.output.fault_o = true;
            return;
        };
        if !input.read_i && Self::purpose(row) == Purpose::Enter {
            (self.multi, self.row) = (true, None);
            return;
        }
        self.output.banks_o = self.banks(input, false);
        if input.read_i {
            self.output.read_o = true;
        } else {
            self.output.write_o = true;
        }
    }

    /// An RD or WR in multi-bank mode: the step, if there is one.
    fn multi(&mut self, input: &PimModeIn) -> Option<Step> {
        let Some(row) = self.row else {
            self.output.fault_o = true;
            return None;
        };
        let column = input.column_i.get();
        let purpose = Self::purpose(row);
        if input.read_i {
            let position = (row % (POSITIONS / COLUMNS)) * COLUMNS + column as u16;
            let is_mac = purpose == Purpose::Cells;
            return Some(if is_mac { self.tile.mac(position) } else { Step::default() });
        }
        let register = column;
        match purpose {
            Purpose::Cells if column < SETUP => {
                return Some(Step { write: true, register, ..Step::default() });
            }
            Purpose::Cells if column == SETUP => self.tile = input.setup_i.into(),
            Purpose::Results if column < SETUP => {
                (self.output.write_results_o, self.output.banks_o) = (true, u16::MAX);
                return Some(Step { read: true, register, ..Step::default() });
            }
            Purpose::Exit => self.multi = false,
            Purpose::Enter => {}
            Purpose::Cells | Purpose::Results | Purpose::Spare => self.output.fault_o = true,
        }
        Some(Step::default())
    }
}

/// The rows of these banks.
fn of(open: &mut [Option<u16>; BANKS], banks: u16) -> impl Iterator<Item = &mut Option<u16>> {
    let chosen = move |(bank, _): &(usize, &mut Option<u16>)| banks >> bank & 1 == 1;
    open.iter_mut().enumerate().filter(chosen).map(|(_, open)| open)
}

impl<const ROWS: u64> Unit for PimMode<ROWS> {
    const MODULE: &'static str = "pim_mode";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("ROWS", ROWS as i64)];
    type In = PimModeIn;
    type Out = PimModeOut;
    type Probe = PimModeProbe;

    fn variant() -> String {
        if ROWS == 65536 { String::new() } else { format!("rows{ROWS}") }
    }
}

impl<const ROWS: u64> Model for PimMode<ROWS> {
    fn new() -> Self {
        Self {
            multi: false,
            open: [None; BANKS],
            row: None,
            tile: 0.into(),
            steps: [None; 3],
            output: PimModeOut::default(),
        }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        PimModeProbe::default()
    }

    fn settle(&self, _: &Self::In) -> Self::Out {
        let step = self.steps[2].unwrap_or_default();
        PimModeOut {
            multi_o: self.multi,
            step_o: self.steps[2].is_some(),
            block_write_o: step.write,
            block_mac_o: step.mac,
            block_read_o: step.read,
            register_o: U::new(step.register),
            element_o: U::new(step.element),
            first_o: step.first,
            outside_o: step.outside,
            ..self.output
        }
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let output = self.settle(input);
        self.output = PimModeOut::default();
        let mut step = None;
        if input.activate_i {
            self.activate(input);
        } else if input.precharge_i {
            self.precharge(input);
        } else if (input.read_i || input.write_i) && self.multi {
            step = self.multi(input);
        } else if input.read_i || input.write_i {
            self.single(input);
        }
        self.steps = [step, self.steps[0], self.steps[1]];
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const R: u16 = 65532;

    fn activate(bank: u64, row_i: u16) -> PimModeIn {
        PimModeIn { activate_i: true, bank_i: U::new(bank), row_i, ..PimModeIn::default() }
    }

    fn precharge(all_i: bool) -> PimModeIn {
        PimModeIn { precharge_i: true, all_i, ..PimModeIn::default() }
    }

    fn read(column: u64) -> PimModeIn {
        PimModeIn { read_i: true, column_i: U::new(column), ..PimModeIn::default() }
    }

    fn write(column: u64) -> PimModeIn {
        PimModeIn { read_i: false, write_i: true, ..read(column) }
    }

    fn setup(start: u16, registers: u16, first: bool) -> PimModeIn {
        let setup_i = start | (registers - 1) << 10 | u16::from(first) << 13;
        PimModeIn { setup_i, ..write(SETUP) }
    }

    /// Into multi-bank mode, with a row open.
    fn enter(row: u16) -> Vec<PimModeIn> {
        vec![
            activate(3, R),
            PimModeIn { bank_i: U::new(3), ..write(0) },
            precharge(false),
            activate(0, row),
        ]
    }

    /// The outputs of each cycle, and of three behind the last.
    fn run(inputs: &[PimModeIn]) -> Vec<PimModeOut> {
        let mut mode = PimMode::<65536>::new();
        let idle = [PimModeIn::default(); 3];
        inputs.iter().chain(&idle).map(|input| mode.step(input)).collect()
    }

    /// Register, element and first of each MAC.
    fn macs(outputs: &[PimModeOut]) -> Vec<(u64, u64, bool)> {
        let macs = outputs.iter().filter(|output| output.block_mac_o);
        macs.map(|mac| (mac.register_o.get(), mac.element_o.get(), mac.first_o)).collect()
    }

    #[test]
    fn a_write_to_a_reserved_row_enters_and_another_leaves() {
        let mut inputs = enter(5);
        inputs.extend([
            precharge(false),
            activate(9, R + 1),
            write(63),
            activate(2, 7),
            precharge(true),
        ]);
        let outputs = run(&inputs);
        let multi: String = outputs.iter().map(|o| if o.multi_o { '1' } else { '0' }).collect();
        assert_eq!(multi, "001111100000");
        let banks: Vec<_> = outputs.iter().map(|output| output.banks_o).collect();
        // Neither write is one of cells.
        assert_eq!(banks[..8], [0, 1 << 3, 0, u16::MAX, u16::MAX, u16::MAX, u16::MAX, 0]);
        assert_eq!(banks[8..10], [1 << 2, u16::MAX]);
        // All banks were open at the exit.
        assert_eq!(outputs.iter().position(|output| output.fault_o), Some(8));
    }

    #[test]
    fn operands_are_named_by_the_address() {
        // Three registers, and a tile that starts at column 60 of row 15.
        let mut inputs = enter(15);
        inputs.extend([
            setup(15 * 64 + 60, 3, true),
            read(60),
            read(61),
            read(63),
            read(62),
            read(59),
        ]);
        inputs.extend([precharge(false), activate(0, 16), read(0), write(7)]);
        inputs.extend([precharge(false), activate(0, 21), read(59), read(60)]);
        let outputs = run(&inputs);
        let expected = [
            (0, 0, true),
            (1, 0, true),
            (0, 1, false),
            (2, 0, true),
            // 4 bursts behind the start; and the last of the tile, of 384.
            (1, 1, false),
            (2, 127, false),
        ];
        // Row 21 is 5 * 64 behind row 16: 4 + 320 + 59 = 383.
        assert_eq!(macs(&outputs), expected);
        let outside = outputs.iter().filter(|output| output.outside_o && output.step_o).count();
        assert_eq!(outside, 2, "one in front of the start, and one behind the end");
        assert!(outputs.iter().all(|output| !output.fault_o));
    }

    #[test]
    fn the_first_column_of_a_later_tile_begins_no_sum() {
        let mut inputs = enter(2);
        inputs.extend([setup(128, 1, false), read(0), setup(128, 1, true), read(0), read(1)]);
        assert_eq!(macs(&run(&inputs)), [(0, 0, false), (0, 0, true), (0, 1, false)]);
    }

    #[test]
    fn each_of_128_elements_and_8_registers_has_a_burst() {
        for registers in 1..=8 {
            let mut inputs = enter(0);
            inputs.push(setup(0, registers, false));
            for row in 0..2 * registers {
                inputs.extend([precharge(false), activate(0, row)]);
                inputs.extend((0..64).map(read));
            }
            let order =
                (0..128).flat_map(|k| (0..u64::from(registers)).map(move |q| (q, k, false)));
            assert_eq!(macs(&run(&inputs)), order.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_weight_is_not_written_in_multi_bank_mode() {
        let mut inputs = enter(5);
        inputs.extend([write(7), write(9), write(63)]);
        inputs.extend([precharge(false), activate(0, R + 2), read(0), write(7), write(8)]);
        inputs.extend([precharge(false), activate(0, R + 3), write(0)]);
        let outputs = run(&inputs);
        let faults: Vec<_> = (0..outputs.len()).filter(|&n| outputs[n].fault_o).collect();
        assert_eq!(faults, [6, 7, 12, 15]);
        assert!(outputs.iter().all(|output| !output.write_o));
        let results: Vec<_> = (0..outputs.len()).filter(|&n| outputs[n].write_results_o).collect();
        let reads: Vec<_> = (0..outputs.len()).filter(|&n| outputs[n].block_read_o).collect();
        assert_eq!((results, reads), (vec![11], vec![13]));
    }

    #[test]
    fn a_closed_bank_is_a_fault() {
        let mut inputs =
            vec![read(0), activate(1, 4), read(0), activate(1, 4), activate(0, R), write(0)];
        // Bank 1 is open, but was not activated in multi-bank mode.
        inputs.push(PimModeIn { bank_i: U::new(1), ..read(0) });
        let outputs = run(&inputs);
        let faults: String = outputs.iter().map(|o| if o.fault_o { '1' } else { '0' }).collect();
        assert_eq!(faults, "0101100100");
        assert!(outputs.iter().all(|output| !output.step_o && !output.read_o));
    }
}
