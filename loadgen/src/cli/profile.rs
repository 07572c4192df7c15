//! The option `--profile`, which `run` and `capacity` share.

use clap::Args;

/// Whether and how long targets are profiled.
#[derive(Debug, Clone, Copy, Args)]
pub struct ProfileArgs {
    /// Find out to which functions the CPU time of a request goes, and what the server waits for: load
    /// each target again in ROUNDS profiling rounds after the measured ones, from 2 to 100; in 8
    /// without ROUNDS; in a search at the highest rate that passed. The stacks of Python and Node.js
    /// are sampled. The figures of these rounds are in no result.
    #[arg(long, value_name = "ROUNDS", num_args = 0..=1, require_equals = true, default_missing_value = "8", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub profile: Option<u32>,
}
