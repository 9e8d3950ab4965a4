// SPDX-License-Identifier: MIT
//! Programs for a module of AiM channels, one behind the other as `pimlico run aim` takes them.

use super::{BuildArguments, CONTEXT_OF_ONE, Op, Written, wrong};
use crate::failure::Failure;
use crate::models::find_model;
use crate::values::Switch;
use pimlico_device::aim::{AimHead, AimOptions, MULTIPLIERS};
use pimlico_device::{Config, DeviceSpec};
use pimlico_host::aim::{attention_words, product_words};
use pimlico_host::program::aim::{Queries, Tail, tail};
use pimlico_workload::aim::{attention, head_in, matrix_in};

/// The words of an operator's programs.
pub(super) fn build(arguments: &BuildArguments) -> Result<Written, Failure> {
    let module = Module::new(arguments)?;
    match arguments.op {
        Op::Attention => module.attention(arguments),
        Op::Gemv => module.gemv(arguments),
    }
}

/// The module that runs them.
struct Module {
    config: Config,
    groups: usize,
    /// How a group of channels works.
    options: AimOptions,
}

impl Module {
    fn new(arguments: &BuildArguments) -> Result<Self, Failure> {
        let spec: DeviceSpec = arguments.spec()?;
        let channels = arguments.channels.unwrap_or(spec.topology.channels);
        let groups = arguments.groups.unwrap_or(spec.topology.groups);
        if !channels.is_multiple_of(groups) {
            let expected = format!("expected a number that divides {channels} channels");
            return Err(wrong(format!("--groups {groups}: {expected}")));
        }
        let options = AimOptions {
            channels: channels / groups,
            io_buffers: arguments.io_buffers(&spec),
            shared_rows: arguments.shared_rows == Some(Switch::On),
            ..spec.aim_options()
        };
        Ok(Self { config: spec.config(), groups, options })
    }

    fn attention(&self, arguments: &BuildArguments) -> Result<Written, Failure> {
        let Self { config, groups, options } = self;
        let model = find_model(&arguments.model)?;
        let context = arguments.context_max.unwrap_or(CONTEXT_OF_ONE);
        let head_dim = arguments.head_dim.unwrap_or(model.head_dim);
        let head = head_in(config, options, *groups, (head_dim, context), 0).map_err(wrong)?;
        let count = match (options.shared_rows, arguments.group) {
            (true, group) => group.unwrap_or(model.group()),
            (false, None) => 1,
            (false, Some(_)) => {
                let problem = "--group: with --system aim it goes with --shared-rows on";
                return Err(wrong(problem));
            }
        };
        if count == 0 {
            return Err(wrong("--group 0: expected 1 or more"));
        }
        attention::check_queries(options, *groups, &[head], count).map_err(wrong)?;
        let queries = &if count > 1 { Queries::of(&head, count, 0) } else { Queries::ONE };
        let words = attention_words(&head, options, queries).map_err(wrong)?;
        let contexts = contexts(&head);
        let what = format!("{count} query head(s) of {head_dim}, {}, {contexts}", self.said());
        Ok(Written { words, what })
    }

    fn gemv(&self, arguments: &BuildArguments) -> Result<Written, Failure> {
        let Self { config, groups, options } = self;
        let (rows, columns) = arguments.matrix()?;
        let layout = matrix_in(config, options, *groups, (rows, columns), 0).map_err(wrong)?;
        let words = product_words(&layout, options).map_err(wrong)?;
        let (said, buffers) = (self.said(), options.io_buffers.name());
        let what = format!("matrix of {rows} x {columns}, {said}, {buffers} I/O buffers");
        Ok(Written { words, what })
    }

    /// The channels in words.
    fn said(&self) -> String {
        let channels = self.options.channels * self.groups;
        match self.groups {
            1 => format!("{channels} channels"),
            groups => format!("{channels} channels in {groups} groups"),
        }
    }
}

/// The contexts that programs serve which were built for this one.
fn contexts(head: &AimHead) -> String {
    let context = head.context();
    match tail(head).0 {
        _ if head.k.tiles() > 1 => format!("a context of {context}"),
        Tail::No => format!("contexts up to {context}"),
        Tail::Rest => {
            // Those that come to the last tile, which has another shape than the others.
            let before = head.v.first_word(head.v.tiles() - 1) * MULTIPLIERS;
            format!("contexts from {} to {context}", before + 1)
        }
    }
}
