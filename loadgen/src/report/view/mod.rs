//! Holds the known state of a command, as the live view and the live page show it. Events update the
//! state, without a clock and without a terminal. `seconds`, `workers` and `forecast` are parts of it.

mod forecast;
mod seconds;
mod workers;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

pub(super) use self::forecast::Forecast;
pub(super) use self::seconds::{Second, Seconds};
pub(super) use self::workers::{Row, State, Workers, fitting};
use crate::measure::{ErrorKind, Phase, PresentUsage, Snapshot, Timeline};
use crate::text::{count, counted, milliseconds, rate};

/// Number of the latest seconds that are retained: as many as a chart on a wide screen has columns.
const SECONDS: usize = 200;

/// Number of the latest lines of the log that are retained: as many as a high screen has lines.
const LINES: usize = 60;

/// State of a command, as the live view shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    /// Kind of measurement in a word or two, such as `Load test`.
    pub kind: &'static str,
    /// Title of the scenario.
    pub scenario: String,
    /// Current activity while there is no load, such as `starting redis`.
    pub doing: String,
    /// Progress of the rounds, and an estimate of the remaining time.
    pub forecast: Forecast,
    /// The round that began last; `None` before the first round.
    pub round: Option<Round>,
    /// Earlier rounds that the charts show beside the round that began last, the oldest first.
    pub earlier: VecDeque<Past>,
    /// CPU time and memory that each service and the generator use now.
    pub usage: BTreeMap<String, PresentUsage>,
    /// Workers that send the load; empty if this process sends the load.
    pub workers: Workers,
    /// Log of events in lines, the newest last.
    pub log: VecDeque<String>,
    /// Lines that the terminal shows above its log, and nothing else shows: one may have a secret.
    pub pinned: Vec<String>,
    /// Whether the user can change the load by keys.
    pub can_change: bool,
    /// Whether the rounds have begun.
    pub is_measuring: bool,
}

/// Load that is planned for a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PlannedLoad {
    /// Number of users.
    Users(u32),
    /// Requests per second.
    Rate(f64),
}

impl fmt::Display for PlannedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Users(users) => f.write_str(&counted((*users).into(), "user")),
            Self::Rate(per_s) => write!(f, "{} requests/s planned", rate(*per_s)),
        }
    }
}

/// An earlier round, as the charts show it.
#[derive(Debug, Clone)]
pub(crate) struct Past {
    /// Name of the target.
    pub target: String,
    /// Results of the latest seconds, the newest last.
    pub seconds: VecDeque<Second>,
}

/// State of the latest round, as the live view shows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    /// Number of the round, counted from 1.
    pub number: u32,
    /// Name of the target.
    pub target: String,
    /// Start and end of the load; `None` while there is no load.
    pub timeline: Option<Timeline>,
    /// Load that is planned for now; `None` before the load starts.
    pub load: Option<PlannedLoad>,
    /// Failed requests by kind, during the ramp-up and the hold.
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Description of the latest failed request of each kind that was described.
    pub examples: BTreeMap<ErrorKind, String>,
    /// Results of the latest seconds, the newest last.
    pub seconds: VecDeque<Second>,
    /// Results of each step, and then of each flow; empty if the scenario has a single step.
    pub steps: Vec<StepOfRound>,
}

/// State of a step, or of a flow, in the latest round.
#[derive(Debug, Clone, Default)]
pub(crate) struct StepOfRound {
    /// Name of the step.
    pub name: String,
    /// Results of the newest second.
    pub newest: Second,
    /// Number of failed requests during the ramp-up and the hold.
    pub failed: u64,
}

impl View {
    /// Adds the lines of `text` to the log, and drops the oldest lines if the log has too many.
    pub(crate) fn note(&mut self, text: &str) {
        self.log.extend(text.lines().map(str::to_owned));
        self.log.drain(..self.log.len().saturating_sub(LINES));
    }

    /// Begins a round that measures `target` with these steps and flows.
    pub(crate) fn begin(&mut self, target: &str, steps: &[String], now: Instant) {
        self.forecast.begin(now);
        if let Some(Round { target, seconds, .. }) = self.round.take()
            && !seconds.is_empty()
        {
            self.earlier.push_back(Past { target, seconds });
            let is_shown = |past: &Past| past.seconds.len();
            while self.earlier.iter().skip(1).map(is_shown).sum::<usize>() >= SECONDS {
                self.earlier.pop_front();
            }
        }
        let step = |name: &String| StepOfRound { name: name.clone(), ..StepOfRound::default() };
        let steps = steps.iter().filter(|_| steps.len() > 1).map(step).collect();
        let (number, _) = self.forecast.place();
        self.round = Some(Round { number, target: target.to_owned(), steps, ..Round::default() });
        self.workers.begin();
        self.usage.clear();
    }

