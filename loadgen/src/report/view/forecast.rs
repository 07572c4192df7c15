//! Counts the rounds and estimates how long the remaining rounds take.

use std::time::{Duration, Instant};

/// Number of finished rounds, and the data for an estimate of the remaining time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Forecast {
    rounds: u32,
    done: u32,
    /// Start of the first round; `None` before the first round.
    began: Option<Instant>,
    /// Time from the start of the first round to the end of the latest finished round, pauses
    /// included.
    took: Duration,
    /// Expected duration of a round, if known; used until a round has finished.
    expected: Option<Duration>,
    /// Number of rounds before the first round of the present kind, and the time that they took.
    /// Rounds of another kind do not tell how long the present rounds take.
    earlier: (u32, Duration),
}

impl Forecast {
    /// Makes a forecast for `rounds` rounds. `expected` is the expected duration of each round, if
    /// known.
    pub(crate) fn new(rounds: u32, expected: Option<Duration>) -> Self {
        Self { rounds, expected, ..Self::default() }
    }

    /// Sets the number of remaining rounds and the expected duration of each, where the number of
    /// all rounds is not known from the start. Another duration means another kind of rounds.
    pub(crate) fn expect(&mut self, rounds: u32, each: Duration) {
        self.rounds = self.done + rounds;
        if self.expected.replace(each) != Some(each) {
            self.earlier = (self.done, self.took);
        }
    }

    /// Notes that a round begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    /// Notes that a round is over.
    pub(crate) fn finish(&mut self, now: Instant) {
        self.done += 1;
        self.took = self.running(now);
    }

    /// Returns the number of the current round, from 1, and the number of all rounds.
    pub(crate) fn place(&self) -> (u32, u32) {
        ((self.done + 1).min(self.rounds), self.rounds)
    }

    /// Returns the estimated time until all rounds are over, in whole seconds, at least 1 s. `None`
    /// after the last round, and without a finished round or an expected duration.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        let todo = self.rounds.saturating_sub(self.done);
        let (rounds, took) = self.earlier;
        let each = (self.took - took).checked_div(self.done - rounds).or(self.expected)?;
        let running = self.running(now).saturating_sub(self.took);
        let left = (each * todo).saturating_sub(running.min(each));
        (todo > 0).then(|| Duration::from_secs(left.as_secs().max(1)))
    }

    /// Returns the time since the start of the first round; `None` before it.
    pub(crate) fn passed(&self, now: Instant) -> Option<Duration> {
        self.began.map(|began| now.saturating_duration_since(began))
    }

    fn running(&self, now: Instant) -> Duration {
        self.passed(now).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn finished_rounds_forecast_the_rest() {
        let start = Instant::now();
        let mut forecast = Forecast::new(3, Some(10 * SECOND));
        let left = |forecast: &Forecast, at: u32| forecast.left(start + at * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 0)), ((1, 3), Some(30 * SECOND)));
        forecast.begin(start);
        assert_eq!(left(&forecast, 4), Some(26 * SECOND));
        // The round takes longer than expected.
        assert_eq!(left(&forecast, 15), Some(20 * SECOND));
        forecast.finish(start + 20 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 25)), ((2, 3), Some(35 * SECOND)));
        forecast.finish(start + 40 * SECOND);
        assert_eq!(left(&forecast, 60), Some(SECOND));
        forecast.finish(start + 60 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 60)), ((3, 3), None));
        forecast.expect(2, 10 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 60)), ((4, 5), Some(40 * SECOND)));
        // Rounds of another kind, which take less.
        forecast.expect(4, 3 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 60)), ((4, 7), Some(12 * SECOND)));
        forecast.finish(start + 62 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 62)), ((5, 7), Some(6 * SECOND)));
    }

    #[test]
    fn no_forecast_is_made_without_a_basis() {
        assert_eq!(Forecast::new(2, None).left(Instant::now()), None);
    }
}
