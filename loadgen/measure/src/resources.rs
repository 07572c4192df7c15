//! Entries of the record of a run about resources: what services used, and what the machine took
//! from all services.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the load balancer before the replicas of a target, among services and backends.
pub const BALANCER: &str = "balancer";

/// Name, among services and backends, of the contender that was loaded at the same time as the
/// target, in a duet.
pub const PARTNER: &str = "duet partner";

/// Name, among services and backends, of the process that measures beside the load (`--probe`).
/// Hardly the name of a target, as `probe` could be.
pub const PROBE: &str = "latency probe";

/// Name, among services and backends, of the targets that were up without load, in slices.
pub const IDLE_TARGETS: &str = "idle targets";

/// Returns whether a service of this name works for the target: a backend, an upstream, or the load
/// balancer. The others are the target itself, loadgen, and what a run watches beside them.
#[must_use]
pub fn is_behind_target(service: &str) -> bool {
    !["target", "generator", PARTNER, PROBE, IDLE_TARGETS].contains(&service)
}

/// Resources that a service, with all its descendant processes, uses now.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PresentUsage {
    /// CPU time since the previous sample, in % of one core.
    pub cpu_percent: f64,
    /// Resident memory, or the memory of the container's control group, in bytes.
    pub memory_bytes: u64,
}

/// Resources that a service, with all its descendant processes, used during the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRecord {
    /// User and system CPU time.
    pub cpu_s: f64,
    /// CPU time over elapsed time.
    pub cpu_percent: f64,
    /// Total time of threads that were ready to run but had no CPU.
    pub cpu_wait_percent: f64,
    /// Time for which the busiest thread ran or waited for a CPU; `None` if not reported by the
    /// system.
    pub busiest_thread_percent: Option<f64>,
    /// Time for which the longest waiting thread waited for a CPU; `None` if not reported by the
    /// system.
    pub longest_wait_percent: Option<f64>,
    /// Times per second that a thread was given a CPU; `None` if not reported by the system.
    pub context_switches_per_s: Option<f64>,
    /// CPU time of each process over elapsed time, in descending order; empty over several rounds.
    pub processes_percent: Vec<f64>,
    /// Most files open at the same time, including sockets; `None` if not reported by the system.
    pub open_files_max: Option<u64>,
    /// Most files that one process had open, over the process's limit.
    pub open_files_of_limit_percent: f64,
    /// Maximum total of resident memory; shared pages count once for each process that shares them.
    pub memory_max_bytes: u64,
    /// Mean total of resident memory, sampled once a second.
    pub memory_mean_bytes: u64,
    /// Total of resident memory before the first request of a round, or of the start that its rounds share; over several
    /// rounds, the mean.
    /// `None` if unknown, for trials of a capacity search, or in earlier versions.
    #[serde(default)]
    pub memory_idle_bytes: Option<u64>,
    /// CPU time per expected response, including the CPU time of failed requests; `None` without an
    /// expected response, or without CPU time.
    pub cpu_us_per_request: Option<f64>,
    /// Expected responses per second of one core's CPU time; `None` if `cpu_us_per_request` is
    /// `null`.
    pub requests_per_cpu_s: Option<f64>,
    /// Usage over time, sampled about once a second; empty arrays over several rounds.
    #[serde(default)]
    pub samples: ResourceSamples,
    /// Further values from the accounts of the service's container; `None` without a container.
    pub container: Option<ContainerRecord>,
}

/// Time series of the resources that a service used.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceSamples {
    /// Time of the sample, from the end of the ramp-up.
    pub at_s: Vec<f64>,
    /// CPU time since the previous sample, over the time since.
    pub cpu_percent: Vec<f64>,
    /// Resident memory.
    pub memory_bytes: Vec<u64>,
}

