//! Options of the subcommands for workers on other hosts.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{ListFormat, RunArgs};
use crate::scenario::parse_duration;

/// Options of `manager`.
#[derive(Debug, Args)]
#[command(after_help = MANAGER_EXAMPLES)]
pub struct ManagerArgs {
    /// Number of workers that the run waits for, from 1 to 1000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), required = true)]
    pub expect_workers: Option<u32>,
    /// Name or address of this host to listen on, and a free port. The manager listens on all
    /// addresses of a name; 0.0.0.0 or `[::]` stands for all addresses of this host.
    #[arg(long, value_name = "HOST:PORT", value_parser = host_and_port, required = true)]
    pub listen: Option<String>,
    /// Name or address at which workers find this host. The manager's certificate is for this name
    /// or address [default: the host and port of --listen; the name of this host for 0.0.0.0 and
    /// `[::]`].
    #[arg(long, value_name = "HOST[:PORT]")]
    pub advertise: Option<String>,
    /// Folder for the workers' join files, and for the key that certifies the workers. The folder
    /// is created if it is missing.
    #[arg(long, value_name = "DIR", default_value = "join")]
    pub join_dir: PathBuf,
    /// File with the key that certifies the workers, such as DIR/authority of an earlier --join-dir. Nothing is written:
    /// the workers have their join files already. Root may give the file to a group (mode 0440).
    #[arg(long, value_name = "FILE", conflicts_with = "join_dir")]
    pub authority: Option<PathBuf>,
    /// Time after which a silent worker is lost, and after which workers stop their load if the
    /// manager is silent, from 1s to 1m.
    #[arg(long, value_name = "TIME", value_parser = lease, default_value = "3s", allow_hyphen_values = true)]
    pub lease: Duration,
    /// Longest wait for the workers. The run then begins with the workers that have joined
    /// [default: no limit].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub wait: Option<Duration>,
    /// Folder of a run whose manager has ended before the run did. The rounds that it had finished are kept, and the
    /// others are measured, with the command line of the run, which stands for all other options.
    ///
    /// The scenario, the machine, this program and the workers must be the same. Otherwise loadgen says what differs, and
    /// leaves the folder as it is.
    #[arg(long, value_name = "RUN", exclusive = true)]
    pub resume: Option<PathBuf>,
    /// Fail if some workers are missing after --wait, set by the manifests of a cluster.
    #[arg(long, hide = true)]
    pub needs_all: bool,
    /// Options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Subcommands of `hosts`.
#[derive(Debug, Subcommand)]
pub enum HostsCommand {
    /// Connect to each host as a run with --hosts does, copy loadgen to hosts that lack it, and show what each has
    /// and how much it can send.
    ///
    /// The exit code is 1 if a host cannot be used, or cannot carry its share of --users.
    Check(HostsCheckArgs),
}

/// Options of `hosts check`.
#[derive(Debug, Args)]
pub struct HostsCheckArgs {
    /// Hosts, as ssh knows them, each with its number of workers (1 if left out). @FILE has a host in each line.
    #[arg(value_name = "[USER@]HOST[:WORKERS],…|@FILE", value_delimiter = ',', required = true)]
    pub hosts: Vec<String>,
    /// Number of users of the planned run, from 1 to 1,000,000. Each needs a connection: the check then says whether the
    /// limits of each host carry its share, and fails if one does not.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub users: Option<u32>,
    /// Format of what is shown.
    #[arg(short, long, value_enum, default_value_t = ListFormat::Table)]
    pub format: ListFormat,
}

/// Options of `host-report`.
#[derive(Debug, Args)]
pub struct HostReportArgs {
    /// Number of workers that the host is to have.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub workers: u32,
}

const MANAGER_EXAMPLES: &str = "\
Examples:
  loadgen manager --listen 0.0.0.0:7447 --advertise load-1 --expect-workers 3 \\
      --scenario direct --url http://app-host:8000
  loadgen worker --join join/0                    on the first of the three hosts
  loadgen manager --resume runs/night             resumes a run whose manager was killed

Exit codes are those of `loadgen run`";

fn lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text).map_err(|e| e.to_string())?;
    match lease.as_secs_f64() {
        1.0..=60.0 => Ok(lease),
        _ => Err("expected a duration from 1s to 1m".to_owned()),
    }
}

/// Parses `HOST:PORT`, where an IPv6 address has brackets.
fn host_and_port(text: &str) -> Result<String, String> {
    match text.rsplit_once(':') {
        Some((host, port))
            if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) =>
        {
            Ok(text.to_owned())
        }
        _ => Err("expected HOST:PORT, such as load-1:7447".to_owned()),
    }
}

/// Options of `worker`.
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Join file that the manager has written. `-` reads the join file from standard input; the
    /// worker then leaves when standard input is closed.
    #[arg(long, value_name = "FILE|-", env = "LOADGEN_JOIN")]
    pub join: String,
    /// Leave when the manager is done, instead of waiting for the manager's next run. Refused with
    /// `--join -`.
    #[arg(long)]
    pub once: bool,
    /// Longest time for which the worker looks for the manager before each run. After this time,
    /// the worker leaves with exit code 1 [default: no limit].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub wait: Option<Duration>,
    /// Servers that this worker may load [default: any server, but no socket of this host].
    ///
    /// A socket is written as unix:PATH. With this option, a proxy must be named as well, and the
    /// worker refuses scenarios that follow redirects.
    #[arg(long, value_name = "HOST[:PORT]|unix:PATH,…", value_delimiter = ',')]
    pub allow_target: Vec<String>,
    /// Allow all sockets of this host, set by the loadgen that starts the worker, whose rights the worker has.
    #[arg(long, hide = true)]
    pub any_socket: bool,
    /// Number of workers, each with a join file of its own on a line of standard input; set by the loadgen that starts
    /// them through ssh.
    #[arg(long, value_name = "N", hide = true)]
    pub processes: Option<u32>,
    /// Node of the cluster on which this worker's pod runs, set by the manifests of a cluster.
    #[arg(long, hide = true)]
    pub node: Option<String>,
    /// CPUs that this worker may use, set by the loadgen that starts the worker [default: all].
    #[arg(long, value_delimiter = ',', hide = true)]
    pub cpus: Vec<usize>,
}
