//! The command line as clap reads it: data only. [`crate::commands`] makes sense of it.

mod completions;
mod ctl;
mod init;
mod lab;
mod runtime;
mod saved;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::completions::{CompletionsArgs, ShellName};
pub use self::ctl::{CtlArgs, CtlCommand};
pub use self::init::InitArgs;
pub use self::lab::{BackendName, LabCommand, LabFormat, LabUpArgs};
pub use self::runtime::{RuntimeArgs, RuntimeName};
pub use self::saved::{CompareArgs, ReportArgs};
use crate::report::Format;
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
  loadgen -s mine.toml --url old=http://127.0.0.1:8000,new=http://127.0.0.1:8001
  loadgen capacity --scenario redis3 -t sanic     the highest rate that it carries
  loadgen check my-scenario.toml                  what it would do, without doing it
  loadgen check --try http://127.0.0.1:8000 my-scenario.toml    each request once

Exit codes: 0 done, 1 failed, or a target answers nothing, 2 the command line or a scenario is wrong,
3 a threshold or a proof failed, 4 a target could not be started or verified, 5 a worker was lost, 130 interrupted";

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load each target and compare them (the default).
    Run(RunArgs),
    /// Find the highest rate that each target carries, by search in the open model.
    Capacity(CapacityArgs),
    /// Validate scenarios and explain what they would do; sends nothing, but with --try.
    Check(CheckArgs),
    /// End a run that goes on, or change its users or its rate.
    Ctl(CtlArgs),
    /// Hold saved runs against the first of them: before and after a change, on two machines.
    Compare(CompareArgs),
    /// Show a saved run again, and write its report.html anew.
    Report(ReportArgs),
    /// List the scenarios and targets there are.
    List,
    /// Write a first scenario, with comments, and the schema with which editors complete it.
    Init(InitArgs),
    /// Print the JSON Schema of scenario files, for editors.
    Schema,
    /// Print what a shell needs to complete this command line.
    Completions(CompletionsArgs),
    /// Start the targets and backends alone, for development.
    #[command(subcommand)]
    Lab(LabCommand),
    /// Measure with workers on other hosts: wait for them, and give each its share of the load.
    Manager(ManagerArgs),
    /// Serve a manager, with the join file that it has written.
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
    /// What it shares with the other.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Users of the whole test. Several numbers, such as 100,500, measure each target with each.
    #[arg(short, long, value_name = "N,…", value_delimiter = ',')]
    pub users: Vec<u32>,
    /// The time over which the users start.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub ramp_up: Option<Duration>,
    /// How long each round holds the load, such as 10s or 1m30s.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Iterations of each round, shared by all users, instead of a duration.
    #[arg(short, long, value_name = "N")]
    pub iterations: Option<u64>,
    /// Requests per second, whoever is free sends them: the open model. --users is then the most
    /// that send at the same time [default: 1000].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// Measure one target, or --url, twice in each round: how much do equals differ here?
    #[arg(long)]
    pub aa: bool,
    /// Rounds for each target [default: 5; 1 with one --url, but not with --aa or several numbers of
    /// users].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// What becomes of the run when a worker is lost; it exits with 5 either way [default: fail].
    #[arg(long, value_name = "WHAT", value_enum)]
    pub on_worker_loss: Option<OnWorkerLoss>,
    /// End the run as soon as a threshold has failed; what was measured is reported and saved.
    #[arg(long)]
    pub fail_fast: bool,
    /// Write the thresholds and the proofs, and which of them held, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Worker processes of each target. Several numbers, such as 1,2,4, measure each target with each
    /// [default: 1].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: Vec<u32>,
}

/// What whatever measures is asked for: by `run` and by `capacity`.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// The targets to compare, instead of the scenario's own.
    #[arg(short, long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "url")]
    pub target: Vec<String>,
    /// Servers that are running already, instead of the lab's targets: one to load, or several to
    /// compare, by names of their own if they have them.
    #[arg(long, value_name = "[NAME=]URL,…", value_delimiter = ',')]
    pub url: Vec<String>,
    /// What targets and backends run in.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Worker processes that share the load; without it, it comes from this process.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: Option<u32>,
    /// How long each round, or trial, runs before it counts.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "1s", allow_hyphen_values = true)]
    pub warmup: Duration,
    /// How long to wait, at the end of each round or trial, for answers to requests in flight; those that
    /// come count in no rate and no latency, those that don't count against thresholds [default: the
    /// scenario's, or 3s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub drain: Option<Duration>,
    /// What generated data, the order of targets, and rates that are tried are seeded with [default:
    /// chosen at random, and reported].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Don't find out first what the generator can send here at most: a second, once for each
    /// machine, build and load.
    #[arg(long)]
    pub no_calibrate: bool,
    /// Say in plain lines how it goes, also on a terminal, instead of the live view.
    #[arg(long)]
    pub no_progress: bool,
    /// The folder to save the result in [default: runs/TIME-SCENARIO].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to write to stdout; everything else goes to stderr.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// The options of `capacity`.
