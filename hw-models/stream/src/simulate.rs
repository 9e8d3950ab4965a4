// SPDX-License-Identifier: MIT
//! Times of a run that are computed from those of its layers: on the [`clock`].
//!
//! Loaders share a disk and cores. While `active` of them load, each load takes `1 + contention * (active - 1)` times
//! as long as alone; a load that goes on while that number changes goes on at the new rate.

use crate::clock::{self, ClockError, ClockedRun, Ended, Timed};
use crate::event::{Event, Load, Signals, Use};
use crate::setup::{Setup, SetupError};
use std::convert::Infallible;

/// How long things take.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Of each layer ns of loading it alone.
    pub load_ns: Vec<f64>,
    /// Of each layer ns of using it.
    pub compute_ns: Vec<f64>,
    /// How much longer a load takes for each other one beside it, as a share.
    pub contention: f64,
}

impl Costs {
    /// The same for all of so many layers.
    pub fn even(layers: usize, load_ns: f64, compute_ns: f64, contention: f64) -> Self {
        Self { load_ns: vec![load_ns; layers], compute_ns: vec![compute_ns; layers], contention }
    }
}

/// What a simulated run was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Simulated {
    /// Signals between agents.
    pub signals: Signals,
    /// The most bytes that slots have held at once.
    pub peak_bytes: u64,
    /// From the start to the end of the last pass.
    pub wall_ns: f64,
    /// Of that, the time for which nothing computed.
    pub stall_ns: f64,
}

/// Agents that do nothing but take their time.
struct OfCosts<'a> {
    costs: &'a Costs,
    observe: &'a mut dyn FnMut(Event),
    /// Of each loader what it loads, and ns that this would take alone from now on.
    loading: Vec<Option<(Load, f64)>>,
    /// What is used, and ns that are left of it.
    using: Option<(Use, f64)>,
    now_ns: f64,
    /// From now to the moment at which something ends.
    step_ns: f64,
    computed_ns: f64,
}

impl OfCosts<'_> {
    /// How much longer a load takes now than alone.
    fn slower(&self) -> f64 {
        let active = self.loading.iter().flatten().count();
        1.0 + self.costs.contention * (active as f64 - 1.0).max(0.0)
    }
}

impl Timed for OfCosts<'_> {
    type Error = Infallible;

    fn load(&mut self, load: Load, _: f64) -> Result<(), Infallible> {
        self.loading[load.loader] = Some((load, self.costs.load_ns[load.layer]));
        Ok(())
    }

    fn layer(&mut self, used: Use, _: f64) -> Result<(), Infallible> {
        self.using = Some((used, self.costs.compute_ns[used.layer]));
        Ok(())
    }

    fn next_ns(&mut self) -> Option<f64> {
        let slower = self.slower();
        let loads = self.loading.iter().flatten().map(|(_, left)| left * slower);
        self.step_ns = loads.chain(self.using.map(|(_, left)| left)).min_by(f64::total_cmp)?;
        Some(self.now_ns + self.step_ns)
    }

    fn advance(&mut self, to_ns: f64) -> Ended {
        let (slower, step) = (self.slower(), self.step_ns);
        self.now_ns = to_ns;
        let mut ended = Ended::default();
        for slot in &mut self.loading {
            let Some((load, left)) = slot else { continue };
            // What ends first ends at this moment, whatever the rounding.
            let ends = *left * slower <= step;
            *left -= step / slower;
            if ends {
                ended.loads.push(*load);
                *slot = None;
            }
        }
        if let Some((used, left)) = &mut self.using {
            let ends = *left <= step;
            *left -= step;
            if ends {
                self.computed_ns += self.costs.compute_ns[used.layer];
                ended.used = Some(*used);
                self.using = None;
            }
        }
        ended
    }

    fn see(&mut self, event: Event) -> Result<(), Infallible> {
        (self.observe)(event);
        Ok(())
    }
}

