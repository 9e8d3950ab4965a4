// SPDX-License-Identifier: MIT
//! What of a dispatcher moves in a lap: see [`lap`](crate::lap).

use super::{Dispatcher, Request};
use crate::lap::Walk;
use crate::module::dispatcher::sequence::Turn;
use pimlico_ports::Enumerated;

impl<const REQUESTS: usize, const COMMANDS: usize, const ENTRIES: usize>
    Dispatcher<REQUESTS, COMMANDS, ENTRIES>
{
    /// Goes over all of it, where no loop begins and nothing is written.
    pub fn walk(&mut self, walk: &mut Walk<'_>) {
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
        requests.iter().for_each(|request| request.walk(walk));
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
        if let Some((stage, request)) = translate {
            stage.walk(walk, false);
            request.walk(walk);
        }
        for (stage, is_found) in [(add, false), (wait, false), (dispatch, true)] {
            walk.still(stage.is_some());
            stage.iter_mut().for_each(|stage| stage.walk(walk, is_found));
        }
    }
}

impl Request {
    fn walk(&self, walk: &mut Walk<'_>) {
        let Self { tokens, base, rows, layers, stride, layer, layer_base } = *self;
        walk.still(tokens);
        for number in [base, rows, layers, stride, layer, layer_base.unwrap_or_default()] {
            walk.still(number);
        }
        walk.still(layer_base.is_some());
    }
}
