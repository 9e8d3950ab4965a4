// SPDX-License-Identifier: MIT
//! Schedules to the tCK, and that resting is stepping.

use super::*;
use crate::channel::PimKind;

/// NeuPIMs' timings, without refresh.
fn neupims() -> ChannelControllerIn {
    ChannelControllerIn {
        rcd_i: 14,
        rcd_wr_i: 14,
        rcd_pim_i: 14,
        ras_i: 34,
        rp_i: 14,
        rtp_i: 6,
        wr_to_pre_i: 22,
        wr_to_rd_s_i: 12,
        wr_to_rd_l_i: 14,
        rrd_s_i: 4,
        rrd_l_i: 6,
        faw_i: 30,
        copy_i: 96,
        guard_i: CONTROLLER_GUARD_TCK,
        rfc_i: U::new(260),
        cl_i: U::new(14),
        cwl_i: U::new(4),
        latency_i: U::new(12),
        rtrs_i: U::new(2),
        gap_i: U::new(2),
        dot_i: U::new(2),
        steer_i: true,
        ..Default::default()
    }
}

fn header(row: u64, count: u64, results: u64) -> ChannelControllerIn {
    ChannelControllerIn {
        pim_valid_i: true,
        pim_kind_i: U::new(PimKind::Header as u64),
        pim_row_i: U::new(row),
        pim_count_i: U::new(count - 1),
        pim_results_i: U::new(results - 1),
        ..Default::default()
    }
}

fn gemv(word: u64, count: u64, last: bool) -> ChannelControllerIn {
    ChannelControllerIn {
        pim_valid_i: true,
        pim_kind_i: U::new(PimKind::Gemv as u64),
        pim_word_i: U::new(word),
        pim_count_i: U::new(count - 1),
        pim_last_i: last,
        ..Default::default()
    }
}

fn gwrite(bank: u64, row: u64) -> ChannelControllerIn {
    ChannelControllerIn {
        pim_valid_i: true,
        pim_kind_i: U::new(PimKind::Gwrite as u64),
        pim_bank_i: U::new(bank),
        pim_row_i: U::new(row),
        ..Default::default()
    }
}

fn access(write: bool, bank: u64, row: u64, column: u64) -> ChannelControllerIn {
    ChannelControllerIn {
        mem_valid_i: true,
        mem_write_i: write,
        mem_bank_i: U::new(bank),
        mem_row_i: U::new(row),
        mem_column_i: U::new(column),
        mem_tag_i: (bank * 16 + column) as u8,
        ..Default::default()
    }
}

/// Runs requests of both ports, each as soon as it is accepted; the outputs of all cycles.
fn run(
    first: ChannelControllerIn,
    mem: &[ChannelControllerIn],
    pim: &[ChannelControllerIn],
    cycles: usize,
) -> Vec<ChannelControllerOut> {
    let mut unit = ChannelController::<32, 32>::new();
    let mut outputs = vec![unit.step(&first)];
    let (mut mem, mut pim) = (mem.iter(), pim.iter());
    while outputs.len() < cycles {
        let mut input = ChannelControllerIn::default();
        let ready = unit.output();
        if ready.pim_ready_o
            && let Some(next) = pim.next()
        {
            input = *next;
        }
        if ready.mem_ready_o
            && let Some(next) = mem.next()
        {
            input.mem_valid_i = true;
            input.mem_write_i = next.mem_write_i;
            input.mem_bank_i = next.mem_bank_i;
            input.mem_row_i = next.mem_row_i;
            input.mem_column_i = next.mem_column_i;
            input.mem_tag_i = next.mem_tag_i;
        }
        outputs.push(unit.step(&input));
    }
    outputs
}

/// When a command was on the pins.
fn at(outputs: &[ChannelControllerOut], command: ChannelCommand) -> Vec<usize> {
    let is = |cycle: &usize| outputs[*cycle].command_o.get() == command as u64;
    (0..outputs.len()).filter(is).collect()
}

