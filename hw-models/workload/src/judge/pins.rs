// SPDX-License-Identifier: MIT
//! Inputs of the checker of pins: the rules of a preset, and those that a host programs; and the
//! checker at the pins of a rank.

use super::Findings;
use super::host_pins::{HostFound, HostLog};
use pimlico_device::data_bus::Beats;
use pimlico_device::spd::Advertised;
use pimlico_device::{
    BusDriver, Config, Dimm, LANES, Looks, Organisation, PinLaps, PinWatch, RankDevice, Stretches,
    Timing, WriteRun, WriteStretch,
};
use pimlico_dpa::types::{PinCommand, Pins, ResultAddress};
pub use pimlico_golden::pins::Violation;
use pimlico_golden::pins::{self as golden, Driver, Pin, PinChecker, Rules};
use pimlico_host::aim::AimHost;
use pimlico_host::memory_controller::standard;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Violations that are kept; the others are counted.
const KEPT: usize = 8;

/// The checkers at the pins of a rank's chips, and at those of its host.
#[derive(Clone)]
pub struct PinLog(Rc<RefCell<Log>>);

struct Log {
    checker: PinChecker,
    count: u64,
    first: Vec<Violation>,
    /// When data were on the bus, if it is kept.
    bursts: Option<Vec<Range<u64>>>,
    /// Rows that were opened, if they are kept.
    opened: Option<BTreeSet<usize>>,
    /// The host's pins, where its commands are those of a rank.
    host: Option<HostLog>,
    clean: Clean,
    /// The stretch of the host that goes on, with what was found before it.
    judging: Option<(u64, u64)>,
    /// The lap that goes on.
    judging_lap: Option<laps::Judging>,
}

/// Stretches of hosts, and laps of runs, in which nothing was found, by checkers with the same rules.
#[derive(Clone, Debug, Default)]
pub struct Clean(Arc<Mutex<Known>>);

/// What is known to be clean.
#[derive(Debug, Default)]
struct Known {
    stretches: HashSet<u64>,
    laps: laps::CleanLaps,
}

impl Clean {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PinLog {
    /// Watches a rank that has only been initialised: its chips are unlocked.
    pub fn of(rank: &mut dyn RankDevice) -> Self {
        let options = rank.options();
        let log = Self::new(rules(rank.config()), options.refresh);
        log.0.borrow_mut().host = Some(HostLog::new(rank.config(), options));
        rank.watch(Box::new(log.clone()));
        log
    }

    /// The same, where it shares what it has found with those of ranks of the same configuration and options.
    pub fn sharing(self, clean: Clean) -> Self {
        self.0.borrow_mut().clean = clean;
        self
    }

    /// Watches a module that has just been reset: its chips are locked.
    pub fn of_reset(dimm: &mut dyn Dimm) -> Self {
        let rules = Rules { locked: true, ..rules(dimm.config()) };
        let log = Self::new(rules, dimm.options().refresh);
        dimm.watch(Box::new(log.clone()));
        log
    }

    /// Watches a channel of a module that has just been reset: what is on its pins is on all of them.
    pub fn of_module(module: &mut AimHost) -> Self {
        let t_modch = module.options().changes_mode().then_some(module.config().timing.modch_tck);
        let rules = Rules { t_modch, ..rules(module.config()) };
        let log = Self::new(rules, module.options().refresh);
        module.watch(Box::new(log.clone()));
        log
    }

    /// Where refresh is off, no REF is missed.
    fn new(mut rules: Rules, refresh: bool) -> Self {
        rules.t_refi = rules.t_refi.filter(|_| refresh);
        let checker = PinChecker::new(rules);
        let (first, bursts, opened, host) = (Vec::new(), None, None, None);
        let (clean, judging, judging_lap) = (Clean::default(), None, None);
        let log =
            Log { checker, count: 0, first, bursts, opened, host, clean, judging, judging_lap };
        Self(Rc::new(RefCell::new(log)))
    }

    /// Keeps from here on when data are on the bus.
    pub fn keep_bursts(&self) {
        self.0.borrow_mut().bursts.get_or_insert_default();
    }

    /// Keeps from here on which rows are opened.
    pub fn keep_opened(&self) {
        self.0.borrow_mut().opened.get_or_insert_default();
    }

