// SPDX-License-Identifier: MIT
//! All channels of a device of LPDDR5X-PIM. Each has requests of its own and goes at its own pace; a run ends with the
//! last of them.

use super::blocks::{BANKS, BlockCounts, Vector};
use super::channel::{BusUse, Channel};
use super::options::Lp5Options;
use super::preset::Lp5Spec;
use super::request::{BurstPlace, Request};
use super::units::{ROWS, Units};
use super::wave::Lp5Wave;
use crate::config::{Config, ConfigError};
use crate::device::Device;
use crate::error::DeviceError;
use crate::pins::PinWatch;
use crate::statistics::Statistics;
use std::collections::VecDeque;
use std::io;
use std::path::Path;

/// A host whose requests depend on what it has read, and when.
pub trait Lp5Host {
    /// Its next request for a channel, which is no fence and comes at a tCK; none, if it has none now.
    fn next(&mut self, channel: usize, at_tck: u64) -> Option<Request>;

    /// What it has read of a channel is there: in the order of its reads of that channel.
    fn read(&mut self, channel: usize, at_tck: u64, place: BurstPlace, data: &Vector);
}

/// Data on the way to the host, and when they are there.
type OnTheWay = VecDeque<(u64, BurstPlace, Vector)>;

/// A device.
pub struct Lp5Device {
    config: Config,
    options: Lp5Options,
    channels: Vec<Channel>,
}

impl Lp5Device {
    /// A device that has just been reset.
    ///
    /// # Errors
    ///
    /// If its DRAM cannot be one whose commands are of all banks.
    pub fn new(spec: &Lp5Spec, options: Lp5Options) -> Result<Self, ConfigError> {
        let config = spec.config();
        check(spec, &config)?;
        let channel = |_| Channel::new(&config, options);
        let channels = (0..spec.channels.count).map(channel).collect();
        Ok(Self { config, options, channels })
    }

    /// How it works.
    pub fn options(&self) -> Lp5Options {
        self.options
    }

    /// Has units in the place of a channel's modes and blocks. It has just been reset.
    ///
    /// # Errors
    ///
    /// If banks have another number of rows than the units keep.
    ///
    /// # Panics
    ///
    /// If the device is plain LPDDR5X, which has neither.
    pub fn attach(&mut self, channel: usize, units: Units) -> Result<(), ConfigError> {
        assert!(!self.options.plain, "a device with blocks");
        let rows = self.config.organisation.rows;
        self.config.require("rows", rows as u64, rows == ROWS, "65536, those of `pim_mode`")?;
        self.channels[channel].attach(units);
        Ok(())
    }

    /// How many channels there are.
    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// What arrived at the blocks of a channel since the operator began.
    pub fn counts(&self, channel: usize) -> BlockCounts {
        self.channels[channel].counts()
    }

    /// Whether a channel's commands are of all banks.
    pub fn is_multi_bank(&self, channel: usize) -> bool {
        self.channels[channel].is_multi_bank()
    }

    /// Has the pins of a channel watched from here on.
    pub fn watch_channel(&mut self, channel: usize, watch: Box<dyn PinWatch>) {
        self.channels[channel].watch(watch);
    }

    /// Each channel does what is asked of it; `read` is told what is read, and by which channel. All channels begin
    /// and end together, with banks closed and no REF owed.
    ///
    /// # Errors
    ///
    /// If the waveform cannot be written.
    ///
    /// # Panics
    ///
    /// If a place is outside of the banks.
    pub fn run<R: Iterator<Item = Request>>(
        &mut self,
        requests: impl Fn(usize) -> R,
        mut read: impl FnMut(usize, BurstPlace, &Vector),
    ) -> Result<(), DeviceError> {
        for (number, channel) in self.channels.iter_mut().enumerate() {
            channel.run(&mut requests(number), &mut |place, data| read(number, place, data))?;
        }
        self.meet()
    }

    /// What the data lines of a channel were used for since the operator began.
    pub fn bus_use(&self, channel: usize) -> BusUse {
        self.channels[channel].bus_use()
    }

