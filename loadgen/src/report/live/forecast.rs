//! How far the rounds are, and how long they will still take.

use std::time::{Duration, Instant};

/// What is known of the rounds.
#[derive(Debug, Clone, Default)]
pub struct Forecast {
    rounds: u32,
    done: u32,
    /// When the first one began.
    began: Option<Instant>,
    /// How long the finished ones took together, with all that is between them.
    took: Duration,
    /// What one takes, until one has shown it.
    expected: Option<Duration>,
}

impl Forecast {
    /// Of `rounds` rounds in all, each of which is expected to take so long, if that is known.
    pub fn new(rounds: u32, expected: Option<Duration>) -> Self {
        Self { rounds, expected, ..Self::default() }
    }

    /// So many rounds are still to come, where their number is not known from the start.
    pub fn expect(&mut self, rounds: u32) {
        self.rounds = self.done + rounds;
    }

    /// A round begins.
    pub fn begin(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    /// A round is over.
    pub fn finish(&mut self, now: Instant) {
        self.done += 1;
        self.took = self.running(now);
    }

    /// Which round it is, and of how many.
    pub fn place(&self) -> (u32, u32) {
        ((self.done + 1).min(self.rounds), self.rounds)
    }

    /// How long the rounds that are left will take, to the second; `None` before there is anything to
    /// tell it by, and after the last.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        let todo = self.rounds.saturating_sub(self.done);
        let each = self.took.checked_div(self.done).or(self.expected)?;
        let running = self.running(now).saturating_sub(self.took);
        let left = (each * todo).saturating_sub(running.min(each));
        (todo > 0).then(|| Duration::from_secs(left.as_secs().max(1)))
    }

    fn running(&self, now: Instant) -> Duration {
        self.began.map_or(Duration::ZERO, |began| now.saturating_duration_since(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_rounds_took_is_what_others_will_take() {
        let start = Instant::now();
        let mut forecast = Forecast::new(3, Some(10 * SECOND));
        let left = |forecast: &Forecast, at: u32| forecast.left(start + at * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 0)), ((1, 3), Some(30 * SECOND)));
        forecast.begin(start);
        assert_eq!(left(&forecast, 4), Some(26 * SECOND));
        // It takes longer than it should.
        assert_eq!(left(&forecast, 15), Some(20 * SECOND));
        forecast.finish(start + 20 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 25)), ((2, 3), Some(35 * SECOND)));
        forecast.finish(start + 40 * SECOND);
        assert_eq!(left(&forecast, 60), Some(SECOND));
        forecast.finish(start + 60 * SECOND);
        assert_eq!((forecast.place(), left(&forecast, 60)), ((3, 3), None));
        forecast.expect(2);
        assert_eq!((forecast.place(), left(&forecast, 60)), ((4, 5), Some(40 * SECOND)));
    }

    #[test]
    fn before_anything_is_known_nothing_is_told() {
        assert_eq!(Forecast::new(2, None).left(Instant::now()), None);
    }
}
