//! Sums up the strain on a worker (CPU use, waits for a CPU, and late timers), which shows whether the measured
//! latencies are still the server's alone, and whether the worker could have sent more.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::timeline::Phase;

/// Lateness of a timer from which the second of the timer counts as late. A worker that is delayed
/// for 50 ms, 5 % of a second, sees one in twenty responses of that second late: the p95 is then no
/// longer the server's.
pub const LATE: Duration = Duration::from_millis(50);

/// Strain on a worker (CPU use and late timers) during about a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StrainSample {
    /// Time that the sample covers.
    pub elapsed: Duration,
    /// CPU time that the worker's process used, user and system.
    pub cpu: Duration,
    /// Time for which the threads of the worker's process waited for a CPU, together.
    pub waited: Duration,
    /// Time for which the CPUs that the worker's process may use were busy with any program, together: at most
    /// `elapsed` times `cpus`. `None` where the system does not tell.
    pub busy: Option<Duration>,
    /// Number of CPUs that the worker's process may use.
    pub cpus: u32,
    /// Greatest lateness of a timer in the worker's process.
    pub lag: Duration,
    /// Periods of a limit of CPU, of mostly 100 ms, in which the worker's process wanted a CPU; zero without a limit.
    pub periods: u32,
    /// Periods of these in which the limit stopped it.
    pub throttled: u32,
}

/// Sum of strain samples, independent of the order of the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strain {
    /// CPU time that the worker's process could have used: elapsed time multiplied by the CPUs.
    available: Duration,
    cpu: Duration,
    waited: Duration,
    busy: Duration,
    /// Part of `available` for which `busy` is known.
    observed: Duration,
    lag: Duration,
    lag_max: Duration,
    seconds: u32,
    late_seconds: u32,
    periods: u32,
    throttled: u32,
}

impl Strain {
    /// Whether the strain on a worker in this phase of a round counts.
    #[must_use]
    pub fn counts_in(phase: Phase) -> bool {
        !matches!(phase, Phase::Warmup | Phase::Stop)
    }

    /// Adds one sample. Sums saturate, because samples come from the network.
    pub fn add(&mut self, sample: &StrainSample) {
        let available = sample.elapsed.saturating_mul(sample.cpus);
        self.merge(&Self {
            available,
            cpu: sample.cpu,
            waited: sample.waited,
            busy: sample.busy.unwrap_or_default(),
            observed: sample.busy.map_or(Duration::ZERO, |_| available),
            lag: sample.lag,
            lag_max: sample.lag,
            seconds: 1,
            late_seconds: u32::from(sample.lag >= LATE),
            periods: sample.periods,
            throttled: sample.throttled,
        });
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.available = self.available.saturating_add(other.available);
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.waited = self.waited.saturating_add(other.waited);
        self.busy = self.busy.saturating_add(other.busy);
        self.observed = self.observed.saturating_add(other.observed);
        self.lag = self.lag.saturating_add(other.lag);
        self.lag_max = self.lag_max.max(other.lag_max);
        self.seconds = self.seconds.saturating_add(other.seconds);
        self.late_seconds = self.late_seconds.saturating_add(other.late_seconds);
        self.periods = self.periods.saturating_add(other.periods);
        self.throttled = self.throttled.saturating_add(other.throttled);
    }

    /// Returns the CPU time used, in % of the available CPU time; `None` if no CPU was available.
    #[must_use]
    pub fn cpu_percent(&self) -> Option<f64> {
        percent(self.cpu, self.available)
    }

    /// Returns the time for which threads waited for a CPU, in % of the available CPU time; `None` if no CPU was
    /// available.
    #[must_use]
    pub fn cpu_wait_percent(&self) -> Option<f64> {
        percent(self.waited, self.available)
    }

    /// Returns the time for which the CPUs were busy with any program, in % of the available CPU time; `None` where the
    /// system does not tell.
    #[must_use]
    pub fn cpus_busy_percent(&self) -> Option<f64> {
        percent(self.busy, self.observed)
    }

    /// Returns the share of the periods in which a limit of CPU stopped the process, in %; `None` without a limit.
    #[must_use]
    pub fn throttled_percent(&self) -> Option<f64> {
        let all = f64::from(self.periods);
        (all > 0.0).then(|| f64::from(self.throttled.min(self.periods)) / all * 100.0)
    }

    /// Returns the mean, over all samples, of the greatest lateness of a timer, in ms; `None`
    /// without samples.
    #[must_use]
    pub fn lag_mean_ms(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.lag.as_secs_f64() * 1e3 / f64::from(self.seconds))
    }

    /// Returns the greatest lateness of a timer in all samples, in ms; `None` without samples.
    #[must_use]
    pub fn lag_max_ms(&self) -> Option<f64> {
        (self.seconds > 0).then_some(self.lag_max.as_secs_f64() * 1e3)
    }

    /// Number of samples, each of about a second.
    #[must_use]
    pub fn seconds(&self) -> u32 {
        self.seconds
    }

    /// Number of samples in which a timer was late by at least [`LATE`].
    #[must_use]
    pub fn late_seconds(&self) -> u32 {
        self.late_seconds
    }
}

fn percent(time: Duration, of: Duration) -> Option<f64> {
    let of = of.as_secs_f64();
    (of > 0.0).then(|| time.as_secs_f64() / of * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn means_cover_the_whole_time_and_the_maximum_is_kept() {
        let mut strain = Strain::default();
        assert_eq!((strain.cpu_percent(), strain.lag_mean_ms()), (None, None));
        assert_eq!(strain.throttled_percent(), None);
        strain.add(&StrainSample {
            elapsed: ms(1_000),
            cpu: ms(2_000),
            waited: ms(300),
            busy: Some(ms(1_800)),
            cpus: 2,
            lag: ms(2),
            periods: 10,
            throttled: 3,
        });
        strain.add(&StrainSample {
            elapsed: ms(500),
            cpu: ms(250),
            waited: ms(0),
            busy: None,
            cpus: 2,
            lag: ms(80),
            periods: 5,
            throttled: 0,
        });
        assert_eq!((strain.cpu_percent(), strain.throttled_percent()), (Some(75.0), Some(20.0)));
        assert_eq!(
            (strain.cpu_wait_percent(), strain.cpus_busy_percent()),
            (Some(10.0), Some(90.0))
        );
        assert_eq!((strain.lag_mean_ms(), strain.lag_max_ms()), (Some(41.0), Some(80.0)));
        assert_eq!((strain.seconds(), strain.late_seconds()), (2, 1));
    }

    fn sample() -> impl Strategy<Value = StrainSample> {
        let time = any::<Duration>;
        let count = any::<u32>;
        (time(), time(), time(), any::<Option<Duration>>(), count(), time(), count(), count())
            .prop_map(|(elapsed, cpu, waited, busy, cpus, lag, periods, throttled)| StrainSample {
                elapsed,
                cpu,
                waited,
                busy,
                cpus,
                lag,
                periods,
                throttled,
            })
    }

    proptest! {
        #[test]
        fn any_samples_are_summed_in_any_order(
            samples in prop::collection::vec(sample(), 0..6),
            at in any::<prop::sample::Index>(),
        ) {
            let sum = |samples: &[StrainSample]| {
                let mut strain = Strain::default();
                samples.iter().for_each(|sample| strain.add(sample));
                strain
            };
            let (one, other) = samples.split_at(at.index(samples.len() + 1));
            let mut merged = sum(other);
            merged.merge(&sum(one));
            prop_assert_eq!(merged, sum(&samples));
        }
    }
}
