//! The command line as clap parses it: data only. [`crate::commands`] interprets the data.
//!
//! The doc comment of an option is its text in `--help`, in the manual pages and, by `make reference`, in
//! `docs/reference/command-line.md`.

mod capacity;
mod completions;
mod ctl;
mod hosts;
mod init;
mod internal;
mod k8s;
mod lab;
mod man;
mod profile;
mod request;
mod runtime;
mod saved;
mod schema;
mod site;
mod telemetry;
mod tls;
mod values;
mod web;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::capacity::CapacityArgs;
pub use self::completions::{CompletionsArgs, ShellName};
pub use self::ctl::{CtlArgs, CtlCommand};
pub use self::hosts::{HostReportArgs, HostsCheckArgs, HostsCommand, ManagerArgs, WorkerArgs};
pub use self::init::InitArgs;
pub use self::internal::{GuardArgs, LauncherArgs};
pub use self::k8s::{
    AwaitArgs, K8sArgs, K8sCommand, K8sExperimentArgs, K8sFollowArgs, K8sPodArgs, K8sRunArgs,
    ObserveArgs, PodArgs,
};
pub use self::lab::{BackendName, LabBuildArgs, LabCommand, LabUpArgs};
pub use self::man::ManArgs;
pub use self::profile::ProfileArgs;
pub use self::request::RequestArgs;
pub use self::runtime::{RuntimeArgs, RuntimeName};
pub use self::saved::{CompareArgs, ReportArgs};
pub use self::schema::{DocumentName, SchemaArgs};
pub use self::site::SiteArgs;
pub use self::telemetry::TelemetryArgs;
pub use self::tls::TlsArgs;
pub use self::values::ListFormat;
use self::values::percent;
pub use self::web::WebArgs;
use crate::report::Format;
use crate::scenario::experiment::MOST_REPLICAS;
use crate::scenario::parse_duration;

/// Compares web servers under load, and finds the load that each can carry.
///
/// Starts the scenario's targets one after another, in interleaved rounds, loads each target, and
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
    /// Subcommand; `None` means `run`.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

const EXAMPLES: &str = "\
Examples:
  loadgen http://127.0.0.1:8000/search?q=a -u 50 -d 10s    one URL
  loadgen http://127.0.0.1:8000/a http://127.0.0.1:8001/a  compare two URLs
  loadgen --scenario redis3 --workers 4           four servers over Redis
  loadgen --scenario direct --target sanic,quart  two of them, without a backend
  loadgen --scenario direct --url http://127.0.0.1:8000 --duration 30s
  loadgen -s mine.toml --url old=http://127.0.0.1:8000,new=http://127.0.0.1:8001
  loadgen -s mine.toml -t shop@main,shop@HEAD     did a change make shop slower?
  loadgen capacity --scenario redis3 -t sanic     the highest rate of one target
  loadgen check mine.toml                         validate and explain only
  loadgen check --try http://127.0.0.1:8000 mine.toml    send each step once

Exit codes:
    0  done
    1  failed, or a target answered no request as expected or went silent
    2  the command line or a scenario is wrong
    3  a threshold or a proof failed, or a regression is shown
    4  a target could not be started or verified, or ended by itself
    5  a worker was lost
  130  interrupted

Error codes: docs/reference/errors.md; verdicts: docs/reference/verdicts.md";

