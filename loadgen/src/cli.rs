//! The command line as clap reads it: data only. [`crate::commands`] makes sense of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::scenario::parse_duration;

/// Which server is faster, and how much can it carry?
///
/// Launches the scenario's targets one after another, in interleaved rounds, loads each, and
/// prints a comparison with confidence intervals.
#[derive(Debug, Parser)]
#[command(
    name = "loadgen",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true,
    styles = Styles::styled().header(AnsiColor::Yellow.on_default()).literal(AnsiColor::Green.on_default()),
    after_help = EXAMPLES
)]
pub struct Cli {
    /// What to do; `run` where none is named.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  loadgen --scenario redis3 --workers 4           compare four servers over Redis
  loadgen --scenario direct --target sanic,quart  two of them, without a backend
  loadgen --scenario direct --url http://127.0.0.1:8000 --duration 30s
  loadgen check my-scenario.toml                  what it would do, without doing it

Exit codes: 0 done, 1 failed, 2 the command line or a scenario is wrong, 3 a threshold failed,
4 a target could not be started or verified, 5 the result is degraded, 130 interrupted";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load each target and compare them (the default).
    Run(RunArgs),
    /// Validate scenarios and explain what they would do; sends nothing.
    Check(CheckArgs),
    /// List the scenarios and targets there are.
    List,
    /// Start the targets and backends alone, for development.
    #[command(subcommand)]
    Lab(LabCommand),
    /// Serve a manager; started by loadgen itself.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Hold one service and end it with loadgen; started by loadgen itself.
    #[command(hide = true)]
    Guard(GuardArgs),
}

/// The options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// A scenario's name (see `loadgen list`) or the path of its TOML file.
    #[arg(short, long, value_name = "NAME|PATH", required = true)]
    pub scenario: Option<String>,
    /// The targets to compare, instead of the scenario's own.
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "url")]
    pub target: Vec<String>,
    /// A server that is running already, instead of the lab's targets.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Worker processes that share the load; without it, it comes from this process.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: Option<u32>,
    /// Users of the whole test.
    #[arg(short, long, value_name = "N")]
    pub users: Option<u32>,
    /// The time over which the users start.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub ramp_up: Option<Duration>,
    /// How long each round holds the load, such as 10s or 1m30s.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Iterations of each round, shared by all users, instead of a duration.
    #[arg(short, long, value_name = "N")]
    pub iterations: Option<u64>,
    /// Rounds for each target [default: 5; 1 with --url].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// How long each round runs before it counts.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1s", allow_hyphen_values = true)]
    pub warmup: Duration,
    /// What generated data is seeded with [default: chosen at random, and reported].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Worker processes of each target.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: u32,
    /// The folder to save the run in [default: runs/TIME-SCENARIO].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to write to stdout; everything else goes to stderr.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// What goes to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// The options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Names or paths of scenarios; all in scenarios/ where none is given.
    pub scenarios: Vec<String>,
}
