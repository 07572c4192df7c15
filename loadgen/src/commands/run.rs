//! `loadgen run`, the main job: rounds over contenders, and the comparison.

use std::path::PathBuf;
use std::time::Duration;

use super::arguments::{Contest, Output, job};
use super::measure::{Experiment, carry_out};
use super::{junit, unused};
use crate::cli::{OnWorkerLoss, RunArgs};
use crate::cluster::{OnLoss, RemoteWorkers};
use crate::experiment::fail_fast::FailFast;
use crate::experiment::folder::RunFolder;
use crate::experiment::job::Job;
use crate::experiment::keeper::Keeper;
use crate::experiment::measured::Measured;
use crate::experiment::observe::Observe;
use crate::experiment::record::{self, Context};
use crate::experiment::session::{OVERHEAD, Session};
use crate::experiment::site::Site;
use crate::experiment::{noise, scenarios};
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::record::{RunRecord, VerdictKind};
use crate::report::{Document, hlog, html};
use crate::scenario::{OverrideError, Overrides, Scenario};

/// A run as the command line asks for it.
struct Run {
    job: Job,
    /// Whether the first threshold that fails ends it.
    fail_fast: bool,
    /// The file for the thresholds as JUnit XML.
    junit: Option<PathBuf>,
}

/// Measures what the command line asks for, saves it, and prints it.
pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    run_with(args, None)
}

/// The same, with workers that come from other hosts, if any do.
pub fn run_with(args: RunArgs, remote: Option<RemoteWorkers>) -> Result<Exit, Failure> {
    let output = Output::from(&args.common);
    let scenario = scenario(&args)?;
    let RunArgs { common, users, server_workers, aa, rounds, fail_fast, junit, .. } = args;
    let contest = Contest { users, server_workers, aa, rounds };
    let mut job = job(scenario, &common, contest, remote)?;
    unused::refuse_losses(args.on_worker_loss, job.workers)?;
    job.on_loss = match args.on_worker_loss {
        None | Some(OnWorkerLoss::Fail) => OnLoss::Fail,
        Some(OnWorkerLoss::Continue) => OnLoss::Continue,
    };
    if let Some(path) = &junit {
        junit::prepare(path)?;
    }
    carry_out(&Run { job, fail_fast, junit }, &output)
}

/// The scenario, its load overridden by the command line.
fn scenario(args: &RunArgs) -> Result<Scenario, Failure> {
    let mut scenario = scenarios::find_to_run(args.scenario.as_deref().unwrap_or_default())?;
    let overrides = Overrides {
        users: args.users.iter().copied().max(),
        ramp_up: args.ramp_up,
        duration: args.duration,
        iterations: args.iterations,
        rate: args.rate,
        drain: args.common.drain,
    };
    let usage =
        |e: OverrideError| Failure::message(Exit::Usage, e.to_string(), "see `loadgen run --help`");
    for users in &args.users {
        let one = Overrides { users: Some(*users), ..overrides };
        scenario.load.clone().with_overrides(one).map_err(usage)?;
    }
    scenario.load = scenario.load.with_overrides(overrides).map_err(usage)?;
    if args.fail_fast && scenario.thresholds.is_empty() {
        let message = format!("--fail-fast: scenario \"{}\" has no thresholds", scenario.name);
        let help = "add [thresholds]: docs/scenarios.md has them";
        return Err(Failure::message(Exit::Usage, message, help));
    }
    Ok(scenario)
}

impl Experiment for Run {
    type Measured = Measured;
    type Record = RunRecord;

    const CAN_CHANGE: bool = true;

    fn job(&self) -> &Job {
        &self.job
    }

    fn forecast(&self) -> (u32, Option<Duration>) {
        let contenders = u32::try_from(self.job.contenders.len()).unwrap_or(u32::MAX);
        let length = self.job.plan(0, String::new(), 1).length();
        (self.job.rounds * contenders, length.map(|length| length + OVERHEAD))
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        let mut observers: Vec<Box<dyn Observe>> = vec![Box::new(Keeper::new(site, folder))];
        if self.fail_fast {
            observers.push(Box::new(FailFast::new(&self.job.scenario)));
        }
        observers
    }

    async fn measure(&self, session: &mut Session<'_>, _: &Site<'_>) -> Measured {
        session.measure().await
    }

    fn is_empty(measured: &Measured) -> bool {
        measured.rounds.is_empty()
    }

    fn failure(measured: Measured) -> Option<Failure> {
        measured.failure
    }

    fn record(
        &self,
        measured: &Measured,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> RunRecord {
        let mut context = Context::of(site, measured, lab, interrupted);
        // A run that finds it out has its own.
        context.noise_floor = noise::known(self.job.runtime).filter(|_| !self.job.aa);
        record::build(&self.job, measured, None, context)
    }

    fn save(&self, record: &RunRecord, folder: &RunFolder) -> Result<(), Failure> {
        noise::keep(record, self.job.runtime);
        folder.save(record)?;
        folder.save_latencies(&hlog(record))?;
        folder.save_page(&html::run(record))?;
        self.junit.as_ref().map_or(Ok(()), |path| junit::write(path, record))
    }

    fn document(record: &RunRecord) -> Document<'_> {
        Document::Run(record)
    }

    fn exit(record: &RunRecord, failed: Option<Exit>) -> Exit {
        let has = |is: fn(VerdictKind) -> bool| record.verdicts.iter().any(|it| is(it.kind));
        if record.interrupted {
            Exit::Interrupted
        } else if let Some(exit) = failed {
            exit
        } else if record.degraded.is_some() {
            Exit::Degraded
        } else if record.stopped_early.is_some() {
            Exit::Threshold
        } else if has(|kind| kind.is_failure() && kind != VerdictKind::ProofFailed) {
            Exit::Failed
        } else if record.thresholds.iter().any(|threshold| !threshold.passed)
            || has(|kind| kind == VerdictKind::ProofFailed)
        {
            Exit::Threshold
        } else {
            Exit::Done
        }
    }
}
