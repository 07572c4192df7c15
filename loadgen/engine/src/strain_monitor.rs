//! Monitors the strain on this process: its CPU time, the pressure on its CPUs, the lateness of its timers, the times in
//! which it was held up, and how often a limit of CPU stopped it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{mem, thread};

use rustix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

use super::control_group::{CpuLimit, Periods};
use super::pressure::Pressure;
use loadgen_measure::{HeldUp, StrainSample, Timeline};

/// Interval of the monitored timer: short enough to notice every long delay of this process, and
/// long enough to cost next to nothing.
const EVERY: Duration = Duration::from_millis(20);

/// Least delay that counts as being held up: longer than a process waits for a CPU of a busy machine. The greatest share
/// of it (0 to 1, of one CPU) that this process may have computed, besides what all CPUs could do before and after: a
/// process that is only busy computes all the time.
const HELD_UP: Duration = Duration::from_millis(250);
const COMPUTED: f64 = 0.1;

/// Monitor of this process's CPU use and timer delays.
#[derive(Debug)]
pub struct StrainMonitor(Mutex<State>, CpuLimit);

#[derive(Debug)]
struct State {
    since: Instant,
    /// CPU time that this process had used at the time `since`.
    cpu: Duration,
    /// Greatest lateness of the monitored timer since the time `since`.
    lag: Duration,
    held_up: HeldUp,
    /// Periods of the limit of CPU until the time `since`.
    periods: Periods,
    /// Pressure on the CPUs until the time `since`; `None` before the first look, which must not delay the start.
    pressure: Option<Pressure>,
}

impl StrainMonitor {
    pub(super) fn new() -> Self {
        let limit = CpuLimit::find();
        Self(Mutex::new(State::new(limit.periods())), limit)
    }

    /// Monitors this process during a round, until the returned task is dropped. Requires a Tokio runtime.
    pub(super) fn watch(self: &Arc<Self>, timeline: Timeline) -> JoinSet<()> {
        let (monitor, mut watching) = (self.clone(), JoinSet::new());
        *monitor.state() = State::new(monitor.1.periods());
        watching.spawn(async move {
            if let Ok(begun) = tokio::task::spawn_blocking(Pressure::now).await {
                monitor.state().pressure.get_or_insert(begun);
            }
            let mut last = Tick::now();
            loop {
                let due = last.at + EVERY;
                tokio::time::sleep_until(due.into()).await;
                let tick = Tick::now();
                monitor.take_tick(&timeline, due, last, tick);
                last = tick;
            }
        });
        watching
    }

    fn take_tick(&self, timeline: &Timeline, due: Instant, last: Tick, tick: Tick) {
        let suspended = tick.suspended.saturating_sub(last.suspended);
        let late = tick.at.saturating_duration_since(due);
        let mut state = self.state();
        state.lag = state.lag.max(late);
        let begun = due.max(timeline.full);
        let ended = timeline.end.map_or(tick.at, |end| end.min(tick.at));
        let Some(within) = ended.checked_duration_since(begun) else { return };
        let around = EVERY * cpus();
        let computed = tick.cpu.saturating_sub(last.cpu).saturating_sub(around);
        let was_stopped =
            within >= HELD_UP && computed.as_secs_f64() <= COMPUTED * within.as_secs_f64();
        let stopped = if was_stopped { within } else { Duration::ZERO };
        // The clock of latencies stands still while the machine is suspended.
        let suspended = if suspended >= HELD_UP { suspended } else { Duration::ZERO };
        if stopped + suspended > Duration::ZERO {
            state.held_up.add(stopped + suspended);
        }
    }

    /// Returns the strain on this process since the last call, or since the start of the round. Reads a file for each
    /// thread, for which no request should wait.
    pub fn take(&self) -> StrainSample {
        let (now, cpu, periods) = (Instant::now(), cpu_time(), self.1.periods());
        let pressure = Pressure::now();
        let since = |of: fn(&Periods) -> u64, before: &Periods| {
            u32::try_from(of(&periods).saturating_sub(of(before))).unwrap_or(u32::MAX)
        };
        let mut state = self.state();
        let (elapsed, cpu_used, cpus) = (now - state.since, cpu.saturating_sub(state.cpu), cpus());
        let before = state.pressure.as_ref();
        let waited = before.map_or(0, |before| pressure.waited_ns_since(before));
        let busy = before.and_then(|before| pressure.busy_since(before));
        let sample = StrainSample {
            elapsed,
            cpu: cpu_used,
            waited: Duration::from_nanos(waited),
            busy: busy.map(|share| (elapsed * cpus).mul_f64(share)),
            cpus,
            lag: mem::take(&mut state.lag),
            periods: since(|of| of.all, &state.periods),
            throttled: since(|of| of.throttled, &state.periods),
        };
        (state.since, state.cpu, state.periods) = (now, cpu, periods);
        state.pressure = Some(pressure);
        sample
    }

