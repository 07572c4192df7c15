//! `loadgen k8s`: a run whose manager and workers are pods of a Kubernetes cluster.

mod backends;
mod common;
mod delivery;
mod experiment;
mod follow;
mod images;
pub(super) mod packed;
mod servers;
mod words;

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use clap::ValueEnum as _;
use rand::TryRng as _;
use rand::rngs::SysRng;

use self::delivery::{Delivery, failure};
use self::packed::pack;
use super::options::{Output, hosts};
use super::run::{Loaded, load, resolve};
use crate::cli::{K8sArgs, K8sCommand, K8sPodArgs, K8sRunArgs};
use crate::cluster::{Authority, ClusterError, Join, Keys, LEASE, RemoteWorkers};
use crate::experiment::job::Remote;
use crate::experiment::kind::Experiment as _;
use crate::experiment::run::Run;
use crate::experiment::subject::{Server, Subject};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{
    self, ClusterRun, Follower, INDEX, JOIN, Kubectl, MANAGER_PORT, Manifests, Pods, RESULT,
    SCENARIO, Servers, Toleration, View, abandon,
};
use crate::process::{is_interactive, on_all_cpus, on_signal, print};

/// Time for which a cluster keeps a Job that has ended and that nobody has removed.
const KEPT: Duration = Duration::from_secs(3_600);

/// Time for which the manager waits until its result is taken: people need longer than networks to notice that the client
/// is gone. One pod keeps its CPU and its memory meanwhile, because the workers have ended.
const HAND_OVER: Duration = KEPT;

/// Time within which the pods of rendered manifests find each other.
const START_LIMIT: Duration = Duration::from_secs(600);

/// Time for pods that run to find each other.
const MARGIN: Duration = Duration::from_secs(60);

/// Variable with the URL of the collector.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Time of a run whose length is not known.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Runs a subcommand of `k8s`.
pub(super) fn run(command: &K8sCommand) -> Result<Exit, Failure> {
    match command {
        K8sCommand::Render(args) => render(args),
        K8sCommand::Run(args) => run_in_cluster(args),
        K8sCommand::Experiment(args) => experiment::run(args),
        K8sCommand::Follow(args) => follow::run(args),
    }
}

/// Prints the manifests.
fn render(args: &K8sArgs) -> Result<Exit, Failure> {
    let mut words = words("render")?;
    let output = Output::from(&args.run.common.measuring);
    if let Some(name) = output.format.to_possible_value() {
        words.push(format!("--format={}", name.get_name()));
    }
    let (planned, _) = Planned::of(args)?;
    let manifests = planned.manifests(&args.pods, &words, START_LIMIT, None, None)?;
    let secret = manifests.secret().map_err(too_large)?;
    let mut all = vec![secret, manifests.service()];
    all.extend(manifests.servers());
    all.push(manifests.job(false));
    print(&kubernetes::yaml(&all).map_err(|why| failed("write the manifests", &why))?)?;
    Ok(Exit::Done)
}

/// Carries the run out in a cluster.
fn run_in_cluster(args: &K8sRunArgs) -> Result<Exit, Failure> {
    let K8sRunArgs { start_timeout, context, common } = args;
    let words = words("run")?;
    let (planned, scenario) = Planned::of(common)?;
    let output = Output::from(&common.run.common.measuring);
    let terminal = (output.live && is_interactive()).then(terminal);
    let manifests =
        planned.manifests(&common.pods, &words, *start_timeout, Some(HAND_OVER), terminal)?;
    manifests.secret().map_err(too_large)?;
    let run = ClusterRun::of(&manifests.job(true)).map_err(Failure::with(Exit::Failed))?;
    let junit = common.run.junit.as_deref();
    let delivery = Delivery::prepare(output.folder.as_deref(), &scenario, output.format, junit)?;
    let follower = Follower {
        kubectl: &Kubectl { context: context.clone(), namespace: common.pods.namespace.clone() },
        run: &run,
        view: if run.has_terminal { View::Live } else { View::Lines },
        start_limit: *start_timeout,
        folder: delivery.folder(),
        interrupt: on_signal(abandon)?,
    };
    let followed = on_all_cpus()?.block_on(follower.carry_out(&manifests));
    let followed = followed.map_err(failure)?;
    // The noise is that of the cluster, and not of this machine.
    delivery.conclude(followed, |_| {})
}

/// A run that was found to be right, before anything is in a cluster.
struct Planned {
    /// Name of its Job.
    name: String,
    workers: u32,
    /// Servers that the cluster runs, none if they run already.
    servers: Servers,
    /// The packed load.
    packed: Vec<u8>,
    /// Time that the load takes, generously; `None` if that is not known.
    length: Option<Duration>,
    /// Variables of the manager's telemetry.
    variables: BTreeMap<String, String>,
}

