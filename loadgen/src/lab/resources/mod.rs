//! Measures CPU time and memory of whole process trees, over a window such as a measured round.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::error::LabError;
use super::machine::{Accounts, Machine};
use super::podman::{Cgroup, Container, Usage};
use super::schedstat::{self, Scheduled};
use crate::measure::{ContainerRecord, ResourceRecord, ResourceSamples};

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Resources that were used in a window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Usage under each name. If a process ended within the window, its CPU time after the last
    /// sample is missing: at most one second of it. CPU time per request is not known here.
    pub services: BTreeMap<String, ResourceRecord>,
    /// Activity of the machine's CPUs, and the resources that the machine took from all programs.
    pub machine: Machine,
}

impl Observed {
    /// Returns the usage of these processors by programs that are not
    /// watched, in % of one processor.
    #[must_use]
    pub fn others_percent(&self, cpus: &BTreeSet<usize>) -> f64 {
        let busy: f64 = cpus.iter().filter_map(|cpu| self.machine.programs_percent.get(cpu)).sum();
        busy - self.services.values().map(|usage| usage.cpu_percent).sum::<f64>()
    }
}

/// Processes that count as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Name under which the result is filed.
    pub name: String,
    pid: u32,
    scope: Scope,
    /// Control group, whose accounts of CPU time and memory are more
    /// complete; `None` without a container.
    group: Option<Cgroup>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Alone,
    Below,
    Whole,
}

impl Watched {
    /// Watches one process without the processes that it started: loadgen itself, or a worker.
    pub fn process(name: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), pid, scope: Scope::Alone, group: None }
    }

    /// Watches everything below a process, but not the process itself: a service, by its guard.
    pub fn below(name: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), pid, scope: Scope::Below, group: None }
    }

    /// Watches all processes of a container.
    pub fn container(name: impl Into<String>, container: &Container) -> Self {
        let Container { pid, group } = container.clone();
        Self { name: name.into(), pid, scope: Scope::Whole, group }
    }

    /// Returns the same processes under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }
}

impl From<&super::service::Service> for Watched {
    fn from(service: &super::service::Service) -> Self {
        match service.container() {
            Some(container) => Self::container(service.name(), container),
            None => Self::below(service.name(), service.guard_pid()),
        }
    }
}

/// Callback with the CPU usage of each name since the previous sample, in % of one core.
pub type CpuTeller = Arc<dyn Fn(BTreeMap<String, f64>) + Send + Sync>;

/// An open window. A separate thread samples every second until the window is closed.
#[derive(Debug)]
pub struct Window {
    began: Instant,
    samples: Arc<Mutex<Samples>>,
    /// Accounts of the machine when the window was opened.
    accounts: Accounts,
    /// Ends the thread when it is dropped.
    _until: mpsc::Sender<()>,
}

impl Window {
    /// Opens a window: usage counts from now on.
    pub fn open(watched: Vec<Watched>) -> Result<Self, LabError> {
        Self::telling(watched, None)
    }

    /// Like [`Window::open`], but also passes each sample to `tell` at once.
    pub fn telling(watched: Vec<Watched>, tell: Option<CpuTeller>) -> Result<Self, LabError> {
        let mut samples = Samples::new(watched)?;
        let began = Instant::now();
        let accounts = Accounts::now();
        samples.take();
        let samples = Arc::new(Mutex::new(samples));
        let (until, ended) = mpsc::channel();
        std::thread::spawn({
            let samples = Arc::clone(&samples);
            move || {
                while ended.recv_timeout(SAMPLE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let mut samples = lock(&samples);
                    samples.take();
                    if let Some(tell) = &tell {
                        tell(samples.cpu_percent());
                    }
                }
            }
        });
        Ok(Self { began, samples, accounts, _until: until })
    }

    /// Closes the window. If a name was given several times, its usage is added up.
    pub fn close(self) -> Observed {
        let mut samples = lock(&self.samples);
        samples.take();
        let elapsed = self.began.elapsed();
        let machine = Accounts::now().since(&self.accounts, elapsed);
        Observed { services: samples.usage(elapsed), machine }
    }
}

fn lock(samples: &Mutex<Samples>) -> MutexGuard<'_, Samples> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process, identified by its number and start time, because the system reuses numbers.
type Process = (Pid, u64);

/// A thread, identified by its process and its number.
type Thread = (Process, u32);

#[derive(Debug)]
struct Samples {
    watched: Vec<Watched>,
    system: System,
    seen: BTreeMap<String, Seen>,
    taken: usize,
    /// Time of each sample.
    at: Vec<Instant>,
}

