//! The command line of `loadgen capacity`.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::Args;

use super::values::percent;
use super::{CommonArgs, ProfileArgs, RequestArgs};
use crate::scenario::experiment::{CapacitySettings, MOST_REPLICAS};
use crate::scenario::parse_duration;

/// Accepted values of `--precision`, as fractions.
const PRECISIONS: RangeInclusive<f64> = CapacitySettings::PRECISIONS;

/// Options of `capacity`.
#[derive(Debug, Args)]
#[command(after_help = CAPACITY_EXAMPLES)]
pub struct CapacityArgs {
    /// Name of a scenario (see `loadgen list`), or path of its TOML file. A rate passes only if all
    /// thresholds of the scenario hold. If none of them limits the errors of all steps together,
    /// loadgen adds `error_rate < 1%`. Required without a URL.
    #[arg(short, long, value_name = "NAME|PATH", required_unless_present = "urls")]
    pub scenario: Option<String>,
    /// A request without a scenario.
    #[command(flatten)]
    pub request: RequestArgs,
    /// Options shared by `run` and `capacity`.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Largest number of in-flight requests, from 1 to 1,000,000 [default: the users of the
    /// scenario; 1000 for a scenario of the closed model with fewer users].
    #[arg(short, long, value_name = "N")]
    pub users: Option<u32>,
    /// Shortest time for which a trial holds its rate, above 0. At a low rate a trial lasts longer,
    /// until it has the samples that the thresholds need.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, default_value = "5s", allow_hyphen_values = true)]
    pub duration: Duration,
    /// Largest accepted distance between the highest rate that passed and the lowest rate that
    /// failed, in %, from 0.5 to 50.
    #[arg(short, long, value_name = "PERCENT", value_parser = percent(100.0 * PRECISIONS.start()..=100.0 * PRECISIONS.end()), default_value = "5", allow_hyphen_values = true)]
    pub precision: f64,
    /// Number of searches for each target, from 1 to 1000. Each search after the first begins near
    /// the result of the earlier searches [default: 5, and up to 5 more while the 95 % confidence
    /// interval of a capacity is wider than ±25 %].
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Number of worker processes of each target, from 1 to 256 [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: Option<u32>,
    /// Number of replicas of each target behind a load balancer (HAProxy or else Caddy, round robin),
    /// from 1 to 64 [default: the target itself, without a balancer].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPLICAS)))]
    pub replicas: Option<u32>,
    /// Profiling rounds.
    #[command(flatten)]
    pub profile: ProfileArgs,
}

const CAPACITY_EXAMPLES: &str = "\
Examples:
  loadgen capacity http://127.0.0.1:8000/search?q=a
  loadgen capacity --scenario redis3 --target sanic,quart
  loadgen capacity --scenario direct --url http://127.0.0.1:8000 \\
      --precision 2 --duration 10s

Exit codes are those of `loadgen run`. Exit code 3 means that the search found
no rate at which the thresholds hold.";
