// SPDX-License-Identifier: MIT
//! Pictures of estimates: panels of bars, each bar of one part or of several in a row.

use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, HEADING, TEXT};
use crate::output::grouped;
use clap::Args;
use plotters::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;

const WIDTH: i32 = 1100;
const MARGIN: i32 = 12;
/// Height of a bar with what is around it, of a panel's title, and of the key.
const BAR: i32 = 22;
const PANEL_TITLE: i32 = 32;
const KEY: i32 = 26;
/// From a bar's label to the bar, and from the bar to its figure.
const GAP: i32 = 10;
/// Pixels of the longest bar, at the least.
const LEAST_BAR: i32 = 200;

/// Colours, by number.
const COLOURS: [RGBColor; 12] = [
    RGBColor(2, 119, 189),
    RGBColor(239, 108, 0),
    RGBColor(46, 125, 50),
    RGBColor(106, 27, 154),
    RGBColor(198, 40, 40),
    RGBColor(121, 85, 72),
    RGBColor(0, 172, 193),
    RGBColor(253, 216, 53),
    RGBColor(120, 144, 156),
    RGBColor(124, 179, 66),
    RGBColor(236, 64, 122),
    RGBColor(57, 73, 171),
];

/// `--plot`.
#[derive(Args)]
pub struct PlotArgument {
    /// Draw it
    #[arg(long = "plot", value_name = "FILE.svg")]
    file: Option<PathBuf>,
    /// Between the check and the picture.
    #[arg(skip)]
    output: Mutex<Option<Output>>,
}

impl PlotArgument {
    /// Checks that the picture can be written, which else would be found only after much work.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(Failure::Input(format!("{}: no such folder", folder.display())));
        }
        *self.output.lock().expect("nobody panics with it") = Some(Output::beside_report(file)?);
        Ok(())
    }

    /// Writes the picture, as SVG, if one is asked for.
    pub fn write(&self, picture: impl FnOnce() -> Picture) -> Result<(), Failure> {
        let output = self.output.lock().expect("nobody panics with it").take();
        let Some(output) = output else { return Ok(()) };
        let picture = picture();
        drawing::save(output, (WIDTH, picture.height()), |area| picture.draw(area))
    }
}

/// Panels below each other.
pub struct Picture {
    pub title: String,
    /// What each colour stands for, if bars do not say it.
    pub key: Vec<&'static str>,
    pub panels: Vec<BarPanel>,
}

/// A quantity.
pub struct BarPanel {
    pub title: String,
    pub bars: Vec<Bar>,
    pub scale: Scale,
}

/// How long a bar is for its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// By the value, from 0 on.
    Linear,
    /// By its logarithm, from a decade below the smallest value on. For bars of one part.
    Logarithmic,
}

/// A value.
pub struct Bar {
    /// What stands to its left.
    pub label: String,
    /// Its parts, from the left: values and numbers of colours.
    pub parts: Vec<(f64, usize)>,
    /// What stands behind it.
    pub text: String,
}

impl Bar {
    fn value(&self) -> f64 {
        self.parts.iter().map(|(value, _)| value).sum()
    }
}

/// Where bars begin, and where the longest ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    left: i32,
    right: i32,
}

impl Picture {
    /// Labels and figures have the room that the longest of them need, bars have the rest.
    fn columns(&self) -> Columns {
        let bars = || self.panels.iter().flat_map(|panel| &panel.bars);
        let widest = |text: fn(&Bar) -> &str| {
            bars().map(|bar| drawing::width_of(text(bar), TEXT)).max().unwrap_or(0)
        };
        let left = MARGIN + widest(|bar| &bar.label) + GAP;
        let right = WIDTH - MARGIN - widest(|bar| &bar.text) - GAP;
        Columns { left, right: right.max(left + LEAST_BAR) }
    }

    fn lines(&self) -> Vec<String> {
        drawing::lines(&self.title, HEADING, WIDTH - 2 * MARGIN)
    }

    /// Colours that are in a bar, and what they stand for.
    fn used(&self) -> impl Iterator<Item = (&'static str, RGBColor)> {
        let drawn = |colour: usize| {
            let bars = self.panels.iter().flat_map(|panel| &panel.bars);
            bars.flat_map(|bar| &bar.parts).any(|(value, of)| *of == colour && *value > 0.0)
        };
        let named = self.key.iter().enumerate().filter(move |(colour, _)| drawn(*colour));
        named.map(|(colour, what)| (*what, COLOURS[colour % COLOURS.len()]))
    }

    fn height(&self) -> i32 {
        let title = self.lines().len() as i32 * drawing::line_height(HEADING);
        let key = if self.key.is_empty() { 0 } else { KEY };
        MARGIN + title + key + self.panels.iter().map(BarPanel::height).sum::<i32>() + MARGIN
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let columns = self.columns();
        let mut top = drawing::title(area, &self.lines(), (MARGIN, MARGIN), HEADING)?;
        if !self.key.is_empty() {
            drawing::key(area, self.used(), (MARGIN, top + KEY / 2))?;
            top += KEY;
        }
        for panel in &self.panels {
            panel.draw(area, columns, top)?;
            top += panel.height();
        }
        Ok(())
    }
}

