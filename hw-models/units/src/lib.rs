// SPDX-License-Identifier: MIT
//! Cycle models of the hardware units, equal to the RTL bit by bit and cycle by cycle.
//!
//! A unit stands in the same place and under the same name here, in `rtl/` and in `testbenches/`:
//! [`arith`] for arithmetic, [`bank`] for what is at a bank, [`rank`] for what is in the rank PU,
//! [`channel`] for a channel of an AiM or of NeuPIMs, [`npu`] for the NPU beside NeuPIMs' channels, [`module`] for what is above
//! ranks and channels.
//!
//! The contract of a unit (what it does, cycle by cycle, and why) is a Markdown file beside its
//! RTL, which the documentation of its model includes.
//!
//! # Example
//!
//! A beat of four products, summed up by the tree of a bank PU; its result is there four cycles later.
//!
//! ```
//! use num_traits::FromPrimitive;
//! use pimlico_ports::{Model, Unit};
//! use pimlico_units::arith::{Binary16, Fp};
//! use pimlico_units::bank::{BankPu, BankPuIn};
//!
//! let number = |value: f64| Fp::<Binary16>::from_f64(value).expect("a number");
//! let beat = BankPuIn {
//!     valid_i: true,
//!     first_i: true,
//!     last_i: true,
//!     row_i: [1.0, 2.0, 3.0, 4.0].map(number),
//!     shared_i: [0.5; 4].map(number),
//!     ..BankPuIn::default()
//! };
//! let mut unit = BankPu::<Binary16>::new();
//! assert_eq!(<BankPu<Binary16>>::name(), "bank_pu");
//! unit.step(&beat);
//! let outputs: Vec<_> = (1..=5).map(|_| unit.step(&BankPuIn::default())).collect();
//! let cycle = outputs.iter().position(|output| output.result_valid_o);
//! assert_eq!(cycle, Some(3), "the fourth cycle behind the beat");
//! assert_eq!(outputs[3].result_o[0], number(5.0));
//! ```

#[macro_use(contract)]
extern crate pimlico_rtl;

pub mod arith;
pub mod bank;
pub mod channel;
pub mod gear;
pub mod lap;
pub mod module;
pub mod npu;
mod prim;
pub mod rank;

/// The structs and enums of the RTL's package.
pub use pimlico_dpa::types::SHAPES as TYPES;
use pimlico_ports::{Unit, UnitInfo};

