// SPDX-License-Identifier: MIT
//! Algorithm 2: requests into channels, greedily into that of the least load.

use std::cmp::Reverse;

/// A request that has no channel yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRequest {
    /// Its tokens.
    pub tokens: u64,
    /// Its estimated latency, tCK.
    pub tck: u64,
}

/// The channel of each new request, the longest first; of equal loads the lowest channel, of equal lengths the first request.
/// Loads grow by what is added. Requests that are placed never move.
///
/// # Panics
///
/// If there is a request and no channel.
pub fn min_load(loads: &mut [u64], new: &[NewRequest]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..new.len()).collect();
    order.sort_by_key(|&request| Reverse(new[request].tokens));
    let mut places = vec![0; new.len()];
    for request in order {
        let least = loads.iter_mut().enumerate().min_by_key(|(_, load)| **load);
        let (channel, load) = least.expect("a channel");
        *load += new[request].tck;
        places[request] = channel;
    }
    places
}

/// The load of the busiest channel over the mean.
pub fn busiest_to_mean(loads: &[u64]) -> f64 {
    let busiest = loads.iter().copied().max().unwrap_or(0);
    let all: u64 = loads.iter().sum();
    busiest as f64 * loads.len() as f64 / all.max(1) as f64
}
