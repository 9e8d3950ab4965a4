// SPDX-License-Identifier: MIT
//! What the controller of a channel of NeuPIMs puts on the pins breaks none of the rules that `golden` knows.

use pimlico_golden::pins_dual::{DualChecker, DualPin, DualRules};
use pimlico_ports::{Model, U};
use pimlico_units::channel::{
    CONTROLLER_GUARD_TCK, ChannelController, ChannelControllerIn, ChannelControllerOut, PimKind,
};
use std::collections::{HashMap, VecDeque};

/// NeuPIMs' timings.
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
        refi_i: U::new(1950),
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

fn rules(first: &ChannelControllerIn) -> DualRules {
    DualRules {
        ranks: if first.single_i { 1 } else { 2 },
        groups_per_rank: if first.single_i { 8 } else { 4 },
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
    output.command_o.get().checked_sub(1).map(|nth| all[nth as usize])
}

/// Numbers that come from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn pim(kind: PimKind) -> ChannelControllerIn {
    let pim_kind_i = U::new(kind as u64);
    ChannelControllerIn { pim_valid_i: true, pim_kind_i, ..Default::default() }
}

/// A GEMV operation of some commands, or a GWRITE.
fn operation(draw: &mut Draw, rows: u64, fine: bool) -> Vec<ChannelControllerIn> {
    if draw.one_in(5) {
        let (pim_bank_i, pim_row_i) = (U::new(draw.below(32)), U::new(draw.below(rows)));
        return vec![ChannelControllerIn { pim_bank_i, pim_row_i, ..pim(PimKind::Gwrite) }];
    }
    let results = if draw.one_in(2) { 1 } else { 1 + draw.below(8) };
    let most = 32 / results;
    let counts: Vec<_> =
        (0..results).map(|_| if draw.one_in(3) { most } else { 1 + draw.below(most) }).collect();
    let total: u64 = counts.iter().sum();
    let header = ChannelControllerIn {
        pim_row_i: U::new(draw.below(rows)),
        pim_count_i: U::new(total - 1),
        pim_results_i: U::new(results - 1),
        ..pim(PimKind::Header)
    };
    let mut commands = vec![header];
    let mut word = 0;
    for (nth, count) in counts.into_iter().enumerate() {
        let last = nth as u64 + 1 == results;
        if fine {
            for dot in 0..count {
                commands.push(ChannelControllerIn {
                    pim_word_i: U::new(word + dot),
                    pim_first_i: dot == 0,
                    pim_last_i: dot + 1 == count,
                    ..pim(PimKind::DotProduct)
                });
            }
            commands.push(ChannelControllerIn { pim_last_i: last, ..pim(PimKind::ReadResult) });
        } else {
            commands.push(ChannelControllerIn {
                pim_word_i: U::new(word),
                pim_count_i: U::new(count - 1),
                pim_last_i: last,
                ..pim(PimKind::Gemv)
            });
        }
        word += count;
    }
    commands
}

/// What a run has done.
#[derive(Debug, Default)]
struct Done {
    bursts: u64,
    operations: u64,
    refs: u64,
    dots: u64,
    /// The least by which an estimate was more than what the operation took, up to its end and tRP.
    spare: i64,
}

/// How a run is drawn.
struct Load {
    first: ChannelControllerIn,
    cycles: u64,
    /// A request of MEM in one of so many cycles in which one is accepted, in bursts of some columns.
    mem: u64,
    /// An operation of PIM in one of so many cycles without one.
    pim: u64,
    rows: u64,
    fine: bool,
}

