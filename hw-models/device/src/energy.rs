// SPDX-License-Identifier: MIT
//! Energy of an operator: of the DRAM from its commands and standby currents, of the logic from our netlists and
//! how long its parts worked.
//!
//! The DRAM's part follows Micron's TN-40-07: a command takes what its IDD current is above the
//! standby current, for as long as that current is measured with one command.
//!
//! | what | energy of a chip |
//! | --- | --- |
//! | ACT with its PRE, a bank | VDD (IDD0 tRC - IDD3N tRAS - IDD2N tRP) |
//! | RD, WR | VDD (IDD4R - IDD3N) BL, VDD (IDD4W - IDD3N) BL |
//! | REF | VDD (IDD5B - IDD3N) tRFC |
//! | standby | VDD IDD3N, all the time |
//!
//! The commands of processing in memory have no current of their own in any data sheet. An ACT_ALL is
//! counted as an ACT of each bank, an all-bank RD as an RD of each bank, RD_RESULT and WR_SHARED as RD
//! and WR: upper bounds, as an all-bank RD drives no data across the chip, and the others open no
//! column. So is the standby current, which is less while all banks are closed. At the least, an all-bank RD takes
//! what stays in the banks of an RD. VPP is left out, as is the data bus's termination, which belongs to the board.
//!
//! The logic's part is no bound: it has no wires and no clock tree, and what is taken by area is taken as busy as the
//! rank controller.

use crate::config::Config;
use crate::config::Currents;
use crate::statistics::Statistics;
use pimlico_dpa::types::PinCommand;
use serde::Deserialize;

/// What the chips and units of a preset draw.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// Supply in V.
    #[serde(rename = "VDD")]
    pub vdd: f64,
    /// One bank activated and precharged every tRC; this and the others in mA, of a chip.
    #[serde(rename = "IDD0")]
    pub idd0: f64,
    /// Standby, all banks closed.
    #[serde(rename = "IDD2N")]
    pub idd2n: f64,
    /// Standby, banks open.
    #[serde(rename = "IDD3N")]
    pub idd3n: f64,
    /// Reads without a gap.
    #[serde(rename = "IDD4R")]
    pub idd4r: f64,
    /// Writes without a gap.
    #[serde(rename = "IDD4W")]
    pub idd4w: f64,
    /// Refreshes without a gap.
    #[serde(rename = "IDD5B")]
    pub idd5b: f64,
    /// Share of an RD's current above standby that stays in the bank: the least that a bank takes of an all-bank RD.
    #[serde(rename = "RD_in_bank")]
    pub rd_in_bank: f64,
    /// The logic.
    pub logic: LogicEnergy,
}

/// What the logic takes, in pJ: netlists of ours, scaled to 28 nm. The preset says which are simulated.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct LogicEnergy {
    /// A bank PU, in a clock in which a column comes.
    pub bank_pu: f64,
    /// The same in a clock in which none does.
    pub bank_pu_idle: f64,
    /// The rank PU in a tCK, with adder and softmax unit at rest, as far as it is simulated.
    pub rank_pu_tck: f64,
    /// The rest of it, by area.
    pub rank_pu_rest_tck: f64,
    /// The adder unit beyond that, in a tCK in which it takes an input.
    pub adder_unit_tck: f64,
    /// The same of the softmax unit.
    pub softmax_unit_tck: f64,
    /// The re-layout unit in a tCK, at rest.
    pub relayout_tck: f64,
    /// The same beyond that, for a burst.
    pub relayout_burst: f64,
    /// All chips of a rank in a tCK, without bank PUs, by area.
    pub chips_tck: f64,
    /// 64 bits of a small memory.
    pub memory_64: f64,
    /// 64 bits of the score buffer.
    pub score_buffer_64: f64,
}

/// Peak current of a chip from VDD, in mA: that of rows that open at once, all of whose charge flows until a column may
/// be read (tRCD), and standby. What VPP gives the word lines is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// Banks in a tFAW: sixteen are an ACT_ALL.
    pub banks: u64,
    /// Of rows in so many banks.
    pub open_ma: f64,
    /// Of rows in [`Self::JEDEC_BANKS`].
    pub jedec_ma: f64,
    /// The mean of a REF (IDD5B), for what a chip's supply bears.
    pub refresh_ma: f64,
}

impl Peak {
    /// Banks that JESD79-4 lets open in a tFAW.
    pub const JEDEC_BANKS: u64 = 4;
}

/// Energy by what takes it, in pJ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Rows opened and closed.
    pub activate: f64,
    /// All-bank RDs, at most: as an RD of each bank.
    pub all_bank_read: f64,
    /// The same at the least: what stays in the banks.
    pub all_bank_read_least: f64,
    /// Bursts between the data bus and a bank, the shared buffers or the result registers.
    pub bursts: f64,
    /// Refreshes.
    pub refresh: f64,
    /// The DRAM's standby current.
    pub standby: f64,
    /// The bank PUs.
    pub bank_pus: f64,
    /// The rest of the chips' logic.
    pub chips: f64,
    /// The rank PU, with the host's side and the dispatcher.
    pub rank_pu: f64,
    /// Shared buffers and score buffer.
    pub memories: f64,
}

