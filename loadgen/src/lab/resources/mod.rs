//! Measures CPU time and memory of whole process trees, over a window such as a measured round.

mod local_server;
mod programs;
mod seen;
mod unix_listeners;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use local_server::serving;
pub use local_server::{LocalServer, local_server};
use programs::Programs;
use seen::Seen;
use serde::{Deserialize, Serialize};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::error::LabError;
use super::machine::accounts::{Accounts, Machine};
use super::machine::container::{Cgroup, Container};
use super::machine::turn::Turn;
use crate::measure::{PodsRecord, PresentUsage, ResourceRecord, Stacks};

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Resources that were used in a measurement window, such as a round.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observed {
    /// Resource usage under the name of each [`Watched`] value. If a process ends within the
    /// window, its CPU time after the last sample, at most one second, counts only on Linux, and only if
    /// its parent is watched and has waited for it. CPU time per request is not known here.
    pub services: BTreeMap<String, ResourceRecord>,
    /// Resource usage of each replica of the target, in the order of the replicas; empty without
    /// replicas. `services` has their sum.
    pub replicas: Vec<ResourceRecord>,
    /// Activity of the machine's CPUs, and influences that slow all programs, such as swapping.
    pub machine: Machine,
    /// Whether another loadgen measured on this machine at a sample.
    pub other_loadgen: bool,
    /// Usage of the server that ran already on this machine, in % of one CPU. `None` if no such
    /// server is in [`Surroundings`], or if its processes cannot be told.
    pub server_percent: Option<f64>,
    /// The busiest other programs of the machine, each with the CPU usage of all its processes, in %
    /// of one CPU. Empty if the processes under test cannot be told.
    pub busiest_others: BTreeMap<String, f64>,
    /// Pods of a target in a cluster, and their nodes; `None` for a server elsewhere.
    pub target_pods: Option<PodsRecord>,
    /// Pods of each backend in a cluster, by its name, and their nodes; empty for backends elsewhere.
    pub backend_pods: BTreeMap<String, PodsRecord>,
    /// Why the pods of the target do not tell what they used; `None` if they do, or for a server elsewhere.
    pub pods_fault: Option<String>,
    /// Stacks of the target's threads, or why they could not be sampled; `None` unless the target is profiled.
    pub stacks: Option<Result<Stacks, String>>,
}

impl Observed {
    /// Adds the memory of each service before the load, in bytes, by name.
    pub fn add_idle(&mut self, idle: &BTreeMap<String, u64>) {
        for (name, used) in &mut self.services {
            used.memory_idle_bytes = idle.get(name).copied();
        }
    }

    /// Returns the same resources with the names of two services exchanged.
    #[must_use]
    pub fn swapped(mut self, one: &str, other: &str) -> Self {
        let (of_one, of_other) = (self.services.remove(one), self.services.remove(other));
        self.services.extend(of_one.map(|used| (other.to_owned(), used)));
        self.services.extend(of_other.map(|used| (one.to_owned(), used)));
        self
    }

