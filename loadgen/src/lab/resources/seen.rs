//! Values that were measured of processes with one name.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use sysinfo::{Pid, System};

use super::{Scope, Watched};
use crate::engine::schedstat::{self, Scheduled};
use crate::lab::machine::container::{Cgroup, Usage};
use crate::lab::machine::cpu_time;
use crate::measure::{ContainerRecord, ResourceRecord, ResourceSamples};

/// A process, identified by its ID and start time, because the system reuses IDs.
type Process = (Pid, u64);

/// A thread, identified by its process and its number.
type Thread = (Process, u32);

/// Measured values of the processes that are watched under one name.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// CPU time of each process.
    cpu: HashMap<Process, CpuTime>,
    /// CPU time of the ended children of each process, in ns: at the start of the measurement, and when
    /// the process was last sampled. The first value is 0 for a process that started later.
    of_ended: HashMap<Process, (u64, u64)>,
    /// Number of the newest sample.
    newest: usize,
    /// Scheduling statistics of each thread: at the start of the measurement, and when the thread
    /// was last sampled.
    threads: HashMap<Thread, (Scheduled, Scheduled)>,
    /// Memory at each sample, in bytes: the resident memory of all processes, or the memory of the
    /// container's control group.
    pub rss: Vec<u64>,
    /// CPU time of all processes from the start of the measurement to each sample, in ns. Includes
    /// processes that have ended.
    pub cpu_ns: Vec<u64>,
    /// Number of open files at each sample; empty if the system does not report the number.
    files: Vec<u64>,
    /// Most files that one process had open at a sample, in % of the process's limit.
    files_percent: f64,
    /// Resource usage of each container at the first and at the latest sample, by the container's
    /// process; empty without a container.
    groups: HashMap<u32, (Usage, Usage)>,
}

/// CPU time of a process, in ns.
#[derive(Debug, Clone, Copy, Default)]
struct CpuTime {
    /// At the start of the measurement; 0 for a process that started later.
    before: u64,
    /// When the process was last sampled.
    last: u64,
    /// Number of the sample in which the process was last seen.
    seen_at: usize,
}

/// Adds a value to the sample with this number. Processes that are watched under the same name
/// share each sample.
fn add_at(samples: &mut Vec<u64>, number: usize, value: u64) {
    samples.resize(number + 1, 0);
    samples[number] += value;
}

/// Shortest interval between two samples for which a CPU usage is computed, because the CPU times of
/// ended children have a resolution of 10 ms.
const SHORTEST: Duration = Duration::from_millis(500);

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

