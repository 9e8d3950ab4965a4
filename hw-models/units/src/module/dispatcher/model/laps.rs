// SPDX-License-Identifier: MIT
//! What of a dispatcher moves in a lap: see [`lap`](crate::lap).

use super::{Dispatcher, Request};
use crate::lap::Walk;
use crate::module::dispatcher::nest::Level;
use crate::module::dispatcher::sequence::Turn;
use pimlico_ports::Enumerated;
use std::ops::{Range, RangeInclusive};

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    /// The words of the outermost loop that runs, and whether it goes over tokens.
    pub fn outermost(&self) -> Option<(RangeInclusive<usize>, bool)> {
        let Level { body, final_word, over_tokens, .. } = *self.nest.outermost()?;
        Some((body as usize..=final_word as usize, over_tokens))
    }

    /// Entries of the Va2Pa table of the layer that the running request is at.
    pub fn segment(&self) -> Range<u32> {
        let Request { rows, layer_base, .. } = self.requests[usize::from(self.request)];
        let first = layer_base.map_or(0, u32::from);
        first..layer_base.map_or(0, |first| u32::from(first) + u32::from(rows))
    }

    /// Goes over all of it but where the [segment](Self::segment) ends, where no loop begins and nothing is written. Where no T_cur is taken until the outermost loop is over,
    /// these are of no account.
    pub fn walk(&mut self, walk: &mut Walk<'_>, takes_tokens: bool) {
        let Self {
            requests,
            config,
            status,
            steps,
            length,
            overflow,
            busy,
            running,
            request,
            pc,
            nest,
            // What words say, whenever they were read.
            decoder: _,
            multiply,
            add,
            translate,
            wait,
            dispatch,
        } = self;
        walk.refuse_if(config.is_some());
        for (number, of) in requests.iter().enumerate() {
            of.walk(walk, takes_tokens, number != usize::from(*request));
        }
        status.iter().for_each(|status| walk.still(status.code()));
        for flag in [steps, overflow, busy, running] {
            walk.still(*flag);
        }
        walk.still(*length);
        walk.still(*request);
        walk.still(*pc);
        nest.walk(walk);
        match multiply {
            Some(Turn::Stage(stage)) => {
                walk.still(2_u64);
                stage.walk(walk, false);
            }
            Some(Turn::Loop(..)) => walk.refuse_if(true),
            Some(Turn::Nothing) => walk.still(1_u64),
            None => walk.still(0_u64),
        }
        walk.still(translate.is_some());
        if let Some((stage, of)) = translate {
            let is_other = stage.request != *request;
            stage.walk(walk, false);
            of.walk(walk, takes_tokens, is_other);
        }
        for (stage, is_found) in [(add, false), (wait, false), (dispatch, true)] {
            walk.still(stage.is_some());
            stage.iter_mut().for_each(|stage| stage.walk(walk, is_found));
        }
    }
}

impl Request {
    fn walk(&self, walk: &mut Walk<'_>, takes_tokens: bool, ends_there: bool) {
        let Self { tokens, base, rows, layers, stride, layer, layer_base } = *self;
        walk.still(if takes_tokens { tokens } else { 0 });
        walk.still(if ends_there { rows } else { 0 });
        for number in [base, layers, stride, layer, layer_base.unwrap_or_default()] {
            walk.still(number);
        }
        walk.still(layer_base.is_some());
    }
}
