// SPDX-License-Identifier: MIT
//! A matrix times a vector on the model of a rank: every bit against the contract's order of summation.

use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::{Config, Device, Options, Rank, Statistics, SumFormat};
use pimlico_golden::format::{Format, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::HostPort;
use pimlico_model::data::Operands;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use pimlico_workload::operator;

/// Elements of a tile: half of the eight shared buffers.
const TILE: usize = 4096;

fn rank(sums: SumFormat) -> Attached<Rank> {
    let config = Config::ddr4_3200();
    let options = Options { sums, refresh: false, ..Options::default() };
    Attached::engine(&config, options).expect("an L3 rank")
}

fn run(
    rank: &mut Attached<Rank>,
    operands: &Operands,
    io_buffers: IoBuffers,
) -> (Vec<u16>, Statistics) {
    let (rows, columns) = (operands.matrix.len(), operands.vector.len());
    let layout = MatrixLayout::new(rank.config(), rows, columns).expect("it fits");
    let mut host = HostPort::new().expect("an image");
    host.transfer(rank, l3::gemv::writes(&layout, &operands.matrix)).expect("places");
    l3::gemv::multiply(&mut Driver::new(), rank, &layout, &operands.vector, io_buffers)
        .expect("a model alone")
}

/// A row of the matrix times the vector: tile by tile, each added to what the tiles before came to,
/// which is rounded to an element.
fn expected(precision: Precision, row: &[u16], vector: &[u16]) -> u16 {
    let mut sum = precision.elements.zero(false);
    for (row, vector) in row.chunks(TILE).zip(vector.chunks(TILE)) {
        let of_chip = |chip| precision.term(precision.chip_sum(row, vector, chip).into());
        let tile = precision.chips_sum(std::array::from_fn(of_chip));
        sum = precision.element(precision.add(tile, precision.term(sum)));
    }
    sum as u16
}

#[test]
fn every_bit_is_what_the_order_of_summation_gives() {
    for (sums, format) in
        [(SumFormat::Binary16, Format::BINARY16), (SumFormat::Binary32, Format::BINARY32)]
    {
        let precision =
            Precision { elements: Format::BINARY16, subnormals: Subnormals::Gradual, sums: format };
        let mut rank = rank(sums); // one for all: nothing of an earlier matrix may be left
        let pins = PinLog::of(&mut rank);
        for (rows, columns) in
            [(40, 100), (1, 1), (16, 32), (100, 20), (33, TILE), (20, TILE + 1), (17, 3 * TILE - 5)]
        {
            let operands = Operands::synthetic(rows, columns, (rows + columns) as u64);
            for io_buffers in [IoBuffers::PingPong, IoBuffers::Single] {
                let (outputs, statistics) = run(&mut rank, &operands, io_buffers);
                assert_eq!(outputs.len(), rows);
                for (row, output) in operands.matrix.iter().zip(outputs) {
                    let expected = expected(precision, row, &operands.vector);
                    assert_eq!(output, expected, "{rows} x {columns}, {io_buffers:?}");
                }
                let reads = rows.div_ceil(16) * columns.div_ceil(32);
                assert_eq!(statistics.used, reads as u64);
            }
        }
        assert_eq!(pins.violations(rank.tck()).1, vec![]);
    }
}

#[test]
fn ping_pong_buffers_hide_the_vector() {
    let operands = Operands::synthetic(64, 4 * TILE, 1);
    let cost = |io_buffers| run(&mut rank(SumFormat::Binary16), &operands, io_buffers).1;
    let (ping_pong, single) = (cost(IoBuffers::PingPong), cost(IoBuffers::Single));
    assert_eq!((ping_pong.lost_tck.bubble, single.lost_tck.bubble), (0, 0));
    // A tile is 128 bursts of tCCD_S = 4 tCK. All but the first are hidden, or none; reads begin when
    // the first word is there.
    let hidden = single.cycles - ping_pong.cycles;
    assert!(hidden > 3 * 8 && hidden < 3 * 128 * 4, "{hidden}");
}

#[test]
fn a_job_is_reported() {
    let job = GemvJob { rows: 100, columns: 5000, io_buffers: IoBuffers::PingPong, seed: 1 };
    let report = operator::on_rank(&mut rank(SumFormat::Binary16), &job).expect("it fits");
    let operator = &report.operators[0];
    assert_eq!((operator.operator, operator.macs), ("gemv", 500_000));
    assert_eq!(report.pin_violations, 0);
    assert!(operator.error.max_relative > 0.0 && operator.error.max_relative < 0.02);
    let empty = GemvJob { rows: 0, ..job };
    let error = operator::on_rank(&mut rank(SumFormat::Binary16), &empty).expect_err("no matrix");
    assert!(error.to_string().contains("at least 1 x 1"), "{error}");
}
