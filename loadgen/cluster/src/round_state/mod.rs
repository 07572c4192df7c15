//! Holds the state of a round as its manager sees it. Pure: timed events go in, and
//! actions come out. `round` carries the actions out; a simulation drives the state
//! through thousands of histories.

use std::collections::BTreeSet;
use std::time::Duration;

use super::collector::{Collector, Taken};
use super::messages::{News, Report};
use loadgen_engine::{LostWorker, Results};
use loadgen_measure::{GrowingSeries, Snapshot, Traces};

/// Maximum time without a report from a running worker. A worker reports each second.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time by which a round may exceed its planned end and its drain. Users have three seconds
/// for the requests that are in flight when the users stop.
const END_LIMIT: Duration = Duration::from_secs(5);
/// Time limit for a worker to end its round and send its final report after a stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// Maximum time by which the times in a worker's report may be ahead of the manager's time. The
/// limit leaves room, because the clocks are not compared.
const AHEAD_LIMIT: Duration = Duration::from_secs(10);
/// Maximum number of retained error messages about refused reports.
const REFUSED: usize = 20;

/// Effect of a lost worker on a test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnLoss {
    /// The round ends on all workers, and no other round follows.
    #[default]
    Fail,
    /// The other workers continue, each with its own share of the load, as
    /// long as at least one worker is left.
    Continue,
    /// Like `Continue`, but the other workers carry the whole load.
    Redistribute,
}

/// Planned times of a round, counted from the command to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    /// Time at which the warm-up ends and the measurement begins.
    pub measured: Duration,
    /// Time at which the load ends; `None` if the load ends by another condition than time.
    pub end: Option<Duration>,
    /// Time after `end` for which users wait for outstanding responses.
    pub drain: Duration,
    /// Number of the last stage of the load, from 0; 0 for a load without stages.
    pub last_stage: u32,
}

/// Event that affects the state of a round.
#[derive(Debug)]
pub(super) enum Input {
    /// Report of a worker.
    Report(Report),
    /// The worker with this number is gone, or could not be reached. The
    /// text is the reason, in a sentence.
    Left(u32, String),
    /// The worker with this number has joined.
    Joined(u32),
    /// Bytes arrived that are not a valid message. The value is a sentence about the error.
    Noise(String),
    /// The round must end now.
    Stop,
    /// Time has passed, so the time limits must be checked.
    Tick,
}

/// Action that the manager must carry out.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    /// Show new results of the worker with this number.
    Show(u32, Snapshot),
    /// Tell all workers that are not lost to end the round now.
    StopAll,
    /// Record that this worker is lost, and takes no further part in this round or in later rounds.
    Lose(LostWorker),
    /// Ensure that the worker with this number puts no load on the target: the worker
    /// was lost, and may still be running.
    Fence(u32),
    /// Let the other workers carry the load of the worker with this number.
    TakeOver(u32),
}

/// State of a round that has started.
pub(super) struct RoundState {
    collector: Collector,
    schedule: Schedule,
    on_loss: OnLoss,
    members: Vec<Member>,
    lost: Vec<LostWorker>,
    refused: Vec<String>,
    is_stopping: bool,
    /// Time at which the round must be over, counted from the command to start;
    /// `None` if the round has no time limit.
    deadline: Option<Duration>,
    /// Actions that result from the current event.
    actions: Vec<Action>,
}

struct Member {
    state: State,
    /// Time of the worker's last report, counted from the command to start. Before the
    /// first report, the end of the warm-up.
    heard: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// The worker had not joined when the load was divided among the
    /// workers, and has no share of the load.
    Absent,
    Awaited,
    /// All of the worker's reports have arrived, or no more will come.
    Over,
    Lost,
}