/// Simulates a setup; `observe` sees every event, in order.
///
/// # Panics
///
/// If there are not as many costs as layers.
pub fn simulate(
    setup: &Setup,
    costs: &Costs,
    observe: &mut dyn FnMut(Event),
) -> Result<Simulated, SetupError> {
    let layers = setup.layers.len();
    assert_eq!((costs.load_ns.len(), costs.compute_ns.len()), (layers, layers), "costs");
    let mut agents = OfCosts {
        costs,
        observe,
        loading: vec![None; setup.loaders()],
        using: None,
        now_ns: 0.0,
        step_ns: 0.0,
        computed_ns: 0.0,
    };
    let outcome = clock::run(setup, &mut agents);
    let ClockedRun { signals, peak_bytes, wall_ns, .. } = outcome.map_err(|error| match error {
        ClockError::Setup(error) => error,
        ClockError::Agent(never) => match never {},
    })?;
    let stall_ns = wall_ns - agents.computed_ns;
    Ok(Simulated { signals, peak_bytes, wall_ns, stall_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Residency;

    fn setup(layers: usize, passes: usize, residency: Residency) -> Setup {
        Setup { layers: vec![1; layers], passes, fixed: 0, limit: None, residency }
    }

    fn pipeload(loaders: usize, slots: usize) -> Residency {
        Residency::Pipeload { loaders, slots, pinned: 0 }
    }

    fn wall(setup: &Setup, costs: &Costs) -> f64 {
        simulate(setup, costs, &mut |_| ()).expect("it runs").wall_ns
    }

    #[test]
    fn times_are_those_of_the_formulas() {
        for (layers, loaders, load, compute, contention) in
            [(24, 2, 100.0, 7.0, 0.0), (24, 6, 100.0, 7.0, 0.25), (25, 4, 90.0, 5.0, 0.0)]
        {
            let costs = Costs::even(layers, load, compute, contention);
            let m = loaders as f64;
            // All load together until the last round.
            let longest = load * (1.0 + contention * (m - 1.0));
            assert!(longest >= m * compute);
            let rounds = layers.div_ceil(loaders) as f64;
            let rest = ((layers - 1) % loaders + 1) as f64;
            let expected = rounds * longest + rest * compute;
            let found = wall(&setup(layers, 1, pipeload(loaders, layers)), &costs);
            // In the last round of 25 there is one load.
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        // Bound by computing: the first load, and all layers.
        let costs = Costs::even(24, 10.0, 20.0, 0.0);
        assert_eq!(wall(&setup(24, 1, pipeload(2, 3)), &costs), 10.0 + 24.0 * 20.0);
    }

    #[test]
    fn the_other_modes_are_those_of_the_paper() {
        let costs = Costs::even(24, 100.0, 30.0, 0.5);
        assert_eq!(wall(&setup(24, 1, Residency::Pipeline), &costs), 2430.0);
        assert_eq!(wall(&setup(24, 8, Residency::Pipeline), &costs), 8.0 * 2430.0);
        assert_eq!(wall(&setup(24, 8, Residency::Whole), &costs), 2400.0 + 8.0 * 720.0);
    }

    #[test]
    fn a_pass_loads_for_the_next_one() {
        // The loader never stops: 2 * 3 loads, and the last layer.
        let costs = Costs::even(3, 10.0, 4.0, 0.0);
        assert_eq!(wall(&setup(3, 2, pipeload(1, 2)), &costs), 64.0);
        // One slot: nothing overlaps.
        assert_eq!(wall(&setup(3, 2, pipeload(1, 1)), &costs), 84.0);
        // Two slots for two loaders: a slot goes from load to compute to load.
        let costs = Costs::even(4, 10.0, 4.0, 0.0);
        assert_eq!(wall(&setup(4, 1, pipeload(2, 2)), &costs), 14.0 + 4.0 + 10.0 + 4.0);
    }

    #[test]
    fn contention_ends_with_the_load_beside() {
        // Both at half their rate until the first is done at 10; then the second alone.
        let costs = Costs { load_ns: vec![5.0, 10.0], compute_ns: vec![0.0, 0.0], contention: 1.0 };
        assert_eq!(wall(&setup(2, 1, pipeload(2, 2)), &costs), 15.0);
    }
}
