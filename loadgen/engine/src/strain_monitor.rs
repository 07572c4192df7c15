//! Monitors the strain on this process: its CPU time, and the lateness of its timers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use loadgen_measure::StrainSample;

/// Interval of the monitored timer: short enough to notice every long delay of this process, and
/// long enough to cost next to nothing.
const EVERY: Duration = Duration::from_millis(20);

/// Monitor of this process's CPU use and timer delays, which stops when dropped.
pub(super) struct StrainMonitor {
    since: Instant,
    /// CPU time that this process had used at the time `since`.
    cpu: Duration,
    /// Greatest lateness of the monitored timer since the time `since`, in µs.
    latest: Arc<AtomicU64>,
    /// Background task that runs the monitored timer, and ends when this value is dropped.
    _watching: JoinSet<()>,
}

impl StrainMonitor {
    /// Starts to monitor this process. Requires a Tokio runtime.
    pub(super) fn start() -> Self {
        let latest = Arc::<AtomicU64>::default();
        let mut watching = JoinSet::new();
        watching.spawn(watch(latest.clone()));
        Self { since: Instant::now(), cpu: cpu_time(), latest, _watching: watching }
    }

    /// Returns the strain on this process (CPU use and timer delays) since
    /// the last call, or since the start.
    pub(super) fn take(&mut self) -> StrainSample {
        let (now, cpu) = (Instant::now(), cpu_time());
        let sample = StrainSample {
            elapsed: now - self.since,
            cpu: cpu.saturating_sub(self.cpu),
            cpus: cpus(),
            lag: Duration::from_micros(self.latest.swap(0, Ordering::Relaxed)),
        };
        (self.since, self.cpu) = (now, cpu);
        sample
    }
}

async fn watch(latest: Arc<AtomicU64>) {
    loop {
        let due = Instant::now() + EVERY;
        tokio::time::sleep_until(due.into()).await;
        let late = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
        latest.fetch_max(late, Ordering::Relaxed);
    }
}

/// Returns the user and system time of all threads of this process so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // The seconds are never negative, and the nanoseconds are less than a second.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Returns the number of CPUs that this process may use, by its
/// affinity mask and its control group.
fn cpus() -> u32 {
    thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_blocked_thread_is_reported_late_with_its_cpu_time() {
        let mut monitor = StrainMonitor::start();
        tokio::time::sleep(3 * EVERY).await;
        let began = Instant::now();
        // Blocks the only thread of this runtime.
        while began.elapsed() < Duration::from_millis(200) {
            std::hint::spin_loop();
        }
        tokio::time::sleep(EVERY).await;
        let busy = monitor.take();
        assert!(busy.lag >= Duration::from_millis(200) - EVERY, "{busy:?}");
        assert!(busy.elapsed >= Duration::from_millis(280), "{busy:?}");
        assert!(busy.cpu > Duration::ZERO && busy.cpus >= 1, "{busy:?}");
        assert_eq!(monitor.take().lag, Duration::ZERO, "each is told once");
    }
}
