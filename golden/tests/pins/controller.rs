// SPDX-License-Identifier: MIT
//! A controller that gives each command as early as it may.

use pimlico_golden::pins::{Pin, Rules};

/// A controller of its own kind: it keeps, for each command it could give, the first tCK at which it
/// may, and pushes these tCKs out with each command it gives. (The checker looks back; this looks
/// ahead.) `next[bank]` are those of each bank.
pub struct Controller {
    rules: Rules,
    pub open: Vec<bool>,
    next_act: Vec<u64>,
    next_pre: Vec<u64>,
    next_rd: Vec<u64>,
    next_wr: Vec<u64>,
    next_act_all: u64,
    next_rd_all: u64,
    next_wr_all: u64,
    next_rd_result: u64,
    next_wr_shared: u64,
    next_ref: u64,
    next_word: u64,
    next_mrs: u64,
    acts: Vec<u64>,
}

fn raise(tck: &mut u64, to: u64) {
    *tck = (*tck).max(to);
}

impl Controller {
    pub fn new(rules: Rules) -> Self {
        let banks = rules.bank_groups * rules.banks_per_group;
        Self {
            rules,
            open: vec![false; banks],
            next_act: vec![0; banks],
            next_pre: vec![0; banks],
            next_rd: vec![0; banks],
            next_wr: vec![0; banks],
            next_act_all: 0,
            next_rd_all: 0,
            next_wr_all: 0,
            next_rd_result: 0,
            next_wr_shared: 0,
            next_ref: 0,
            next_word: 0,
            next_mrs: 0,
            acts: Vec::new(),
        }
    }

    pub fn allowed(&self, pin: Pin) -> bool {
        match pin {
            Pin::Act { bank, .. } => !self.open[bank],
            Pin::Rd { bank, .. } | Pin::Wr { bank, .. } => self.open[bank],
            Pin::ActAll { bank, .. } => !self.open[self.opened_from(bank)].contains(&true),
            Pin::Ref | Pin::Mrs { .. } => !self.open.contains(&true),
            Pin::RdAll { .. } | Pin::WrAll { .. } => !self.open.contains(&false),
            _ => true,
        }
    }

    /// The banks that an ACT_ALL opens.
    fn opened_from(&self, bank: usize) -> std::ops::Range<usize> {
        bank..bank + self.rules.faw_banks
    }

    pub fn earliest(&self, pin: Pin) -> u64 {
        let latest = |of: &[u64]| of.iter().copied().max().unwrap_or(0);
        let window = |count: usize| {
            let first = self.acts.len().checked_sub(count).map(|i| self.acts[i]);
            first.map_or(0, |tck| tck + self.rules.t_faw)
        };
        match pin {
            Pin::Act { bank, .. } => self.next_act[bank].max(window(4)),
            Pin::ActAll { bank, .. } => {
                let of_banks = latest(&self.next_act[self.opened_from(bank)]);
                of_banks.max(window(1)).max(self.next_act_all)
            }
            Pin::Pre { bank } => self.next_pre[bank],
            Pin::PreAll => latest(&self.next_pre),
            Pin::Rd { bank, .. } => self.next_rd[bank],
            Pin::Wr { bank, .. } => self.next_wr[bank],
            Pin::RdAll { .. } => self.next_rd_all,
            Pin::WrAll { .. } => self.next_wr_all,
            Pin::RdResult { .. } => self.next_rd_result,
            Pin::WrShared { .. } => self.next_wr_shared,
            Pin::Ref => self.next_ref,
            Pin::SetWord { .. } => self.next_word,
            Pin::Mrs { .. } => self.next_mrs,
        }
    }

