// SPDX-License-Identifier: MIT
//! What pictures are drawn with: text that stays inside of them, and scales.

use crate::failure::Failure;
use crate::files::Output;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::io;

/// A part of a picture.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What comes of drawing.
pub type Drawn = Result<(), Box<dyn Error>>;

/// Size of text, and of headings.
pub const TEXT: u32 = 14;
pub const HEADING: u32 = 17;
/// Lines of axes, and of what frames.
pub const GREY: RGBColor = RGBColor(158, 158, 158);
pub const LIGHT_GREY: RGBColor = RGBColor(224, 224, 224);

/// Which point of a text is where it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Left,
    Middle,
    Right,
}

/// Writes a picture of this size, as SVG.
pub fn save(
    output: Output,
    (width, height): (i32, i32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<(), Failure> {
    let svg = svg((width, height), draw);
    let svg = svg.map_err(|e| output.failed(&io::Error::other(e.to_string())))?;
    output.write(svg.as_bytes())
}

/// A picture of this size, as SVG.
pub fn svg(
    (width, height): (i32, i32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    let size = (width.unsigned_abs(), height.unsigned_abs());
    let whole = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    whole.fill(&WHITE)?;
    draw(&whole)?;
    whole.present()?;
    drop(whole);
    Ok(svg)
}

/// Pixels that a line of text takes, at the most: fonts differ from viewer to viewer.
pub fn width_of(text: &str, size: u32) -> i32 {
    // The SVG back end draws letters a fifth smaller than their size.
    (text.chars().count() as f64 * f64::from(size) * 0.5).ceil() as i32
}

/// A text in lines that are no wider than `width`, where its words allow it.
pub fn lines(text: &str, size: u32, width: i32) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) < width => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Writes a line, `at` being the middle of its height.
pub fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, anchor: Anchor) -> Drawn {
    let horizontal = match anchor {
        Anchor::Left => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::Right => HPos::Right,
    };
    let style = TextStyle::from(("sans-serif", size).into_font());
    let style = style.pos(Pos::new(horizontal, VPos::Center));
    area.draw(&Text::new(text, at, style))?;
    Ok(())
}

/// Writes the lines of a title below each other, from `top` on. Returns where they end.
pub fn title(
    area: &Area<'_>,
    lines: &[String],
    (left, top): (i32, i32),
    size: u32,
) -> Result<i32, Box<dyn Error>> {
    let height = line_height(size);
    for (n, line) in (0..).zip(lines) {
        write(area, line, (left, top + n * height + height / 2), size, Anchor::Left)?;
    }
    Ok(top + lines.len() as i32 * height)
}

/// From a line to the next.
pub fn line_height(size: u32) -> i32 {
    size as i32 + 5
}

/// Names of colours in a line, each behind a square of it.
pub fn key<'a>(
    area: &Area<'_>,
    names: impl IntoIterator<Item = (&'a str, RGBColor)>,
    (mut left, middle): (i32, i32),
) -> Drawn {
    for (name, colour) in names {
        square(area, colour, (left, middle))?;
        write(area, name, (left + 20, middle), TEXT, Anchor::Left)?;
        left += 20 + width_of(name, TEXT) + 18;
    }
    Ok(())
}

/// A square of a colour, framed.
pub fn square(area: &Area<'_>, colour: RGBColor, (left, middle): (i32, i32)) -> Drawn {
    let corners = [(left, middle - 7), (left + 14, middle + 7)];
    area.draw(&Rectangle::new(corners, colour.filled()))?;
    area.draw(&Rectangle::new(corners, GREY.stroke_width(1)))?;
    Ok(())
}

/// Where an axis from 0 to `most` has its marks, no more than `count` of them, and how many decimals they need.
pub fn ticks(most: f64, count: usize) -> (Vec<f64>, usize) {
    let least = most / count as f64;
    if least <= 0.0 || !least.is_finite() {
        return (vec![0.0], 0);
    }
    let decade = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * decade).into_iter().find(|step| *step >= least);
    let step = step.unwrap_or(10.0 * decade);
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    (
        (0..).map(|n| f64::from(n) * step).take_while(|at| *at <= most * 1.000_001).collect(),
        decimals,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_broken_before_the_border() {
        let text = "attention of a model on a rank, context of many tokens";
        let broken = lines(text, TEXT, 120);
        assert!(broken.len() > 2 && broken.iter().all(|line| width_of(line, TEXT) < 130));
        assert_eq!(broken.join(" "), text);
    }

    #[test]
    fn marks_are_round_numbers() {
        assert_eq!(ticks(9434.0, 8), ((0..5).map(|n| f64::from(n) * 2000.0).collect(), 0));
        let (marks, decimals) = ticks(0.9, 8);
        assert_eq!((marks.len(), decimals), (5, 1));
        assert_eq!(ticks(0.0, 8), (vec![0.0], 0));
    }
}
