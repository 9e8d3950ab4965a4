// SPDX-License-Identifier: MIT
//! Bench of `dual_row_buffer`: what is open and what is read is what `golden`'s log of commands says.

use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::row_buffers::{Log, Owner, RowCommand};
use pimlico_ports::U;
use pimlico_units::bank::{DualRowBuffer, DualRowBufferIn, DualRowBufferOut, Row};

const COMMANDS: [&str; 5] = ["ACT", "PIM_ACTIVATION", "PRE", "PIM_PRECHARGE", "REF"];
const STATES: [&str; 4] = ["none open", "MEM open", "PIM open", "both open"];
const ACCESSES: [&str; 3] = ["RD", "WR", "dot product"];
const BUFFERS: [&str; 3] = ["closed", "its row comes", "open"];
/// What was done in a cycle at the two ports.
const PORTS: [&str; 6] =
    ["neither", "RD", "WR", "dot product", "RD and dot product", "WR and dot product"];
const OTHER: [&str; 3] = ["is closed", "holds another row", "holds the row"];
const PAIRS: [&str; 3] =
    ["activation and precharge", "activation and refresh", "precharge and refresh"];

/// The command of a cycle, of those that are obeyed, if there is one.
fn command<R: Row>(input: &DualRowBufferIn<R>) -> Option<usize> {
    let pim = usize::from(input.pim_i);
    match (input.activate_i, input.precharge_i, input.refresh_i) {
        (true, ..) => Some(pim),
        (_, true, _) => Some(2 + pim),
        (.., true) => Some(4),
        _ => None,
    }
}

fn owner(pim: bool) -> Owner {
    if pim { Owner::Pim } else { Owner::Mem }
}

