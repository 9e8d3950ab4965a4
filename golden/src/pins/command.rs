// SPDX-License-Identifier: MIT
//! What the DRAM demands, and the commands on its pins.

use super::gates::GATES;
use std::fmt;
use std::ops::Range;

/// What the DRAM demands, in tCK, under the names of JESD79-4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Bank groups. Bank *b* is in group *b* / `banks_per_group`.
    pub bank_groups: usize,
    /// Banks in a group.
    pub banks_per_group: usize,
    /// A burst on the data bus: BL/2.
    pub burst: u64,
    /// Column command to column command, other group.
    pub t_ccd_s: u64,
    /// Column command to column command, same group.
    pub t_ccd_l: u64,
    /// RD_RESULT or WR_SHARED to the next of either. None: tCCD_S alone.
    pub t_ccd_result: Option<u64>,
    /// ACT to ACT, other group.
    pub t_rrd_s: u64,
    /// ACT to ACT, same group.
    pub t_rrd_l: u64,
    /// The window that holds four ACTs, or an ACT_ALL.
    pub t_faw: u64,
    /// Banks that an ACT_ALL opens, a power of two; 4 if there is no such command.
    pub faw_banks: usize,
    /// ACT to RD.
    pub t_rcd: u64,
    /// ACT to WR: tRCD in DDR4, tRCDWR in GDDR6.
    pub t_rcd_wr: u64,
    /// ACT to all-bank RD.
    pub t_rcd_mac: u64,
    /// ACT to PRE.
    pub t_ras: u64,
    /// PRE to ACT or REF.
    pub t_rp: u64,
    /// ACT to ACT, same bank.
    pub t_rc: u64,
    /// RD to its data (RL, without additive latency).
    pub cl: u64,
    /// WR to its data (WL, without additive latency).
    pub cwl: u64,
    /// RD_RESULT to its data. None: CL.
    pub cl_reg: Option<u64>,
    /// WR_SHARED to its data. None: CWL.
    pub cwl_gb: Option<u64>,
    /// A change between the mode of all-bank RDs and that of WR_SHARED and RD_RESULT, behind the command that changes
    /// it. None: both come in any order.
    pub t_modch: Option<u64>,
    /// Idle tCK of the data bus when its driver changes: 2 for a preamble of one tCK, as in "READ to
    /// WRITE command delay = RL + BL/2 - WL + 2 tCK".
    pub rtw_gap: u64,
    /// End of WR data to RD, other group.
    pub t_wtr_s: u64,
    /// End of WR data to RD, same group.
    pub t_wtr_l: u64,
    /// End of WR_SHARED data to RD_ALL and RD_RESULT. None: the two need not wait.
    pub t_wtr_shared: Option<u64>,
    /// End of WR data to PRE.
    pub t_wr: u64,
    /// RD to PRE.
    pub t_rtp: u64,
    /// REF to any command.
    pub t_rfc: u64,
    /// A REF is due at every multiple of it. None: refresh is switched off.
    pub t_refi: Option<u64>,
    /// REFs that may be postponed at any time; as many may be pulled in.
    pub max_postponed: u64,
    /// The chips obey the commands of processing in memory behind the key alone. Else they have had it, or want none.
    pub locked: bool,
}

impl Rules {
    pub(super) fn banks(&self) -> usize {
        self.bank_groups * self.banks_per_group
    }

    /// RD_RESULT to its data.
    pub(super) fn result_latency(&self) -> u64 {
        self.cl_reg.unwrap_or(self.cl)
    }

    /// WR_SHARED to its data.
    pub(super) fn shared_latency(&self) -> u64 {
        self.cwl_gb.unwrap_or(self.cwl)
    }

    /// A command to its data, which it has.
    pub(super) fn latency(&self, pin: Pin) -> u64 {
        match pin {
            Pin::RdResult { .. } => self.result_latency(),
            Pin::WrShared { .. } => self.shared_latency(),
            Pin::Wr { .. } | Pin::WrAll { .. } => self.cwl,
            _ => self.cl,
        }
    }

    /// From read data to write data, of commands with these latencies: the end of the first and the gap, less the
    /// time that the others take to come.
    pub(super) fn rd_to_wr(&self, read: u64, write: u64) -> u64 {
        (read + self.burst + self.rtw_gap).saturating_sub(write)
    }

    /// A command of all banks to one that moves data: the change, and the tCK of the command that makes it.
    pub(super) fn mode_change(&self) -> u64 {
        self.t_modch.map_or(0, |t_modch| t_modch + 1)
    }

    /// A command that moves data to one of all banks: the mode changes when the data have been on the bus.
    pub(super) fn mode_change_behind(&self, latency: u64) -> u64 {
        self.t_modch.map_or(0, |_| latency + self.burst + self.mode_change())
    }

    /// The longest that a command other than REF binds a later one.
    pub(super) fn reach(&self) -> u64 {
        GATES.iter().map(|gate| (gate.delay)(self)).max().unwrap_or(0).max(self.t_faw)
    }
}

