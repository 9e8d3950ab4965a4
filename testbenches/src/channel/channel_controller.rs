// SPDX-License-Identifier: MIT
//! Bench of `channel_controller`: what is on the pins breaks none of `golden`'s rules, and every request comes there once.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{ChannelController, ChannelControllerIn, ChannelControllerOut};

const COMMANDS: [&str; 12] = [
    "ACT",
    "PRE",
    "PREA",
    "RD",
    "WR",
    "REF",
    "PIM_ACTIVATION",
    "PIM_PRECHARGE",
    "PIM_GWRITE",
    "PIM_DOTPRODUCT",
    "PIM_GEMV",
    "PIM_RDRESULT",
];
const MODES: [&str; 6] = [
    "one pseudo-rank",
    "single row buffer",
    "PIM_PRECHARGE by banks",
    "simulator",
    "not steered",
    "plain",
];
const MEM_LOST: [&str; 7] =
    ["none", "row", "window", "reserved", "command bus", "refresh", "results"];
const PIM_LOST: [&str; 9] =
    ["none", "activation", "window", "GWRITE", "refresh", "admission", "MEM row", "bus", "feed"];

/// Bursts on the data bus, in tCK.
const BURST: u64 = 2;

fn rules(first: &ChannelControllerIn) -> DualRules {
    let ranks = if first.single_i { 1 } else { 2 };
    let tck = u64::from;
    let end = first.cwl_i.get() + BURST;
    DualRules {
        ranks,
        groups_per_rank: 8 / ranks,
        t_rrd_s: tck(first.rrd_s_i),
        t_rrd_l: tck(first.rrd_l_i),
        t_faw: tck(first.faw_i),
        t_rcd: tck(first.rcd_i),
        t_rcd_wr: tck(first.rcd_wr_i),
        t_rcd_pim: tck(first.rcd_pim_i),
        t_ras: tck(first.ras_i),
        t_rp: tck(first.rp_i),
        t_rc: tck(first.ras_i) + tck(first.rp_i),
        cl: first.cl_i.get(),
        cwl: first.cwl_i.get(),
        t_wr: tck(first.wr_to_pre_i) - end,
        t_rtp: tck(first.rtp_i),
        t_wtr_s: tck(first.wr_to_rd_s_i) - end,
        t_wtr_l: tck(first.wr_to_rd_l_i) - end,
        rtw_gap: first.gap_i.get(),
        t_rtrs: first.rtrs_i.get(),
        gwrite: tck(first.copy_i),
        dot: first.dot_i.get(),
        results: first.latency_i.get(),
        t_rfc: first.rfc_i.get(),
        t_refi: Some(first.refi_i.get() * ranks as u64).filter(|&refi| refi > 0),
        pim_in_window: !first.simulator_i,
        ..DualRules::NEUPIMS
    }
}

/// The command on the pins.
fn pin(output: &ChannelControllerOut, single: bool) -> Option<DualPin> {
    let bank = output.bank_o.get() as usize;
    let rank = if single { 0 } else { bank / 16 };
    let (row, column) = (output.row_o.get(), output.column_o.get());
    let all = [
        DualPin::Act { bank, row },
        DualPin::Pre { bank },
        DualPin::PreAll { rank },
        DualPin::Rd { bank, column },
        DualPin::Wr { bank, column },
        DualPin::Ref { rank },
        DualPin::PimActivation { group: bank / 4, row },
        DualPin::PimPrecharge { bank: (!output.all_o).then_some(bank) },
        DualPin::Gwrite { bank },
        DualPin::DotProduct { word: column },
        DualPin::Gemv { word: column, count: output.count_o.get() + 1 },
        DualPin::ReadResult,
    ];
    output.command_o.get().checked_sub(1).and_then(|nth| all.get(nth as usize).copied())
}

/// A request of MEM: whether it is a write, bank, row, column and tag.
type Access = (bool, u64, u64, u64, u8);

/// A command of PIM that has to come: its number on the pins, word, count and bank.
type Wish = (u64, u64, u64, u64);

/// What the ports have asked for and the pins have not had.
#[derive(Debug, Default)]
struct Asked {
    mem: Vec<Access>,
    pim: Vec<Wish>,
    /// Whether an operation is open, for commands that belong to one.
    open: bool,
}