    /// The rows that were opened since this was asked last, as far as it was kept.
    pub fn take_opened(&self) -> Vec<usize> {
        let opened = self.0.borrow_mut().opened.as_mut().map(std::mem::take);
        opened.into_iter().flatten().collect()
    }

    /// When data were on the bus from `from_tck` on, counted from there, as far as it was kept. Bursts without a
    /// pause between them are one.
    pub fn bursts(&self, from_tck: u64) -> Vec<Range<u64>> {
        let log = self.0.borrow();
        let bursts = log.bursts.iter().flatten().filter(|burst| burst.start >= from_tck);
        bursts.map(|burst| burst.start - from_tck..burst.end - from_tck).collect()
    }

    /// All that was found until `at_tck`.
    pub fn findings(&self, at_tck: u64) -> Findings {
        Findings { violations: self.violations(at_tck), host: self.host(at_tck) }
    }

    /// What was found at the host's pins until `at_tck`, if they are those of a rank.
    pub fn host(&self, at_tck: u64) -> Option<HostFound> {
        self.0.borrow_mut().host.as_mut().map(|host| host.found(at_tck))
    }

    /// How many violations there were at the chips' pins until `at_tck`, and the first of them.
    pub fn violations(&self, at_tck: u64) -> (u64, Vec<Violation>) {
        let mut log = self.0.borrow_mut();
        let found = log.checker.finish(at_tck);
        log.add(found);
        (log.count, log.first.clone())
    }
}

impl Log {
    fn add(&mut self, found: Vec<Violation>) {
        self.count += found.len() as u64;
        let room = KEPT - self.first.len();
        self.first.extend(found.into_iter().take(room));
    }

    /// What was found so far, on either side.
    fn found(&self) -> u64 {
        self.count + self.host.as_ref().map_or(0, HostLog::violations)
    }

    /// Whether what is found behind a REF in this tCK, until so many tCK later, does not depend on anything before.
    fn is_fresh(&self, at_tck: u64, tck: u64) -> bool {
        self.checker.is_fresh(at_tck, tck)
            && self.host.as_ref().is_none_or(|host| host.is_fresh(at_tck))
    }

    /// Whether each command and each burst is to be told, as something of them is kept.
    fn keeps_each(&self) -> bool {
        self.bursts.is_some() || self.opened.is_some()
    }

    /// Data were on the chips' bus.
    fn keep(&mut self, tck: Range<u64>) {
        let Some(bursts) = &mut self.bursts else { return };
        match bursts.last_mut() {
            Some(last) if last.end == tck.start => last.end = tck.end,
            _ => bursts.push(tck),
        }
    }
}

impl PinWatch for PinLog {
    fn command(&mut self, at_tck: u64, pins: Pins) {
        let mut log = self.0.borrow_mut();
        if let Some(pin) = pin(pins) {
            if let (Pin::Act { row, .. } | Pin::ActAll { row, .. }, Some(opened)) =
                (pin, &mut log.opened)
            {
                opened.insert(row);
            }
            let found = log.checker.command(at_tck, pin);
            log.add(found);
        }
        if let Some(host) = &mut log.host {
            host.chips(at_tck, pins);
        }
    }

    fn reads(&mut self, from_tck: u64, every_tck: u64, reads: &[Pins]) {
        let mut log = self.0.borrow_mut();
        let columns = reads.iter().map(Pins::column);
        let found = log.checker.reads(from_tck, every_tck, columns.clone());
        log.add(found);
        if let Some(host) = &mut log.host {
            host.reads(from_tck, every_tck, columns);
        }
    }

    fn host_command(&mut self, at_tck: u64, pins: Pins) {
        if let Some(host) = &mut self.0.borrow_mut().host {
            host.command(at_tck, pins);
        }
    }

    fn host_data(&mut self, at_tck: u64, driven: [Option<u64>; 2], seen: [Option<u64>; 2]) {
        if let Some(host) = &mut self.0.borrow_mut().host {
            host.data(at_tck, driven, seen);
        }
    }

    fn wants_beats(&self) -> bool {
        false
    }

    fn host_burst(&mut self, from_tck: u64, beats: &Beats, read: bool) {
        if let Some(host) = &mut self.0.borrow_mut().host {
            host.burst(from_tck, *beats, read);
        }
    }

    fn takes(&mut self, run: &WriteRun) -> bool {
        let log = self.0.borrow();
        let banks: Vec<usize> = run.banks.iter().collect();
        log.host.as_ref().is_none_or(|host| host.takes(&golden_run(run, &banks, run.from_tck)))
    }