    /// Serves a host until it asks for nothing, and nothing is on its way to it. All channels go at one pace, and end
    /// together, with banks closed and no REF owed.
    ///
    /// # Errors
    ///
    /// If the waveform cannot be written.
    ///
    /// # Panics
    ///
    /// If a place is outside of the banks.
    pub fn serve(&mut self, host: &mut dyn Lp5Host) -> Result<(), DeviceError> {
        let mut on_the_way: Vec<OnTheWay> = vec![OnTheWay::new(); self.channels.len()];
        let mut next: Vec<Option<u64>> = vec![None; self.channels.len()];
        let mut now = self.tck();
        // The channel that gave a command.
        let mut stepped = None;
        loop {
            for (number, channel) in self.channels.iter_mut().enumerate() {
                let mut is_other = stepped == Some(number);
                while channel.has_room()
                    && let Some(request) = host.next(number, now)
                {
                    channel.ask(now, request)?;
                    is_other = true;
                }
                if is_other {
                    next[number] = channel.next_tck();
                }
            }
            let command = earliest(next.iter().copied());
            let ends = on_the_way.iter().map(|data| data.front().map(|(until, ..)| *until));
            match (command, earliest(ends)) {
                (command, Some((until, number)))
                    if command.is_none_or(|(at_tck, _)| until <= at_tck) =>
                {
                    (now, stepped) = (until, None);
                    if let Some((at_tck, place, data)) = on_the_way[number].pop_front() {
                        host.read(number, at_tck, place, &data);
                    }
                }
                (Some((at_tck, number)), _) => {
                    (now, stepped) = (at_tck, Some(number));
                    let (channel, mut read) = (&mut self.channels[number], None);
                    let until = channel.step(&mut |place, data| read = Some((place, *data)))?;
                    if let Some(((place, data), until)) = read.zip(until) {
                        on_the_way[number].push_back((until, place, data));
                    }
                }
                _ => break,
            }
        }
        self.channels.iter_mut().try_for_each(Channel::finish)?;
        self.meet()
    }

    /// Channels that are done wait for the last.
    fn meet(&mut self) -> Result<(), DeviceError> {
        // A REF may be under way when the last is done.
        while let Some(behind) = self.behind() {
            let until = self.tck();
            self.channels[behind].idle_until(until)?;
        }
        Ok(())
    }

    /// A channel that is not as far as the last.
    fn behind(&self) -> Option<usize> {
        let last = self.tck();
        self.channels.iter().position(|channel| channel.tck() < last)
    }
}

impl Device for Lp5Device {
    fn config(&self) -> &Config {
        &self.config
    }

    fn tck(&self) -> u64 {
        self.channels.iter().map(Channel::tck).max().unwrap_or(0)
    }

    fn begin(&mut self) {
        self.channels.iter_mut().for_each(Channel::begin);
    }

    /// Those of the channel that is the last to end.
    fn end(&mut self) -> Statistics {
        let ends = self.channels.iter_mut().map(Channel::end);
        ends.max_by_key(|statistics| statistics.cycles).unwrap_or_default()
    }

    /// Those of channel 0.
    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.watch_channel(0, watch);
    }

    /// Of the commands of channel 0.
    fn trace(&mut self, file: &Path) -> io::Result<()> {
        let wave = Lp5Wave::create(file, self.config.tck_ps)?;
        self.channels[0].trace(wave);
        Ok(())
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.channels[0].finish_trace()
    }
}

/// The earliest of times that there are, and whose it is.
fn earliest(times: impl Iterator<Item = Option<u64>>) -> Option<(u64, usize)> {
    times.enumerate().filter_map(|(number, time)| Some((time?, number))).min()
}

/// Whether a host that knows one bank keeps the times of all, and pins can name what there is.
fn check(spec: &Lp5Spec, config: &Config) -> Result<(), ConfigError> {
    config.check_control()?;
    let timing = &config.timing;
    let (banks, ranks, rows) = (config.banks(), spec.channels.ranks, config.organisation.rows);
    let handover = timing.rcd_wr_tck + timing.wr_to_pre_tck() + timing.rp_tck;
    for (key, value, holds, expected) in [
        ("bank_groups", banks as u64, banks == BANKS, "16 banks on a channel"),
        ("ranks", ranks as u64, ranks == 1, "1: several are not built"),
        ("rows", rows as u64, rows >= 8, "8 or more: the last four are reserved"),
        ("page_bytes", config.columns() as u64, config.columns() == 64, "64 columns in a row"),
        ("FAW_BANKS", timing.faw_banks, timing.faw_banks == 16, "16: an ACT of all banks"),
        ("FAW", timing.faw_tck, timing.faw_tck <= timing.rc_tck, "at most RC"),
        ("FAW", timing.faw_tck, timing.faw_tck <= handover, "at most RCD_WR + CWL + BL + WR + RP"),
        ("RRD_L", timing.rrd_l_tck, timing.rrd_l_tck <= handover, "at most as long"),
    ] {
        config.require(key, value, holds, expected)?;
    }
    Ok(())
}
