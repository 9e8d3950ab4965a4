// SPDX-License-Identifier: MIT
//! The DRAM's pins.

use super::{Bank, Column, ResultAddress, Row};
use pimlico_ports::{Signal, U, pack, unpack};

/// Command on the pins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(width = 4, sv = "pin_command_e", prefix = "Pin")]
pub enum PinCommand {
    /// No command.
    #[default]
    None = 0,
    /// Opens a row of a bank.
    Act = 1,
    /// Opens a row of as many banks as may open in a tFAW.
    ActAll = 2,
    /// Closes a bank.
    Pre = 3,
    /// Closes all banks.
    PreAll = 4,
    /// Reads a column of a bank to the data bus.
    Rd = 5,
    /// Writes a column of a bank from the data bus.
    Wr = 6,
    /// Reads a column of all banks to the bank PUs.
    RdAll = 7,
    /// Reads result registers to the data bus.
    RdResult = 8,
    /// Writes the shared buffers from the data bus.
    WrShared = 9,
    /// Refreshes.
    Ref = 10,
    /// Sets the word of the shared buffers that the next RD_ALL reads.
    SetWord = 11,
    /// Sets a mode register.
    Mrs = 12,
}

/// A command for the chips. What a command has no use for is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "pins_t")]
pub struct Pins {
    /// Command on the pins.
    pub command: PinCommand,
    /// Bank of the command; RD_ALL: bits of what the PUs do; MRS: which mode register.
    pub bank: Bank,
    /// Row of the command; MRS: the opcode.
    pub row: Row,
    /// Column of the command; RD_RESULT: which results; WR_SHARED, SET_WORD: which word.
    pub column: Column,
}

/// What an RD_ALL says to the PUs, in place of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "read_all_t")]
pub struct ReadAll {
    /// Accumulator mode (context); else the adder tree (score, FC).
    pub accumulate: bool,
    /// Begins a sum.
    pub first: bool,
    /// Ends a sum.
    pub last: bool,
    /// Reads the word that was set; else the one behind that of the last RD_ALL.
    pub back: bool,
}

/// The command pins of a x8 DDR4 chip. What is on them stands in rank/pin_codes.md.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Signal)]
#[signal(sv = "dram_pins_t")]
pub struct DramPins {
    /// CS_n: low where there is a command.
    pub cs_n: bool,
    /// ACT_n: low in an ACT.
    pub act_n: bool,
    /// RAS_n, in an ACT A16.
    pub ras_n: bool,
    /// CAS_n, in an ACT A15.
    pub cas_n: bool,
    /// WE_n, in an ACT A14.
    pub we_n: bool,
    /// BG1 and BG0: bank group.
    pub bg: U<2>,
    /// BA1 and BA0: bank of the group.
    pub ba: U<2>,
    /// A13 to A0; A12 is BC_n and A10 AP as well.
    pub a: U<14>,
}

impl PinCommand {
    /// All commands but none.
    pub const COMMANDS: [Self; 12] = [
        Self::Act,
        Self::ActAll,
        Self::Pre,
        Self::PreAll,
        Self::Rd,
        Self::Wr,
        Self::RdAll,
        Self::RdResult,
        Self::WrShared,
        Self::Ref,
        Self::SetWord,
        Self::Mrs,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::Act => "ACT",
            Self::ActAll => "ACT_ALL_BANK",
            Self::Pre => "PRE",
            Self::PreAll => "PREA",
            Self::Rd => "RD",
            Self::Wr => "WR",
            Self::RdAll => "RD_ALL_BANK",
            Self::RdResult => "RD_RESULT",
            Self::WrShared => "WR_SHARED",
            Self::Ref => "REF",
            Self::SetWord => "SET_WORD",
            Self::Mrs => "MRS",
        }
    }
}