    fn writes(&mut self, run: &WriteRun, host_tck: u64, chips_tck: u64) {
        let mut log = self.0.borrow_mut();
        let banks: Vec<usize> = run.banks.iter().collect();
        let found = log.checker.writes(&golden_run(run, &banks, chips_tck));
        log.add(found);
        if let Some(host) = &mut log.host {
            host.writes(&golden_run(run, &banks, host_tck));
        }
        log.keep(chips_tck..run.tck(run.count) + (chips_tck - run.from_tck));
    }

    fn knows(&mut self, at_tck: u64, stretches: &Stretches) -> bool {
        let mut log = self.0.borrow_mut();
        let found = log.found();
        if let Some((number, before)) = log.judging.take()
            && stretches.ended == Some(number)
            && found == before
        {
            log.clean.known().stretches.insert(number);
        }
        let Some(number) = stretches.begins else { return false };
        let tck = stretches.known.as_ref().map_or(0, |stretch| stretch.tck);
        if !log.is_fresh(at_tck, tck) {
            return false;
        }
        let known = stretches.known.as_ref();
        let is_judged = known.is_some_and(|known| log.checker.reach() <= known.long_tck);
        if is_judged && !log.keeps_each() && log.clean.known().stretches.contains(&number) {
            return true;
        }
        log.judging = Some((number, found));
        false
    }

    fn takes_laps(&self) -> bool {
        !self.0.borrow().keeps_each()
    }

    fn laps(&mut self, laps: &PinLaps) -> u64 {
        self.0.borrow_mut().take_laps(laps)
    }

    fn looks(&mut self, looks: &Looks, _: u64) {
        if let Some(host) = &mut self.0.borrow_mut().host {
            host.looks(looks);
        }
    }

    fn stretch(&mut self, stretch: &WriteStretch) {
        if let Some(host) = &mut self.0.borrow_mut().host {
            host.pass(stretch.commands.iter().sum());
        }
    }

    fn data(&mut self, from_tck: u64, until_tck: u64, driver: BusDriver) {
        let driver = match driver {
            BusDriver::Chips => Driver::Dram,
            BusDriver::BufferChip => Driver::Controller,
        };
        let mut log = self.0.borrow_mut();
        let found = log.checker.data(from_tck, until_tck, driver);
        log.add(found);
        log.keep(from_tck..until_tck);
    }
}

/// A run of writes as the checkers know it.
fn golden_run<'a>(run: &WriteRun, banks: &'a [usize], data_tck: u64) -> golden::WriteRun<'a> {
    let WriteRun { from_tck, every_tck, count, column, place, .. } = *run;
    golden::WriteRun { from_tck, every_tck, count, banks, place, column, data_tck }
}

/// What the chips of a preset demand.
pub fn rules(config: &Config) -> Rules {
    let Organisation { bank_groups, banks_per_group, .. } = config.organisation;
    let Timing {
        burst_tck,
        ccd_s_tck,
        ccd_l_tck,
        ccd_result_tck,
        rrd_s_tck,
        rrd_l_tck,
        faw_tck,
        faw_banks,
        ..
    } = config.timing;
    let Timing { rcd_tck, rcd_wr_tck, rcd_mac_tck, ras_tck, rp_tck, rc_tck, .. } = config.timing;
    let Timing { cl_tck, cwl_tck, rtw_gap_tck, wtr_s_tck, wtr_l_tck, wtr_shared_tck, .. } =
        config.timing;
    let Timing { cl_reg_tck, cwl_gb_tck, .. } = config.timing;
    let Timing { wr_tck, rtp_tck, refi_tck, rfc_tck, max_postponed_refs, .. } = config.timing;
    Rules {
        bank_groups,
        banks_per_group,
        burst: burst_tck,
        t_ccd_s: ccd_s_tck,
        t_ccd_l: ccd_l_tck,
        t_ccd_result: Some(ccd_result_tck),
        t_rrd_s: rrd_s_tck,
        t_rrd_l: rrd_l_tck,
        t_faw: faw_tck,
        faw_banks: faw_banks as usize,
        t_rcd: rcd_tck,
        t_rcd_wr: rcd_wr_tck,
        t_rcd_mac: rcd_mac_tck,
        t_ras: ras_tck,
        t_rp: rp_tck,
        t_rc: rc_tck,
        cl: cl_tck,
        cwl: cwl_tck,
        cl_reg: Some(cl_reg_tck).filter(|&tck| tck != cl_tck),
        cwl_gb: Some(cwl_gb_tck).filter(|&tck| tck != cwl_tck),
        t_modch: None,
        rtw_gap: rtw_gap_tck,
        t_wtr_s: wtr_s_tck,
        t_wtr_l: wtr_l_tck,
        t_wtr_shared: Some(wtr_shared_tck).filter(|&tck| tck > 0),
        t_wr: wr_tck,
        t_rtp: rtp_tck,
        t_rfc: rfc_tck,
        t_refi: Some(refi_tck),
        max_postponed: max_postponed_refs,
        locked: false,
    }
}

