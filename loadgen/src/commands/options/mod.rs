//! Builds a job from the options that experiments share.

pub mod duet;
pub mod gate;
pub mod hosts;
pub mod junit;
pub mod losses;
pub mod precision;
pub mod probe;
pub mod profile;
pub mod request;
pub mod runtime;
pub mod servers;
pub mod slices;
pub mod telemetry;
pub mod tls;
pub mod unused;

use std::path::{Path, PathBuf};

use self::servers::servers;
use crate::cli::{CommonArgs, MeasuringArgs, TelemetryArgs, WebArgs};
use crate::cluster::OnLoss;
use crate::experiment::contender::{Numbers, product};
use crate::experiment::job::{Job, Method, Remote, random_seed};
use crate::experiment::scenarios;
use crate::experiment::subject::{Server, Subject};
use crate::failure::{Exit, Failure};
use crate::lab::TargetSpec;
use crate::process::use_huge_pages_before_reading;
use crate::report::Format;
use crate::scenario::{Model, Scenario, WARMUP};

/// Number of rounds of a duet, unless the command line has another number.
const DUETS: u32 = 10;

/// Options that determine the contenders of an experiment, and the number of rounds for each.
#[derive(Debug, Default)]
pub struct Contest {
    /// Numbers with which each target is measured. Without a number of users, the scenario's number.
    pub numbers: Numbers,
    /// Whether the only target is compared with itself (`--aa`).
    pub aa: bool,
    /// Whether two contenders are loaded at the same time (`--duet`).
    pub duet: bool,
    /// Rate of the probe, in requests/s; `None` without a probe (`--probe`).
    pub probe: Option<f64>,
    /// Number of rounds for each contender; `None` for 5, which are enough to tell a difference, for 10
    /// in a duet, whose small differences need more, or for 1 if the only contender is a server that
    /// runs already and no probe measures beside the load.
    pub rounds: Option<u32>,
}

/// Destination of an experiment's results.
#[derive(Debug)]
pub struct Output {
    /// Whether to show the live view on a terminal.
    pub live: bool,
    /// Whether to measure while another loadgen measures on this machine.
    pub anyway: bool,
    /// The live page, if any.
    pub web: WebArgs,
    /// Where metrics go, if anywhere.
    pub telemetry: TelemetryArgs,
    /// Folder to save the results in; `None` for a new folder in `runs/`.
    pub folder: Option<PathBuf>,
    /// Format of the document on stdout.
    pub format: Format,
}

/// Loads the scenario that the command line names, for a run: see [`scenarios::find_to_run`].
pub fn scenario_to_run(named: &str) -> Result<Scenario, Failure> {
    use_huge_pages_before_reading(Path::new(named));
    scenarios::find_to_run(named)
}

impl From<&MeasuringArgs> for Output {
    fn from(measuring: &MeasuringArgs) -> Self {
        let MeasuringArgs { no_progress, anyway, web, telemetry, out, format, json, .. } =
            measuring;
        let format = if *json { Format::Json } else { *format };
        let (web, telemetry) = (web.clone(), telemetry.clone());
        Self { live: !no_progress, anyway: *anyway, web, telemetry, folder: out.clone(), format }
    }
}