/// Observations under one name.
#[derive(Debug, Default)]
struct Seen {
    /// CPU time of each process in ms: before the window, and when the process was last seen. The
    /// first is 0 for a process that started within the window.
    cpu: HashMap<Process, (u64, u64)>,
    /// Times of each thread: before the window, and when the thread was last seen.
    threads: HashMap<Thread, (Scheduled, Scheduled)>,
    /// Memory at each sample, in bytes: resident memory, or that of the container's accounts.
    rss: Vec<u64>,
    /// CPU time in ms up to each sample, of all processes that were ever seen.
    cpu_ms: Vec<u64>,
    /// Number of open files at each sample; empty if the system does not tell.
    files: Vec<u64>,
    /// Most files that one process had open at a sample, in % of the process's limit.
    files_percent: f64,
    /// Accounts of the container when they were first and when they were last seen.
    group: Option<(Usage, Usage)>,
}

impl Samples {
    fn new(watched: Vec<Watched>) -> Result<Self, LabError> {
        let system = System::new().map_err(|error| LabError::Io {
            what: "read the resource usage of processes".to_owned(),
            source: std::io::Error::other(error.to_string()),
        })?;
        Ok(Self { watched, system, seen: BTreeMap::new(), taken: 0, at: Vec::new() })
    }

    fn take(&mut self) {
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        // Finding the descendants of a process requires a look at all processes.
        let alone = self.watched.iter().all(|watched| watched.scope == Scope::Alone);
        let pids: Vec<Pid> = self.watched.iter().map(|w| Pid::from_u32(w.pid)).collect();
        let which = if alone { ProcessesToUpdate::Some(&pids) } else { ProcessesToUpdate::All };
        self.system.refresh_processes_specifics(which, true, kind);
        for watched in &self.watched {
            let seen = self.seen.entry(watched.name.clone()).or_default();
            let (mut bytes, mut files) = (0, None);
            for pid in members(&self.system, watched) {
                let Some(process) = self.system.process(pid) else {
                    continue;
                };
                let cpu = process.accumulated_cpu_time();
                // CPU time from before the window does not count. All CPU time of a process that
                // started later counts.
                let before = if self.taken == 0 { cpu } else { 0 };
                let key = (pid, process.start_time());
                seen.cpu.entry(key).or_insert((before, cpu)).1 = cpu;
                for (thread, now) in schedstat::threads(pid.as_u32()) {
                    let before = if self.taken == 0 { now } else { Scheduled::default() };
                    seen.threads.entry((key, thread)).or_insert((before, now)).1 = now;
                }
                bytes += process.memory();
                if let Some(open) = process.open_files() {
                    *files.get_or_insert(0) += open as u64;
                    let limit = process.open_files_limit().unwrap_or(usize::MAX);
                    let percent = 100.0 * open as f64 / limit as f64;
                    seen.files_percent = seen.files_percent.max(percent);
                }
            }
            if let Some(now) = watched.group.as_ref().map(Cgroup::usage) {
                // The accounts of a container that is gone cannot be read, so
                // the last values are kept.
                if now != Usage::default() {
                    seen.group.get_or_insert((now, now)).1 = now;
                }
                bytes = now.memory;
            }
            add_at(&mut seen.rss, self.taken, bytes);
            files.into_iter().for_each(|files| add_at(&mut seen.files, self.taken, files));
        }
        self.seen.values_mut().for_each(|seen| seen.cpu_ms.push(seen.used_ms().sum()));
        self.at.push(Instant::now());
        self.taken += 1;
    }

    /// Returns the CPU usage of each name since the previous sample, in % of one core.
    fn cpu_percent(&self) -> BTreeMap<String, f64> {
        let newest = self.at.len().saturating_sub(1);
        let named = |(name, seen): (&String, &Seen)| {
            Some((name.clone(), seen.cpu_percent(&self.at, newest)?))
        };
        self.seen.iter().filter_map(named).collect()
    }

    fn usage(&self, elapsed: Duration) -> BTreeMap<String, ResourceRecord> {
        let usage =
            |seen: &Seen| ResourceRecord { samples: seen.samples(&self.at), ..seen.usage(elapsed) };
        self.seen.iter().map(|(name, seen)| (name.clone(), usage(seen))).collect()
    }
}

/// Adds a value to the sample of this number. A name that is given several
/// times has one sample for all.
fn add_at(samples: &mut Vec<u64>, number: usize, value: u64) {
    samples.resize(number + 1, 0);
    samples[number] += value;
}

/// Shortest interval for a CPU usage, because CPU times come in ticks of 10 ms.
const SHORTEST: Duration = Duration::from_millis(500);

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

impl Seen {
    /// CPU time of each process, in ms.
    fn used_ms(&self) -> impl Iterator<Item = u64> + Clone {
        self.cpu.values().map(|(first, last)| last.saturating_sub(*first))
    }

