//! Charts as SVG, which need no script: on the page, and as pictures of their own.
//!
//! Colours are variables of the page's style. A picture of its own has the same rules with the values of these
//! variables, for light and for dark surroundings, because few viewers of pictures know variables.

mod axis;
mod dots;
mod forest;
mod history;
mod marks;
mod text;

use maud::{Markup, PreEscaped, html};

pub(super) use self::dots::figures;
pub(super) use self::forest::{NARROW, WIDE, claims};
pub(super) use self::history::history;
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord};
use crate::report::words::arm_figures::{of_run, of_search};
use crate::report::words::claims::{counted_findings, rows};

/// Style of the pictures, in which colours are variables.
pub(super) const STYLE: &str = include_str!("../assets/svg.css");

/// Style of the page, which has the values of the variables.
const COLOURS: &str = include_str!("../assets/report.css");

/// A chart: content with its size in pixels and its accessible name.
pub(super) struct Picture {
    width: f64,
    height: f64,
    title: String,
    description: String,
    content: Markup,
    /// Whether parts of the picture are links, which an image must not have.
    has_links: bool,
}

impl Picture {
    /// Returns the picture as an element of a page. `id` is unique on the page.
    pub(super) fn inline(&self, id: &str) -> Markup {
        html! {
            @let role = if self.has_links { "group" } else { "img" };
            svg.chart viewBox=(self.view()) role=(role) aria-labelledby={ (id) "-title " (id) "-about" } {
                (self.inside(id))
            }
        }
    }

    /// Returns the picture as a document of its own.
    fn document(&self) -> String {
        let svg = html! {
            svg.chart xmlns="http://www.w3.org/2000/svg" viewBox=(self.view())
                width=(at(self.width)) height=(at(self.height))
                role="img" aria-labelledby="chart-title chart-about" {
                style { (PreEscaped(own_style())) }
                (self.inside("chart"))
            }
        };
        svg.into_string() + "\n"
    }

    /// Returns the picture with a heading above it.
    fn below(mut self, heading: &str) -> Self {
        let lines = text::lines(heading, text::fitting(self.width - 12.0, 15.0), 2);
        let room = 10.0 + 18.0 * lines.len() as f64;
        self.height += room;
        self.content = html! {
            @for (index, line) in lines.iter().enumerate() {
                text.heading x="6" y=(at(18.0 + 18.0 * index as f64)) { (line) }
            }
            g transform={ "translate(0 " (room) ")" } { (self.content) }
        };
        self
    }

    fn view(&self) -> String {
        format!("0 0 {} {}", at(self.width), at(self.height))
    }

    fn inside(&self, id: &str) -> Markup {
        html! {
            title id={ (id) "-title" } { (text::clean(&self.title)) }
            desc id={ (id) "-about" } { (text::clean(&self.description)) }
            (self.content)
        }
    }
}

/// Returns the claims of an experiment; without claims, the figures of its first group.
pub(super) fn experiment(record: &ExperimentRecord) -> String {
    let first = || {
        let group = record.groups.first()?;
        let all = crate::report::words::arm_figures::figures(group, &record.claims);
        figures(all.first()?, &group.name)
    };
    let findings = counted_findings(&rows(record));
    let claims = claims(record, WIDE).map(|it| it.below(&format!("{}: {findings}", record.title)));
    document(claims.or_else(first), &record.title)
}

/// Returns the rates of the targets of a run, best first.
pub(super) fn run(record: &RunRecord) -> String {
    let title = format!("{}: requests/s", record.scenario);
    document(figures(&of_run(record), &title), &title)
}

/// Returns the capacities of the targets of a search.
pub(super) fn capacity(record: &CapacityRecord) -> String {
    let title = format!("{}: capacity in requests/s", record.scenario);
    document(figures(&of_search(record), &title), &title)
}

/// Returns the picture as a document; without one, a picture that says so.
fn document(picture: Option<Picture>, title: &str) -> String {
    let nothing = || Picture {
        width: 480.0,
        height: 40.0,
        title: title.to_owned(),
        description: "nothing was measured".to_owned(),
        content: html! { text x="8" y="24" { "nothing was measured" } },
        has_links: false,
    };
    picture.unwrap_or_else(nothing).document()
}

/// Returns the style of a picture of its own.
fn own_style() -> String {
    format!("{}\n@media (prefers-color-scheme: dark) {{\n{}}}\n", coloured(0), coloured(1))
}

/// Returns the style with the values of its variables: those of a light page, or of a dark one.
fn coloured(theme: usize) -> String {
    let mut style = STYLE.to_owned();
    for line in COLOURS.lines() {
        let variable = line.trim().split_once(": light-dark(");
        let Some((name, values)) = variable else { continue };
        let value = values.trim_end_matches([')', ';']).split(", ").nth(theme).unwrap_or("gray");
        style = style.replace(&format!("var({name})"), value);
    }
    style
}

/// Rounds a position to a tenth of a pixel.
fn at(pixel: f64) -> f64 {
    (pixel * 10.0).round() / 10.0
}

/// Returns entries of a mark and a text in lines of at most this width, and the lower edge. `wide` returns the
/// width of a text in a font of a size.
fn legend(entries: &[(String, Markup)], width: f64, wide: fn(&str, f64) -> f64) -> (Markup, f64) {
    let (mut x, mut y) = (14.0, 14.0);
    let mut placed = Vec::new();
    for (text, mark) in entries {
        let needed = 18.0 + wide(text, 12.0);
        if x + needed > width && x > 14.0 {
            (x, y) = (14.0, y + 20.0);
        }
        placed.push((x, y, text, mark));
        x += needed + 16.0;
    }
    let markup = html! {
        g.legend {
            @for (x, y, text, mark) in placed {
                g transform={ "translate(" (at(x)) " " (at(y)) ")" } {
                    (mark)
                    text.small x="13" y="4" { (text) }
                }
            }
        }
    };
    (markup, y + 16.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_colours_of_a_picture_are_known() {
        let style = own_style();
        assert!(!style.contains("var("), "{style}");
        assert!(style.contains("#17702f") && style.contains("#6fd28b"), "light and dark");
    }
}
