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
    /// Ends the round early.
    stop: CancellationToken,
}

impl Gate {
    /// A gate that opens at `start` and closes as `plan` says, or when `stop` is cancelled.
    #[must_use]
    pub fn new(plan: &Plan, start: Instant, stop: CancellationToken) -> Self {
        let load = &plan.scenario.load;
        let measured = start + plan.warmup;
        let full = measured + load.ramp_up;
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
            stop,
        }
    }

    /// The marks of the round.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Waits until `user`, numbered over the whole test, may begin another iteration, of which it
    /// has begun `begun` since the warm-up; `false` when there is none for it. What it begins in
    /// the warm-up is not taken from the iterations.
    pub async fn admit(&self, user: u32, begun: u64) -> bool {
        if !self.wait_until(self.start).await {
            return false;
        }
        loop {
            let now = Instant::now();
            match self.closed.turn(user, now - self.start) {
                Turn::Over => return false,
                Turn::At(then) if !self.wait_until(self.start + then).await => return false,
                Turn::At(_) => {}
                Turn::Now => {
                    return !self.stop.is_cancelled()
                        && (now < self.timeline.measured || self.take_iteration(begun));
                }
            }
        }
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

    /// Whether `instant` came before the stop.
    async fn wait_until(&self, instant: Instant) -> bool {
        if Instant::now() >= instant {
            return true;
        }
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep_until(instant.into()) => true,
        }
    }

    fn take_iteration(&self, begun: u64) -> bool {
        self.per_user.is_none_or(|each| begun < each)
            && self.shared.as_ref().is_none_or(|left| {
                left.try_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
            })
    }
}
