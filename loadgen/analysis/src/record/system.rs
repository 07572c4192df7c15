//! Holds the settings of the machine that change what is measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Settings of the machine that change what is measured, and its load before the run. A value that
/// loadgen cannot find out is empty or `None`, as are all of them on other systems than Linux.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemRecord {
    /// Governors of the CPUs' frequency, such as `performance`; several are separated by commas.
    /// `None` also where the machine does not set frequencies, such as most virtual machines.
    pub governor: Option<String>,
    /// Lowest and highest frequency that the governors may choose, in MHz.
    pub frequency_mhz: Option<[f64; 2]>,
    /// Whether CPUs may exceed their base frequency for a while.
    pub turbo: Option<bool>,
    /// Whether cores run several hardware threads (SMT).
    pub smt: Option<bool>,
    /// CPUs of different parts of the test that are hardware threads of one core.
    pub shared_cores: Vec<SharedCoreRecord>,
    /// Numbers of the NUMA nodes of each part's CPUs, by part. A part that is not pinned is missing.
    pub numa_nodes: BTreeMap<String, Vec<usize>>,
    /// Use of transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// State of each known vulnerability of the CPU that affects it, such as `Mitigation: Retpolines`.
    pub mitigations: BTreeMap<String, String>,
    /// Hypervisor under which the machine runs; `none` on a physical machine.
    pub virtualization: Option<String>,
    /// Clock that the kernel reads, such as `tsc`.
    pub clock_source: Option<String>,
    /// Mean number of processes that ran or waited for a CPU in the minute before the run began.
    pub load_average: Option<f64>,
}

/// Two CPUs that are hardware threads of one core, and run different parts of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedCoreRecord {
    /// Parts of the test: `target`, `backends` or `generator`.
    pub parts: [String; 2],
    /// Number of a CPU of each part.
    pub cpus: [usize; 2],
}