impl Planned {
    /// Returns the run that the command line means, and the name of its scenario.
    fn of(args: &K8sArgs) -> Result<(Self, String), Failure> {
        if args.run.common.target.is_empty() {
            if let Some(option) = options_of_servers(&args.pods) {
                let message = format!("{option}: the cluster runs no server for this run");
                let help = "leave it out, or name a target that the cluster runs: --target NAME";
                return Err(Failure::message(Exit::Usage, "unused_option", message, help));
            }
            hosts::refuse_own_servers(hosts::K8S, &args.run.common, &args.run.request)?;
        }
        let variables = telemetry(args.run.common.measuring.telemetry.otlp.as_deref())?;
        let workers = args.run.common.measuring.workers.unwrap_or(1);
        let name = args.pods.name.clone().map_or_else(random_name, Ok)?;
        let (loaded, _) = load(&args.run)?;
        let remote = RemoteWorkers {
            count: workers,
            listen: String::new(),
            address: address(&name),
            keys: Keys::File(JOIN.into()),
            lease: LEASE,
            limit: None,
            needs_all: true,
        };
        let run = resolve(&args.run, loaded, Some(Remote::Awaited(remote)))?;
        hosts::refuse_sockets(hosts::K8S, &run.job.subject)?;
        if let Some(url) = run.job.subject.own_to_each_host() {
            let message = format!("k8s: {url} would be each pod itself");
            let help = "name the server as pods reach it, such as http://SERVICE.NAMESPACE:8000";
            return Err(Failure::message(Exit::Usage, "bad_url", message, help));
        }
        let (servers, deployed) = servers::of(&run, &name, args)?;
        let packed = packed(&run, deployed)?;
        let planned = Self { name, workers, servers, packed, length: length(&run), variables };
        Ok((planned, run.name().to_owned()))
    }

    /// Returns the manifests. `hand_over` is the time for which the manager waits until its result is taken; without it,
    /// it prints its result.
    fn manifests(
        &self,
        args: &K8sPodArgs,
        words: &[String],
        start_limit: Duration,
        hand_over: Option<Duration>,
        terminal: Option<BTreeMap<String, String>>,
    ) -> Result<Manifests, Failure> {
        let Self { workers, name, variables, .. } = self;
        let shown = |time: Duration| humantime::format_duration(time).to_string().replace(' ', "");
        let mut of_pod = vec![
            "pod".to_owned(),
            format!("--index={INDEX}"),
            format!("--packed={SCENARIO}"),
            format!("--join={JOIN}"),
            format!("--wait={}", shown(start_limit + MARGIN)),
        ];
        of_pod.extend(hand_over.map(|time| format!("--hand-over={}", shown(time))));
        of_pod.push("--".to_owned());
        of_pod.extend([
            format!("--expect-workers={workers}"),
            // For pods that run, but do not reach each other. The client has ended runs whose pods do not start.
            format!("--wait={}", shown(start_limit + MARGIN)),
            "--needs-all".to_owned(),
            // The kubelet gives this name the addresses of the pod.
            format!("--listen={name}-0:{MANAGER_PORT}"),
            format!("--advertise={}", address(name)),
            format!("--authority={JOIN}"),
            format!("--scenario={SCENARIO}"),
            format!("--out={RESULT}"),
        ]);
        of_pod.extend_from_slice(words);
        let wrong = Failure::with::<ClusterError>(Exit::Failed);
        let (authority, text) = Authority::new_file().map_err(wrong)?;
        let wrong = Failure::with::<ClusterError>(Exit::Failed);
        let joins = Join::of_all(&authority, &address(name), *workers, LEASE).map_err(wrong)?;
        let joins: Result<Vec<String>, _> = joins.iter().map(serde_json::to_string).collect();
        let joins =
            joins.map_err(|error| failed("write the join documents", &error.to_string()))?;
        Ok(Manifests {
            id: authority.run.clone(),
            namespace: args.namespace.clone(),
            pods: pods(args, name)?,
            servers: self.servers.clone(),
            workers: *workers,
            words: of_pod,
            joins: [text].into_iter().chain(joins).collect(),
            scenario: self.packed.clone(),
            deadline: start_limit
                + hand_over.unwrap_or_default()
                + self.length.unwrap_or(LONGEST)
                + START_LIMIT,
            // The log of a rendered Job is its only result.
            kept: hand_over.map(|_| KEPT),
            variables: variables.clone(),
            terminal,
        })
    }
}

/// Packs what a run loads. `deployed` are the servers that the cluster runs for it.
fn packed(run: &Run, deployed: Vec<Server>) -> Result<Vec<u8>, Failure> {
    let job = &run.job;
    let running = match &job.subject {
        Subject::Running(servers) => Some(servers.clone()),
        Subject::Lab { .. } => Some(deployed),
    };
    let (scenario, one_request) = (job.scenario.clone(), job.one_request);
    pack(Loaded { scenario, running, one_request }.into()).map_err(too_large)
}