impl Asked {
    fn take(&mut self, input: &ChannelControllerIn, output: &ChannelControllerOut) {
        if input.mem_valid_i && output.mem_ready_o {
            let address = (input.mem_bank_i.get(), input.mem_row_i.get(), input.mem_column_i.get());
            self.mem.push((input.mem_write_i, address.0, address.1, address.2, input.mem_tag_i));
        }
        if !(input.pim_valid_i && output.pim_ready_o) {
            return;
        }
        let (kind, last) = (input.pim_kind_i.get(), input.pim_last_i);
        let (word, count) = (input.pim_word_i.get(), input.pim_count_i.get());
        match kind {
            0 => self.open = true,
            1 => {
                self.open = false;
                self.pim.push((9, 0, 0, input.pim_bank_i.get()));
            }
            2 if self.open && word + count < 32 => self.pim.push((11, word, count, 0)),
            3 if self.open => self.pim.push((10, word, 0, 0)),
            4 if self.open => self.pim.push((12, 0, 0, 0)),
            _ => {}
        }
        if (kind == 2 || kind == 4) && last {
            self.open = false;
        }
    }

    /// What the pins have is the next of PIM, and one of MEM that no other of its address has to come before.
    fn came(&mut self, output: &ChannelControllerOut, rows: &[u64; 32]) -> Result<(), String> {
        let bank = output.bank_o.get();
        if output.pim_issued_o {
            let came = (output.command_o.get(), output.column_o.get(), output.count_o.get(), bank);
            if self.pim.first() != Some(&came) {
                return Err(format!("PIM: {came:?}, wanted {:?}", self.pim.first()));
            }
            self.pim.remove(0);
        }
        if output.mem_issued_o {
            let write = output.command_o.get() == 5;
            let address = (bank, rows[bank as usize], output.column_o.get());
            let came = (write, address.0, address.1, address.2, output.mem_tag_o);
            let place = self.mem.iter().position(|asked| *asked == came);
            let Some(place) = place else { return Err(format!("MEM: {came:?} was not asked for")) };
            let before = |&(other, bank, row, column, _): &Access| {
                (bank, row, column) == address && (other || write)
            };
            if self.mem[..place].iter().any(before) {
                return Err(format!("MEM: {came:?} out of order"));
            }
            self.mem.remove(place);
        }
        Ok(())
    }
}

fn scale(value: u64, by: u64) -> u8 {
    value.div_ceil(by) as u8
}

impl<const READS: usize, const WRITES: usize> Bench for ChannelController<READS, WRITES> {
    /// Checks the command of every cycle that has one.
    fn oracle(
        inputs: &[ChannelControllerIn],
        outputs: &[ChannelControllerOut],
    ) -> Result<u64, OracleError> {
        let Some(first) = inputs.first() else { return Ok(0) };
        let mut checker = DualChecker::new(rules(first));
        let mut asked = Asked::default();
        let mut rows = [0; 32];
        let (mut checked, mut moves) = (0, false);
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            let error = |what: String| OracleError {
                cycle,
                port: "command_o",
                got: output.command_o.get() as u32,
                expected: 0,
                what,
            };
            asked.take(input, output);
            if let Some(pin) = pin(output, first.single_i) {
                if let Some(violation) = checker.command(cycle, pin).first() {
                    return Err(error(violation.to_string()));
                }
                if let DualPin::Act { bank, row } = pin {
                    rows[bank] = row;
                }
                checked += 1;
            }
            asked.came(output, &rows).map_err(error)?;
            // A burst takes two tCK: none is lost in the second.
            if std::mem::replace(&mut moves, output.mem_issued_o) && output.mem_lost_o.get() != 0 {
                let (port, got) = ("mem_lost_o", output.mem_lost_o.get() as u32);
                let what = "the second tCK of a burst".to_owned();
                return Err(OracleError { cycle, port, got, expected: 0, what });
            }
        }
        if let Some(violation) = checker.finish(inputs.len() as u64).first() {
            let (cycle, what) = (inputs.len() as u64, violation.to_string());
            return Err(OracleError { cycle, port: "command_o", got: 0, expected: 6, what });
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, mode", &COMMANDS, &MODES);
        bins.declare("MEM loses a cycle to", MEM_LOST);
        bins.declare("PIM loses a cycle to", PIM_LOST);
        bins.declare("ports", ["MEM waits", "PIM waits", "a request of PIM is dropped", "idle"]);
        bins.cross(
            "MEM's command while PIM has rows open",
            &COMMANDS[..6],
            &["it has", "it has not"],
        );
        bins.declare("admission", ["at once", "after a REF", "of an open row"]);
    }

