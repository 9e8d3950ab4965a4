// SPDX-License-Identifier: MIT
//! What comes on the pins of a channel of NeuPIMs, and the numbers that its rules have.

use std::fmt;

/// A command on the pins. Banks count through the channel: pseudo-rank, bank group, bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields say it")]
pub enum DualPin {
    /// Opens a row in the MEM row buffer of a bank.
    Act { bank: usize, row: u64 },
    /// Closes the MEM row buffer of a bank.
    Pre { bank: usize },
    /// Closes all MEM row buffers of a pseudo-rank.
    PreAll { rank: usize },
    /// Reads a burst through MEM.
    Rd { bank: usize, column: u64 },
    /// Writes a burst through MEM.
    Wr { bank: usize, column: u64 },
    /// Refreshes a pseudo-rank.
    Ref { rank: usize },
    /// PIM_ACTIVATION: opens a row in the PIM row buffers of a bank group. Groups count through the channel.
    PimActivation { group: usize, row: u64 },
    /// PIM_PRECHARGE: closes the PIM row buffer of a bank, or those of all.
    PimPrecharge { bank: Option<usize> },
    /// PIM_GWRITE: copies the row in the MEM row buffer of a bank to the global buffer.
    Gwrite { bank: usize },
    /// PIM_DOTPRODUCT: a dot product of one word in every bank.
    DotProduct { word: u64 },
    /// PIM_GEMV: dot products of `count` words in every bank, and their results.
    Gemv { word: u64, count: u64 },
    /// PIM_RDRESULT: the results of all banks.
    ReadResult,
}

impl DualPin {
    /// Dot products in every bank.
    pub(super) fn dots(self) -> u64 {
        match self {
            Self::DotProduct { .. } => 1,
            Self::Gemv { count, .. } => count,
            _ => 0,
        }
    }

    /// Whether it is an operation of PIM that must not cross a refresh.
    pub(super) fn is_of_pim(self) -> bool {
        matches!(self, Self::PimActivation { .. } | Self::Gwrite { .. }) || self.dots() > 0
    }

    /// Banks that it activates at once.
    pub(super) fn activates(self, rules: &DualRules) -> u64 {
        match self {
            Self::Act { .. } => 1,
            Self::PimActivation { .. } => rules.banks_per_group as u64,
            _ => 0,
        }
    }

    /// The banks that it is for.
    pub(super) fn banks(self, rules: &DualRules) -> std::ops::Range<usize> {
        match self {
            Self::Act { bank, .. }
            | Self::Pre { bank }
            | Self::Rd { bank, .. }
            | Self::Wr { bank, .. }
            | Self::Gwrite { bank }
            | Self::PimPrecharge { bank: Some(bank) } => bank..bank + 1,
            Self::PreAll { rank } | Self::Ref { rank } => {
                let of_rank = rules.banks_per_rank();
                rank * of_rank..(rank + 1) * of_rank
            }
            Self::PimActivation { group, .. } => {
                group * rules.banks_per_group..(group + 1) * rules.banks_per_group
            }
            _ => 0..rules.banks(),
        }
    }
}

impl fmt::Display for DualPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Act { bank, row } => write!(f, "ACT bank {bank} row {row}"),
            Self::Pre { bank } => write!(f, "PRE bank {bank}"),
            Self::PreAll { rank } => write!(f, "PREA rank {rank}"),
            Self::Rd { bank, column } => write!(f, "RD bank {bank} column {column}"),
            Self::Wr { bank, column } => write!(f, "WR bank {bank} column {column}"),
            Self::Ref { rank } => write!(f, "REF rank {rank}"),
            Self::PimActivation { group, row } => {
                write!(f, "PIM_ACTIVATION group {group} row {row}")
            }
            Self::PimPrecharge { bank: None } => write!(f, "PIM_PRECHARGE"),
            Self::PimPrecharge { bank: Some(bank) } => write!(f, "PIM_PRECHARGE bank {bank}"),
            Self::Gwrite { bank } => write!(f, "PIM_GWRITE bank {bank}"),
            Self::DotProduct { word } => write!(f, "PIM_DOTPRODUCT word {word}"),
            Self::Gemv { word, count } => write!(f, "PIM_GEMV word {word} count {count}"),
            Self::ReadResult => write!(f, "PIM_RDRESULT"),
        }
    }
}

/// How a channel is organised, and its timings in tCK.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the timings of JESD235, but for those with a comment")]
pub struct DualRules {
    /// Pseudo-ranks, which have a window of tFAW and refreshes of their own.
    pub ranks: usize,
    pub groups_per_rank: usize,
    pub banks_per_group: usize,
    /// Words of a row for dot products.
    pub words: u64,
    /// A burst on the data bus.
    pub burst: u64,
    pub t_ccd_s: u64,
    pub t_ccd_l: u64,
    pub t_rrd_s: u64,
    pub t_rrd_l: u64,
    pub t_faw: u64,
    pub t_rcd: u64,
    pub t_rcd_wr: u64,
    /// PIM_ACTIVATION to dot products.
    pub t_rcd_pim: u64,
    pub t_ras: u64,
    pub t_rp: u64,
    pub t_rc: u64,
    pub cl: u64,
    pub cwl: u64,
    pub t_wr: u64,
    pub t_rtp: u64,
    pub t_wtr_s: u64,
    pub t_wtr_l: u64,
    /// Between a read's data and a write's.
    pub rtw_gap: u64,
    /// Between data of one pseudo-rank, of the other, and results.
    pub t_rtrs: u64,
    /// A GWRITE.
    pub gwrite: u64,
    /// Dot product to dot product.
    pub dot: u64,
    /// The last dot product to the burst of results of a GEMV, or to RDRESULT.
    pub results: u64,
    pub t_rfc: u64,
    /// None: refresh is off.
    pub t_refi: Option<u64>,
    /// REFs of a pseudo-rank that may be late at any time.
    pub max_postponed: u64,
    /// A PIM_ACTIVATION takes a whole window of tFAW. Without (the authors' simulator), PIM_ACTIVATIONs keep tFAW from each
    /// other, ACTs come tFAW behind them, and ACTs before them do not count.
    pub pim_in_window: bool,
}

impl DualRules {
    /// NeuPIMs, Table 2, with tCK = 1 ns; what the paper does not say is from the authors' simulator.
    pub const NEUPIMS: Self = Self {
        ranks: 2,
        groups_per_rank: 4,
        banks_per_group: 4,
        words: 32,
        burst: 2,
        t_ccd_s: 1,
        t_ccd_l: 2,
        t_rrd_s: 4,
        t_rrd_l: 6,
        t_faw: 30,
        t_rcd: 14,
        t_rcd_wr: 14,
        t_rcd_pim: 14,
        t_ras: 34,
        t_rp: 14,
        t_rc: 48,
        cl: 14,
        cwl: 4,
        t_wr: 16,
        t_rtp: 6,
        t_wtr_s: 6,
        t_wtr_l: 8,
        rtw_gap: 2,
        t_rtrs: 2,
        gwrite: 96,
        dot: 2,
        results: 12,
        t_rfc: 260,
        t_refi: Some(3900),
        max_postponed: 1,
        pim_in_window: true,
    };

    /// Banks of a pseudo-rank.
    pub fn banks_per_rank(&self) -> usize {
        self.groups_per_rank * self.banks_per_group
    }

    /// Banks of the channel.
    pub fn banks(&self) -> usize {
        self.ranks * self.banks_per_rank()
    }
}