impl ResourceSamples {
    /// Adds up the samples of several parts, each with that of the same number, for as long as all parts have some.
    fn together(parts: &[ResourceRecord]) -> Self {
        let of = |at: usize| -> Option<(f64, f64, u64)> {
            let at_s = *parts.first()?.samples.at_s.get(at)?;
            let each = parts.iter().map(|part| {
                let samples = &part.samples;
                Some((*samples.cpu_percent.get(at)?, *samples.memory_bytes.get(at)?))
            });
            let each: Vec<(f64, u64)> = each.collect::<Option<_>>()?;
            let cpu: f64 = each.iter().map(|(cpu, _)| cpu).sum();
            Some((at_s, (cpu * 10.0).round() / 10.0, each.iter().map(|(_, memory)| memory).sum()))
        };
        let mut all = Self::default();
        for (at_s, cpu_percent, memory_bytes) in (0..).map_while(of) {
            all.at_s.push(at_s);
            all.cpu_percent.push(cpu_percent);
            all.memory_bytes.push(memory_bytes);
        }
        all
    }
}

/// CPU time that the kernel denied a container, and the container's block I/O. For a container, the
/// CPU time and memory in [`ResourceRecord`] also come from the kernel's accounts of the container:
/// all that ran in the container counts, and memory excludes cached files that are not in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerRecord {
    /// Time without CPUs because the limit was used up, summed over CPUs.
    pub throttled_ms: f64,
    /// Periods in which the container was denied CPUs, over the periods in which it wanted a CPU. A
    /// period is usually 100 ms.
    pub throttled_periods_percent: f64,
    /// Bytes read from block devices.
    pub block_read_bytes: u64,
    /// Bytes written to block devices.
    pub block_written_bytes: u64,
}

impl ContainerRecord {
    /// Combines the records of several rounds: sums times and bytes, and averages percentages.
    /// Returns `None` if one of the rounds has no record.
    #[must_use]
    pub fn over_rounds(rounds: &[Option<Self>]) -> Option<Self> {
        let all: Vec<Self> = rounds.iter().copied().collect::<Option<_>>()?;
        let share: f64 = all.iter().map(|one| one.throttled_periods_percent).sum();
        let sum = all.iter().fold(Self::default(), |sum, one| Self {
            throttled_ms: sum.throttled_ms + one.throttled_ms,
            throttled_periods_percent: 0.0,
            block_read_bytes: sum.block_read_bytes + one.block_read_bytes,
            block_written_bytes: sum.block_written_bytes + one.block_written_bytes,
        });
        let throttled_periods_percent = share / (all.len() as f64).max(1.0);
        Some(Self { throttled_periods_percent, ..sum })
    }
}

impl ResourceRecord {
    /// Returns what several parts of a service used together, such as its replicas. Times and memory are added up, the
    /// greatest memory and the samples as if all parts reached them at the same time; of the values that describe one
    /// thread, one process or one limit, the greatest counts. Figures per response are not known here.
    #[must_use]
    pub fn together(parts: &[Self]) -> Self {
        fn all<T>(
            parts: &[ResourceRecord],
            of: fn(&ResourceRecord) -> Option<T>,
        ) -> Option<Vec<T>> {
            parts.iter().map(of).collect()
        }
        let sum = |of: fn(&Self) -> f64| parts.iter().map(of).sum::<f64>();
        let greatest = |of: fn(&Self) -> Option<f64>| all(parts, of)?.into_iter().reduce(f64::max);
        let shares = parts.iter().flat_map(|part| &part.processes_percent).copied();
        let mut processes_percent: Vec<f64> = shares.collect();
        processes_percent.sort_by(|a, b| b.total_cmp(a));
        Self {
            cpu_s: sum(|part| part.cpu_s),
            cpu_percent: sum(|part| part.cpu_percent),
            cpu_wait_percent: sum(|part| part.cpu_wait_percent),
            busiest_thread_percent: greatest(|part| part.busiest_thread_percent),
            longest_wait_percent: greatest(|part| part.longest_wait_percent),
            context_switches_per_s: all(parts, |part| part.context_switches_per_s)
                .map(|all| all.iter().sum()),
            processes_percent,
            open_files_max: all(parts, |part| part.open_files_max).map(|all| all.iter().sum()),
            open_files_of_limit_percent: parts
                .iter()
                .map(|part| part.open_files_of_limit_percent)
                .fold(0.0, f64::max),
            memory_max_bytes: parts.iter().map(|part| part.memory_max_bytes).sum(),
            memory_mean_bytes: parts.iter().map(|part| part.memory_mean_bytes).sum(),
            memory_idle_bytes: all(parts, |part| part.memory_idle_bytes)
                .filter(|all| !all.is_empty())
                .map(|all| all.iter().sum()),
            cpu_us_per_request: None,
            requests_per_cpu_s: None,
            samples: ResourceSamples::together(parts),
            container: ContainerRecord::over_rounds(
                &parts.iter().map(|part| part.container).collect::<Vec<_>>(),
            )
            .filter(|_| !parts.is_empty()),
        }
    }

