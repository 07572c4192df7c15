//! Holds the settings of the machine that change what is measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the machine that change what is measured, and its load before the run. A value that
/// loadgen cannot find out is empty or `None`, as are all of them on other systems than Linux.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SystemRecord {
    /// Governor of the CPUs' frequency, such as `performance`; several are separated by commas.
    /// `None` if the machine does not set frequencies.
    pub governor: Option<String>,
    /// Lowest and highest frequency that the governor may choose; `None` if `governor` is `null`.
    pub frequency_mhz: Option<[f64; 2]>,
    /// Whether CPUs may exceed their base frequency for a while; `None` with an unknown driver.
    pub turbo: Option<bool>,
    /// Whether cores run several hardware threads; `None` if unknown.
    pub smt: Option<bool>,
    /// CPUs that are hardware threads of one core and belong to different parts of the test.
    pub shared_cores: Vec<SharedCoreRecord>,
    /// Numbers of the NUMA nodes of each part's CPUs; without parts that are not pinned.
    pub numa_nodes: BTreeMap<String, Vec<usize>>,
    /// `always`, `madvise` or `never`; `None` if unknown.
    pub transparent_huge_pages: Option<String>,
    /// State of each known vulnerability of the CPU, in the kernel's words, except those that do
    /// not affect it.
    pub mitigations: BTreeMap<String, String>,
    /// Hypervisor under which the machine runs; `none` on a physical machine. `None` if unknown.
    pub virtualization: Option<String>,
    /// Clock that the kernel reads, such as `tsc`; `None` if unknown.
    pub clock_source: Option<String>,
    /// Mean number of processes that ran or waited for a CPU in the minute before the run; `None`
    /// if unknown.
    pub load_average: Option<f64>,
}

/// Two CPUs that are hardware threads of one core, and run different parts of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SharedCoreRecord {
    /// The parts.
    pub parts: [String; 2],
    /// Number of a CPU of each part.
    pub cpus: [usize; 2],
}