impl Energy {
    /// What the DRAM takes, at most.
    pub fn dram(&self) -> f64 {
        let Self { activate, all_bank_read, bursts, refresh, standby, .. } = self;
        activate + all_bank_read + bursts + refresh + standby
    }

    /// What the logic takes.
    pub fn logic(&self) -> f64 {
        let Self { bank_pus, chips, rank_pu, memories, .. } = self;
        bank_pus + chips + rank_pu + memories
    }

    /// All of it, the DRAM's part at the most.
    pub fn total(&self) -> f64 {
        self.dram() + self.logic()
    }

    /// All of it, the DRAM's part at the least.
    pub fn least(&self) -> f64 {
        self.total() - self.all_bank_read + self.all_bank_read_least
    }

    /// Of two.
    pub fn and(self, other: Self) -> Self {
        Self {
            activate: self.activate + other.activate,
            all_bank_read: self.all_bank_read + other.all_bank_read,
            all_bank_read_least: self.all_bank_read_least + other.all_bank_read_least,
            bursts: self.bursts + other.bursts,
            refresh: self.refresh + other.refresh,
            standby: self.standby + other.standby,
            bank_pus: self.bank_pus + other.bank_pus,
            chips: self.chips + other.chips,
            rank_pu: self.rank_pu + other.rank_pu,
            memories: self.memories + other.memories,
        }
    }
}

impl Power {
    /// Currents of the chips of a configuration, if it names them. (For GDDR6-AiM none are
    /// published.)
    pub fn of(config: &Config) -> Option<Self> {
        let text = match config.power? {
            Currents::Ddr4x3200 => include_str!("../presets/ddr4-3200-power.toml"),
        };
        Some(toml::from_str(text).expect("tested below"))
    }

    /// What opening and closing a row takes from VDD of one chip above standby, in mA x ns.
    fn row_charge(&self, config: &Config) -> f64 {
        let timing = &config.timing;
        let tck_ns = config.tck_ps as f64 / 1000.0;
        let of_tck = |current: f64, tck: u64| current * tck as f64 * tck_ns;
        of_tck(self.idd0, timing.rc_tck)
            - of_tck(self.idd3n, timing.ras_tck)
            - of_tck(self.idd2n, timing.rc_tck - timing.ras_tck)
    }

    /// What one chip draws while rows open as fast as the configuration lets them.
    pub fn peak(&self, config: &Config) -> Peak {
        let rcd_ns = config.timing.rcd_tck as f64 * config.tck_ps as f64 / 1000.0;
        let of_rows = |banks: u64| self.idd3n + banks as f64 * self.row_charge(config) / rcd_ns;
        let banks = config.timing.faw_banks.min(config.banks() as u64);
        Peak {
            banks,
            open_ma: of_rows(banks),
            jedec_ma: of_rows(Peak::JEDEC_BANKS),
            refresh_ma: self.idd5b,
        }
    }

