//! A quantity that changes over time in straight lines: users, or arrivals per second.

use std::time::Duration;

use loadgen_scenario::Stage;

/// Load over time: consecutive straight lines, from time zero on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LoadProfile(Vec<Line>);

/// A line from the time `begin` to the time `end`, in seconds; `end` may be infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    begin: f64,
    end: f64,
    /// Value at the beginning of the line.
    from: f64,
    /// Rise of the value per second.
    slope: f64,
    /// Area under all earlier lines.
    before: f64,
}

impl LoadProfile {
    /// Creates a profile from the length of the warm-up and the `stages` after the
    /// warm-up. The warm-up has the level at the end of the first stage. The stages
    /// start from zero. All levels are multiplied by `scale`.
    #[must_use]
    pub(super) fn new(warmup: Duration, stages: &[Stage], scale: f64) -> Self {
        let mut lines = Vec::new();
        let mut push = |begin: f64, over: Duration, from: f64, to: f64, before: f64| {
            let end =
                if over == Duration::MAX { f64::INFINITY } else { begin + over.as_secs_f64() };
            let slope = if end.is_infinite() { 0.0 } else { (to - from) / (end - begin) };
            let line = Line { begin, end, from, slope, before };
            if end > begin {
                lines.push(line);
            }
            (end, before + line.area(end))
        };
        let first = stages.first().map_or(0.0, |stage| stage.to * scale);
        let (mut at, mut area) = push(0.0, warmup, first, first, 0.0);
        let mut from = 0.0;
        for stage in stages {
            let to = stage.to * scale;
            // A stage without an end is constant.
            let from_here = if stage.over == Duration::MAX { to } else { from };
            (at, area) = push(at, stage.over, from_here, to, area);
            from = to;
        }
        Self(lines)
    }

    /// Returns a copy of this profile with the value `to` from `at` until the end of the profile.
    #[must_use]
    pub(super) fn changed(&self, at: Duration, to: f64) -> Self {
        let at = at.as_secs_f64();
        let Some(end) = self.0.last().map(|line| line.end).filter(|end| at < *end) else {
            return self.clone();
        };
        let kept = self.0.iter().filter(|line| line.begin < at);
        let mut lines: Vec<Line> =
            kept.map(|line| Line { end: line.end.min(at), ..*line }).collect();
        let before = lines.last().map_or(0.0, |line| line.before + line.area(line.end));
        lines.push(Line { begin: at, end, from: to, slope: 0.0, before });
        Self(lines)
    }

    /// Returns the value at `time`, which is in seconds. After the end of
    /// the profile, returns the value at the end.
    #[must_use]
    pub(super) fn at(&self, time: f64) -> f64 {
        let line = self.0.iter().find(|line| time < line.end).or(self.0.last());
        line.map_or(0.0, |line| line.at(time.min(line.end)))
    }

    /// Returns the first time, in seconds, at which the area under the profile reaches `area`;
    /// `None` if the area stays smaller.
    #[must_use]
    pub(super) fn when_area_reaches(&self, area: f64) -> Option<f64> {
        self.0.iter().find_map(|line| line.when_area_reaches(area - line.before))
    }

    /// Returns the first time from `time` on, in seconds, at which the value is above `threshold`
    /// or reaches `threshold` from below; `None` if no such time exists.
    #[must_use]
    pub(super) fn when_above(&self, threshold: f64, time: f64) -> Option<f64> {
        self.0.iter().filter(|line| time < line.end).find_map(|line| {
            let time = time.max(line.begin);
            line.when_above(threshold, time)
        })
    }
}

/// Tolerance for rounding errors, so that a rounding error does not
/// prevent the start of a ramp-up's last user.
const NEARLY: f64 = 1e-6;

impl Line {
    fn at(&self, time: f64) -> f64 {
        self.from + self.slope * (time - self.begin)
    }

    fn area(&self, time: f64) -> f64 {
        let length = time - self.begin;
        if length <= 0.0 { 0.0 } else { (self.from + self.slope * length / 2.0) * length }
    }

    /// Solves from·t + slope·t²/2 = area for t, in a form that loses no digits if the slope is
    /// small, and needs no special case if the slope is zero.
    fn when_area_reaches(&self, area: f64) -> Option<f64> {
        if area <= 0.0 {
            return (self.from > 0.0 || self.slope > 0.0).then_some(self.begin);
        }
        let root = (self.from * self.from + 2.0 * self.slope * area).sqrt();
        let time = self.begin + 2.0 * area / (self.from + root);
        // If the area is never reached, `root` is the root of a negative
        // number, or `time` is too late.
        (time <= self.end).then_some(time)
    }