impl Pins {
    /// No command.
    pub const NONE: Self = Self::of(PinCommand::None, 0, 0, 0);
    /// PREA: all banks are closed.
    pub const PRE_ALL: Self = Self::of(PinCommand::PreAll, 0, 0, 0);
    /// REF.
    pub const REF: Self = Self::of(PinCommand::Ref, 0, 0, 0);
    /// The key: the MRS after which a chip obeys the commands of processing in memory.
    pub const PIM_KEY: [Self; 4] =
        [Self::mrs(7, 0x2A5C), Self::mrs(7, 0x35A3), Self::mrs(7, 0x2C39), Self::mrs(7, 0x33C6)];
    /// The lock: the MRS after which it does not.
    pub const PIM_LOCK: Self = Self::mrs(7, 0x2000);

    const fn of(command: PinCommand, bank: usize, row: usize, column: usize) -> Self {
        Self { command, bank: U::new(bank as u64), row: row as Row, column: column as Column }
    }

    /// MRS: a mode register is set.
    pub const fn mrs(register: usize, opcode: usize) -> Self {
        Self::of(PinCommand::Mrs, register, opcode, 0)
    }

    /// ACT: a row is opened.
    pub const fn act(bank: usize, row: usize) -> Self {
        Self::of(PinCommand::Act, bank, row, 0)
    }

    /// ACT_ALL: a row is opened in as many banks as may open in a tFAW, the first of them named.
    pub const fn act_all(bank: usize, row: usize) -> Self {
        Self::of(PinCommand::ActAll, bank, row, 0)
    }

    /// PRE: a bank is closed.
    pub const fn pre(bank: usize) -> Self {
        Self::of(PinCommand::Pre, bank, 0, 0)
    }

    /// RD: a column is read.
    pub const fn rd(bank: usize, column: usize) -> Self {
        Self::of(PinCommand::Rd, bank, 0, column)
    }

    /// WR: a column is written.
    pub const fn wr(bank: usize, column: usize) -> Self {
        Self::of(PinCommand::Wr, bank, 0, column)
    }

    /// RD_ALL: a column of every bank is read to its PU.
    pub fn rd_all(column: usize, what: ReadAll) -> Self {
        Self::of(PinCommand::RdAll, pack(&what) as usize, 0, column)
    }

    /// What an RD_ALL says to the PUs.
    pub fn read_all(&self) -> ReadAll {
        unpack(self.bank.get())
    }

    /// WR_SHARED: a word of the shared buffers is written.
    pub const fn wr_shared(word: usize) -> Self {
        Self::of(PinCommand::WrShared, 0, 0, word)
    }

    /// The command on the pins of a chip: see `rtl/rank/pin_codes.md`. Bit 7 of a column is not on them.
    pub fn encode(&self) -> DramPins {
        let Self { command, row, column, .. } = *self;
        let bank = self.bank.get();
        let [bg, ba] = [bank >> 2, bank & 3];
        // RAS_n, CAS_n, WE_n; bank group, bank; address. A12 is high in bursts of eight.
        let burst =
            |a13: u64, a11: u64| a13 << 13 | 1 << 12 | a11 << 11 | u64::from(column & 0x7F) << 3;
        let upper = u64::from(column >> 7);
        let row = u64::from(row);
        let (code, bg, ba, a) = match command {
            PinCommand::None => (0b111, 0, 0, 0),
            PinCommand::Act => (row >> 14, bg, ba, row & 0x3FFF),
            PinCommand::ActAll => (0b011, bank >> 3, row >> 14, row & 0x3FFF),
            PinCommand::SetWord => (0b011, 2, 0, column.into()),
            PinCommand::Mrs => (0b000, bg & 1, ba, row & 0x3FFF),
            PinCommand::Pre => (0b010, bg, ba, 0),
            PinCommand::PreAll => (0b010, 0, 0, 1 << 10),
            PinCommand::Ref => (0b001, 0, 0, 0),
            PinCommand::Rd => (0b101, bg, ba, burst(0, 0)),
            PinCommand::RdAll => (0b101, bg, ba, burst(0, 1)),
            PinCommand::RdResult => (0b101, 0, upper, burst(1, 0)),
            PinCommand::Wr => (0b100, bg, ba, burst(0, 0)),
            PinCommand::WrShared => (0b100, 0, upper, burst(0, 1)),
        };
        DramPins {
            cs_n: command == PinCommand::None,
            act_n: command != PinCommand::Act,
            ras_n: code & 4 != 0,
            cas_n: code & 2 != 0,
            we_n: code & 1 != 0,
            bg: U::new(bg),
            ba: U::new(ba),
            a: U::new(a),
        }
    }

