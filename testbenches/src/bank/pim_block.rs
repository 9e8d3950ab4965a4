// SPDX-License-Identifier: MIT
//! Bench of `pim_block`: every result is the sum of its MACs in their order, of those that are through.

use crate::arith::plan::{SORTS, sort};
use crate::arith::precision;
use crate::bench::{Bench, OracleError};
use crate::coverage::Bins;
use pimlico_golden::reduction::Precision;
use pimlico_ports::U;
use pimlico_units::arith::{Format, Fp};
use pimlico_units::bank::{PimBlock, PimBlockIn, PimBlockOut};

/// Steps that have to be between a MAC and an RD_OUT.
const DRAIN: usize = 5;
const LANES: usize = 16;
const REGISTERS: usize = 8;

const COMMANDS: [&str; 4] = ["empty", "WR_IN", "MAC", "RD_OUT"];
const FIRST: [&str; 2] = ["adds", "first"];
const AGES: [&str; 8] = [
    "1 step before",
    "2 steps before",
    "3 steps before",
    "4 steps before",
    "5 steps before",
    "6 steps before",
    "earlier",
    "never",
];
const INPUTS: [&str; 4] = ["the step before", "two steps before", "earlier", "never"];
const SEVERAL: [&str; 3] = ["WR_IN and MAC", "WR_IN and RD_OUT", "MAC and RD_OUT"];

/// The command of a step: its number among [`COMMANDS`].
fn command<F: Format, A: Format>(input: &PimBlockIn<F, A>) -> usize {
    match (input.write_i, input.mac_i, input.read_i) {
        (true, ..) => 1,
        (_, true, _) => 2,
        (.., true) => 3,
        _ => 0,
    }
}

/// The steps of an episode, as arithmetic alone has them: what each register holds by its history. Numbers are `None` that
/// the contract leaves open.
struct Steps {
    precision: Precision,
    /// Input registers.
    inputs: [Option<[u32; LANES]>; REGISTERS],
    /// MACs of each output register: their steps, and the sums with them.
    macs: [Vec<(usize, Option<[u32; LANES]>)>; REGISTERS],
}

impl Steps {
    fn new(precision: Precision) -> Self {
        Self { precision, inputs: [None; REGISTERS], macs: Default::default() }
    }

    fn mac(
        &mut self,
        step: usize,
        register: usize,
        element: usize,
        first: bool,
        data: [u32; LANES],
    ) {
        let zero = Some([self.precision.sums.zero(false); LANES]);
        let before = self.macs[register].last().and_then(|(_, sums)| *sums);
        let before = if first { zero } else { before };
        let inputs = self.inputs[element / LANES];
        let sums = before.zip(inputs).map(|(before, inputs)| {
            let sum = |lane| {
                let product = self.precision.product(data[lane], inputs[element % LANES]);
                self.precision.add(before[lane], product)
            };
            std::array::from_fn(sum)
        });
        self.macs[register].push((step, sums));
    }

    /// The elements that an RD_OUT reads, and whether it is too early for a MAC.
    fn read(&self, step: usize, register: usize) -> (Option<[u32; LANES]>, bool) {
        let through = self.macs[register].iter().rev().find(|(of, _)| of + DRAIN < step);
        let sums = through.and_then(|(_, sums)| *sums);
        let is_early = self.macs[register].last().is_some_and(|(of, _)| of + DRAIN >= step);
        (sums.map(|sums| sums.map(|sum| self.precision.element(sum))), is_early)
    }
}

impl<F: Format, A: Format> Bench for PimBlock<F, A> {
    /// Checks all outputs in every cycle; counts the elements of results.
    fn oracle(
        inputs: &[PimBlockIn<F, A>],
        outputs: &[PimBlockOut<F, A>],
    ) -> Result<u64, OracleError> {
        let mut steps = Steps::new(precision::<F, A>());
        let mut expected = Some(PimBlockOut::default());
        let mut checked = 0;
        for (step, (input, output)) in inputs.iter().zip(outputs).enumerate() {
            match &expected {
                Some(expected) => OracleError::unless_equal(step as u64, output, expected)?,
                None if output.result_valid_o => {}
                None => {
                    let what = "a result is due".to_owned();
                    let (cycle, port) = (step as u64, "result_valid_o");
                    return Err(OracleError { cycle, port, got: 0, expected: 1, what });
                }
            }
            let is_known = expected.is_some();
            checked += if is_known && output.result_valid_o { LANES as u64 } else { 0 };

            let register = input.register_i.get() as usize;
            let data = input.data_i.map(Fp::to_bits);
            expected = Some(PimBlockOut::default());
            match command(input) {
                1 => steps.inputs[register] = Some(data),
                2 => {
                    let element = input.element_i.get() as usize;
                    steps.mac(step, register, element, input.first_i, data);
                }
                3 => {
                    let (result, stale_o) = steps.read(step, register);
                    expected = result.map(|result| PimBlockOut {
                        result_valid_o: true,
                        result_o: result.map(Fp::from_bits),
                        stale_o,
                        ..Default::default()
                    });
                }
                _ => {}
            }
        }
        Ok(checked)
    }

