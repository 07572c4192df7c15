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
    use std::time::Duration;

    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    pub(super) struct Descriptor(AsyncFd<OwnedFd>);

    impl Descriptor {
        #[expect(
            deprecated,
            reason = "the other constructors are unsafe: they ask for what an owned descriptor gives"
        )]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            Ok(Self(AsyncFd::with_interest(timer, Interest::READABLE)?))
        }

        pub(super) async fn sleep(&self, time: Duration) -> io::Result<()> {
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            // Setting the timer discards an earlier expiry.
            let once =
                Itimerspec { it_interval: never, it_value: time.try_into().unwrap_or(never) };
            timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::empty(), &once)?;
            // Polled by hand, to keep this future small: each user carries its memory.
            poll_fn(|context| {
                loop {
                    let mut ready = ready!(self.0.poll_read_ready(context))?;
                    let read = |timer: &AsyncFd<OwnedFd>| {
                        Ok(rustix::io::read(timer.get_ref(), &mut [0; 8])?)
                    };
                    if let Ok(read) = ready.try_io(read) {
                        return Poll::Ready(read.map(drop));
                    }
                }
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
        let left = then.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.kernel
            && timer.sleep(left).await.is_ok()
        {
            return;
        }
        Box::pin(tokio::time::sleep_until(then.into())).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[tokio::test]
    async fn a_timer_can_be_dropped_and_set_again() {
        let timer = Timer::new();
        let short = Duration::from_millis(1);
        let given_up = timer.sleep_until(Instant::now() + 20 * short);
        assert!(tokio::time::timeout(short, given_up).await.is_err());
        // The earlier moment is long past when the timer is used again.
        tokio::time::sleep(50 * short).await;
        let then = Instant::now() + 20 * short;
        timer.sleep_until(then).await;
        assert!(Instant::now() >= then);
        timer.sleep_until(then).await;
    }
}