/// Subcommands of `loadgen`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load each target, and compare the targets; the default.
    Run(RunArgs),
    /// Find the highest rate that each target carries, by a search in the open model.
    Capacity(CapacityArgs),
    /// Measure the arms of an experiment file, and judge its claims.
    Experiment(ExperimentArgs),
    /// Validate and explain scenarios and experiments; sends requests only with --try.
    Check(CheckArgs),
    /// Stop a run in progress, or change its number of users or its rate.
    Ctl(CtlArgs),
    /// Compare saved runs with the first of them: before and after a change, or on two machines.
    Compare(CompareArgs),
    /// Print saved runs again, and rewrite their report.html.
    Report(ReportArgs),
    /// Write the history of saved results as a site of pages: figures over time, changes, links to all reports.
    Site(SiteArgs),
    /// List all scenarios, experiments and targets.
    List,
    /// Write a first scenario, with comments, and the schema with which editors complete scenarios.
    Init(InitArgs),
    /// Print the JSON Schema of scenario files, for editors, or of a result document.
    Schema(SchemaArgs),
    /// Print the script with which a shell completes this command line.
    Completions(CompletionsArgs),
    /// Write the manual pages: one for loadgen, and one for each command.
    Man(ManArgs),
    /// Start the targets and backends alone, for development.
    #[command(subcommand)]
    Lab(LabCommand),
    /// Run with workers on other hosts: wait for the workers, and give each its share of the load.
    Manager(ManagerArgs),
    /// Send the load for a manager, which has written a join file for this worker.
    Worker(WorkerArgs),
    /// Look at hosts before they send load.
    #[command(subcommand)]
    Hosts(HostsCommand),
    /// Run in a Kubernetes cluster: a manager and its workers as pods.
    #[command(subcommand)]
    K8s(Box<K8sCommand>),
    /// Be the manager or a worker in a pod of a cluster, by the number of the pod.
    #[command(hide = true)]
    Pod(PodArgs),
    /// Say what the server in this pod uses.
    #[command(hide = true)]
    Observe(ObserveArgs),
    /// Wait in a pod of a server until its backends accept connections.
    #[command(hide = true)]
    AwaitBackends(AwaitArgs),
    /// Hand the result of the manager in this pod over.
    #[command(hide = true)]
    HandOver,
    /// Say what this host has; started by loadgen on another host.
    #[command(hide = true)]
    HostReport(HostReportArgs),
    /// Run one service, and end the service when loadgen ends; started by loadgen itself.
    #[command(hide = true)]
    Guard(GuardArgs),
    /// Run one server, and sample its stacks when asked; started by loadgen itself.
    #[command(hide = true)]
    Launcher(LauncherArgs),
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name of a scenario (see `loadgen list`), or path of its TOML file: a value that ends in
    /// `.toml` or contains a `/`. `-` reads the scenario from standard input. Required without a
    /// URL.
    #[arg(short, long, value_name = "NAME|PATH|-", required_unless_present = "urls")]
    pub scenario: Option<String>,
    /// A request without a scenario.
    #[command(flatten)]
    pub request: RequestArgs,
    /// New file for the scenario that URL and its options mean, for changes by hand.
    #[arg(long, value_name = "FILE", requires = "urls", conflicts_with = "scenario")]
    pub save: Option<PathBuf>,
    /// Options shared by `run` and `capacity`.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Number of users of the whole test, from 1 to 1,000,000. With several numbers, such as
    /// 100,500, each target is measured with each number [default: from the scenario; 50 with a
    /// URL].
    ///
    /// If the limits on open files or local ports do not allow so many users, loadgen refuses the
    /// run before anything starts; on other hosts, before any load.
    #[arg(short, long, value_name = "N,…", value_delimiter = ',')]
    pub users: Vec<u32>,
    /// Time over which the users start, or over which the rate rises [default: from the scenario].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub ramp_up: Option<Duration>,
    /// Time for which each round holds the load, such as 10s or 1m30s: above 0, and with --ramp-up
    /// at most 24h [default: from the scenario; 10s with a URL].
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub duration: Option<Duration>,
    /// Number of iterations of each round, shared by all users, from 1 to 10^12. Excludes
    /// --duration [default: from the scenario].
    #[arg(short, long, value_name = "N")]
    pub iterations: Option<u64>,
    /// Requests per second of the whole test, from 0.001 to 10,000,000. Selects the open model, in
    /// which any idle user sends the next request. --users then limits the number of in-flight
    /// requests [default: from the scenario].
    ///
    /// Without --users, the limit is the number of users of the scenario; for a scenario of the
    /// closed model with fewer than 1000 users, the limit is 1000.
    #[arg(short, long, value_name = "N", allow_hyphen_values = true)]
    pub rate: Option<f64>,
    /// Measure one target, or the server at --url, twice in each round. The result shows how much
    /// two measurements of the same server differ on this machine.
    #[arg(long)]
    pub aa: bool,
    /// Load two targets at the same time, on the same CPUs, so that what slows the machine slows both
    /// alike. Shows differences of a few percent, but no latencies of a server alone. Further targets
    /// are each measured with the first one.
    #[arg(long, conflicts_with_all = ["url", "workers", "iterations", "replicas", "fail_fast", "trace_one_in"])]
    pub duet: bool,
    /// Measure the latency with a few more users, in a process and on connections of their own,
    /// beside the load. Their iterations begin at random times, at RATE requests per second, from
    /// 0.1 to 1000; at 20 without RATE. A verdict tells where the latencies of the load differ.
    #[arg(long, value_name = "RATE", num_args = 0..=1, require_equals = true, default_missing_value = "20", value_parser = probe_rate, conflicts_with_all = ["duet", "iterations", "slices"])]
    pub probe: Option<f64>,
    /// Profiling rounds.
    #[command(flatten)]
    pub profile: ProfileArgs,
    /// Number of slices of each start of the targets, from 1 to 100. With several, all targets are
    /// up at the same time, and are loaded in turn, once in each slice. Each target is loaded for
    /// --duration in all slices of a start together. --rounds is then the number of starts.
    ///
    /// One slice is a round as without the option, with a start of its own.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with_all = ["duet", "iterations"], value_parser = clap::value_parser!(u32).range(1..=100))]
    pub slices: u32,
    /// Number of rounds for each target, from 1 to 1000 [default: 5; 10 with --duet or --precision; 1
    /// for a single server at --url without --aa and --probe, and with a single number of users].
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Measure until each interval that the result compares is no wider than ± this, in %, from 0.1
    /// to 50. --rounds are then those of the first stage, at least 5, whose noise decides how many
    /// follow.
    #[arg(long, value_name = "PERCENT", value_parser = percent(0.1..=50.0), allow_hyphen_values = true)]
    pub precision: Option<f64>,
    /// Greatest number of rounds for --precision, from 5 to 10000.
    #[arg(long, value_name = "N", default_value = "200", requires = "precision", value_parser = clap::value_parser!(u32).range(5..=10_000))]
    pub rounds_max: u32,
    /// Greatest time for --precision; the first stage is measured in any case [default: no limit].
    #[arg(long, value_name = "TIME", requires = "precision", value_parser = parse_duration, allow_hyphen_values = true)]
    pub time_max: Option<Duration>,
    /// Reaction to the loss of a worker. The exit code is 5 in any case [default: fail].
    #[arg(long, value_name = "REACTION", value_enum)]
    pub on_worker_loss: Option<OnWorkerLoss>,
    /// End the run as soon as a threshold has failed. The measurements until then are reported and
    /// saved.
    #[arg(long)]
    pub fail_fast: bool,
    /// Greatest accepted loss of each target compared with the first, in %, from 0 to 100. The exit code
    /// is 3 if a greater loss is shown, and 1 if a target cannot be judged. A loss is a lower rate of
    /// expected responses; in the open model a longer median latency; in a duet more CPU time per
    /// request.
    #[arg(long, value_name = "PERCENT", value_parser = percent(0.0..=100.0), allow_hyphen_values = true)]
    pub fail_on_regression: Option<f64>,
    /// File for the results of all thresholds, proofs and regressions, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Number of worker processes of each target, from 1 to 256. With several numbers, such as
    /// 1,2,4, each target is measured with each number [default: 1].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub server_workers: Vec<u32>,
    /// Number of replicas of each target behind a load balancer (HAProxy or else Caddy, round
    /// robin), from 1 to 64. With several numbers, such as 1,2,4, each target is measured with each number [default:
    /// the target itself, without a balancer].
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_REPLICAS)))]
    pub replicas: Vec<u32>,
}

