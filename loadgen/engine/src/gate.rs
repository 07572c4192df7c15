//! Holds the gate that each user passes before each iteration.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::latest_value::LatestValue;
use super::load::{Closed, Open, Turn};
use super::load_change::LoadChange;
use super::plan::{Number, Plan};
use super::round_end::RoundEnd;
use super::senders::{Due, Senders};
use super::takeover::{Place, Takeover};
use loadgen_measure::{SendGaps, Timeline};
use loadgen_scenario::{LoadLevel, Until};

/// Decides when each user may begin an iteration: from the common start to the end of the round,
/// and one user after another during a ramp-up.
pub(super) struct Gate {
    start: Instant,
    timeline: Timeline,
    end: RoundEnd,
    model: Model,
    /// Number of iterations left for all users of the process; `None` unless
    /// a total number of iterations ends the test.
    shared: Option<AtomicU64>,
    /// Number of iterations that each user may begin; `None` unless this number ends the test.
    per_user: Option<u64>,
}

/// Decides when a user begins an iteration.
enum Model {
    Closed(LatestValue<Closed>),
    Open(Box<Senders>),
}

/// A user that asks the gate for permission to begin iterations.
pub(super) struct Visitor<'a> {
    /// Number of the user, in its process and in the whole test.
    pub number: Number,
    /// Place of the user among all users of the load: it sends while the load is more users than that.
    pub place: Place,
    /// Newest version of the closed model that the user has read; `None` before the first reading.
    seen: Option<&'a LatestValue<Closed>>,
}

impl Visitor<'_> {
    /// Creates the visitor for a user that has not asked for an iteration yet.
    #[must_use]
    pub(super) fn new(number: Number, place: Place) -> Self {
        Self { number, place, seen: None }
    }
}

/// Permission to begin an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admitted {
    /// Whether the iteration counts; iterations of the warm-up do not.
    pub counted: bool,
    /// Due time for which the iteration begins; `None` in the closed model. The first request of
    /// the iteration is planned for this time, even if the request is sent later.
    pub due: Option<Due>,
}

impl Gate {
    /// Creates the gate of a round that starts at `start`, and ends as `plan` says or when the gate
    /// is halted. Must be called within a Tokio runtime.
    #[must_use]
    pub(super) fn new(plan: &Plan, start: Instant) -> Self {
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
                // One process may come to have the users of all.
                Model::Open(Box::new(Senders::new(arrivals, load.users, start, end)))
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

    /// Returns when the round begins to count, when the ramp-up ends, and when the round ends.
    #[must_use]
    pub(super) fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Returns the moment that is so long after the common start.
    #[must_use]
    pub(super) fn moment(&self, after: Duration) -> Instant {
        self.start + after
    }

    /// Returns the [`RoundEnd`], which wakes the registered users.
    #[must_use]
    pub(super) fn round_end(&self) -> &RoundEnd {
        &self.end
    }

    /// Ends the round now.
    pub(super) fn halt(&self) {
        self.end.halt();
    }

    /// Changes the load. [`LoadChange::of`] has checked the change against the round's plan.
    pub(super) fn change(&self, change: LoadChange) {
        match (&self.model, change.to) {
            (Model::Closed(closed), LoadLevel::Users(users)) => {
                closed.update(|closed| closed.changed(change.at, users));
            }
            (Model::Open(senders), LoadLevel::Rate(rate)) => senders.change(change.at, rate),
            _ => return,
        }
        self.end.wake();
    }

    /// Deals the arrivals of lost processes to the others. Users of the closed model are dealt by their places.
    pub(super) fn take_over(&self, takeovers: &[Takeover]) {
        if let Model::Open(senders) = &self.model {
            senders.take_over(takeovers);
            self.end.wake();
        }
    }

    /// Whether the round was ended early.
    #[must_use]
    pub(super) fn is_halted(&self) -> bool {
        self.end.is_halted()
    }

    /// Whether no iteration is left to begin, so that no user has to wait for its turn.
    #[must_use]
    pub(super) fn is_spent(&self) -> bool {
        self.end.is_spent()
    }

    /// Whether a user that has begun `begun` counted iterations finds none left to begin.
    #[must_use]
    pub(super) fn has_none_left(&self, begun: u64) -> bool {
        self.per_user.is_some_and(|each| begun >= each)
            || self.shared.as_ref().is_some_and(|left| left.load(Ordering::Relaxed) == 0)
    }

    /// Waits until `user` may begin another iteration. Returns `None` if no iteration
    /// is left for the user. `begun` is the number of counted iterations that the user
    /// has begun, and `now` the user's last clock reading.
    pub(super) async fn admit<'a>(
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
                // Boxed, so that users of the closed model do not carry the memory of this future.
                let due = Box::pin(senders.next(user.number.local, alarm)).await?;
                Some(Admitted { counted: due.counted, due: Some(due) })
            }
        }
    }

    /// Waits until `user` may send its start steps, which each user sends once before
    /// its iterations. In the open model, all users send their start steps from the
    /// start of the round on, so that each user is ready when needed. Returns whether
    /// the start steps count, or `None` if the round ends first.
    pub(super) async fn turn_to_start<'a>(
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

    /// Waits until `user` may send in the closed model. Returns `true` if the requests count,
    /// `false` in the warm-up, and `None` if the user must send no more.
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
                Some(elapsed) => closed.value().turn(user.place.number, elapsed),
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

    /// Ends the iterations of all users, because a data file has no row left for the `admitted`
    /// iteration or any later iteration.
    pub(super) fn run_out(&self, admitted: Admitted) {
        if let (Model::Open(senders), Some(due)) = (&self.model, admitted.due) {
            senders.give_back(due);
        }
        self.end.spend();
    }

    /// Whether the load model is open: requests are planned by the clock, and may be sent late.
    #[must_use]
    pub(super) fn is_open(&self) -> bool {
        matches!(self.model, Model::Open(_))
    }

    /// Returns the requests that were due by `now`, and before the end of the round, but that no
    /// user was free to send. Call this method only after the round has ended.
    pub(super) fn unsent(&self, now: Instant) -> Vec<Due> {
        match &self.model {
            Model::Closed(_) => Vec::new(),
            Model::Open(senders) => senders.unsent(now),
        }
    }

    /// Records that a request of the open model was sent, if it was planned for the hold.
    pub(super) fn record_send(&self, planned: Instant, sent: Instant) {
        if let Model::Open(senders) = &self.model
            && planned >= self.timeline.full
        {
            senders.record_send(planned, sent);
        }
    }

    /// Returns the gaps between the sends of the hold; empty in the closed model.
    #[must_use]
    pub(super) fn take_gaps(&self) -> SendGaps {
        match &self.model {
            Model::Closed(_) => SendGaps::default(),
            Model::Open(senders) => senders.take_gaps(),
        }
    }

    /// Whether the round is over at `now`, so that no more requests are sent.
    #[must_use]
    pub(super) fn is_closed(&self, now: Instant) -> bool {
        self.is_halted() || self.timeline.end.is_some_and(|end| now >= end)
    }

    /// Returns when the sending of requests ends; `None` unless time ends the round.
    #[must_use]
    pub(super) fn end(&self) -> Option<Instant> {
        self.timeline.end
    }

    /// Returns when the load ended, if the last user ended at `left`. In the open model, users end
    /// after the last planned request, a little before the end of the round. Unless the round was
    /// cut short, the load then lasts until the end of the round.
    #[must_use]
    pub(super) fn ended(&self, left: Instant) -> Instant {
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
