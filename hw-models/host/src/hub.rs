// SPDX-License-Identifier: MIT
//! The host of a hub of AiM channels: programs, rows and T_cur for what its operators ask for.

use crate::driver::{Driver, DriverError};
use crate::program::aim::{self as program, REST_REQUEST, Tail};
use crate::program::{Builder, Program, Template};
use pimlico_device::aim::attention::{AimAttention, AimHead, Step};
use pimlico_device::aim::{
    AimDevice, AimLayout, AimOptions, Elements, Hub, HubStart, MULTIPLIERS, Write,
};
use pimlico_device::{Config, ConfigError, DeviceError, PinWatch, Statistics};
use pimlico_dpa::Opcode;
use pimlico_ports::{Instances, Unit};
use pimlico_units::module::{AimHubIn, AimHubOut};
use std::io;
use std::path::Path;

/// The number of the one request that runs.
const REQUEST: u8 = 0;

/// A hub with its host.
pub struct HubHost<M: Unit<In = AimHubIn, Out = AimHubOut>> {
    hub: Hub<M>,
    driver: Driver,
}

/// What an operator runs, and on what.
struct Run<'a> {
    program: Program,
    /// Where its rows are.
    layout: Option<&'a AimLayout>,
    tokens: usize,
    /// Tokens of [`REST_REQUEST`].
    rest: usize,
    operands: &'a [Elements],
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> HubHost<M> {
    /// The host of a hub that has just been reset.
    pub fn new(
        config: Config,
        options: AimOptions,
        hub: Box<dyn Instances<M>>,
    ) -> Result<Self, ConfigError> {
        Ok(Self { hub: Hub::new(config, options, hub)?, driver: Driver::new() })
    }

    /// What the host has written to the dispatcher.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Runs a program; what is not there is written before.
    fn run(&mut self, run: Run<'_>) -> Result<Statistics, DeviceError> {
        let address = self.prepare(&run)?;
        self.hub.begin();
        self.hub.run(HubStart { request: REQUEST, address, operands: run.operands })?;
        Ok(self.hub.end())
    }

    /// Sees that what a run needs is in the module. Returns the program's first word.
    fn prepare(&mut self, run: &Run<'_>) -> Result<u16, DeviceError> {
        self.load(run).map_err(|error| match error {
            DriverError::Rank(error) => error,
            error => DeviceError::NoProgram(Box::new(error)),
        })
    }

    fn load(&mut self, run: &Run<'_>) -> Result<u16, DriverError> {
        let Self { hub, driver } = self;
        let address = driver.program(hub, &run.program.words()?)?;
        driver.tokens(hub, REQUEST, run.tokens as u32)?;
        if run.rest > 0 {
            driver.tokens(hub, REST_REQUEST, run.rest as u32)?;
        }
        if let Some(layout) = run.layout {
            // Each row has an entry of its own, so that none is written twice.
            let rows = layout.first_row()..layout.end_row();
            let entries: Vec<_> = rows.clone().map(|row| u16::try_from(row).ok()).collect();
            driver.rows(hub, REQUEST, rows.start, &entries)?;
        }
        Ok(address)
    }

    /// A matrix times a vector of the host, with the program of its shape.
    fn multiply(&mut self, layout: &AimLayout, vector: &[u16]) -> Result<Step, DeviceError> {
        assert_eq!(vector.len(), layout.columns, "an element for each column");
        let options = self.hub.options();
        let words = program::product_words(layout, &options).map(|word| word_of(vector, word));
        let statistics = self.run(Run {
            program: program::product(layout, &options),
            layout: Some(layout),
            tokens: 0,
            rest: 0,
            operands: &words.collect::<Vec<_>>(),
        })?;
        Ok(Step { values: self.hub.gpr(0, layout.rows).to_vec(), statistics })
    }

    fn score(&mut self, head: &AimHead, query: &[u16]) -> Result<Step, DeviceError> {
        if head.k.tiles() > 1 {
            return self.multiply(&head.k, query);
        }
        assert_eq!(query.len(), head.head_dim(), "an element for each of the vectors");
        let words = (0..head.head_dim().div_ceil(MULTIPLIERS)).map(|word| word_of(query, word));
        let statistics = self.run(Run {
            program: program::score(head),
            layout: Some(&head.k.whole()),
            tokens: head.context(),
            rest: 0,
            operands: &words.collect::<Vec<_>>(),
        })?;
        Ok(Step { values: self.hub.gpr(0, head.context()).to_vec(), statistics })
    }

    fn softmax(&mut self, tokens: usize, scale: u16) -> Result<Step, DeviceError> {
        self.hub.set_scale(scale);
        let program = program::softmax();
        let run = Run { program, layout: None, tokens, rest: 0, operands: &[] };
        let statistics = self.run(run)?;
        Ok(Step { values: self.hub.gpr(0, tokens).to_vec(), statistics })
    }

    fn context(&mut self, head: &AimHead) -> Result<Step, DeviceError> {
        let (tail, rest): (Tail, usize) = program::tail(head);
        let statistics = self.run(Run {
            program: program::context(head, &self.hub.options(), tail),
            layout: Some(&head.v.whole()),
            tokens: head.context(),
            rest,
            operands: &[],
        })?;
        let values = self.hub.gpr(program::context_place(head), head.head_dim()).to_vec();
        Ok(Step { values, statistics })
    }
}

/// A word of a vector, filled up with +0.
fn word_of(vector: &[u16], word: usize) -> Elements {
    let element = |n: usize| vector.get(MULTIPLIERS * word + n).copied();
    std::array::from_fn(|n| element(n).unwrap_or(0))
}

impl<M: Unit<In = AimHubIn, Out = AimHubOut>> AimDevice for HubHost<M> {
    fn config(&self) -> &Config {
        self.hub.config()
    }

    fn options(&self) -> AimOptions {
        self.hub.options()
    }

    fn tck(&self) -> u64 {
        self.hub.tck()
    }

    fn begin(&mut self) {
        self.hub.begin();
    }

    fn end(&mut self) -> Statistics {
        self.hub.end()
    }

    fn write(&mut self, writes: &mut dyn Iterator<Item = Write>) -> Result<(), DeviceError> {
        self.hub.write(writes)?;
        let close = |program: &mut Builder| program.command(Template::new(Opcode::CloseAll));
        let program = Program::new(close);
        let run = Run { program, layout: None, tokens: 0, rest: 0, operands: &[] };
        let address = self.prepare(&run)?;
        self.hub.run(HubStart { request: REQUEST, address, operands: &[] })
    }

    fn product(
        &mut self,
        layout: &AimLayout,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DeviceError> {
        let Step { values, statistics } = self.multiply(layout, vector)?;
        Ok((values, statistics))
    }

    fn attention(
        &mut self,
        head: &AimHead,
        query: &[u16],
        scale: u16,
    ) -> Result<AimAttention, DeviceError> {
        let score = self.score(head, query)?;
        let softmax = self.softmax(head.context(), scale)?;
        let context = self.context(head)?;
        Ok(AimAttention { score, softmax, context })
    }

    fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.hub.watch(watch);
    }

    fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.hub.trace(file)
    }

    fn finish_trace(&mut self) -> io::Result<()> {
        self.hub.finish_trace()
    }
}