/// Options shared by `run` and `capacity`.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Targets to measure, of loadgen.toml or of the lab. NAME@REF is a target of loadgen.toml as
    /// it is at a ref of Git, such as `shop@main`; `shop@.` is the working tree [default: the
    /// targets of the scenario, or else all of the project except those with `default = false`].
    #[arg(short, long, value_name = "NAME[@REF],…", value_delimiter = ',', conflicts_with = "url")]
    pub target: Vec<String>,
    /// Hosts that send the load, as ssh knows them, each with its number of workers (1 if left out). loadgen starts
    /// and ends the workers through ssh. @FILE has a host in each line.
    ///
    /// ssh must reach each host without a question. A host that lacks this version of loadgen gets it, in the user's
    /// cache. All workers have equal shares of the load.
    #[arg(long, value_name = "[USER@]HOST[:WORKERS],…|@FILE", value_delimiter = ',', conflicts_with_all = ["workers", "no_calibrate"])]
    pub hosts: Vec<String>,
    /// Longest wait for the responses to in-flight requests at the end of each round or trial, at
    /// most 10m. Responses during this wait count in no rate and no latency; requests without a
    /// response count against thresholds [default: from the scenario, or 3s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub drain: Option<Duration>,
    /// TLS options.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Options shared by everything that measures.
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}

