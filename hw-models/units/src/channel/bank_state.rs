// SPDX-License-Identifier: MIT
//! Open rows and timers of a bank with two row buffers, on the controller's side.

use pimlico_ports::{Model, U, Unit, ports, stimulus::one_in};

ports! {
    /// The state of a bank.
    unit BankState: "bank_state" {
        inputs BankStateIn {
            /// tRCD, in tCK; as all timings, does not change after reset.
            rcd_i: u8,
            /// tRCD of WR, in tCK.
            rcd_wr_i: u8,
            /// tRAS, in tCK.
            ras_i: u8,
            /// tRP, in tCK.
            rp_i: u8,
            /// tRTP, in tCK.
            rtp_i: u8,
            /// WR to PRE, in tCK.
            wr_to_pre_i: u8,
            /// Length of a GWRITE, in tCK.
            copy_i: u8,
            /// An ACT of the bank is on the pins.
            act_i: bool,
            /// A PRE of the bank, or a PREA, is on the pins.
            precharge_i: bool => one_in(8),
            /// An RD of the bank is on the pins.
            read_i: bool => one_in(4),
            /// A WR of the bank is on the pins.
            write_i: bool => one_in(8),
            /// A PIM_GWRITE of the bank is on the pins.
            gwrite_i: bool => one_in(16),
            /// A PIM_ACTIVATION of the bank's group is on the pins.
            pim_act_i: bool,
            /// A PIM_PRECHARGE of the bank is on the pins.
            pim_precharge_i: bool => one_in(8),
            /// Row of the ACT or PIM_ACTIVATION.
            row_i: U<15>,
            /// Row that MEM wants.
            mem_want_i: U<15>,
            /// Row that PIM wants.
            pim_want_i: U<15>,
            /// PIM has reserved the row that it wants.
            reserved_i: bool,
        }
        outputs BankStateOut {
            /// The MEM row buffer holds a row.
            mem_open_o: bool,
            /// Row of the last ACT.
            mem_row_o: U<15>,
            /// The PIM row buffer holds a row.
            pim_open_o: bool,
            /// Row of the last PIM_ACTIVATION.
            pim_row_o: U<15>,
            /// The MEM row buffer holds the row that MEM wants.
            mem_hit_o: bool,
            /// The PIM row buffer holds the row that PIM wants.
            pim_hit_o: bool,
            /// The MEM row buffer holds the row that PIM wants.
            in_the_way_o: bool,
            /// The MEM row buffer is closed, for tRP.
            closed_o: bool,
            /// The PIM row buffer is closed, for tRP.
            pim_closed_o: bool,
            /// An ACT of the row that MEM wants may be on the pins.
            act_ready_o: bool,
            /// An RD or PIM_GWRITE may be on the pins.
            read_ready_o: bool,
            /// A WR may be on the pins.
            write_ready_o: bool,
            /// A PRE may be on the pins.
            precharge_ready_o: bool,
            /// A PIM_ACTIVATION of the row that PIM wants may be on the pins.
            pim_act_ready_o: bool,
            /// A PIM_PRECHARGE may be on the pins.
            pim_precharge_ready_o: bool,
            /// Both row buffers are closed, for tRP.
            quiet_o: bool,
        }
        probes BankStateProbe {}
    }
}

/// The cycle model of a bank as its controller knows it.
///
#[doc = contract!("channel/bank_state")]
#[derive(Clone, Debug, Default)]
pub struct BankState {
    mem: Buffer,
    pim: Buffer,
    /// Cycles until an RD or GWRITE, and a WR.
    read: Wait,
    write: Wait,
}

/// A row buffer.
#[derive(Clone, Debug, Default)]
struct Buffer {
    open: bool,
    row: U<15>,
    /// Cycles until a precharge.
    keeps: Wait,
    /// Cycles until an activation, once it is closed.
    closes: Wait,
}

impl Buffer {
    fn holds(&self, row: U<15>) -> bool {
        self.open && self.row == row
    }

