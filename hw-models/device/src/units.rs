// SPDX-License-Identifier: MIT
//! What executes the units of a rank, and how they are configured.

use crate::back_end::{BackEnd, ModelBackEnd};
use crate::config::Config;
use crate::options::{Normalise, Options, SumFormat};
use crate::softmax::SoftmaxUnits;
use crate::sum_path::{SumUnits, UnitsOf};
use pimlico_ports::Instances;
use pimlico_units::module::Dispatcher;
use pimlico_units::rank::{RankController, RefreshManager, RelayoutUnit, Sequencer};

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
