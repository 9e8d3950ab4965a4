// SPDX-License-Identifier: MIT
//! The host of a module of AiM channels: programs, rows and T_cur for what operators ask for.
//!
//! What the module needs is loaded before an operator starts, and is not counted with it. Where the command buffer has no
//! room for the program of an operator, that is cut into several, which run one after the other. Programs of a user's own
//! ([`OwnPrograms`]) take the places of those that are built.

mod own;
mod rows;

pub use own::{MOST_COMMANDS, OwnPrograms, OwnProgramsError, attention_words, product_words};
pub use rows::NoFreeRows;

use crate::driver::{Driver, DriverError, Writes};
use crate::program::aim::{self as program, Queries, REST_REQUEST};
use crate::program::{Builder, Program, ProgramError, Template};
use own::{CONTEXT, PRODUCT, SCORE, SOFTMAX, Words, is_short};
use pimlico_device::aim::{
    AimDevice, AimHead, AimLayout, AimOptions, AimStart, AimUnits, Elements, Hub, MULTIPLIERS,
    Module, RowWrites, SpanKind,
};
use pimlico_device::dispatch::DispatchError;
use pimlico_device::{Config, ConfigError, DeviceError, PinWatch, Sent, SetUp, Statistics};
use pimlico_dpa::{ENTRIES, Opcode};
use pimlico_ports::{Instances, Unit};
use pimlico_units::module::{AimHubIn, AimHubOut};
use rows::RowMap;
use std::io;
use std::ops::Range;
use std::path::Path;

/// The number of the one request that runs.
const REQUEST: u8 = 0;

/// What an operator gave, in binary16, and what it cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// Its results.
    pub values: Vec<u16>,
    /// Its cost.
    pub statistics: Statistics,
}

/// The attention of a query head: one operator after the other, with what is between them in the GPR.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AimAttention {
    /// For each token its score, before scaling.
    pub score: Step,
    /// For each token its weight.
    pub softmax: Step,
    /// The context.
    pub context: Step,
}

/// A query of a head, and the factor of its scores in binary16.
#[derive(Clone, Copy, Debug)]
pub struct HeadQuery<'a> {
    /// Its head.
    pub head: AimHead,
    /// The query.
    pub query: &'a [u16],
    /// The factor.
    pub scale: u16,
}

/// The attention of queries of which the softmax of one is beside score and context of others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PipedAttention {
    /// Of each query its results. The cost of its softmax is what the channels waited for it.
    pub results: Vec<AimAttention>,
    /// tCK from the beginning to the end of each softmax, of all.
    pub softmax_tck: u64,
}

/// A module with its host. What writes or computes ends with all banks closed and no REF owed.
pub struct AimHost {
    device: Box<dyn AimDevice>,
    driver: Driver,
    rows: RowMap,
    /// What runs in place of the programs that would be built.
    own: Option<OwnPrograms>,
}

/// What a program runs on.
#[derive(Clone, Copy, Default)]
struct Run<'a> {
    /// Where its rows are.
    layout: Option<&'a AimLayout>,
    tokens: usize,
    /// Tokens of [`REST_REQUEST`].
    rest: usize,
    operands: &'a [Elements],
}

impl AimHost {
    /// The host of a module that has just been reset.
    pub fn new(device: impl AimDevice + 'static) -> Self {
        let rows = RowMap::new(device.config().organisation.rows);
        Self { device: Box::new(device), driver: Driver::new(), rows, own: None }
    }

    /// That of the engine.
    ///
    /// # Panics
    ///
    /// If the configuration is not that of a channel: see [`Module::new`].
    pub fn engine(config: &Config, options: AimOptions) -> Self {
        Self::new(Module::new(config.clone(), AimUnits::models(config, options), options))
    }

    /// That of a hub.
    pub fn hub<M>(
        config: Config,
        options: AimOptions,
        hub: Box<dyn Instances<M>>,
    ) -> Result<Self, ConfigError>
    where
        M: Unit<In = AimHubIn, Out = AimHubOut>,
    {
        Ok(Self::new(Hub::new(config, options, hub)?))
    }

    /// Organisation and timing of a channel.
    pub fn config(&self) -> &Config {
        self.device.config()
    }

    /// How the module works.
    pub fn options(&self) -> AimOptions {
        self.device.options()
    }

    /// tCK since the reset.
    pub fn tck(&self) -> u64 {
        self.device.tck()
    }

