//! Holds where the CPU time of a request goes: to which functions of the target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::occupancy::OccupancyRecord;

/// Where the CPU time of a request goes, by stacks that were sampled in profiling rounds: rounds under the same load
/// after the measured ones, whose figures are in no other field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRecord {
    /// Number of profiling rounds.
    pub rounds: u32,
    /// Number of threads that were seen running, over all profiling rounds.
    pub samples: u64,
    /// Share of the attempts to read a process that failed, in %. What it did then is in no function.
    pub missed_percent: f64,
    /// CPU time of the target per expected response, in µs: the mean of the measured rounds, or of
    /// the trials at about the rate of the profiling rounds.
    pub cpu_us_per_request: f64,
    /// Functions, by their own CPU time, descending: those with at least 0.1 % of `samples` of their own, or
    /// 1 % with the functions that they call.
    pub functions: Vec<FunctionRecord>,
    /// Packages of these functions, by their own CPU time, descending: those with at least 1 % of `samples`.
    pub packages: Vec<PackageRecord>,
    /// Work and waits of its processes and threads.
    pub occupancy: OccupancyRecord,
    /// Beginning of the names of the files with all stacks, in the folder of the run: `profile-fastapi` for
    /// `profile-fastapi.svg`.
    pub file: String,
    /// Reason why the target could not be profiled, which leaves the other fields empty; `None` if it could.
    pub failure: Option<String>,
}

/// Share of one function in the CPU time of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionRecord {
    /// Name of the function, with those of its classes where the language has them.
    pub function: String,
    /// File of the function.
    pub file: String,
    /// CPU time in the function itself, and in native functions that it calls.
    pub own: CostRecord,
    /// CPU time in the function and in all functions that it calls.
    pub with_calls: CostRecord,
}

/// CPU time per expected response in the functions of one package.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PackageRecord {
    /// First part of the path of its files: `json` for `json/encoder.py`; empty for functions in no file.
    pub package: String,
    /// CPU time in its functions themselves.
    pub own: CostRecord,
}

/// CPU time per expected response.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostRecord {
    /// Share of the samples times the measured CPU time per expected response, in µs.
    pub us_per_request: f64,
    /// 95 % confidence interval, from the profiling rounds and the measured rounds; `None` for a single round of
    /// either.
    pub confidence_95: Option<[f64; 2]>,
}

/// Functions by which the CPU time of a request differs between two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileDifference {
    /// Names of the two targets. Differences are of the second one: positive if it takes longer.
    pub targets: [String; 2],
    /// Difference of the CPU time per expected response, in µs.
    pub us_per_request: f64,
    /// 95 % confidence interval of this difference, by the pairs of measured rounds.
    pub confidence_95: [f64; 2],
    /// Functions that were tested: those with at least 0.5 % of the samples of one of the targets. Those that are shown
    /// come first, the largest difference first.
    pub functions: Vec<FunctionDifference>,
    /// Beginning of the name of the file with the flame graph of the second target, coloured by its difference from the
    /// first one, in the folder of the run.
    pub file: String,
}

/// Difference of a function's own CPU time between two targets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionDifference {
    /// Name of the function.
    pub function: String,
    /// File of the function.
    pub file: String,
    /// Difference of its own CPU time per expected response, in µs.
    pub us_per_request: f64,
    /// 95 % confidence interval of this difference alone.
    pub confidence_95: [f64; 2],
    /// Whether the difference is no chance: the chance of any false one among all functions is at most one in twenty
    /// (Holm).
    pub shown: bool,
}