    /// The energy of an operator, of all chips of the rank.
    pub fn energy(&self, config: &Config, statistics: &Statistics) -> Energy {
        let timing = &config.timing;
        let tck_ns = config.tck_ps as f64 / 1000.0;
        let chips = config.organisation.chips as f64;
        let (banks, opened) = (config.banks() as f64, timing.faw_banks as f64);
        // V x mA x ns = pJ
        let of_tck = |current: f64, tck: u64| self.vdd * current * tck as f64 * tck_ns * chips;
        let above_standby = |current: f64, tck: u64| of_tck(current - self.idd3n, tck);

        let activate = self.vdd * self.row_charge(config) * chips;
        let read = above_standby(self.idd4r, timing.burst_tck);
        let write = above_standby(self.idd4w, timing.burst_tck);
        let refresh = above_standby(self.idd5b, timing.rfc_tck);

        let count = |command: PinCommand| statistics.commands[command as usize] as f64;
        let times = |pj: f64, count: u64| pj * count as f64;
        let logic = &self.logic;
        let all_bank_read = read * banks * count(PinCommand::RdAll);
        let idle_clocks = (statistics.cycles / timing.ccd_l_tck).saturating_sub(statistics.used);
        let of_bank_pu =
            times(logic.bank_pu, statistics.used) + times(logic.bank_pu_idle, idle_clocks);
        let written = count(PinCommand::WrShared);
        let relayed = written + count(PinCommand::Rd) + count(PinCommand::Wr);
        let each_tck = logic.rank_pu_tck + logic.rank_pu_rest_tck + logic.relayout_tck;
        Energy {
            activate: activate * (count(PinCommand::Act) + opened * count(PinCommand::ActAll)),
            all_bank_read,
            all_bank_read_least: self.rd_in_bank * all_bank_read,
            bursts: read * (count(PinCommand::Rd) + count(PinCommand::RdResult))
                + write * (count(PinCommand::Wr) + count(PinCommand::WrShared)),
            refresh: refresh * count(PinCommand::Ref),
            standby: of_tck(self.idd3n, statistics.cycles),
            bank_pus: of_bank_pu * banks * chips,
            chips: times(logic.chips_tck, statistics.cycles),
            rank_pu: times(each_tck, statistics.cycles)
                + times(logic.adder_unit_tck, statistics.adder_unit_cycles)
                + times(logic.softmax_unit_tck, statistics.softmax_unit_cycles)
                + logic.relayout_burst * relayed,
            // A burst is a word for each chip, as an all-bank RD takes one.
            memories: logic.memory_64 * chips * (written + count(PinCommand::RdAll))
                + times(logic.score_buffer_64, statistics.softmax_unit_cycles),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy_of(command: PinCommand, cycles: u64) -> Energy {
        let config = Config::ddr4_3200();
        let power = Power::of(&config).expect("the preset");
        let mut statistics = Statistics { cycles, ..Default::default() };
        statistics.commands[command as usize] = 1;
        power.energy(&config, &statistics)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b
    }

    // By hand, from the data sheet's figures: V x mA x tCK x ns x chips.

    #[test]
    fn a_command_takes_what_its_current_is_above_standby() {
        let activate = 1.2 * (57.0 * 74.0 - 52.0 * 52.0 - 37.0 * 22.0) * 0.625 * 8.0;
        assert!(near(activate, 4200.0));
        assert!(near(energy_of(PinCommand::Act, 0).total(), 4200.0));
        assert!(near(energy_of(PinCommand::ActAll, 0).activate, 16.0 * 4200.0));
        assert!(near(energy_of(PinCommand::Rd, 0).bursts, 2784.0)); // 1.2 x 116 x 4 x 0.625 x 8
        assert!(near(energy_of(PinCommand::RdAll, 0).all_bank_read, 16.0 * 2784.0));
        assert!(near(energy_of(PinCommand::WrShared, 0).bursts, 2352.0)); // 1.2 x 98 x 4 x 0.625 x 8
        assert!(near(energy_of(PinCommand::Ref, 0).refresh, 665_280.0)); // 1.2 x 198 x 560 x 0.625 x 8
    }

    /// 9.5 mA are above standby for a tRC of 46.25 ns: sixteen times as much charge comes in a tRCD of 13.75 ns.
    #[test]
    fn sixteen_rows_at_once_draw_four_times_the_current_of_four() {
        let mut config = Config::ddr4_3200();
        let power = Power::of(&config).expect("the preset");
        let charge = 57.0 * 46.25 - 52.0 * 32.5 - 37.0 * 13.75;
        let peak = power.peak(&config);
        assert!(near(peak.open_ma, 52.0 + 16.0 * charge / 13.75), "{peak:?}");
        assert!(near(peak.open_ma - 52.0, 4.0 * (peak.jedec_ma - 52.0)), "{peak:?}");
        assert_eq!((peak.banks, peak.refresh_ma), (16, 250.0));
        config.timing.faw_banks = Peak::JEDEC_BANKS;
        let staggered = power.peak(&config);
        assert!(near(staggered.open_ma, peak.jedec_ma), "{staggered:?}");
    }

    #[test]
    fn standby_and_units_take_time() {
        assert!(near(energy_of(PinCommand::PreAll, 1000).dram(), 1.2 * 52.0 * 8.0 * 625.0));
        let config = Config::ddr4_3200();
        let statistics = Statistics {
            cycles: 80,
            used: 2,
            adder_unit_cycles: 16,
            softmax_unit_cycles: 32,
            ..Default::default()
        };
        let energy = Power::of(&config).expect("the preset").energy(&config, &statistics);
        assert!(near(energy.bank_pus, 128.0 * (2.0 * 18.74 + 8.0 * 0.675)));
        let each_tck = 80.0 * (20.6 + 34.1 + 2.59);
        assert!(near(energy.rank_pu, each_tck + 15.4 * 16.0 + 13.8 * 32.0));
        assert!(near(energy.chips, 80.0 * 187.0));
        assert!(near(energy.memories, 12.4 * 32.0));
        assert!(near(energy.logic() + energy.dram(), energy.total()));
        let read = energy_of(PinCommand::RdAll, 0);
        assert!(near(read.all_bank_read_least, 0.4 * read.all_bank_read));
        assert!(near(read.total() - read.least(), 0.6 * read.all_bank_read));
        assert!(near(read.memories, 8.0 * 6.2));
    }

    #[test]
    fn only_what_is_published_is_known() {
        assert_eq!(Power::of(&Config::gddr6_aim()), None);
    }
}
