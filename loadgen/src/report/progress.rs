//! What is happening now, and how long it will still take: on stderr, one living line on a
//! terminal, one plain line for each step elsewhere.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::format::{count, duration, milliseconds, rate};
use crate::measure::{Counts, GrowingSeries, Latencies, Phase, Snapshot};

/// Shows progress. All of it goes to stderr, so that stdout holds the result alone.
pub struct Progress {
    bar: Option<ProgressBar>,
    rounds: u32,
    done: u32,
    /// When the first round began.
    began: Option<Instant>,
    /// How long the finished rounds took together, with all that is between them.
    took: Duration,
    /// What a round takes, until one has shown it.
    expected: Option<Duration>,
    /// Whether the rounds have begun.
    measuring: Arc<AtomicBool>,
    round: Round,
}

#[derive(Default)]
struct Round {
    target: String,
    errors: u64,
    /// The latest second that is here from all workers.
    second: Option<u32>,
    /// What was answered in it.
    answered: Latencies,
    /// Whether anything was measured yet.
    has_begun: bool,
}

/// The phases whose results are shown.
const SHOWN: [Phase; 2] = [Phase::RampUp, Phase::Hold];

impl Round {
    /// Looks for a second that is new. Of the newest one some workers have not told yet: the one before it
    /// is shown, empty where nothing was answered in it.
    fn look_at(&mut self, results: &GrowingSeries) {
        let newest = results.newest(&SHOWN);
        self.has_begun = newest.is_some();
        let second = newest.and_then(|newest| newest.checked_sub(1));
        if let Some(new) = second.filter(|_| second != self.second) {
            self.answered = Latencies::default();
            let steps = results.second(&SHOWN, new);
            steps.iter().for_each(|step| self.answered.merge(&step.answered));
            self.second = second;
        }
    }
}

impl Progress {
    /// For `rounds` rounds in all, each of which is expected to take `expected`, if that is known.
    #[must_use]
    pub fn new(rounds: u32, expected: Option<Duration>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        // Hidden where stderr is no terminal, or one that can't move its cursor.
        let bar = (!bar.is_hidden()).then_some(bar);
        if let Some(bar) = &bar {
            if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(125));
        }
        Self {
            bar,
            rounds,
            done: 0,
            began: None,
            took: Duration::ZERO,
            expected,
            measuring: Arc::default(),
            round: Round::default(),
        }
    }

    /// So many rounds are still to come, where their number is not known from the start.
    pub fn expect(&mut self, rounds: u32) {
        self.rounds = self.done + rounds;
    }

    /// Says what is being done, such as `starting redis`.
    pub fn phase(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(format!("{what}{}", self.left())),
            None => line(what),
        }
    }

    /// A way to say what is being done from elsewhere. Off a terminal it falls silent when the
    /// rounds begin: these have lines of their own.
    #[must_use]
    pub fn teller(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        let (bar, measuring) = (self.bar.clone(), self.measuring.clone());
        Arc::new(move |what| match &bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None if measuring.load(Ordering::Relaxed) => {}
            None => line(what),
        })
    }

    /// A step inside of a round, such as the start of a target: on a terminal only.
    pub fn step(&self, what: &str) {
        self.measuring.store(true, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{}{what}{}", self.place(), self.left()));
        }
    }

    /// A round over `target` begins.
    pub fn round_started(&mut self, target: &str) {
        self.began.get_or_insert_with(Instant::now);
        self.round = Round { target: target.to_owned(), ..Round::default() };
        self.show();
    }

    /// Takes in what was measured in the meantime, and with it all `results` of the round so far.
    pub fn snapshot(&mut self, snapshot: &Snapshot, results: &GrowingSeries) {
        let counting = snapshot.intervals.iter().filter(|i| SHOWN.contains(&i.phase));
        for failures in counting.flat_map(|interval| &interval.steps).map(Counts::failures) {
            self.round.errors = self.round.errors.saturating_add(failures);
        }
        if self.bar.is_some() {
            self.round.look_at(results);
            self.show();
        }
    }

    /// The round is over.
    pub fn round_finished(&mut self, rate_per_s: f64) {
        let place = self.place();
        self.done += 1;
        self.took = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        if self.bar.is_none() {
            let errors = match self.round.errors {
                0 => String::new(),
                n => format!(", {} errors", count(n)),
            };
            line(&format!(
                "{place}{}: {} requests/s{errors}{}",
                self.round.target,
                rate(rate_per_s),
                self.left()
            ));
        }
    }

    /// Something that stays on the screen.
    pub fn note(&self, text: &str) {
        self.noter()(text);
    }

    /// A way to say such things from elsewhere.
    #[must_use]
    pub fn noter(&self) -> Arc<dyn Fn(&str) + Send + Sync> {
        let bar = self.bar.clone();
        Arc::new(move |text| match &bar {
            Some(bar) => bar.suspend(|| line(text)),
            None => line(text),
        })
    }

    /// Clears the living line.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&self) {
        let Some(bar) = &self.bar else { return };
        let doing = if self.round.has_begun { "loading" } else { "warming up" };
        let mut text = format!("{}{doing} {}", self.place(), self.round.target);
        if self.round.second.is_some() {
            text += &format!("  {} requests/s", count(self.round.answered.len()));
            if let Some(p99) = self.round.answered.quantile(0.99) {
                text += &format!("  p99 {} ms", milliseconds(Some(p99)));
            }
        }
        if self.round.errors > 0 {
            text += &format!("  {} errors", count(self.round.errors));
        }
        bar.set_message(text + &self.left());
    }

    fn place(&self) -> String {
        format!("[{}/{}] ", (self.done + 1).min(self.rounds), self.rounds)
    }

    /// `, about 1m 10s left`; nothing before the first round.
    fn left(&self) -> String {
        let todo = self.rounds.saturating_sub(self.done);
        if todo == 0 {
            return String::new();
        }
        let Some(each) = self.took.checked_div(self.done).or(self.expected) else {
            return String::new();
        };
        let running = self.began.map_or(Duration::ZERO, |began| began.elapsed() - self.took);
        let left = (each * todo).saturating_sub(running.min(each));
        format!(", about {} left", duration(Duration::from_secs(left.as_secs().max(1))))
    }
}

/// Progress that can't be shown is no reason to stop.
fn line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Interval;

    /// What is shown after workers have reported so many answers in these seconds.
    fn shown(reports: &[(u32, usize)]) -> Option<u64> {
        let (mut results, mut round) = (GrowingSeries::default(), Round::default());
        for (second, answers) in reports {
            let mut counts = Counts::default();
            (0..*answers).for_each(|_| counts.answered.record(Duration::from_millis(1)));
            let interval = Interval { phase: Phase::Hold, second: *second, steps: vec![counts] };
            results.add(&Snapshot { number: *second, intervals: vec![interval] });
            round.look_at(&results);
        }
        round.second.map(|_| round.answered.len())
    }

    #[test]
    fn a_second_is_shown_when_the_one_after_it_is_over() {
        assert_eq!(shown(&[]), None);
        assert_eq!(shown(&[(0, 5), (0, 6)]), None);
        assert_eq!(shown(&[(0, 5), (0, 6), (1, 1)]), Some(11));
        assert_eq!(shown(&[(0, 5), (0, 6), (1, 1), (1, 2), (2, 3)]), Some(3));
    }

    #[test]
    fn a_second_without_an_answer_shows_none() {
        assert_eq!(shown(&[(0, 5), (4, 1)]), Some(0));
    }
}