    /// Returns the usage between samples that were taken at these times. Omits a sample that
    /// follows the previous one too closely, as the last sample may.
    fn samples(&self, at: &[Instant]) -> ResourceSamples {
        let mut samples = ResourceSamples::default();
        for i in 1..at.len().min(self.cpu_ms.len()).min(self.rss.len()) {
            let Some(cpu_percent) = self.cpu_percent(at, i) else { continue };
            samples.at_s.push(tenths((at[i] - at[0]).as_secs_f64()));
            samples.cpu_percent.push(cpu_percent);
            samples.memory_bytes.push(self.rss[i]);
        }
        samples
    }

    /// Returns the CPU time between a sample and the previous one, over the time between them;
    /// `None` if the samples are too close.
    fn cpu_percent(&self, at: &[Instant], i: usize) -> Option<f64> {
        let since = *at.get(i)? - *at.get(i.checked_sub(1)?)?;
        let used_ms = self.cpu_ms.get(i)?.saturating_sub(*self.cpu_ms.get(i - 1)?);
        (since >= SHORTEST).then(|| tenths(used_ms as f64 / since.as_secs_f64() / 10.0))
    }

    fn usage(&self, elapsed: Duration) -> ResourceRecord {
        let share = |ns: u64| 100.0 * ns as f64 / elapsed.as_nanos().max(1) as f64;
        let cpu_ms = self.used_ms();
        let mut processes_percent: Vec<f64> =
            cpu_ms.clone().map(|ms| share(ms * 1_000_000)).collect();
        processes_percent.sort_by(|a, b| b.total_cmp(a));
        let cpu_ms: u64 = cpu_ms.sum();
        let since = |(first, last): &(Scheduled, Scheduled)| Scheduled {
            ran: last.ran.saturating_sub(first.ran),
            waited: last.waited.saturating_sub(first.waited),
            runs: last.runs.saturating_sub(first.runs),
        };
        let threads = self.threads.values().map(since);
        let runs: u64 = threads.clone().map(|thread| thread.runs).sum();
        let known = !self.threads.is_empty();
        let record = ResourceRecord {
            cpu_s: Duration::from_millis(cpu_ms).as_secs_f64(),
            cpu_percent: share(cpu_ms * 1_000_000),
            memory_max_bytes: self.rss.iter().copied().max().unwrap_or(0),
            memory_mean_bytes: self.rss.iter().sum::<u64>() / (self.rss.len() as u64).max(1),
            cpu_wait_percent: share(threads.clone().map(|thread| thread.waited).sum()),
            busiest_thread_percent: threads.clone().map(|t| t.ran + t.waited).max().map(share),
            longest_wait_percent: threads.map(|thread| thread.waited).max().map(share),
            context_switches_per_s: known
                .then(|| runs as f64 / elapsed.as_secs_f64().max(f64::EPSILON)),
            processes_percent,
            open_files_max: self.files.iter().copied().max(),
            open_files_of_limit_percent: self.files_percent,
            ..ResourceRecord::default()
        };
        match &self.group {
            Some((first, last)) => in_container(record, first, last, elapsed),
            None => record,
        }
    }
}

/// Takes the CPU time from the container's own accounts, which count every process that ran in the
/// container, even if it ended between samples.
fn in_container(
    record: ResourceRecord,
    first: &Usage,
    last: &Usage,
    elapsed: Duration,
) -> ResourceRecord {
    let used = |of: fn(&Usage) -> u64| of(last).saturating_sub(of(first));
    let cpu = Duration::from_nanos(used(|usage| usage.cpu_ns)).as_secs_f64();
    let throttled = used(|usage| usage.throttled_periods) as f64;
    ResourceRecord {
        cpu_s: cpu,
        cpu_percent: 100.0 * cpu / elapsed.as_secs_f64().max(f64::EPSILON),
        container: Some(ContainerRecord {
            throttled_ms: used(|usage| usage.throttled_ns) as f64 / 1e6,
            throttled_periods_percent: 100.0 * throttled
                / used(|usage| usage.periods).max(1) as f64,
            block_read_bytes: used(|usage| usage.read),
            block_written_bytes: used(|usage| usage.written),
        }),
        ..record
    }
}

fn members(system: &System, watched: &Watched) -> BTreeSet<Pid> {
    let root = Pid::from_u32(watched.pid);
    let mut members = BTreeSet::from([root]);
    if watched.scope != Scope::Alone {
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            let children = system.processes().iter().filter(|(_, of)| of.parent() == Some(parent));
            parents.extend(children.filter_map(|(pid, _)| members.insert(*pid).then_some(*pid)));
        }
        if watched.scope == Scope::Below {
            members.remove(&root);
        }
    }
    members
}

#[cfg(test)]
mod tests;
