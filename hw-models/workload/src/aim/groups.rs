// SPDX-License-Identifier: MIT
//! A module's channels in groups, which receive the same commands at the same time with operands of their own.
//!
//! ```text
//!   HUB    controller ─── commands: the same to all channels
//!          GPR, EPU   ─┬─ part 0, operands of head 0 ──▶ group 0: channels 0 to N-1
//!                      ├─ part 1, operands of head 1 ──▶ group 1: channels N to 2N-1
//!                      └─ ...
//! ```
//!
//! Each group has its part of the GPR, its adder units, a softmax unit and its operand lines: it is one hub
//! ([`pimlico_device::aim`]). So heads of the same length run side by side, in the time that one of them takes on the
//! channels of a group. A group that has no head of its own does as the first does, and its results are dropped. A matrix
//! lies as it does without groups, and all groups have the same vector: its cost does not depend on them.

use crate::error::WorkloadError;
use crate::report::{OperatorReport, Together, Verdict};
use pimlico_device::aim::{
    AimHead, AimLayout, AimOptions, BANKS, Elements, GPR, LayoutError, RowWrites,
};
use pimlico_device::{Config, DeviceError, Statistics};
use pimlico_host::aim::{AimHost, OwnPrograms};

/// The groups of a module.
pub struct Groups<'a> {
    groups: &'a mut [AimHost],
    /// Tokens that every head has room for, if it has no more.
    longest: usize,
    /// Threads of the host's own on which it makes data and judges results.
    threads: usize,
}

/// How the rows of a matrix are dealt out: as many as a group has PUs to a group, the next ones to the next group.
#[derive(Clone, Copy)]
pub struct Rows {
    /// PUs of a group.
    pus: usize,
    groups: usize,
}

impl Rows {
    /// The first row of the matrix in a group's rows number `number`. Behind the last, a group is filled up.
    pub fn first(self, group: usize, number: usize) -> usize {
        (number * self.groups + group) * self.pus
    }

    /// The group of a row of the matrix, and which of the group's rows it is.
    pub fn place(self, row: usize) -> (usize, usize) {
        let number = row / self.pus;
        (number % self.groups, number / self.groups * self.pus + row % self.pus)
    }

    /// Rows of the first group, which has most of them, of a matrix of so many.
    fn of_first(self, rows: usize) -> usize {
        let side_by_side = self.pus * self.groups;
        rows / side_by_side * self.pus + (rows % side_by_side).min(self.pus)
    }
}

impl<'a> Groups<'a> {
    /// Groups that have just been reset.
    ///
    /// # Panics
    ///
    /// If there are none, or they are not alike.
    pub fn new(groups: &'a mut [AimHost]) -> Self {
        let alike = |other: &AimHost| {
            (other.config(), other.options()) == (groups[0].config(), groups[0].options())
        };
        assert!(!groups.is_empty() && groups.iter().all(alike), "groups are alike");
        Self { groups, longest: 0, threads: 1 }
    }

    /// All channels in one group.
    pub fn of(module: &'a mut AimHost) -> Self {
        Self { groups: std::slice::from_mut(module), longest: 0, threads: 1 }
    }

