//! Draws the claims of an experiment: the ratio of each with its interval, on a logarithmic axis.

use maud::{Markup, html};

use super::axis::Axis;
use super::marks::{class, interval, point, published};
use super::text::{clean, fitting, lines, wide};
use super::{Picture, at};
use crate::record::ExperimentRecord;
use crate::report::words::claims::{ClaimRow, Claimed, Shown, counted_findings, rows};

/// Widths of the picture for a page, and of the one for a telephone, in pixels.
pub(in crate::report) const WIDE: f64 = 1080.0;
/// See [`WIDE`].
pub(in crate::report) const NARROW: f64 = 360.0;

/// Size of the font, and height of a line.
const FONT: f64 = 13.0;
const LINE: f64 = 16.0;

/// Room above and below the content of a row.
const GAP: f64 = 5.0;

/// Columns of the picture.
struct Layout {
    width: f64,
    /// Left edge and width of the sentences.
    says: [f64; 2],
    /// Both ends of the axis.
    track: [f64; 2],
    /// Left edge of the figures; `None` if they stand below the sentences, above the axis.
    figures: Option<f64>,
}

impl Layout {
    fn new(width: f64) -> Self {
        match width >= WIDE {
            true => {
                Self { width, says: [22.0, 470.0], track: [502.0, 776.0], figures: Some(792.0) }
            }
            false => Self {
                width,
                says: [20.0, width - 22.0],
                track: [14.0, width - 14.0],
                figures: None,
            },
        }
    }
}

/// Returns the picture of the claims; `None` if the experiment makes none.
pub(in crate::report) fn claims(record: &ExperimentRecord, width: f64) -> Option<Picture> {
    let rows = rows(record);
    if rows.is_empty() {
        return None;
    }
    let layout = Layout::new(width);
    let figures = || rows.iter().flat_map(|row| &row.figures);
    let axis = Axis::new(figures().flat_map(on_axis).chain([1.0]), layout.track)?;
    let (legend, mut y) = legend(&rows, &layout);
    let top = y;
    let mut drawn = Vec::new();
    for row in &rows {
        let (markup, height) = claim(row, &layout, &axis, y);
        drawn.push(markup);
        y += height;
    }
    let note = note(&rows);
    let notes = lines(&note, fitting(width - 16.0, 12.0), 4);
    let height = y + 38.0 + notes.len() as f64 * LINE;
    let content = html! {
        (legend)
        g { (axis.drawn(top, y)) (directions(&axis, y + 30.0, width)) }
        @for row in &drawn { (row) }
        @for (index, line) in notes.iter().enumerate() {
            text.soft.small x="8" y=(at(y + 50.0 + index as f64 * LINE)) { (line) }
        }
    };
    Some(Picture {
        width,
        height: height + 6.0,
        title: format!("Claims of {}", record.title),
        description: format!(
            "{} claims: {}. For each claim, the ratio measured here with its 95 % interval, and the published \
             ratio.",
            rows.len(),
            counted_findings(&rows)
        ),
        content,
        has_links: false,
    })
}

