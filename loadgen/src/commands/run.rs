//! `loadgen run`, the main command: measures rounds over contenders, and compares the contenders.

use super::measure::{carry_out, save};
use super::options::request::FromUrls;
use super::options::{
    Contest, Output, duet, gate, hosts, job, junit, losses, precision, probe, profile, request,
    scenario_to_run, slices, unused,
};
use crate::cli::{OnWorkerLoss, RunArgs};
use crate::cluster::OnLoss;
use crate::experiment::contender::Numbers;
use crate::experiment::folder::RESUME;
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Remote;
use crate::experiment::run::precision::Precision;
use crate::experiment::run::resume::{self, Resumable};
use crate::experiment::run::{Run, noise_floor};
use crate::experiment::subject::Server;
use crate::failure::{Exit, Failure};
use crate::record::RunRecord;
use crate::report::{self, hlog};
use crate::scenario::{OverrideError, Overrides, Scenario};
use crate::text::say;

/// What is loaded: a scenario, and the servers that the command line names beside it.
#[derive(Clone)]
pub(super) struct Loaded {
    /// The scenario, with its load overridden by the command line.
    pub scenario: Scenario,
    /// Servers that run already, whose URLs the command line has instead of a scenario.
    pub running: Option<Vec<Server>>,
    /// Whether the scenario is one request of the command line, instead of a file.
    pub one_request: bool,
}

/// Carries out a run with the options of the command line, saves the record, and prints the record.
pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let remote = hosts::remote(&args.common, &args.request)?;
    let (loaded, text) = load(args)?;
    let run = resolve(args, loaded, remote)?;
    measure(args, &run, text.as_deref())
}

/// Reads what the command line says to load. Returns also the scenario as text if it is one request of the command line.
pub(super) fn load(args: &RunArgs) -> Result<(Loaded, Option<String>), Failure> {
    let from_urls = match args.scenario {
        Some(_) => None,
        None => Some(FromUrls::of(&args.request, &args.common)?),
    };
    let scenario = scenario(args, from_urls.as_ref())?;
    let text = from_urls.as_ref().map(|of| of.text(args));
    let one_request = from_urls.is_some();
    let running = from_urls.and_then(|of| of.servers);
    Ok((Loaded { scenario, running, one_request }, text))
}

/// Returns the run that the command line means; a wrong option is an error. The load comes from workers on other hosts
/// if `remote` is set.
pub(super) fn resolve(
    args: &RunArgs,
    loaded: Loaded,
    remote: Option<Remote>,
) -> Result<Run, Failure> {
    let Loaded { scenario, running, one_request } = loaded;
    let numbers = Numbers {
        server_workers: args.server_workers.clone(),
        replicas: args.replicas.clone(),
        users: args.users.clone(),
    };
    let rounds = precision::first_stage(args.precision, args.rounds, args.rounds_max)?;
    let contest = Contest { numbers, aa: args.aa, duet: args.duet, probe: args.probe, rounds };
    let mut job = job(scenario, running, &args.common, contest, remote)?;
    duet::check(&job)?;
    probe::check(&job)?;
    slices::apply(&mut job, args.slices)?;
    let profiling_rounds = profile::rounds(&job, args.profile)?;
    gate::check(&job, args.fail_on_regression)?;
    unused::refuse_losses(args.on_worker_loss, job.workers)?;
    job.one_request = one_request;
    job.on_loss = match args.on_worker_loss {
        None | Some(OnWorkerLoss::Fail) => OnLoss::Fail,
        Some(OnWorkerLoss::Continue) => OnLoss::Continue,
        Some(OnWorkerLoss::Redistribute) => OnLoss::Redistribute,
    };
    losses::check(&job)?;
    let (rounds_max, time_max) = (args.rounds_max, args.time_max);
    let precision = args.precision.map(|percent| Precision { percent, rounds_max, time_max });
    let (fail_fast, fail_on_regression) = (args.fail_fast, args.fail_on_regression);
    let resumable = None;
    Ok(Run { job, fail_fast, fail_on_regression, precision, profiling_rounds, resumable })
}

/// Carries out a run, saves the record, and prints the record. `text` is what `--save` saves.
pub(super) fn measure(args: &RunArgs, run: &Run, text: Option<&str>) -> Result<Exit, Failure> {
    if let Some((path, text)) = args.save.as_ref().zip(text) {
        request::save(path, text)?;
    }
    if let Some(path) = &args.junit {
        junit::prepare(path)?;
    }
    let mut unfinished = None;
    let save_all = |record: &RunRecord, folder: &RunFolder| {
        noise_floor::keep(record, &run.job);
        unfinished = Some(folder.path().to_owned());
        save(record, folder)?;
        if !record.interrupted {
            unfinished = None;
            run.resumable.iter().for_each(Resumable::finish);
        }
        folder.save_latencies(&hlog(record))?;
        args.junit.as_ref().map_or(Ok(()), |path| junit::write(path, &report::junit(record)))
    };
    let done = carry_out(run, &Output::from(&args.common.measuring), save_all);
    // Without a whole round, nothing is kept.
    if let Some(folder) = unfinished.filter(|folder| resume::exist(folder)) {
        say(format!(
            "resume this run: loadgen manager --resume {}; until then, its folder {} has the command line with all headers",
            folder.display(),
            RESUME
        ));
    }
    done
}

/// Returns the scenario, with its load overridden by the command line. `from_urls` has it if the
/// command line has URLs instead.
fn scenario(args: &RunArgs, from_urls: Option<&FromUrls>) -> Result<Scenario, Failure> {
    let mut scenario = match from_urls {
        Some(of) => of.scenario.clone(),
        None => scenario_to_run(args.scenario.as_deref().unwrap_or_default())?,
    };
    let overrides = Overrides {
        users: args.users.iter().copied().max(),
        ramp_up: args.ramp_up,
        duration: args.duration,
        iterations: args.iterations,
        rate: args.rate,
        drain: args.common.drain,
    };
    let usage = |e: OverrideError| {
        let help = "see `loadgen run --help`";
        Failure::message(Exit::Usage, "bad_load", e.to_string(), help)
    };
    for users in &args.users {
        let one = Overrides { users: Some(*users), ..overrides };
        scenario.load_with(one).map_err(usage)?;
    }
    scenario.load = scenario.load_with(overrides).map_err(usage)?;
    if args.fail_fast && scenario.thresholds.is_empty() {
        let message = format!("--fail-fast: scenario \"{}\" has no thresholds", scenario.name);
        let help = "add [thresholds] to the scenario: see docs/reference/scenario-file.md";
        return Err(Failure::message(Exit::Usage, "no_thresholds", message, help));
    }
    Ok(scenario)
}
