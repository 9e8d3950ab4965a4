// SPDX-License-Identifier: MIT
//! How much of a unit a run has reached: of its RTL's lines and bits, and of its bench's plan.
//!
//! * [`points`]: what Verilator counts in the RTL, and what of it counts here.
//! * [`Bins`]: what a bench's plan asks for (see [`Bench::plan`](crate::Bench::plan)).
//! * [`ports`]: the plan of a unit whose bench has none: the values of its ports.

pub(crate) mod beats;
mod bins;
pub mod points;
pub mod ports;
mod waivers;

pub use bins::Bins;

use points::{Kind, Point};
use std::fmt::Write;

/// Whether this is a build that counts lines and bits (feature `coverage`).
pub const AVAILABLE: bool = cfg!(feature = "coverage");

/// A part of what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How many have been reached.
    pub reached: u64,
    /// Of how many.
    pub all: u64,
}

impl Share {
    /// Of 1; none where there is nothing to reach.
    pub fn fraction(self) -> Option<f64> {
        (self.all > 0).then(|| self.reached as f64 / self.all as f64)
    }

    fn of(reached: impl Iterator<Item = bool>) -> Self {
        reached.fold(Self::default(), |Self { reached, all }, hit| Self {
            reached: reached + u64::from(hit),
            all: all + 1,
        })
    }
}

/// Coverage of a unit's run.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Points of the RTL, in the order of files and lines.
    pub points: Vec<Point>,
    /// The plan's bins and their hits.
    pub bins: Bins,
}

impl Coverage {
    /// Lines and branches that ran.
    pub fn line(&self) -> Share {
        self.share(Kind::Line)
    }

    /// Bits that rose and fell.
    pub fn toggle(&self) -> Share {
        self.share(Kind::Toggle)
    }

    /// Bins that were hit.
    pub fn functional(&self) -> Share {
        Share::of(self.bins.iter().map(|(.., hits)| hits > 0))
    }

    fn share(&self, kind: Kind) -> Share {
        Share::of(self.points.iter().filter(|point| point.kind == kind).map(Point::is_reached))
    }

    /// What was never reached, a line each, and what is waived.
    pub fn missing(&self, unit: &str) -> String {
        let mut text = format!("What a run of {unit} has not reached.\n");
        for (kind, title) in [
            (Kind::Line, "Lines and branches that did not run"),
            (Kind::Toggle, "Bits that did not both rise and fall"),
        ] {
            let missed = self.points.iter().filter(|p| p.kind == kind && !p.is_reached());
            section(&mut text, title, missed.map(ToString::to_string));
        }
        let bin = |(point, bin, _): (&str, &str, u64)| format!("{point}: {bin}");
        let missed = self.bins.iter().filter(|(.., hits)| *hits == 0);
        section(&mut text, "Bins that were not hit", missed.map(bin));
        let surprises = self.bins.surprises();
        section(&mut text, "Bins that the plan rules out, and that were hit", surprises.map(bin));
        text
    }
}

fn section(text: &mut String, title: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.collect();
    let _ = writeln!(text, "\n{title}: {}", entries.len());
    for entry in entries {
        let _ = writeln!(text, "  {entry}");
    }
}