/// A command on the pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub enum Pin {
    /// Opens a row.
    Act { bank: usize, row: usize },
    /// Opens a row in `faw_banks` banks, the first of them named.
    ActAll { bank: usize, row: usize },
    /// Closes a bank. Allowed when it is closed, and starts tRP again.
    Pre { bank: usize },
    /// Closes all banks.
    PreAll,
    /// Reads a column to the data bus.
    Rd { bank: usize, column: usize },
    /// Writes a column from the data bus.
    Wr { bank: usize, column: usize },
    /// Reads a column of all banks to the bank PUs.
    RdAll { column: usize },
    /// Writes a column of all banks, or registers at them, from the data bus.
    WrAll { column: usize },
    /// Reads the result registers of a bank's PUs to the data bus.
    RdResult { bank: usize },
    /// Writes a word of the shared buffers from the data bus.
    WrShared { word: usize },
    /// Refreshes.
    Ref,
    /// Sets the word of the shared buffers that the next all-bank RD reads.
    SetWord { word: usize },
    /// Sets a mode register.
    Mrs { register: usize, opcode: usize },
}

impl Pin {
    /// The banks that the command touches.
    pub(super) fn banks(self, rules: &Rules) -> Range<usize> {
        match self {
            Self::Act { bank, .. }
            | Self::Pre { bank }
            | Self::Rd { bank, .. }
            | Self::Wr { bank, .. } => bank..bank + 1,
            Self::ActAll { bank, .. } => bank..bank + rules.faw_banks,
            Self::RdAll { .. } | Self::WrAll { .. } => 0..rules.banks(),
            Self::PreAll | Self::Ref | Self::Mrs { .. } => 0..rules.banks(),
            Self::RdResult { .. } | Self::WrShared { .. } | Self::SetWord { .. } => 0..0,
        }
    }

    /// The bank that the command names, whether or not it touches it.
    pub(super) fn named_bank(self) -> Option<usize> {
        match self {
            Self::Act { bank, .. }
            | Self::ActAll { bank, .. }
            | Self::Pre { bank }
            | Self::Rd { bank, .. }
            | Self::Wr { bank, .. }
            | Self::RdResult { bank } => Some(bank),
            Self::PreAll | Self::RdAll { .. } | Self::WrAll { .. } | Self::Ref => None,
            Self::WrShared { .. } | Self::SetWord { .. } | Self::Mrs { .. } => None,
        }
    }

    pub(super) fn activates(self) -> bool {
        matches!(self, Self::Act { .. } | Self::ActAll { .. })
    }

    /// It is one of processing in memory, which a locked chip does not obey.
    pub(super) fn wants_key(self) -> bool {
        matches!(self, Self::ActAll { .. } | Self::RdAll { .. } | Self::WrAll { .. })
            || matches!(self, Self::SetWord { .. })
            || self.moves_for_pus()
    }

    pub(super) fn sets_mode(self) -> bool {
        matches!(self, Self::Mrs { .. })
    }

    pub(super) fn precharges(self) -> bool {
        matches!(self, Self::Pre { .. } | Self::PreAll)
    }

    /// Who drives the data bus for it.
    pub(super) fn driver(self) -> Option<Driver> {
        match self {
            Self::Rd { .. } | Self::RdResult { .. } => Some(Driver::Dram),
            Self::Wr { .. } | Self::WrAll { .. } | Self::WrShared { .. } => {
                Some(Driver::Controller)
            }
            _ => None,
        }
    }

    pub(super) fn reads_a_bank(self) -> bool {
        matches!(self, Self::Rd { .. } | Self::RdAll { .. })
    }

    pub(super) fn writes_a_bank(self) -> bool {
        matches!(self, Self::Wr { .. } | Self::WrAll { .. })
    }

    /// It moves a burst between the data bus and the PUs' buffers.
    pub(super) fn moves_for_pus(self) -> bool {
        matches!(self, Self::RdResult { .. } | Self::WrShared { .. })
    }

    /// It reads all banks, or opens them for that.
    pub(super) fn is_of_all_banks(self) -> bool {
        matches!(self, Self::ActAll { .. } | Self::RdAll { .. })
    }

    pub(super) fn touches_columns(self) -> bool {
        self.reads_a_bank() || self.writes_a_bank()
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act { bank, row } => write!(f, "ACT bank {bank} row {row}"),
            Self::ActAll { bank, row } => write!(f, "ACT_ALL_BANK from bank {bank} row {row}"),
            Self::Pre { bank } => write!(f, "PRE bank {bank}"),
            Self::PreAll => write!(f, "PREA"),
            Self::Rd { bank, column } => write!(f, "RD bank {bank} column {column}"),
            Self::Wr { bank, column } => write!(f, "WR bank {bank} column {column}"),
            Self::RdAll { column } => write!(f, "RD_ALL_BANK column {column}"),
            Self::WrAll { column } => write!(f, "WR_ALL_BANK column {column}"),
            Self::RdResult { bank } => write!(f, "RD_RESULT bank {bank}"),
            Self::WrShared { word } => write!(f, "WR_SHARED word {word}"),
            Self::Ref => write!(f, "REF"),
            Self::SetWord { word } => write!(f, "SET_WORD word {word}"),
            Self::Mrs { register, opcode } => write!(f, "MRS of MR{register} {opcode:#06x}"),
        }
    }
}

/// Who drives the data bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// The DRAM chips: read data.
    Dram,
    /// The controller, be it the host or the rank PU: write data.
    Controller,
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dram => "read data",
            Self::Controller => "write data",
        })
    }
}
