// SPDX-License-Identifier: MIT
//! How busy the parts of a rank were over time, in percent.

use super::phases::{HEADS, Row, Span};
use super::time::Time;
use super::{LEFT, MARGIN, RIGHT, slots};
use crate::output::drawing::{self, Anchor, Area, Drawn, GREY, LIGHT_GREY, TEXT};
use pimlico_device::{Activity, Timeline};
use plotters::prelude::*;

/// Height of a panel with its title, and of what is drawn in it.
const PANEL: i32 = 124;
const DRAWN: i32 = 88;
/// Stretches of time that are drawn, at the most.
const BINS: usize = 215;
/// The same where there are tokens, which take stretches of their own if they are so many or more.
const BINS_OF_TOKENS: usize = 86;
const TOKENS: usize = 12;

/// A part of the rank, or what else shares the time.
pub struct Panel {
    title: String,
    layers: Vec<Layer>,
    /// What the rest of the time is.
    rest: &'static str,
}

/// A share of the time in each of the bins.
struct Layer {
    name: String,
    colour: RGBColor,
    /// From the bin's first tCK to its last, from 0 to 1.
    bins: Vec<(f64, f64, f64)>,
}

/// The panels that have something in them. What takes too short to be drawn as bands is one as well.
pub fn panels(timeline: &Timeline, rows: &[Row], time: &Time) -> Vec<Panel> {
    let edges = edges(rows, time);
    let layer = |name: &str, colour, value: fn(&Activity) -> u64| Layer {
        name: name.to_owned(),
        colour,
        bins: binned(&edges, timeline.activity().map(|(from, to, a)| (from, to, value(&a) as f64))),
    };
    let unit = |title: &str, colour, value| Panel {
        title: format!("{title}, % of the time"),
        layers: vec![layer("", colour, value)],
        rest: "",
    };
    let banks = Panel {
        title: "banks: slots of all-bank RDs and what they wait for, % of the time".to_owned(),
        layers: vec![
            layer("RD of all banks", slots::USED, |a| a.read),
            layer("row switch", slots::ROW_SWITCH, |a| a.row_switch),
            layer("refresh", slots::REFRESH, |a| a.refresh),
            layer("host has the pins", slots::HOST, |a| a.host),
        ],
        rest: "fill, drain, bubble",
    };
    let units = [
        banks,
        unit("data bus of the chips", RGBColor(2, 119, 189), |a| a.bus),
        unit("adder unit", RGBColor(0, 150, 136), |a| a.adder_unit),
        unit("softmax unit", RGBColor(57, 73, 171), |a| a.softmax_unit),
    ];
    let mut panels: Vec<Panel> = units.into_iter().filter_map(Panel::used).collect();
    panels.splice(0..0, rows.iter().filter_map(|row| shares(row, &edges, time)));
    panels
}

/// The shares of operators in the time, where they are too short to be drawn as bands.
fn shares(row: &Row, edges: &[f64], time: &Time) -> Option<Panel> {
    let is_named = row.colours().next().is_some();
    if row.is_wide(time) || !is_named {
        return None;
    }
    let layer = |(name, colour): (&str, RGBColor)| {
        let of_name = row.of(name).map(|&Span { from_tck, until_tck, .. }| {
            (from_tck, until_tck, (until_tck - from_tck) as f64)
        });
        Layer { name: name.to_owned(), colour, bins: binned(edges, of_name) }
    };
    let layers = row.colours().map(layer).collect();
    Panel { title: format!("{}, % of the time", row.title), layers, rest: "" }.used()
}

/// Where bins begin, and the end of the last: they are tokens, if there are many.
fn edges(rows: &[Row], time: &Time) -> Vec<f64> {
    let tokens = rows.iter().find(|row| row.colours().next().is_none() && row.title != HEADS);
    let all = time.tck() as f64;
    let even = |count: usize| (0..=count).map(|n| all * n as f64 / count as f64).collect();
    match tokens.map(|row| &row.spans) {
        Some(spans) if (TOKENS..=BINS).contains(&spans.len()) => {
            let from = spans.iter().map(|span| span.from_tck as f64);
            from.chain([all]).collect()
        }
        Some(_) => even(BINS_OF_TOKENS),
        None => even(BINS.min(time.tck() as usize)),
    }
}