    fn cover(inputs: &[ChannelControllerIn], outputs: &[ChannelControllerOut], bins: &mut Bins) {
        let Some(first) = inputs.first() else { return };
        let modes =
            [first.single_i, first.blocked_i, first.bankwise_i, first.simulator_i, !first.steer_i];
        let mut checker = DualChecker::new(rules(first));
        let mut refused = false;
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            bins.hit("MEM loses a cycle to", output.mem_lost_o.get() as usize);
            bins.hit("PIM loses a cycle to", output.pim_lost_o.get() as usize);
            for (nth, is) in [
                input.mem_valid_i && !output.mem_ready_o,
                input.pim_valid_i && !output.pim_ready_o,
                output.fault_o,
                output.idle_o,
            ]
            .into_iter()
            .enumerate()
            {
                if is {
                    bins.hit("ports", nth);
                }
            }
            refused |= output.pim_lost_o.get() == 5;
            let is_open = (0..32).any(|bank| checker.pim_row(bank).is_some());
            if output.admit_o {
                let opens = [7, 8].contains(&output.command_o.get());
                let way = if refused {
                    1
                } else if is_open && !opens {
                    2
                } else {
                    0
                };
                bins.hit("admission", way);
                refused = false;
            }
            let Some(pin) = pin(output, first.single_i) else { continue };
            let command = output.command_o.get() as usize - 1;
            for mode in (0..5).filter(|mode| modes[*mode]) {
                bins.hit_cross("command, mode", command, mode);
            }
            if !modes.contains(&true) {
                bins.hit_cross("command, mode", command, 5);
            }
            if command < 6 {
                bins.hit_cross(
                    "MEM's command while PIM has rows open",
                    command,
                    usize::from(!is_open),
                );
            }
            checker.command(cycle, pin);
        }
    }

    /// Timings that belong together, few rows, and operations with all of their commands.
    fn arrange(inputs: &mut [ChannelControllerIn]) {
        let Some(first) = inputs.first_mut() else { return };
        let habit = first.mem_row_i.get() | first.pim_row_i.get() << 15;
        if habit >> 25 & 7 == 0 {
            any_timings(first);
        } else {
            neupims_timings(first, habit);
        }
        let modes = habit >> 7 & 31;
        let few = habit >> 12 & 3;
        (first.single_i, first.bankwise_i) = (modes & 1 == 1, matches!(modes >> 1 & 7, 1 | 2));
        (first.blocked_i, first.simulator_i) = (modes >> 2 & 3 == 1, modes >> 3 & 3 == 3);
        first.steer_i = modes >> 1 & 3 != 2;
        if few == 3 {
            (first.single_i, first.bankwise_i, first.blocked_i, first.simulator_i, first.steer_i) =
                (false, false, false, false, true);
        }
        // Few rows, which differ from episode to episode.
        let rows = [1, 3, 7, 0x3F][(habit >> 14 & 3) as usize];
        let other_row = first.mem_row_i.get() & !0x3F;
        let few = |row: U<15>| U::new(row.get() & rows | other_row);
        let busy = habit >> 16 & 7;
        let fine = habit >> 19 & 1 == 0;
        // Commands come late: the operation waits for them.
        let late = habit >> 23 & 3 == 0;
        let dense = habit >> 21 & 3;
        let first = *first;
        let mut unit = Self::new();
        let mut wishes: Vec<ChannelControllerIn> = Vec::new();
        let mut stream = (0, U::default(), 0u64);
        for (cycle, input) in inputs.iter_mut().enumerate() {
            let draw = input.pim_row_i.get() | input.mem_row_i.get() << 15;
            // MEM: bursts of a row, one behind the other.
            if stream.2 == 0 {
                stream = (
                    input.mem_bank_i.get() & [31, 19, 5, 31][dense as usize],
                    few(input.mem_row_i),
                    1 + (draw >> 20 & 7),
                );
            }
            stream.2 -= 1;
            (input.mem_bank_i, input.mem_row_i) = (U::new(stream.0), stream.1);
            input.mem_valid_i &= match busy {
                0 => draw >> 4 & 31 == 0,
                1 => cycle % 300 < 100,
                2 => draw >> 4 & 7 == 0,
                _ => true,
            };
            if dense == 2 {
                input.mem_column_i = U::new(input.mem_column_i.get() & 1);
            }
            // PIM: operations, and now and then anything.
            if wishes.is_empty() && (input.pim_valid_i || draw >> 9 & 7 == 0) {
                wishes = operation(input, draw, few(input.pim_row_i), fine);
            }
            let is_wild = draw >> 12 & 0x3FF == 0;
            input.pim_valid_i &= is_wild;
            if !is_wild
                && unit.pim_ready()
                && if late { draw >> 25 & 31 == 0 } else { draw >> 25 & 7 != 0 }
                && let Some(wish) = wishes.pop()
            {
                input.pim_valid_i = true;
                input.pim_kind_i = wish.pim_kind_i;
                input.pim_row_i = wish.pim_row_i;
                input.pim_bank_i = wish.pim_bank_i;
                input.pim_word_i = wish.pim_word_i;
                input.pim_count_i = wish.pim_count_i;
                input.pim_results_i = wish.pim_results_i;
                input.pim_first_i = wish.pim_first_i;
                input.pim_last_i = wish.pim_last_i;
            }
            if cycle > 0 {
                // Timings and modes have no effect any more.
                (input.rp_i, input.single_i) = (!first.rp_i, !first.single_i);
            }
            unit.step(input);
        }
    }
}

