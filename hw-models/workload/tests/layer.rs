// SPDX-License-Identifier: MIT
//! A decoder layer: its costs, whatever the threads, on one rank and on many.

use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Address, Config, HostTransfer, Mdq, Options, RankDevice, Ranks, Topology};
use pimlico_host::attached::Attached;
use pimlico_model::data::Distribution;
use pimlico_model::{Model, presets};
use pimlico_workload::attention::AttentionReport;
use pimlico_workload::layer::{DecoderReport, LayerJob};
use pimlico_workload::operator;
use pimlico_workload::report::{self, Report};
use pimlico_workload::{attention, fc, gemv};
use pimlico_workload::{error::WorkloadError, system::How};

fn job() -> LayerJob {
    let shape = Model {
        layers: 1,
        heads: 6,
        kv_heads: Some(3),
        head_dim: 40,
        hidden: 200,
        ffn: 300,
        gated: true,
        vocab: 10,
    };
    LayerJob {
        model: "small".to_owned(),
        shape,
        layers: 1,
        context: 70,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::PingPong,
        seed: 5,
    }
}

fn rank() -> Box<dyn RankDevice> {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    Box::new(Attached::engine(&config, options).expect("an L3 rank"))
}

fn on<T>((channels, dimms, ranks): (usize, usize, usize), run: impl FnOnce(&Ranks) -> T) -> T {
    on_topology(Topology::new(channels, dimms, ranks).expect("a device"), run)
}

fn on_topology<T>(topology: Topology, run: impl FnOnce(&Ranks) -> T) -> T {
    let (config, new_rank) = (Config::ddr4_3200(), |_: Address| rank());
    run(&Ranks::new(&config, topology, &new_rank))
}

fn run_on(
    device: (usize, usize, usize),
    threads: usize,
    job: &LayerJob,
) -> Result<Report, WorkloadError> {
    on(device, |ranks| operator::on_ranks(ranks, Options::default(), threads, job))
}

fn run(job: &LayerJob) -> Result<Report, WorkloadError> {
    run_on((1, 1, 1), 1, job)
}

#[test]
fn threads_change_nothing() {
    let whole =
        |threads: usize| format!("{:?}", run_on((1, 1, 1), threads, &job()).expect("it runs"));
    let one = whole(1);
    assert_eq!(whole(3), one);
    assert_eq!(whole(100), one);
    let other = format!("{:?}", run(&LayerJob { seed: 6, ..job() }).expect("it runs"));
    assert_ne!(other, one);
    let spread =
        |threads: usize| format!("{:?}", run_on((2, 2, 1), threads, &job()).expect("it runs"));
    assert_eq!(spread(3), spread(1));
}

