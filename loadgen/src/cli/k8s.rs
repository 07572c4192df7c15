//! Options of the subcommands for a Kubernetes cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::{ExperimentArgs, RunArgs};
use crate::report::Format;
use crate::scenario::parse_duration;

/// Subcommands of `k8s`.
#[derive(Debug, Subcommand)]
pub enum K8sCommand {
    /// Carry out a run in a cluster, show it here, save its result here, and remove it from the cluster.
    Run(K8sRunArgs),
    /// Measure the arms of an experiment file in a cluster, and judge its claims: each group is a run of its own, whose
    /// servers are up together.
    Experiment(K8sExperimentArgs),
    /// Take up a run of `k8s run` that is in a cluster, show it here, save its result here, and remove it from the cluster.
    ///
    /// For a run whose loadgen was killed, or has lost the connection: after its end, it waits an hour for somebody who
    /// takes its result. Ctrl-C stops the run.
    Follow(K8sFollowArgs),
    /// Print the manifests of a run in a cluster, for kubectl.
    ///
    /// They hold secrets: anyone who has them can command the workers of this run, and read what the scenario sends.
    Render(K8sArgs),
}

/// Options of `k8s run`.
#[derive(Debug, Args)]
#[command(after_help = K8S_EXAMPLES)]
pub struct K8sRunArgs {
    /// Time in which all pods must run.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5m", allow_hyphen_values = true)]
    pub start_timeout: Duration,
    /// Context of kubectl's configuration [default: the current one].
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Options shared with `k8s render`.
    #[command(flatten)]
    pub common: K8sArgs,
}

/// Options of `k8s follow`.
#[derive(Debug, Args)]
#[command(after_help = "Exit codes are those of `loadgen run`")]
pub struct K8sFollowArgs {
    /// Name of the run's Job, as `k8s run` says it.
    #[arg(value_name = "NAME", value_parser = crate::kubernetes::checked_name)]
    pub name: String,
    /// Namespace of the run [default: that of the context].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Context of kubectl's configuration [default: the current one].
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Report progress in plain lines, also on a terminal, instead of in the live view; not at all if the run has a
    /// live view, because it then has no lines.
    #[arg(long)]
    pub no_progress: bool,
    /// Folder for the result, which must not hold an earlier result [default: runs/TIME-NAME].
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// File for the results of all thresholds, proofs and regressions, as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Format of the document on standard output. All other output goes to standard error.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Short for `--format json`.
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

/// Options of `k8s render`, and of `k8s run`.
#[derive(Debug, Args)]
pub struct K8sArgs {
    /// Options of the pods.
    #[command(flatten)]
    pub pods: K8sPodArgs,
    /// Options of `run`.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Options of `k8s experiment`.
#[derive(Debug, Args)]
#[command(after_help = K8S_EXPERIMENT_EXAMPLES)]
pub struct K8sExperimentArgs {
    /// Time in which all pods of a group must run.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "5m", allow_hyphen_values = true)]
    pub start_timeout: Duration,
    /// Context of kubectl's configuration [default: the current one].
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// Options of the pods.
    #[command(flatten)]
    pub pods: K8sPodArgs,
    /// Options of `experiment`.
    #[command(flatten)]
    pub experiment: ExperimentArgs,
}

/// Options of the pods of a cluster, shared by all commands that create some.
#[derive(Debug, Args)]
pub struct K8sPodArgs {
    /// Container image with this version of loadgen.
    #[arg(long, env = "LOADGEN_IMAGE", value_name = "IMAGE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub image: String,
    /// Name of the Job and of all that belongs to it [default: loadgen- and five random letters].
    #[arg(long, value_name = "NAME", value_parser = crate::kubernetes::checked_name)]
    pub name: Option<String>,
    /// Namespace for the run [default: that of the context].
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// When nodes pull the image of loadgen [default: IfNotPresent; Always with the tag `latest` or none].
    #[arg(long, value_enum, value_name = "POLICY")]
    pub image_pull_policy: Option<PullPolicy>,
    /// Secrets of the namespace with which nodes pull images.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub pull_secret: Vec<String>,
    /// Minimum of each resource for each pod.
    #[arg(long, value_name = "cpu=1,memory=512Mi", value_delimiter = ',', value_parser = pair, default_value = "cpu=1,memory=512Mi")]
    pub requests: Vec<(String, String)>,
    /// Maximum of each resource for each pod. A limit of CPU stops a worker in the middle of its work, and its latencies are then longer
    /// than the server's.
    #[arg(long, value_name = "memory=1Gi,…", value_delimiter = ',', value_parser = pair)]
    pub limits: Vec<(String, String)>,
    /// Labels of the nodes on which pods with the load may run.
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',', value_parser = pair)]
    pub node_selector: Vec<(String, String)>,
    /// Taints of nodes on which pods with the load may run nevertheless.
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT],…", value_delimiter = ',')]
    pub toleration: Vec<String>,
    /// Minimum of each resource for each pod of --target that has no limit of it. A resource with a limit is requested as
    /// much.
    #[arg(long, value_name = "cpu=1,memory=512Mi", value_delimiter = ',', value_parser = pair, default_value = "cpu=1,memory=512Mi")]
    pub target_requests: Vec<(String, String)>,
    /// Taints of nodes on which the pods of --target, and those of their backends, may run nevertheless.
    #[arg(long, value_name = "KEY[=VALUE][:EFFECT],…", value_delimiter = ',')]
    pub target_toleration: Vec<String>,
    /// Labels of the nodes on which the pods of --target may run. If there are nodes enough, those with the load are
    /// others.
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',', value_parser = pair)]
    pub target_node_selector: Vec<(String, String)>,
    /// Images of the backends for which targets ask. They begin as those of Docker Hub: with POSTGRES_USER and scripts in
    /// /docker-entrypoint-initdb.d, and with `redis-server FILE` [default: postgres=docker.io/library/postgres:18,redis=docker.io/library/redis:8].
    #[arg(long, value_name = "BACKEND=IMAGE,…", value_delimiter = ',', value_parser = pair)]
    pub backend_image: Vec<(String, String)>,
    /// ID of the user as whom backends run, not root: 999 for the images of Docker Hub [default: that of the image].
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u32).range(1..))]
    pub backend_user: Option<u32>,
    /// Minimum of each resource for the pod of each backend that has no limit of it.
    #[arg(long, value_name = "cpu=1,memory=512Mi", value_delimiter = ',', value_parser = pair, default_value = "cpu=1,memory=512Mi")]
    pub backend_requests: Vec<(String, String)>,
    /// Labels of the nodes on which the pods of backends may run. If there are nodes enough, they share none with load or
    /// servers.
    #[arg(long, value_name = "KEY=VALUE,…", value_delimiter = ',', value_parser = pair)]
    pub backend_node_selector: Vec<(String, String)>,
    /// Images of targets: IMAGE is that of the lab's targets in Python, which share one, as
    /// compose/targets.Containerfile makes it; NAME=IMAGE is that of another target, or of one in loadgen.toml instead
    /// of its `image`.
    #[arg(long, value_name = "[NAME=]IMAGE,…", value_delimiter = ',')]
    pub target_image: Vec<String>,
}

