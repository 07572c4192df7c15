//! CPU time and memory of whole process trees, over a window such as a measured round.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use super::error::LabError;

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// What one service, or loadgen itself, used in a window.
///
/// Memory is resident memory, summed over the processes: pages that several of them share, such as
/// those of a forked server's workers, are counted once for each. CPU time that a process used
/// between the last sample and its end is missing: at most a second's, for processes that end
/// within the window.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time.
    pub cpu_seconds: f64,
    /// The same as a share of one CPU, over the window.
    pub cpu_percent: f64,
    /// The largest sample.
    pub rss_max_bytes: u64,
    /// The mean of all samples.
    pub rss_mean_bytes: u64,
}

/// Which processes count as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// What the result is filed under.
    pub name: String,
    pid: u32,
    scope: Scope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Alone,
    Below,
}

impl Watched {
    /// One process without those that it started: loadgen itself, a worker.
    pub fn process(name: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), pid, scope: Scope::Alone }
    }

    /// Everything below a process, but not itself: a service, by its guard.
    pub fn below(name: impl Into<String>, pid: u32) -> Self {
        Self { name: name.into(), pid, scope: Scope::Below }
    }
}

impl From<&super::service::Service> for Watched {
    fn from(service: &super::service::Service) -> Self {
        Self::below(service.name(), service.guard_pid())
    }
}

/// A window that is open: it samples each second, on a thread of its own, until it is closed.
#[derive(Debug)]
pub struct Window {
    began: Instant,
    samples: Arc<Mutex<Samples>>,
    /// The thread ends when this goes.
    _until: mpsc::Sender<()>,
}

impl Window {
    /// Opens a window; what is used from now on counts.
    pub fn open(watched: Vec<Watched>) -> Result<Self, LabError> {
        let mut samples = Samples::new(watched)?;
        let began = Instant::now();
        samples.take();
        let samples = Arc::new(Mutex::new(samples));
        let (until, ended) = mpsc::channel();
        std::thread::spawn({
            let samples = Arc::clone(&samples);
            move || {
                while ended.recv_timeout(SAMPLE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
                    lock(&samples).take();
                }
            }
        });
        Ok(Self { began, samples, _until: until })
    }

    /// Closes it: the usage of each name. The same name given twice is added up.
    pub fn close(self) -> BTreeMap<String, Usage> {
        let mut samples = lock(&self.samples);
        samples.take();
        samples.usage(self.began.elapsed())
    }
}

fn lock(samples: &Mutex<Samples>) -> MutexGuard<'_, Samples> {
    samples.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process is told by its number and start: numbers are given anew.
type Process = (Pid, u64);

#[derive(Debug)]
struct Samples {
    watched: Vec<Watched>,
    system: System,
    /// For each name: each process's CPU time in ms when it was first and when it was last seen.
    cpu: BTreeMap<String, HashMap<Process, (u64, u64)>>,
    /// For each name: resident bytes at each sample.
    rss: BTreeMap<String, Vec<u64>>,
    taken: usize,
}

impl Samples {
    fn new(watched: Vec<Watched>) -> Result<Self, LabError> {
        let system = System::new().map_err(|error| LabError::Io {
            what: "read what processes use".to_owned(),
            source: std::io::Error::other(error.to_string()),
        })?;
        Ok(Self { watched, system, cpu: BTreeMap::new(), rss: BTreeMap::new(), taken: 0 })
    }

    fn take(&mut self) {
        let kind = ProcessRefreshKind::nothing().with_cpu().with_memory().without_tasks();
        self.system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        for watched in &self.watched {
            let name = watched.name.clone();
            let seen = self.cpu.entry(name.clone()).or_default();
            let mut bytes = 0;
            for pid in members(&self.system, watched) {
                let Some(process) = self.system.process(pid) else {
                    continue;
                };
                let cpu = process.accumulated_cpu_time();
                // What it used before the window opened is not ours; of one that started since, all is.
                let before = if self.taken == 0 { cpu } else { 0 };
                seen.entry((pid, process.start_time())).or_insert((before, cpu)).1 = cpu;
                bytes += process.memory();
            }
            let samples = self.rss.entry(name).or_default();
            samples.resize(self.taken + 1, 0);
            samples[self.taken] += bytes;
        }
        self.taken += 1;
    }

    fn usage(&self, elapsed: Duration) -> BTreeMap<String, Usage> {
        let of = |(name, processes): (&String, &HashMap<Process, (u64, u64)>)| {
            let cpu_ms: u64 =
                processes.values().map(|(first, last)| last.saturating_sub(*first)).sum();
            let cpu_seconds = Duration::from_millis(cpu_ms).as_secs_f64();
            let rss = &self.rss[name];
            let usage = Usage {
                cpu_seconds,
                cpu_percent: 100.0 * cpu_seconds / elapsed.as_secs_f64().max(f64::EPSILON),
                rss_max_bytes: rss.iter().copied().max().unwrap_or(0),
                rss_mean_bytes: rss.iter().sum::<u64>() / (rss.len() as u64).max(1),
            };
            (name.clone(), usage)
        };
        self.cpu.iter().map(of).collect()
    }
}

fn members(system: &System, watched: &Watched) -> BTreeSet<Pid> {
    let root = Pid::from_u32(watched.pid);
    let mut members = BTreeSet::from([root]);
    if watched.scope == Scope::Below {
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            let children = system.processes().iter().filter(|(_, of)| of.parent() == Some(parent));
            parents.extend(children.filter_map(|(pid, _)| members.insert(*pid).then_some(*pid)));
        }
        members.remove(&root);
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_what_is_used_within_it() {
        let window = Window::open(vec![Watched::process("self", std::process::id())]).unwrap();
        let began = Instant::now();
        let mut sum = 0_u64;
        while began.elapsed() < Duration::from_millis(300) {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        std::hint::black_box(sum);
        let usage = window.close()["self"];
        assert!(usage.cpu_seconds > 0.02, "{usage:?}");
        assert!(
            usage.rss_max_bytes >= usage.rss_mean_bytes && usage.rss_mean_bytes > 0,
            "{usage:?}"
        );
    }

    #[test]
    fn a_tree_counts_without_its_root_and_keeps_what_ended() {
        let script = "(while :; do :; done) & spin=$!; sleep 1.5; kill $spin; wait; sleep 5";
        let mut shell = std::process::Command::new("sh").args(["-c", script]).spawn().unwrap();
        let window = Window::open(vec![Watched::below("tree", shell.id())]).unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        let usage = window.close()["tree"];
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(usage.cpu_seconds > 0.1, "{usage:?}");
        assert!(usage.rss_max_bytes > 0, "{usage:?}");
    }
}
