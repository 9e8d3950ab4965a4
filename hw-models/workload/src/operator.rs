// SPDX-License-Identifier: MIT
//! What an operator is: planned on a system, run there, and judged.
//!
//! An operator is a file that implements [`Operator`]. It says which tasks it consists of ([`Operator::plan`]) and
//! what its report has beside costs and errors ([`Operator::judge`]); systems run tasks, all operators alike. Whoever
//! has operators of several kinds has them as [`AnyOperator`]s.

use crate::error::WorkloadError;
use crate::host_memory;
use crate::outcome::Outcome;
use crate::report::{JobReport, Report};
use crate::system::{How, ManyRanks, Module, Rank, System};
use crate::task::{Progress, SILENT, Task, TaskPlan};
use pimlico_device::{Options, RankDevice, Ranks};
use pimlico_host::aim::AimHost;

/// An operator of a language model.
pub trait Operator {
    /// What is known before any data are made.
    type Plan;
    /// What became of it.
    type Outcome;

    /// Its tasks on a system. An operator that does not fit is refused here.
    fn plan(&self, system: &dyn System) -> Result<Self::Plan, WorkloadError>;

    /// Makes its data or takes them, writes them into the banks, and runs.
    fn run(
        &self,
        plan: Self::Plan,
        system: &mut dyn System,
        progress: Progress<'_>,
    ) -> Result<Self::Outcome, WorkloadError>;

    /// Its report: what it cost, and how far its results are from the reference.
    fn judge(&self, system: &dyn System, outcome: Self::Outcome) -> Report;
}

/// An operator of any kind.
pub trait AnyOperator {
    /// Plans, runs and judges it.
    fn execute(
        &self,
        system: &mut dyn System,
        progress: Progress<'_>,
    ) -> Result<Report, WorkloadError>;
}

impl<O: Operator> AnyOperator for O {
    fn execute(
        &self,
        system: &mut dyn System,
        progress: Progress<'_>,
    ) -> Result<Report, WorkloadError> {
        let plan = self.plan(system)?;
        let outcome = self.run(plan, system, progress)?;
        Ok(self.judge(system, outcome))
    }
}

/// Plans, runs and judges an operator.
pub fn execute(
    operator: &dyn AnyOperator,
    system: &mut dyn System,
    progress: Progress<'_>,
) -> Result<Report, WorkloadError> {
    operator.execute(system, progress)
}

/// An operator on a rank.
pub fn on_rank(
    rank: &mut dyn RankDevice,
    operator: &dyn AnyOperator,
) -> Result<Report, WorkloadError> {
    execute(operator, &mut Rank::new(rank), SILENT)
}

/// An operator on the ranks of a device, which work as `options` say.
pub fn on_ranks(
    ranks: &Ranks,
    options: Options,
    how: impl Into<How>,
    operator: &dyn AnyOperator,
) -> Result<Report, WorkloadError> {
    execute(operator, &mut ManyRanks::new(ranks, options, how), SILENT)
}

/// An operator on a module of AiM channels.
pub fn on_module(
    module: &mut AimHost,
    operator: &dyn AnyOperator,
) -> Result<Report, WorkloadError> {
    execute(operator, &mut Module::new(std::slice::from_mut(module)), SILENT)
}

/// An operator that consists only of tasks on synthetic data. It is an [`Operator`].
pub trait Tasks {
    /// Seed of the data.
    fn seed(&self) -> u64;

    /// The tasks.
    fn tasks(&self) -> TaskPlan;

    /// What only this operator reports.
    fn about(&self, system: &dyn System, outcome: &Outcome) -> JobReport;
}

impl<T: Tasks> Operator for T {
    type Plan = TaskPlan;
    type Outcome = Outcome;

    fn plan(&self, system: &dyn System) -> Result<TaskPlan, WorkloadError> {
        let plan = self.tasks();
        system.check(&plan)?;
        let names: Vec<_> = plan.tasks.iter().map(Task::name).collect();
        host_memory::check(&names.join(", "), system.memory(&plan)?)?;
        Ok(plan)
    }

    fn run(
        &self,
        plan: TaskPlan,
        system: &mut dyn System,
        progress: Progress<'_>,
    ) -> Result<Outcome, WorkloadError> {
        system.run(&plan, progress)
    }

    fn judge(&self, system: &dyn System, outcome: Outcome) -> Report {
        let job = self.about(system, &outcome);
        outcome.report(&system.about(), job, self.seed())
    }
}
