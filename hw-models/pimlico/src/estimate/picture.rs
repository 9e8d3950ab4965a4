// SPDX-License-Identifier: MIT
//! Pictures of estimates: panels of bars, each bar of one part or of several in a row.

use crate::failure::Failure;
use crate::files;
use clap::Args;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::path::{Path, PathBuf};

const WIDTH: u32 = 1100;
/// Height of a bar with what is around it, of a panel's title, and of the whole's with the key.
const BAR: u32 = 22;
const PANEL_TITLE: u32 = 30;
const TITLE: u32 = 34;
const KEY: u32 = 24;
/// Where bars begin and end; what is to the right is for their values.
const LEFT: i32 = 390;
const RIGHT: i32 = 960;
const FONT: (&str, u32) = ("sans-serif", 13);

/// Colours, by number.
const COLOURS: [RGBColor; 4] =
    [RGBColor(2, 119, 189), RGBColor(239, 108, 0), RGBColor(46, 125, 50), RGBColor(106, 27, 154)];

/// `--plot`.
#[derive(Args)]
pub struct PlotArgument {
    /// Draw it
    #[arg(long = "plot", value_name = "FILE.svg")]
    file: Option<PathBuf>,
}

impl PlotArgument {
    /// Refuses a folder that is not there, which else would be found only after much work.
    pub fn check(&self) -> Result<(), Failure> {
        let folder = self.file.as_deref().and_then(Path::parent);
        match folder.filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            Some(folder) => Err(Failure::Input(format!("{}: no such folder", folder.display()))),
            None => Ok(()),
        }
    }

    /// Writes the picture, as SVG, if one is asked for.
    pub fn write(&self, picture: impl FnOnce() -> Picture) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let svg = picture().svg();
        let svg = svg.map_err(|e| Failure::Input(format!("{}: {e}", file.display())))?;
        files::replace(file, svg.as_bytes()).map_err(|e| Failure::file(file, &e))
    }
}

/// Panels below each other.
pub struct Picture {
    pub title: String,
    /// What each colour stands for, if bars do not say it.
    pub key: Vec<&'static str>,
    pub panels: Vec<Panel>,
}

/// A quantity.
pub struct Panel {
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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

impl Picture {
    fn svg(&self) -> Result<String, Box<dyn std::error::Error>> {
        let mut svg = String::new();
        self.draw(&mut svg)?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Drawn {
        let height_of = |panel: &Panel| PANEL_TITLE + BAR * panel.bars.len() as u32;
        let key = if self.key.is_empty() { 0 } else { KEY };
        let height = TITLE + key + self.panels.iter().map(height_of).sum::<u32>() + 10;
        let whole = SVGBackend::with_string(svg, (WIDTH, height)).into_drawing_area();
        whole.fill(&WHITE)?;
        let below = whole.titled(&self.title, ("sans-serif", 16))?;
        let (line, mut rest) = below.split_vertically(key);
        self.draw_key(&line)?;
        for panel in &self.panels {
            let (area, below) = rest.split_vertically(height_of(panel));
            panel.draw(&area)?;
            rest = below;
        }
        whole.present()?;
        Ok(())
    }

    fn draw_key(&self, line: &Area) -> Drawn {
        for (n, what) in self.key.iter().enumerate() {
            let left = LEFT + 160 * n as i32;
            let colour = COLOURS[n % COLOURS.len()].filled();
            line.draw(&Rectangle::new([(left, 6), (left + 14, 18)], colour))?;
            line.draw(&Text::new(*what, (left + 20, 6), FONT))?;
        }
        Ok(())
    }
}

impl Panel {
    fn draw(&self, area: &Area) -> Drawn {
        area.draw(&Text::new(self.title.as_str(), (10, 10), ("sans-serif", 14)))?;
        let values = || self.bars.iter().map(Bar::value);
        let most = values().fold(0.0, f64::max);
        let least = values().filter(|value| *value > 0.0).fold(most, f64::min) / 10.0;
        let share = |value: f64| match (most > 0.0, self.scale) {
            (false, _) => 0.0,
            (true, Scale::Linear) => value / most,
            (true, Scale::Logarithmic) => ((value / least).ln() / (most / least).ln()).max(0.0),
        };
        let end = |value: f64| LEFT + (share(value) * f64::from(RIGHT - LEFT)) as i32;
        for (n, bar) in self.bars.iter().enumerate() {
            let top = (PANEL_TITLE + BAR * n as u32) as i32;
            area.draw(&Text::new(bar.label.as_str(), (24, top + 3), FONT))?;
            let (mut left, mut value) = (LEFT, 0.0);
            for (part, colour) in &bar.parts {
                value += part;
                let right = end(value);
                let colour = COLOURS[colour % COLOURS.len()].filled();
                area.draw(&Rectangle::new(
                    [(left, top + 1), (right, top + BAR as i32 - 4)],
                    colour,
                ))?;
                left = right;
            }
            area.draw(&Text::new(bar.text.as_str(), (left + 8, top + 3), FONT))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(parts: &[(f64, usize)]) -> Bar {
        Bar { label: "what".to_owned(), parts: parts.to_vec(), text: "much".to_owned() }
    }

    /// Left ends and widths of the bars and of what the key shows.
    fn rectangles(picture: &Picture) -> Vec<(u32, u32)> {
        let number = |line: &str, name: &str| -> Option<u32> {
            line.split(name).nth(1)?.split('"').next()?.parse().ok()
        };
        let svg = picture.svg().expect("drawn");
        let lines = svg.lines().filter(|line| line.starts_with("<rect"));
        lines.skip(1).filter_map(|l| Some((number(l, " x=\"")?, number(l, "width=\"")?))).collect()
    }

    fn picture(scale: Scale, key: Vec<&'static str>, bars: Vec<Bar>) -> Picture {
        let panel = Panel { title: "quantity".to_owned(), bars, scale };
        Picture { title: "picture".to_owned(), key, panels: vec![panel] }
    }

    #[test]
    fn bars_are_as_long_as_their_values_say() {
        let bars = |a, b| vec![bar(&[(a, 0)]), bar(&[(b, 1)])];
        let linear = picture(Scale::Linear, Vec::new(), bars(1000.0, 1500.0));
        assert_eq!(rectangles(&linear), [(390, 380), (390, 570)]);
        // A decade apart, from a decade below the smaller, is 2 : 1.
        let logarithmic = picture(Scale::Logarithmic, Vec::new(), bars(1e-3, 1e-4));
        assert_eq!(rectangles(&logarithmic), [(390, 570), (390, 285)]);
    }

    #[test]
    fn parts_follow_each_other_and_the_key_names_them() {
        let bars = vec![bar(&[(1.0, 0), (2.0, 1)]), bar(&[(1.5, 2)])];
        let stacked = picture(Scale::Linear, vec!["logic", "rest"], bars);
        let [first, second] = [(390, 190), (580, 380)];
        assert_eq!(rectangles(&stacked), [(390, 14), (550, 14), first, second, (390, 285)]);
    }

    #[test]
    fn nothing_has_no_length() {
        let nothing = picture(Scale::Linear, Vec::new(), vec![bar(&[(0.0, 0)])]);
        assert_eq!(rectangles(&nothing), [(390, 0)]);
    }
}
