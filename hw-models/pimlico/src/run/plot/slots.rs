// SPDX-License-Identifier: MIT
//! The slots of each operator as a bar that is as long as the operator takes, one cause behind the other.

use super::{LEFT, MARGIN, RIGHT};
use crate::output::drawing::{self, Anchor, Area, Drawn, TEXT};
use crate::output::grouped;
use pimlico_workload::report::{OperatorReport, Report, Slots};
use plotters::prelude::*;

/// Height of the title, of the key, of a bar with what is around it.
const TITLE: i32 = 30;
const KEY: i32 = 26;
const BAR: i32 = 26;

/// Colours of what becomes of a slot.
pub const USED: RGBColor = RGBColor(67, 160, 71);
pub const ROW_SWITCH: RGBColor = RGBColor(251, 140, 0);
pub const REFRESH: RGBColor = RGBColor(186, 104, 200);
pub const HOST: RGBColor = RGBColor(161, 136, 127);

/// What becomes of a slot: its name, its colour, and how many there are.
type Cause = (&'static str, RGBColor, fn(&Slots) -> u64);

const CAUSES: [Cause; 8] = [
    ("of use", USED, |slots| slots.of_use),
    ("padding", RGBColor(165, 214, 167), |slots| slots.lost.padding),
    ("row switch", ROW_SWITCH, |slots| slots.lost.row_switch),
    ("refresh", REFRESH, |slots| slots.lost.refresh),
    ("fill/drain", RGBColor(176, 190, 197), |slots| slots.lost.fill_drain),
    ("I/O", RGBColor(255, 213, 79), |slots| slots.lost.io),
    ("bubble", RGBColor(239, 83, 80), |slots| slots.lost.bubble),
    ("host", HOST, |slots| slots.lost.host),
];

/// Height of all bars.
pub fn height(report: &Report) -> i32 {
    TITLE + KEY + BAR * report.operators.len() as i32
}

/// Draws the bars.
pub fn draw(area: &Area<'_>, report: &Report, top: i32) -> Drawn {
    let operators = &report.operators;
    let last = match (&report.ranks, &report.module) {
        (Some(ranks), _) if ranks.count() > 1 => ", of the rank that is done last",
        (_, Some(_)) => ", of a channel",
        _ => "",
    };
    let title = format!(
        "Slots of tCCD_L for an all-bank RD{last}; bars are as long as operators take, figures in them are %"
    );
    drawing::write(area, &title, (MARGIN, top + TITLE / 2), TEXT, Anchor::Left)?;
    let present = CAUSES.iter().filter(|(_, _, of)| operators.iter().any(|o| of(&o.slots) > 0));
    let key = present.map(|&(name, colour, _)| (name, colour));
    drawing::key(area, key, (LEFT, top + TITLE + KEY / 2 - 3))?;
    let longest = operators.iter().map(|operator| operator.slots.all()).max().unwrap_or(0).max(1);
    for (n, operator) in (0..).zip(operators) {
        draw_bar(area, operator, longest, top + TITLE + KEY + BAR * n)?;
    }
    Ok(())
}

fn draw_bar(area: &Area<'_>, operator: &OperatorReport, longest: u64, top: i32) -> Drawn {
    let middle = top + BAR / 2 - 3;
    drawing::write(area, operator.operator, (MARGIN, middle), TEXT, Anchor::Left)?;
    let all = operator.slots.all();
    let x = |slots: u64| {
        LEFT + (slots as f64 / longest as f64 * f64::from(RIGHT - LEFT)).round() as i32
    };
    let mut before = 0;
    for (_, colour, of) in CAUSES {
        let slots = of(&operator.slots);
        let (left, right) = (x(before), x(before + slots));
        before += slots;
        if slots == 0 {
            continue;
        }
        let corners = [(left, top), (right, top + BAR - 6)];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        let share = format!("{:.1}", 100.0 * slots as f64 / all as f64);
        if drawing::width_of(&share, TEXT) < right - left {
            drawing::write(area, &share, ((left + right) / 2, middle), TEXT, Anchor::Middle)?;
        }
    }
    let text = format!("{} slots, {:.1} µs", grouped(all), operator.ns / 1e3);
    drawing::write(area, &text, (x(all) + 8, middle), TEXT, Anchor::Left)
}
