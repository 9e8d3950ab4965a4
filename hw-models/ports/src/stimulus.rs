// SPDX-License-Identifier: MIT
//! Random inputs for a unit, from the declaration of its ports.
//!
//! Every value is a pure function of entropy words ([`Signal::draw`](crate::Signal::draw)), so that who
//! draws the words can shrink them.

/// For a port's declaration: a flag that is set in one of `n` draws.
pub fn one_in(n: u64) -> impl Fn(&[u64]) -> bool {
    move |entropy| entropy[0] % n == n - 1
}

/// For a port's declaration: a flag that is clear in one of `n` draws.
pub fn all_but_one_in(n: u64) -> impl Fn(&[u64]) -> bool {
    move |entropy| entropy[0] % n != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bundle;

    crate::ports! {
        /// A unit to draw for.
        unit Sample: "sample" {
            inputs SampleIn {
                /// Rarely.
                rarely_i: bool => one_in(16),
                /// Mostly.
                mostly_i: bool => all_but_one_in(16),
                /// Wide.
                wide_i: [u64; 3],
            }
            outputs SampleOut {}
            probes SampleProbe {}
        }
    }

    #[test]
    fn an_empty_bundle_takes_no_room() {
        SampleOut::default().write(&mut []);
        assert_eq!(SampleProbe::read(&[]), SampleProbe {});
    }

    #[test]
    fn each_port_takes_its_own_entropy() {
        let drawn = SampleIn::draw(&[15, 16, 1, 2, 3]);
        assert_eq!(drawn, SampleIn { rarely_i: true, mostly_i: false, wide_i: [1, 2, 3] });
        assert_eq!(SampleIn::draw(&[0; 5]), SampleIn::default());
    }
}
