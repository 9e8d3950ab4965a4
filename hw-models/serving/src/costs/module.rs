// SPDX-License-Identifier: MIT
//! What a module of AiM channels takes for a head, for a matrix, and for a token that is added to a head.
//!
//! Each is measured by itself with refresh off: it takes less than the time from one REF to the next, so that a run with
//! refresh has a whole REF or none. Refresh is counted as the share of time that it takes of a long run
//! ([`ModuleCosts::refreshed`]).
//!
//! The extra processing unit (EPU) takes softmax of one query while the channels take score and context of others (LoL-PIM
//! section 4.3). The device does that with its head pipeline (`run aim attention --head-pipeline on`): each query but one takes
//! the longer of products and softmax, and one takes both ([`ModuleCosts::queries`]). The device's unit has 2 to 16 lanes; one
//! lane is counted as twice the time of two, and more than 16 as units of 16 that take queries in turn.

use super::memo::Memo;
use super::rank::{OneHead, tck};
use super::{Contexts, CostTable, Knot};
use crate::error::ServingError;
use crate::llm::Llm;
use pimlico_device::aim::{AimHead, AimOptions};
use pimlico_device::gemv::IoBuffers;
use pimlico_device::{Config, DeviceSpec};
use pimlico_host::aim::AimHost;
use pimlico_workload::error::WorkloadError;
use pimlico_workload::gemv::GemvJob;
use pimlico_workload::operator::{self, AnyOperator};
use pimlico_workload::parallel;
use pimlico_workload::report::{APPEND, Report, Slots};
use pimlico_workload::system::Module;
use pimlico_workload::task::SILENT;

/// The largest context of a table: that of LoL-PIM's models.
pub const MOST_CONTEXT: u64 = 32_768;

/// What a module, or one channel of it, takes for a query of a head.
#[derive(Clone, Debug)]
pub struct ModuleCosts {
    /// QK^T and SV, on the channels.
    pub products: CostTable,
    /// Softmax, on the extra processing unit.
    pub softmax: CostTable,
    /// Adding K and V of a token to a head.
    pub append_ps: u64,
    /// Lanes of the softmax unit.
    lanes: u64,
    /// Its passes over the scores.
    passes: u64,
    /// tCK from a REF to the next, and those that it takes.
    refresh: (u64, u64),
}

/// How a module works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModuleSetup {
    /// Channels that a head is spread over.
    pub channels: usize,
    /// I/O buffers with two sides or one.
    pub io_buffers: IoBuffers,
    /// Lanes of the softmax unit, a power of two.
    pub lanes: usize,
}

/// Passes of the device's softmax unit over the scores.
const DEVICE_PASSES: u64 = 2;
/// Lanes that the device's softmax unit may have.
const DEVICE_LANES: (usize, usize) = (2, 16);

impl ModuleSetup {
    /// Lanes of the unit that is run.
    fn device_lanes(&self) -> usize {
        self.lanes.clamp(DEVICE_LANES.0, DEVICE_LANES.1)
    }

    fn options(&self, spec: &DeviceSpec) -> AimOptions {
        let Self { channels, io_buffers, .. } = *self;
        let softmax_lanes = self.device_lanes();
        AimOptions { channels, io_buffers, softmax_lanes, refresh: false, ..spec.aim_options() }
    }

    fn name(&self) -> String {
        let Self { channels, io_buffers, .. } = self;
        let lanes = self.device_lanes();
        format!("module channels={channels} io={} lanes={lanes}", io_buffers.name())
    }

    /// Runs an operator on a module that has just been reset, for its cost alone.
    fn run(&self, spec: &DeviceSpec, operator: &dyn AnyOperator) -> Result<Report, WorkloadError> {
        let mut host = AimHost::engine(&spec.config(), self.options(spec));
        let mut module = Module::new(std::slice::from_mut(&mut host)).timing_only(true);
        operator::execute(operator, &mut module, SILENT)
    }

    /// The report of a head.
    fn head(
        &self,
        spec: &DeviceSpec,
        head_dim: usize,
        context: u64,
    ) -> Result<Report, WorkloadError> {
        self.run(spec, &OneHead { head_dim, group: 1, context: context as usize })
    }

    /// The largest context of a table: a head of it has to fit rows and GPR.
    fn most_context(&self, config: &Config, spec: &DeviceSpec, head_dim: usize) -> u64 {
        let options = self.options(spec);
        let fits =
            |context: u64| AimHead::new(config, &options, head_dim, context as usize, 0).is_ok();
        let mut most = MOST_CONTEXT;
        while most > 2 * super::STEP && !fits(most) {
            most /= 2;
        }
        most
    }
}

