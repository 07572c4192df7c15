//! Draws the history of a figure: a point for each result, joined where results can be compared.

use maud::{Markup, html};

use super::axis::{Axis, label};
use super::text::clean;
use super::{Picture, at};
use crate::analysis::history::{Entry, Figure, History, Line, Metric};
use crate::report::words::history as words;

/// Size of the part with the points, in pixels.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 130.0;

/// Upper edge of this part, below the name of the metric.
const TOP: f64 = 26.0;

/// Place of the first and of the last result.
const TRACK: [f64; 2] = [70.0, 840.0];

/// Number of the colours of lines.
const COLOURS: usize = 8;

/// Returns the picture of a metric of the nth target; `None` without a figure. `baseline` is a result whose figure is
/// marked. `link` returns the path of the report of a result by its name.
pub(in crate::report) fn history(
    of: &History<'_>,
    nth: usize,
    metric: Metric,
    baseline: Option<&Entry>,
    link: fn(&str) -> String,
) -> Option<Picture> {
    let target = of.targets.get(nth)?;
    let figures = target.lines.iter().flat_map(|line| line.figures(metric));
    // A wide interval must not hide how the means differ: it ends at the edge.
    let axis = Axis::new(figures.map(|(_, figure)| figure.mean), [0.0, HEIGHT])?;
    let place = Place { axis, last: of.entries.len().saturating_sub(1), link };
    let newest = target.newest().map(|(_, newest)| newest);
    let baseline = baseline.zip(newest);
    let baseline = baseline.and_then(|(entry, newest)| entry.comparable(newest));
    let baseline = baseline.and_then(|target| Some(target.figures.get(&metric)?.mean));
    let content = html! {
        text x="2" y="14" { (words::metric(metric)) }
        (place.grid())
        (place.days(&of.entries))
        g.series style={ "color: var(--line-" (nth % COLOURS) ")" } {
            @if let Some(mean) = baseline {
                path.baseline d={ "M" (TRACK[0]) " " (at(place.y(mean))) "H" (TRACK[1]) } {
                    title { "baseline" }
                }
            }
            @for line in &target.lines { (place.line(of, target.name, line, metric)) }
        }
    };
    Some(Picture {
        width: WIDTH,
        height: TOP + HEIGHT + 28.0,
        title: format!("{}: {}", clean(target.name), words::metric(metric)),
        description: format!(
            "{} of {} in {} results, each with its 95 % interval; comparable results are joined.",
            words::metric(metric),
            clean(target.name),
            of.entries.len()
        ),
        content,
        has_links: true,
    })
}

/// Where results and figures are.
struct Place {
    axis: Axis,
    /// Index of the last result.
    last: usize,
    link: fn(&str) -> String,
}

impl Place {
    fn x(&self, at: usize) -> f64 {
        let [from, to] = TRACK;
        // A single result is in the middle.
        let share = if self.last == 0 { 0.5 } else { at as f64 / self.last as f64 };
        from + share * (to - from)
    }

    fn y(&self, figure: f64) -> f64 {
        TOP + HEIGHT - self.axis.x(figure)
    }

    fn grid(&self) -> Markup {
        html! {
            @for tick in self.axis.ticks() {
                @let y = at(self.y(tick));
                path.grid d={ "M" (TRACK[0] - 8.0) " " (y) "H" (TRACK[1] + 8.0) } {}
                text.tick text-anchor="end" x=(TRACK[0] - 12.0) y=(y + 4.0) { (label(tick)) }
            }
        }
    }

    fn days(&self, entries: &[&Entry]) -> Markup {
        let y = at(TOP + HEIGHT + 22.0);
        let mut shown = vec![(0, "start")];
        if self.last >= 8 {
            shown.push((self.last / 2, "middle"));
        }
        if self.last > 0 {
            shown.push((self.last, "end"));
        }
        html! {
            @for (index, anchor) in shown {
                @if let Some(entry) = entries.get(index) {
                    text.tick text-anchor=(anchor) x=(at(self.x(index))) y=(y) { (words::day(entry)) }
                }
            }
        }
    }

    fn line(&self, of: &History<'_>, target: &str, line: &Line<'_>, metric: Metric) -> Markup {
        let figures = line.figures(metric);
        let points: Vec<String> = figures
            .iter()
            .map(|(index, figure)| format!("{} {}", at(self.x(*index)), at(self.y(figure.mean))))
            .collect();
        html! {
            @if points.len() > 1 { path.joined d={ "M" (points.join("L")) } {} }
            @if let (false, Some((index, _))) = (line.differs.is_empty(), figures.first()) {
                @let x = at(self.x(*index) - 4.0);
                path.unity d={ "M" (x) " " (at(TOP)) "v" (HEIGHT) } {
                    title { "the first result that was measured otherwise" }
                }
            }
            @for (index, figure) in &figures {
                @let entry = of.entries[*index];
                (self.point(entry, target, (*index, figure), metric))
            }
            @for change in line.changes(metric) {
                @let x = at(self.x(change.at));
                @let better = words::is_better(metric, change.ratio);
                text.above.better[better].worse[!better] text-anchor="middle" x=(x) y=(at(TOP + 12.0)) {
                    (words::percent(change.ratio))
                }
            }
        }
    }

    fn point(
        &self,
        entry: &Entry,
        target: &str,
        (index, figure): (usize, &Figure),
        metric: Metric,
    ) -> Markup {
        let (x, y) = (at(self.x(index)), at(self.y(figure.mean)));
        let said = format!(
            "{}, {}: {} {}",
            words::day(entry),
            clean(target),
            words::figure(figure),
            words::metric(metric)
        );
        html! {
            // The table has the same links, one by one.
            a href=((self.link)(&entry.name)) tabindex="-1" {
                title { (said) }
                @if let Some([low, high]) = figure.confidence_95 {
                    path.whisker d={ "M" (x) " " (at(self.y(low))) "V" (at(self.y(high))) } {}
                }
                circle.disc cx=(x) cy=(y) r="3.5" {}
            }
        }
    }
}
