// SPDX-License-Identifier: MIT
//! The module as one design behind the host's driver: engine, RTL, and RTL and cycle model in lockstep make
//! the same of heads, a matrix and a layer.

use pimlico_device::gemv::{IoBuffers, MatrixLayout};
use pimlico_device::mapping::HeadLayout;
use pimlico_device::{
    Address, Config, DeviceError, ModuleDevice, Normalise, Options, RankDevice, Ranks, SumFormat,
    Topology,
};
use pimlico_host::attached::Attached;
use pimlico_host::driver::Driver;
use pimlico_host::kv_cache::{self, HostPort, TransferError};
use pimlico_model::Model;
use pimlico_model::data::Operands;
use pimlico_model::data::{Distribution, Head, HeadShape};
use pimlico_ports::Instances;
use pimlico_testbenches::{Lockstep, Rtl};
use pimlico_units::arith::{Binary16, Binary32};
use pimlico_units::module::{PimDimm, PimDimmIn, PimDimmOut};
use pimlico_workload::judge::pins::PinLog;
use pimlico_workload::l3;
use pimlico_workload::layer;
use pimlico_workload::operator;

type Boxed = Box<dyn RankDevice>;

fn device<M>(config: &Config, options: Options, module: Box<dyn Instances<M>>) -> Boxed
where
    M: pimlico_ports::Unit<In = PimDimmIn, Out = PimDimmOut>,
{
    let module = ModuleDevice::new(config.clone(), options, module).expect("an L3 rank");
    Box::new(Attached::new(module))
}

/// RTL, and both in lockstep.
fn others(config: &Config, options: Options) -> [Boxed; 2] {
    macro_rules! both {
        ($module:ty) => {
            [
                device::<$module>(config, options, Box::new(Rtl::new(1, 5))),
                device::<$module>(config, options, Box::new(Lockstep::new(1, 5))),
            ]
        };
    }
    match (options.sums, options.normalise) {
        (SumFormat::Binary16, Normalise::Early) => both!(PimDimm<Binary16, false>),
        (SumFormat::Binary16, Normalise::Late) => both!(PimDimm<Binary16, true>),
        (SumFormat::Binary32, Normalise::Early) => both!(PimDimm<Binary32, false>),
        (SumFormat::Binary32, Normalise::Late) => both!(PimDimm<Binary32, true>),
    }
}

fn engine(config: &Config, options: Options) -> Boxed {
    Box::new(Attached::engine(config, options).expect("an L3 rank"))
}

#[test]
fn back_ends_agree() {
    use Normalise::{Early, Late};
    for (head_dim, context, group, normalise, sums, faw_banks) in [
        (128, 40, 1, Early, SumFormat::Binary16, 16),
        (64, 17, 2, Late, SumFormat::Binary16, 8),
        (80, 1, 1, Early, SumFormat::Binary32, 4),
        (96, 33, 1, Late, SumFormat::Binary32, 16),
    ] {
        let mut config = Config::ddr4_3200();
        config.timing.faw_banks = faw_banks;
        let shape = HeadShape { head_dim, context, group, distribution: Distribution::Random };
        let head = Head::synthetic(shape, 5, 0);
        let options = Options { normalise, sums, ..Options::default() };
        let run = |mut device: Boxed| {
            let pins = PinLog::of(&mut *device);
            let layout = HeadLayout::new(&config, head_dim, context, 0).expect("it fits");
            let mut host = HostPort::new().expect("an image");
            let writes = kv_cache::writes(&layout, &head);
            host.transfer(&mut *device, writes).expect("no mismatch");
            let result = l3::attention::run_head(&mut *device, &layout, &head.queries);
            let result = result.expect("no mismatch");
            let reads = kv_cache::reads(&layout);
            let (read, _) = host.transfer(&mut *device, reads).expect("no mismatch");
            assert_eq!(pins.violations(device.tck()), (0, vec![]));
            (format!("{result:?}"), read)
        };
        let fast = run(engine(&config, options));
        for other in others(&config, options) {
            assert_eq!(run(other), fast);
        }
    }
}

