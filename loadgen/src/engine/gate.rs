//! The gate that each user passes before each iteration.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use super::alarm::Alarm;
use super::load::{Closed, Turn};
use super::plan::Plan;
use crate::measure::Timeline;
use crate::scenario::Until;

/// How long answers may still come after the end of a round. They are cancelled in the count;
/// waiting for them tells what they did to the server.
const DRAIN: Duration = Duration::from_secs(3);

/// Lets users through: at the common start, in the order of the ramp, until the end.
pub struct Gate {
    start: Instant,
    timeline: Timeline,
    closed: Closed,
    /// Iterations that users may still begin together; `None` where time ends the test.
    shared: Option<AtomicU64>,
    /// Iterations of each user.
    per_user: Option<u64>,
    /// Cancelled when no shared iteration is left: nobody need wait for its turn any more.
    spent: CancellationToken,
    /// Whether the round was ended early. Users look at it at each request: a flag, and no lock.
    halted: AtomicBool,
    halt: Notify,
}

/// Leave to begin an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// Whether it counts; those of the warm-up don't.
    pub counted: bool,
}

impl Gate {
    /// A gate that opens at `start` and closes as `plan` says, or when it is halted.
    #[must_use]
    pub fn new(plan: &Plan, start: Instant) -> Self {
        let load = &plan.scenario.load;
        let measured = start + plan.warmup;
        let full = measured + plan.ramp_up();
        let (mut end, mut shared, mut per_user) = (None, None, None);
        match load.until {
            Until::Duration(duration) => end = Some(full + duration),
            Until::Iterations(all) => {
                shared = Some(AtomicU64::new(plan.share.iterations(all, load.users)));
            }
            Until::IterationsPerUser(each) => per_user = Some(each),
        }
        Self {
            start,
            timeline: Timeline { measured, full, end },
            closed: Closed::new(load, plan.warmup),
            shared,
            per_user,
            spent: CancellationToken::new(),
            halted: AtomicBool::new(false),
            halt: Notify::new(),
        }
    }

    /// The marks of the round.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Ends the round now.
    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
        self.halt.notify_waiters();
    }

    /// Whether the round was ended early.
    #[must_use]
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Completes when the round is ended early, from now on.
    pub fn halted(&self) -> Notified<'_> {
        self.halt.notified()
    }

    /// Waits until `user`, numbered over the whole test, may begin another iteration, of which it
    /// has begun `begun` that count; `None` when there is none for it. `now` is what its clock
    /// showed last.
    pub async fn admit(
        &self,
        user: u32,
        begun: u64,
        mut now: Instant,
        alarm: &mut Alarm<'_>,
    ) -> Option<Admitted> {
        loop {
            let counted = now >= self.timeline.measured;
            let turn = match now.checked_duration_since(self.start) {
                None => Turn::At(Duration::ZERO),
                Some(elapsed) => self.closed.turn(user, elapsed),
            };
            match turn {
                Turn::Over => return None,
                Turn::At(then) if !self.wait_until(self.start + then, alarm).await => return None,
                Turn::At(_) => now = Instant::now(),
                Turn::Now if self.is_halted() => return None,
                Turn::Now if counted && !self.take_iteration(begun) => return None,
                Turn::Now => return Some(Admitted { counted }),
            }
        }
    }

    /// Whether the round is over at `now`, so that nothing more is sent.
    #[must_use]
    pub fn is_closed(&self, now: Instant) -> bool {
        self.is_halted() || self.timeline.end.is_some_and(|end| now >= end)
    }

    /// When requests that are still under way are given up: a little after the round's end.
    #[must_use]
    pub fn cut_at(&self) -> Option<Instant> {
        self.timeline.end.map(|end| end + DRAIN)
    }

    /// Whether `then` came before the round was halted, and before all iterations were taken.
    async fn wait_until(&self, then: Instant, alarm: &mut Alarm<'_>) -> bool {
        tokio::select! {
            biased;
            came = alarm.wait_until(then) => came,
            () = self.spent.cancelled() => false,
        }
    }

    fn take_iteration(&self, begun: u64) -> bool {
        if self.per_user.is_some_and(|each| begun >= each) {
            return false;
        }
        let Some(left) = &self.shared else { return true };
        let taken = left.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        if taken.is_err() {
            self.spent.cancel();
        }
        taken.is_ok()
    }
}
