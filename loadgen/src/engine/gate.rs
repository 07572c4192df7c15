//! The gate that each user passes before each iteration.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

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
    /// Ends the round early.
    stop: CancellationToken,
}

/// Leave to begin an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admitted {
    /// Whether it counts; those of the warm-up don't.
    pub counted: bool,
}

impl Gate {
    /// A gate that opens at `start` and closes as `plan` says, or when `stop` is cancelled.
    #[must_use]
    pub fn new(plan: &Plan, start: Instant, stop: CancellationToken) -> Self {
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
            stop,
        }
    }

    /// The marks of the round.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Waits until `user`, numbered over the whole test, may begin another iteration, of which it
    /// has begun `begun` that count; `None` when there is none for it.
    pub async fn admit(&self, user: u32, begun: u64) -> Option<Admitted> {
        if !self.wait_until(self.start).await {
            return None;
        }
        loop {
            let now = Instant::now();
            let counted = now >= self.timeline.measured;
            match self.closed.turn(user, now - self.start) {
                Turn::Over => return None,
                Turn::At(then) if !self.wait_until(self.start + then).await => return None,
                Turn::At(_) => {}
                Turn::Now if self.stop.is_cancelled() => return None,
                Turn::Now if counted && !self.take_iteration(begun) => return None,
                Turn::Now => return Some(Admitted { counted }),
            }
        }
    }

    /// Whether the round is over, so that nothing more is sent.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.stop.is_cancelled() || self.timeline.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Completes when requests that are still under way must be given up: at once when the round
    /// is stopped, a little after its end otherwise.
    pub fn cut(&self) -> impl Future<Output = ()> + Send + use<> {
        let stop = self.stop.clone().cancelled_owned();
        let last = self.timeline.end.map(|end| tokio::time::Instant::from_std(end + DRAIN));
        async move {
            match last {
                Some(last) => tokio::select! {
                    () = stop => {}
                    () = tokio::time::sleep_until(last) => {}
                },
                None => stop.await,
            }
        }
    }

    /// Whether `instant` came before the stop, and before all iterations were taken.
    async fn wait_until(&self, instant: Instant) -> bool {
        if Instant::now() >= instant {
            return true;
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = self.spent.cancelled() => false,
            () = tokio::time::sleep_until(instant.into()) => true,
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
