//! The state of a round as its manager sees it. Pure: what happens and when goes in, what is to be
//! done comes out. `round` carries it out; a simulation drives thousands of histories through it.

use std::collections::BTreeSet;
use std::time::Duration;

use super::collector::{Collector, Taken};
use super::messages::{News, Report};
use crate::engine::{LostWorker, Results};
use crate::measure::{GrowingSeries, Snapshot};

/// How long a worker that runs may say nothing. It reports each second.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// How long a round may last after its planned end and its drain: users have three seconds for what
/// they send when they stop.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long a worker may take to end and to report the last of it, once it was told to.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// How far a worker's account may reach beyond the time that has passed here: clocks are not compared.
const AHEAD_LIMIT: Duration = Duration::from_secs(10);
/// How many sentences about refused reports are kept.
const REFUSED: usize = 20;

/// What becomes of a test that loses a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The round ends on all workers, and there is no other.
    #[default]
    Fail,
    /// The others go on, each with the share that it has, for as long as one is left.
    Continue,
}

/// When what is planned; all times are counted from the command to start.
#[derive(Debug, Clone, Copy)]
pub struct Schedule {
    /// When the warm-up ends.
    pub measured: Duration,
    /// When the load ends, where time ends it.
    pub end: Option<Duration>,
    /// How long after that users wait for answers.
    pub drain: Duration,
}

/// What happens.
#[derive(Debug)]
pub enum Input {
    /// A worker reports.
    Report(Report),
    /// A worker is gone, or could not be reached; why, in a sentence.
    Left(u32, String),
    /// A worker is there.
    Joined(u32),
    /// Something was said that nobody understands; a sentence about it.
    Noise(String),
    /// The round is to end now.
    Stop,
    /// Time has passed.
    Tick,
}

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Show a worker's results, which are new.
    Show(u32, Snapshot),
    /// Tell all workers that are not lost to end the round now.
    StopAll,
    /// Take note that this worker is lost: it takes part in nothing any more.
    Lose(LostWorker),
    /// See to it that this worker puts no load on the target: it was lost, and may still be there.
    Fence(u32),
}

/// A round under way.
pub struct RoundState {
    collector: Collector,
    schedule: Schedule,
    on_loss: OnLoss,
    members: Vec<Member>,
    lost: Vec<LostWorker>,
    refused: Vec<String>,
    is_stopping: bool,
    /// When the round must be over.
    deadline: Option<Duration>,
    /// What the input at hand leads to.
    actions: Vec<Action>,
}

struct Member {
    state: State,
    /// When it was last heard of.
    heard: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// It was not there when the shares were given out, and has none.
    Absent,
    Awaited,
    /// All of its round is here, or all that will ever come.
    Over,
    Lost,
}

impl RoundState {
    /// A round of `workers` workers, of which some were `lost` before it, and some have been `absent`
    /// from the beginning.
    pub fn new(
        epoch: u32,
        workers: u32,
        absent: &BTreeSet<u32>,
        lost: Vec<LostWorker>,
        schedule: Schedule,
        on_loss: OnLoss,
    ) -> Self {
        let state = |worker| {
            if absent.contains(&worker) {
                State::Absent
            } else if lost.iter().any(|lost| lost.worker == worker) {
                State::Lost
            } else {
                State::Awaited
            }
        };
        let member = |worker| Member { state: state(worker), heard: schedule.measured };
        Self {
            collector: Collector::new(epoch, workers),
            members: (0..workers).map(member).collect(),
            deadline: schedule.end.map(|end| end + schedule.drain + END_LIMIT),
            schedule,
            on_loss,
            lost,
            refused: Vec::new(),
            is_stopping: false,
            actions: Vec::new(),
        }
    }

    /// Takes what happened at `now`, and gives what is to be done, in this order.
    #[must_use]
    pub fn take(&mut self, now: Duration, input: Input) -> Vec<Action> {
        match input {
            Input::Report(report) => self.take_report(now, report),
            Input::Left(worker, why) => self.lose(now, worker, why),
            Input::Joined(worker) if self.is(worker, State::Lost) => self.fence(worker),
            Input::Joined(_) => {}
            Input::Noise(reason) => self.refuse(reason),
            Input::Stop => self.stop(now),
            Input::Tick => self.check_limits(now),
        }
        std::mem::take(&mut self.actions)
    }

