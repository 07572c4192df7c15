//! Draws the figures of arms or of targets: a row for each, with its interval and the published figures.

use maud::html;

use super::axis::Axis;
use super::marks::{interval, point, published};
use super::text::{clean, fitting, lines, wide};
use super::{Picture, at};
use crate::report::words::arm_figures::{FigureRow, Figures};
use crate::report::words::claims::Shown;

/// Width of the picture, in pixels.
const WIDTH: f64 = 480.0;

/// Both ends of the axis.
const TRACK: [f64; 2] = [134.0, 320.0];

const ROW: f64 = 22.0;
const FONT: f64 = 13.0;

/// Returns the picture of the figures of one metric; `title` says whose they are.
pub(in crate::report) fn figures(of: &Figures, title: &str) -> Option<Picture> {
    let on_axis = |row: &FigureRow| {
        let here = row.here.map(|here| (here.mean, here.confidence_95));
        let mut all: Vec<f64> = row.published.iter().copied().flatten().collect();
        all.extend(here.map(|(mean, _)| mean));
        all.extend(here.into_iter().filter_map(|(_, ends)| ends).flatten());
        all
    };
    let axis = Axis::new(of.rows.iter().flat_map(on_axis), TRACK)?;
    let (legend, top) = legend(of);
    let y = |index: usize| top + (index as f64 + 0.5) * ROW;
    let bottom = top + of.rows.len() as f64 * ROW + 2.0;
    let content = html! {
        (legend)
        g { (axis.drawn(top, bottom)) }
        @for (index, row) in of.rows.iter().enumerate() {
            @let y = y(index);
            g {
                title { (clean(&row.name)) ": " (row.text) }
                text x="2" y=(at(y + 4.0)) { (lines(&row.name, fitting(TRACK[0] - 14.0, FONT), 1).concat()) }
                @for (nth, figure) in row.published.iter().enumerate() {
                    @if let Some(figure) = figure { (published(axis.x(*figure), y, nth)) }
                }
                @if let Some(here) = row.here {
                    @if let Some(ends) = here.confidence_95 { (interval(&axis, ends, y, "here")) }
                    g.here { (point(axis.x(here.mean), y, Shown::Held)) }
                }
                text.soft[row.here.is_none()] x=(TRACK[1] + 10.0) y=(at(y + 4.0)) { (row.text) }
            }
        }
    };
    Some(Picture {
        width: WIDTH,
        height: bottom + 24.0,
        title: title.to_owned(),
        description: format!(
            "{} of {} arms, each with its 95 % interval and the published figures.",
            of.title,
            of.rows.len()
        ),
        content,
        has_links: false,
    })
}

/// Returns the legend, and its lower edge; without published figures, there is none.
fn legend(of: &Figures) -> (maud::Markup, f64) {
    if of.machines.is_empty() {
        return (html! {}, 4.0);
    }
    let here = html! { g.here { (point(0.0, 0.0, Shown::Held)) } };
    let mut entries = vec![("here".to_owned(), here)];
    let machines = of.machines.iter().enumerate();
    entries.extend(machines.map(|(nth, name)| (clean(name), published(0.0, 0.0, nth))));
    super::legend(&entries, WIDTH, wide)
}
