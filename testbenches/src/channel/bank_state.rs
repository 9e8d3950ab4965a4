// SPDX-License-Identifier: MIT
//! Bench of `bank_state`: what may come is what `golden`'s gates say of a channel of one bank.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{BankState, BankStateIn, BankStateOut};

const COMMANDS: [&str; 7] = ["ACT", "PRE", "RD", "WR", "GWRITE", "PIM_ACTIVATION", "PIM_PRECHARGE"];
/// How many of them are of the MEM row buffer.
const OF_MEM: usize = 5;
const STATES: [&str; 4] = ["none open", "MEM open", "PIM open", "both open"];
const WHEN: [&str; 3] = ["as soon as it may", "a cycle later", "later"];
const BLOCKS: [&str; 3] = ["in the other buffer", "closed there just now", "reserved"];
const WANTS: [&str; 2] = ["MEM", "PIM"];

/// The rules of the timings and rows of a bank alone.
const OF_BANK: [&str; 14] = [
    "row open",
    "row closed",
    "same row in both buffers",
    "tRP of the row",
    "REF with a row open",
    "tRCD",
    "tRCD_WR",
    "tRAS",
    "tRP",
    "tRTP",
    "tWR",
    "tGWRITE",
    "tRAS_PIM",
    "tRP_PIM",
];

fn flags(input: &mut BankStateIn) -> [&mut bool; 7] {
    [
        &mut input.act_i,
        &mut input.precharge_i,
        &mut input.read_i,
        &mut input.write_i,
        &mut input.gwrite_i,
        &mut input.pim_act_i,
        &mut input.pim_precharge_i,
    ]
}

/// The command of a cycle, if there is one.
fn command(input: &BankStateIn) -> Option<usize> {
    let mut input = *input;
    flags(&mut input).into_iter().position(|flag| *flag)
}

/// Which commands may come.
fn ready(output: &BankStateOut) -> [bool; 7] {
    [
        output.act_ready_o,
        output.precharge_ready_o,
        output.read_ready_o,
        output.write_ready_o,
        output.read_ready_o,
        output.pim_act_ready_o,
        output.pim_precharge_ready_o,
    ]
}

/// A command on the pins of a channel of one bank.
fn pin(command: usize, row: u64) -> DualPin {
    match command {
        0 => DualPin::Act { bank: 0, row },
        1 => DualPin::Pre { bank: 0 },
        2 => DualPin::Rd { bank: 0, column: 0 },
        3 => DualPin::Wr { bank: 0, column: 0 },
        4 => DualPin::Gwrite { bank: 0 },
        5 => DualPin::PimActivation { group: 0, row },
        _ => DualPin::PimPrecharge { bank: None },
    }
}

fn rules(input: &BankStateIn) -> DualRules {
    DualRules {
        ranks: 1,
        groups_per_rank: 1,
        banks_per_group: 1,
        burst: 0,
        t_faw: 0,
        t_rcd: input.rcd_i.into(),
        t_rcd_wr: input.rcd_wr_i.into(),
        t_ras: input.ras_i.into(),
        t_rp: input.rp_i.into(),
        t_rc: 0,
        t_rtp: input.rtp_i.into(),
        cwl: 0,
        t_wr: input.wr_to_pre_i.into(),
        gwrite: input.copy_i.into(),
        t_rfc: 0,
        t_refi: None,
        ..DualRules::NEUPIMS
    }
}