    /// What the host has written to the dispatcher.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// From here on runs programs in place of those that it would build. They are those of the operators that follow; a
    /// head pipeline takes none.
    pub fn set_programs(&mut self, programs: OwnPrograms) {
        self.own = Some(programs);
    }

    /// Whether it does.
    pub fn has_own_programs(&self) -> bool {
        self.own.is_some()
    }

    /// From the reset on, data are of no account: see [`AimDevice::leave_data_out`].
    pub fn leave_data_out(&mut self) {
        self.device.leave_data_out();
    }

    /// Starts a measurement: statistics count from here. Operators measure themselves.
    pub fn begin(&mut self) {
        self.device.begin();
    }

    /// Ends a measurement.
    pub fn end(&mut self) -> Statistics {
        self.device.end()
    }

    /// Has the pins of a channel watched from here on: all have the same commands, and data at the same time.
    pub fn watch(&mut self, watch: Box<dyn PinWatch>) {
        self.device.watch(watch);
    }

    /// Writes a waveform of what follows to a file.
    pub fn trace(&mut self, file: &Path) -> io::Result<()> {
        self.device.trace(file)
    }

    /// Ends the waveform.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        self.device.finish_trace()
    }

    /// Gives matrices the rows of the banks that they have come to: what was laid out has none before, and gets more with
    /// this as it grows, wherever there are free ones. A call that fails changes nothing.
    pub fn hold(&mut self, layouts: &[AimLayout]) -> Result<(), NoFreeRows> {
        self.rows.hold(layouts)
    }

    /// Takes back the rows of matrices that are over.
    pub fn release(&mut self, layouts: &[AimLayout]) {
        self.rows.release(layouts);
    }

    /// Rows of each bank that matrices have.
    pub fn rows_in_use(&self) -> usize {
        self.rows.in_use()
    }

    /// Writes columns of matrices.
    ///
    /// # Panics
    ///
    /// If a matrix does not [`hold`](Self::hold) the row.
    pub fn write<'a>(
        &mut self,
        writes: &mut dyn Iterator<Item = RowWrites<'a>>,
    ) -> Result<(), DeviceError> {
        let Self { device, rows, .. } = self;
        let placed = |writes: RowWrites<'a>| match rows.of(writes.row()) {
            Some(row) => writes.in_row(row.into()),
            None => panic!("row {} of a layout has no row of the banks", writes.row()),
        };
        device.write(&mut writes.map(placed))?;
        let close = |program: &mut Builder| program.command(Template::new(Opcode::CloseAll));
        let words = Program::new(close).words().map_err(no_program)?;
        let address = self.load(&words, &Run::default())?;
        self.device.run(AimStart { request: REQUEST, address, operands: &[] })
    }

    /// Spans of a kind that were known, and passed, since the reset: for tests.
    pub fn passed_spans(&self, kind: SpanKind) -> u64 {
        self.device.passed_spans(kind)
    }

    /// What lies in a column of a bank of a channel, by the row of a layout. It takes no time.
    ///
    /// # Panics
    ///
    /// If no matrix [`hold`](Self::hold)s the row.
    pub fn stored(&self, channel: usize, bank: usize, row: usize, column: usize) -> Elements {
        let held = self.rows.of(row);
        let row = held.unwrap_or_else(|| panic!("row {row} of a layout has no row of the banks"));
        self.device.stored(channel, bank, row.into(), column)
    }

    /// Multiplies a matrix that is in the banks with a vector.
    ///
    /// # Panics
    ///
    /// If the vector has not as many elements as the matrix has columns.
    pub fn product(
        &mut self,
        layout: &AimLayout,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Statistics), DeviceError> {
        let Step { values, statistics } = self.multiply(PRODUCT, layout, vector)?;
        Ok((values, statistics))
    }

    /// Computes the attention of a query to a head that is in the banks; `scale` is the factor of the scores in
    /// binary16.
    ///
    /// # Panics
    ///
    /// If the query has not as many elements as the head's vectors.
    pub fn attention(
        &mut self,
        head: &AimHead,
        query: &[u16],
        scale: u16,
    ) -> Result<AimAttention, DeviceError> {
        let queries = &Queries::ONE;
        let score = self.score(head, &[query], queries)?;
        let softmax = self.softmax(head.context(), scale, queries)?;
        let context = self.context(head, queries)?;
        Ok(AimAttention { score, softmax, context })
    }

    /// The same of queries that share K and V, which all run on a row while it is open. The first has the costs of all.
    ///
    /// # Panics
    ///
    /// If a query has not as many elements as the head's vectors, or the queries have no room: see
    /// [`most_queries`](program::most_queries), [`room`](program::room) and [`outputs`](program::outputs).
    pub fn shared_attention(
        &mut self,
        head: &AimHead,
        operands: &[&[u16]],
        scale: u16,
    ) -> Result<Vec<AimAttention>, DeviceError> {
        let queries = &Queries::of(head, operands.len(), 0);
        let (tokens, elements) = (head.context(), head.head_dim());
        let mut all = vec![AimAttention::default(); operands.len()];
        all[0].score.statistics = self.run_score(head, operands, queries)?;
        for (n, of_query) in all.iter_mut().enumerate() {
            of_query.score.values = self.kept(queries.place_of(n), tokens);
        }
        all[0].softmax.statistics = self.run_softmax(tokens, scale, queries)?;
        for (n, of_query) in all.iter_mut().enumerate() {
            of_query.softmax.values = self.kept(queries.place_of(n), tokens);
        }
        all[0].context.statistics = self.run_context(head, queries)?;
        for (n, of_query) in all.iter_mut().enumerate() {
            of_query.context.values = self.kept(queries.context_place(head, n), elements);
        }
        Ok(all)
    }

    /// The same of queries of any heads: while the EPU makes weights of the scores of one, the channels compute the
    /// context of the one before it and the scores of the next.
    ///
    /// # Panics
    ///
    /// If a query has not as many elements as its head's vectors, or two have no room in the GPR: see
    /// [`room`](program::room) and [`outputs`](program::outputs).
    pub fn piped_attention(
        &mut self,
        queries: &[HeadQuery<'_>],
    ) -> Result<PipedAttention, DeviceError> {
        let apart = queries.iter().map(|query| program::room(&query.head)).max().unwrap_or(0);
        let place = |n: usize| Queries { count: 1, place: n % 2 * apart, room: apart };
        let mut piped = PipedAttention::default();
        piped.results.resize(queries.len(), AimAttention::default());
        let results = &mut piped.results;
        for n in 0..=queries.len() {
            // The softmax of the query before is beside the context of the one before that, and these scores.
            let from_tck = self.tck();
            let mut set_up = None;
            if let Some(of) = n.checked_sub(1) {
                set_up = Some(self.begin_softmax(&queries[of], &place(of))?);
            }
            if let Some(of) = n.checked_sub(2) {
                results[of].context = self.context(&queries[of].head, &place(of))?;
            }
            if let Some(HeadQuery { head, query, .. }) = queries.get(n) {
                results[n].score = self.score(head, &[query], &place(n))?;
            }
            if let Some(of) = n.checked_sub(1) {
                self.device.begin();
                let over_tck = self.device.finish_softmax()?;
                let set_up = set_up.unwrap_or_default();
                let statistics = Statistics { set_up, ..self.device.end() };
                piped.softmax_tck += over_tck - from_tck;
                let values = self.kept(place(of).place, queries[of].head.context());
                results[of].softmax = Step { values, statistics };
            }
        }
        if let Some(last) = queries.len().checked_sub(1) {
            results[last].context = self.context(&queries[last].head, &place(last))?;
        }
        Ok(piped)
    }

    /// Begins the softmax of a query, beside what else runs. Returns what was written before.
    fn begin_softmax(
        &mut self,
        query: &HeadQuery<'_>,
        queries: &Queries,
    ) -> Result<SetUp, DeviceError> {
        self.device.set_scale(query.scale);
        let words = program::softmax(queries).words().map_err(no_program)?;
        let before = self.driver.writes();
        let run = Run { tokens: query.head.context(), ..Run::default() };
        let address = self.load(&words, &run)?;
        let set_up = set_up(&self.driver.writes().since(&before));
        self.device.begin_softmax(AimStart { request: REQUEST, address, operands: &[] })?;
        Ok(set_up)
    }

    /// Elements of the GPR.
    fn kept(&self, place: usize, count: usize) -> Vec<u16> {
        self.device.gpr(place, count).to_vec()
    }

    /// The user's own program of this, if there are programs of theirs.
    fn own_program(&self, name: &'static str) -> Result<Option<Words>, DeviceError> {
        let Some(programs) = &self.own else { return Ok(None) };
        let own = programs.program(name);
        let own = own.map_err(|error| DeviceError::NoProgram(Box::new(error)))?;
        Ok(Some(Words::own(own)))
    }

    /// The user's own program of this, or the one that is built.
    fn program(
        &self,
        name: &'static str,
        built: impl FnOnce() -> Program,
    ) -> Result<Words, DeviceError> {
        match self.own_program(name)? {
            Some(own) => Ok(own),
            None => Ok(Words::built(built().words().map_err(no_program)?)),
        }
    }

    /// The same of an operator of so many parts. The built one may be several, each of some of them.
    fn programs(
        &self,
        name: &'static str,
        parts: Range<usize>,
        built: &dyn Fn(Range<usize>) -> Program,
    ) -> Result<Vec<(Range<usize>, Words)>, DeviceError> {
        if let Some(own) = self.own_program(name)? {
            return Ok(vec![(parts, own)]);
        }
        let of_parts = programs(parts, built).map_err(no_program)?;
        Ok(of_parts.into_iter().map(|(parts, words)| (parts, Words::built(words))).collect())
    }

    /// Runs a program; what is not there is written before.
    fn run(&mut self, program: &Words, run: &Run<'_>) -> Result<Statistics, DeviceError> {
        let before = self.driver.writes();
        let address = self.load(&program.words, run)?;
        let set_up = set_up(&self.driver.writes().since(&before));
        let of_program = |error| program.stopped(error, address);
        if program.own.is_some() {
            let (buffer, tables) = self.driver.written();
            if !is_short(&buffer, &tables, REQUEST, address) {
                let most = MOST_COMMANDS;
                return Err(of_program(DispatchError::TooLong { most }.into()));
            }
        }
        self.device.begin();
        let start = AimStart { request: REQUEST, address, operands: run.operands };
        self.device.run(start).map_err(of_program)?;
        Ok(Statistics { set_up, ..self.device.end() })
    }

    /// Sees that what a run needs is in the module. Returns the program's first word.
    fn load(&mut self, words: &[u64], run: &Run<'_>) -> Result<u16, DeviceError> {
        self.try_load(words, run).map_err(|error| match error {
            DriverError::Rank(error) => error,
            error => DeviceError::NoProgram(Box::new(error)),
        })
    }

    fn try_load(&mut self, words: &[u64], run: &Run<'_>) -> Result<u16, DriverError> {
        let Self { device, driver, rows: map, .. } = self;
        let address = driver.program(&mut **device, words)?;
        driver.tokens(&mut **device, REQUEST, run.tokens as u32)?;
        if run.rest > 0 {
            driver.tokens(&mut **device, REST_REQUEST, run.rest as u32)?;
        }
        if let Some(layout) = run.layout {
            // Each row that the table has room for has an entry of its own, so that none is written twice.
            let rows = layout.first_row()..layout.end_row();
            let base = if rows.end <= ENTRIES { rows.start } else { 0 };
            driver.rows(&mut **device, REQUEST, base, map.entries(rows))?;
        }
        Ok(address)
    }

    /// A matrix times a vector of the host, with the program of its shape.
    fn multiply(
        &mut self,
        name: &'static str,
        layout: &AimLayout,
        vector: &[u16],
    ) -> Result<Step, DeviceError> {
        assert_eq!(vector.len(), layout.columns, "an element for each column");
        let options = self.device.options();
        let fillings = program::fillings(layout, &options);
        let program = |part: Range<usize>| program::product(layout, &options, &fillings[part]);
        // A program of a user's own may take the matrix in either order.
        let again = match self.own {
            Some(_) if !options.sums_stay(layout.rows) => layout.groups(),
            _ => 1,
        };
        let mut statistics = Statistics::default();
        for (part, words) in self.programs(name, 0..fillings.len(), &program)? {
            let operands = program::product_words(layout, &fillings[part]);
            let operands: Vec<_> = operands.map(|word| word_of(vector, word)).collect();
            let operands = operands.repeat(again);
            let run = Run { layout: Some(layout), operands: &operands, ..Run::default() };
            statistics = statistics.and(self.run(&words, &run)?);
        }
        Ok(Step { values: self.device.gpr(0, layout.rows).to_vec(), statistics })
    }

    /// The scores of a query.
    fn score(
        &mut self,
        head: &AimHead,
        query: &[&[u16]; 1],
        queries: &Queries,
    ) -> Result<Step, DeviceError> {
        if head.k.tiles() > 1 {
            return self.multiply(SCORE, &head.k, query[0]);
        }
        let statistics = self.run_score(head, query, queries)?;
        Ok(Step { values: self.kept(queries.place, head.context()), statistics })
    }

    fn softmax(
        &mut self,
        tokens: usize,
        scale: u16,
        queries: &Queries,
    ) -> Result<Step, DeviceError> {
        let statistics = self.run_softmax(tokens, scale, queries)?;
        Ok(Step { values: self.kept(queries.place, tokens), statistics })
    }

    fn context(&mut self, head: &AimHead, queries: &Queries) -> Result<Step, DeviceError> {
        let statistics = self.run_context(head, queries)?;
        let values = self.kept(queries.context_place(head, 0), head.head_dim());
        Ok(Step { values, statistics })
    }

    /// Computes the scores of a head's queries, whose vectors have one tile.
    fn run_score(
        &mut self,
        head: &AimHead,
        operands: &[&[u16]],
        queries: &Queries,
    ) -> Result<Statistics, DeviceError> {
        let fits = operands.iter().all(|query| query.len() == head.head_dim());
        assert!(fits, "an element for each of the vectors");
        let options = self.device.options();
        let words = program::query_operands(operands);
        let fillings = match self.own {
            Some(_) => head.k.groups(),
            None => program::score_fillings(head, &options),
        };
        let run = Run {
            layout: Some(&head.k.whole()),
            tokens: head.context(),
            rest: 0,
            operands: &words.repeat(fillings),
        };
        let program = self.program(SCORE, || program::score(head, &options, queries))?;
        self.run(&program, &run)
    }

    fn run_softmax(
        &mut self,
        tokens: usize,
        scale: u16,
        queries: &Queries,
    ) -> Result<Statistics, DeviceError> {
        self.device.set_scale(scale);
        let words = self.program(SOFTMAX, || program::softmax(queries))?;
        self.run(&words, &Run { tokens, ..Run::default() })
    }

    fn run_context(
        &mut self,
        head: &AimHead,
        queries: &Queries,
    ) -> Result<Statistics, DeviceError> {
        let options = self.device.options();
        let (tail, rest) = program::tail(head);
        let layout = head.v.whole();
        let run = Run { layout: Some(&layout), tokens: head.context(), rest, ..Run::default() };
        let program = |parts| program::context(head, &options, queries, tail, parts);
        let mut statistics = Statistics::default();
        let parts = 0..program::context_parts(head, &options, queries);
        for (_, words) in self.programs(CONTEXT, parts, &program)? {
            statistics = statistics.and(self.run(&words, &run)?);
        }
        Ok(statistics)
    }
}

