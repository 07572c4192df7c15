//! `loadgen run`, the main command: measures rounds over contenders, and compares the contenders.

use super::measure::{carry_out, save};
use super::options::request::FromUrls;
use super::options::{
    Contest, Output, duet, gate, hosts, job, junit, precision, probe, profile, request,
    scenario_to_run, slices, unused,
};
use crate::cli::{OnWorkerLoss, RunArgs};
use crate::cluster::OnLoss;
use crate::experiment::contender::Numbers;
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Remote;
use crate::experiment::run::precision::Precision;
use crate::experiment::run::{Run, noise_floor};
use crate::failure::{Exit, Failure};
use crate::record::RunRecord;
use crate::report::{self, hlog};
use crate::scenario::{OverrideError, Overrides, Scenario};

/// Carries out a run with the options of the command line, saves the record, and prints the record.
pub(super) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let remote = hosts::remote(&args.common, &args.request)?;
    run_with(args, remote)
}

/// Like `run`, but with workers from other hosts if `remote` is set.
pub(super) fn run_with(args: RunArgs, remote: Option<Remote>) -> Result<Exit, Failure> {
    let output = Output::from(&args.common.measuring);
    let from_urls = match args.scenario {
        Some(_) => None,
        None => Some(FromUrls::of(&args.request, &args.common)?),
    };
    let scenario = scenario(&args, from_urls.as_ref())?;
    let text = from_urls.as_ref().map(|of| of.text(&args));
    let to_save = args.save.clone().zip(text);
    let is_one_request = from_urls.is_some();
    let running = from_urls.and_then(|of| of.servers);
    let RunArgs {
        common,
        users,
        server_workers,
        replicas,
        aa,
        duet,
        probe,
        profile,
        slices,
        rounds,
        precision,
        rounds_max,
        time_max,
        fail_fast,
        fail_on_regression,
        junit,
        ..
    } = args;
    let numbers = Numbers { server_workers, replicas, users };
    let rounds = precision::first_stage(precision, rounds, rounds_max)?;
    let contest = Contest { numbers, aa, duet, probe, rounds };
    let mut job = job(scenario, running, &common, contest, remote)?;
    duet::check(&job)?;
    probe::check(&job)?;
    slices::apply(&mut job, slices)?;
    let profiling_rounds = profile::rounds(&job, profile)?;
    gate::check(&job, fail_on_regression)?;
    unused::refuse_losses(args.on_worker_loss, job.workers)?;
    if let Some((path, text)) = to_save {
        request::save(&path, &text)?;
    }
    job.one_request = is_one_request;
    job.on_loss = match args.on_worker_loss {
        None | Some(OnWorkerLoss::Fail) => OnLoss::Fail,
        Some(OnWorkerLoss::Continue) => OnLoss::Continue,
    };
    if let Some(path) = &junit {
        junit::prepare(path)?;
    }
    let precision = precision.map(|percent| Precision { percent, rounds_max, time_max });
    let run = Run { job, fail_fast, fail_on_regression, precision, profiling_rounds };
    let save_all = |record: &RunRecord, folder: &RunFolder| {
        noise_floor::keep(record, &run.job);
        save(record, folder)?;
        folder.save_latencies(&hlog(record))?;
        junit.as_ref().map_or(Ok(()), |path| junit::write(path, &report::junit(record)))
    };
    carry_out(&run, &output, save_all)
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