/// When nodes pull an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum PullPolicy {
    /// At each start of a pod.
    Always,
    /// If the node lacks it.
    IfNotPresent,
    /// Never: the node has it.
    Never,
}

const K8S_EXAMPLES: &str = "\
Examples:
  loadgen k8s run http://app.default:8000/products --workers 4 --duration 30s --image IMAGE
  loadgen k8s run --scenario mine.toml --url http://app.default:8000 --workers 4 --image IMAGE
  loadgen k8s run --scenario mine.toml --target old,new --replicas 4 --workers 4 --image IMAGE
  loadgen k8s render http://app:8000/ --workers 4 --image IMAGE | kubectl create --filename -

Exit codes are those of `loadgen run`";

const K8S_EXPERIMENT_EXAMPLES: &str = "\
Examples:
  loadgen k8s experiment mine.toml --check --image IMAGE
  loadgen k8s experiment mine.toml --workers 4 --image IMAGE
  loadgen k8s experiment NAME --target-image IMAGE,profiles-express=IMAGE --image IMAGE

Exit codes are those of `loadgen experiment`";

/// Parses `KEY=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.trim().split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

/// Options of `observe`, which the manifests set.
#[derive(Debug, Args)]
pub struct ObserveArgs {
    /// Port to answer at.
    #[arg(long)]
    pub port: u16,
    /// Key without which nothing is answered.
    #[arg(long, env = "LOADGEN_OBSERVER_KEY", hide_env_values = true)]
    pub key: String,
    /// Name of the pod.
    #[arg(long, env = "LOADGEN_POD")]
    pub pod: String,
    /// CPUs that the server may use, in thousandths.
    #[arg(long, env = "LOADGEN_SERVER_CPU")]
    pub cpu: u32,
    /// Name of the node on which it runs.
    #[arg(long, env = "LOADGEN_NODE")]
    pub node: String,
    /// File with the data that a Redis in the pod gets first.
    #[arg(long, requires = "fill_password")]
    pub fill: Option<PathBuf>,
    /// Password of this Redis.
    #[arg(long, env = "LOADGEN_FILL_PASSWORD", hide_env_values = true)]
    pub fill_password: Option<String>,
}

/// Options of `await-backends`, which the manifests set.
#[derive(Debug, Args)]
pub struct AwaitArgs {
    /// Addresses that must accept connections.
    pub addresses: Vec<String>,
}

/// Options of `pod`, which the manifests set.
#[derive(Debug, Args)]
pub struct PodArgs {
    /// Number of this pod: 0 is the manager.
    #[arg(long)]
    pub index: u32,
    /// Name of the node on which it runs.
    #[arg(long, env = "LOADGEN_NODE")]
    pub node: Option<String>,
    /// File of what is loaded.
    #[arg(long)]
    pub packed: PathBuf,
    /// Join document of a worker.
    #[arg(long)]
    pub join: PathBuf,
    /// Longest time for which a worker looks for its manager.
    #[arg(long, value_parser = parse_duration)]
    pub wait: Duration,
    /// Longest time for which the manager waits until its result was taken; without it, it prints its result.
    #[arg(long, value_parser = parse_duration)]
    pub hand_over: Option<Duration>,
    /// Words of the manager's command line.
    #[arg(last = true)]
    pub manager: Vec<String>,
}