/// Programs, and the parts of an operator that each is of.
type Programs = Vec<(Range<usize>, Vec<u64>)>;

/// The programs of an operator of so many parts: one, or as many halves as the command buffer asks for.
fn programs(
    parts: Range<usize>,
    program: &dyn Fn(Range<usize>) -> Program,
) -> Result<Programs, ProgramError> {
    match program(parts.clone()).words() {
        Err(ProgramError::Words(_)) if parts.len() > 1 => {
            let middle = parts.start.midpoint(parts.end);
            let mut all = programs(parts.start..middle, program)?;
            all.extend(programs(middle..parts.end, program)?);
            Ok(all)
        }
        words => Ok(vec![(parts, words?)]),
    }
}

/// What the host has written, over the link: no bursts of a bank's bus.
fn set_up(writes: &Writes) -> SetUp {
    let sent = |bytes| Sent { bursts: 0, bytes };
    let Writes { commands, entries, tokens, segments, layers } = *writes;
    SetUp {
        programs: sent(8 * commands),
        rows: sent(2 * entries),
        requests: sent(4 * (tokens + segments + layers)),
        ..SetUp::default()
    }
}

fn no_program(error: ProgramError) -> DeviceError {
    DeviceError::NoProgram(Box::new(DriverError::Program(error)))
}

/// A word of a vector, filled up with +0.
fn word_of(vector: &[u16], word: usize) -> Elements {
    let element = |n: usize| vector.get(MULTIPLIERS * word + n).copied();
    std::array::from_fn(|n| element(n).unwrap_or(0))
}