    /// Whether there is a command.
    pub fn is_some(&self) -> bool {
        self.command != PinCommand::None
    }

    /// The banks that the command opens, a bit for each, where so many may open in a tFAW.
    pub fn opens(&self, faw_banks: u64) -> u16 {
        match self.command {
            PinCommand::Act => 1 << self.bank.get(),
            PinCommand::ActAll if faw_banks >= 16 => u16::MAX,
            PinCommand::ActAll => 0x00FF << (self.bank.get() & 8),
            _ => 0,
        }
    }

    /// Opens them, in a list of the banks' rows.
    pub fn open_rows<T: Copy>(&self, faw_banks: u64, open: &mut [Option<T>], row: T) {
        let opens = self.opens(faw_banks);
        for (bank, open) in open.iter_mut().enumerate() {
            if opens >> bank & 1 != 0 {
                *open = Some(row);
            }
        }
    }

    /// Bank, for an index.
    pub fn bank(&self) -> usize {
        self.bank.get() as usize
    }

    /// Row, for an index.
    pub fn row(&self) -> usize {
        self.row.into()
    }

    /// Column, or word of the shared buffers, for an index.
    pub fn column(&self) -> usize {
        self.column.into()
    }

    /// Which results an RD_RESULT reads.
    pub fn results(&self) -> ResultAddress {
        ResultAddress::of_bits(self.column)
    }
}

impl DramPins {
    /// The command that they show; none if there is no such code.
    pub fn decode(&self) -> Pins {
        let Self { cs_n, act_n, ras_n, cas_n, we_n, bg, ba, a } = *self;
        let [bg, ba, a] = [bg.get(), ba.get(), a.get()];
        let bank = bg << 2 | ba;
        let code = u64::from(ras_n) << 2 | u64::from(cas_n) << 1 | u64::from(we_n);
        let (column, word) = (a >> 3 & 0x7F, (ba & 1) << 7 | a >> 3 & 0x7F);
        let bursts = a >> 12 & 1 != 0 && a >> 10 & 1 == 0 && a & 7 == 0;
        let of = |command, bank: u64, row: u64, column: u64| {
            Pins::of(command, bank as usize, row as usize, column as usize)
        };
        match (cs_n, act_n, code) {
            (true, ..) => Pins::NONE,
            (_, false, 0..4) => of(PinCommand::Act, bank, (code & 3) << 14 | a, 0),
            (_, false, _) => Pins::NONE,
            (_, _, 0b011) if bg < 2 => of(PinCommand::ActAll, bg << 3, ba << 14 | a, 0),
            (_, _, 0b011) if bank == 8 && a < 256 => of(PinCommand::SetWord, 0, 0, a),
            (_, _, 0b000) if bg < 2 => of(PinCommand::Mrs, bank, a, 0),
            (_, _, 0b010) if a == 0 => of(PinCommand::Pre, bank, 0, 0),
            (_, _, 0b010) if a == 1 << 10 && bank == 0 => of(PinCommand::PreAll, 0, 0, 0),
            (_, _, 0b001) if a == 0 && bank == 0 => of(PinCommand::Ref, 0, 0, 0),
            (_, _, 0b100 | 0b101) if bursts => {
                let reads = code == 0b101;
                match (a >> 13 & 1, a >> 11 & 1) {
                    (0, 0) if reads => of(PinCommand::Rd, bank, 0, column),
                    (0, 0) => of(PinCommand::Wr, bank, 0, column),
                    (0, 1) if reads => of(PinCommand::RdAll, bank, 0, column),
                    (0, 1) if bank < 2 => of(PinCommand::WrShared, 0, 0, word),
                    (1, 0) if reads && bank < 2 => of(PinCommand::RdResult, 0, 0, word),
                    _ => Pins::NONE,
                }
            }
            _ => Pins::NONE,
        }
    }
}