/// Returns the first option that was given for servers or backends.
fn options_of_servers(args: &K8sPodArgs) -> Option<&'static str> {
    let given = [
        ("--target-node-selector", !args.target_node_selector.is_empty()),
        ("--target-toleration", !args.target_toleration.is_empty()),
        ("--target-image", !args.target_image.is_empty()),
    ];
    let of_servers = given.into_iter().find_map(|(option, given)| given.then_some(option));
    of_servers.or_else(|| backends::options(args))
}

fn address(name: &str) -> String {
    format!("{}:{MANAGER_PORT}", Manifests::manager_host(name))
}

fn pods(args: &K8sPodArgs, name: &str) -> Result<Pods, Failure> {
    let policy = args.image_pull_policy.and_then(|policy| policy.to_possible_value());
    Ok(Pods {
        name: name.to_owned(),
        image: args.image.clone(),
        pull_policy: policy.map(|policy| policy.get_name().to_owned()),
        pull_secrets: args.pull_secret.clone(),
        requests: args.requests.iter().cloned().collect(),
        limits: args.limits.iter().cloned().collect(),
        node_selector: args.node_selector.iter().cloned().collect(),
        tolerations: tolerations(&args.toleration)?,
    })
}

fn tolerations(words: &[String]) -> Result<Vec<Toleration>, Failure> {
    words.iter().map(|text| toleration(text)).collect()
}

/// Reads `KEY[=VALUE][:EFFECT]`, as `kubectl taint` writes taints.
fn toleration(text: &str) -> Result<Toleration, Failure> {
    let (rest, effect) = match text.rsplit_once(':') {
        Some((rest, effect)) => (rest, Some(effect)),
        None => (text, None),
    };
    let (key, value) = match rest.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (rest, None),
    };
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if key.is_empty() || effect.is_some_and(|effect| !effects.contains(&effect)) {
        let message = format!("--toleration {text}: expected KEY[=VALUE][:EFFECT]");
        let help = "write it as `kubectl describe node` shows the taint: load=only:NoSchedule";
        return Err(Failure::message(Exit::Usage, "bad_toleration", message, help));
    }
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Ok(Toleration { key: key.to_owned(), value: owned(value), effect: owned(effect) })
}

/// Returns the variables of this process that its telemetry follows, with the URL; none without `--otlp`. They may hold
/// keys.
fn telemetry(otlp: Option<&str>) -> Result<BTreeMap<String, String>, Failure> {
    let Some(url) = otlp else { return Ok(BTreeMap::new()) };
    let all = env::vars().filter(|(name, _)| name.starts_with("OTEL_"));
    let mut all: BTreeMap<String, String> = all.collect();
    if !url.is_empty() {
        all.remove("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT");
        all.insert(ENDPOINT.to_owned(), url.to_owned());
    } else if !all.keys().any(|name| name.ends_with("ENDPOINT")) {
        let message = "--otlp needs the URL of a collector, as the pods of the cluster reach it";
        let help = "name it: --otlp=http://collector.monitoring:4318";
        return Err(Failure::conflict(message.to_owned(), help));
    }
    Ok(all)
}

/// Returns the variables of this process that decide how the live view looks.
fn terminal() -> BTreeMap<String, String> {
    let names = ["TERM", "LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR", "COLORTERM"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect()
}

/// Returns the time that a run takes, generously: the cluster ends a manager that hangs. `None` if it is not known.
fn length(run: &Run) -> Option<Duration> {
    let (rounds, each) = run.forecast();
    let rounds = run.precision.as_ref().map_or(rounds, |precision| {
        rounds.max(precision.rounds_max.saturating_mul(run.job.passes()))
    });
    each.map(|each| each.saturating_mul(rounds).saturating_mul(2))
}

/// Returns the words for the manager of this command line.
fn words(command: &str) -> Result<Vec<String>, Failure> {
    words::of_this_process(command).map_err(|option| {
        let message = format!("{option} has no effect on a run in a cluster");
        Failure::message(Exit::Usage, "unused_option", message, "leave out the option")
    })
}

fn random_name() -> Result<String, Failure> {
    let mut bytes = [0; 5];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| failed("name the run", &error.to_string()))?;
    let letters: String = bytes.iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    Ok(format!("loadgen-{letters}"))
}

fn too_large(why: String) -> Failure {
    let help = "use fewer workers (one uses about a CPU), fewer rows, or smaller files";
    Failure::message(Exit::Usage, "too_large_for_cluster", why, help)
}

fn failed(what: &str, why: &str) -> Failure {
    let help = "this is a bug in loadgen: please report the bug";
    Failure::message(Exit::Failed, "not_rendered", format!("cannot {what}: {why}"), help)
}
