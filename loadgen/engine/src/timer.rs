//! Provides a timer with a resolution of microseconds. Tokio's own timer counts milliseconds, and
//! would send each request of the open model up to one millisecond too late.

use std::time::Instant;

/// A timer that fires at a given moment, for one waiter at a time.
///
/// On Linux, uses a kernel timer (`timerfd_create(2)`) that Tokio awaits like a socket. On other
/// systems, uses Tokio's own timer.
pub(super) struct Timer {
    #[cfg(target_os = "linux")]
    kernel: Option<linux::Descriptor>,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::future::poll_fn;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::task::{Poll, ready};
    use std::time::{Duration, Instant};

    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec,
        clock_gettime, timerfd_create, timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    pub(super) struct Descriptor {
        timer: AsyncFd<OwnedFd>,
        /// One moment, by both names that it has: an `Instant` does not tell its time.
        moment: (Instant, Duration),
    }

    impl Descriptor {
        #[expect(
            deprecated,
            reason = "the other constructors are unsafe: they ask for what an owned descriptor gives"
        )]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            let timer = AsyncFd::with_interest(timer, Interest::READABLE)?;
            let here = Instant::now();
            // Read second, so that the timer is never early.
            let there = clock_gettime(ClockId::Monotonic);
            let there = there.try_into().map_err(io::Error::other)?;
            Ok(Self { timer, moment: (here, there) })
        }

        /// Completes at `then`. The kernel gets the moment rather than the time until then, so that
        /// a pause of this thread before the call delays nothing.
        pub(super) async fn sleep_until(&self, then: Instant) -> io::Result<()> {
            let (here, there) = self.moment;
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let at = there + then.saturating_duration_since(here);
            let once = Itimerspec {
                it_interval: never,
                it_value: at.try_into().map_err(io::Error::other)?,
            };
            // Setting the timer also discards an earlier expiry. No expiry is read, therefore: each
            // one wakes this task anew, and reading would be a system call for every request.
            timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &once)?;
            // Polled by hand, to keep this future small: each user carries its memory.
            poll_fn(|context| {
                while Instant::now() < then {
                    ready!(self.timer.poll_read_ready(context))?.clear_ready();
                }
                Poll::Ready(Ok(()))
            })
            .await
        }
    }
}

impl Timer {
    /// Creates a timer that is not set. Must be called within a Tokio runtime. Falls back to
    /// Tokio's timer if the kernel has none available.
    pub(super) fn new() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            kernel: linux::Descriptor::new().ok(),
        }
    }

    /// Completes at `then`, or at once if `then` is past.
    pub(super) async fn sleep_until(&self, then: Instant) {
        if then <= Instant::now() {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.kernel
            && timer.sleep_until(then).await.is_ok()
        {
            return;
        }
        Box::pin(tokio::time::sleep_until(then.into())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;
    use std::time::Duration;

    #[tokio::test]
    async fn a_timer_fires_at_its_time_and_not_before() {
        let timer = Timer::new();
        for us in [50, 300, 5_000] {
            let then = Instant::now() + Duration::from_micros(us);
            timer.sleep_until(then).await;
            let late = Instant::now().checked_duration_since(then).expect("not too early");
            assert!(late < Duration::from_secs(5), "{late:?}");
        }
    }

    /// An expiry that nobody waited for must not be taken for the next one, nor hide it.
    #[tokio::test]
    async fn expiries_in_quick_succession_are_each_seen() {
        let timer = Timer::new();
        let mut then = Instant::now();
        for n in 0..2_000 {
            then += Duration::from_micros(20 + n % 100);
            let waits = tokio::time::timeout(Duration::from_secs(5), timer.sleep_until(then));
            waits.await.expect("the expiry wakes the task");
            assert!(Instant::now() >= then);
        }
    }

    #[tokio::test]
    async fn a_timer_can_be_dropped_and_set_again() {
        let timer = Timer::new();
        let wait = Duration::from_millis(200);
        let earlier = Instant::now() + wait;
        {
            // Polled once, as a timeout on a stalled machine may come after the moment itself.
            let mut given_up = pin!(timer.sleep_until(earlier));
            let polled = poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context))).await;
            assert!(polled.is_pending());
        }
        // The earlier moment is past when the timer is used again.
        tokio::time::sleep_until((earlier + wait).into()).await;
        let then = Instant::now() + wait;
        timer.sleep_until(then).await;
        assert!(Instant::now() >= then);
        timer.sleep_until(then).await;
    }
}
