// SPDX-License-Identifier: MIT
//! The link between the host and the hub of a module, in the account: no model waits for it.
//!
//! What crosses is counted in bytes: K, V and weights that are written, an operator's vector on its way in, and its
//! outputs on their way back. Scores, weights of softmax and partial sums stay in the hub. Assumed is that both
//! directions share the link, that it has its full rate, and that a vector crosses it once for all channels.

use super::OperatorReport;
use pimlico_device::Config;
use serde::Serialize;

/// Bytes that cross the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// From the host to the hub.
    pub to_hub: u64,
    /// From the hub to the host.
    pub to_host: u64,
}

impl Crossing {
    /// So many elements of binary16 in, and so many out.
    pub fn elements(operands: usize, outputs: usize) -> Self {
        Self { to_hub: 2 * operands as u64, to_host: 2 * outputs as u64 }
    }

    /// Of both.
    pub fn and(self, other: Self) -> Self {
        let Self { to_hub, to_host } = other;
        Self { to_hub: self.to_hub + to_hub, to_host: self.to_host + to_host }
    }
}

/// What something takes on the link, beside what it takes in the module.
#[derive(Clone, Debug, Serialize)]
pub struct OnLink {
    /// Rate of the link in GB/s (10^9 bytes).
    pub gb_per_s: u64,
    /// Bytes from the host to the hub.
    pub to_hub_bytes: u64,
    /// Bytes from the hub to the host.
    pub to_host_bytes: u64,
    /// Duration on the link in ns.
    pub ns: f64,
    /// Which of the two takes longer: `link` or `module`.
    pub bound_by: &'static str,
    /// Duration of the longer one in ns.
    pub bound_ns: f64,
}

impl OnLink {
    /// Of something that takes so long in the module, if the link is known.
    pub fn new(config: &Config, crossing: Crossing, module_ns: f64) -> Option<Self> {
        let gb_per_s = config.link_gb_per_s?;
        let Crossing { to_hub, to_host } = crossing;
        let ns = (to_hub + to_host) as f64 / gb_per_s as f64;
        Some(Self {
            gb_per_s,
            to_hub_bytes: to_hub,
            to_host_bytes: to_host,
            ns,
            bound_by: if ns > module_ns { "link" } else { "module" },
            bound_ns: ns.max(module_ns),
        })
    }

    /// Whether the link takes longer.
    pub fn binds(&self) -> bool {
        self.bound_by == "link"
    }
}

/// What a report says of the link, where operators cross one.
pub fn note(operators: &[OperatorReport]) -> Option<String> {
    let of = |operator: &OperatorReport| Some((operator.operator, operator.link.clone()?));
    let links: Vec<_> = operators.iter().filter_map(of).collect();
    let gb_per_s = links.first()?.1.gb_per_s;
    let bound: Vec<_> = links.iter().filter(|(_, link)| link.binds()).map(|of| of.0).collect();
    let binds = match bound.as_slice() {
        [] => "less time than the module for every operator".to_owned(),
        bound => format!("more time than the module for {}", bound.join(", ")),
    };
    Some(format!(
        "the link of {gb_per_s} GB/s between host and hub is in the account alone, no model waits for it: operands in \
         and outputs back take {binds}; none of it is in the total"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_link_and_module_binds() {
        let config = Config::gddr6_aim();
        let crossing = Crossing { to_hub: 600, to_host: 40 };
        let of = |module_ns| OnLink::new(&config, crossing, module_ns).expect("it has a link");
        let (short, long) = (of(9.0), of(11.0));
        assert_eq!((short.ns, short.bound_by, short.bound_ns), (10.0, "link", 10.0));
        assert_eq!((long.ns, long.bound_by, long.bound_ns), (10.0, "module", 11.0));
        assert!(OnLink::new(&Config::ddr4_3200(), crossing, 1.0).is_none());
    }
}