/// What comes when, from the second PIM_PRECHARGE on: the first operation opens closed rows.
fn tile(first: ChannelControllerIn) -> [Vec<usize>; 4] {
    let pim: Vec<_> = (0..4).flat_map(|row| [header(row, 32, 1), gemv(0, 32, true)]).collect();
    let outputs = run(first, &[], &pim, 1500);
    let begin = at(&outputs, ChannelCommand::PimPrecharge)[1];
    let from = |command| {
        let all = at(&outputs, command);
        all.into_iter().filter_map(|at| at.checked_sub(begin)).collect::<Vec<_>>()
    };
    let mut times = [
        ChannelCommand::PimPrecharge,
        ChannelCommand::PimActivation,
        ChannelCommand::PimGemv,
        ChannelCommand::None,
    ]
    .map(from);
    times[3] = at(&outputs, ChannelCommand::PimActivation)
        .into_iter()
        .filter(|&at| at >= begin)
        .map(|at| outputs[at].bank_o.get() as usize)
        .collect();
    times
}

#[test]
fn the_reference_schedule_of_a_tile() {
    let [precharges, activations, gemvs, banks] = tile(neupims());
    assert_eq!(precharges, [0, 187]);
    assert_eq!(activations[..8], [14, 15, 44, 45, 74, 75, 104, 105]);
    assert_eq!(banks[..8], [0, 16, 4, 20, 8, 24, 12, 28]);
    // Dot products from 119 to 181.
    assert_eq!(gemvs, [119, 119 + 187]);
}

#[test]
fn the_reference_schedule_with_one_pseudo_rank() {
    let [precharges, activations, gemvs, banks] =
        tile(ChannelControllerIn { single_i: true, ..neupims() });
    assert_eq!(precharges, [0, 306]);
    assert_eq!(activations[..8], [14, 44, 74, 104, 134, 164, 194, 224]);
    assert_eq!(banks[..8], [0, 4, 8, 12, 16, 20, 24, 28]);
    assert_eq!(gemvs, [238, 238 + 306]);
    assert_eq!(gemvs[0] + 62, 300);
}

#[test]
fn a_precharge_of_each_bank_takes_32_slots() {
    let [precharges, activations, ..] = tile(ChannelControllerIn { bankwise_i: true, ..neupims() });
    assert_eq!(precharges[..31], (0..31).collect::<Vec<_>>()[..]);
    assert_eq!(activations[..2], [31, 32]);
}

#[test]
fn an_open_row_is_used_again() {
    let pim = [header(5, 32, 1), gemv(0, 32, true), header(5, 32, 1), gemv(0, 32, true)];
    let outputs = run(neupims(), &[], &pim, 400);
    assert_eq!(at(&outputs, ChannelCommand::PimActivation).len(), 8);
    let gemvs = at(&outputs, ChannelCommand::PimGemv);
    assert_eq!(gemvs[1] - gemvs[0], 64);
}

#[test]
fn a_gwrite_reads_a_row_through_mem() {
    let pim = [gwrite(6, 9), header(5, 32, 1), gemv(0, 32, true)];
    let outputs = run(neupims(), &[access(false, 6, 3, 0)], &pim, 600);
    let [act, gwrite, activation] =
        [ChannelCommand::Act, ChannelCommand::PimGwrite, ChannelCommand::PimActivation]
            .map(|command| at(&outputs, command));
    assert_eq!(gwrite.len(), 1);
    assert_eq!(gwrite[0] - act[0], 14);
    assert_eq!(outputs[act[0]].row_o.get(), 9);
    assert_eq!(activation[0] - gwrite[0], 96);
    // The read comes after it, and its row is opened again.
    assert_eq!(at(&outputs, ChannelCommand::Rd).len(), 1);
}

#[test]
fn reads_of_a_row_come_back_to_back() {
    let mem: Vec<_> = (0..16).map(|column| access(false, 3, 7, column)).collect();
    let outputs = run(neupims(), &mem, &[], 100);
    let reads = at(&outputs, ChannelCommand::Rd);
    assert_eq!(reads.len(), 16);
    assert!(reads.windows(2).all(|pair| pair[1] - pair[0] == 2), "{reads:?}");
    let tags: Vec<_> = reads.iter().map(|&at| u64::from(outputs[at].mem_tag_o)).collect();
    assert_eq!(tags, (48..64).collect::<Vec<_>>());
}