/// Spreads what was done in stretches of time over bins, in shares of their time.
fn binned(edges: &[f64], stretches: impl Iterator<Item = (u64, u64, f64)>) -> Vec<(f64, f64, f64)> {
    let mut bins: Vec<_> = edges.windows(2).map(|edge| (edge[0], edge[1], 0.0)).collect();
    let mut first = 0;
    for (from_tck, until_tck, value) in stretches {
        let (from, until) = (from_tck as f64, until_tck as f64);
        while bins.get(first).is_some_and(|(_, end, _)| *end <= from) {
            first += 1;
        }
        for (begin, end, share) in bins[first..].iter_mut().take_while(|bin| bin.0 < until) {
            let common = until.min(*end) - from.max(*begin);
            *share += value * common / (until - from) / (*end - *begin);
        }
    }
    bins
}

impl Panel {
    /// Without layers that there are not; none if nothing is left.
    fn used(mut self) -> Option<Self> {
        self.layers.retain(|layer| layer.bins.iter().any(|bin| bin.2 > 0.0));
        (!self.layers.is_empty()).then_some(self)
    }

    fn draw(&self, area: &Area<'_>, time: &Time, top: i32) -> Drawn {
        drawing::write(area, &self.title, (LEFT, top + 14), TEXT, Anchor::Left)?;
        let (top, bottom) = (top + 26, top + 26 + DRAWN);
        let y = |share: f64| bottom - (share.clamp(0.0, 1.0) * f64::from(DRAWN)).round() as i32;
        for share in [0.0, 0.5, 1.0] {
            area.draw(&PathElement::new([(LEFT - 5, y(share)), (RIGHT, y(share))], LIGHT_GREY))?;
            let text = format!("{:.0} %", 100.0 * share);
            drawing::write(area, &text, (LEFT - 9, y(share)), TEXT, Anchor::Right)?;
        }
        // Layers stand on each other; the highest is drawn first.
        for count in (1..=self.layers.len()).rev() {
            let of_bin = |bin: usize| self.layers[..count].iter().map(move |l| l.bins[bin].2).sum();
            let layer = &self.layers[count - 1];
            let steps = layer.bins.iter().enumerate().flat_map(|(n, (from, until, _))| {
                let top = y(of_bin(n));
                [(time.x(*from), top), (time.x(*until), top)]
            });
            let corners = std::iter::once((LEFT, bottom)).chain(steps).chain([(RIGHT, bottom)]);
            area.draw(&Polygon::new(corners.collect::<Vec<_>>(), layer.colour.filled()))?;
        }
        area.draw(&PathElement::new([(LEFT, top), (LEFT, bottom), (RIGHT, bottom)], GREY))?;
        self.draw_key(area, top)
    }

    /// What the colours are, if there are several, to the right.
    fn draw_key(&self, area: &Area<'_>, top: i32) -> Drawn {
        let layers = self.layers.iter().map(|layer| (layer.name.as_str(), layer.colour));
        let rest = (!self.rest.is_empty()).then_some((self.rest, WHITE));
        let named = layers.chain(rest).filter(|(name, _)| !name.is_empty());
        for (n, (name, colour)) in (0..).zip(named) {
            drawing::key(area, [(name, colour)], (RIGHT + MARGIN, top + 8 + 19 * n))?;
        }
        Ok(())
    }
}

/// Height of the panels.
pub fn height(panels: &[Panel]) -> i32 {
    8 + PANEL * panels.len() as i32
}

/// Draws the panels below each other.
pub fn draw(area: &Area<'_>, panels: &[Panel], time: &Time, top: i32) -> Drawn {
    (0..).zip(panels).try_for_each(|(n, panel)| panel.draw(area, time, top + PANEL * n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_spread_over_bins() {
        // Two stretches of 10 tCK, of which 10 and 5 were busy, in bins of 5, 10 and 5 tCK.
        let bins = binned(&[0.0, 5.0, 15.0, 20.0], [(0, 10, 10.0), (10, 20, 5.0)].into_iter());
        assert_eq!(bins, [(0.0, 5.0, 1.0), (5.0, 15.0, 0.75), (15.0, 20.0, 0.5)]);
    }
}