fn run(seed: u64, load: &Load) -> Done {
    let Load { first, .. } = load;
    let mut draw = Draw(seed);
    let mut unit = ChannelController::<32, 32>::new();
    let mut checker = DualChecker::new(rules(first));
    let mut queue: VecDeque<ChannelControllerIn> = VecDeque::new();
    let mut stream = (false, 0, 0, 0, 0u64);
    // Requests of MEM by tag, and for each address what was accepted in which order.
    let mut waiting: HashMap<u8, (bool, u64, u64, u64)> = HashMap::new();
    let mut order: HashMap<(u64, u64, u64), VecDeque<(bool, u8)>> = HashMap::new();
    let mut rows = [0u64; 32];
    let mut done = Done { spare: i64::MAX, ..Done::default() };
    // When the operation was admitted, and its estimate.
    let mut under_way: Option<(u64, u64)> = None;
    let mut busy = Vec::new();
    let mut free: VecDeque<u8> = (0..=255).collect();
    for cycle in 0..load.cycles {
        let mut input = if cycle == 0 { *first } else { ChannelControllerIn::default() };
        let ready = unit.settle(&input);
        if queue.is_empty() && draw.one_in(load.pim) {
            queue.extend(operation(&mut draw, load.rows, load.fine));
        }
        if ready.pim_ready_o
            && let Some(next) = queue.pop_front()
        {
            input.pim_valid_i = true;
            input.pim_kind_i = next.pim_kind_i;
            input.pim_bank_i = next.pim_bank_i;
            input.pim_row_i = next.pim_row_i;
            input.pim_word_i = next.pim_word_i;
            input.pim_count_i = next.pim_count_i;
            input.pim_results_i = next.pim_results_i;
            input.pim_first_i = next.pim_first_i;
            input.pim_last_i = next.pim_last_i;
        }
        if ready.mem_ready_o && draw.one_in(load.mem) && !free.is_empty() {
            let (mut write, mut bank, mut row, mut column, mut left) = stream;
            if left == 0 {
                left = if draw.one_in(2) { 1 } else { 1 + draw.below(16) };
                (write, bank) = (draw.one_in(3), draw.below(32));
                (row, column) = (draw.below(load.rows), draw.below(16));
            }
            stream = (write, bank, row, (column + 1) % 16, left - 1);
            let tag = free.pop_front().expect("one is free");
            input.mem_valid_i = true;
            input.mem_write_i = write;
            input.mem_bank_i = U::new(bank);
            input.mem_row_i = U::new(row);
            input.mem_column_i = U::new(column);
            input.mem_tag_i = tag;
            waiting.insert(tag, (write, bank, row, column));
            order.entry((bank, row, column)).or_default().push_back((write, tag));
        }
        let output = unit.step(&input);
        assert!(!output.fault_o, "{seed}: cycle {cycle}");
        if output.admit_o {
            // Counted from the cycle in which the first command can be on the pins.
            under_way = Some((cycle, output.estimate_o.get()));
        }
        let Some(pin) = pin(&output, first.single_i) else { continue };
        let found = checker.command(cycle, pin);
        assert!(found.is_empty(), "{seed}: {}", found[0]);
        match pin {
            DualPin::Act { bank, row } => rows[bank] = row,
            DualPin::Rd { bank, column } | DualPin::Wr { bank, column } => {
                let is_write = matches!(pin, DualPin::Wr { .. });
                let request = waiting.remove(&output.mem_tag_o).expect("it was asked for");
                assert_eq!(request, (is_write, bank as u64, rows[bank], column), "{seed}: {cycle}");
                free.push_back(output.mem_tag_o);
                // Only reads of one address may pass each other.
                let of_address =
                    order.get_mut(&(bank as u64, rows[bank], column)).expect("it is there");
                let at =
                    of_address.iter().position(|(_, tag)| *tag == output.mem_tag_o).expect("it is");
                let passes = of_address.iter().take(at).any(|(write, _)| *write || is_write);
                assert!(!passes, "{seed}: cycle {cycle}: a burst out of order");
                of_address.remove(at);
                done.bursts += 1;
            }
            DualPin::Ref { .. } => done.refs += 1,
            DualPin::Gwrite { .. } => {
                let (begin, estimate) = under_way.take().expect("it was admitted");
                done.spare = done.spare.min((begin + estimate) as i64 - (cycle + 96) as i64);
                done.operations += 1;
            }
            DualPin::Gemv { count, .. } => {
                done.dots += count;
                busy.push(cycle + 2 * (count - 1));
            }
            DualPin::DotProduct { .. } => {
                done.dots += 1;
                busy.push(cycle);
            }
            _ => {}
        }
        if let Some(end) = busy.pop() {
            let (begin, estimate) = under_way.expect("it was admitted");
            // tRTP behind the last dot product, and tRP.
            let over = end + 6 + 14;
            done.spare = done.spare.min((begin + estimate) as i64 - over as i64);
            done.operations += 1;
        }
    }
    let found = checker.finish(load.cycles);
    assert!(found.is_empty(), "{seed}: {}", found[0]);
    done
}

#[test]
fn no_rule_is_broken_by_random_work() {
    for seed in 0..48 {
        let first = ChannelControllerIn {
            single_i: seed % 4 == 1,
            bankwise_i: seed % 5 == 1,
            simulator_i: seed % 6 == 1,
            steer_i: seed % 3 != 1,
            blocked_i: seed % 7 == 1,
            ..neupims()
        };
        let fine = seed % 8 == 7;
        let first =
            ChannelControllerIn { guard_i: first.guard_i + if fine { 8 * 14 } else { 0 }, ..first };
        let load = Load {
            first,
            cycles: 40_000,
            mem: [1, 1, 2, 8, 40][seed as usize % 5],
            pim: [1, 1, 20, 300][seed as usize / 5 % 4],
            rows: [3, 8, 64, 30_000][seed as usize / 2 % 4],
            fine,
        };
        let done = run(seed, &load);
        assert!(done.refs >= 18, "{seed}: {done:?}");
        if done.operations > 0 {
            assert!(done.spare >= 0, "{seed}: an estimate is too low: {done:?}");
        }
    }
}