    fn plan(bins: &mut Bins) {
        bins.cross("command after command", &COMMANDS, &COMMANDS);
        bins.declare("several commands", SEVERAL);
        bins.cross("MAC, the last one of its register", &FIRST, &AGES);
        bins.declare("RD_OUT, the last MAC of its register", AGES);
        bins.declare("MAC, the WR_IN of its input", INPUTS);
        bins.declare("WR_IN behind a MAC of the register", ["in the next step"]);
        bins.declare("register of a WR_IN", (0..REGISTERS).map(|r| r.to_string()));
        bins.declare("element of a MAC", (0..LANES * REGISTERS).map(|k| k.to_string()));
        bins.declare("register of a MAC", (0..REGISTERS).map(|q| q.to_string()));
        bins.declare("register of an RD_OUT", (0..REGISTERS).map(|q| q.to_string()));
        bins.declare("result", SORTS);
        if !F::SUBNORMALS {
            bins.leave_out("result", 3);
        }
    }

    fn cover(inputs: &[PimBlockIn<F, A>], outputs: &[PimBlockOut<F, A>], bins: &mut Bins) {
        let mut macs = [None; REGISTERS];
        let mut writes = [None; REGISTERS];
        for (step, input) in inputs.iter().enumerate() {
            let (register, command) = (input.register_i.get() as usize, command(input));
            let element = input.element_i.get() as usize;
            if let Some(before) = step.checked_sub(1) {
                let before = &inputs[before];
                bins.hit_cross("command after command", self::command(before), command);
                let of_mac = before.element_i.get() as usize / LANES;
                if (self::command(before), command) == (2, 1) && of_mac == register {
                    bins.hit("WR_IN behind a MAC of the register", 0);
                }
            }
            let commands = [input.write_i, input.mac_i, input.read_i];
            for (pair, (a, b)) in [(0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
                if commands[a] && commands[b] {
                    bins.hit("several commands", pair);
                }
            }
            let age = macs[register].map_or(AGES.len() - 1, |mac: usize| (step - mac - 1).min(6));
            match command {
                1 => {
                    bins.hit("register of a WR_IN", register);
                    writes[register] = Some(step);
                }
                2 => {
                    bins.hit("register of a MAC", register);
                    bins.hit("element of a MAC", element);
                    let first = usize::from(input.first_i);
                    bins.hit_cross("MAC, the last one of its register", first, age);
                    let written = writes[element / LANES];
                    let written = written.map_or(3, |write: usize| (step - write - 1).min(2));
                    bins.hit("MAC, the WR_IN of its input", written);
                    macs[register] = Some(step);
                }
                3 => {
                    bins.hit("register of an RD_OUT", register);
                    bins.hit("RD_OUT, the last MAC of its register", age);
                    if let Some(output) = outputs.get(step + 1).filter(|_| age < 7) {
                        bins.hit("result", sort(output.result_o[0]));
                    }
                }
                _ => {}
            }
        }
    }

    /// Has inputs written early on, and often few registers in use.
    fn arrange(inputs: &mut [PimBlockIn<F, A>]) {
        let Some(first) = inputs.first() else { return };
        let chance = first.element_i.get();
        let few = [1, 2, 4, 8, 8, 8, 8, 8][(chance % 8) as usize];
        for (step, input) in inputs.iter_mut().enumerate() {
            if step < REGISTERS && chance < 96 {
                input.write_i = true;
                input.register_i = U::new(step as u64);
            } else if !input.write_i {
                input.register_i = U::new(input.register_i.get() % few);
            }
        }
    }
}
