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

/// Resources that were used in a measurement window, such as a round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Resource usage under the name of each [`Watched`] value. If a process ends within the
    /// window, the process's CPU time after the last sample is missing; the last sample is at most
    /// one second before the end. CPU time per request is not known here.
    pub services: BTreeMap<String, ResourceRecord>,
    /// Resource usage of each replica of the target, in the order of the replicas; empty without
    /// replicas. `services` has their sum.
    pub replicas: Vec<ResourceRecord>,
    /// Activity of the machine's CPUs, and influences that slow all programs, such as swapping.
    pub machine: Machine,
}

impl Observed {
    /// Returns the usage of these CPUs by programs that are not in `services`, in % of one CPU.
    #[must_use]
    pub fn others_percent(&self, cpus: &BTreeSet<usize>) -> f64 {
        let busy: f64 = cpus.iter().filter_map(|cpu| self.machine.programs_percent.get(cpu)).sum();
        busy - self.services.values().map(|usage| usage.cpu_percent).sum::<f64>()
    }
}

/// Processes whose resource usage is measured together, under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Name of the result in [`Observed::services`].
    pub name: String,
    pid: u32,
    scope: Scope,
    /// Number of the replica that these processes are, from 0; `None` for no replica.
    replica: Option<usize>,
    /// Control group of the container; `None` without a container. A control group counts CPU time
    /// and memory more completely than samples of the processes do.
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
        Self { name: name.into(), pid, scope: Scope::Alone, replica: None, group: None }
    }

    /// Watches all descendants of a process, but not the process itself. For a service, `pid` is
    /// the service's guard.
    pub fn below(name: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), pid, scope: Scope::Below, replica: None, group: None }
    }

    /// Watches all processes of a container.
    pub fn container(name: impl Into<String>, container: &Container) -> Self {
        let Container { pid, group } = container.clone();
        Self { name: name.into(), pid, scope: Scope::Whole, replica: None, group }
    }

    /// Returns the same processes under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Returns the same processes as the replica of this number, from 0, whose usage is then also in
    /// [`Observed::replicas`].
    #[must_use]
    pub fn as_replica(self, number: usize) -> Self {
        Self { replica: Some(number), ..self }
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

/// Callback that receives the CPU usage since the previous sample, by name of the watched
/// processes, in % of one core.
pub type CpuTeller = Arc<dyn Fn(BTreeMap<String, f64>) + Send + Sync>;

/// A running measurement of resource usage. A separate thread takes a sample every second until the
/// measurement ends.
#[derive(Debug)]
pub struct Window {
    began: Instant,
    samples: Arc<Mutex<Samples>>,
    /// Counters of the machine at the start of the measurement.
    accounts: Accounts,
    /// Sender whose drop ends the sampling thread.
    _until: mpsc::Sender<()>,
}

impl Window {
    /// Starts a measurement of the resources that `watched` uses from now on.
    pub fn open(watched: Vec<Watched>) -> Result<Self, LabError> {
        Self::telling(watched, None)
    }

    /// Like [`Window::open`], but also passes the CPU usage to `tell` after each sample.
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

    /// Ends the measurement and returns the result. The usage of processes that are watched under
    /// the same name is added up.
    pub fn close(self) -> Observed {
        let mut samples = lock(&self.samples);
        samples.take();
        let elapsed = self.began.elapsed();
        let machine = Accounts::now().since(&self.accounts, elapsed);
        Observed {
            services: samples.usage(elapsed),
            replicas: samples.of_replicas(elapsed),
            machine,
        }
    }
}

fn lock(samples: &Mutex<Samples>) -> MutexGuard<'_, Samples> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the memory that `watched` uses now, in bytes, by name: resident memory, or the memory of
/// the container's control group. Empty if the system does not tell.
pub fn memory_now(watched: Vec<Watched>) -> BTreeMap<String, u64> {
    let Ok(mut samples) = Samples::new(watched) else { return BTreeMap::new() };
    samples.take();
    let memory = |(name, seen): (String, Seen)| Some((name, *seen.rss.last()?));
    samples.seen.into_iter().filter_map(memory).collect()
}

/// A process, identified by its ID and start time, because the system reuses IDs.
type Process = (Pid, u64);

/// A thread, identified by its process and its number.
type Thread = (Process, u32);

#[derive(Debug)]
struct Samples {
    watched: Vec<Watched>,
    system: System,
    seen: BTreeMap<String, Seen>,
    replicas: BTreeMap<usize, Seen>,
    taken: usize,
    /// Time of each sample.
    at: Vec<Instant>,
}

/// Measured values of the processes that are watched under one name.
#[derive(Debug, Default)]
struct Seen {
    /// CPU time of each process in ms: at the start of the measurement, and when the process was
    /// last sampled. The first value is 0 for a process that started later.
    cpu: HashMap<Process, (u64, u64)>,
    /// Scheduling statistics of each thread: at the start of the measurement, and when the thread
    /// was last sampled.
    threads: HashMap<Thread, (Scheduled, Scheduled)>,
    /// Memory at each sample, in bytes: the resident memory of all processes, or the memory of the
    /// container's control group.
    rss: Vec<u64>,
    /// CPU time of all processes from the start of the measurement to each sample, in ms. Includes
    /// processes that have ended.
    cpu_ms: Vec<u64>,
    /// Number of open files at each sample; empty if the system does not report the number.
    files: Vec<u64>,
    /// Most files that one process had open at a sample, in % of the process's limit.
    files_percent: f64,
    /// Resource usage of each container at the first and at the latest sample, by the container's
    /// process; empty without a container.
    groups: HashMap<u32, (Usage, Usage)>,
}

impl Samples {
    fn new(watched: Vec<Watched>) -> Result<Self, LabError> {
        let system = System::new().map_err(|error| LabError::Io {
            what: "read the resource usage of processes".to_owned(),
            source: std::io::Error::other(error.to_string()),
        })?;
        let (seen, replicas) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { watched, system, seen, replicas, taken: 0, at: Vec::new() })
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
            seen.look_at(watched, &self.system, self.taken);
            if let Some(number) = watched.replica {
                let seen = self.replicas.entry(number).or_default();
                seen.look_at(watched, &self.system, self.taken);
            }
        }
        let all = self.seen.values_mut().chain(self.replicas.values_mut());
        all.for_each(|seen| seen.cpu_ms.push(seen.used_ms().sum()));
        self.at.push(Instant::now());
        self.taken += 1;
    }

    /// Returns the CPU usage since the previous sample, by name of the watched processes, in % of
    /// one core.
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

    fn of_replicas(&self, elapsed: Duration) -> Vec<ResourceRecord> {
        self.replicas.values().map(|seen| seen.usage(elapsed)).collect()
    }
}