    fn when_above(&self, threshold: f64, time: f64) -> Option<f64> {
        let slope = self.slope;
        let above = self.at(time) - threshold;
        if above > NEARLY || (slope > 0.0 && above > -NEARLY) {
            return Some(time);
        }
        let then = time - above / slope;
        (slope > 0.0 && then < self.end).then_some(then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl LoadProfile {
        /// Returns the area under the lines from zero to `time`, in seconds.
        fn area(&self, time: f64) -> f64 {
            let line = self.0.iter().rev().find(|line| line.begin <= time);
            line.map_or(0.0, |line| line.before + line.area(time.min(line.end)))
        }
    }

    fn seconds(s: f64) -> Duration {
        Duration::from_secs_f64(s)
    }

    fn stages() -> impl Strategy<Value = Vec<Stage>> {
        let stage = (0u32..1_000, 0u32..5_000).prop_map(|(to, ms)| Stage {
            to: f64::from(to),
            over: Duration::from_millis(ms.into()),
        });
        prop::collection::vec(stage, 1..5)
    }

    #[test]
    fn the_area_of_a_ramp_and_a_hold_is_exact() {
        let stages =
            [Stage { to: 10.0, over: seconds(2.0) }, Stage { to: 10.0, over: seconds(3.0) }];
        let profile = LoadProfile::new(seconds(1.0), &stages, 1.0);
        // Areas: 10 in the warm-up, then a triangle of 10, then 30.
        assert_eq!(
            [0.5, 1.0, 3.0, 6.0, 9.0].map(|t| profile.area(t)),
            [5.0, 10.0, 20.0, 50.0, 50.0]
        );
        assert_eq!(profile.when_area_reaches(12.5), Some(2.0));
        assert_eq!(profile.when_area_reaches(50.1), None);
        assert_eq!(profile.when_above(5.0, 1.0), Some(2.0));
        assert_eq!(profile.when_above(10.0, 0.0), None);
    }

    #[test]
    fn a_profile_without_an_end_continues() {
        let profile =
            LoadProfile::new(Duration::ZERO, &[Stage { to: 4.0, over: Duration::MAX }], 0.5);
        assert_eq!(profile.when_area_reaches(1e9), Some(5e8));
        assert_eq!(profile.area(10.0), 20.0);
        assert_eq!(profile.when_above(1.0, 7.0), Some(7.0));
    }

    #[test]
    fn a_jump_takes_no_time() {
        let up = Stage { to: 8.0, over: Duration::ZERO };
        let hold = Stage { to: 8.0, over: seconds(1.0) };
        let profile = LoadProfile::new(Duration::ZERO, &[up, hold], 1.0);
        assert_eq!(profile.area(1.0), 8.0);
        assert_eq!(profile.when_above(7.0, 0.0), Some(0.0));
    }

    #[test]
    fn a_change_holds_from_its_moment_to_the_end() {
        let stages =
            [Stage { to: 10.0, over: seconds(2.0) }, Stage { to: 10.0, over: seconds(3.0) }];
        let profile = LoadProfile::new(seconds(1.0), &stages, 1.0);
        // In the middle of the ramp, where the value is 5.
        let changed = profile.changed(seconds(2.0), 30.0);
        assert_eq!(
            [1.0, 2.0, 3.0, 6.0, 9.0].map(|t| changed.area(t)),
            [10.0, 12.5, 42.5, 132.5, 132.5]
        );
        assert_eq!(
            (changed.when_above(20.0, 0.0), changed.when_above(29.0, 3.0)),
            (Some(2.0), Some(3.0))
        );
        assert_eq!(changed.when_above(30.0, 0.0), None);
        // A second change, a change at once, and a change that is too late.
        assert_eq!(changed.changed(seconds(2.0), 1.0).area(6.0), 12.5 + 4.0);
        assert_eq!(profile.changed(Duration::ZERO, 1.0).area(9.0), 6.0);
        assert_eq!(profile.changed(seconds(6.0), 1.0), profile);
    }

    proptest! {
        #[test]
        fn a_change_affects_nothing_before_it(
            stages in stages(), at in 0u64..20_000, to in 0u32..1_000, share in 0.0f64..1.0,
        ) {
            let profile = LoadProfile::new(Duration::from_secs(1), &stages, 1.0);
            let at = Duration::from_millis(at);
            let changed = profile.changed(at, to.into());
            let area = profile.area(at.as_secs_f64()) * share;
            // Equal to the bit, so that it does not matter which process has
            // already heard of the change.
            let (before, after) = (profile.when_area_reaches(area), changed.when_area_reaches(area));
            if before.is_some_and(|before| before < at.as_secs_f64()) {
                prop_assert_eq!(before, after);
            }
        }

        #[test]
        fn when_and_area_are_inverse(stages in stages(), warmup in 0u64..3_000, share in 0.001f64..1.0) {
            let profile = LoadProfile::new(Duration::from_millis(warmup), &stages, 1.0);
            let all = profile.area(f64::MAX);
            prop_assume!(all > 0.0);
            let area = all * share;
            let time = profile.when_area_reaches(area).unwrap();
            prop_assert!((profile.area(time) - area).abs() <= 1e-9 * all, "{} {area}", profile.area(time));
        }

        #[test]
        fn the_area_never_shrinks(stages in stages(), a in 0.0f64..20.0, b in 0.0f64..20.0) {
            let profile = LoadProfile::new(Duration::ZERO, &stages, 1.0);
            let (early, late) = (a.min(b), a.max(b));
            prop_assert!(profile.area(early) <= profile.area(late) + 1e-9);
        }
    }
}
