// SPDX-License-Identifier: MIT
//! Dispatcher, sequencer and rank as one RTL design, in lockstep with the device: every port of it, in every
//! tCK.
#![cfg(feature = "rtl")]

use pimlico_device::dispatch::{Made, Start};
use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    Activation, Config, Mismatch, Normalise, Options, Rank, RankError, RankUnits, SumFormat,
};
use pimlico_dpa::types::LoadKind;
use pimlico_host::attention::{self, AttentionError};
use pimlico_host::data::{Distribution, Head, Shape};
use pimlico_host::driver::Driver;
use pimlico_host::gemv::{self, GemvError, Operands};
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_ports::{Bundle, Unit};
use pimlico_testbenches::module::pim_module::{self, NoRank, Size};
use pimlico_units::module::{PimModuleOut, PimModuleProbe, SmallPimModule};

/// A rank with its RTL beside it, which may be configured otherwise.
fn rank(config: &Config, rtl: &Config, options: Options) -> Rank {
    let mut rank = Rank::new(config.clone(), RankUnits::models(config, options), options);
    let (observer, _) =
        pim_module::lockstep(Size::Small, rtl, options, 3, None).expect("an L3 rank");
    rank.observe(observer);
    rank
}

/// Runs heads one after the other; returns the tCK.
fn attend(rank: &mut Rank, shapes: &[Shape]) -> Result<u64, RankError> {
    for (number, shape) in shapes.iter().enumerate() {
        let head = Head::synthetic(*shape, 7, number);
        let layout = HeadLayout::new(rank.config(), shape.head_dim, shape.context, 0);
        let layout = layout.expect("it fits");
        let mut host = HostPort::new().expect("an image");
        host.transfer(rank, kv_cache::writes(&layout, &head)).map_err(unwrapped)?;
        match attention::run_head(rank, &layout, &head.queries) {
            Ok(_) => {}
            Err(AttentionError::Rank(error)) => return Err(error),
            Err(error) => panic!("{error}"),
        }
    }
    Ok(rank.tck())
}