    /// The same groups, for a while.
    pub fn borrowed(&mut self) -> Groups<'_> {
        Groups { groups: self.groups, longest: self.longest, threads: self.threads }
    }

    /// From here on a head has room for so many tokens, or for its own if they are more.
    pub fn set_longest(&mut self, longest: usize) {
        self.longest = longest;
    }

    /// From here on all groups run programs of a user's own.
    pub fn set_programs(&mut self, programs: &OwnPrograms) {
        self.groups.iter_mut().for_each(|group| group.set_programs(programs.clone()));
    }

    /// Whether they do.
    pub fn has_own_programs(&self) -> bool {
        self.groups[0].has_own_programs()
    }

    /// From here on data are made and results judged on so many threads.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
    }

    /// Threads on which data are made and results judged.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.groups.len()
    }

    /// Organisation and timing of a channel.
    pub fn config(&self) -> &Config {
        self.groups[0].config()
    }

    /// How a group works.
    pub fn options(&self) -> AimOptions {
        self.groups[0].options()
    }

    /// How the module works: as a group, with the channels of all of them.
    pub fn module_options(&self) -> AimOptions {
        let options = self.options();
        AimOptions { channels: options.channels * self.count(), ..options }
    }

    /// The group whose pins and ports stand for those of all.
    pub fn first(&mut self) -> &mut AimHost {
        &mut self.groups[0]
    }

    /// tCK since the reset.
    pub fn tck(&self) -> u64 {
        self.groups[0].tck()
    }

    /// Elements of a group's part of the GPR.
    pub fn gpr(&self) -> usize {
        GPR / self.count()
    }

    /// From the reset on, data are of no account.
    pub fn leave_data_out(&mut self) {
        self.groups.iter_mut().for_each(AimHost::leave_data_out);
    }

    /// Starts a measurement.
    pub fn begin(&mut self) {
        self.groups.iter_mut().for_each(AimHost::begin);
    }

    /// Ends a measurement.
    pub fn end(&mut self) -> Statistics {
        alike(self.groups.iter_mut().map(AimHost::end))
    }

    /// Makes each group do its part of a command to all.
    ///
    /// # Panics
    ///
    /// If the parts do not take the same time.
    pub fn each<T>(
        &mut self,
        mut run: impl FnMut(usize, &mut AimHost) -> Result<T, WorkloadError>,
    ) -> Result<Vec<T>, WorkloadError> {
        let several = self.count() > 1;
        let of_group = |(number, group): (usize, &mut AimHost)| {
            let part = run(number, group);
            part.map_err(|error| if several { of_hub(error, number) } else { error })
        };
        let parts = self.groups.iter_mut().enumerate().map(of_group).collect::<Result<_, _>>()?;
        for (number, group) in self.groups.iter().enumerate() {
            let (tck, first) = (group.tck(), self.tck());
            assert_eq!(tck, first, "tCK: groups of channels {number} and 0 are out of step");
        }
        Ok(parts)
    }

    /// Gives matrices of every group the rows of the banks that they have come to: see [`AimHost::hold`].
    pub fn hold(&mut self, layouts: &[AimLayout]) -> Result<(), WorkloadError> {
        self.each(|_, group| Ok(group.hold(layouts)?)).map(drop)
    }

    /// What lies in a column of a bank of a channel of a group, by the row of a layout.
    pub fn stored(
        &self,
        group: usize,
        (channel, bank): (usize, usize),
        (row, column): (usize, usize),
    ) -> Elements {
        self.groups[group].stored(channel, bank, row, column)
    }

    /// Takes back the rows of matrices that are over.
    pub fn release(&mut self, layouts: &[AimLayout]) {
        self.groups.iter_mut().for_each(|group| group.release(layouts));
    }

    /// Writes columns, of each group its own, of matrices that hold their rows.
    pub fn write<'b, W: Iterator<Item = RowWrites<'b>>>(
        &mut self,
        mut writes: impl FnMut(usize) -> W,
    ) -> Result<(), WorkloadError> {
        self.each(|number, group| Ok(group.write(&mut writes(number))?)).map(drop)
    }

    /// Lays out a matrix from row `first_row` of the banks on: the part of the first group, and as much room in each of
    /// the others. The vector is in the GPR once.
    pub fn matrix(
        &self,
        rows: usize,
        columns: usize,
        first_row: usize,
    ) -> Result<AimLayout, LayoutError> {
        self.matrix_on(self.config(), rows, columns, first_row)
    }

    /// The same on channels of this kind.
    pub fn matrix_on(
        &self,
        config: &Config,
        rows: usize,
        columns: usize,
        first_row: usize,
    ) -> Result<AimLayout, LayoutError> {
        matrix_in(config, &self.options(), self.count(), (rows, columns), first_row)
    }

    /// How the rows of a matrix are dealt out.
    pub fn rows(&self) -> Rows {
        Rows { pus: self.options().pus(), groups: self.count() }
    }

    /// Multiplies a matrix of so many rows ([`matrix`](Self::matrix)) with a vector.
    pub fn product(
        &mut self,
        layout: &AimLayout,
        rows: usize,
        vector: &[u16],
    ) -> Result<(Vec<u16>, Together), WorkloadError> {
        let parts = self.each(|_, group| Ok(group.product(layout, vector)?))?;
        let output = |row| {
            let (group, row) = self.rows().place(row);
            parts[group].0[row]
        };
        let outputs = (0..rows).map(output).collect();
        Ok((outputs, Together::of_all(self.count(), alike(parts.iter().map(|part| part.1)))))
    }

    /// The report of an operator.
    pub fn operator(
        &self,
        operator: &'static str,
        together: &Together,
        macs: u64,
        judgement: Verdict,
    ) -> OperatorReport {
        let channels = self.options().channels;
        OperatorReport::on_groups(operator, self.config(), channels, together, macs, judgement)
    }

    /// Lays out a head in a group, whose part of the GPR has its scores or weights and its outputs.
    pub fn head(
        &self,
        head_dim: usize,
        tokens: usize,
        first_row: usize,
    ) -> Result<AimHead, LayoutError> {
        self.head_on(self.config(), head_dim, tokens, first_row)
    }

    /// The same on channels of this kind.
    pub fn head_on(
        &self,
        config: &Config,
        head_dim: usize,
        tokens: usize,
        first_row: usize,
    ) -> Result<AimHead, LayoutError> {
        let room = if tokens > 0 { tokens.max(self.longest) } else { tokens };
        let head = head_in(config, &self.options(), self.count(), (head_dim, room), first_row)?;
        Ok(head.part(tokens))
    }
}