/// Adds a value to the sample with this number. Processes that are watched under the same name
/// share each sample.
fn add_at(samples: &mut Vec<u64>, number: usize, value: u64) {
    samples.resize(number + 1, 0);
    samples[number] += value;
}

/// Shortest interval between two samples for which a CPU usage is computed, because CPU times have
/// a resolution of 10 ms.
const SHORTEST: Duration = Duration::from_millis(500);

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

impl Seen {
    /// Adds a sample of these processes, the sample of this number from 0.
    fn look_at(&mut self, watched: &Watched, system: &System, number: usize) {
        let (mut bytes, mut files) = (0, None);
        for pid in members(system, watched) {
            let Some(process) = system.process(pid) else {
                continue;
            };
            let cpu = process.accumulated_cpu_time();
            // CPU time from before the window does not count. All CPU time of a process that
            // started later counts.
            let before = if number == 0 { cpu } else { 0 };
            let key = (pid, process.start_time());
            self.cpu.entry(key).or_insert((before, cpu)).1 = cpu;
            for (thread, now) in schedstat::threads(pid.as_u32()) {
                let before = if number == 0 { now } else { Scheduled::default() };
                self.threads.entry((key, thread)).or_insert((before, now)).1 = now;
            }
            bytes += process.memory();
            if let Some(open) = process.open_files() {
                *files.get_or_insert(0) += open as u64;
                let limit = process.open_files_limit().unwrap_or(usize::MAX);
                let percent = 100.0 * open as f64 / limit as f64;
                self.files_percent = self.files_percent.max(percent);
            }
        }
        if let Some(now) = watched.group.as_ref().map(Cgroup::usage) {
            // The accounts of a container that is gone cannot be read, so the last values are kept.
            if now != Usage::default() {
                let (_, last) = self.groups.entry(watched.pid).or_insert((now, now));
                *last = now;
            }
            bytes = now.memory;
        }
        add_at(&mut self.rss, number, bytes);
        files.into_iter().for_each(|files| add_at(&mut self.files, number, files));
    }

    /// CPU time that each process used during the measurement, in ms.
    fn used_ms(&self) -> impl Iterator<Item = u64> + Clone {
        self.cpu.values().map(|(first, last)| last.saturating_sub(*first))
    }

    /// Returns the CPU usage and the memory at each sample. `at` holds the times of the samples.
    /// Omits a sample that is less than 0.5 s after the previous sample, as the last sample may be.
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

    /// Returns the CPU usage between sample `i - 1` and sample `i`, in % of one core; `None` if
    /// less than 0.5 s lies between the samples.
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
        match self.groups.is_empty() {
            true => record,
            false => in_containers(record, &self.groups, elapsed),
        }
    }
}

/// Replaces the CPU time in `record` by the CPU time of the containers' control groups. A control
/// group counts every process that ran in the container, even if the process ended between samples.
fn in_containers(
    record: ResourceRecord,
    groups: &HashMap<u32, (Usage, Usage)>,
    elapsed: Duration,
) -> ResourceRecord {
    let used = |of: fn(&Usage) -> u64| -> u64 {
        groups.values().map(|(first, last)| of(last).saturating_sub(of(first))).sum()
    };
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
