//! `loadgen run`, the main job: rounds over targets, and the comparison.

mod cache;
mod calibration;
mod comparison;
pub(super) mod control;
pub(super) mod environment;
mod fail_fast;
pub(super) mod folder;
mod generator;
pub(super) mod interrupt;
pub(super) mod job;
mod junit;
mod keeper;
pub(super) mod limits;
mod losses;
mod matrix;
pub(super) mod measured;
mod noise;
pub(super) mod order;
mod proof;
pub(super) mod record;
mod resources;
pub(super) mod sent;
pub(super) mod session;
mod shown;
pub(super) mod stdout;
mod steps;
mod thresholds;
mod unused;
mod verdicts;
mod watch;
mod workers;

use std::path::Path;
use std::time::Duration;

use self::control::{Control, Door, terminal};
use self::folder::RunFolder;
pub use self::job::random_seed;
use self::job::{Job, Subject};
use self::keeper::Keeper;
use self::limits::Processes;
use self::measured::Measured;
use self::session::Session;
use self::stdout::Stdout;
use super::output::{say, unprinted};
use super::process::use_huge_pages;
use super::threads::for_load;
use super::{Exit, Failure};
use crate::cli::{Format, RunArgs};
use crate::lab::cpus::pin_self;
use crate::lab::service::dropped_have_ended;
use crate::lab::{Lab, Layout, Options};
use crate::measure::{RunRecord, VerdictKind};
use crate::report::{self, Progress};

/// From this many users in one process on, huge pages pay: less than 1 % of CPU at 1,000, 6 % and
/// more at 5,000.
const MANY_USERS: u32 = 1_000;

/// What a round takes besides its warm-up and its load: the target's start, verification and stop.
pub(super) const OVERHEAD: Duration = Duration::from_secs(2);

/// Measures what the command line asks for, saves it, and prints it.
pub fn run(args: RunArgs) -> Result<Exit, Failure> {
    measure(&Job::resolve(args, None)?)
}

/// Measures a job, saves what came of it, and prints it.
pub(super) fn measure(job: &Job) -> Result<Exit, Failure> {
    let (folder, layout, stdout) = prepare(job)?;
    for_load(job.workers.is_some())?.block_on(async {
        let done = execute(job, &folder, layout, stdout).await;
        dropped_have_ended().await;
        done
    })
}

/// What is needed before anything starts: a folder for the results, the CPUs of each part, of which
/// this process now keeps to its own, and standard output.
pub(super) fn prepare(job: &Job) -> Result<(RunFolder, Layout, Stdout), Failure> {
    let allowed = Processes::of(job).allow(job.scenario.load.users);
    allowed.map_err(Failure::with(Exit::Usage))?;
    if job.workers.is_none() && job.scenario.load.users >= MANY_USERS {
        use_huge_pages();
    }
    let folder = RunFolder::create(job.out.as_deref(), &job.scenario.name)?;
    junit::prepare(job)?;
    let layout = match job.subject {
        Subject::Lab { .. } => Layout::here(job.most_server_workers()),
        Subject::Running(_) => Layout::unpinned(),
    };
    let stdout = Stdout::reserve().map_err(|e| {
        let message = format!("loadgen cannot use its standard output: {e}");
        Failure::message(Exit::Failed, message, "let it lead somewhere: a terminal, a file, a pipe")
    })?;
    // Before the runtime has threads: they would not follow.
    pin_self(&layout.generator).map_err(|e| {
        let message = format!("loadgen cannot keep to its CPUs: {e}");
        Failure::message(Exit::Failed, message, "see `taskset -p $$`")
    })?;
    Ok((folder, layout, stdout))
}

async fn execute(
    job: &Job,
    folder: &RunFolder,
    layout: Layout,
    mut stdout: Stdout,
) -> Result<Exit, Failure> {
    let interrupt = interrupt::on_signal()?;
    let rounds = job.rounds * u32::try_from(job.contenders.len()).unwrap_or(u32::MAX);
    let length = job.plan(0, String::new(), 1).length().map(|length| length + OVERHEAD);
    let mut progress = Progress::new(&job.scenario.name, rounds, length);
    let control = Control::new(interrupt.clone(), Processes::of(job), progress.noter());
    terminal::listen(&control);
    // A manager waits for its workers first.
    if job.live && job.remote.is_none() {
        progress.show_live(true);
    }
    let lab = tokio::select! {
        biased;
        () = interrupt.cancelled() => return Ok(nothing_measured(&mut progress)),
        lab = prepare_lab(job, folder, &layout, &progress) => lab?,
    };
    let door = Door::open(folder.path(), &control);
    if let Err(error) = &door {
        progress.note(&format!("this run is closed to `loadgen ctl`: {error}"));
    }
    let keeper = Keeper::new(job, folder, &layout);
    let mut session =
        Session::new(job, lab, &mut progress, &layout, folder.path(), interrupt.clone())
            .with_control(control.clone())
            .kept_by(&keeper);
    let measured = session.measure().await;
    if measured.rounds.is_empty() {
        session.close().await;
        return measured.failure.map_or_else(|| Ok(nothing_measured(&mut progress)), Err);
    }
    let mut context = keeper.context(&measured, session.lab(), interrupt.is_cancelled());
    // A run that finds it out has its own.
    context.noise_floor = noise::known(job.runtime).filter(|_| !job.aa);
    let record = record::build(job, &measured, context);
    noise::keep(&record, job.runtime);
    let saved = save(job, folder, &record);
    session.close().await;
    // Not being able to save is no reason not to show.
    let saved_in = saved.is_ok().then(|| folder.path());
    let shown = stdout.print(&printed(job.format, &record, saved_in)).map_err(unprinted);
    let exit = exit(&record, measured);
    saved.and(shown)?;
    Ok(exit)
}

/// Saves all that is kept of a run.
fn save(job: &Job, folder: &RunFolder, record: &RunRecord) -> Result<(), Failure> {
    folder.save(record)?;
    folder.save_latencies(&report::hlog(record))?;
    folder.save_page(&report::html(record))?;
    junit::write(job, record)
}

pub(super) async fn prepare_lab(
    job: &Job,
    folder: &RunFolder,
    layout: &Layout,
    progress: &Progress,
) -> Result<Option<Lab>, Failure> {
    let Subject::Lab { home, .. } = &job.subject else { return Ok(None) };
    let options =
        Options { logs: folder.path().to_owned(), cpus: layout.clone(), runtime: job.runtime };
    Ok(Some(Lab::prepare(home.clone(), options, progress.teller()).await?))
}

pub(super) fn printed(format: Format, record: &RunRecord, folder: Option<&Path>) -> String {
    match format {
        Format::Table => report::terminal(record, folder),
        Format::Json => report::json(record).unwrap_or_default(),
        Format::Csv => report::csv(record),
        Format::Markdown => report::markdown(record),
    }
}

/// The exit code, the most urgent reason first; an error that ended the run is said here.
fn exit(record: &RunRecord, measured: Measured) -> Exit {
    let failed = measured.failure.map(|failure| failure.print());
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

pub(super) fn nothing_measured(progress: &mut Progress) -> Exit {
    progress.finish();
    say("interrupted before anything was measured");
    Exit::Interrupted
}