impl BarPanel {
    fn height(&self) -> i32 {
        PANEL_TITLE + BAR * self.bars.len() as i32
    }

    fn draw(&self, area: &Area<'_>, Columns { left: begin, right }: Columns, top: i32) -> Drawn {
        drawing::write(area, &self.title, (MARGIN, top + PANEL_TITLE / 2), TEXT + 1, Anchor::Left)?;
        let values = || self.bars.iter().map(Bar::value);
        let most = values().fold(0.0, f64::max);
        let least = values().filter(|value| *value > 0.0).fold(most, f64::min) / 10.0;
        let share = |value: f64| match (most > 0.0, self.scale) {
            (false, _) => 0.0,
            (true, Scale::Linear) => value / most,
            (true, Scale::Logarithmic) => ((value / least).ln() / (most / least).ln()).max(0.0),
        };
        let end = |value: f64| begin + (share(value) * f64::from(right - begin)) as i32;
        for (n, bar) in (0..).zip(&self.bars) {
            let top = top + PANEL_TITLE + BAR * n;
            let middle = top + BAR / 2 - 1;
            drawing::write(area, &bar.label, (begin - GAP, middle), TEXT, Anchor::Right)?;
            let (mut left, mut value) = (begin, 0.0);
            for (part, colour) in &bar.parts {
                value += part;
                let right = end(value);
                let colour = COLOURS[colour % COLOURS.len()].filled();
                area.draw(&Rectangle::new([(left, top + 1), (right, top + BAR - 4)], colour))?;
                left = right;
            }
            drawing::write(area, &bar.text, (left + GAP, middle), TEXT, Anchor::Left)?;
        }
        Ok(())
    }
}

/// A figure without decimals, as tables have it.
pub fn whole(value: f64) -> String {
    grouped(value.round_ties_even() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(parts: &[(f64, usize)]) -> Bar {
        Bar { label: "what".to_owned(), parts: parts.to_vec(), text: "much".to_owned() }
    }

    /// Left ends and widths of the bars and of what the key shows, which has a frame as well.
    fn rectangles(picture: &Picture) -> Vec<(i32, i32)> {
        let number = |line: &str, name: &str| -> Option<i32> {
            line.split(name).nth(1)?.split('"').next()?.parse().ok()
        };
        let size = (WIDTH, picture.height());
        let svg = drawing::svg(size, |area| picture.draw(area)).expect("drawn");
        let lines = svg.lines().filter(|line| line.starts_with("<rect"));
        lines.skip(1).filter_map(|l| Some((number(l, " x=\"")?, number(l, "width=\"")?))).collect()
    }

    fn picture(scale: Scale, key: Vec<&'static str>, bars: Vec<Bar>) -> Picture {
        let panel = BarPanel { title: "quantity".to_owned(), bars, scale };
        Picture { title: "picture".to_owned(), key, panels: vec![panel] }
    }

    #[test]
    fn bars_are_as_long_as_their_values_say() {
        let bars = |a, b| vec![bar(&[(a, 0)]), bar(&[(b, 1)])];
        let linear = picture(Scale::Linear, Vec::new(), bars(1000.0, 1500.0));
        let Columns { left, right } = linear.columns();
        let all = right - left;
        assert_eq!(rectangles(&linear), [(left, all * 2 / 3), (left, all)]);
        // A decade apart, from a decade below the smaller, is 2 : 1.
        let logarithmic = picture(Scale::Logarithmic, Vec::new(), bars(1e-3, 1e-4));
        assert_eq!(rectangles(&logarithmic), [(left, all), (left, all / 2)]);
    }

    #[test]
    fn parts_follow_each_other_and_the_key_names_those_that_there_are() {
        let bars = vec![bar(&[(1.0, 0), (2.0, 1)]), bar(&[(1.5, 2), (0.0, 3)])];
        let stacked = picture(Scale::Linear, vec!["logic", "rest", "paper", "none"], bars);
        let names: Vec<_> = stacked.used().map(|(name, _)| name).collect();
        assert_eq!(names, ["logic", "rest", "paper"]);
        let drawn = rectangles(&stacked);
        let Columns { left, right } = stacked.columns();
        let third = (right - left) / 3;
        let bars = &drawn[drawn.len() - 4..];
        assert_eq!((bars[0], bars[1].0, bars[2].0), ((left, third), left + third, left));
        assert_eq!((bars[1].0 + bars[1].1, bars[3].1), (right, 0));
    }

    #[test]
    fn nothing_has_no_length() {
        let nothing = picture(Scale::Linear, Vec::new(), vec![bar(&[(0.0, 0)])]);
        assert_eq!(rectangles(&nothing), [(nothing.columns().left, 0)]);
    }

    #[test]
    fn labels_and_figures_are_inside_and_bars_have_the_rest() {
        let mut long = bar(&[(1.0, 0)]);
        long.label = "a label of some forty letters, or even more".to_owned();
        let Columns { left, right } = picture(Scale::Linear, Vec::new(), vec![long]).columns();
        assert!(left > 300 && right > 1000, "{left} {right}");
        let Columns { left, .. } =
            picture(Scale::Linear, Vec::new(), vec![bar(&[(1.0, 0)])]).columns();
        assert!(left < 70, "{left}");
    }
}