impl Bench for BankState {
    /// Checks all outputs in every cycle.
    fn oracle(inputs: &[BankStateIn], outputs: &[BankStateOut]) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let mut checker = DualChecker::new(rules(first));
        let (mut mem_row, mut pim_row) = (U::default(), U::default());
        // When a buffer that has held no row since reset, and counts as one of row 0, was precharged last.
        let (mut mem_fresh, mut pim_fresh) = (Some(None), Some(None));
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let may = |pin| {
                let found = checker.check(cycle, pin);
                !found.iter().any(|violation| OF_BANK.contains(&violation.rule))
            };
            let [mem_want, pim_want] = [input.mem_want_i, input.pim_want_i].map(U::get);
            let just_now = |fresh: Option<Option<u64>>, want| {
                let closed = fresh.flatten();
                want == 0 && closed.is_some_and(|at| cycle < at + u64::from(first.rp_i))
            };
            let is_reserved = input.reserved_i && mem_want == pim_want;
            let (mem, pim) = (checker.mem_row(0), checker.pim_row(0));
            let expected = BankStateOut {
                mem_open_o: mem.is_some(),
                mem_row_o: mem_row,
                pim_open_o: pim.is_some(),
                pim_row_o: pim_row,
                mem_hit_o: mem == Some(mem_want),
                pim_hit_o: pim == Some(pim_want),
                in_the_way_o: mem == Some(pim_want),
                // Of a row that is in neither buffer.
                closed_o: may(pin(0, u64::MAX)),
                pim_closed_o: may(pin(5, u64::MAX)),
                act_ready_o: may(pin(0, mem_want))
                    && !is_reserved
                    && !just_now(pim_fresh, mem_want),
                precharge_ready_o: may(pin(1, 0)),
                read_ready_o: may(pin(2, 0)),
                write_ready_o: may(pin(3, 0)),
                pim_act_ready_o: may(pin(5, pim_want)) && !just_now(mem_fresh, pim_want),
                pim_precharge_ready_o: may(pin(6, 0)),
                quiet_o: may(DualPin::Ref { rank: 0 }),
            };
            OracleError::unless_equal(cycle, output, &expected)?;
            if let Some(command) = command(input) {
                checker.command(cycle, pin(command, input.row_i.get()));
                match command {
                    0 => (mem_row, mem_fresh) = (input.row_i, None),
                    1 => mem_fresh = mem_fresh.map(|_| Some(cycle)),
                    5 => (pim_row, pim_fresh) = (input.row_i, None),
                    6 => pim_fresh = pim_fresh.map(|_| Some(cycle)),
                    _ => {}
                }
            }
        }
        Ok(outputs.len() as u64)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, state", &COMMANDS, &STATES);
        bins.cross("command, when", &COMMANDS, &WHEN);
        bins.cross("MEM's command after command", &COMMANDS[..OF_MEM], &COMMANDS[..OF_MEM]);
        bins.cross("row not to be opened, by", &WANTS, &BLOCKS);
        bins.declare("timing of 0 or 1", ["RCD", "RAS", "RP"]);
        bins.declare("quiet", ["from reset", "after commands"]);
        // Of a closed MEM row buffer there are ACT and PRE, of an open one all but ACT; likewise of PIM.
        for (command, open) in [(0, 1), (0, 3), (5, 2), (5, 3)] {
            bins.leave_out("command, state", command * STATES.len() + open);
        }
        for command in 2..OF_MEM {
            for closed in [0, 2] {
                bins.leave_out("command, state", command * STATES.len() + closed);
            }
        }
        for (before, command) in [(0, 0), (1, 2), (1, 3), (1, 4), (2, 0), (3, 0), (4, 0)] {
            bins.leave_out("MEM's command after command", before * OF_MEM + command);
        }
        bins.leave_out("row not to be opened, by", BLOCKS.len() + 2); // PIM reserves its own
    }

    fn cover(inputs: &[BankStateIn], outputs: &[BankStateOut], bins: &mut Bins) {
        let Some(first) = inputs.first() else { return };
        for (nth, timing) in [first.rcd_i, first.ras_i, first.rp_i].into_iter().enumerate() {
            if timing < 2 {
                bins.hit("timing of 0 or 1", nth);
            }
        }
        // Cycles for which each command has been ready; MEM's last command; cycles since the last precharges.
        let (mut for_cycles, mut before, mut any) = ([0usize; 7], None, false);
        let mut closed = [None::<usize>; 2];
        for (cycle, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let state = usize::from(output.mem_open_o) + 2 * usize::from(output.pim_open_o);
            if output.quiet_o {
                bins.hit("quiet", any.into());
            }
            let rows = [output.mem_row_o, output.pim_row_o];
            let open = [output.mem_open_o, output.pim_open_o];
            for (own, want) in [input.mem_want_i, input.pim_want_i].into_iter().enumerate() {
                let other = 1 - own;
                if open[own] {
                    continue;
                }
                let is_there = rows[other] == want;
                let just_now = |at: usize| cycle < at + usize::from(first.rp_i);
                if is_there && open[other] {
                    bins.hit_cross("row not to be opened, by", own, 0);
                } else if is_there && closed[other].is_some_and(just_now) {
                    bins.hit_cross("row not to be opened, by", own, 1);
                } else if own == 0 && input.reserved_i && want == input.pim_want_i {
                    bins.hit_cross("row not to be opened, by", own, 2);
                }
            }
            if let Some(command) = command(input) {
                bins.hit_cross("command, state", command, state);
                bins.hit_cross("command, when", command, for_cycles[command].min(2));
                if command < OF_MEM
                    && let Some(before) = before.replace(command)
                {
                    bins.hit_cross("MEM's command after command", before, command);
                }
                match command {
                    1 => closed[0] = Some(cycle),
                    6 => closed[1] = Some(cycle),
                    _ => {}
                }
                any = true;
            }
            for (cycles, is_ready) in for_cycles.iter_mut().zip(ready(output)) {
                *cycles = if is_ready { *cycles + 1 } else { 0 };
            }
        }
    }

    /// Holds the timings, which few episodes have as they are drawn, and leaves out what may not come. Most rows are of four, and of dense episodes all that may come comes.
    fn arrange(inputs: &mut [BankStateIn]) {
        let Some(first) = inputs.first_mut() else { return };
        let habit = first.row_i.get() % 8;
        if habit > 1 {
            // A tenth of NeuPIMs' lengths for half of the episodes: more happens in them.
            let short = habit % 2 == 0;
            let of = |timing: u8| if short { timing.div_ceil(8) } else { timing };
            (first.rcd_i, first.rcd_wr_i, first.ras_i) = (of(14), of(12), of(34));
            (first.rp_i, first.rtp_i, first.wr_to_pre_i, first.copy_i) =
                (of(14), of(6), of(22), of(96));
        } else if first.row_i.get() & 24 != 0 {
            for timing in [&mut first.rcd_i, &mut first.rcd_wr_i, &mut first.ras_i] {
                *timing %= 16;
            }
            for timing in [&mut first.rp_i, &mut first.rtp_i, &mut first.wr_to_pre_i] {
                *timing %= 16;
            }
            first.copy_i %= 64;
        }
        let timings = *first;
        let mut unit = BankState::new();
        for input in inputs {
            let draw = input.row_i.get();
            (input.rcd_i, input.rcd_wr_i) = (timings.rcd_i, timings.rcd_wr_i);
            (input.ras_i, input.rp_i, input.rtp_i) = (timings.ras_i, timings.rp_i, timings.rtp_i);
            (input.wr_to_pre_i, input.copy_i) = (timings.wr_to_pre_i, timings.copy_i);
            if draw & 7 != 0 {
                input.mem_want_i = U::new(input.mem_want_i.get() & 3);
                input.pim_want_i = U::new(input.pim_want_i.get() & 3);
            }
            let mut idle = *input;
            flags(&mut idle).into_iter().for_each(|flag| *flag = false);
            let ready = ready(&unit.clone().step(&idle));
            let first_of = draw as usize >> 3;
            let wanted = |nth: usize| (first_of + nth) % COMMANDS.len();
            let asked = flags(input).map(|flag| *flag);
            let chosen = (0..COMMANDS.len()).map(wanted).find(|&nth| asked[nth] && ready[nth]);
            for (nth, flag) in flags(input).into_iter().enumerate() {
                *flag = chosen == Some(nth);
            }
            match chosen {
                Some(0) => input.row_i = input.mem_want_i,
                Some(5) => input.row_i = input.pim_want_i,
                _ => {}
            }
            unit.step(input);
        }
    }
}