/// NeuPIMs' timings, or a half or a quarter of them.
fn neupims_timings(first: &mut ChannelControllerIn, habit: u64) {
    // NeuPIMs' lengths, a half or a quarter of them.
    let by = [1, 2, 4][(habit & 3) as usize % 3];
    let wide = habit >> 2 & 7;
    (first.rcd_i, first.rcd_wr_i, first.rcd_pim_i) =
        (scale(14, by), scale(14, by) + (wide & 1) as u8, scale(14, by) + (wide & 2) as u8);
    (first.ras_i, first.rp_i, first.rtp_i) = (scale(34, by), scale(14, by), scale(6, by));
    (first.rrd_s_i, first.rrd_l_i, first.faw_i) = (scale(4, by), scale(6, by), scale(30, by));
    (first.copy_i, first.rfc_i) = (scale(96, by), U::new(260 / by / 2));
    (first.cl_i, first.cwl_i) = (U::new(14), U::new(4));
    (first.rtrs_i, first.gap_i, first.latency_i) = (U::new(2), U::new(2), U::new(12));
    if wide & 4 != 0 {
        (first.cl_i, first.cwl_i) = (U::new(9), U::new(5));
        (first.rtrs_i, first.gap_i, first.latency_i) = (U::new(1), U::new(3), U::new(10));
    }
    first.dot_i = U::new(2 + u64::from(wide == 3));
    let end = (first.cwl_i.get() + BURST) as u8;
    first.wr_to_pre_i = end + scale(16, by);
    (first.wr_to_rd_s_i, first.wr_to_rd_l_i) = (end + scale(6, by), end + scale(8, by));
    first.guard_i = 60;
    // A REF comes late enough for some operations, and not for others.
    first.refi_i = U::new([0, 900 / by, 500 / by, 420][(habit >> 5 & 3) as usize]);
}

/// Timings as they are drawn, of all lengths that `pim_channel` allows. No REF is due in an episode, as estimates need not cover them.
fn any_timings(first: &mut ChannelControllerIn) {
    for rcd in [&mut first.rcd_i, &mut first.rcd_wr_i, &mut first.rcd_pim_i] {
        *rcd = (*rcd).max(2);
    }
    first.copy_i = first.copy_i.max(18);
    first.dot_i = U::new(first.dot_i.get().max(2));
    let cl = first.cl_i.get().max(5);
    let cwl = 1 + first.cwl_i.get() % cl;
    (first.cl_i, first.cwl_i) = (U::new(cl), U::new(cwl));
    first.rtrs_i = U::new(first.rtrs_i.get() % cl);
    first.gap_i = U::new(first.gap_i.get() % cwl);
    let least = 10.max((cl + BURST + first.rtrs_i.get()).saturating_sub(32));
    first.latency_i = U::new(first.latency_i.get().max(least));
    let end = (cwl + BURST) as u8;
    for behind in [&mut first.wr_to_pre_i, &mut first.wr_to_rd_s_i, &mut first.wr_to_rd_l_i] {
        *behind = (*behind).max(end);
    }
    first.refi_i = U::new(first.refi_i.get() | 0x800);
}

/// The requests of an operation, the last one first.
fn operation(
    draw: &ChannelControllerIn,
    bits: u64,
    row: U<15>,
    fine: bool,
) -> Vec<ChannelControllerIn> {
    let of = |kind: u64| ChannelControllerIn { pim_kind_i: U::new(kind), ..Default::default() };
    if bits >> 16 & 3 == 0 {
        return vec![ChannelControllerIn { pim_bank_i: draw.pim_bank_i, pim_row_i: row, ..of(1) }];
    }
    let results = 1 + (draw.pim_results_i.get() & (bits >> 18 & 7));
    let count = 1 + draw.pim_count_i.get() / results;
    let header = ChannelControllerIn {
        pim_row_i: row,
        pim_count_i: U::new((count * results - 1).min(31)),
        pim_results_i: U::new(results - 1),
        ..of(0)
    };
    let mut wishes = vec![header];
    for nth in 0..results {
        let (word, last) = (nth * (32 / results), nth + 1 == results);
        let count = count.min(32 / results);
        if fine {
            wishes.extend((0..count).map(|dot| ChannelControllerIn {
                pim_word_i: U::new(word + dot),
                pim_first_i: dot == 0,
                pim_last_i: dot + 1 == count,
                ..of(3)
            }));
            wishes.push(ChannelControllerIn { pim_last_i: last, ..of(4) });
        } else {
            wishes.push(ChannelControllerIn {
                pim_word_i: U::new(word),
                pim_count_i: U::new(count - 1),
                pim_last_i: last,
                ..of(2)
            });
        }
    }
    wishes.reverse();
    wishes
}
