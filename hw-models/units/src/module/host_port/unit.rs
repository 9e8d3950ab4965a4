// SPDX-License-Identifier: MIT
//! The host port's model.

use super::{HostPortIn, HostPortOut, HostPortProbe};
use crate::gear::{self, DefaultGear, Gear};
use pimlico_ports::{Model, Unit};
use std::marker::PhantomData;

/// The cycle model of a host port.
///
#[doc = contract!("module/host_port")]
#[derive(Clone)]
pub struct HostPort<G: Gear = DefaultGear> {
    gear: PhantomData<G>,
}

impl<G: Gear> Unit for HostPort<G> {
    const MODULE: &'static str = "host_port";
    const PARAMETERS: &'static [(&'static str, i64)] = &[("GEAR", G::TCK as i64)];
    type In = HostPortIn;
    type Out = HostPortOut;
    type Probe = HostPortProbe;

    fn variant() -> String {
        gear::variant::<G>("")
    }
}

impl<G: Gear> Model for HostPort<G> {
    fn new() -> Self {
        Self { gear: PhantomData }
    }

    fn reset(&mut self) {
        *self = Self::new();
    }

    fn probe(&self) -> Self::Probe {
        HostPortProbe::default()
    }

    fn step(&mut self, _: &Self::In) -> Self::Out {
        HostPortOut::default()
    }
}