/// The time that became of slots, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ByCause {
    /// Slots that bring what is needed.
    pub of_use: u64,
    /// PUs, lanes and tokens that hold nothing.
    pub idle_pus: u64,
    /// Another row is opened.
    pub row_switch: u64,
    /// Operands in, results out.
    pub io: u64,
}

impl ByCause {
    fn of(slots: &Slots) -> Self {
        let lost = &slots.lost;
        Self {
            of_use: slots.of_use,
            idle_pus: lost.padding,
            row_switch: lost.row_switch,
            io: lost.fill_drain + lost.bubble + lost.io + lost.host + lost.refresh,
        }
    }

    /// Both.
    pub fn and(self, other: Self) -> Self {
        Self {
            of_use: self.of_use + other.of_use,
            idle_pus: self.idle_pus + other.idle_pus,
            row_switch: self.row_switch + other.row_switch,
            io: self.io + other.io,
        }
    }

    /// All slots.
    pub fn all(&self) -> u64 {
        self.of_use + self.idle_pus + self.row_switch + self.io
    }
}

impl ModuleCosts {
    /// Those of a device for the heads of a model, measured where no table of them is there.
    pub fn new(
        memo: &Memo,
        spec: &DeviceSpec,
        llm: &Llm,
        setup: ModuleSetup,
        contexts: &Contexts,
    ) -> Result<Self, ServingError> {
        let head_dim = llm.shape.head_dim;
        let config = spec.config();
        let most = setup.most_context(&config, spec, head_dim);
        let table = |step: &'static [&'static str], setup: ModuleSetup| {
            let what = format!("{} {} head_dim={head_dim}", setup.name(), step[0]);
            memo.costs(spec, &what, most, contexts, |contexts| {
                let work = |&context: &u64| {
                    let report = setup.head(spec, head_dim, context)?;
                    let cycles: u64 = step.iter().map(|name| tck(&report, name)).sum();
                    let ps = cycles * config.tck_ps;
                    Ok::<_, WorkloadError>(Knot { tokens: context, ps, energy_pj: 0 })
                };
                parallel::map(contexts, memo.threads(), |&tokens| tokens, work, |_, _| {})
            })
        };
        // Products do not depend on the lanes: one table serves all.
        let products = table(&["score", "context"], ModuleSetup { lanes: 16, ..setup })?;
        let softmax = table(&["softmax"], setup)?;
        let append =
            memo.table(spec, &format!("{} append head_dim={head_dim}", setup.name()), || {
                let knots = [513, 514].map(|context| {
                    let report = setup.head(spec, head_dim, context)?;
                    let ps = tck(&report, APPEND) * config.tck_ps;
                    Ok::<_, WorkloadError>(Knot { tokens: context, ps, energy_pj: 0 })
                });
                let knots = knots.into_iter().collect::<Result<Vec<_>, _>>()?;
                Ok::<_, WorkloadError>(CostTable::new(knots))
            })?;
        let append_ps = append.knots().iter().map(|knot| knot.ps).max().unwrap_or(0);
        let refresh = (config.timing.refi_tck, config.timing.rfc_tck);
        let (lanes, passes) = (setup.lanes as u64, DEVICE_PASSES);
        Ok(Self { products, softmax, append_ps, lanes, passes, refresh })
    }

    /// The same with a softmax unit of so many passes over the scores. The device's has two; one pass is counted as half of
    /// them, as if maximum and sum were found while the scores arrive.
    pub fn with_passes(self, passes: u64) -> Self {
        Self { passes, ..self }
    }

    /// Costs of known tables, of a unit of 16 lanes; `refresh` is tREFI and tRFC.
    pub fn of_tables(
        products: CostTable,
        softmax: CostTable,
        append_ps: u64,
        refresh: (u64, u64),
    ) -> Self {
        let (lanes, passes) = (DEVICE_LANES.1 as u64, DEVICE_PASSES);
        Self { products, softmax, append_ps, lanes, passes, refresh }
    }

    /// Products of a query, with the REFs of a long run.
    pub fn products_ps(&self, tokens: u64) -> u64 {
        self.refreshed(self.products.ps(tokens))
    }

    /// Softmax of a query.
    pub fn softmax_ps(&self, tokens: u64) -> u64 {
        let of_device = self.softmax.ps(tokens) * (DEVICE_LANES.0 as u64).div_ceil(self.lanes);
        of_device * self.passes / DEVICE_PASSES
    }

    /// Softmax of a query among many, which units of 16 lanes take in turn.
    pub fn softmax_among_many_ps(&self, tokens: u64) -> u64 {
        self.softmax_ps(tokens) / self.lanes.div_ceil(DEVICE_LANES.1 as u64)
    }

    /// Queries of heads of one length, one behind the other in the head pipeline: the time of their products, and what
    /// softmax adds to it.
    pub fn queries(&self, queries: u64, tokens: u64) -> (u64, u64) {
        let products = self.products_ps(tokens);
        let longer = products.max(self.softmax_among_many_ps(tokens));
        let all = (queries - 1) * longer + products + self.softmax_ps(tokens);
        (queries * products, all - queries * products)
    }

    /// A duration with the REFs that a long run has in it.
    pub fn refreshed(&self, ps: u64) -> u64 {
        refreshed(ps, self.refresh)
    }

    /// The exact cost of a context, as the device's model has it: products, softmax.
    pub fn exact(
        spec: &DeviceSpec,
        llm: &Llm,
        setup: ModuleSetup,
        context: u64,
    ) -> Result<(u64, u64), ServingError> {
        let report = setup.head(spec, llm.shape.head_dim, context)?;
        let products = tck(&report, "score") + tck(&report, "context");
        let tck_ps = spec.config().tck_ps;
        Ok((products * tck_ps, tck(&report, "softmax") * tck_ps))
    }
}

