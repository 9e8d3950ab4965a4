// SPDX-License-Identifier: MIT
//! The clock plan: the clocks of the devices. Device, RTL and estimate have them from here.
//!
//! | domain | period | what |
//! | --- | --- | --- |
//! | beat | half a tCK | what touches the DRAM's data bus beat by beat: re-layout, data lines |
//! | tCK | a tCK | timers and queues of the data lines, open banks |
//! | core | a tCK times the gear | the rank PU: adder, softmax, controller, sequencer, dispatcher |
//! | bank | tCCD_L | bank PUs, between two reads of all banks |
//! | AiM, column | tCCD of GDDR6, two tCK | its PUs, buffers, and its controller with a command in each tCK |
//! | AiM, EPU | two tCCD | its extra processing unit, dispatcher, and the memories of its hub |
//!
//! All edges of a slower clock are edges of the faster ones, so that a value crosses from one to the other as
//! it would within either, if it stands for a period of the slower: see `rtl/rank/pim_rank.md`.

/// How many tCK a cycle of the core takes. The chips and the data bus keep their own clocks: a tCK, and a beat
/// of half a tCK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gear {
    /// A cycle is a tCK.
    One,
    /// A cycle is two tCK.
    Two,
    /// A cycle is four tCK, a burst on the data bus.
    Four,
}

impl Gear {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::One, Self::Two, Self::Four];

    /// The gear of a device where nothing else is said: the lowest at which the RTL meets its clock.
    pub const DEFAULT: Self = Self::Two;

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Two => "2",
            Self::Four => "4",
        }
    }

    /// tCK in a cycle of the core.
    pub const fn tck(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
        }
    }
}

impl Default for Gear {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Of the beats on the data bus.
    Beat,
    /// Of the commands.
    Tck,
    /// Of the rank PU.
    Core,
    /// Of the bank PUs.
    Bank,
    /// Of an AiM's columns and commands.
    AimColumn,
    /// Of an AiM's extra processing unit, its dispatcher, and the memories of its hub.
    AimEpu,
}

/// What the periods are made of: the timings of the DRAMs of both systems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// tCK of L3's DRAM in ps.
    pub tck_ps: u64,
    /// Its tCCD_L, in tCK.
    pub ccd_l_tck: u64,
    /// tCK of an AiM in ps.
    pub aim_tck_ps: u64,
    /// Its tCCD, in tCK.
    pub aim_ccd_tck: u64,
}

impl Domain {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Beat => "beat",
            Self::Tck => "tCK",
            Self::Core => "core",
            Self::Bank => "bank",
            Self::AimColumn => "AiM, column",
            Self::AimEpu => "AiM, EPU",
        }
    }

    /// Its period in ns, where the core has a gear.
    pub fn period_ns(self, rates: &Rates, gear: Gear) -> f64 {
        let ns = |ps: u64| ps as f64 / 1e3;
        match self {
            Self::Beat => ns(rates.tck_ps) / 2.0,
            Self::Tck => ns(rates.tck_ps),
            Self::Core => ns(rates.tck_ps * gear.tck() as u64),
            Self::Bank => ns(rates.tck_ps * rates.ccd_l_tck),
            Self::AimColumn => ns(rates.aim_tck_ps * rates.aim_ccd_tck),
            Self::AimEpu => ns(2 * rates.aim_tck_ps * rates.aim_ccd_tck),
        }
    }
}
