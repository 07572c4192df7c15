//! Wakes a waiting user early: at its request's timeout or at the end of the round.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use tokio::task::coop::has_budget_remaining;
use tokio::time::{Sleep, sleep_until};

use super::round_end::RoundEnd;

/// Reason why a wait was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rang {
    /// The request's deadline has passed.
    Deadline,
    /// The round was ended early.
    Halted,
    /// The time in which requests may finish after the round's end is
    /// over: the drain, or the granted grace period.
    Drained,
}

/// Ends a user's waits early: at a request's timeout, or at the end of the round.
///
/// No request sets its own timer. One timer keeps running, and is reset only when the timer fires
/// or would fire too late. The alarm therefore costs a request almost nothing.
pub(super) struct Alarm<'a> {
    end: &'a RoundEnd,
    timer: Pin<Box<Sleep>>,
    /// Moment at which the timer fires; `None` before the first wait.
    set_for: Option<Instant>,
    /// Waker of the user's task that is registered with `end`; `None` before the first wait.
    registered: Option<Waker>,
    /// Moment at which in-flight requests are cut, even if the round was
    /// ended early; `None` without a grace period.
    grace: Option<Instant>,
}

impl<'a> Alarm<'a> {
    pub(super) fn new(end: &'a RoundEnd, now: Instant) -> Self {
        let timer = Box::pin(sleep_until(now.into()));
        Self { end, timer, set_for: None, registered: None, grace: None }
    }

    /// Allows requests until `grace`, regardless of the end of the round.
    pub(super) fn grant(&mut self, grace: Instant) {
        self.grace = Some(grace);
    }

    /// Whether a grace period was granted, in which requests are sent after the end of the round.
    pub(super) fn has_grace(&self) -> bool {
        self.grace.is_some()
    }

    /// Awaits `work` until `deadline` at most. Returns the reason if the deadline or the end of the
    /// round cuts the wait short. `now` is the last reading of the clock.
    pub(super) async fn guard<T>(
        &mut self,
        now: Instant,
        deadline: Instant,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Result<T, Rang> {
        let due = self.grace.or(self.end.cut_at()).map_or(deadline, |cut| cut.min(deadline));
        // The timer wakes the user when it fires. A timer that fires after `now`, and not after
        // `due`, therefore needs no poll until something has woken the user.
        let mut is_set = self.set_for.is_some_and(|set| set > now && set <= due);
        poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                Poll::Ready(Ok(done))
            } else if mem::take(&mut is_set)
                && self.is_registered(context)
                && !self.end.is_halted()
                && has_budget_remaining()
            {
                Poll::Pending
            } else if self.is_halted(context) {
                Poll::Ready(Err(Rang::Halted))
            } else if self.is_due(due, context) {
                Poll::Ready(Err(if due < deadline { Rang::Drained } else { Rang::Deadline }))
            } else {
                Poll::Pending
            }
        })
        .await
    }

    /// Awaits `work`. Returns `None` if the round is halted first.
    pub(super) async fn unless_halted<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if self.is_halted(context) {
                Poll::Ready(None)
            } else {
                work.as_mut().poll(context).map(Some)
            }
        })
        .await
    }

    /// Waits until `then`, and returns `true`. Returns `false` if the round is halted first.
    pub(super) async fn sleep_until(&mut self, then: Instant) -> bool {
        self.wait(then, || false, |_| false).await
    }

    /// Waits until `then`, or until `changed` returns `true`, and returns `true`. Returns `false`
    /// if the round is halted first, or if no iteration is left.
    pub(super) async fn wait_for_turn(
        &mut self,
        then: Instant,
        changed: impl Fn() -> bool,
    ) -> bool {
        self.wait(then, changed, RoundEnd::is_spent).await
    }

    async fn wait(
        &mut self,
        then: Instant,
        is_enough: impl Fn() -> bool,
        is_in_vain: impl Fn(&RoundEnd) -> bool,
    ) -> bool {
        poll_fn(|context| {
            if self.is_halted(context) || is_in_vain(self.end) {
                Poll::Ready(false)
            } else if is_enough() || self.is_due(then, context) {
                Poll::Ready(true)
            } else {
                Poll::Pending
            }
        })
        .await
    }

    /// Whether the round was halted and no grace period was granted. Also registers the user to be
    /// woken by a halt, only once, because the registration takes a lock.
    fn is_halted(&mut self, context: &mut Context<'_>) -> bool {
        if !self.is_registered(context) {
            self.end.register(context.waker().clone());
            self.registered = Some(context.waker().clone());
        }
        self.end.is_halted() && !self.has_grace()
    }

    fn is_registered(&self, context: &Context<'_>) -> bool {
        self.registered.as_ref().is_some_and(|waker| waker.will_wake(context.waker()))
    }

    fn is_due(&mut self, due: Instant, context: &mut Context<'_>) -> bool {
        if self.set_for.is_none_or(|set| set > due) {
            self.set(due);
        }
        while self.timer.as_mut().poll(context).is_ready() {
            if self.set_for == Some(due) {
                return true;
            }
            self.set(due);
        }
        // Work that always finds more to read uses up the budget of the task, without which no timer is
        // ready.
        !has_budget_remaining() && Instant::now() >= due
    }

    fn set(&mut self, due: Instant) {
        self.set_for = Some(due);
        self.timer.as_mut().reset(due.into());
    }
}

#[cfg(test)]
mod tests;
