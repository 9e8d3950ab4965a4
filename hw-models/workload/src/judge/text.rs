// SPDX-License-Identifier: MIT
//! The device's choices beside the reference's.

use crate::report::decode::{Agreement, Choice, Parted};

/// Compares choice by choice.
#[derive(Default)]
pub struct TokenComparison {
    so_far: Agreement,
    squares: f64,
    logits: usize,
}

/// What was chosen, and by which logits.
pub struct Chosen<'a> {
    /// The token.
    pub token: usize,
    /// The logits.
    pub logits: &'a [f64],
}

impl TokenComparison {
    /// The choice for this position: the device's and the reference's, after the same tokens.
    ///
    /// # Panics
    ///
    /// If the two have not as many logits.
    pub fn see(
        &mut self,
        position: usize,
        device: &Chosen,
        reference: &Chosen,
        text: impl Fn(usize) -> String,
    ) {
        assert_eq!(device.logits.len(), reference.logits.len(), "a logit for each token");
        let pairs = device.logits.iter().zip(reference.logits);
        let distances = pairs.map(|(device, reference)| {
            let distance = (device - reference).abs();
            if distance.is_nan() { f64::INFINITY } else { distance }
        });
        let mut worst: f64 = 0.0;
        for distance in distances {
            worst = worst.max(distance);
            self.squares += distance * distance;
        }
        self.logits += device.logits.len();
        let largest = reference.logits.iter().fold(0.0, |most: f64, logit| most.max(logit.abs()));
        let relative = if worst == 0.0 { 0.0 } else { worst / largest };

        let all = &mut self.so_far;
        all.compared += 1;
        all.max_logit_error = all.max_logit_error.max(worst);
        all.max_relative_logit_error = all.max_relative_logit_error.max(relative);
        if all.parted.is_some() {
            return;
        }
        if device.token == reference.token {
            all.equal += 1;
            return;
        }
        let choice = |token| Choice { token, text: text(token) };
        let gap = |logits: &[f64], first: usize, second: usize| logits[first] - logits[second];
        all.parted = Some(Parted {
            position,
            device: choice(device.token),
            reference: choice(reference.token),
            max_logit_error: worst,
            reference_gap: gap(reference.logits, reference.token, device.token),
            device_gap: gap(device.logits, device.token, reference.token),
        });
    }

    /// The result so far.
    pub fn agreement(&self) -> Agreement {
        let rms_logit_error = (self.squares / self.logits.max(1) as f64).sqrt();
        Agreement { rms_logit_error, ..self.so_far.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_kept() {
        let mut comparison = TokenComparison::default();
        let mut see = |position, device: (usize, [f64; 2]), reference: (usize, [f64; 2])| {
            let device = Chosen { token: device.0, logits: &device.1 };
            let reference = Chosen { token: reference.0, logits: &reference.1 };
            comparison.see(position, &device, &reference, |token| token.to_string());
        };
        see(3, (1, [0.0, 4.0]), (1, [0.0, 4.5]));
        see(4, (1, [2.0, 2.25]), (0, [2.5, 2.0]));
        see(5, (1, [0.0, 1.0]), (1, [0.0, 1.0]));
        see(6, (0, [8.0, 1.0]), (1, [1.0, 8.0]));
        let agreement = comparison.agreement();
        assert_eq!((agreement.compared, agreement.equal), (4, 1));
        let parted = agreement.parted.expect("they part");
        assert_eq!((parted.position, parted.device.token, parted.reference.token), (4, 1, 0));
        assert_eq!((parted.device_gap, parted.reference_gap), (0.25, 0.5));
        assert_eq!(parted.max_logit_error, 0.5);
        assert_eq!(
            (agreement.max_logit_error, agreement.max_relative_logit_error),
            (7.0, 7.0 / 8.0)
        );
        let squares: f64 = 0.25 + 0.25 + 0.0625 + 49.0 + 49.0;
        assert_eq!(agreement.rms_logit_error, (squares / 8.0).sqrt());
    }
}
