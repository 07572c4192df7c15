//! `loadgen capacity`: the highest rate that each target carries, found by search in the open model.
//!
//! A round is a search over one target, started afresh; a search is a row of trials, each of which
//! holds a rate and is judged like a run of one round.

mod criteria;
mod record;
mod rounds;

use std::path::Path;
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use self::criteria::Criteria;
use self::record::{Context, record};
use self::rounds::{Place, Rounds, Searched};
use super::output::unprinted;
use super::run::control::{Control, terminal};
use super::run::environment::environment;
use super::run::folder::RunFolder;
use super::run::job::Job;
use super::run::limits::Processes;
use super::run::session::{Session, Stopped};
use super::run::stdout::Stdout;
use super::run::{OVERHEAD, interrupt, nothing_measured, prepare, prepare_lab};
use super::threads::for_load;
use super::{Exit, Failure};
use crate::cli::{CapacityArgs, Format, RunArgs};
use crate::lab::Layout;
use crate::lab::service::dropped_have_ended;
use crate::measure::{Bound, CapacityRecord};
use crate::report::{self, Progress};

/// A search as the command line asks for it.
struct Quest {
    job: Job,
    criteria: Criteria,
    /// How far apart a rate that passed and one that did not may be, as a share of the lower.
    precision: f64,
    /// How long a trial holds its rate, at the least.
    duration: Duration,
}

/// Searches what the command line asks for, saves it, and prints it.
pub fn run(args: CapacityArgs) -> Result<Exit, Failure> {
    let (duration, precision) = (args.duration, args.precision / 100.0);
    let mut job = Job::resolve(as_run(args), None)?;
    let criteria = Criteria::of(&mut job.scenario, duration);
    let quest = Quest { job, criteria, precision, duration };
    let (folder, layout, stdout) = prepare(&quest.job)?;
    for_load(quest.job.workers.is_some())?.block_on(async {
        let done = execute(&quest, &folder, layout, stdout).await;
        dropped_have_ended().await;
        done
    })
}

/// A run in the open model, whose rate each trial sets anew.
fn as_run(args: CapacityArgs) -> RunArgs {
    RunArgs {
        scenario: Some(args.scenario),
        common: args.common,
        users: args.users.into_iter().collect(),
        ramp_up: Some(Duration::ZERO),
        duration: Some(args.duration),
        iterations: None,
        rate: Some(1.0),
        aa: false,
        rounds: Some(args.rounds),
        server_workers: args.server_workers.into_iter().collect(),
        fail_fast: false,
        junit: None,
        on_worker_loss: None,
    }
}

async fn execute(
    quest: &Quest,
    folder: &RunFolder,
    layout: Layout,
    mut stdout: Stdout,
) -> Result<Exit, Failure> {
    let interrupt = interrupt::on_signal()?;
    let started = SystemTime::now();
    let each = quest.job.warmup + quest.duration + OVERHEAD;
    let mut progress = Progress::new(&quest.job.scenario.name, 1, Some(each));
    let control = Control::new(interrupt.clone(), Processes::of(&quest.job), progress.noter());
    terminal::listen(&control.with_fixed_load());
    if quest.job.live {
        progress.show_live(false);
    }
    let lab = tokio::select! {
        biased;
        () = interrupt.cancelled() => return Ok(nothing_measured(&mut progress)),
        lab = prepare_lab(&quest.job, folder, &layout, &progress) => lab?,
    };
    let mut session =
        Session::new(&quest.job, lab, &mut progress, &layout, folder.path(), interrupt.clone());
    let (searched, environment) =
        search(quest, &mut session, &layout, (folder, started), &interrupt).await;
    if searched.is_empty() {
        session.close().await;
        return searched.failure.map_or_else(|| Ok(nothing_measured(&mut progress)), Err);
    }
    let interrupted = interrupt.is_cancelled();
    let lab = session.lab();
    let record = record(quest, &searched, Context { environment, lab, started, interrupted });
    let page = report::capacity_html(&record);
    let saved = folder.save_capacity(&record).and_then(|()| folder.save_page(&page));
    session.close().await;
    // Not being able to save is no reason not to show.
    let saved_in = saved.is_ok().then(|| folder.path());
    let shown = stdout.print(&printed(quest.job.format, &record, saved_in)).map_err(unprinted);
    let exit = exit(&record, searched);
    saved.and(shown)?;
    Ok(exit)
}

/// Searches all rounds, or as many as an interrupt or an error allow; and where that was.
async fn search(
    quest: &Quest,
    session: &mut Session<'_>,
    layout: &Layout,
    (folder, started): (&RunFolder, SystemTime),
    interrupt: &CancellationToken,
) -> (Searched, crate::measure::Environment) {
    let mut searched = Searched::new(quest.job.names().len());
    let started_up = session.start().await;
    let backends = match session.lab() {
        Some(lab) => lab.backend_versions().await,
        None => Default::default(),
    };
    let environment = environment(&quest.job, session.lab(), layout, &backends);
    let result = match started_up {
        Ok(()) => {
            let place = Place { environment: &environment, folder, started };
            Rounds::new(quest, session, place, interrupt, &mut searched).run().await
        }
        Err(stopped) => Err(stopped),
    };
    if let Err(Stopped::Failed(failure)) = result {
        searched.failure = Some(failure);
    }
    (searched, environment)
}

pub(super) fn printed(format: Format, record: &CapacityRecord, folder: Option<&Path>) -> String {
    match format {
        Format::Table => report::capacity(record, folder),
        Format::Json => report::json(record).unwrap_or_default(),
        Format::Csv => report::capacity_csv(record),
        Format::Markdown => report::capacity_markdown(record),
    }
}

/// The exit code, the most urgent reason first; an error that ended the search is said here.
fn exit(record: &CapacityRecord, searched: Searched) -> Exit {
    let failed = searched.failure.map(|failure| failure.print());
    if record.interrupted {
        Exit::Interrupted
    } else if let Some(exit) = failed {
        exit
    } else if record.targets.iter().any(|target| target.capacity.bound == Bound::Below) {
        Exit::Threshold
    } else {
        Exit::Done
    }
}