/// Builds the job from the options of the command line; a wrong option is an error. `running` has the
/// servers that run already; `None` for those of `--url`, or for the lab's. `remote` is set for a
/// manager, whose workers run on other hosts.
pub fn job(
    scenario: Scenario,
    running: Option<Vec<Server>>,
    common: &CommonArgs,
    contest: Contest,
    remote: Option<Remote>,
) -> Result<Job, Failure> {
    let Contest { mut numbers, aa, duet, probe, rounds } = contest;
    check_numbers(&numbers, aa, &scenario)?;
    let has_backends = !scenario.backends.is_empty();
    let running = match (running, common.measuring.url.as_slice()) {
        (None, []) => None,
        (None, words) => Some(servers("--url", words)?),
        (running, _) => running,
    };
    unused::refuse(&common.measuring, running.is_some(), &numbers, has_backends)?;
    unused::refuse_traces(&common.measuring, std::iter::once(&scenario))?;
    let runtime = match (&running, &remote) {
        // Only `k8s` resolves targets for a manager, and refuses servers that only this host reaches.
        (None, Some(Remote::Awaited(_))) => runtime::in_cluster(common.measuring.runtime)?,
        _ => runtime::runtime(common.measuring.runtime, runtime::K8S_RUN)?,
    };
    let subject = match running {
        None => Subject::of_lab(&common.target, &scenario, runtime)?,
        Some(servers) => Subject::Running(servers),
    };
    subject.check_equals(aa)?;
    if let Some(Remote::Started(_)) = remote {
        hosts::refuse_sockets("--hosts: ", &subject)?;
    }
    let mut scenario = with_backends(scenario, &subject);
    let urls: Vec<&str> = match &subject {
        Subject::Lab { .. } => Vec::new(),
        Subject::Running(servers) => servers.iter().map(|server| server.url.as_str()).collect(),
    };
    unused::refuse_tls(tls::given(&common.tls), &urls, &scenario)?;
    tls::apply(&common.tls, &mut scenario.http.tls)?;
    if numbers.users.is_empty() {
        numbers.users.push(scenario.load.users);
    }
    let mut contenders = product(&subject.names(aa), &numbers);
    for contender in &mut contenders {
        let server = subject.running().get(contender.index).or(subject.running().last());
        if let Some(deployed) = server.and_then(|server| server.deployed.as_ref()) {
            contender.target.clone_from(&deployed.target);
            contender.server_workers = deployed.server.workers;
            contender.replicas = deployed.server.replicas;
        }
    }
    let rounds = rounds.unwrap_or(match subject {
        Subject::Running(_)
            if contenders.len() == 1 && probe.is_none() && !subject.is_deployed() =>
        {
            1
        }
        _ if duet => DUETS,
        _ => 5,
    });
    Ok(Job {
        scenario,
        subject,
        workers: remote.as_ref().map(Remote::count).or(common.measuring.workers),
        on_loss: OnLoss::Fail,
        aa,
        method: if duet { Method::Duets } else { Method::Rounds },
        probe,
        trace_one_in: telemetry::traced(&common.measuring.telemetry),
        rounds,
        warmup: common.measuring.warmup.unwrap_or(WARMUP),
        seed: common.measuring.seed.map_or_else(random_seed, Ok)?,
        contenders,
        runtime,
        one_request: false,
        group: None,
        // The maximum rate of workers on other hosts cannot be measured here.
        calibrate: remote.is_none() && !common.measuring.no_calibrate,
        remote,
    })
}

/// Returns the scenario with the backends for whose URLs the targets ask.
pub fn with_backends(mut scenario: Scenario, subject: &Subject) -> Scenario {
    let Subject::Lab { targets, .. } = subject else { return scenario };
    for backend in targets.iter().flat_map(TargetSpec::backends) {
        if !scenario.backends.contains(&backend) {
            scenario.backends.push(backend);
        }
    }
    scenario
}

/// Returns an error for numbers without a meaning: a number given twice, several numbers of users
/// in the open model, and several numbers with `--aa`.
fn check_numbers(numbers: &Numbers, aa: bool, scenario: &Scenario) -> Result<(), Failure> {
    let Numbers { users, server_workers, replicas } = numbers;
    let conflict = |message: &str, help: &str| Err(Failure::conflict(message.to_owned(), help));
    let options =
        [("--users", users), ("--server-workers", server_workers), ("--replicas", replicas)];
    for (option, numbers) in options {
        if let Some(n) = (1..numbers.len()).find(|n| numbers[..*n].contains(&numbers[*n])) {
            let message = format!("{option} has {} twice", numbers[n]);
            let help = "give each number once";
            return Err(Failure::message(Exit::Usage, "named_twice", message, help));
        }
    }
    let [users, server_workers, replicas] = options.map(|(_, numbers)| numbers.len() > 1);
    if users && scenario.load.model != Model::Closed {
        let message = "--users takes only one number in the open model, where the rate is the load";
        return conflict(message, "in the open model, --users limits the in-flight requests");
    }
    if aa && (users || server_workers || replicas) {
        let message = "with --aa, --users, --server-workers and --replicas take only one number";
        return conflict(message, "name one number, or leave out --aa");
    }
    Ok(())
}