#[derive(Debug, Args)]
#[command(after_help = CAPACITY_EXAMPLES)]
pub struct CapacityArgs {
    /// A scenario's name (see `loadgen list`) or the path of its TOML file. Its thresholds are what
    /// must hold, and `error_rate < 1%` where it has none on all steps' errors.
    #[arg(short, long, value_name = "NAME|PATH")]
    pub scenario: String,
    /// What it shares with the other.
    #[command(flatten)]
    pub common: CommonArgs,
    /// The most requests under way at the same time [default: the scenario's users, at least 1000
    /// where it is of the closed model].
    #[arg(short, long, value_name = "N")]
    pub users: Option<u32>,
    /// How long a trial holds its rate, at least: longer where the rate is too low for the samples
    /// that the thresholds take.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, default_value = "5s", allow_hyphen_values = true)]
    pub duration: Duration,
    /// How far apart the highest rate that passed and the lowest that did not may be, in %.
    #[arg(short, long, value_name = "PERCENT", value_parser = percent, default_value = "5", allow_hyphen_values = true)]
    pub precision: f64,
    /// Searches for each target; all but the first begin near the result of those before.
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Worker processes of each target [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: Option<u32>,
}

const CAPACITY_EXAMPLES: &str = "\
Examples:
  loadgen capacity --scenario redis3 --target sanic,quart
  loadgen capacity --scenario direct --url http://127.0.0.1:8000 --precision 2 --duration 10s

Exit codes are those of `loadgen run`; 3: no rate was found at which the thresholds hold";

/// A percentage from 0.5 to 50, such as `5` or `5%`.
fn percent(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.5..=50.0).contains(&percent) => Ok(percent),
        _ => Err("it is a percentage from 0.5 to 50".to_owned()),
    }
}

/// What becomes of a run that loses a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnWorkerLoss {
    /// It ends; what was measured is reported and saved.
    Fail,
    /// The others go on, each with its own share of the load.
    Continue,
}

/// The options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Names or paths of scenarios; all in scenarios/ where none is given.
    pub scenarios: Vec<String>,
    /// Send each step once to this server, as one user would, and show what was sent and what came
    /// back.
    #[arg(long = "try", value_name = "URL", requires = "scenarios")]
    pub try_url: Option<String>,
}

/// The options of `manager`.
#[derive(Debug, Args)]
#[command(after_help = MANAGER_EXAMPLES)]
pub struct ManagerArgs {
    /// The workers that the run waits for.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub expect_workers: u32,
    /// Where to listen: a free port of a name or address of this host, at all of the name's addresses; of
    /// all that it has with 0.0.0.0, or [::].
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port)]
    pub listen: String,
    /// Where workers find this host, which is what its certificate is for [default: the host of --listen;
    /// for 0.0.0.0 and [::] the name of this host].
    #[arg(long, value_name = "HOST[:PORT]")]
    pub advertise: Option<String>,
    /// The folder of the workers' join files, and of the key that certifies them; made where there is
    /// none.
    #[arg(long, value_name = "DIR", default_value = "join")]
    pub join_dir: PathBuf,
    /// How long a silent worker is waited for, and how long workers wait for a silent manager before
    /// they stop their load: from 1s to 1m.
    #[arg(long, value_name = "TIME", value_parser = lease, default_value = "3s", allow_hyphen_values = true)]
    pub lease: Duration,
    /// How long to wait for the workers, and then begin with those that are there [default: until all
    /// are].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub wait: Option<Duration>,
    /// The options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

const MANAGER_EXAMPLES: &str = "\
Examples:
  loadgen manager --listen 0.0.0.0:7447 --advertise load-1 --expect-workers 3 \\
      --scenario direct --url http://app-host:8000
  loadgen worker --join join/0                    on the first of the three hosts

Exit codes are those of `loadgen run`";

fn lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text).map_err(|e| e.to_string())?;
    match lease.as_secs_f64() {
        1.0..=60.0 => Ok(lease),
        _ => Err("it is between 1s and 1m".to_owned()),
    }
}

/// `HOST:PORT`, where an IPv6 address has brackets.
fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port))
            if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) =>
        {
            Ok(text.to_owned())
        }
        _ => Err("it is HOST:PORT, such as load-1:7447".to_owned()),
    }
}

/// The options of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The join file, which the manager wrote; `-` reads it from standard input, and leaves when that
    /// is closed.
    #[arg(long, value_name = "FILE|-", env = "LOADGEN_JOIN")]
    pub join: String,
    /// Leave when the manager is done, instead of waiting for its next run.
    #[arg(long)]
    pub once: bool,
    /// How long to look for the manager, each time, before leaving with exit code 1 [default: until it is
    /// there].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub wait: Option<Duration>,
    /// The servers that this worker may load; any, where none is named.
    #[arg(long, value_name = "HOST[:PORT],…", value_delimiter = ',')]
    pub allow_target: Vec<String>,
}

/// The options of `guard`; the lab writes them.
#[derive(Debug, Args)]
pub struct GuardArgs {
    /// The CPUs that the service may use.
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// The user that it runs as.
    #[arg(long, requires = "gid")]
    pub uid: Option<u32>,
    /// The group that it runs as.
    #[arg(long, requires = "uid")]
    pub gid: Option<u32>,
    /// Ask it to end by SIGQUIT instead of SIGTERM.
    #[arg(long)]
    pub quit: bool,
    /// Ask only its first process to end.
    #[arg(long)]
    pub spare_others: bool,
    /// Seconds that it has to end by itself.
    #[arg(long, default_value_t = 5.0)]
    pub grace: f64,
    /// A folder to remove when it was made to end.
    #[arg(long)]
    pub remove: Option<PathBuf>,
    /// The words of the command that ends it, where signals don't.
    #[arg(long, allow_hyphen_values = true)]
    pub end_by: Vec<OsString>,
    /// The service's command line.
    #[arg(last = true, required = true)]
    pub command: Vec<OsString>,
}