/// Options shared by `run`, `capacity` and `experiment`.
#[derive(Debug, Args)]
pub struct MeasuringArgs {
    /// URLs of running servers, instead of servers that loadgen starts: one server to load, or
    /// several servers to compare. NAME= sets the name of a server in the results.
    ///
    /// A URL is http:// or https://, or unix:PATH for a server on a Unix domain socket, without a
    /// user, a password, a query or a fragment.
    #[arg(long, value_name = "[NAME=]URL,…", value_delimiter = ',')]
    pub url: Vec<String>,
    /// Runtime of targets and backends.
    #[command(flatten)]
    pub runtime: RuntimeArgs,
    /// Number of worker processes that share the load, from 1 to 256 [default: no worker processes;
    /// this process sends the load].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: Option<u32>,
    /// Time that each round or trial runs before its measurements count [default: 1s, or that of the
    /// arm of an experiment].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub warmup: Option<Duration>,
    /// Seed for generated data, the order of targets, and the rates of trials, from 0 to 2^64 - 1
    /// [default: chosen at random, and reported].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Skip the calibration, which measures the highest rate that the generator can send on this
    /// machine. The calibration takes a second, once for each machine, build and load.
    #[arg(long)]
    pub no_calibrate: bool,
    /// Measure even while another loadgen measures on this machine, instead of waiting for its end.
    /// The results of both then have the verdict `measured_together`.
    #[arg(long)]
    pub anyway: bool,
    /// Report progress in plain lines, also on a terminal, instead of in the live view.
    #[arg(long)]
    pub no_progress: bool,
    /// Live page.
    #[command(flatten)]
    pub web: WebArgs,
    /// Telemetry.
    #[command(flatten)]
    pub telemetry: TelemetryArgs,
    /// Folder for the result, which must not hold an earlier result [default: runs/TIME-NAME].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Format of the document on standard output. All other output goes to standard error.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Short for `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Options of `experiment`.
#[derive(Debug, Args)]
pub struct ExperimentArgs {
    /// Name of an experiment in the project's experiments/ (see `loadgen list`), or path of its
    /// TOML file.
    #[arg(value_name = "NAME|PATH")]
    pub experiment: String,
    /// Measure the quick form, which has the loads and rounds of the file's `quick` tables. Refused
    /// if the file has none.
    #[arg(long)]
    pub quick: bool,
    /// Print what would be measured, what would be left out and why, about how long that takes, and what would be
    /// installed first. Starts, installs and sends nothing. The exit code is 4 if nothing could be measured.
    #[arg(long, conflicts_with_all = ["workers", "seed", "no_calibrate", "anyway", "no_progress", "web", "web_control", "otlp", "prometheus", "out", "format", "json"])]
    pub check: bool,
    /// Number of rounds over each arm, from 1 to 1000 [default: from the experiment].
    #[arg(short = 'R', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// Options shared by everything that measures.
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}

/// Parses a rate from 0.1 to 1000 requests/s.
fn probe_rate(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(rate) if (0.1..=1_000.0).contains(&rate) => Ok(rate),
        _ => Err("expected a number of requests per second, from 0.1 to 1000".to_owned()),
    }
}

/// Reaction to the loss of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnWorkerLoss {
    /// End the run; the measurements until then are reported and saved.
    Fail,
    /// Continue with the other workers, each with its own share of the load.
    Continue,
    /// Continue with the other workers, which take over the users and the rate of the lost one.
    Redistribute,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Scenarios and experiments to check, by name or path; if both have the same name, the
    /// experiment [default: all of the project].
    #[arg(value_name = "NAME|PATH")]
    pub scenarios: Vec<String>,
    /// Send each step once to the server at this URL, as one user would, and print each request and
    /// its response. Requires a scenario.
    #[arg(long = "try", value_name = "URL", requires = "scenarios")]
    pub try_url: Option<String>,
    /// TLS of these requests.
    #[command(flatten)]
    pub tls: TlsArgs,
}