/// Lays out a matrix of so many rows and columns in so many groups of channels, each of which works like this: the part of
/// the first.
pub fn matrix_in(
    config: &Config,
    options: &AimOptions,
    groups: usize,
    (rows, columns): (usize, usize),
    first_row: usize,
) -> Result<AimLayout, LayoutError> {
    let module = AimOptions { channels: options.channels * groups, ..*options };
    AimLayout::new(config, &module, rows, columns, first_row)?;
    let rows = Rows { pus: options.pus(), groups }.of_first(rows);
    AimLayout::new(config, options, rows, columns, first_row)
}

/// Lays out a head of this dimension and so many tokens in one of so many groups of channels, whose part of the GPR has its
/// scores or weights and its outputs.
pub fn head_in(
    config: &Config,
    options: &AimOptions,
    groups: usize,
    (head_dim, tokens): (usize, usize),
    first_row: usize,
) -> Result<AimHead, LayoutError> {
    in_part(AimHead::new(config, options, head_dim, tokens, first_row)?, groups)
}

/// A head whose attention has room in the part of the GPR that each of so many groups has.
pub fn in_part(head: AimHead, groups: usize) -> Result<AimHead, LayoutError> {
    match (gpr_of(&head), GPR / groups) {
        (wanted, there) if wanted > there => Err(LayoutError::GprPart { wanted, groups, there }),
        _ => Ok(head),
    }
}

/// Elements of the GPR that the attention of a head takes.
fn gpr_of(head: &AimHead) -> usize {
    let AimHead { k, v } = head;
    let score = k.rows.next_multiple_of(k.pus()) + k.columns;
    let context = v.columns.next_multiple_of(BANKS) + v.rows.next_multiple_of(v.pus());
    score.max(context)
}

/// The statistics of groups that received the same commands.
///
/// # Panics
///
/// If they are not the same.
pub fn alike(of_groups: impl IntoIterator<Item = Statistics>) -> Statistics {
    let mut of_groups = of_groups.into_iter();
    let first = of_groups.next().unwrap_or_default();
    for (number, other) in of_groups.enumerate() {
        assert_eq!(other, first, "statistics: groups of channels {} and 0 differ", number + 1);
    }
    first
}

/// A mismatch in one of several groups: its hub is the module's instance with the group's number.
fn of_hub(error: WorkloadError, group: usize) -> WorkloadError {
    match error {
        WorkloadError::Device(DeviceError::Mismatch(mut mismatch)) => {
            mismatch.instance = group;
            WorkloadError::Device(DeviceError::Mismatch(mismatch))
        }
        error => error,
    }
}

/// What is said of places in groups of channels that had nothing of their own: so many of all there are for `what`.
pub fn idle_note(idle: usize, places: usize, what: &str) -> Option<String> {
    let share = 100.0 * idle as f64 / places.max(1) as f64;
    (idle > 0).then(|| {
        format!(
            "groups of channels: {idle} of {places} places for {what} were idle ({share:.1} %), which is in the utilisation"
        )
    })
}