#[test]
fn back_ends_agree_on_a_matrix() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    // Whole tiles and a part of one, chunks that share a row of the banks, either way of filling.
    for (rows, columns, io_buffers) in
        [(17, 4100, IoBuffers::PingPong), (50, 70, IoBuffers::Single)]
    {
        let operands = Operands::synthetic(rows, columns, 5);
        let layout = MatrixLayout::new(&config, rows, columns).expect("it fits");
        let run = |mut device: Boxed| {
            let mut host = HostPort::new().expect("an image");
            let writes = l3::gemv::writes(&layout, &operands.matrix);
            host.transfer(&mut *device, writes).expect("no mismatch");
            let mut driver = Driver::new();
            l3::gemv::multiply(&mut driver, &mut *device, &layout, &operands.vector, io_buffers)
                .expect("no mismatch")
        };
        let fast = run(engine(&config, options));
        for other in others(&config, options) {
            assert_eq!(run(other), fast);
        }
    }
}

#[test]
fn back_ends_agree_on_a_layer_on_two_ranks() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let shape = Model {
        layers: 1,
        heads: 4,
        kv_heads: Some(2),
        head_dim: 32,
        hidden: 64,
        ffn: 48,
        gated: false,
        vocab: 10,
    };
    let job = layer::LayerJob {
        model: "small".to_owned(),
        shape,
        layers: 1,
        context: 20,
        distribution: Distribution::Random,
        io_buffers: IoBuffers::PingPong,
        seed: 5,
    };
    let run = |new_rank: &(dyn Fn(Address) -> Boxed + Sync)| {
        let topology = Topology::new(1, 2, 1).expect("two ranks");
        let ranks = Ranks::new(&config, topology, new_rank);
        let report = operator::on_ranks(&ranks, options, 2, &job).expect("no mismatch");
        assert_eq!(report.pin_violations, 0);
        format!("{report:?}")
    };
    let fast = run(&|_| engine(&config, options));
    let lockstep = run(&|_| {
        let [_, lockstep] = others(&config, options);
        lockstep
    });
    assert_eq!(fast, lockstep);
}

/// RTL that is one bit wrong in the first eight columns that it writes.
struct Wrong(Rtl<PimDimm<Binary16, false>>, u32);

impl Instances<PimDimm<Binary16, false>> for Wrong {
    fn reset(&mut self) {
        self.0.reset();
    }

    fn settle(
        &mut self,
        inputs: &[PimDimmIn],
        outputs: &mut [PimDimmOut],
    ) -> Result<(), Box<pimlico_ports::Mismatch>> {
        self.0.settle(inputs, outputs)
    }

    fn step(
        &mut self,
        inputs: &[PimDimmIn],
        outputs: &mut [PimDimmOut],
    ) -> Result<(), Box<pimlico_ports::Mismatch>> {
        self.0.step(inputs, outputs)?;
        if outputs[0].cells_write_valid_o && self.1 > 0 {
            self.1 -= 1;
            outputs[0].cells_write_o.data[3] ^= 1 << 14;
        }
        Ok(())
    }
}

#[test]
fn a_wrong_bit_on_the_way_to_the_chips_shows() {
    let (config, options) = (Config::ddr4_3200(), Options::default());
    let shape =
        HeadShape { head_dim: 128, context: 40, group: 1, distribution: Distribution::Random };
    let head = Head::synthetic(shape, 5, 0);
    let run = |mut device: Boxed| -> Result<_, DeviceError> {
        let layout = HeadLayout::new(&config, 128, 40, 0).expect("it fits");
        let mut host = HostPort::new().expect("an image");
        let writes = kv_cache::writes(&layout, &head);
        match host.transfer(&mut *device, writes) {
            Err(TransferError::Rank(error)) => return Err(error),
            other => other.expect("places"),
        };
        let run = l3::attention::run_head(&mut *device, &layout, &head.queries).expect("it runs");
        Ok(run.scores)
    };
    let wrong = device(&config, options, Box::new(Wrong(Rtl::new(1, 5), 8)));
    let [wrong, fast] = [wrong, engine(&config, options)].map(|device| run(device).ok());
    assert_ne!(wrong, fast);
}
