// SPDX-License-Identifier: MIT
//! What a command that is chosen makes others wait for.

use super::ChannelCommand;
use super::choice::Pins;
use super::state::State;
use super::times::{BURST, Times};
use crate::channel::mem_scheduler::RowChange;

fn at_least(time: &mut u64, least: u64) {
    *time = least.max(*time);
}

impl State {
    /// The command of this cycle. Returns the rows that it opens and closes for MEM.
    pub(super) fn obey(&mut self, t: &Times, pins: &Pins, now: u64) -> RowChange {
        let after = |time: u64| now + time.max(1);
        let mut change = RowChange::default();
        let bank = usize::from(pins.bank);
        let (rank, group) = (t.rank(pins.bank), bank / 4);
        match pins.command {
            ChannelCommand::None => return change,
            ChannelCommand::Act => {
                self.mem.open |= 1 << bank;
                self.mem.row[bank] = pins.row;
                at_least(&mut self.mem.read_at[bank], after(t.rcd));
                at_least(&mut self.mem.write_at[bank], after(t.rcd_wr));
                at_least(&mut self.mem.precharge_at[bank], after(t.ras));
                self.act_at[rank] = after(t.rrd_s);
                self.act_group_at[group] = after(t.rrd_l);
                self.take_places(rank, 1, now, t.faw);
                self.set_opens_at(rank);
                change.opens = Some((pins.bank, pins.row));
            }
            ChannelCommand::Pre => {
                change.closes = 1 << bank;
                self.mem.act_at[bank] = after(t.rp);
                self.mem.open &= !change.closes;
            }
            ChannelCommand::PreAll => {
                let banks = t.banks(rank);
                change.closes = banks;
                for bank in (0..32).filter(|bank| banks >> bank & 1 == 1) {
                    self.mem.act_at[bank] = after(t.rp);
                }
                self.mem.open &= !change.closes;
            }
            ChannelCommand::Rd => {
                self.mem.hold(bank, after(t.rtp));
                at_least(&mut self.read_at[rank], after(BURST));
                at_least(&mut self.read_at[1 - rank], after(t.other_rank()));
                for at in &mut self.write_at {
                    at_least(at, after(t.rd_to_wr()));
                }
                at_least(&mut self.short_at, after(t.rd_to_short()));
                at_least(&mut self.burst_at, after(t.other_rank()));
            }
            ChannelCommand::Wr => {
                self.mem.hold(bank, after(t.wr_to_pre));
                at_least(&mut self.write_at[rank], after(BURST));
                at_least(&mut self.write_at[1 - rank], after(t.other_rank()));
                self.turned_at[rank] = after(t.wr_to_rd_s);
                self.turned_group_at[group] = after(t.wr_to_rd_l);
                at_least(&mut self.read_at[1 - rank], after(t.wr_to_other_rd()));
                at_least(&mut self.short_at, after(t.wr_to_short()));
                at_least(&mut self.burst_at, after(t.wr_to_other_rd()));
            }
            ChannelCommand::Ref => {
                self.rfc_at[rank] = after(t.rfc);
                self.set_opens_at(rank);
                self.owed -= 1;
                self.turn = if t.single { 0 } else { 1 - self.turn };
            }
            ChannelCommand::PimActivation => {
                self.pim.open |= 0xF << bank;
                self.pim.row = pins.row;
                // What is over is known a cycle later.
                self.pim.precharge_at = after(t.ras) + 1;
                self.faw_at[rank] = after(t.faw);
                self.rcd_pim_at = after(t.rcd_pim);
                if !t.simulator {
                    self.take_places(rank, 4, now, t.faw);
                }
                self.set_opens_at(rank);
                self.settle(now);
            }
            ChannelCommand::PimPrecharge => {
                let banks = if pins.all { u32::MAX } else { 1 << bank };
                self.pim.open &= !banks;
                self.pim.closed_at = after(t.rp);
                for (group, at) in self.pim.act_at.iter_mut().enumerate() {
                    if banks >> (4 * group) & 0xF != 0 {
                        *at = after(t.rp);
                    }
                }
                self.settle(now);
            }
            ChannelCommand::PimGwrite => {
                for at in [
                    &mut self.mem.read_at[bank],
                    &mut self.mem.write_at[bank],
                    &mut self.mem.precharge_at[bank],
                    &mut self.copy_at,
                ] {
                    at_least(at, after(t.copy));
                }
                for at in &mut self.read_at {
                    at_least(at, after(BURST));
                }
            }
            ChannelCommand::PimDotProduct | ChannelCommand::PimGemv => {
                let last = t.last_dot(pins.count);
                self.dot_at = after(last + t.dot);
                self.rtp_at = after(last + t.rtp);
                self.result_at = after(last + t.latency);
                self.steer_at = after(t.steer_after(pins.count));
                if pins.command == ChannelCommand::PimGemv {
                    self.results.push_back(now + last + t.latency);
                }
            }
            ChannelCommand::PimReadResult => {
                at_least(&mut self.short_at, after(t.result_to_short()));
                at_least(&mut self.burst_at, after(BURST));
                self.results.push_back(now + t.cl);
            }
        }
        match pins.command {
            ChannelCommand::Rd | ChannelCommand::Wr => {}
            ChannelCommand::PreAll => self.mem.touch(t.banks(rank)),
            _ => self.mem.touch(1 << bank),
        }
        change
    }
}