/// What a host takes a module to demand.
pub fn advertised_rules(advertised: &Advertised) -> Rules {
    let Advertised { module, timing: t, .. } = advertised;
    Rules {
        bank_groups: module.bank_groups as usize,
        banks_per_group: module.banks_per_group as usize,
        burst: standard::BURST_TCK,
        t_ccd_s: standard::CCD_S_TCK,
        t_ccd_l: t.ccd_l_tck,
        t_ccd_result: None,
        t_rrd_s: t.rrd_s_tck,
        t_rrd_l: t.rrd_l_tck,
        t_faw: t.faw_tck,
        faw_banks: standard::ACTS_OF_FAW,
        t_rcd: t.rcd_tck,
        t_rcd_wr: t.rcd_tck,
        t_rcd_mac: t.rcd_tck,
        t_ras: t.ras_tck,
        t_rp: t.rp_tck,
        t_rc: t.rc_tck,
        cl: t.cl_tck,
        cwl: t.wl_tck,
        cl_reg: None,
        cwl_gb: None,
        t_modch: None,
        rtw_gap: standard::TURNAROUND_TCK,
        t_wtr_s: t.wtr_s_tck,
        t_wtr_l: t.wtr_l_tck,
        t_wtr_shared: None,
        t_wr: t.wr_tck,
        t_rtp: t.rtp_tck,
        t_rfc: t.rfc1_tck,
        t_refi: Some(standard::REFI_PS / t.tck_ps),
        max_postponed: 8,
        locked: false,
    }
}

/// The command pins as the checker knows them, if there is a command.
pub fn pin(pins: Pins) -> Option<Pin> {
    let (bank, row, column) = (pins.bank(), pins.row(), pins.column());
    Some(match pins.command {
        PinCommand::None => return None,
        PinCommand::Act => Pin::Act { bank, row },
        PinCommand::ActAll => Pin::ActAll { bank, row },
        PinCommand::Pre => Pin::Pre { bank },
        PinCommand::PreAll => Pin::PreAll,
        PinCommand::Rd => Pin::Rd { bank, column },
        PinCommand::Wr => Pin::Wr { bank, column },
        PinCommand::RdAll => Pin::RdAll { column },
        // The checker wants a bank for its report alone.
        PinCommand::RdResult => {
            let ResultAddress { context_sums, bank, lane, .. } = pins.results();
            let of = if context_sums { bank.get() } else { LANES as u64 * lane.get() };
            Pin::RdResult { bank: of as usize }
        }
        PinCommand::WrShared => Pin::WrShared { word: column },
        PinCommand::Ref => Pin::Ref,
        PinCommand::SetWord => Pin::SetWord { word: column },
        PinCommand::Mrs => Pin::Mrs { register: bank, opcode: row },
    })
}

mod laps;

#[cfg(test)]
mod tests {
    use super::*;
    use pimlico_device::spd::{Description, Spd, Values};

    #[test]
    fn an_honest_image_tells_the_rules_of_the_preset() {
        let rules_of = |values| {
            let image = Description::ddr4_3200().image(values).expect("it has room");
            advertised_rules(&Spd::parse(image.as_bytes()).expect("its own image"))
        };
        // It has no word for an ACT_ALL, nor for what is moved to and from the PUs.
        let rules = Rules { faw_banks: 4, t_ccd_result: None, ..rules(&Config::ddr4_3200()) };
        assert_eq!(rules_of(Values::Honest), rules);
        assert_ne!(rules_of(Values::Spoofed), rules);
    }
}