    /// Whether the other buffer may open a row: this one does not hold it, and has not closed it just now.
    fn spares(&self, row: U<15>) -> bool {
        self.row != row || self.is_quiet()
    }

    fn is_quiet(&self) -> bool {
        !self.open && self.closes.is_over()
    }

    fn can_close(&self) -> bool {
        !self.open || self.keeps.is_over()
    }

    fn step(&mut self) {
        self.keeps.step();
        self.closes.step();
    }
}

/// Cycles for which something has to wait, the present one among them.
#[derive(Clone, Copy, Debug, Default)]
struct Wait(u8);

impl Wait {
    fn is_over(self) -> bool {
        self.0 == 0
    }

    /// From now on for so many cycles, or for what is left if that is more.
    fn at_least(&mut self, cycles: u8) {
        self.0 = self.0.max(cycles);
    }

    fn step(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }
}

impl BankState {
    /// Obeys the command of a cycle.
    fn obey(&mut self, input: &BankStateIn) {
        if input.precharge_i {
            self.mem.open = false;
            self.mem.closes = Wait(input.rp_i);
        }
        if input.pim_precharge_i {
            self.pim.open = false;
            self.pim.closes = Wait(input.rp_i);
        }
        if input.act_i {
            (self.mem.open, self.mem.row) = (true, input.row_i);
        }
        if input.pim_act_i {
            (self.pim.open, self.pim.row) = (true, input.row_i);
            self.pim.keeps = Wait(input.ras_i);
        }
        let (column_read, column_write) = match input.gwrite_i {
            true => (input.copy_i, input.copy_i),
            false => (input.rcd_i, input.rcd_wr_i),
        };
        if input.act_i || input.gwrite_i {
            self.read.at_least(column_read);
            self.write.at_least(column_write);
        }
        let keeps = match input {
            BankStateIn { gwrite_i: true, .. } => input.copy_i,
            BankStateIn { write_i: true, .. } => input.wr_to_pre_i,
            BankStateIn { read_i: true, .. } => input.rtp_i,
            BankStateIn { act_i: true, .. } => input.ras_i,
            _ => 0,
        };
        self.mem.keeps.at_least(keeps);
    }
}

impl Unit for BankState {
    const MODULE: &'static str = "bank_state";
    const PARAMETERS: &'static [(&'static str, i64)] = &[];
    type In = BankStateIn;
    type Out = BankStateOut;
    type Probe = BankStateProbe;

    fn variant() -> String {
        String::new()
    }
}