    /// Returns the usage of these CPUs by programs that are neither in `services` nor the server that
    /// ran already, in % of one CPU.
    #[must_use]
    pub fn others_percent(&self, cpus: &BTreeSet<usize>) -> f64 {
        let busy: f64 = cpus.iter().filter_map(|cpu| self.machine.programs_percent.get(cpu)).sum();
        let services: f64 = self.services.values().map(|usage| usage.cpu_percent).sum();
        busy - services - self.server_percent.unwrap_or_default()
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
    Beside,
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

    /// Watches all processes of the process namespace that this process shares with the containers of its pod, except
    /// for this process and the namespace's first, which holds the namespace.
    pub(super) fn beside(name: impl Into<String>) -> Self {
        // Orphans become children of the first process, which waits for their end.
        Self { name: name.into(), pid: 1, scope: Scope::Beside, replica: None, group: None }
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

/// Callback that receives what the watched processes use now, by name.
pub type UsageTeller = Arc<dyn Fn(BTreeMap<String, PresentUsage>) + Send + Sync>;

/// Parts of a measurement's surroundings that are observed besides the services.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// This process's part in a measurement, which sees other measurements; `None` to see none.
    pub turn: Option<Arc<Turn>>,
    /// A server that runs already on this machine; `None` for another server.
    pub server: Option<LocalServer>,
}

/// A running measurement of resource usage. A separate thread takes a sample every second until the
/// measurement ends.
#[derive(Debug)]
pub struct Window {
    /// Start of the window, before the first sample.
    began: Instant,
    samples: Arc<Mutex<Samples>>,
    /// Counters of the machine at the end of the first sample.
    accounts: Accounts,
    /// Sender whose drop ends the sampling thread.
    _until: mpsc::Sender<()>,
}

impl Window {
    /// Starts a measurement of the resources that `watched` uses from now on.
    pub fn open(watched: Vec<Watched>) -> Result<Self, LabError> {
        Self::telling(watched, None, Surroundings::default())
    }

    /// Like [`Window::open`], but also passes the present usage to `tell` after each sample, and observes
    /// `surroundings`.
    pub fn telling(
        watched: Vec<Watched>,
        tell: Option<UsageTeller>,
        surroundings: Surroundings,
    ) -> Result<Self, LabError> {
        let mut samples = Samples { surroundings, ..Samples::new(watched)? };
        let began = Instant::now();
        samples.take();
        let accounts = Accounts::now();
        let samples = Arc::new(Mutex::new(samples));
        let (until, ended) = mpsc::channel();
        std::thread::spawn({
            let samples = Arc::clone(&samples);
            move || {
                while ended.recv_timeout(SAMPLE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    let mut samples = lock(&samples);
                    samples.take();
                    if let Some(tell) = &tell {
                        tell(samples.present());
                    }
                }
            }
        });
        Ok(Self { began, samples, accounts, _until: until })
    }

    /// Ends the measurement and returns the result. The usage of processes that are watched under
    /// the same name is added up.
    ///
    /// The clocks of processes are read at the end of each sample, after a look at all processes that
    /// takes some ms. Percentages are therefore over the time from the first to the last sample. CPU time
    /// is scaled from that time to the whole window, so that it belongs to all requests of the window.
    pub fn close(self) -> Observed {
        let mut samples = lock(&self.samples);
        samples.take();
        let elapsed = samples.elapsed();
        let machine = Accounts::now().since(&self.accounts, elapsed);
        let (server_percent, busiest_others) = samples.around(elapsed);
        let (mut services, mut replicas) = (samples.usage(elapsed), samples.of_replicas(elapsed));
        let whole = self.began.elapsed().as_secs_f64() / elapsed.as_secs_f64().max(f64::EPSILON);
        let all = services.values_mut().chain(&mut replicas);
        all.for_each(|used| used.cpu_s *= whole);
        Observed {
            services,
            replicas,
            machine,
            other_loadgen: samples.other_loadgen,
            server_percent,
            busiest_others,
            target_pods: None,
            backend_pods: BTreeMap::new(),
            pods_fault: None,
            stacks: None,
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

#[derive(Debug)]
struct Samples {
    watched: Vec<Watched>,
    system: System,
    seen: BTreeMap<String, Seen>,
    replicas: BTreeMap<usize, Seen>,
    taken: usize,
    surroundings: Surroundings,
    other_loadgen: bool,
    programs: Programs,
    /// Time of each sample.
    at: Vec<Instant>,
}

impl Samples {
    fn new(watched: Vec<Watched>) -> Result<Self, LabError> {
        let system = System::new().map_err(|error| LabError::Io {
            what: "read the resource usage of processes".to_owned(),
            source: std::io::Error::other(error.to_string()),
        })?;
        let (seen, replicas) = (BTreeMap::new(), BTreeMap::new());
        let surroundings = Surroundings::default();
        Ok(Self {
            watched,
            system,
            seen,
            replicas,
            taken: 0,
            surroundings,
            other_loadgen: false,
            programs: Programs::default(),
            at: Vec::new(),
        })
    }

    fn take(&mut self) {
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        // Finding the descendants of a process requires a look at all processes.
        let alone = self.watched.iter().all(|watched| watched.scope == Scope::Alone)
            && self.surroundings.server.is_none();
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
        all.for_each(|seen| seen.cpu_ns.push(seen.all_used_ns()));
        if !alone {
            self.programs.look_at(&self.system, self.taken);
        }
        self.other_loadgen |= self.surroundings.turn.as_ref().is_some_and(|t| t.other().is_some());
        self.at.push(Instant::now());
        self.taken += 1;
    }

    /// Returns what the watched processes use now, by name.
    fn present(&self) -> BTreeMap<String, PresentUsage> {
        let newest = self.at.len().saturating_sub(1);
        let named = |(name, seen): (&String, &Seen)| {
            let cpu_percent = seen.cpu_percent(&self.at, newest)?;
            let memory_bytes = seen.rss.last().copied().unwrap_or_default();
            Some((name.clone(), PresentUsage { cpu_percent, memory_bytes }))
        };
        self.seen.iter().filter_map(named).collect()
    }

    /// Returns the time from the first sample to the last.
    fn elapsed(&self) -> Duration {
        match self.at[..] {
            [first, .., last] => last - first,
            _ => Duration::ZERO,
        }
    }

    fn usage(&self, elapsed: Duration) -> BTreeMap<String, ResourceRecord> {
        let usage =
            |seen: &Seen| ResourceRecord { samples: seen.samples(&self.at), ..seen.usage(elapsed) };
        self.seen.iter().map(|(name, seen)| (name.clone(), usage(seen))).collect()
    }

    /// Returns the usage of the server that ran already, and the busiest other programs.
    fn around(&self, elapsed: Duration) -> (Option<f64>, BTreeMap<String, f64>) {
        let mut members: BTreeSet<Pid> = self.seen.values().flat_map(Seen::pids).collect();
        let Some(server) = &self.surroundings.server else {
            return (None, self.programs.busiest(&members, elapsed));
        };
        let Some(roots) = serving(server) else { return (None, BTreeMap::new()) };
        let mut server = self.programs.trees(&roots);
        // The server may have started loadgen.
        server.retain(|pid| !members.contains(pid));
        let percent = self.programs.percent(&server, elapsed);
        members.append(&mut server);
        (Some(percent), self.programs.busiest(&members, elapsed))
    }

    fn of_replicas(&self, elapsed: Duration) -> Vec<ResourceRecord> {
        self.replicas.values().map(|seen| seen.usage(elapsed)).collect()
    }
}

#[cfg(test)]
mod tests;
