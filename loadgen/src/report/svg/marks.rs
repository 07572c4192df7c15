//! Marks of figures. Each can be told from the others without colour.

use maud::{Markup, html};

use super::at;
use super::axis::Axis;
use crate::report::words::claims::Shown;

/// Returns the class of a finding, which has its colour.
pub(super) fn class(shown: Shown) -> &'static str {
    match shown {
        Shown::Held => "held",
        Shown::DidNotHold => "refuted",
        Shown::Open => "open",
        Shown::NotMeasured => "unmeasured",
    }
}

/// Returns the point of a figure with this finding: a disc, a cross or a ring.
pub(super) fn point(x: f64, y: f64, shown: Shown) -> Markup {
    let (x, y) = (at(x), at(y));
    let class = class(shown);
    html! {
        @match shown {
            Shown::Held => circle class={ "disc " (class) } cx=(x) cy=(y) r="5" {},
            Shown::DidNotHold => {
                path class={ "cross " (class) } d={ "M" (x) " " (y) "m-5 -5l10 10m0 -10l-10 10" } {}
            },
            Shown::Open | Shown::NotMeasured => {
                circle class={ "ring " (class) } cx=(x) cy=(y) r="4.5" {}
            },
        }
    }
}

/// Returns the line of an interval, with an arrow at an end that lies beyond the axis.
pub(super) fn interval(axis: &Axis, [low, high]: [f64; 2], y: f64, class: &str) -> Markup {
    let [from, to] = axis.span([Some(low), Some(high)]);
    let end = |figure: f64, x: f64, side: f64| {
        let (x, y) = (at(x), at(y));
        html! {
            @if axis.is_beyond(figure) {
                path class={ "arrow " (class) } d={ "M" (x) " " (y) "l" (-7.0 * side) " -4v8z" } {}
            } @else {
                path class={ "whisker " (class) } d={ "M" (x) " " (y) "m0 -4v8" } {}
            }
        }
    };
    html! {
        line class={ "whisker " (class) } x1=(at(from)) x2=(at(to)) y1=(at(y)) y2=(at(y)) {}
        (end(low, from, -1.0))
        (end(high, to, 1.0))
    }
}

/// Returns the mark of the figure of the nth machine of a publication: a diamond, a square, a triangle, ….
pub(super) fn published(x: f64, y: f64, nth: usize) -> Markup {
    let shape = match nth % 4 {
        0 => "m0 -6l6 6l-6 6l-6 -6z",
        1 => "m-5 -5h10v10h-10z",
        2 => "m0 -6l6 11h-12z",
        _ => "m0 6l6 -11h-12z",
    };
    html! { path.published d={ "M" (at(x)) " " (at(y)) (shape) } {} }
}