/// Says what the axis shows, and how a claim is judged.
fn note(rows: &[ClaimRow<'_>]) -> String {
    let mut figures = rows.iter().flat_map(|row| &row.figures);
    let of_one = match figures.any(|one| !one.unit.is_empty() && one.divisor().is_some()) {
        true => ", or a single figure by the bound of its claim",
        false => "",
    };
    format!(
        "Each mark is a ratio: one figure divided by another{of_one}. ✓ the whole interval lies in the \
         range of the claim, ✗ outside of it, ? partly in it, or no interval is known."
    )
}

/// Says on which side of 1 figures are lower, and on which they are higher, if the picture has room for it.
fn directions(axis: &Axis, y: f64, width: f64) -> Markup {
    let (one, gap) = (axis.x(1.0), 8.0);
    let [lower, higher] = ["← lower", "higher →"];
    html! {
        @if one - gap - wide(lower, 12.0) >= 0.0 {
            text.soft.small x=(at(one - gap)) y=(at(y)) text-anchor="end" { (lower) }
        }
        @if one + gap + wide(higher, 12.0) <= width {
            text.soft.small x=(at(one + gap)) y=(at(y)) { (higher) }
        }
    }
}

impl Claimed {
    /// Returns by what a figure is divided to be a ratio: one arm's figure by the bound of its claim. `None` if
    /// the bound is unknown or 0.
    fn divisor(&self) -> Option<f64> {
        if self.name.contains(" ÷ ") {
            return Some(1.0);
        }
        let [low, high] = self.range?;
        low.or(high).filter(|bound| *bound > 0.0)
    }
}

/// Returns all ratios of a figure that the axis must show.
fn on_axis(one: &Claimed) -> Vec<f64> {
    let Some(divisor) = one.divisor() else { return Vec::new() };
    let range = one.range.into_iter().flatten().flatten();
    let measured = one.figure.into_iter().chain(one.confidence_95.into_iter().flatten());
    let all = measured.chain(one.published.iter().copied()).chain(range);
    all.map(|figure| figure / divisor).collect()
}

/// Returns the rows of a claim from `top`, and their height.
fn claim(row: &ClaimRow<'_>, layout: &Layout, axis: &Axis, top: f64) -> (Markup, f64) {
    let [left, room] = layout.says;
    let is_one = row.figures.len() < 2;
    let room = match (is_one, layout.figures) {
        (false, Some(_)) => layout.width - left - 8.0,
        _ => room,
    };
    let says =
        lines(&row.claim.says, fitting(room, FONT), if layout.figures.is_some() { 2 } else { 4 });
    let sentence = |above: f64| {
        html! {
            text class={ "symbol " (class(row.shown)) } x="6" y=(at(above + 12.0)) { (row.shown.symbol()) }
            @for (index, line) in says.iter().enumerate() {
                text.above x=(left) y=(at(above + 12.0 + index as f64 * LINE)) { (line) }
            }
        }
    };
    let tall = says.len() as f64 * LINE;
    let more = row.claim.why.iter().chain(row.figures.iter().map(|one| &one.name));
    let whole = html! {
        title {
            (clean(&row.claim.says)) ": " (row.shown.word()) @for one in more { "; " (clean(one)) }
        }
    };
    if let (true, Some(x)) = (is_one, layout.figures) {
        let figure = row.figures.first();
        let height = tall + 2.0 * GAP;
        let middle = top + height / 2.0;
        let markup = html! {
            g {
                (whole) (sentence(middle - tall / 2.0))
                @if let Some(one) = figure {
                    (track(one, axis, [top + 2.0, top + height - 2.0]))
                    (beside(one, x, middle + 4.0))
                }
            }
        };
        return (markup, height);
    }
    let mut y = top + GAP + tall;
    let mut pairs = Vec::new();
    for one in &row.figures {
        let (markup, height) = pair(one, layout, axis, y, !is_one);
        pairs.push(markup);
        y += height;
    }
    let markup = html! {
        g { (whole) (sentence(top + GAP)) @for one in &pairs { (one) } }
    };
    (markup, y + GAP - top)
}

/// Returns the row of one of several pairs, or of a figure below its sentence, and the height of the row.
fn pair(one: &Claimed, layout: &Layout, axis: &Axis, top: f64, is_named: bool) -> (Markup, f64) {
    let left = layout.says[0];
    let name = if is_named {
        format!("{} {}", one.shown.symbol(), clean(&one.name))
    } else {
        String::new()
    };
    match layout.figures {
        Some(x) => {
            let name = lines(&name, fitting(layout.says[1] - 14.0, FONT), 1).concat();
            let height = 20.0;
            let markup = html! {
                text.soft x=(left + 14.0) y=(at(top + 14.0)) { (name) }
                (track(one, axis, [top + 1.0, top + height - 1.0]))
                (beside(one, x, top + 14.0))
            };
            (markup, height)
        }
        None => {
            let mut text =
                if name.is_empty() { one.here() } else { format!("{name}: {}", one.here()) };
            if !one.published.is_empty() {
                text += &format!(", published {}", one.published());
            }
            let said = lines(&text, fitting(layout.says[1], FONT), 2);
            let below = top + said.len() as f64 * LINE + 2.0;
            let markup = html! {
                @for (index, line) in said.iter().enumerate() {
                    text.soft.above x=(left) y=(at(top + 12.0 + index as f64 * LINE)) { (line) }
                }
                (track(one, axis, [below, below + 18.0]))
            };
            (markup, below + 22.0 - top)
        }
    }
}

/// Returns the figures to the right of the axis: measured here, and published.
fn beside(one: &Claimed, x: f64, y: f64) -> Markup {
    html! {
        text x=(x) y=(at(y)) {
            (one.here())
            @if !one.published.is_empty() { tspan.soft { ", published " (one.published()) } }
        }
    }
}

/// Returns what is on the axis between two heights: the range that the claim demands, the interval, the
/// published figures, and the figure.
fn track(one: &Claimed, axis: &Axis, [top, bottom]: [f64; 2]) -> Markup {
    let Some(divisor) = one.divisor() else { return html! {} };
    let y = f64::midpoint(top, bottom);
    let range = one.range.map(|range| axis.span(range.map(|end| end.map(|end| end / divisor))));
    html! {
        @if let Some([from, to]) = range {
            rect.range x=(at(from)) y=(at(top)) width=(at(to - from)) height=(at(bottom - top)) {}
        }
        @for figure in &one.published { (published(axis.x(figure / divisor), y, 0)) }
        @if let Some(ends) = one.confidence_95 {
            (interval(axis, ends.map(|end| end / divisor), y, class(one.shown)))
        }
        @if let Some(figure) = one.figure { (point(axis.x(figure / divisor), y, one.shown)) }
    }
}

/// Returns the legend, and its lower edge.
fn legend(rows: &[ClaimRow<'_>], layout: &Layout) -> (Markup, f64) {
    let figures = || rows.iter().flat_map(|row| &row.figures);
    let mut entries: Vec<(String, Markup)> = Shown::ALL
        .into_iter()
        .filter(|shown| {
            rows.iter().any(|row| row.shown == *shown) || figures().any(|one| one.shown == *shown)
        })
        .map(|shown| {
            let text = format!("{} {}", shown.symbol(), shown.word());
            let mark = if shown == Shown::NotMeasured {
                html! {}
            } else {
                point(0.0, 0.0, shown)
            };
            (text, mark)
        })
        .collect();
    if figures().any(|one| !one.published.is_empty()) {
        entries.push(("published".to_owned(), published(0.0, 0.0, 0)));
    }
    if figures().any(|one| one.range.is_some() && one.divisor().is_some()) {
        let range = html! { rect.range x="-8" y="-7" width="16" height="14" {} };
        entries.push(("range of the claim".to_owned(), range));
    }
    if figures().any(|one| one.confidence_95.is_some()) {
        let line = html! { path.whisker.open d="M-8 0h16m0 -4v8m-16 0v-8" {} };
        entries.push(("95 % interval".to_owned(), line));
    }
    super::legend(&entries, layout.width, wide)
}
