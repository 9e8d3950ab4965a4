// SPDX-License-Identifier: MIT
//! Time from the left to the right, and its axis.

use super::{LEFT, RIGHT};
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, TEXT};
use crate::output::grouped;
use plotters::prelude::*;

/// Height of the axis.
pub const HEIGHT: i32 = 58;
/// Marks in tCK and in µs, at the most.
const MARKS: usize = 8;

/// The time that is drawn.
pub struct Time {
    tck: u64,
    tck_ns: f64,
}

impl Time {
    /// So many tCK.
    pub fn new(tck: u64, tck_ns: f64) -> Self {
        Self { tck: tck.max(1), tck_ns }
    }

    /// All of it.
    pub fn tck(&self) -> u64 {
        self.tck
    }

    /// Where a tCK is.
    pub fn x(&self, tck: f64) -> i32 {
        LEFT + (tck / self.tck as f64 * f64::from(RIGHT - LEFT)).round() as i32
    }

    /// The axis, in tCK and below in µs.
    pub fn draw(&self, area: &Area<'_>, top: i32) -> Drawn {
        let us = self.tck_ns / 1e3;
        let (tck, _) = drawing::ticks(self.tck as f64, MARKS);
        let of_tck = tck.into_iter().map(|at| (at, grouped(at as u64))).collect();
        self.draw_marks(area, top, of_tck, "tCK")?;
        let (marks, decimals) = drawing::ticks(self.tck as f64 * us, MARKS);
        let of_us = marks.into_iter().map(|at| (at / us, format!("{at:.decimals$}"))).collect();
        self.draw_marks(area, top + 26, of_us, "µs")
    }

    fn draw_marks(
        &self,
        area: &Area<'_>,
        top: i32,
        marks: Vec<(f64, String)>,
        unit: &str,
    ) -> Drawn {
        area.draw(&PathElement::new([(LEFT, top), (RIGHT, top)], GREY))?;
        for (tck, text) in marks {
            let x = self.x(tck);
            area.draw(&PathElement::new([(x, top), (x, top + 5)], GREY))?;
            drawing::write(area, &text, (x, top + 13), TEXT, Anchor::Middle)?;
        }
        drawing::write(area, unit, (RIGHT + 40, top + 6), TEXT, Anchor::Left)
    }
}
