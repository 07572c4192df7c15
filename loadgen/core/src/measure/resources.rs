//! What services used, and what the machine took from all, as the run record has it.

use serde::{Deserialize, Serialize};

/// What a service and all processes under it used while it was measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceRecord {
    /// CPU time, user and system.
    pub cpu_s: f64,
    /// CPU time over elapsed time: 100 is one core.
    pub cpu_percent: f64,
    /// The time for which its threads were ready to run and had no CPU, summed, over elapsed time.
    pub cpu_wait_percent: f64,
    /// The thread that wanted a CPU most, running or waiting for one, over elapsed time; `None`
    /// where the system does not tell.
    pub busiest_thread_percent: Option<f64>,
    /// The thread that waited longest for a CPU, over elapsed time; `None` where the system does not
    /// tell.
    pub longest_wait_percent: Option<f64>,
    /// How often a second one of its threads was given a CPU; `None` where the system does not tell.
    pub context_switches_per_s: Option<f64>,
    /// In a round: the CPU time over elapsed time of each of its processes, the busiest first.
    pub processes_percent: Vec<f64>,
    /// The most files that were open at the same time, sockets among them; `None` where the system
    /// does not tell.
    pub open_files_max: Option<u64>,
    /// The most that one process had open, in % of the number that it may.
    pub open_files_of_limit_percent: f64,
    /// The greatest sum of resident memory; pages that processes share count for each of them.
    pub memory_max_bytes: u64,
    /// The mean of the same, sampled once a second.
    pub memory_mean_bytes: u64,
    /// CPU time over expected answers, in µs; what failed requests took is in it. `None` where
    /// nothing was answered, or no CPU time was seen.
    pub cpu_us_per_request: Option<f64>,
    /// Expected answers over CPU time: how many a second of one core gives.
    pub requests_per_cpu_s: Option<f64>,
    /// In a round: the same while it went on, about once a second.
    #[serde(default)]
    pub samples: ResourceSamples,
    /// What its container's accounts tell besides; `None` where it ran in none.
    pub container: Option<ContainerRecord>,
}

/// What a service used, sample by sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ResourceSamples {
    /// When each was taken, in s from the end of the ramp-up.
    pub at_s: Vec<f64>,
    /// CPU time since the sample before, over the time since: 100 is one core.
    pub cpu_percent: Vec<f64>,
    /// Resident memory then.
    pub memory_bytes: Vec<u64>,
}

/// What the kernel denied a container, and what it read and wrote. The CPU time and memory of a
/// container are those of its accounts too: all that ran in it counts, and memory is without what is
/// cached of files and not in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerRecord {
    /// For how long it was denied CPUs because it had used up its limit, in ms, summed over CPUs.
    pub throttled_ms: f64,
    /// The share of the periods (of 100 ms, as a rule) in which it was, of those in which it wanted a
    /// CPU, in %.
    pub throttled_periods_percent: f64,
    /// Bytes that were read from block devices.
    pub block_read_bytes: u64,
    /// Bytes that were written to block devices.
    pub block_written_bytes: u64,
}

impl ContainerRecord {
    /// Of several rounds: amounts add up, shares are averaged. `None` if one round has none.
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
    /// The same, held against the expected answers of its time.
    #[must_use]
    pub fn over(self, answered: u64) -> Self {
        let requests_per_cpu_s =
            (answered > 0 && self.cpu_s > 0.0).then(|| answered as f64 / self.cpu_s);
        let cpu_us_per_request = requests_per_cpu_s.map(|rate| 1e6 / rate);
        Self { cpu_us_per_request, requests_per_cpu_s, ..self }
    }
}

/// What a machine took from all that ran on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineRecord {
    /// CPU time that the hypervisor gave to other machines, in % of all.
    pub stolen_percent: f64,
    /// For how long loadgen's control group was denied CPUs because it had used up its share, summed
    /// over CPUs.
    pub throttled_ms: f64,
    /// Pages of memory that were written to swap or read from it.
    pub swapped_pages: u64,
    /// The fullest of the links to other machines; `None` where none has a known speed.
    pub fullest_link: Option<LinkRecord>,
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// Its name, such as `eth0`.
    pub name: String,
    /// How full it was in its fuller direction, in % of its speed.
    pub busy_percent: f64,
}