impl Model for BankState {
    fn new() -> Self {
        Self::default()
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        BankStateProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        let (mem, pim) = (&self.mem, &self.pim);
        let (mem_want, pim_want) = (input.mem_want_i, input.pim_want_i);
        let is_reserved = input.reserved_i && mem_want == pim_want;
        let output = BankStateOut {
            mem_open_o: mem.open,
            mem_row_o: mem.row,
            pim_open_o: pim.open,
            pim_row_o: pim.row,
            mem_hit_o: mem.holds(mem_want),
            pim_hit_o: pim.holds(pim_want),
            in_the_way_o: mem.holds(pim_want),
            closed_o: mem.is_quiet(),
            pim_closed_o: pim.is_quiet(),
            act_ready_o: mem.is_quiet() && pim.spares(mem_want) && !is_reserved,
            read_ready_o: mem.open && self.read.is_over(),
            write_ready_o: mem.open && self.write.is_over(),
            precharge_ready_o: mem.can_close(),
            pim_act_ready_o: pim.is_quiet() && mem.spares(pim_want),
            pim_precharge_ready_o: pim.can_close(),
            quiet_o: mem.is_quiet() && pim.is_quiet(),
        };
        self.obey(input);
        self.mem.step();
        self.pim.step();
        self.read.step();
        self.write.step();
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The timings of the contract's diagram.
    const NONE: BankStateIn = BankStateIn {
        rcd_i: 3,
        rcd_wr_i: 3,
        ras_i: 5,
        rp_i: 3,
        rtp_i: 2,
        wr_to_pre_i: 9,
        copy_i: 20,
        act_i: false,
        precharge_i: false,
        read_i: false,
        write_i: false,
        gwrite_i: false,
        pim_act_i: false,
        pim_precharge_i: false,
        row_i: U::new(0),
        mem_want_i: U::new(8),
        pim_want_i: U::new(9),
        reserved_i: false,
    };

    /// The outputs of so many cycles with these commands.
    fn run(cycles: usize, commands: &[(usize, BankStateIn)]) -> Vec<BankStateOut> {
        let mut unit = BankState::new();
        let of_cycle = |cycle| commands.iter().find(|(at, _)| *at == cycle);
        (0..cycles).map(|cycle| unit.step(&of_cycle(cycle).map_or(NONE, |(_, c)| *c))).collect()
    }

    /// The cycles in which an output is set.
    fn set(outputs: &[BankStateOut], of: fn(&BankStateOut) -> bool) -> Vec<usize> {
        (0..outputs.len()).filter(|&cycle| of(&outputs[cycle])).collect()
    }

    #[test]
    fn the_diagram_of_the_contract() {
        let act = |row| BankStateIn { act_i: true, row_i: U::new(row), ..NONE };
        let read = BankStateIn { read_i: true, ..NONE };
        let close = BankStateIn { precharge_i: true, ..NONE };
        let outputs = run(10, &[(0, act(7)), (3, read), (5, close), (8, act(8))]);
        assert_eq!(set(&outputs, |o| o.mem_open_o), [1, 2, 3, 4, 5, 9]);
        assert_eq!(set(&outputs, |o| o.act_ready_o), [0, 8]);
        assert_eq!(set(&outputs, |o| o.read_ready_o), [3, 4, 5]);
        assert_eq!(set(&outputs, |o| o.precharge_ready_o), [0, 5, 6, 7, 8]);
        assert_eq!(set(&outputs, |o| o.quiet_o), [0, 8]);
        assert_eq!(set(&outputs, |o| o.mem_hit_o), [9]);
    }

    #[test]
    fn a_row_that_mem_has_closed_waits_for_rp_in_pim() {
        let act = BankStateIn { act_i: true, row_i: U::new(9), ..NONE };
        let close = BankStateIn { precharge_i: true, ..NONE };
        let outputs = run(10, &[(0, act), (5, close)]);
        assert_eq!(set(&outputs, |o| o.in_the_way_o), [1, 2, 3, 4, 5]);
        assert_eq!(set(&outputs, |o| o.pim_act_ready_o), [0, 8, 9]);
        // Another row does not wait.
        let other = BankStateIn { row_i: U::new(4), ..act };
        assert_eq!(set(&run(4, &[(0, other)]), |o| o.pim_act_ready_o), [0, 1, 2, 3]);
    }

    #[test]
    fn a_reserved_row_is_not_opened_for_mem() {
        let reserved = BankStateIn { reserved_i: true, mem_want_i: U::new(9), ..NONE };
        let other = BankStateIn { mem_want_i: U::new(8), ..reserved };
        let outputs = run(3, &[(0, reserved), (1, other), (2, NONE)]);
        assert_eq!(set(&outputs, |o| o.act_ready_o), [1, 2]);
    }

    #[test]
    fn a_gwrite_holds_columns_and_the_precharge_back() {
        let act = BankStateIn { act_i: true, ..NONE };
        let copy = BankStateIn { gwrite_i: true, ..NONE };
        let outputs = run(30, &[(0, act), (3, copy)]);
        assert_eq!(set(&outputs, |o| o.read_ready_o)[1], 23);
        assert_eq!(set(&outputs, |o| o.write_ready_o)[1], 23);
        assert_eq!(set(&outputs, |o| o.precharge_ready_o)[1], 23);
    }
}
