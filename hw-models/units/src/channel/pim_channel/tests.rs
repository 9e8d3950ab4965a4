// SPDX-License-Identifier: MIT
//! The diagrams of the contract.

use super::{PimChannel, PimChannelIn, PimChannelOut};
use crate::channel::{CONTROLLER_GUARD_TCK, ChannelCommand, PimKind};
use pimlico_ports::{Model, U};

type In = PimChannelIn<[u16; 4]>;
type Out = PimChannelOut<[u16; 4]>;

/// One and two in binary16, in all elements of a word.
const ONES: [u64; 4] = [0x3C00_3C00_3C00_3C00; 4];
const TWOS: [u64; 4] = [0x4000_4000_4000_4000; 4];

/// NeuPIMs' timings, without refresh.
fn neupims() -> In {
    In {
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
        ..In::default()
    }
}

/// Outputs of a channel that has had these requests, each offered until it was accepted; all rows are of twos.
fn run(requests: &[In], cycles: usize) -> Vec<Out> {
    let mut unit = PimChannel::<[u16; 4]>::new();
    let mut left = requests.iter();
    let mut next = left.next();
    let mut outputs = Vec::new();
    for cycle in 0..cycles {
        let mut input = next.copied().filter(|_| cycle > 0).unwrap_or_else(neupims);
        input.cells_i = [[TWOS; 32]; 4];
        input.mem_data_i.copy_from_slice([ONES, ONES].as_flattened());
        let output = unit.step(&input);
        let mem = input.mem_valid_i && output.mem_ready_o;
        if mem || input.pim_valid_i && output.pim_ready_o {
            next = left.next();
        }
        outputs.push(output);
    }
    outputs
}

fn at(outputs: &[Out], is: impl Fn(&Out) -> bool) -> Vec<usize> {
    (0..outputs.len()).filter(|&cycle| is(&outputs[cycle])).collect()
}

fn command(outputs: &[Out], command: ChannelCommand) -> usize {
    at(outputs, |o| o.command_o.get() == command as u64)[0]
}

fn pim(kind: PimKind) -> In {
    In { pim_valid_i: true, pim_kind_i: U::new(kind as u64), pim_last_i: true, ..neupims() }
}

#[test]
fn data_go_to_the_cells_and_come_from_the_row() {
    let write = In {
        mem_valid_i: true,
        mem_write_i: true,
        mem_bank_i: U::new(2),
        mem_row_i: U::new(77),
        mem_column_i: U::new(3),
        ..neupims()
    };
    let other = In { mem_write_i: false, mem_column_i: U::new(4), ..write };
    let outputs = run(&[write, In { mem_write_i: false, ..write }, other], 120);
    let act = command(&outputs, ChannelCommand::Act);
    assert_eq!(at(&outputs, |o| o.activate_o), [act + 1]);
    let opened = &outputs[act + 1];
    assert_eq!((opened.activate_bank_o.get(), opened.activate_row_o.get()), (2, 77));
    assert!(!opened.activate_pim_o);
    let restored = command(&outputs, ChannelCommand::Wr) + 2;
    assert_eq!(at(&outputs, |o| o.restore_o), [restored]);
    let place = &outputs[restored];
    assert_eq!((place.restore_bank_o.get(), place.restore_row_o.get()), (2, 77));
    assert_eq!((place.restore_column_o.get(), place.restore_data_o[7]), (3, ONES[0]));
    let reads = at(&outputs, |o| o.command_o.get() == ChannelCommand::Rd as u64);
    let data = at(&outputs, |o| o.read_o);
    assert_eq!(data, reads.iter().map(|read| read + 2).collect::<Vec<_>>());
    let mut words: Vec<_> = data.iter().map(|&cycle| outputs[cycle].read_data_o[0]).collect();
    words.sort_unstable();
    assert_eq!(words, [ONES[0], TWOS[0]]);
}

#[test]
fn a_gemv_of_a_word_has_its_results_three_cycles_before_their_burst() {
    let gwrite = In { pim_bank_i: U::new(1), pim_row_i: U::new(5), ..pim(PimKind::Gwrite) };
    let header = In { pim_row_i: U::new(6), ..pim(PimKind::Header) };
    let gemv = In { pim_word_i: U::new(31), ..pim(PimKind::Gemv) };
    let outputs = run(&[gwrite, header, gemv], 600);
    let begin = command(&outputs, ChannelCommand::PimGemv);
    assert_eq!(at(&outputs, |o| o.gemv_results_o), [begin + 9]);
    assert_eq!(at(&outputs, |o| o.burst_o), [begin + 12]);
    // Sixteen products of 2 and 2.
    assert_eq!(outputs[begin + 9].results_o, [0x5400; 4]);
    let faults = |o: &Out| o.conflict_o || o.stale_o || o.misuse_o || o.overrun_o || o.fault_o;
    assert_eq!(at(&outputs, faults), [0; 0]);
}

#[test]
fn an_rdresult_takes_what_the_pus_have() {
    let gwrite = In { pim_bank_i: U::new(1), pim_row_i: U::new(5), ..pim(PimKind::Gwrite) };
    let header = In { pim_row_i: U::new(6), pim_count_i: U::new(1), ..pim(PimKind::Header) };
    let dot = |n: u64| In {
        pim_word_i: U::new(n),
        pim_first_i: n == 0,
        pim_last_i: n == 1,
        ..pim(PimKind::DotProduct)
    };
    let outputs = run(&[gwrite, header, dot(0), dot(1), pim(PimKind::ReadResult)], 600);
    let read = command(&outputs, ChannelCommand::PimReadResult);
    assert_eq!(at(&outputs, |o| o.read_results_o), [read + 1]);
    assert_eq!(at(&outputs, |o| o.burst_o), [read + 14]);
    assert_eq!(outputs[read + 1].results_o, [0x5800; 4]);
    assert_eq!(at(&outputs, |o| o.gemv_results_o), [0; 0]);
}
