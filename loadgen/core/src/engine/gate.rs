//! The gate that each user passes before each iteration.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::latest_value::LatestValue;
use super::load::{Closed, Open, Turn};
use super::load_change::LoadChange;
use super::plan::{Number, Plan};
use super::round_end::RoundEnd;
use super::senders::{Due, Senders};
use crate::measure::Timeline;
use crate::scenario::{LoadLevel, Until};

/// Lets users through: at the common start, in the order of the ramp, until the end.
pub struct Gate {
    start: Instant,
    timeline: Timeline,
    /// When and how the round ends.
    end: RoundEnd,
    model: Model,
    /// Iterations that users may still begin together; `None` where time ends the test.
    shared: Option<AtomicU64>,
    /// Iterations of each user.
    per_user: Option<u64>,
}

/// Who decides when a user begins an iteration.
enum Model {
    Closed(LatestValue<Closed>),
    Open(Box<Senders>),
}

/// A user at the gate.
pub struct Visitor<'a> {
    /// Which one.
    pub number: Number,
    /// The newest version of the closed model that it has seen.
    seen: Option<&'a LatestValue<Closed>>,
}

impl Visitor<'_> {
    /// One that has not been at the gate yet.
    #[must_use]
    pub fn new(number: Number) -> Self {
        Self { number, seen: None }
    }
}

/// Leave to begin an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// Whether it counts; those of the warm-up don't.
    pub counted: bool,
    /// The arrival that it is, in the open model: its first request should be sent at another time
    /// than now.
    pub due: Option<Due>,
}

impl Gate {
    /// A gate that opens at `start` and closes as `plan` says, or when it is halted; within a Tokio
    /// runtime.
    #[must_use]
    pub fn new(plan: &Plan, start: Instant) -> Self {
        let load = &plan.scenario.load;
        let measured = start + plan.warmup;
        let full = measured + plan.ramp_up();
        let end = load.held().map(|held| full + held);
        let (mut shared, mut per_user) = (None, None);
        match load.until {
            Until::Duration(_) | Until::Stages(_) => {}
            Until::Iterations(all) => {
                shared = Some(AtomicU64::new(plan.share.iterations(all, load.users)));
            }
            Until::IterationsPerUser(each) => per_user = Some(each),
        }
        let model = match Open::new(plan) {
            None => Model::Closed(LatestValue::new(Closed::new(load, plan.warmup))),
            Some(arrivals) => {
                let users = plan.share.users(load.users);
                Model::Open(Box::new(Senders::new(arrivals, users, start, end)))
            }
        };
        Self {
            start,
            timeline: Timeline { measured, full, end },
            end: RoundEnd::new(end.map(|end| end + load.drain)),
            model,
            shared,
            per_user,
        }
    }

    /// The marks of the round.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// The end of the round.
    #[must_use]
    pub fn round_end(&self) -> &RoundEnd {
        &self.end
    }

    /// Ends the round now.
    pub fn halt(&self) {
        self.end.halt();
    }

    /// Changes the load. The round's plan was asked whether that has a meaning.
    pub fn change(&self, change: LoadChange) {
        match (&self.model, change.to) {
            (Model::Closed(closed), LoadLevel::Users(users)) => {
                closed.update(|closed| closed.changed(change.at, users));
            }
            (Model::Open(senders), LoadLevel::Rate(rate)) => senders.change(change.at, rate),
            _ => return,
        }
        self.end.wake();
    }