    /// Ends the round, and returns a line about the result: the round had `rate_per_s` expected
    /// answers per second. The round's figures stay on the screen.
    pub(crate) fn finish(&mut self, rate_per_s: f64, now: Instant) -> String {
        let (number, of) = self.forecast.place();
        self.forecast.finish(now);
        let Some(round) = &mut self.round else { return String::new() };
        round.timeline = None;
        let errors = match round.failed() {
            0 => String::new(),
            n => format!(", {}", counted(n, "error")),
        };
        format!("[{number}/{of}] {}: {} requests/s{errors}", round.target, rate(rate_per_s))
    }

    /// Returns the latest seconds for a chart of this many columns, the newest last: the target and the
    /// seconds of each round. Each round but the first takes one more column, for a mark.
    pub(crate) fn history(&self, columns: usize) -> Vec<(&str, Vec<Second>)> {
        let latest = self.round.iter().map(|round| (round.target.as_str(), &round.seconds));
        let earlier = self.earlier.iter().rev().map(|past| (past.target.as_str(), &past.seconds));
        let (mut rounds, mut room) = (Vec::new(), columns);
        for (target, seconds) in latest.chain(earlier).filter(|(_, of)| !of.is_empty()) {
            room -= usize::from(!rounds.is_empty()).min(room);
            let shown = seconds.len().min(room);
            if shown == 0 {
                break;
            }
            room -= shown;
            let hidden = seconds.len() - shown;
            rounds.push((target, seconds.iter().skip(hidden).copied().collect()));
        }
        rounds.reverse();
        rounds
    }

    /// Returns the number of the current second, counted from the end of the warm-up and only to
    /// the end of the round; `None` without load.
    pub(crate) fn second(&self, now: Instant) -> Option<u32> {
        let timeline = self.round.as_ref()?.timeline?;
        Some(timeline.second(timeline.end.map_or(now, |end| end.min(now))))
    }

    /// Returns the current phase of the round; `None` without load.
    pub(crate) fn phase(&self, now: Instant) -> Option<Phase> {
        let timeline = self.round.as_ref()?.timeline?;
        Some(timeline.place(true, now).0)
    }

    /// Returns the share of the time of all rounds that is over; `None` while that is unknown.
    pub(crate) fn done(&self, now: Instant) -> Option<f64> {
        let (passed, left) = (self.forecast.passed(now)?.as_secs_f64(), self.left(now)?);
        Some(passed / (passed + left.as_secs_f64()))
    }

    /// Returns the estimated time until all rounds are over, at least the time left of this round; `None`
    /// if unknown.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        let of_round = self.round.as_ref().and_then(|round| round.left(now));
        self.forecast.left(now).max(of_round)
    }
}

/// Returns what happens in a phase of a round, in words.
pub(crate) fn activity(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warming up",
        Phase::RampUp => "ramping up",
        Phase::Hold => "holding the load",
        Phase::Tail | Phase::Stop => "ending",
    }
}

impl Round {
    /// Adds the errors that a worker, or this process, has reported.
    pub(crate) fn reported(&mut self, snapshot: &Snapshot) {
        let shown = snapshot.intervals.iter().filter(|i| Phase::MEASURED.contains(&i.phase));
        for interval in shown {
            let rows = interval.steps.iter().chain(&interval.flows);
            for (row, counts) in self.steps.iter_mut().zip(rows) {
                row.failed = row.failed.saturating_add(counts.failures());
            }
            for (kind, n) in interval.steps.iter().flat_map(|counts| &counts.errors) {
                let sum = self.errors.entry(*kind).or_default();
                *sum = sum.saturating_add(*n);
            }
            for (kind, example) in interval.steps.iter().flat_map(|counts| &counts.examples) {
                example.clone_into(self.examples.entry(*kind).or_default());
            }
        }
    }

    /// Sets the newest second of each step.
    pub(crate) fn set_steps(&mut self, newest: &[Second]) {
        for (step, newest) in self.steps.iter_mut().zip(newest) {
            step.newest = *newest;
        }
    }

    /// Adds the results of seconds that are over, and drops the oldest seconds if there are too
    /// many.
    pub(crate) fn add(&mut self, seconds: Vec<Second>) {
        self.seconds.extend(seconds);
        self.seconds.drain(..self.seconds.len().saturating_sub(SECONDS));
    }

    /// Returns the number of all failed requests.
    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Describes the failed requests, such as `12 errors: 10 timeout, 2 status`.
    pub(crate) fn errors(&self) -> String {
        let kinds: Vec<String> =
            self.errors.iter().map(|(kind, n)| format!("{} {kind}", count(*n))).collect();
        match self.failed() {
            0 => "no errors".to_owned(),
            all => format!("{}: {}", counted(all, "error"), kinds.join(", ")),
        }
    }

