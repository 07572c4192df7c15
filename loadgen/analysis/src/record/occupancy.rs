//! Holds what the processes and threads of a target did under load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Work and waits of the processes of a target that worked, and of their threads, at the moments at which they were
/// sampled: means over the profiling rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OccupancyRecord {
    /// Number of processes that worked: those that ran at least half as often as the busiest one. A process that was there for a part of
    /// the time counts as that part, and each thread of Node.js as a process; 0 if it is not known.
    pub processes: f64,
    /// Share of the moments at which a thread of such a process held the global interpreter lock (GIL), in %, mean over
    /// these processes; `None` for programs without this lock.
    pub gil_held_percent: Option<f64>,
    /// Number of threads, of all these processes, that ran at a moment.
    pub threads_on_cpu: f64,
    /// Number of threads that waited for a CPU at a moment; 0 for Node.js, whose profiler takes them for running ones.
    pub threads_for_cpu: f64,
    /// Number of threads that waited for the global interpreter lock of their process at a moment.
    pub threads_for_gil: f64,
    /// Functions in which the other threads waited, by number of threads, descending: those with at least 0.01 threads.
    pub waits: Vec<WaitRecord>,
    /// Pools of threads, by number of threads, descending.
    pub pools: Vec<PoolRecord>,
}

/// Threads that waited in one function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitRecord {
    /// Name of the function.
    pub function: String,
    /// File of the function.
    pub file: String,
    /// Number of threads that waited in it at a moment.
    pub threads: f64,
}

/// A pool of threads that take work from a queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PoolRecord {
    /// File with the function that each thread of the pool runs.
    pub file: String,
    /// Number of threads at a moment, of all these processes.
    pub threads: f64,
    /// Number of those that waited for work.
    pub idle: f64,
    /// Number of those that ran, or waited for a CPU or for the global interpreter lock.
    pub running: f64,
    /// Function in which most of the others waited; `None` if none did.
    pub waits_most_in: Option<WaitRecord>,
}