impl RoundState {
    /// Creates the state of a round of `workers` workers. The `lost` workers were lost before the
    /// round; the `absent` workers never joined.
    pub(super) fn new(
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

    /// Processes an event at `now`, and returns the actions in the
    /// order in which to carry them out.
    #[must_use]
    pub(super) fn take(&mut self, now: Duration, input: Input) -> Vec<Action> {
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

    /// Returns whether the round is over: no more reports are expected from any worker.
    #[must_use]
    pub(super) fn is_over(&self) -> bool {
        self.members.iter().all(|member| member.state != State::Awaited)
    }

    /// Returns whether more reports of this round are expected from this worker.
    #[must_use]
    pub(super) fn awaits(&self, worker: u32) -> bool {
        self.is(worker, State::Awaited)
    }

    /// Returns the merged results of all workers so far.
    pub(super) fn series(&mut self) -> &mut GrowingSeries {
        self.collector.series()
    }

    /// Returns the results of the round. For `held` see [`Collector::into_results`].
    #[must_use]
    pub(super) fn into_results(self, held: impl Fn(u32) -> Duration) -> Results {
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
            // The worker was paused or cut off, and continues as if nothing had happened.
            return self.fence(worker);
        }
        if self.is(worker, State::Absent) {
            return self.refuse(format!("worker {worker} has no share of this round"));
        }
        if let Err(reason) = self.check_times(now, &report) {
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

    /// Checks that a report's times are at most [`AHEAD_LIMIT`] in the future, and that its stages
    /// exist: a report may contain anything, and later code relies on its times.
    fn check_times(&self, now: Duration, report: &Report) -> Result<(), String> {
        let (reached, stage) = match &report.news {
            News::Snapshot(snapshot, _) => {
                let seconds = snapshot.intervals.iter().map(|interval| interval.second);
                let stages = snapshot.intervals.iter().map(|interval| interval.stage);
                let reached = Duration::from_secs(seconds.max().unwrap_or(0).into());
                (reached, stages.max().unwrap_or(0))
            }
            News::Finished(finished, _) => (finished.held, 0),
            News::Failed(_) => (Duration::ZERO, 0),
        };
        let worker = report.worker;
        if let News::Snapshot(snapshot, _) = &report.news
            && snapshot.traced.len() > Traces::MOST as usize
        {
            let count = snapshot.traced.len();
            return Err(format!("worker {worker} reported {count} traced requests in a second"));
        }
        if reached > now + AHEAD_LIMIT {
            let (reached, now) = (reached.as_secs(), now.as_secs());
            return Err(format!("worker {worker} reported second {reached} in second {now}"));
        }
        if stage > self.schedule.last_stage {
            return Err(format!("worker {worker} reported stage {stage}, which does not exist"));
        }
        Ok(())
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

    /// Treats a worker as lost. If the worker has already completed this round, the
    /// loss affects only the next rounds.
    fn lose(&mut self, now: Duration, worker: u32, why: String) {
        let was_awaited = self.awaits(worker);
        if !was_awaited && !self.is(worker, State::Over) {
            return;
        }
        self.set(worker, State::Lost);
        let second = now.saturating_sub(self.schedule.measured).as_secs();
        let second = was_awaited.then(|| u32::try_from(second).unwrap_or(u32::MAX));
        let lost = LostWorker { worker, second, why, taken_over: None };
        self.actions.push(Action::Lose(lost.clone()));
        self.fence(worker);
        if was_awaited {
            self.lost.push(lost);
            match self.on_loss {
                OnLoss::Fail => self.stop(now),
                OnLoss::Redistribute if !self.is_stopping => {
                    self.actions.push(Action::TakeOver(worker));
                }
                OnLoss::Continue | OnLoss::Redistribute => {}
            }
        }
    }

    fn fence(&mut self, worker: u32) {
        self.actions.push(Action::Fence(worker));
    }

    /// Enforces the time limits, so that no round hangs: stops a round that is late, and
    /// treats silent and late workers as lost.
    fn check_limits(&mut self, now: Duration) {
        let is_late = self.deadline.is_some_and(|deadline| now > deadline);
        if is_late && !self.is_stopping {
            // The round should have ended by itself; it may still end when told to.
            return self.stop(now);
        }
        for worker in 0..self.collector.workers() {
            let is_silent = now.saturating_sub(self.members[worker as usize].heard) > SILENCE_LIMIT;
            if !self.awaits(worker) || !(is_late || is_silent) {
                continue;
            }
            if self.collector.has_finished(worker) {
                // The worker has done its part; its missing reports show as gaps.
                self.set(worker, State::Over);
            } else if is_late {
                self.lose(now, worker, "it did not end on request".to_owned());
            } else {
                let limit = humantime::format_duration(SILENCE_LIMIT);
                self.lose(now, worker, format!("it sent nothing for {limit}"));
            }
        }
    }
}

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
#[cfg(test)]
mod simulation;
