// SPDX-License-Identifier: MIT
//! A run on a clock that is computed: the agents of [`crate::agents`], the [`Order`] of real runs, and times that are
//! given.
//!
//! Loaders share a disk and cores. While `active` of them load, each load takes `1 + contention * (active - 1)` times
//! as long as alone; a load that goes on while that number changes goes on at the new rate.

use crate::event::{Event, Load, Signals, Use};
use crate::order::{Answer, Next, Order};
use crate::setup::{Setup, SetupError};

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

/// What is loading, and ns that it would take alone from now on.
type Loading = Option<(Load, f64)>;

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
    let mut order = Order::new(setup.clone())?;
    let layers = setup.layers.len();
    assert_eq!((costs.load_ns.len(), costs.compute_ns.len()), (layers, layers), "costs");
    let mut loading: Vec<Loading> = vec![None; setup.loaders()];
    let mut computing: Option<(Use, f64)> = None;
    let (mut now, mut computed_ns) = (0.0f64, 0.0);
    loop {
        settle(&mut order, costs, &mut loading, &mut computing);
        for what in order.events() {
            observe(Event { at_ns: now.round() as u64, what });
        }
        let active = loading.iter().flatten().count();
        let slower = 1.0 + costs.contention * (active as f64 - 1.0).max(0.0);
        let ends = loading.iter().flatten().map(|(_, left)| left * slower);
        let first = ends.chain(computing.map(|(_, left)| left)).min_by(f64::total_cmp);
        let Some(step) = first else { break };
        now += step;
        for slot in &mut loading {
            let Some((load, left)) = slot else { continue };
            // What ends first ends at this moment, whatever the rounding.
            let ends = *left * slower <= step;
            *left -= step / slower;
            if ends {
                order.ready(*load);
                *slot = None;
            }
        }
        if let Some((used, left)) = &mut computing {
            let ends = *left <= step;
            *left -= step;
            if ends {
                computed_ns += costs.compute_ns[used.layer];
                for slot in order.computed(*used) {
                    order.destroyed(slot);
                }
                computing = None;
            }
        }
    }
    assert_eq!(order.next_layer(), Next::Done, "a run that was checked comes to its end");
    Ok(Simulated {
        signals: order.signals(),
        peak_bytes: order.peak(),
        wall_ns: now,
        stall_ns: now - computed_ns,
    })
}

/// Begins everything that may begin now.
fn settle(
    order: &mut Order,
    costs: &Costs,
    loading: &mut [Loading],
    computing: &mut Option<(Use, f64)>,
) {
    loop {
        let mut any = false;
        if computing.is_none()
            && let Next::Use(used) = order.next_layer()
        {
            *computing = Some((used, costs.compute_ns[used.layer]));
            any = true;
        }
        for (loader, slot) in loading.iter_mut().enumerate() {
            if slot.is_none()
                && let Answer::Load(load) = order.ask(loader)
            {
                order.filling(load);
                *slot = Some((load, costs.load_ns[load.layer]));
                any = true;
            }
        }
        if !any {
            return;
        }
    }
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