/// Multiplies a matrix with a vector; returns the tCK.
fn multiply(rank: &mut Rank, rows: usize, columns: usize) -> Result<u64, RankError> {
    let layout = MatrixLayout::new(rank.config(), rows, columns).expect("it fits");
    let Operands { matrix, vector } = Operands::synthetic(rows, columns, 5);
    let mut host = HostPort::new().expect("an image");
    host.transfer(rank, gemv::writes(&layout, &matrix)).map_err(unwrapped)?;
    match gemv::multiply(&mut Driver::new(), rank, &layout, &vector, IoBuffers::PingPong) {
        Ok(_) => Ok(rank.tck()),
        Err(GemvError::Rank(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

fn unwrapped(error: TransferError) -> RankError {
    match error {
        TransferError::Rank(error) => error,
        error => panic!("{error}"),
    }
}

fn shape(head_dim: usize, context: usize, group: usize) -> Shape {
    Shape { head_dim, context, group, distribution: Distribution::Random }
}

/// What two equal configurations end in.
fn holds(run: impl Fn(&mut Rank) -> Result<u64, RankError>, options: Options) {
    let config = Config::ddr4_3200();
    match run(&mut rank(&config, &config, options)) {
        Ok(tck) => assert!(tck > 500, "{tck} tCK: nothing was run"),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn attention_with_a_chunk_that_is_not_full() {
    holds(|rank| attend(rank, &[shape(128, 37, 1)]), Options::default());
}

#[test]
fn heads_that_share_k_and_v_go_on_from_partial_sums() {
    // Two rows of V columns of 64 elements, so that the sums of the first come back for the second.
    holds(|rank| attend(rank, &[shape(64, 1100, 2)]), Options::default());
    // Two parts of V, and more sums than leave at once.
    holds(|rank| attend(rank, &[shape(256, 5, 8)]), Options::default());
}

#[test]
fn the_host_has_the_pins_between_heads() {
    let shapes = [shape(80, 20, 1), shape(96, 3, 1), shape(128, 16, 2)];
    holds(|rank| attend(rank, &shapes), Options::default());
}

#[test]
fn rows_are_opened_bank_by_bank_and_refresh_may_be_off() {
    let options =
        Options { activation: Activation::Staggered, refresh: false, ..Options::default() };
    holds(|rank| attend(rank, &[shape(128, 50, 1)]), options);
}

#[test]
fn a_matrix_of_two_tiles_goes_on_from_partial_sums() {
    holds(|rank| multiply(rank, 20, 4100), Options::default());
}

#[test]
fn refs_come_in_the_middle_of_a_matrix() {
    // 13 tREFI at 16 x 64 bytes of weights in 8 tCK.
    let tck = |rank: &mut Rank| {
        let tck = multiply(rank, 160, 4096)?;
        assert!(tck > 2 * rank.config().timing.refi_tck, "{tck} tCK are too few for a REF");
        Ok(tck)
    };
    holds(tck, Options::default());
}

#[test]
fn refs_fall_due_more_often_than_rows_change() {
    // A row takes longer than a tREFI, so that REFs are owed all the time.
    let mut config = Config::ddr4_3200();
    config.timing.refi_tck = 750;
    let mut rank = rank(&config, &config, Options::default());
    if let Err(error) = multiply(&mut rank, 112, 4096) {
        panic!("{error}");
    }
}

/// A rank on which REFs are short and due every so many tCK.
fn refreshed_every(refi_tck: u64) -> Rank {
    let mut config = Config::ddr4_3200();
    config.timing.refi_tck = refi_tck;
    config.timing.rfc_tck = config.timing.rc_tck;
    rank(&config, &config, Options::default())
}

#[test]
fn refs_are_forced_in_the_middle_of_rows() {
    // Three tREFI in a row's 128 slots: the ninth would fall due before the row ends.
    if let Err(error) = multiply(&mut refreshed_every(300), 112, 4096) {
        panic!("{error}");
    }
}

#[test]
fn refs_come_where_a_head_ends() {
    let shapes = [shape(64, 50, 1), shape(128, 30, 2), shape(96, 70, 1)];
    for refi_tck in [200, 270] {
        if let Err(error) = attend(&mut refreshed_every(refi_tck), &shapes) {
            panic!("{error}");
        }
    }
}

fn load(rank: &mut Rank, kind: LoadKind, address: u16, data: u64) {
    rank.load(kind, address, data).expect("no mismatch");
}

/// Writes a program to the command buffer.
fn load_program(rank: &mut Rank, text: &str) {
    load(rank, LoadKind::Clear, 0, 0);
    let words = pimlico_dpa::assemble(text).expect("it can be written");
    (0..).zip(words).for_each(|(address, word)| load(rank, LoadKind::Command, address, word));
}

/// What programs that are wrong end in; the same rank runs the right one after each.
#[test]
fn a_fault_ends_its_run_and_no_other() {
    let config = Config::ddr4_3200();
    let mut rank = rank(&config, &config, Options::default());
    (0..4).for_each(|row| load(&mut rank, LoadKind::Entry, row, u64::from(row)));
    load(&mut rank, LoadKind::Segment, 0, 4 << 16);
    let too_many = "weigh\n".repeat(17) + &"wr_weights word=9\n".repeat(17) + "end";
    let good =
        "wr_shared word=3\nmac_score column=5 word=3 first last\nrd_result word=64 first last\n";
    let operands = [[0x3C00_4000_4200_4400; 8]; 2];
    for (tokens, bad, expected) in [
        (4, "finish\nweigh\nend", "do not match"),
        (4, "finish\nweigh\nclose_all\nwr_weights word=9\nend", "do not match"),
        (4, "wr_weights word=9\nend", "do not match"),
        (4, &too_many, "do not match"),
        (0, "mac_score row=9\nend", "Va2Pa"),
        (0, "mac_score row=1 column=200\nend", "column 200"),
        (0, "rd_result word=128 place=300\nend", "place 300"),
        (0, "weigh\nend", "no tokens"),
        (0, "wr_shared word=4\nwr_shared word=4\nend", "operands"),
        (0, ".word 0xf000000000000000", "opcode"),
    ] {
        load(&mut rank, LoadKind::Tokens, 0, tokens);
        let mut outputs = 0;
        for (text, wrong) in [(good.to_owned() + bad, true), (good.to_owned() + "end", false)] {
            load_program(&mut rank, &text);
            let start = Start { request: 0, address: 0, operands: &operands };
            let count = &mut |made| outputs += u32::from(matches!(made, Made::Output(_)));
            match rank.run(start, count) {
                Ok(()) => assert!(!wrong, "{bad}"),
                Err(RankError::Dispatch(error)) => {
                    assert!(wrong && error.to_string().contains(expected), "{bad}: {error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(outputs, 8, "{bad}: what came before it stands");
    }
}

/// The mismatch of a rank whose RTL has another configuration.
fn mismatch(change: impl FnOnce(&mut Config)) -> Box<Mismatch> {
    let config = Config::ddr4_3200();
    let mut rtl = config.clone();
    change(&mut rtl);
    match attend(&mut rank(&config, &rtl, Options::default()), &[shape(128, 37, 1)]) {
        Err(RankError::Mismatch(mismatch)) => mismatch,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_difference_ends_the_run_and_has_a_name() {
    let late = mismatch(|config| config.timing.cl_tck += 1);
    assert_eq!((late.unit.as_str(), late.port), ("pim_module:2x4", "dq_valid_o"));
    assert!(!late.inputs.is_empty() && late.to_string().contains("port dq_valid_o"));
    let early = mismatch(|config| config.timing.cwl_tck -= 1);
    assert_eq!(early.port, "dq_valid_o");
    assert!(early.cycle < late.cycle, "operands come before results");
    assert_eq!(mismatch(|config| config.timing.rcd_mac_tck += 1).port, "command_o");
    assert_eq!(mismatch(|config| config.timing.refi_tck = 1000).port, "refresh_wanted");
}

#[test]
fn all_ports_of_the_small_rank_are_the_large_ones() {
    assert_eq!(SmallPimModule::info().outputs, PimModuleOut::PORTS);
    let bits = |ports: &[pimlico_ports::PortInfo]| ports.iter().map(|p| p.width).sum::<u32>();
    assert!(bits(PimModuleProbe::PORTS) > 128 * 128, "columns and results of 128 PUs");
}

#[test]
fn another_rank_than_l3s_is_refused() {
    let config = Config::ddr4_3200();
    let refused = |config: &Config, options| match pim_module::lockstep(
        Size::Small,
        config,
        options,
        1,
        None,
    ) {
        Err(error @ NoRank::Options(_)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was taken"),
    };
    let late = Options { normalise: Normalise::Late, ..Options::default() };
    assert!(refused(&config, late).contains("late normalisation"));
    let wide = Options { sums: SumFormat::Binary32, ..Options::default() };
    assert!(refused(&config, wide).contains("binary32"));
    let mut slow = config.clone();
    slow.timing.cl_tck = 49;
    assert!(refused(&slow, Options::default()).contains("2 to 48"));
}