#[test]
fn a_read_behind_a_write_of_the_same_burst_waits_for_it() {
    let mem = [
        access(false, 3, 7, 0),
        access(true, 3, 7, 1),
        access(false, 3, 7, 1),
        access(true, 3, 7, 1),
    ];
    let outputs = run(neupims(), &mem, &[], 200);
    let order: Vec<_> = outputs
        .iter()
        .filter(|output| output.mem_issued_o && output.column_o.get() == 1)
        .map(|output| output.command_o.get())
        .collect();
    let (rd, wr) = (ChannelCommand::Rd as u64, ChannelCommand::Wr as u64);
    assert_eq!(order, [wr, rd, wr]);
}

#[test]
fn with_a_single_row_buffer_pim_waits_for_mem() {
    let mem: Vec<_> = (0..8).map(|column| access(false, 3, 7, column)).collect();
    let pim = [header(5, 32, 1), gemv(0, 32, true)];
    let first = ChannelControllerIn { blocked_i: true, ..neupims() };
    let outputs = run(first, &mem, &pim, 600);
    let reads = at(&outputs, ChannelCommand::Rd);
    let precharges = at(&outputs, ChannelCommand::Pre);
    let activations = at(&outputs, ChannelCommand::PimActivation);
    assert_eq!((reads.len(), precharges.len(), activations.len()), (8, 1, 8));
    assert!(reads[7] < precharges[0] && precharges[0] + 14 <= activations[0]);
    assert_eq!(outputs[reads[7]].pim_lost_o.get(), PimLost::MemRow as u64);
}

/// A stream of requests that comes from a number.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

#[test]
fn resting_is_stepping() {
    for seed in 0..24 {
        let mut draw = Draw(seed);
        let first = ChannelControllerIn {
            refi_i: U::new(1950),
            single_i: seed % 2 == 1,
            blocked_i: seed % 3 == 1,
            bankwise_i: seed % 5 == 1,
            simulator_i: seed % 7 == 1,
            steer_i: seed % 4 < 2,
            ..neupims()
        };
        let mut unit = ChannelController::<32, 32>::new();
        unit.step(&first);
        let mut pim = Vec::new();
        let mut rested = 0;
        for _ in 0..4000 {
            let ready = unit.output();
            let mut input = ChannelControllerIn::default();
            if pim.is_empty() && draw.below(200) == 0 {
                let count = 1 + draw.below(32);
                pim = match draw.below(3) {
                    0 => vec![gwrite(draw.below(32), draw.below(8))],
                    _ => vec![gemv(0, count, true), header(draw.below(8), count, 1)],
                };
            }
            if ready.pim_ready_o
                && let Some(next) = pim.pop()
            {
                input = next;
            }
            if ready.mem_ready_o && draw.below(60) == 0 {
                let access =
                    access(draw.below(2) == 0, draw.below(32), draw.below(8), draw.below(16));
                input.mem_valid_i = true;
                input.mem_write_i = access.mem_write_i;
                input.mem_bank_i = access.mem_bank_i;
                input.mem_row_i = access.mem_row_i;
                input.mem_column_i = access.mem_column_i;
            }
            unit.step(&input);
            let limit = unit.rest_limit().min(draw.below(3000));
            if limit > 0 {
                rested += limit;
                let mut each = unit.clone();
                let output = unit.rest(limit);
                for cycle in 0..limit {
                    assert_eq!(each.step(&Default::default()), output, "{seed}: {cycle}");
                }
                // And it goes on alike.
                let mut other = unit.clone();
                for _ in 0..3 {
                    assert_eq!(each.step(&Default::default()), other.step(&Default::default()));
                }
            }
        }
        assert!(rested > 20_000, "{seed}: {rested}");
    }
}
