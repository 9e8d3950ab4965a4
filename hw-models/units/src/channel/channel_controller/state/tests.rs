// SPDX-License-Identifier: MIT
//! What the state keeps ready, beside the times from which it is.

use super::super::choice::Pins;
use super::super::{ChannelCommand, ChannelControllerIn};
use super::*;
use crate::channel::draw::Draw;
use pimlico_ports::U;

const COMMANDS: [ChannelCommand; 10] = [
    ChannelCommand::Act,
    ChannelCommand::Act,
    ChannelCommand::Pre,
    ChannelCommand::PreAll,
    ChannelCommand::Rd,
    ChannelCommand::Rd,
    ChannelCommand::Wr,
    ChannelCommand::PimActivation,
    ChannelCommand::PimPrecharge,
    ChannelCommand::PimGwrite,
];

fn times(draw: &mut Draw) -> Times {
    let mut time = || draw.below(20) as u8;
    Times::sample(&ChannelControllerIn {
        rcd_i: time(),
        rcd_wr_i: time(),
        ras_i: time(),
        rp_i: time(),
        rtp_i: time(),
        wr_to_pre_i: time(),
        faw_i: time(),
        copy_i: time(),
        rfc_i: U::new(time().into()),
        single_i: time() < 10,
        ..Default::default()
    })
}

/// Masks of banks from their times, and when the first of these is reached that is not.
fn masks(mem: &Mem, now: u64) -> ([u32; 4], u64) {
    let mut next = u64::MAX;
    let mut of = |banks: u32, times: &[u64; 32]| {
        (0..32).filter(|bank| banks >> bank & 1 == 1).fold(0, |mask, bank| {
            let at = times[bank];
            if at > now {
                next = next.min(at);
            }
            mask | u32::from(at <= now) << bank
        })
    };
    let all = [
        of(mem.open, &mem.read_at),
        of(mem.open, &mem.write_at),
        of(mem.open, &mem.precharge_at),
        of(!mem.open, &mem.act_at),
    ];
    (all, next)
}

#[test]
fn what_is_kept_ready_is_what_the_times_say() {
    for seed in 0..40 {
        let mut draw = Draw(seed);
        let times = times(&mut draw);
        let mut state = State::new();
        let mut now = 0;
        for cycle in 0..3000 {
            now += 1 + if draw.below(8) == 0 { draw.below(30) } else { 0 };
            state.mem.look(now);
            let Masks { read, write, precharge, act } = state.mem.masks;
            let (expected, next) = masks(&state.mem, now);
            assert_eq!([read, write, precharge, act], expected, "{seed}: {cycle}");
            assert!(now < state.mem.until && state.mem.until <= next, "{seed}: {cycle}");
            for rank in 0..2 {
                let window = state.window[rank].into_iter().min().expect("four places");
                let opens_at = state.rfc_at[rank].max(state.faw_at[rank]).max(window);
                assert_eq!(state.opens_at[rank], opens_at, "{seed}: {cycle}");
            }
            let row = draw.below(6) as u16;
            let holding = (0..32).filter(|&bank| state.mem.holds(bank, row));
            let holding = holding.fold(0, |banks, bank| banks | 1 << bank);
            assert_eq!(state.mem.holding(row), holding, "{seed}: {cycle}");
            let closed = (0..GROUPS).filter(|group| state.pim.open >> (4 * group) & 0xF == 0);
            let closed = closed.fold(0, |groups, group| groups | 1 << group);
            assert_eq!(state.pim.closed_groups(), closed, "{seed}: {cycle}");
            if draw.below(3) > 0 {
                let mut command = COMMANDS[draw.below(COMMANDS.len() as u64) as usize];
                if draw.below(40) == 0 {
                    (command, state.owed) = (ChannelCommand::Ref, 1);
                }
                let bank = match command {
                    ChannelCommand::PimActivation => 4 * draw.below(8),
                    _ => draw.below(32),
                };
                let all = draw.below(2) == 0;
                let pins = Pins { command, bank: bank as u8, row, all, ..Pins::default() };
                state.obey(&times, &pins, now);
            }
        }
    }
}