    /// Describes the newest second: the rate in requests/s, and the median and 99th percentile of
    /// latency in ms.
    pub(crate) fn figures(&self) -> [String; 3] {
        let newest = self.seconds.back();
        let answered = newest.map_or("–".to_owned(), |second| count(second.answered));
        let ms = |of: fn(&Second) -> Option<u64>| milliseconds(newest.and_then(of));
        [
            format!("{answered} requests/s"),
            format!("p50 {} ms", ms(|second| second.p50_us)),
            format!("p99 {} ms", ms(|second| second.p99_us)),
        ]
    }

    /// Returns the time until the load ends, rounded up to seconds; `None` without load, and if a
    /// number of iterations ends the load.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        let end = self.timeline?.end?;
        let left = end.saturating_duration_since(now).as_secs_f64().ceil();
        Some(Duration::from_secs_f64(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Counts, Interval};

    #[test]
    fn errors_are_counted_by_kind_except_those_of_the_warm_up() {
        let mut round = Round::default();
        assert_eq!(round.errors(), "no errors");
        let mut report = |phase, kind, n| {
            let steps = vec![Counts { errors: [(kind, n)].into(), ..Counts::default() }];
            let intervals = vec![Interval { phase, steps, ..Interval::default() }];
            round.reported(&Snapshot::new(0, intervals));
        };
        report(Phase::Warmup, ErrorKind::Connect, 7);
        report(Phase::RampUp, ErrorKind::Timeout, 1_000);
        report(Phase::Hold, ErrorKind::Timeout, 1);
        report(Phase::Hold, ErrorKind::Status, 2);
        report(Phase::Tail, ErrorKind::Reset, 9);
        assert_eq!(round.errors(), "1,003 errors: 1,001 timeout, 2 status");
    }

    #[test]
    fn a_finished_round_is_reported_in_a_line_and_stays_visible() {
        let (mut view, now) = (View::default(), Instant::now());
        view.forecast = Forecast::new(2, None);
        view.begin("sanic", &[], now);
        let second = Second { answered: 1_234, ..Second::default() };
        view.round.as_mut().unwrap().add(vec![second]);
        assert_eq!(view.finish(1_234.4, now), "[1/2] sanic: 1,234 requests/s");
        assert_eq!(view.round.as_ref().unwrap().figures()[0], "1,234 requests/s");
        view.begin("flask", &[], now);
        assert_eq!(view.round.as_ref().unwrap().figures()[0], "– requests/s");
        view.round.as_mut().unwrap().errors.insert(ErrorKind::Status, 3);
        assert_eq!(view.finish(0.5, now), "[2/2] flask: 0.5 requests/s, 3 errors");
    }

    #[test]
    fn earlier_rounds_stay_in_the_charts_as_far_as_there_is_room() {
        let (mut view, now) = (View::default(), Instant::now());
        let shown = |view: &View, columns| {
            let rounds = view.history(columns).into_iter();
            rounds.map(|(target, seconds)| (target.to_owned(), seconds.len())).collect::<Vec<_>>()
        };
        for (target, seconds) in [("sanic", 30), ("flask", 0), ("falcon", 20), ("sanic", 5)] {
            view.begin(target, &[], now);
            view.round.as_mut().unwrap().add(vec![Second::default(); seconds]);
        }
        let owned = |(target, n): (&str, usize)| (target.to_owned(), n);
        let all = [("sanic", 30), ("falcon", 20), ("sanic", 5)].map(owned);
        assert_eq!(shown(&view, 200), all);
        assert_eq!(shown(&view, 10), [("falcon", 4), ("sanic", 5)].map(owned));
        assert_eq!(shown(&view, 6), [("sanic", 5)].map(owned));
        assert_eq!(shown(&view, 3), [("sanic", 3)].map(owned));
        // A round that has just begun hides nothing.
        view.begin("flask", &[], now);
        assert_eq!(shown(&view, 200), all);
        (0..500).for_each(|_| {
            view.begin("flask", &[], now);
            view.round.as_mut().unwrap().add(vec![Second::default()]);
        });
        assert!(view.earlier.len() <= SECONDS, "{}", view.earlier.len());
    }

    #[test]
    fn only_the_latest_notes_and_seconds_are_kept() {
        let mut view = View::default();
        (0..200).for_each(|n| view.note(&format!("{n}\nmore")));
        assert_eq!((view.log.len(), view.log.back().map(String::as_str)), (LINES, Some("more")));
        let mut round = Round::default();
        (0..500).for_each(|_| round.add(vec![Second::default()]));
        assert_eq!(round.seconds.len(), SECONDS);
    }
}