#[test]
fn a_layer_is_its_operators() {
    let report = run(&job()).expect("it runs");
    let of = |name: &str| report.operators.iter().find(|o| o.operator == name).expect(name);
    let alone = |rows, columns| {
        let job = gemv::GemvJob { rows, columns, io_buffers: IoBuffers::PingPong, seed: 1 };
        operator::on_rank(&mut *rank(), &job).expect("it runs").total.cycles
    };
    for (name, rows, columns) in
        [("qkv", 12 * 40, 200), ("projection", 200, 240), ("ffn1", 600, 200), ("ffn2", 200, 300)]
    {
        assert_eq!(of(name).macs, rows * columns, "{name}");
        assert!(of(name).error.max_relative > 0.0 && of(name).error.max_relative < 0.01, "{name}");
        assert_eq!(of(name).cycles, alone(rows as usize, columns as usize), "{name}");
    }
    let of_heads = of("attention");
    assert_eq!(of_heads.macs, 2 * 6 * 70 * 40);
    let head = attention::AttentionJob {
        model: String::new(),
        head_dim: 40,
        heads: 2,
        group: 2,
        contexts: vec![70],
        distribution: Distribution::Random,
        seed: 5,
    };
    let one = operator::on_rank(&mut *rank(), &head).expect("it runs");
    assert_eq!(of_heads.cycles, 3 * one.total.cycles);
    let layer = report.of::<DecoderReport>().expect("a layer ran");
    assert_eq!(layer.stages.output.max_relative, of_heads.error.max_relative);
    assert_eq!(report.operators.iter().map(|o| o.cycles).sum::<u64>(), report.total.cycles);
    assert_eq!(report.pin_violations, 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |job: LayerJob| run(&job).expect_err("refused").to_string();
    let wide = Model { ffn: 1 << 40, ..job().shape };
    assert!(refused(LayerJob { shape: wide, ..job() }).starts_with("ffn1: matrix of"));
    assert!(refused(LayerJob { context: 0, ..job() }).starts_with("attention: context of 0"));
    // Four rows of the banks for a matrix, two for each of three heads: 131072 bytes a row.
    let full = refused(LayerJob { layers: 65536, ..job() });
    assert!(full.starts_with("rank 0 of 1: weights, K and V of 65536 layer(s) take "), "{full}");
    assert!(full.ends_with(" bytes, a rank has 8589934592"), "{full}");
}

fn gemv_on(device: (usize, usize, usize), rows: usize, columns: usize) -> Report {
    let job = gemv::GemvJob { rows, columns, io_buffers: IoBuffers::PingPong, seed: 2 };
    on(device, |ranks| operator::on_ranks(ranks, Options::default(), How::from(2), &job))
        .expect("it runs")
}

/// What the host writes to a rank alone for a matrix: messages, then the vector.
fn written_alone(rows: usize, columns: usize) -> [HostTransfer; 2] {
    let mut rank = rank();
    let job = gemv::GemvJob { rows, columns, io_buffers: IoBuffers::PingPong, seed: 2 };
    operator::on_rank(&mut *rank, &job).expect("it runs");
    let written = rank.take_transfers().into_iter().filter(|transfer| !transfer.read);
    let written: Vec<_> = written.collect();
    written.try_into().expect("two transfers")
}

#[test]
fn ranks_with_as_much_to_do_take_as_long_as_one() {
    // Four ranks with 64 rows each, on channels of their own.
    let (one, four) = (gemv_on((1, 1, 1), 64, 300), gemv_on((4, 1, 1), 256, 300));
    assert_eq!(four.total.cycles, one.total.cycles);
    assert_eq!(four.total.peak_gb_per_s, 4.0 * one.total.peak_gb_per_s);
    assert!((four.total.read_gb_per_s - 4.0 * one.total.read_gb_per_s).abs() < 1e-9);
    assert_eq!(four.load.cycles, one.load.cycles);
    assert_eq!(four.load.bytes, 4 * one.load.bytes);
    let (of_one, of_four) = (&one.operators[0], &four.operators[0]);
    assert_eq!(of_four.slots.used, of_one.slots.used);
    assert_eq!(of_four.commands["RD_ALL_BANK"], 4 * of_one.commands["RD_ALL_BANK"]);
    let energy = |report: &Report| report.total.energy_pj.expect("DDR4");
    assert!((energy(&four) / energy(&one) - 4.0).abs() < 1e-9);
    let on_ranks = of_four.ranks.expect("several ranks");
    assert_eq!((on_ranks.used, on_ranks.imbalance, on_ranks.waited_tck), (4, 1.0, 0));
    // On one channel, each has to wait for messages and vectors of the others, and no longer: the messages of all ranks
    // cross first, which takes longer than one alone pauses before its vector, then the vectors. The channel is idle
    // where the rank changes, and at no other time, until the last rank has it for its vector.
    let [messages, vector] = written_alone(64, 300);
    let gap_tck = Config::ddr4_3200().timing.rtw_gap_tck;
    assert!(4 * messages.tck + 3 * gap_tck > vector.from_tck - messages.from_tck);
    let last_tck = messages.from_tck + 4 * messages.tck + 3 * vector.tck + 7 * gap_tck;
    let shared = gemv_on((1, 2, 2), 256, 300);
    let waited = shared.operators[0].ranks.expect("several ranks").waited_tck;
    assert_eq!(waited, last_tck - vector.from_tck);
    assert_eq!(vector.tck, 40); // ten words
    // Polls and results cross in between, and hold nothing up.
    assert_eq!(shared.total.cycles, one.total.cycles + waited);
    assert_eq!(shared.load.cycles, 4 * one.load.cycles);
}

#[test]
fn ranks_compute_what_one_computes() {
    let heads = |device, threads: usize| {
        let job = attention::AttentionJob {
            model: String::new(),
            head_dim: 64,
            heads: 6,
            group: 2,
            contexts: vec![100, 40],
            distribution: Distribution::Random,
            seed: 5,
        };
        let run = |ranks: &Ranks| operator::on_ranks(ranks, Options::default(), threads, &job);
        on(device, run).expect("it runs")
    };
    let (one, many) = (heads((1, 1, 1), 1), heads((3, 1, 2), 2));
    let stages = |report: &Report| {
        format!("{:?}", report.of::<AttentionReport>().expect("attention").stages)
    };
    assert_eq!(stages(&one), stages(&many));
    assert_eq!(one.operators[0].commands, many.operators[0].commands);
    // Six K and V heads of two contexts on six ranks: as long as the longest.
    let [long, short] = [100, 40].map(|context| {
        let shape = attention::AttentionJob {
            model: String::new(),
            head_dim: 64,
            heads: 2,
            group: 2,
            contexts: vec![context],
            distribution: Distribution::Random,
            seed: 5,
        };
        operator::on_rank(&mut *rank(), &shape).expect("it runs").total.cycles
    });
    let on_ranks = many.operators[0].ranks.expect("several ranks");
    assert_eq!((on_ranks.used, on_ranks.busiest_tck), (6, long));
    assert_eq!(on_ranks.mean_tck, (long + short) as f64 / 2.0);
    assert_eq!(one.total.cycles, 3 * (long + short));
}

#[test]
fn ranks_of_a_dimm_that_share_their_data_lines_wait_for_each_other() {
    let heads = |dimms: usize, ranks: usize, mdq: Mdq| {
        let job = attention::AttentionJob {
            model: String::new(),
            head_dim: 128,
            heads: 2,
            group: 1,
            contexts: vec![700],
            distribution: Distribution::Random,
            seed: 5,
        };
        let run = |ranks: &Ranks| operator::on_ranks(ranks, Options::default(), How::from(2), &job);
        let topology = Topology::new(1, dimms, ranks).expect("a device").with_mdq(mdq);
        on_topology(topology, run).expect("it runs")
    };
    let [private, shared] = [Mdq::Private, Mdq::Shared].map(|mdq| heads(1, 2, mdq));
    let of = |report: &Report| report.operators[0].ranks.expect("several ranks");
    let busy_tck = |report: &Report| (of(report).mdq * report.total.cycles as f64).round();
    // What the pins showed is what was counted, of both ranks.
    assert_eq!(busy_tck(&shared), 2.0 * busy_tck(&private));
    assert_eq!(
        (of(&private).mdq_waited_tck, of(&shared).busiest_tck),
        (0, of(&private).busiest_tck)
    );
    let least_tck = of(&shared).mdq_least_tck;
    assert!(least_tck >= private.total.cycles && least_tck as f64 >= busy_tck(&shared));
    assert!((least_tck + 1..2 * private.total.cycles).contains(&shared.total.cycles), "{shared:?}");
    assert!(shared.total.cycles >= of(&shared).busiest_tck + of(&shared).mdq_waited_tck);
    let stages = |report: &Report| {
        format!("{:?}", report.of::<AttentionReport>().expect("attention").stages)
    };
    assert_eq!(stages(&private), stages(&shared));
    assert!(shared.notes.iter().any(|note| note.starts_with("MDQ shared: ")), "{:?}", shared.notes);
    // A rank of each DIMM has lines of its own.
    let apart = heads(2, 1, Mdq::Shared);
    assert_eq!(apart.total.cycles, private.total.cycles);
    assert_eq!(private.ranks.expect("ranks").mdq, "private");
}

#[test]
fn more_ranks_never_take_longer() {
    let devices = [(1, 1, 1), (2, 1, 1), (2, 2, 1), (4, 2, 1), (16, 2, 2)];
    let layer = LayerJob { shape: Model { heads: 12, ..job().shape }, context: 300, ..job() };
    let totals = devices.map(|device| run_on(device, 1, &layer).expect("it runs").total.cycles);
    assert!(totals.is_sorted_by(|fewer, more| fewer >= more), "{totals:?}");
    assert!(totals[0] > 3 * totals[4]);
    let fc = devices.map(|device| {
        let job = fc::FcJob::new("", &job().shape, 1, true, 1);
        on(device, |ranks| operator::on_ranks(ranks, Options::default(), 2, &job))
            .expect("it runs")
            .total
            .cycles
    });
    assert!(fc.is_sorted_by(|fewer, more| fewer >= more), "{fc:?}");
}

#[test]
fn layers_roll_up() {
    let layers = Model { layers: 4, ..job().shape };
    let report =
        run_on((2, 1, 1), 1, &LayerJob { shape: layers, layers: 3, ..job() }).expect("it runs");
    let layer = report.of::<DecoderReport>().expect("a layer ran");
    let roll_up = layer.roll_up;
    assert_eq!(roll_up.layer.cycles, report.total.cycles);
    assert_eq!((roll_up.token.layers, roll_up.token.cycles), (3, 3 * report.total.cycles));
    assert_eq!((roll_up.model.layers, roll_up.model.cycles), (4, 4 * report.total.cycles));
    assert!((roll_up.token.tokens_per_s * roll_up.token.ns / 1e9 - 1.0).abs() < 1e-12);
    assert_eq!(roll_up.model.bytes_per_rank, 4 * roll_up.layer.bytes_per_rank);
    assert!(roll_up.model.fits);
}

/// Pieces of work begin at any phase of tREFI: over a layer no refresh is left out.
#[test]
fn a_layer_on_many_ranks_is_charged_the_refs_that_are_due() {
    let shape = presets()["llama-3.1-8b"].clone();
    let job = LayerJob { context: 1024, shape, ..job() };
    let how = How { timing_only: true, ..How::from(2) };
    let config = Config::ddr4_3200();
    let report = on((16, 2, 2), |ranks| operator::on_ranks(ranks, Options::default(), how, &job));
    let report = report.expect("it runs");
    for operator in report.operators.iter().filter(|o| o.operator != report::APPEND) {
        let ranks = operator.ranks.expect("several ranks");
        let of_rank = |count: u64| count as f64 / ranks.used as f64;
        let issued = of_rank(operator.commands.get("REF").copied().unwrap_or(0));
        let of_time = ranks.busiest_tck as f64 / config.timing.refi_tck as f64;
        assert!((issued - of_time).abs() <= 1.0, "{}: {issued} {of_time}", operator.operator);
        let slots = operator.slots.lost.refresh as f64;
        let of_ref = (config.timing.rfc_tck / config.timing.ccd_l_tck) as f64;
        assert!((slots / of_ref - of_time).abs() <= 1.2, "{}: {slots}", operator.operator);
    }
}
