//! Measures how late this process reads what has arrived, while it reads streams.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::timer::Timer;
use loadgen_measure::{Latencies, Timeline};

/// Interval between two samples: a fraction of the 5 ms within which the times of events are promised.
const EVERY: Duration = Duration::from_millis(2);

/// Delay with which this process notices a kernel timer that has fired. The timer waits as the sockets
/// do: for a CPU, for the thread that asks the kernel what is ready, and for the users that are ready
/// before it. Samples are taken until this value is dropped.
#[derive(Debug, Default)]
pub(super) struct ReadingLag {
    samples: Arc<Mutex<Latencies>>,
    /// The task that takes the samples, as users are tasks.
    _sampling: JoinSet<()>,
}

impl ReadingLag {
    /// Takes samples during the hold of a round. Must be called within a Tokio runtime.
    pub(super) fn start(timeline: Timeline) -> Self {
        let (samples, mut sampling) = (Arc::<Mutex<Latencies>>::default(), JoinSet::new());
        sampling.spawn(sample(timeline, samples.clone()));
        Self { samples, _sampling: sampling }
    }

    /// Returns the samples so far, and forgets them.
    pub(super) fn take(&self) -> Latencies {
        mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn sample(timeline: Timeline, samples: Arc<Mutex<Latencies>>) {
    let timer = Timer::new();
    tokio::time::sleep_until(timeline.full.into()).await;
    let mut due = timeline.full.max(Instant::now());
    while timeline.end.is_none_or(|end| due < end) {
        // Moments that a stall has delayed are each a sample, because each might have been a read.
        due += EVERY;
        timer.sleep_until(due).await;
        let late = due.elapsed();
        samples.lock().unwrap_or_else(PoisonError::into_inner).record(late);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stalled_thread_reads_late_again_and_again() {
        let start = Instant::now();
        let lag = ReadingLag::start(Timeline { measured: start, full: start, end: None });
        let stall = Duration::from_millis(100);
        tokio::time::sleep(4 * EVERY).await;
        let begun = Instant::now();
        // Blocks the only thread of this runtime.
        while begun.elapsed() < stall {
            std::hint::spin_loop();
        }
        tokio::time::sleep(4 * EVERY).await;
        let samples = lag.take();
        // Every 2 ms of the stall one sample, of 0 to 100 ms: half of all are 50 ms late or more.
        let late = Duration::from_micros(samples.quantile(0.5).unwrap());
        assert!(late >= stall / 3, "{late:?}");
        assert!(samples.max() >= Some(90_000) && samples.len() >= 50, "{samples:?}");
    }

    #[tokio::test]
    async fn only_the_hold_is_sampled() {
        let start = Instant::now();
        let timeline = Timeline { measured: start, full: start + 20 * EVERY, end: Some(start) };
        let lag = ReadingLag::start(timeline);
        tokio::time::sleep(40 * EVERY).await;
        assert!(lag.take().is_empty());
    }
}
