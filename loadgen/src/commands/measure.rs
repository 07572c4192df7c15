//! What `run`, `manager` and `capacity` have in common: all that surrounds an experiment.

use std::path::Path;
use std::time::Duration;

use super::arguments::Output;
use super::interrupt;
use super::output::{say, say_failure, unprinted};
use super::process::use_huge_pages;
use super::progress::Shown;
use super::stdout::Stdout;
use super::threads::for_load;
use crate::experiment::control::terminal::{self, Screen};
use crate::experiment::control::{Control, Door};
use crate::experiment::folder::RunFolder;
use crate::experiment::job::{Job, Subject};
use crate::experiment::limits::Processes;
use crate::experiment::observe::{Observe, Observers};
use crate::experiment::session::Session;
use crate::experiment::site::Site;
use crate::failure::{Exit, Failure};
use crate::lab::cpus::pin_self;
use crate::lab::service::dropped_have_ended;
use crate::lab::{Lab, Layout, Options};
use crate::report::{Document, Progress, is_in_front, is_live};

/// From this many users in one process on, huge pages pay: less than 1 % of CPU at 1,000, 6 % and
/// more at 5,000.
const MANY_USERS: u32 = 1_000;

/// An experiment, as a command carries it out.
pub trait Experiment {
    /// What is measured.
    type Measured;
    /// What is saved of it.
    type Record;

    /// Whether those who watch it may change its load.
    const CAN_CHANGE: bool;

    /// What is to be done.
    fn job(&self) -> &Job;

    /// How many rounds there are, and how long one takes, if that is known.
    fn forecast(&self) -> (u32, Option<Duration>);

    /// Who else than the terminal is told what happens.
    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>>;

    /// Measures all of it, or as much as an interrupt or an error allow.
    async fn measure(&self, session: &mut Session<'_>, site: &Site<'_>) -> Self::Measured;

    /// Whether nothing was measured.
    fn is_empty(measured: &Self::Measured) -> bool;

    /// What ended it early, if it was an error.
    fn failure(measured: Self::Measured) -> Option<Failure>;

    /// What is saved of it.
    fn record(
        &self,
        measured: &Self::Measured,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> Self::Record;

    /// Saves all that is kept of it.
    fn save(&self, record: &Self::Record, folder: &RunFolder) -> Result<(), Failure>;

    /// What is printed of it.
    fn document(record: &Self::Record) -> Document<'_>;

    /// The exit code, the most urgent reason first; `failed` is that of the error that ended it.
    fn exit(record: &Self::Record, failed: Option<Exit>) -> Exit;
}

/// Measures, saves what came of it, and prints it.
pub fn carry_out(experiment: &impl Experiment, output: &Output) -> Result<Exit, Failure> {
    let job = experiment.job();
    let (folder, layout, stdout) = prepare(job, output)?;
    for_load(job.workers.is_some())?.block_on(async {
        let done = execute(experiment, output, &folder, &layout, stdout).await;
        dropped_have_ended().await;
        done
    })
}

/// What is needed before anything starts: a folder for the results, the CPUs of each part, of which
/// this process now keeps to its own, and standard output.
fn prepare(job: &Job, output: &Output) -> Result<(RunFolder, Layout, Stdout), Failure> {
    let allowed = Processes::of(job).allow(job.scenario.load.users);
    allowed.map_err(Failure::with(Exit::Usage))?;
    if job.workers.is_none() && job.scenario.load.users >= MANY_USERS {
        use_huge_pages();
    }
    let folder = RunFolder::create(output.folder.as_deref(), &job.scenario.name)?;
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

async fn execute<E: Experiment>(
    experiment: &E,
    output: &Output,
    folder: &RunFolder,
    layout: &Layout,
    mut stdout: Stdout,
) -> Result<Exit, Failure> {
    let job = experiment.job();
    let interrupt = interrupt::on_signal()?;
    let (rounds, length) = experiment.forecast();
    let mut progress = Progress::new(&job.scenario.name, rounds, length);
    let control = Control::new(interrupt.clone(), Processes::of(job), progress.noter());
    let control = if E::CAN_CHANGE { control } else { control.with_fixed_load() };
    terminal::listen(&control, Screen { is_in_front, is_live });
    // A manager waits for its workers first.
    if output.live && job.remote.is_none() {
        progress.show_live(E::CAN_CHANGE);
    }
    let lab = tokio::select! {
        biased;
        () = interrupt.cancelled() => return Ok(nothing_measured(&mut progress)),
        lab = prepare_lab(job, folder, layout, &progress) => lab?,
    };
    let _door = E::CAN_CHANGE.then(|| open_door(folder.path(), &control, &progress));
    let site = Site::new(job, layout);
    let shown = Shown::new(&mut progress, job.on_loss)
        .changed_by(&control)
        .live_with_workers(output.live && job.remote.is_some());
    let observers = Observers::from(experiment.observers(&site, folder)).with(shown);
    let mut session = Session::new(job, lab, observers, layout, folder.path(), interrupt.clone());
    if E::CAN_CHANGE {
        session = session.with_control(control);
    }
    let measured = experiment.measure(&mut session, &site).await;
    if E::is_empty(&measured) {
        session.close().await;
        return E::failure(measured).map_or_else(|| Ok(nothing_measured(&mut progress)), Err);
    }
    let interrupted = interrupt.is_cancelled();
    let record = experiment.record(&measured, &site, session.lab(), interrupted);
    let saved = experiment.save(&record, folder);
    session.close().await;
    progress.finish();
    // Not being able to save is no reason not to show.
    let saved_in = saved.is_ok().then(|| folder.path());
    let text = E::document(&record).render(output.format, saved_in);
    let shown = stdout.print(&text).map_err(unprinted);
    let failed = E::failure(measured).map(|failure| say_failure(&failure));
    let exit = E::exit(&record, failed);
    saved.and(shown)?;
    Ok(exit)
}

/// The way in for `loadgen ctl`, open until it is dropped.
fn open_door(folder: &Path, control: &Control, progress: &Progress) -> Option<Door> {
    let door = Door::open(folder, control);
    if let Err(error) = &door {
        progress.note(&format!("this run is closed to `loadgen ctl`: {error}"));
    }
    door.ok()
}

async fn prepare_lab(
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

fn nothing_measured(progress: &mut Progress) -> Exit {
    progress.finish();
    say("interrupted before anything was measured");
    Exit::Interrupted
}
