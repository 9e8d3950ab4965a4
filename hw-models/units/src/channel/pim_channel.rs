// SPDX-License-Identifier: MIT
//! Channel of NeuPIMs: its controller, and the row buffers, PUs and global buffer of its banks.
//!
//! * [`parts`]: its units, whoever executes them, and a cycle of all of them.
//! * `global`: the global buffer.
//! * `ports`: its ports.

mod global;
pub mod parts;
mod ports;
#[cfg(test)]
mod tests;

pub use ports::{PimChannelIn, PimChannelOut, PimChannelProbe};

use super::{ChannelController, GemvSequencer};
use crate::arith::{Binary16, Format, sum_parameters, sum_variant};
use crate::bank::{BankPu, DualRowBuffer, Sixteen};
use parts::{ChannelParts, ModelParts};
use pimlico_ports::{Model, Signal, Unit};

/// A row of a bank, in words of 256 bits.
pub type BankRow = [[u64; 4]; 32];
/// Rows of the banks of a group.
pub type GroupRows = [BankRow; 4];
/// The row buffers of a bank.
pub type BankRows = DualRowBuffer<BankRow, true>;
/// The PU of a bank, with sums of format `A`.
pub type ChannelPu<A> = BankPu<Binary16, A, Sixteen>;

/// Results of the banks that are built: 4, 8, ... 32 of them.
pub trait BankResults: Signal + AsMut<[u16]> + AsRef<[u16]> {
    /// How many banks.
    const BANKS: usize;
}

impl BankResults for [u16; 4] {
    const BANKS: usize = 4;
}

impl BankResults for [u16; 32] {
    const BANKS: usize = 32;
}

/// The cycle model of a channel of NeuPIMs, with results of type `R` and sums of format `A`.
///
#[doc = contract!("channel/pim_channel")]
#[derive(Clone)]
pub struct PimChannel<R: BankResults = [u16; 4], A: Format = Binary16> {
    units: ModelParts<A>,
    parts: ChannelParts<R, A>,
}

impl<R: BankResults, A: Format> Unit for PimChannel<R, A> {
    const MODULE: &'static str = "pim_channel";
    const PARAMETERS: &'static [(&'static str, i64)] = &{
        let [.., sum_exp_bits, sum_man_bits] = sum_parameters::<Binary16, A>();
        [("BANKS", R::BANKS as i64), sum_exp_bits, sum_man_bits]
    };
    type In = PimChannelIn<R>;
    type Out = PimChannelOut<R>;
    type Probe = PimChannelProbe<R>;

    fn variant() -> String {
        let banks = if R::BANKS == 4 { String::new() } else { format!("banks{}", R::BANKS) };
        let parts = [banks, sum_variant::<Binary16, A>()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_")
    }
}

impl<R: BankResults, A: Format> Model for PimChannel<R, A> {
    fn new() -> Self {
        let units = ModelParts {
            controller: ChannelController::new(),
            sequencer: GemvSequencer::new(),
            rows: (0..R::BANKS).map(|_| BankRows::new()).collect(),
            pus: (0..R::BANKS).map(|_| ChannelPu::new()).collect(),
        };
        Self { units, parts: ChannelParts::new() }
    }

    fn reset(&mut self) {
        let ModelParts { controller, sequencer, rows, pus } = &mut self.units;
        controller.reset();
        sequencer.reset();
        rows.iter_mut().for_each(Model::reset);
        pus.iter_mut().for_each(Model::reset);
        self.parts.reset();
    }

    fn probe(&self) -> Self::Probe {
        PimChannelProbe::default()
    }

    fn step(&mut self, input: &Self::In) -> Self::Out {
        self.parts.cycle(&mut self.units, input).unwrap_or_default()
    }
}