impl Seen {
    /// Adds a sample of these processes, the sample of this number from 0.
    pub(super) fn look_at(&mut self, watched: &Watched, system: &System, number: usize) {
        self.newest = number;
        let (mut bytes, mut files) = (0, None);
        for (pid, cpu) in self.read_cpu_times(watched, system, number) {
            let Some(process) = system.process(pid) else {
                continue;
            };
            // CPU time from before the window does not count. All CPU time of a process that
            // started later counts.
            let before = if number == 0 { cpu } else { 0 };
            let key = (pid, process.start_time());
            let of = self.cpu.entry(key).or_insert(CpuTime { before, ..CpuTime::default() });
            (of.last, of.seen_at) = (cpu, number);
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

    /// Returns the CPU time of each member, in ns, and reads the CPU time of the members' ended children.
    ///
    /// A member that ends meanwhile would count both itself and in the time of its parent, or in neither:
    /// all times are then read again without it.
    fn read_cpu_times(
        &mut self,
        watched: &Watched,
        system: &System,
        number: usize,
    ) -> Vec<(Pid, u64)> {
        let mut members = members(system, watched);
        loop {
            if watched.scope != Scope::Alone {
                let root = Pid::from_u32(watched.pid);
                let parents = members.iter().copied().chain([root]);
                parents.for_each(|pid| self.look_at_ended_children(pid, system, number));
            }
            let cpu = |pid: &Pid| Some((*pid, cpu_ns(*pid, system)?));
            let times: Vec<(Pid, u64)> = members.iter().filter_map(cpu).collect();
            if times.len() == members.len() {
                return times;
            }
            members = times.into_iter().map(|(pid, _)| pid).collect();
        }
    }

    fn look_at_ended_children(&mut self, pid: Pid, system: &System, number: usize) {
        let Some(process) = system.process(pid) else { return };
        let Some(now) = cpu_time::of_ended_children_ns(pid.as_u32()) else { return };
        let (first, last) = self.of_ended.entry((pid, process.start_time())).or_default();
        *last = now;
        if number == 0 {
            *first = now;
        }
    }

    /// Returns the processes.
    pub(super) fn pids(&self) -> impl Iterator<Item = Pid> {
        self.cpu.keys().map(|(pid, _)| *pid)
    }

    /// CPU time that each process used during the measurement until it was last sampled, in ns.
    fn used_ns(&self) -> impl Iterator<Item = u64> + Clone {
        self.cpu.values().map(|of| of.last.saturating_sub(of.before))
    }

    /// CPU time during the measurement that no sample saw, in ns: that of processes after they were last
    /// sampled, and of processes that started and ended between two samples. It is known only of children
    /// for which a parent has waited, with a resolution of 10 ms.
    fn unseen_ns(&self) -> u64 {
        let is_here =
            |process: &Process| self.cpu.get(process).is_none_or(|of| of.seen_at == self.newest);
        // The time of a parent that has ended itself is part of its own parent's, with the time of
        // those of its children that ended before the measurement.
        let (mut ended, mut known) = (0_u64, 0_u64);
        for (process, (first, last)) in &self.of_ended {
            match is_here(process) {
                true => ended += last.saturating_sub(*first),
                false => known += first,
            }
        }
        let gone = self.cpu.values().filter(|of| of.seen_at < self.newest);
        known += gone.map(|of| of.last).sum::<u64>();
        ended.saturating_sub(known)
    }

    /// CPU time of all processes during the measurement, in ns.
    pub(super) fn all_used_ns(&self) -> u64 {
        self.used_ns().sum::<u64>() + self.unseen_ns()
    }

    /// Returns the CPU usage and the memory at each sample. `at` holds the times of the samples.
    /// Omits a sample that is less than 0.5 s after the previous sample, as the last sample may be.
    pub(super) fn samples(&self, at: &[Instant]) -> ResourceSamples {
        let mut samples = ResourceSamples::default();
        for i in 1..at.len().min(self.cpu_ns.len()).min(self.rss.len()) {
            let Some(cpu_percent) = self.cpu_percent(at, i) else { continue };
            samples.at_s.push(tenths((at[i] - at[0]).as_secs_f64()));
            samples.cpu_percent.push(cpu_percent);
            samples.memory_bytes.push(self.rss[i]);
        }
        samples
    }

    /// Returns the CPU usage between sample `i - 1` and sample `i`, in % of one core; `None` if
    /// less than 0.5 s lies between the samples.
    pub(super) fn cpu_percent(&self, at: &[Instant], i: usize) -> Option<f64> {
        let since = *at.get(i)? - *at.get(i.checked_sub(1)?)?;
        let used_ns = self.cpu_ns.get(i)?.saturating_sub(*self.cpu_ns.get(i - 1)?);
        (since >= SHORTEST).then(|| tenths(used_ns as f64 / since.as_secs_f64() / 1e7))
    }

    pub(super) fn usage(&self, elapsed: Duration) -> ResourceRecord {
        let share = |ns: u64| 100.0 * ns as f64 / elapsed.as_nanos().max(1) as f64;
        let mut processes_percent: Vec<f64> = self.used_ns().map(share).collect();
        processes_percent.sort_by(|a, b| b.total_cmp(a));
        let cpu_ns = self.all_used_ns();
        let since = |(first, last): &(Scheduled, Scheduled)| Scheduled {
            ran: last.ran.saturating_sub(first.ran),
            waited: last.waited.saturating_sub(first.waited),
            runs: last.runs.saturating_sub(first.runs),
        };
        let threads = self.threads.values().map(since);
        let runs: u64 = threads.clone().map(|thread| thread.runs).sum();
        let known = !self.threads.is_empty();
        let record = ResourceRecord {
            cpu_s: Duration::from_nanos(cpu_ns).as_secs_f64(),
            cpu_percent: share(cpu_ns),
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

/// Returns the CPU time of a process, in ns; `None` if the process has ended since `system` was read.
fn cpu_ns(pid: Pid, system: &System) -> Option<u64> {
    match cfg!(target_os = "linux") {
        true => cpu_time::own_ns(pid.as_u32()),
        false => Some(system.process(pid)?.accumulated_cpu_time().saturating_mul(1_000_000)),
    }
}

fn members(system: &System, watched: &Watched) -> BTreeSet<Pid> {
    let root = Pid::from_u32(watched.pid);
    if watched.scope == Scope::Beside {
        let own = Pid::from_u32(std::process::id());
        let all = system.processes().keys().copied();
        return all.filter(|pid| ![root, own].contains(pid)).collect();
    }
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
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn process(pid: u32) -> Process {
        (Pid::from_u32(pid), 0)
    }

    /// A gone parent had used 100 ms before the window and 50 ms in it, and its ended children 2 s before
    /// the window and 300 ms in it. Its own parent has waited for it.
    #[test]
    fn a_parent_that_ends_counts_no_child_from_before_the_window() {
        let (manager, parent) = (process(1), process(2));
        let seen = Seen {
            cpu: HashMap::from([
                (manager, CpuTime { before: 7 * MS, last: 8 * MS, seen_at: 1 }),
                (parent, CpuTime { before: 100 * MS, last: 120 * MS, seen_at: 0 }),
            ]),
            of_ended: HashMap::from([
                (manager, (500 * MS, (500 + 150 + 2_300) * MS)),
                (parent, (2_000 * MS, 2_100 * MS)),
            ]),
            newest: 1,
            ..Seen::default()
        };
        assert_eq!(seen.unseen_ns(), (30 + 300) * MS, "after the last sample");
        assert_eq!(seen.all_used_ns(), (1 + 50 + 300) * MS);
    }

    /// A child that ended after the look at all processes, and before its clock is read.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_child_that_ends_within_a_sample_counts_once() {
        use std::io::{Read, Write};
        use std::process::{Command, Stdio};

        use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};
        let child = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo; read end";
        let script = format!("sh -c '{child}'; exec sleep 60");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let _ = shell.stdout.as_mut().unwrap().read(&mut [0]).unwrap();
        let mut system = System::new().unwrap();
        let kind = ProcessRefreshKind::nothing().with_cpu().without_tasks();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
        let (watched, mut seen) = (Watched::below("tree", shell.id()), Seen::default());
        seen.look_at(&watched, &system, 0);
        shell.stdin.take().unwrap().write_all(b"\n").unwrap();
        let ended = || cpu_time::of_ended_children_ns(shell.id()).unwrap();
        let began = Instant::now();
        while ended() == 0 && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        seen.look_at(&watched, &system, 1);
        let (ended, used) = (ended(), seen.all_used_ns());
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(ended >= 20 * MS && used <= 10 * MS, "{used} of {ended}");
    }
}
