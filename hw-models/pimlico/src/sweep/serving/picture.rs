// SPDX-License-Identifier: MIT
//! A study's figures as a picture: a bar for each of ours, the band in which it is expected, and a mark where the paper has it.
//! Each row has a scale of its own.

use crate::failure::Failure;
use crate::files::Output;
use crate::output::drawing::{self, Anchor, Area, Drawn, LIGHT_GREY};
use crate::output::{as_given, decimal};
use pimlico_serving::studies::{Figure, Study};
use plotters::prelude::*;

const WIDTH: i32 = 1200;
const LEFT: i32 = 470;
const RIGHT: i32 = 1040;
const MARGIN: i32 = 12;

/// Bars inside of their bands, and outside.
const INSIDE: RGBColor = RGBColor(31, 119, 180);
const OUTSIDE: RGBColor = RGBColor(214, 39, 40);

/// Writes the picture.
pub fn write(output: Output, study: &Study) -> Result<(), Failure> {
    let names: Vec<Vec<String>> = study
        .figures
        .iter()
        .map(|figure| drawing::lines(&figure.what, drawing::TEXT, LEFT - 2 * MARGIN))
        .collect();
    let row_height =
        |name: &Vec<String>| drawing::line_height(drawing::TEXT) * name.len() as i32 + 10;
    let title = format!("{}: {}", study.study, study.title);
    let title = drawing::lines(&title, drawing::HEADING, WIDTH - 2 * MARGIN);
    let heading = drawing::line_height(drawing::HEADING) * title.len() as i32;
    let height = heading + 60 + names.iter().map(row_height).sum::<i32>();
    drawing::save(output, (WIDTH, height), |area| {
        let mut top = drawing::title(area, &title, (MARGIN, MARGIN), drawing::HEADING)? + MARGIN;
        let key = [
            ("ours, as expected", INSIDE),
            ("ours, not as expected", OUTSIDE),
            ("expected", LIGHT_GREY),
            ("the paper's", BLACK),
        ];
        drawing::key(area, key, (LEFT, top))?;
        top += 20;
        for (figure, name) in study.figures.iter().zip(&names) {
            let below = top + row_height(name);
            drawing::title(area, name, (MARGIN, top + 5), drawing::TEXT)?;
            row(area, figure, (top + 4, below - 4))?;
            top = below;
        }
        Ok(())
    })
}

/// The number with which a paper's figure begins.
fn paper(figure: &Figure) -> Option<f64> {
    let words = figure.paper.split([' ', ',']).filter(|word| !word.is_empty());
    words.filter_map(|word| word.parse::<f64>().ok()).next()
}

/// The bar of a figure.
fn row(area: &Area<'_>, figure: &Figure, (top, bottom): (i32, i32)) -> Drawn {
    let [from, to] = figure.band;
    let paper = paper(figure);
    let most = to.max(figure.ours).max(paper.unwrap_or(0.0)).max(f64::MIN_POSITIVE) * 1.05;
    let x = |value: f64| LEFT + (value.max(0.0) / most * f64::from(RIGHT - LEFT)) as i32;
    let band = [(x(from), top), (x(to).max(x(from) + 2), bottom)];
    area.draw(&Rectangle::new(band, LIGHT_GREY.filled()))?;
    let colour = if figure.holds { INSIDE } else { OUTSIDE };
    let bar = [(LEFT, top + 4), (x(figure.ours), bottom - 4)];
    area.draw(&Rectangle::new(bar, colour.filled()))?;
    if let Some(paper) = paper {
        let mark = vec![(x(paper), top), (x(paper), bottom)];
        area.draw(&PathElement::new(mark, BLACK.stroke_width(3)))?;
    }
    let text = format!("{}  [{}, {}]", decimal(figure.ours, 2), as_given(from), as_given(to));
    drawing::write(area, &text, (RIGHT + 6, (top + bottom) / 2), drawing::TEXT, Anchor::Left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_papers_figure_is_the_first_number_of_its_words() {
        let of = |words: &str| paper(&Figure::new("a", words, 1.0, [0.0, 2.0], "none"));
        assert_eq!(of("1.7, read as cumulative"), Some(1.7));
        assert_eq!((of("> 60"), of("comparable")), (Some(60.0), None));
    }
}