    /// Sets the figures per expected response, from the number of expected responses (`answered`)
    /// in the measured time.
    #[must_use]
    pub fn over(self, answered: u64) -> Self {
        let requests_per_cpu_s =
            (answered > 0 && self.cpu_s > 0.0).then(|| answered as f64 / self.cpu_s);
        let cpu_us_per_request = requests_per_cpu_s.map(|rate| 1e6 / rate);
        Self { cpu_us_per_request, requests_per_cpu_s, ..self }
    }
}

/// Pods of a target or backend in a round, and their nodes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PodsRecord {
    /// CPUs that all pods together may use: of each node the limits of its pods, but not more than its CPUs.
    pub cpus: f64,
    /// Utilization of the CPUs of all nodes by any program during the hold.
    pub busy_percent: f64,
    /// Utilization of the CPUs of each node by any program during the hold, by the name of the node.
    pub nodes_busy_percent: BTreeMap<String, f64>,
}

/// Resources that a machine took from all programs that ran on the machine, such as stolen CPU
/// time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineRecord {
    /// CPU time that the hypervisor gave to other machines, in % of all CPU time.
    pub stolen_percent: f64,
    /// Time in which loadgen's control group was denied CPUs because its limit was used up, summed
    /// over CPUs.
    pub throttled_ms: f64,
    /// Memory pages written to swap or read from swap.
    pub swapped_pages: u64,
    /// Fullest of the links to other machines; `None` if no link has a known speed.
    pub fullest_link: Option<LinkRecord>,
}

/// Name and utilization of a network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// Name of the interface, such as `eth0`.
    pub name: String,
    /// Traffic in the fuller direction, in % of the interface's speed.
    pub busy_percent: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cpu: f64, samples: usize) -> ResourceRecord {
        ResourceRecord {
            cpu_s: cpu / 10.0,
            cpu_percent: cpu,
            busiest_thread_percent: Some(cpu / 2.0),
            processes_percent: vec![cpu / 2.0; 2],
            memory_max_bytes: 10,
            memory_mean_bytes: 8,
            memory_idle_bytes: Some(4),
            samples: ResourceSamples {
                at_s: (1..=samples).map(|at| at as f64).collect(),
                cpu_percent: vec![cpu; samples],
                memory_bytes: vec![9; samples],
            },
            ..ResourceRecord::default()
        }
    }

    #[test]
    fn parts_of_a_service_are_added_up() {
        let both = ResourceRecord::together(&[part(20.0, 3), part(60.0, 2)]);
        assert_eq!((both.cpu_s, both.cpu_percent), (8.0, 80.0));
        assert_eq!(both.busiest_thread_percent, Some(30.0));
        assert_eq!(both.processes_percent, [30.0, 30.0, 10.0, 10.0]);
        assert_eq!((both.memory_max_bytes, both.memory_idle_bytes), (20, Some(8)));
        assert_eq!((both.open_files_max, both.container), (None, None));
        let samples =
            (&both.samples.at_s[..], &both.samples.cpu_percent[..], &both.samples.memory_bytes[..]);
        assert_eq!(samples, (&[1.0, 2.0][..], &[80.0, 80.0][..], &[18, 18][..]));
    }

    #[test]
    fn one_part_is_the_service_and_no_part_used_nothing() {
        assert_eq!(ResourceRecord::together(&[part(20.0, 3)]), part(20.0, 3));
        let none = ResourceRecord::together(&[]);
        assert_eq!((none.cpu_s, none.memory_idle_bytes, none.container), (0.0, None, None));
    }
}
