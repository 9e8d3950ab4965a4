// SPDX-License-Identifier: MIT
//! Bench of `pim_channel`: the pins as those of `channel_controller`, and data, rows and results as [`banks`] has them from the same commands.

mod banks;

use super::arrays::moderate_word;
use crate::bench::{Bench, EPISODE, OracleError, cycles};
use crate::coverage::Bins;
use crate::random::Random;
use banks::Expected;
use pimlico_golden::format::{Format as GoldenFormat, Subnormals};
use pimlico_golden::reduction::Precision;
use pimlico_ports::U;
use pimlico_units::arith::{Binary16, Format};
use pimlico_units::channel::pim_channel::BankResults;
use pimlico_units::channel::{ChannelController, PimChannel, PimChannelIn, PimChannelOut};
use proptest::num::u64::ANY;
use proptest::strategy::{BoxedStrategy, Strategy};

type Controller = ChannelController<32, 32>;

const BUILT: [&str; 2] = ["a bank that is built", "one that is not"];
const COMMANDS: [&str; 5] = ["ACT", "RD", "WR", "PIM_ACTIVATION", "PIM_GWRITE"];
const RESULTS: [&str; 4] =
    ["a GEMV of one word", "a GEMV of several", "a GEMV of 32", "an RDRESULT"];
const FACTORS: [&str; 2] = ["words that a GWRITE has written", "words that were never written"];
const MEANWHILE: [&str; 2] = ["dot products in its bank", "a GWRITE of another bank"];

/// What the PUs compute in.
fn precision<A: Format>() -> Precision {
    let elements = GoldenFormat::BINARY16;
    let sums = if A::WIDTH == Binary16::WIDTH { elements } else { GoldenFormat::BINARY32 };
    Precision { elements, subnormals: Subnormals::Gradual, sums }
}

/// What is expected in each cycle, of a run whose pins were these.
fn expected<R: BankResults, A: Format>(
    inputs: &[PimChannelIn<R>],
    outputs: &[PimChannelOut<R>],
) -> Expected<R> {
    banks::expected(precision::<A>(), inputs, outputs)
}

impl<R: BankResults, A: Format> Bench for PimChannel<R, A> {
    /// Checks the pins, and all that is behind them in every cycle; counts commands, rows, columns and results.
    fn oracle(
        inputs: &[PimChannelIn<R>],
        outputs: &[PimChannelOut<R>],
    ) -> Result<u64, OracleError> {
        let of_controller: Vec<_> = inputs.iter().map(PimChannelIn::controller).collect();
        let pins: Vec<_> = outputs.iter().map(PimChannelOut::controller).collect();
        let mut checked = Controller::oracle(&of_controller, &pins)?;
        let expected = expected::<R, A>(inputs, outputs).outputs;
        for (cycle, (output, expected)) in (0u64..).zip(outputs.iter().zip(&expected)) {
            OracleError::unless_equal(cycle, output, expected)?;
            for is in [output.activate_o, output.restore_o, output.read_o, output.burst_o] {
                checked += u64::from(is);
            }
            checked += u64::from(output.gemv_results_o || output.read_results_o);
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command, bank", &COMMANDS, &BUILT);
        bins.declare("results of", RESULTS);
        bins.declare("factors", FACTORS);
        bins.declare("MEM moves a burst during", MEANWHILE);
    }

    fn cover(inputs: &[PimChannelIn<R>], outputs: &[PimChannelOut<R>], bins: &mut Bins) {
        let found = expected::<R, A>(inputs, outputs);
        for output in outputs {
            let command = [1, 4, 5, 7, 9].iter().position(|of| output.command_o.get() == *of);
            if let Some(command) = command {
                let is_built = (output.bank_o.get() as usize) < R::BANKS;
                bins.hit_cross("command, bank", command, usize::from(!is_built));
            }
        }
        for (name, hits) in [
            ("results of", &found.results[..]),
            ("factors", &found.factors),
            ("MEM moves a burst during", &found.meanwhile),
        ] {
            for (nth, _) in hits.iter().enumerate().filter(|(_, hit)| **hit) {
                bins.hit(name, nth);
            }
        }
    }

    /// Requests as the controller's bench has them, GWRITEs mostly of banks that are built, and random rows and data.
    fn episodes() -> BoxedStrategy<Vec<PimChannelIn<R>>> {
        let arranged = |(mut of_controller, seed): (Vec<_>, u64)| {
            let mut random = Random(seed);
            if random.below(4) > 0 {
                for input in &mut of_controller {
                    keep_to_built::<R>(input);
                }
            }
            Controller::arrange(&mut of_controller);
            of_controller.iter().map(|input| with_data(input, &mut random)).collect()
        };
        (cycles(EPISODE), ANY).prop_map(arranged).boxed()
    }

    /// For inputs that were drawn one by one: their requests are the controller's.
    fn arrange(inputs: &mut [PimChannelIn<R>]) {
        let mut of_controller: Vec<_> = inputs.iter().map(PimChannelIn::controller).collect();
        Controller::arrange(&mut of_controller);
        for (input, of_controller) in inputs.iter_mut().zip(&of_controller) {
            let PimChannelIn { mem_data_i, cells_i, .. } = *input;
            *input =
                PimChannelIn { mem_data_i, cells_i, ..PimChannelIn::of_controller(of_controller) };
        }
    }
}

/// Operands of GWRITEs come from banks that are built.
fn keep_to_built<R: BankResults>(input: &mut pimlico_units::channel::ChannelControllerIn) {
    input.pim_bank_i = U::new(input.pim_bank_i.get() & (R::BANKS as u64 - 1));
}

/// Rows and data of a cycle.
fn with_data<R: BankResults>(
    input: &pimlico_units::channel::ChannelControllerIn,
    random: &mut Random,
) -> PimChannelIn<R> {
    let mut with = PimChannelIn::of_controller(input);
    for word in with.cells_i.as_flattened_mut() {
        *word = moderate_word(random);
    }
    let words = [moderate_word(random), moderate_word(random)];
    with.mem_data_i.copy_from_slice(words.as_flattened());
    with
}