/// Every unit, in every set of parameters that is built and proven: calls the macro `$each` with
/// the type of each.
#[macro_export]
macro_rules! for_each_unit {
    ($each:ident) => {
        $each!($crate::arith::FpMul<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16, 2>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16, 3>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Binary32, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Binary32Flush, 0>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16, 2, 2>);
        $each!($crate::arith::FpMul<$crate::arith::Binary16Flush, 2, 2>);
        $each!($crate::arith::FpMul<$crate::arith::Bfloat16, 2, 2>);
        $each!($crate::arith::FpMul<$crate::arith::Binary32, 0, 2>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 2>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 3>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary32, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary32Flush, 0>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 0, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 1, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 2, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16Flush, 2, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16Flush, 0, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary32, 0, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary16, 4, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Bfloat16, 4, true>);
        $each!($crate::arith::FpAdd<$crate::arith::Binary32, 4, true>);
        $each!($crate::arith::FpMax<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpMax<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpMax<$crate::arith::Binary16, 2>);
        $each!($crate::arith::FpMax<$crate::arith::Binary16, 3>);
        $each!($crate::arith::FpMax<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpMax<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpMax<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16, 2>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16, 3>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16, 4>);
        $each!($crate::arith::FpExp<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpExp<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpExp<$crate::arith::Bfloat16, 4>);
        $each!($crate::arith::FpExp<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16, 2>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16, 3>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16, 6>);
        $each!($crate::arith::FpRecip<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpRecip<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpRecip<$crate::arith::Bfloat16, 6>);
        $each!($crate::arith::FpRecip<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpWiden<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpWiden<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpWiden<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpWiden<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpWiden<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::arith::FpNarrow<$crate::arith::Binary16, 0>);
        $each!($crate::arith::FpNarrow<$crate::arith::Binary16, 1>);
        $each!($crate::arith::FpNarrow<$crate::arith::Binary16Flush, 0>);
        $each!($crate::arith::FpNarrow<$crate::arith::Bfloat16, 0>);
        $each!($crate::arith::FpNarrow<$crate::arith::Bfloat16Flush, 0>);
        $each!($crate::bank::BankPu<$crate::arith::Binary16>);
        $each!($crate::bank::BankPu<$crate::arith::Binary16Flush>);
        $each!($crate::bank::BankPu<$crate::arith::Binary16, $crate::arith::Binary32>);
        $each!($crate::bank::BankPu<$crate::arith::Binary16Flush, $crate::arith::Binary32>);
        $each!($crate::bank::BankPu<$crate::arith::Bfloat16Flush, $crate::arith::Binary32>);
        $each!($crate::bank::BankPu<
            $crate::arith::Binary16,
            $crate::arith::Binary16,
            $crate::bank::Sixteen,
        >);
        $each!($crate::bank::TreePu<$crate::arith::Binary16>);
        $each!($crate::bank::PingpongBuffer<u64, 16, true>);
        $each!($crate::bank::PingpongBuffer<u64, 16, false>);
        $each!($crate::bank::PingpongBuffer<u64, 256, true>);
        $each!($crate::bank::PingpongBuffer<u64, 1, true>);
        $each!($crate::bank::PingpongBuffer<[u64; 4], 64, true>);
        $each!($crate::bank::PingpongBuffer<[u64; 4], 64, false>);
        $each!($crate::bank::PingpongBuffer<[u64; 4], 1, true>);
        $each!($crate::bank::PingpongBuffer<[u64; 4], 1, false>);
        $each!($crate::bank::DualRowBuffer<[[u64; 4]; 32], true>);
        $each!($crate::bank::DualRowBuffer<[[u64; 4]; 32], false>);
        $each!($crate::bank::DualRowBuffer<[[u64; 4]; 4], true>);
        $each!($crate::bank::DualRowBuffer<[[u64; 4]; 4], false>);
        $each!($crate::bank::PimBlock<$crate::arith::Bfloat16>);
        $each!($crate::bank::PimBlock<$crate::arith::Bfloat16, $crate::arith::Binary32>);
        $each!($crate::bank::PimBlock<$crate::arith::Bfloat16Flush>);
        $each!($crate::bank::PimBlock<$crate::arith::Binary16>);
        $each!($crate::bank::PimBlock<$crate::arith::Binary16, $crate::arith::Binary32>);
        $each!($crate::bank::PimMode);
        $each!($crate::bank::PimMode<1024>);
        $each!($crate::rank::AdderUnit<$crate::arith::Binary16>);
        $each!($crate::rank::AdderUnit<$crate::arith::Binary16, $crate::arith::Binary32>);
        $each!($crate::rank::AdderUnit<$crate::arith::Binary16Flush, $crate::arith::Binary32>);
        $each!($crate::rank::AdderUnit<
            $crate::arith::Binary16,
            $crate::arith::Binary16,
            $crate::gear::Gear1,
        >);
        $each!($crate::rank::AdderUnit<
            $crate::arith::Binary16,
            $crate::arith::Binary16,
            $crate::gear::Gear4,
        >);
        $each!($crate::rank::AdderUnit<
            $crate::arith::Binary16,
            $crate::arith::Binary32,
            $crate::gear::Gear1,
        >);
        $each!($crate::rank::RankController);
        $each!($crate::rank::RankController<2>);
        $each!($crate::rank::RefreshManager<8, 256>);
        $each!($crate::rank::RefreshManager<8, 16>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, false>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, true>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16Flush, false>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, false, $crate::gear::Gear1>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, true, $crate::gear::Gear1>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16Flush, false, $crate::gear::Gear1>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, false, $crate::gear::Gear4>);
        $each!($crate::rank::SoftmaxUnit<$crate::arith::Binary16, true, $crate::gear::Gear4>);
        $each!($crate::rank::RelayoutUnit<16, 8>);
        $each!($crate::rank::RelayoutUnit<8, 8>);
        $each!($crate::rank::RelayoutUnit<16, 4>);
        $each!($crate::rank::RelayoutUnit<8, 4>);
        $each!($crate::rank::BurstTimer);
        $each!($crate::rank::BurstTimer<2>);
        $each!($crate::rank::BurstTimer<1>);
        $each!($crate::rank::SlotTimer);
        $each!($crate::rank::BurstSource<u64>);
        $each!($crate::rank::BurstSource<u8>);
        $each!($crate::rank::OperandPath);
        $each!($crate::rank::ResultPath<$crate::arith::Binary16>);
        $each!($crate::rank::ResultPath<$crate::arith::Binary32>);
        $each!($crate::rank::ResultPath<$crate::arith::Binary16, $crate::gear::Gear1>);
        $each!($crate::rank::ResultPath<$crate::arith::Binary16, $crate::gear::Gear4>);
        $each!($crate::rank::ResultPath<$crate::arith::Binary32, $crate::gear::Gear1>);
        $each!($crate::rank::ResultPath<$crate::arith::Binary32, $crate::gear::Gear4>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, false>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, true>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary32, false>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary32, true>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, false, $crate::gear::Gear1>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, true, $crate::gear::Gear1>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary32, false, $crate::gear::Gear1>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, false, $crate::gear::Gear4>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary16, true, $crate::gear::Gear4>);
        $each!($crate::rank::ContextQueue<$crate::arith::Binary32, true, $crate::gear::Gear4>);
        $each!($crate::rank::WeightPath);
        $each!($crate::rank::WeightPath<$crate::gear::Gear1>);
        $each!($crate::rank::WeightPath<$crate::gear::Gear4>);
        $each!($crate::rank::PimChip<$crate::arith::Binary16>);
        $each!($crate::rank::PimChip<$crate::arith::Binary32>);
        $each!($crate::rank::Sequencer);
        $each!($crate::rank::Sequencer<64>);
        $each!($crate::rank::Sequencer<64, 2, 3, 0>);
        $each!($crate::rank::Sequencer<64, 3, 6, 5>);
        $each!($crate::channel::ActivationWindow);
        $each!($crate::channel::BankState);
        $each!($crate::channel::GemvSequencer);
        $each!($crate::channel::GemvSequencer<8>);
        $each!($crate::channel::LatencyEstimator);
        $each!($crate::channel::LatencyEstimator<1>);
        $each!($crate::channel::MemScheduler<32, 32>);
        $each!($crate::channel::MemScheduler<8, 8>);
        $each!($crate::channel::PimQueue);
        $each!($crate::channel::ChannelController<32, 32>);
        $each!($crate::channel::ChannelController<8, 8>);
        $each!($crate::channel::PimChannel);
        $each!($crate::channel::AimChannel<true>);
        $each!($crate::channel::AimChannel<false>);
        $each!($crate::npu::SystolicArray<
            $crate::arith::Binary16,
            $crate::bank::Eight,
            $crate::bank::Eight,
        >);
        $each!($crate::npu::SystolicArray<
            $crate::arith::Binary16,
            $crate::bank::Four,
            $crate::bank::Four,
        >);
        $each!($crate::npu::SystolicArray<
            $crate::arith::Binary16,
            $crate::bank::Four,
            $crate::bank::Eight,
        >);
        $each!($crate::npu::SystolicArray<
            $crate::arith::Bfloat16,
            $crate::bank::Four,
            $crate::bank::Four,
        >);
        $each!($crate::npu::VectorUnit<$crate::arith::Binary16, $crate::bank::Eight>);
        $each!($crate::npu::VectorUnit<$crate::arith::Binary16, $crate::bank::Four>);
        $each!($crate::npu::VectorUnit<$crate::arith::Bfloat16, $crate::bank::Eight>);
        $each!($crate::module::AimHub<true>);
        $each!($crate::module::AimHub<false>);
        $each!($crate::module::Dispatcher);
        $each!($crate::module::Dispatcher<4, 24, 64>);
        $each!($crate::module::HostPort);
        $each!($crate::module::HostPort<$crate::gear::Gear1>);
        $each!($crate::module::HostPort<$crate::gear::Gear4>);
        $each!($crate::module::PimDimm<$crate::arith::Binary16, false>);
        $each!($crate::module::PimDimm<$crate::arith::Binary16, true>);
        $each!($crate::module::PimDimm<$crate::arith::Binary32, false>);
        $each!($crate::module::PimDimm<$crate::arith::Binary32, true>);
        $each!($crate::module::PimDimm<
            $crate::arith::Binary16,
            false,
            131_072,
            $crate::gear::Gear1,
        >);
        $each!($crate::module::PimDimm<
            $crate::arith::Binary16,
            false,
            131_072,
            $crate::gear::Gear4,
        >);
        $each!($crate::module::PimModule<$crate::arith::Binary16, false>);
        $each!($crate::module::PimModule<$crate::arith::Binary16, false, 64>);
        $each!($crate::module::PimModule<$crate::arith::Binary32, true, 64>);
    };
}

/// The declarations of every unit.
pub fn units() -> Vec<UnitInfo> {
    let mut units = Vec::new();
    macro_rules! declare {
        ($unit:ty) => {
            units.push(<$unit>::info());
        };
    }
    for_each_unit!(declare);
    units
}