    pub fn give(&mut self, t: u64, pin: Pin) {
        let r = self.rules.clone();
        let group = |bank: usize| bank / r.banks_per_group;
        let turn = r.cl + r.burst + r.rtw_gap - r.cwl;
        let written = t + r.cwl + r.burst;
        let between = r.t_ccd_s.max(r.t_ccd_result.unwrap_or(0));
        let banks = 0..self.open.len();
        if let Some(t_modch) = r.t_modch {
            let moved = match pin {
                Pin::RdResult { .. } => r.cl + r.burst,
                Pin::WrShared { .. } => r.cwl + r.burst,
                _ => 0,
            };
            let other_mode = t + moved + t_modch + 1;
            match pin {
                Pin::ActAll { .. } | Pin::RdAll { .. } => {
                    raise(&mut self.next_rd_result, other_mode);
                    raise(&mut self.next_wr_shared, other_mode);
                }
                Pin::RdResult { .. } | Pin::WrShared { .. } => {
                    raise(&mut self.next_rd_all, other_mode);
                    raise(&mut self.next_act_all, other_mode);
                }
                _ => {}
            }
        }
        match pin {
            Pin::Act { .. } | Pin::ActAll { .. } => {
                let these = match pin {
                    Pin::ActAll { bank, .. } => self.opened_from(bank),
                    Pin::Act { bank, .. } => bank..bank + 1,
                    _ => 0..0,
                };
                let groups: Vec<_> = these.clone().map(group).collect();
                for bank in banks {
                    if these.contains(&bank) {
                        self.open[bank] = true;
                        raise(&mut self.next_act[bank], t + r.t_rc);
                        raise(&mut self.next_pre[bank], t + r.t_ras);
                        raise(&mut self.next_rd[bank], t + r.t_rcd);
                        raise(&mut self.next_wr[bank], t + r.t_rcd_wr);
                    } else {
                        let same = groups.contains(&group(bank));
                        let rrd = if same { r.t_rrd_l } else { r.t_rrd_s };
                        raise(&mut self.next_act[bank], t + rrd);
                    }
                }
                // An ACT_ALL takes the whole window.
                let taken = if matches!(pin, Pin::Act { .. }) { 1 } else { 4 };
                self.acts.extend([t; 4].iter().take(taken));
                raise(&mut self.next_rd_all, t + r.t_rcd_mac);
                raise(&mut self.next_wr_all, t + r.t_rcd_wr);
            }
            Pin::Pre { .. } | Pin::PreAll => {
                for bank in banks.filter(|&b| pin == Pin::PreAll || pin == Pin::Pre { bank: b }) {
                    self.open[bank] = false;
                    raise(&mut self.next_act[bank], t + r.t_rp);
                }
                raise(&mut self.next_ref, t + r.t_rp);
                raise(&mut self.next_mrs, t + r.t_rp);
            }
            Pin::Rd { bank: b, .. } => {
                for bank in banks {
                    let ccd = if group(b) == group(bank) { r.t_ccd_l } else { r.t_ccd_s };
                    raise(&mut self.next_rd[bank], t + ccd);
                    raise(&mut self.next_wr[bank], t + turn.max(ccd));
                }
                raise(&mut self.next_pre[b], t + r.t_rtp);
                raise(&mut self.next_rd_all, t + r.t_ccd_l);
                raise(&mut self.next_wr_all, t + turn.max(r.t_ccd_l));
                raise(&mut self.next_rd_result, t + r.t_ccd_s);
                raise(&mut self.next_wr_shared, t + turn.max(r.t_ccd_s));
            }
            Pin::Wr { bank: b, .. } => {
                for bank in banks {
                    let same = group(b) == group(bank);
                    let (ccd, wtr) =
                        if same { (r.t_ccd_l, r.t_wtr_l) } else { (r.t_ccd_s, r.t_wtr_s) };
                    raise(&mut self.next_wr[bank], t + ccd);
                    raise(&mut self.next_rd[bank], written + wtr);
                }
                raise(&mut self.next_pre[b], written + r.t_wr);
                raise(&mut self.next_rd_all, written + r.t_wtr_l);
                raise(&mut self.next_wr_all, t + r.t_ccd_l);
                raise(&mut self.next_rd_result, t + r.t_ccd_s);
                raise(&mut self.next_wr_shared, t + r.t_ccd_s);
            }
            Pin::RdAll { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_l);
                    raise(&mut self.next_wr[bank], t + r.t_ccd_l);
                    raise(&mut self.next_pre[bank], t + r.t_rtp);
                }
                raise(&mut self.next_rd_all, t + r.t_ccd_l);
                raise(&mut self.next_wr_all, t + r.t_ccd_l);
            }
            Pin::WrAll { .. } => {
                for bank in banks {
                    raise(&mut self.next_wr[bank], t + r.t_ccd_l);
                    raise(&mut self.next_rd[bank], written + r.t_wtr_l);
                    raise(&mut self.next_pre[bank], written + r.t_wr);
                }
                raise(&mut self.next_rd_all, written + r.t_wtr_l);
                raise(&mut self.next_wr_all, t + r.t_ccd_l);
                raise(&mut self.next_rd_result, t + r.t_ccd_s);
                raise(&mut self.next_wr_shared, t + r.t_ccd_s);
            }
            Pin::RdResult { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_s);
                    raise(&mut self.next_wr[bank], t + turn.max(r.t_ccd_s));
                }
                raise(&mut self.next_wr_all, t + turn.max(r.t_ccd_s));
                raise(&mut self.next_rd_result, t + between);
                raise(&mut self.next_wr_shared, t + turn.max(between));
            }
            Pin::WrShared { .. } => {
                for bank in banks {
                    raise(&mut self.next_rd[bank], t + r.t_ccd_s);
                    raise(&mut self.next_wr[bank], t + r.t_ccd_s);
                }
                raise(&mut self.next_wr_all, t + r.t_ccd_s);
                raise(&mut self.next_rd_result, t + between);
                raise(&mut self.next_wr_shared, t + between);
                if let Some(wtr) = r.t_wtr_shared {
                    raise(&mut self.next_rd_all, written + wtr);
                    raise(&mut self.next_rd_result, written + wtr);
                }
            }
            Pin::Ref => {
                for bank in banks {
                    raise(&mut self.next_act[bank], t + r.t_rfc);
                    raise(&mut self.next_pre[bank], t + r.t_rfc);
                }
                raise(&mut self.next_rd_result, t + r.t_rfc);
                raise(&mut self.next_wr_shared, t + r.t_rfc);
                raise(&mut self.next_ref, t + r.t_rfc);
                raise(&mut self.next_word, t + r.t_rfc);
                raise(&mut self.next_mrs, t + r.t_rfc);
            }
            Pin::Mrs { .. } => {
                let others = [&mut self.next_rd_result, &mut self.next_wr_shared];
                let others = others.into_iter().chain([&mut self.next_ref, &mut self.next_word]);
                let others = others.chain(&mut self.next_act).chain(&mut self.next_pre);
                others.for_each(|next| raise(next, t + 24));
                raise(&mut self.next_mrs, t + 8);
            }
            Pin::SetWord { .. } => {}
        }
    }
}