impl<R: Row, const DUAL: bool> Bench for DualRowBuffer<R, DUAL> {
    /// Checks all outputs in every cycle; counts the columns and words that were read.
    fn oracle(
        inputs: &[DualRowBufferIn<R>],
        outputs: &[DualRowBufferOut<R>],
    ) -> Result<u64, OracleError> {
        let mut log = Log::new(DUAL);
        let mut expected = DualRowBufferOut::<R>::default();
        let mut checked = 0;
        for (cycle, (input, output)) in (0u64..).zip(inputs.iter().zip(outputs)) {
            expected = DualRowBufferOut {
                mem_open_o: log.open(Owner::Mem, cycle).is_some(),
                mem_row_o: U::new(log.row(Owner::Mem, cycle)),
                pim_open_o: log.open(Owner::Pim, cycle).is_some(),
                pim_row_o: U::new(log.row(Owner::Pim, cycle)),
                ..expected
            };
            OracleError::unless_equal(cycle, output, &expected)?;
            checked += u64::from(output.mem_data_valid_o) + u64::from(output.pim_data_valid_o);
            let cells = inputs.get(cycle as usize + 1).map_or(R::default(), |next| next.cells_i);
            expected = next(&mut log, cycle, input, cells.as_ref());
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, state", &COMMANDS, &STATES);
        bins.cross("access, its buffer", &ACCESSES, &BUFFERS);
        bins.cross("command, accesses in its cycle", &COMMANDS, &PORTS);
        bins.cross("activation, the other buffer", &COMMANDS[..2], &OTHER);
        bins.declare("stale row", ["a WR of the row for dot products"]);
        bins.declare("two commands", PAIRS);
        bins.declare("RD after WR of the row", ["of the same column", "of another"]);
        bins.declare("column", (0..16).map(|column| column.to_string()));
        bins.declare("word", (0..32).map(|word| word.to_string()));
        if !DUAL {
            for command in 0..COMMANDS.len() {
                for state in [1, 2] {
                    bins.leave_out("command, state", command * STATES.len() + state);
                }
                for ports in [4, 5] {
                    bins.leave_out("command, accesses in its cycle", command * PORTS.len() + ports);
                }
            }
            for bin in 0..2 * OTHER.len() {
                bins.leave_out("activation, the other buffer", bin);
            }
            bins.leave_out("stale row", 0);
        }
    }

    fn cover(inputs: &[DualRowBufferIn<R>], outputs: &[DualRowBufferOut<R>], bins: &mut Bins) {
        let mut before: [Option<usize>; 2] = [None; 2]; // activations in the last cycle
        let mut written = Vec::new();
        for (at, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            let open = [output.mem_open_o, output.pim_open_o];
            let command = command(input);
            let state = usize::from(open[0]) + 2 * usize::from(open[1]);
            if let Some(command) = command {
                bins.hit_cross("command, state", command, state);
            }
            let buffer = |pim: usize| {
                let sensed = before[if DUAL { pim } else { 0 }].is_some();
                if !open[pim] { 0 } else { 2 - usize::from(sensed) }
            };
            if input.mem_valid_i {
                bins.hit_cross("access, its buffer", input.mem_write_i.into(), buffer(0));
                bins.hit("column", input.mem_column_i.get() as usize);
            }
            if input.pim_valid_i {
                bins.hit_cross("access, its buffer", 2, buffer(1));
                bins.hit("word", input.pim_word_i.get() as usize);
            }
            let commands = [input.activate_i, input.precharge_i, input.refresh_i];
            for (pair, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                if commands[a] && commands[b] {
                    bins.hit("two commands", pair);
                }
            }
            if let Some(next) = outputs.get(at + 1) {
                let mem = match (next.mem_data_valid_o, next.restore_o) {
                    (true, _) => 1,
                    (_, true) => 2,
                    _ => 0,
                };
                let ports = match (mem, next.pim_data_valid_o) {
                    (mem, false) => mem,
                    (0, true) => 3,
                    (mem, true) => 3 + mem,
                };
                if let Some(command) = command {
                    bins.hit_cross("command, accesses in its cycle", command, ports);
                }
                if next.stale_o {
                    bins.hit("stale row", 0);
                }
                let column = input.mem_column_i.get();
                if mem == 1 && !written.is_empty() {
                    bins.hit("RD after WR of the row", usize::from(!written.contains(&column)));
                }
                if mem == 2 {
                    written.push(column);
                }
            }
            if DUAL && let Some(command @ 0..=1) = command {
                let rows = [output.mem_row_o, output.pim_row_o];
                let other = 1 - command;
                let is_same = open[other] && rows[other] == input.row_i;
                let sort = usize::from(open[other]) + usize::from(is_same);
                bins.hit_cross("activation, the other buffer", command, sort);
            }
            before = [None; 2];
            if let Some(command @ 0..=1) = command {
                let of = if DUAL { command } else { 0 };
                before[of] = Some(at);
                if of == 0 {
                    written.clear();
                }
            }
        }
    }

    /// Makes most commands and accesses ones that their buffer is in a state for, and most rows one of four.
    fn arrange(inputs: &mut [DualRowBufferIn<R>]) {
        let mut open = [None; 2]; // cycle of the activation
        for (cycle, input) in inputs.iter_mut().enumerate() {
            let chance = input.mem_data_i[0];
            let is_wild = |bit: u32| chance >> bit & 15 == 0;
            let row = input.row_i.get();
            if chance >> 32 & 7 != 0 {
                input.row_i = U::new(row & 3);
            }
            let target = usize::from(DUAL && input.pim_i);
            if !is_wild(4) {
                input.precharge_i &= !input.activate_i;
                input.refresh_i &= !input.activate_i && !input.precharge_i && open == [None; 2];
                if input.activate_i && open[target].is_some() {
                    (input.activate_i, input.precharge_i) = (false, true);
                }
            }
            let is_ready = |of: usize| open[of].is_some_and(|at| cycle > at + 1);
            if !is_wild(8) {
                input.mem_valid_i &= is_ready(0);
                input.pim_valid_i &= is_ready(usize::from(DUAL));
                input.pim_valid_i &= DUAL || !input.mem_valid_i;
            }
            if !is_wild(12) {
                let column = input.mem_column_i.get() % (R::WORDS as u64 / 2);
                input.mem_column_i = U::new(column);
                input.pim_word_i = U::new(input.pim_word_i.get() % R::WORDS as u64);
            }
            if input.activate_i {
                open[target] = Some(cycle);
            } else if input.precharge_i {
                open[target] = None;
            }
        }
    }
}

/// What the registers of the outputs hold behind a cycle, and the cycle's place in the log.
fn next<R: Row>(
    log: &mut Log<[u64; 4]>,
    cycle: u64,
    input: &DualRowBufferIn<R>,
    cells: &[[u64; 4]],
) -> DualRowBufferOut<R> {
    let mut expected = DualRowBufferOut::default();
    let of = owner(input.pim_i);
    let is_open = |log: &Log<_>, owner| log.open(owner, cycle).is_some();
    let any_open = is_open(log, Owner::Mem) || is_open(log, Owner::Pim);
    let commands = [input.activate_i, input.precharge_i, input.refresh_i];
    let mut misuse = commands.into_iter().filter(|&command| command).count() > 1
        || input.refresh_i && any_open
        || input.activate_i && is_open(log, of);
    expected.row_conflict_o = input.activate_i && log.conflicts(of, cycle, input.row_i.get());

    let column = input.mem_column_i.get() as usize;
    let mut written = None;
    if input.mem_valid_i {
        match log.words(Owner::Mem, cycle).as_ref().and_then(|words| words.chunks(2).nth(column)) {
            Some(_) if input.mem_write_i => {
                expected.restore_o = true;
                expected.restore_row_o = U::new(log.row(Owner::Mem, cycle));
                expected.restore_column_o = input.mem_column_i;
                expected.restore_data_o = input.mem_data_i;
                expected.stale_o = log.leaves_stale(cycle);
                let word = |first: usize| std::array::from_fn(|n| input.mem_data_i[first + n]);
                written = Some([word(0), word(4)]);
            }
            Some(words) => {
                expected.mem_data_valid_o = true;
                expected.mem_data_o = std::array::from_fn(|n| words[n / 4][n % 4]);
            }
            None => misuse = true,
        }
    }
    if input.pim_valid_i {
        let is_free = log.is_dual() || !input.mem_valid_i;
        let words = log.words(Owner::Pim, cycle).filter(|_| is_free);
        match words.as_ref().and_then(|words| words.get(input.pim_word_i.get() as usize)) {
            Some(word) => (expected.pim_data_valid_o, expected.pim_data_o) = (true, *word),
            None => misuse = true,
        }
    }
    if let Some(data) = written {
        log.write(cycle, column, data);
    }
    if input.activate_i {
        let row = input.row_i.get();
        log.command(cycle, of, RowCommand::Activate { row, words: cells.to_vec() });
    } else if input.precharge_i {
        log.command(cycle, of, RowCommand::Precharge);
    }
    expected.misuse_o = misuse;
    expected
}