/// A duration with the REFs that a long run has in it: of each tREFI the tRFC is lost.
fn refreshed(ps: u64, (refi, rfc): (u64, u64)) -> u64 {
    let scaled = u128::from(ps) * u128::from(refi) / u128::from(refi - rfc);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// What a module takes for a matrix times a vector, with the REFs of a long run.
pub fn matrix_ps(
    memo: &Memo,
    spec: &DeviceSpec,
    setup: ModuleSetup,
    (rows, columns): (u64, u64),
) -> Result<u64, ServingError> {
    let config = spec.config();
    let setup = ModuleSetup { lanes: 16, ..setup };
    let what = format!("{} matrix", setup.name());
    let ps = memo.value(spec, &what, (rows, columns), || {
        let report = setup.run(spec, &matrix(setup, rows, columns))?;
        Ok::<_, WorkloadError>(report.total.cycles * config.tck_ps)
    })?;
    Ok(refreshed(ps, (config.timing.refi_tck, config.timing.rfc_tck)))
}

fn matrix(setup: ModuleSetup, rows: u64, columns: u64) -> GemvJob {
    let (rows, columns) = (rows as usize, columns as usize);
    GemvJob { rows, columns, io_buffers: setup.io_buffers, seed: 1 }
}

/// Where the slots of a matrix went.
pub fn matrix_slots(
    spec: &DeviceSpec,
    setup: ModuleSetup,
    (rows, columns): (u64, u64),
) -> Result<ByCause, ServingError> {
    Ok(slots(&setup.run(spec, &matrix(setup, rows, columns))?, &[]))
}

/// Where the slots of the products of a head went.
pub fn head_slots(
    spec: &DeviceSpec,
    llm: &Llm,
    setup: ModuleSetup,
    context: u64,
) -> Result<ByCause, ServingError> {
    Ok(slots(&setup.head(spec, llm.shape.head_dim, context)?, &["softmax", APPEND]))
}

fn slots(report: &Report, without: &[&str]) -> ByCause {
    let counted = report.operators.iter().filter(|of| !without.contains(&of.operator));
    counted.fold(ByCause::default(), |all, of| all.and(ByCause::of(&of.slots)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(each: u64) -> CostTable {
        let knot = |tokens: u64| Knot { tokens, ps: each * tokens, energy_pj: 0 };
        CostTable::new([16, 32_768].map(knot).to_vec())
    }

    #[test]
    fn softmax_hides_behind_products_but_for_one_query() {
        let of = |lanes: u64, softmax: u64| ModuleCosts {
            lanes,
            ..ModuleCosts::of_tables(table(100), table(softmax), 0, (3333, 0))
        };
        // Of 1 000 tokens the chunks of 16 hold 1 008.
        assert_eq!(of(16, 60).queries(4, 1000), (403_200, 60_480));
        assert_eq!(of(16, 150).queries(4, 1000), (403_200, 3 * 50_400 + 151_200));
        // Two units of 16 lanes: a query takes as long, and four take half of it each.
        assert_eq!(of(32, 150).queries(4, 1000), (403_200, 151_200));
        assert_eq!(of(1, 60).softmax_ps(1000), 120_960);
        assert_eq!(of(2, 60).softmax_ps(1000), 60_480);
        assert_eq!(of(2, 60).with_passes(1).softmax_ps(1000), 30_240);
    }

    #[test]
    fn refreshes_take_their_share() {
        assert_eq!(refreshed(3123, (3333, 210)), 3333);
        assert_eq!(refreshed(0, (3333, 210)), 0);
    }
}