    /// Returns the times of the hold so far in which this process was held up.
    pub(super) fn held_up(&self) -> HeldUp {
        self.state().held_up
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(periods: Periods) -> Self {
        let (since, cpu) = (Instant::now(), cpu_time());
        let (lag, held_up) = (Duration::ZERO, HeldUp::default());
        Self { since, cpu, lag, held_up, periods, pressure: None }
    }
}

/// A moment, with this process's CPU time until then.
#[derive(Clone, Copy)]
struct Tick {
    at: Instant,
    cpu: Duration,
    /// Time for which the machine was suspended, since its start.
    suspended: Duration,
}

impl Tick {
    fn now() -> Self {
        Self { at: Instant::now(), cpu: cpu_time(), suspended: suspended() }
    }
}

/// Returns the user and system time of all threads of this process so far.
fn cpu_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Returns the time for which this machine was suspended: one of the two clocks stands still meanwhile.
#[cfg(target_os = "linux")]
fn suspended() -> Duration {
    loop {
        let before = read(ClockId::Monotonic);
        let since_start = read(ClockId::Boottime);
        // Read again if something came between.
        if read(ClockId::Monotonic).saturating_sub(before) < EVERY {
            return since_start.saturating_sub(before);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn suspended() -> Duration {
    Duration::ZERO
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
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

    fn monitor(full_ms: u64) -> (Arc<StrainMonitor>, JoinSet<()>) {
        let full = Instant::now() + Duration::from_millis(full_ms);
        let monitor = Arc::new(StrainMonitor::new());
        let watching = monitor.watch(Timeline { measured: full, full, end: None });
        (monitor, watching)
    }

    #[tokio::test]
    async fn a_blocked_thread_is_reported_late_with_its_cpu_time() {
        let (monitor, _watching) = monitor(0);
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
        assert!(
            !cfg!(target_os = "linux") || busy.busy > Some(Duration::ZERO),
            "the CPUs of a busy thread were busy: {busy:?}"
        );
        assert_eq!(monitor.take().lag, Duration::ZERO, "each is told once");
    }

    /// Returns how long a process was held up if its timer came this late, in ms, after it had computed for some ms.
    fn held_up_ms(late_ms: u64, computed_ms: u64, suspended_ms: u64, full_ms: u64) -> u128 {
        let ms = Duration::from_millis;
        let monitor = StrainMonitor::new();
        let start = Instant::now();
        let full = start + ms(full_ms);
        let timeline = Timeline { measured: full, full, end: Some(full + ms(10_000)) };
        let last = Tick { at: start, cpu: ms(5), suspended: ms(7) };
        let due = start + EVERY;
        let tick = Tick {
            at: due + ms(late_ms),
            cpu: ms(5 + computed_ms),
            suspended: ms(7 + suspended_ms),
        };
        monitor.take_tick(&timeline, due, last, tick);
        monitor.held_up().total.as_millis()
    }

    #[test]
    fn a_process_that_was_held_up_neither_ran_nor_computed() {
        assert_eq!(held_up_ms(1_000, 3, 0, 0), 1_000);
        assert_eq!(held_up_ms(249, 0, 0, 0), 0, "too short");
        let before = u64::from(cpus()) * 20;
        assert_eq!(held_up_ms(1_000, before + 90, 0, 0), 1_000, "busy before");
        assert_eq!(held_up_ms(1_000, before + 900, 0, 0), 0, "busy all the time");
        assert_eq!(held_up_ms(0, 0, 5_000, 0), 5_000, "a laptop was closed");
        assert_eq!(held_up_ms(1_000, 3, 0, 620), 400, "only a part was in the hold");
        assert_eq!(held_up_ms(1_000, 3, 0, 900), 0, "a short part");
        assert_eq!(held_up_ms(1_000, 3, 0, 2_000), 0, "before the hold");
    }
}