    /// Whether nobody is waited for any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.members.iter().all(|member| member.state != State::Awaited)
    }

    /// Whether this worker's part of the round is not over.
    #[must_use]
    pub fn awaits(&self, worker: u32) -> bool {
        self.is(worker, State::Awaited)
    }

    /// All results so far.
    pub fn series(&mut self) -> &mut GrowingSeries {
        self.collector.series()
    }

    /// What came of it. `held`: see [`Collector::into_results`].
    #[must_use]
    pub fn into_results(self, held: impl Fn(u32) -> Duration) -> Results {
        let Self { collector, members, lost, refused, .. } = self;
        let (series, mut workers) = collector.into_results(held);
        workers.retain(|round| members[round.worker as usize].state != State::Absent);
        Results { series, workers, lost, refused, ..Results::default() }
    }

    fn is(&self, worker: u32, state: State) -> bool {
        self.members.get(worker as usize).is_some_and(|member| member.state == state)
    }

    fn set(&mut self, worker: u32, state: State) {
        if let Some(member) = self.members.get_mut(worker as usize) {
            member.state = state;
        }
    }

    fn take_report(&mut self, now: Duration, report: Report) {
        let worker = report.worker;
        if self.is(worker, State::Lost) {
            // It was paused, or cut off, and goes on as if nothing had been.
            return self.fence(worker);
        }
        if self.is(worker, State::Absent) {
            return self.refuse(format!("worker {worker} has no share of this round"));
        }
        if let Err(reason) = check_times(now, &report) {
            return self.refuse(reason);
        }
        match self.collector.take(report) {
            Taken::New(snapshot) => self.actions.push(Action::Show(worker, snapshot)),
            Taken::Failed(reason) => return self.lose(now, worker, reason),
            Taken::Refused(reason) => return self.refuse(reason),
            Taken::Finished | Taken::Again => {}
            Taken::OtherEpoch => return,
        }
        if let Some(member) = self.members.get_mut(worker as usize) {
            member.heard = member.heard.max(now);
        }
        if self.collector.is_complete(worker) {
            self.set(worker, State::Over);
        }
    }

    fn refuse(&mut self, reason: String) {
        if self.refused.len() < REFUSED {
            self.refused.push(reason);
        }
    }

    fn stop(&mut self, now: Duration) {
        if !self.is_stopping {
            self.is_stopping = true;
            self.deadline = Some(now + STOP_LIMIT);
            self.actions.push(Action::StopAll);
        }
    }

    /// Gives a worker up. One whose part is over owes nothing to this round, but will be missed in the
    /// next.
    fn lose(&mut self, now: Duration, worker: u32, why: String) {
        let was_awaited = self.awaits(worker);
        if !was_awaited && !self.is(worker, State::Over) {
            return;
        }
        self.set(worker, State::Lost);
        let second = now.saturating_sub(self.schedule.measured).as_secs();
        let second = was_awaited.then(|| u32::try_from(second).unwrap_or(u32::MAX));
        let lost = LostWorker { worker, second, why };
        self.actions.push(Action::Lose(lost.clone()));
        self.fence(worker);
        if was_awaited {
            self.lost.push(lost);
            if self.on_loss == OnLoss::Fail {
                self.stop(now);
            }
        }
    }

    fn fence(&mut self, worker: u32) {
        self.actions.push(Action::Fence(worker));
    }

    /// Nothing hangs for ever: gives up those who are silent or late.
    fn check_limits(&mut self, now: Duration) {
        let is_late = self.deadline.is_some_and(|deadline| now > deadline);
        if is_late && !self.is_stopping {
            // It should have ended by itself; it may yet when it is told to.
            return self.stop(now);
        }
        for worker in 0..self.collector.workers() {
            let is_silent = now.saturating_sub(self.members[worker as usize].heard) > SILENCE_LIMIT;
            if !self.awaits(worker) || !(is_late || is_silent) {
                continue;
            }
            if self.collector.has_finished(worker) {
                // It did all that it should; what is missing of its reports shows as gaps.
                self.set(worker, State::Over);
            } else if is_late {
                self.lose(now, worker, "it did not end when it was told to".to_owned());
            } else {
                let limit = humantime::format_duration(SILENCE_LIMIT);
                self.lose(now, worker, format!("it said nothing for {limit}"));
            }
        }
    }
}

/// Whether a report speaks of a time that has passed: anything may stand in it, and what comes after
/// reckons with it.
fn check_times(now: Duration, report: &Report) -> Result<(), String> {
    let reached = match &report.news {
        News::Snapshot(snapshot, _) => {
            let seconds = snapshot.intervals.iter().map(|interval| interval.second);
            Duration::from_secs(seconds.max().unwrap_or(0).into())
        }
        News::Finished(finished, _) => finished.held,
        News::Failed(_) => Duration::ZERO,
    };
    if reached <= now + AHEAD_LIMIT {
        return Ok(());
    }
    let (worker, reached, now) = (report.worker, reached.as_secs(), now.as_secs());
    Err(format!("worker {worker} spoke of second {reached} in second {now}"))
}

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[cfg(test)]
mod simulation;