    /// Whether the round was ended early.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.end.is_halted()
    }

    /// Whether no iteration is left to begin, so that nobody need wait for its turn.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.end.is_spent()
    }

    /// Waits until `user` may begin another iteration, of which it has begun `begun` that count;
    /// `None` when there is none for it. `now` is what its clock showed last.
    pub async fn admit<'a>(
        &'a self,
        user: &mut Visitor<'a>,
        begun: u64,
        now: Instant,
        alarm: &mut Alarm<'_>,
    ) -> Option<Admitted> {
        match &self.model {
            Model::Closed(closed) => {
                let counted = self.turn(closed, user, now, alarm).await?;
                let taken = !counted || self.take_iteration(begun);
                taken.then_some(Admitted { counted, due: None })
            }
            Model::Open(senders) => {
                // Apart, so that users of the closed model don't carry the memory for it.
                let due = Box::pin(senders.next(user.number.local, alarm)).await?;
                Some(Admitted { counted: due.counted, due: Some(due) })
            }
        }
    }

    /// Waits until this user may send what it sends before its first iteration: in the open model from
    /// the beginning on, so that it is ready when it is needed. Whether that counts; `None` where it
    /// is too late.
    pub async fn turn_to_start<'a>(
        &'a self,
        user: &mut Visitor<'a>,
        now: Instant,
        alarm: &mut Alarm<'_>,
    ) -> Option<bool> {
        match &self.model {
            Model::Closed(closed) => self.turn(closed, user, now, alarm).await,
            Model::Open(_) => {
                let went_on = alarm.sleep_until(self.start).await;
                let now = now.max(self.start);
                (went_on && !self.is_closed(now)).then_some(now >= self.timeline.measured)
            }
        }
    }

    /// Waits until it is the turn of `user` in the closed model, and says whether what it sends
    /// counts.
    async fn turn<'a>(
        &'a self,
        first: &'a LatestValue<Closed>,
        user: &mut Visitor<'a>,
        mut now: Instant,
        alarm: &mut Alarm<'_>,
    ) -> Option<bool> {
        loop {
            let closed = user.seen.unwrap_or(first).newest();
            user.seen = Some(closed);
            let counted = now >= self.timeline.measured;
            let turn = match now.checked_duration_since(self.start) {
                None => Turn::At(Duration::ZERO),
                Some(elapsed) => closed.value().turn(user.number.global, elapsed),
            };
            match turn {
                Turn::Over => return None,
                Turn::At(then) => {
                    let changed = || closed.is_old();
                    if !alarm.wait_for_turn(self.start + then, changed).await {
                        return None;
                    }
                    now = Instant::now();
                }
                Turn::Now if self.is_halted() => return None,
                Turn::Now => return Some(counted),
            }
        }
    }

    /// Ends the iterations of all users: there is no row for the one that was `admitted`, nor for
    /// any after it.
    pub fn run_out(&self, admitted: Admitted) {
        if let (Model::Open(senders), Some(due)) = (&self.model, admitted.due) {
            senders.give_back(due);
        }
        self.end.spend();
    }

    /// Whether requests are planned by the clock, and may be sent later than that.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.model, Model::Open(_))
    }

    /// The requests whose time came until `now`, or the end of the round, and which nobody was free
    /// to send. The round has ended.
    pub fn unsent(&self, now: Instant) -> Vec<Due> {
        match &self.model {
            Model::Closed(_) => Vec::new(),
            Model::Open(senders) => senders.unsent(now),
        }
    }

    /// Whether the round is over at `now`, so that nothing more is sent.
    #[must_use]
    pub fn is_closed(&self, now: Instant) -> bool {
        self.is_halted() || self.timeline.end.is_some_and(|end| now >= end)
    }

    /// When nothing more is sent, where time ends the round.
    #[must_use]
    pub fn end(&self) -> Option<Instant> {
        self.timeline.end
    }

    /// When the load ended, of which the last user left at `left`. In the open model users leave
    /// when no request is to come any more before the end, which is a little earlier.
    #[must_use]
    pub fn ended(&self, left: Instant) -> Instant {
        let to_its_end = self.is_open() && !self.is_halted() && !self.is_spent();
        self.timeline.end.filter(|_| to_its_end).map_or(left, |end| end.max(left))
    }

    fn take_iteration(&self, begun: u64) -> bool {
        if self.per_user.is_some_and(|each| begun >= each) {
            return false;
        }
        let Some(left) = &self.shared else { return true };
        let taken = left.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if taken.is_err() {
            self.end.spend();
        }
        taken.is_ok()
    }
}
