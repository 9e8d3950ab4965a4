// SPDX-License-Identifier: MIT
//! What executes the units of a rank, and how they are configured.

use super::options::{Activation, Normalise, Options, SumFormat};
use crate::softmax::SoftmaxUnits;
use crate::sum_path::{SumUnits, UnitsOf};
use crate::{Config, Timing};
use pimlico_ports::{Instances, Model};
use pimlico_units::module::Dispatcher;
use pimlico_units::rank::{
    RankController, RankControllerIn, RefreshManager, RelayoutUnit, Sequencer,
};

/// The units of a rank, whoever executes them.
pub struct RankUnits {
    /// Bank PUs and adder unit.
    pub sums: SumUnits,
    /// The softmax unit.
    pub softmax_unit: SoftmaxUnits,
    /// The re-layout unit.
    pub relayout_unit: Box<dyn Instances<RelayoutUnit<16, 8>>>,
    /// The rank controller.
    pub rank_controller: Box<dyn Instances<RankController>>,
    /// The refresh manager.
    pub refresh_manager: Box<dyn Instances<RefreshManager>>,
    /// The sequencer.
    pub sequencer: Box<dyn Instances<Sequencer>>,
    /// The dispatcher.
    pub dispatcher: Box<dyn Instances<Dispatcher>>,
}

/// Makes instances of any unit: a back end.
pub trait BackEnd {
    /// Why it cannot.
    type Error;

    /// `count` instances that have been reset; a clock of theirs takes `cycle_ps`.
    fn instances<M: Model>(
        &mut self,
        count: usize,
        cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error>;
}

/// The models.
pub(crate) struct ModelBackEnd;

impl BackEnd for ModelBackEnd {
    type Error = std::convert::Infallible;

    fn instances<M: Model>(
        &mut self,
        count: usize,
        _cycle_ps: u64,
    ) -> Result<Box<dyn Instances<M>>, Self::Error> {
        Ok(M::instances(count))
    }
}

impl RankUnits {
    /// The units that `options` ask for, made by a back end.
    pub fn new<B: BackEnd>(
        config: &Config,
        options: Options,
        back_end: &mut B,
    ) -> Result<Self, B::Error> {
        let tck_ps = config.tck_ps;
        Ok(Self {
            sums: match options.sums {
                SumFormat::Binary16 => SumUnits::Binary16(UnitsOf::new(config, back_end)?),
                SumFormat::Binary32 => SumUnits::Binary32(UnitsOf::new(config, back_end)?),
            },
            softmax_unit: match options.normalise {
                Normalise::Early => SoftmaxUnits::Early(back_end.instances(1, tck_ps)?),
                Normalise::Late => SoftmaxUnits::Late(back_end.instances(1, tck_ps)?),
            },
            relayout_unit: back_end.instances(1, tck_ps / 2)?,
            rank_controller: back_end.instances(1, tck_ps)?,
            refresh_manager: back_end.instances(1, tck_ps)?,
            sequencer: back_end.instances(1, tck_ps)?,
            dispatcher: back_end.instances(1, tck_ps)?,
        })
    }

    /// The models.
    pub fn models(config: &Config, options: Options) -> Self {
        match Self::new(config, options, &mut ModelBackEnd) {
            Ok(units) => units,
        }
    }
}

/// The rank controller's inputs without a request: its configuration.
///
/// # Panics
///
/// If a time is longer than the controller counts: see [`Config::check_rank`].
pub fn controls(timing: &Timing, activation: Activation) -> RankControllerIn {
    let byte = |tck: u64| tck.try_into().expect("checked with the configuration");
    RankControllerIn {
        ccd_s_i: byte(timing.ccd_s_tck),
        ccd_l_i: byte(timing.ccd_l_tck),
        rrd_s_i: byte(timing.rrd_s_tck),
        rrd_l_i: byte(timing.rrd_l_tck),
        rcd_i: byte(timing.rcd_tck),
        rcd_wr_i: byte(timing.rcd_wr_tck),
        rcd_mac_i: byte(timing.rcd_mac_tck),
        ras_i: byte(timing.ras_tck),
        rp_i: byte(timing.rp_tck),
        rtp_i: byte(timing.rtp_tck),
        rc_i: byte(timing.rc_tck),
        faw_i: byte(timing.faw_tck),
        rd_to_wr_i: byte(timing.rd_to_wr_tck()),
        wr_to_rd_s_i: byte(timing.wr_to_rd_s_tck()),
        wr_to_rd_l_i: byte(timing.wr_to_rd_l_tck()),
        wr_to_pre_i: byte(timing.wr_to_pre_tck()),
        rfc_i: timing.rfc_tck.try_into().expect("checked with the configuration"),
        staggered_i: activation == Activation::Staggered,
        ..Default::default()
    }
}
