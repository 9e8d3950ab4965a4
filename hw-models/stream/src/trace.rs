// SPDX-License-Identifier: MIT
//! A run as spans of time: what each agent did from when to when, and how many bytes were held.

use crate::event::{Event, What};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an agent did for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Which loader; none for the inference agent.
    pub loader: Option<usize>,
    /// For which pass.
    pub pass: usize,
    /// Which layer.
    pub layer: usize,
    /// Where it lies.
    pub slot: usize,
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
}

/// Bytes that slots hold from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// The moment.
    pub at_ns: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// What agents did, in the order in which it ended.
    pub spans: Vec<Span>,
    /// Bytes that were held.
    pub held: Vec<Held>,
    /// The events themselves.
    pub events: Vec<Event>,
}

impl Trace {
    /// Of the events of a run.
    pub fn new(events: Vec<Event>) -> Self {
        let mut trace = Self::default();
        let (mut begun, mut bytes_of, mut bytes) = (BTreeMap::new(), BTreeMap::new(), 0);
        for &Event { at_ns, what } in &events {
            match what {
                What::Granted(load) => {
                    bytes_of.insert(load.slot, load.bytes);
                    bytes += load.bytes;
                    trace.held.push(Held { at_ns, bytes });
                }
                What::Filling(load) => {
                    begun.insert(load.slot, at_ns);
                }
                What::Ready(load) => trace.spans.push(Span {
                    loader: Some(load.loader),
                    pass: load.pass,
                    layer: load.layer,
                    slot: load.slot,
                    from_ns: begun.remove(&load.slot).unwrap_or(at_ns),
                    to_ns: at_ns,
                }),
                What::Computing(used) => {
                    begun.insert(used.slot, at_ns);
                }
                What::Computed(used) => trace.spans.push(Span {
                    loader: None,
                    pass: used.pass,
                    layer: used.layer,
                    slot: used.slot,
                    from_ns: begun.remove(&used.slot).unwrap_or(at_ns),
                    to_ns: at_ns,
                }),
                What::Destroyed { slot } => {
                    bytes -= bytes_of.remove(&slot).unwrap_or(0);
                    trace.held.push(Held { at_ns, bytes });
                }
                _ => {}
            }
        }
        trace.events = events;
        trace
    }

    /// The most loads that went on at one time.
    pub fn loads_side_by_side(&self) -> usize {
        let loads = || self.spans.iter().filter(|span| span.loader.is_some());
        let at = |moment: u64| {
            loads().filter(|span| (span.from_ns..span.to_ns).contains(&moment)).count()
        };
        loads().map(|span| at(span.from_ns)).max().unwrap_or(0)
    }
}
