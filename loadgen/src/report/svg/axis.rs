//! A logarithmic axis of figures, in pixels.

use maud::{Markup, html};

use super::at;
use super::text::wide;
use crate::report::words::here::brief;

/// Least gap between two labels, in pixels.
const GAP: f64 = 6.0;

/// Widest axis, as a factor on both sides of the median figure: what lies further out is at the end.
const REACH: f64 = 1e4;

/// Steps within a power of ten, the coarsest first.
const STEPS: [&[f64]; 4] = [&[1.0], &[1.0, 3.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]];

/// A logarithmic axis.
pub(super) struct Axis {
    /// Figures at both ends.
    ends: [f64; 2],
    /// Pixels of both ends.
    pixels: [f64; 2],
}

impl Axis {
    /// Returns the axis that has all these figures between these pixels; `None` without a positive figure.
    pub(super) fn new(figures: impl IntoIterator<Item = f64>, pixels: [f64; 2]) -> Option<Self> {
        let mut all: Vec<f64> = figures.into_iter().filter(|x| x.is_finite() && *x > 0.0).collect();
        all.sort_by(f64::total_cmp);
        let median = *all.get(all.len() / 2)?;
        let [low, high] = [all[0].max(median / REACH), all[all.len() - 1].min(median * REACH)];
        // A margin, so that no mark is cut off, and room around a single figure.
        let margin = (high / low).powf(0.04).max(1.06);
        Some(Self { ends: [low / margin, high * margin], pixels })
    }

    /// Returns the pixel of a figure; the end of the axis for a figure beyond it.
    pub(super) fn x(&self, figure: f64) -> f64 {
        let [low, high] = self.ends;
        let [from, to] = self.pixels;
        let share = if figure > 0.0 { (figure / low).ln() / (high / low).ln() } else { 0.0 };
        from + share.clamp(0.0, 1.0) * (to - from)
    }

    /// Returns both pixels of an interval, of which an end may be open.
    pub(super) fn span(&self, [low, high]: [Option<f64>; 2]) -> [f64; 2] {
        let [from, to] = self.pixels;
        [low.map_or(from, |low| self.x(low)), high.map_or(to, |high| self.x(high))]
    }

    /// Whether a figure lies beyond an end of the axis.
    pub(super) fn is_beyond(&self, figure: f64) -> bool {
        !(self.ends[0]..=self.ends[1]).contains(&figure)
    }

    /// Returns the figures to label: as many as have room, at best three or more.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let logarithmic = STEPS.iter().rev().map(|steps| self.powers(steps));
        let linear = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].map(|step| self.steps(step));
        let fitting = logarithmic.chain(linear).filter(|ticks| self.have_room(ticks));
        let mut longest = Vec::new();
        for ticks in fitting {
            if ticks.len() >= 3 {
                return ticks;
            }
            if ticks.len() > longest.len() {
                longest = ticks;
            }
        }
        longest
    }

    fn have_room(&self, ticks: &[f64]) -> bool {
        ticks.windows(2).all(|two| {
            let widths = two.iter().map(|tick| wide(&label(*tick), 12.0)).sum::<f64>();
            self.x(two[1]) - self.x(two[0]) >= widths / 2.0 + GAP
        })
    }

    fn powers(&self, steps: &[f64]) -> Vec<f64> {
        let [first, last] = self.ends.map(|end| end.log10().floor() as i32);
        let all = (first..=last).flat_map(|n| steps.iter().map(move |step| step * 10_f64.powi(n)));
        all.filter(|tick| !self.is_beyond(*tick)).collect()
    }

    /// Returns the multiples of a share of the upper end's power of ten.
    fn steps(&self, share: f64) -> Vec<f64> {
        let step = share * 10_f64.powf(self.ends[1].log10().floor());
        let first = (self.ends[0] / step).ceil() as u32;
        let all = (first..).map(|n| f64::from(n) * step);
        all.take_while(|tick| *tick <= self.ends[1]).take(100).collect()
    }

    /// Returns a line for each labelled figure from `top` to `bottom`, and the labels below.
    pub(super) fn drawn(&self, top: f64, bottom: f64) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let x = at(self.x(tick));
                line.unity[is_one(tick)].grid[!is_one(tick)] x1=(x) x2=(x) y1=(at(top)) y2=(at(bottom)) {}
                text.tick x=(x) y=(at(bottom + 15.0)) text-anchor="middle" { (label(tick)) }
            }
        }
    }
}

fn is_one(tick: f64) -> bool {
    (tick - 1.0).abs() < 1e-9
}

pub(super) fn label(tick: f64) -> String {
    let text = brief(tick);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(figures: &[f64]) -> Vec<String> {
        let axis = Axis::new(figures.iter().copied(), [0.0, 320.0]).unwrap();
        axis.ticks().into_iter().map(label).collect()
    }

    #[test]
    fn labels_suit_the_figures() {
        assert_eq!(
            labels(&[0.05, 1.0, 40.0]),
            ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]
        );
        assert_eq!(labels(&[0.96, 1.0, 1.11]), ["0.95", "1", "1.05", "1.1", "1.15"]);
        assert_eq!(labels(&[2_000.0, 36_000.0]).last().unwrap(), "20,000");
        assert!(labels(&[1e-3, 1.0, 1e3]).len() >= 3);
    }

    #[test]
    fn a_figure_beyond_the_axis_is_at_its_end() {
        let axis = Axis::new([1.0, 2.0, 4.0], [100.0, 200.0]).unwrap();
        assert!((axis.x(2.0) - 150.0).abs() < 1e-9);
        assert_eq!([axis.x(0.0), axis.x(1e9)], [100.0, 200.0]);
        assert!(axis.is_beyond(0.0) && !axis.is_beyond(1.0));
        assert_eq!(axis.span([Some(2.0), None]).map(f64::round), [150.0, 200.0]);
        assert!(Axis::new([0.0, f64::NAN], [0.0, 1.0]).is_none());
    }
}
