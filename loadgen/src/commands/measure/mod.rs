//! Carries out an experiment for `run`, `manager`, `capacity` and `experiment`.

mod live_page;
mod planned_load;
mod progress_observer;
mod telemetry;
mod telemetry_observer;

use std::io;
use std::path::Path;

use self::progress_observer::ProgressObserver;
use self::telemetry_observer::TelemetryObserver;
use super::options::Output;
use crate::analysis::same_commits;
use crate::experiment::control::terminal::{self, Screen};
use crate::experiment::control::{Control, ControlSocket};
use crate::experiment::folder::RunFolder;
use crate::experiment::job::{Job, Method, Remote};
use crate::experiment::kind::Experiment;
use crate::experiment::observe::{Event, Observers};
use crate::experiment::session::Session;
use crate::experiment::site::Site;
use crate::experiment::subject::Subject;
use crate::experiment::system::system;
use crate::experiment::system_limits::Processes;
use crate::experiment::to_record::git_record;
use crate::experiment::{replicas, sharing};
use crate::failure::{Exit, Failure};
use crate::lab::cpus::pin_self;
use crate::lab::service::dropped_have_ended;
use crate::lab::{Lab, Lacks, Layout, Measurement, Options, Turn};
use crate::process::{Stdout, for_load, on_signal, say_failure, unprinted, use_huge_pages};
use crate::record::{GitRecord, SavedAs, SystemRecord};
use crate::report::telemetry::Telemetry;
use crate::report::{
    Format, LivePage, Progress, Reported, is_in_front, is_live, leave_terminal, title,
};
use crate::text::say;

/// Number of users in one process from which huge memory pages are used. Huge pages save less than
/// 1 % of CPU at 1,000 users, and 6 % or more at 5,000.
const MANY_USERS: u32 = 1_000;

/// Carries out the measurement, saves the record with `save`, and prints the record.
pub(super) fn carry_out<E: Experiment<Record: Reported>>(
    experiment: &E,
    output: &Output,
    save: impl FnOnce(&E::Record, &RunFolder) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let (folder, layout, stdout) = prepare(experiment, output)?;
    let has_workers = |job: &Job| job.workers.is_some() || job.probe.is_some();
    for_load(experiment.jobs().iter().any(has_workers))?.block_on(async {
        let done = execute(experiment, output, &folder, &layout, stdout, save).await;
        dropped_have_ended().await;
        done
    })
}

/// Saves a record and its report.
pub(super) fn save<R: SavedAs + Reported>(record: &R, folder: &RunFolder) -> Result<(), Failure> {
    folder.save(record)?;
    folder.save_page(&record.page())
}

/// Prepares the measurement: checks the number of users, creates a folder
/// for the results, assigns CPUs to target, backends and generator, and
/// reserves standard output. Pins this process to the generator's CPUs.
fn prepare(
    experiment: &impl Experiment,
    output: &Output,
) -> Result<(RunFolder, Layout, Stdout), Failure> {
    let jobs = experiment.jobs();
    for job in jobs {
        let allowed = processes(job, output).allow(job.scenario.load.users);
        allowed.map_err(Failure::with(Exit::Usage))?;
        sharing::check(job)?;
    }
    let has_many = |job: &Job| job.workers.is_none() && job.scenario.load.users >= MANY_USERS;
    if jobs.iter().any(has_many) {
        use_huge_pages();
    }
    let folder = match experiment.resumes() {
        Some(folder) => RunFolder::of_saved(folder),
        None => RunFolder::create(output.folder.as_deref(), experiment.name())?,
    };
    let has_probe = jobs.iter().any(|job| job.probe.is_some());
    let in_lab = jobs.iter().filter(|job| matches!(job.subject, Subject::Lab { .. }));
    let layout = match in_lab.map(Job::most_server_workers).max() {
        Some(most) if has_probe => Layout::here(most).with_probe(),
        Some(most) => Layout::here(most),
        None => Layout::unpinned(),
    };
    let stdout = Stdout::reserve().map_err(|e| {
        let message = format!("cannot use standard output: {e}");
        let help = "redirect standard output to a terminal, a file or a pipe";
        Failure::message(Exit::Failed, "unwritable_output", message, help)
    })?;
    // Must precede the runtime's threads: existing threads would not be pinned.
    pin_self(&layout.generator).map_err(cannot_pin)?;
    Ok((folder, layout, stdout))
}

/// Returns the processes that have users, with the open files that a live page and telemetry need.
fn processes(job: &Job, output: &Output) -> Processes {
    let processes = Processes::of(job);
    let page = output.web.web.as_ref().map_or(0, |_| LivePage::CONNECTIONS);
    let metrics = output.telemetry.prometheus.as_ref().map_or(0, |_| Telemetry::CONNECTIONS);
    processes.reserving((page + metrics).into())
}

/// Returns the error that this process could not be pinned to its CPUs.
pub(super) fn cannot_pin(error: io::Error) -> Failure {
    let message = format!("cannot pin loadgen to its CPUs: {error}");
    let help = "check the allowed CPUs: `taskset -p $$`";
    Failure::message(Exit::Failed, "cannot_pin_cpus", message, help)
}

async fn execute<E: Experiment<Record: Reported>>(
    experiment: &E,
    output: &Output,
    folder: &RunFolder,
    layout: &Layout,
    mut stdout: Stdout,
    save: impl FnOnce(&E::Record, &RunFolder) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let jobs = experiment.jobs();
    // Jobs of one experiment differ in scenario, contenders, rounds and warm-up.
    let job = &jobs[0];
    let interrupt = on_signal(leave_terminal)?;
    let (rounds, length) = experiment.forecast();
    let steps = job.scenario.steps.iter().map(|step| step.name.as_str());
    let title = title(experiment.name(), steps);
    let mut progress = Progress::new(E::Record::kind(), title, rounds, length);
    if let Some(what) = experiment.announcement() {
        progress.phase(&what);
    }
    let control = Control::new(interrupt.clone(), processes(job, output), progress.noter());
    // A change of the load would reach only one of the contenders that are compared.
    let can_change = E::CAN_CHANGE && jobs.iter().all(|job| job.method == Method::Rounds);
    let control = if can_change { control } else { control.with_fixed_load() };
    live_page::open(&output.web, &mut progress, &control, can_change)?;
    let mut telemetry = telemetry::begin(&output.telemetry, folder.path(), &progress)?;
    terminal::listen(&control, Screen { is_in_front, is_live });
    let turn = tokio::select! {
        biased;
        () = interrupt.cancelled() => return Ok(nothing_measured(&mut progress)),
        turn = take_turn(job, output.anyway, &progress) => turn,
    };
    // A manager opens the live view later, when its workers are there.
    let is_awaiting = matches!(job.remote, Some(Remote::Awaited(_)));
    if output.live && !is_awaiting {
        progress.show_live(can_change);
    }
    // The preparation would add to the load of the machine.
    // What the host of a manager is does not change what is measured.
    let system = match job.remote {
        None => system(layout),
        Some(_) => SystemRecord::default(),
    };
    let lab = tokio::select! {
        biased;
        () = interrupt.cancelled() => return Ok(nothing_measured(&mut progress)),
        lab = prepare_lab(experiment, folder, layout, &progress) => lab?,
    };
    let (lab, lacks) = lab.unzip();
    for (target, why) in lacks.iter().flat_map(|lacks: &Lacks| &lacks.targets) {
        progress.note(&format!("{target} is left out: {why}"));
    }
    let rest = lacks.map_or(Ok(None), |lacks| experiment.without(&lacks))?;
    if let Some(rest) = &rest
        && let (rounds, Some(each)) = rest.forecast()
    {
        progress.expect(rounds, each);
    }
    let experiment = rest.as_ref().unwrap_or(experiment);
    let jobs = experiment.jobs();
    if let Some(lab) = &lab {
        jobs.iter().try_for_each(|job| replicas::check(job, lab))?;
    }
    let job = &jobs[0];
    let _socket = E::CAN_CHANGE.then(|| open_socket(folder.path(), &control, &progress));
    let site = Site::new(layout, system);
    let site = match &telemetry {
        Some(telemetry) => site.exporting(telemetry.exports()),
        None => site,
    };
    let shown = ProgressObserver::new(&mut progress, &control, job.on_loss)
        .live_with_workers(output.live && is_awaiting);
    let told = telemetry.as_ref().map(|telemetry| {
        let is_running = matches!(job.subject, Subject::Running(_));
        TelemetryObserver::new(telemetry.teller(), &control, is_running)
    });
    let observers = Observers::from(experiment.observers(&site, folder));
    // The observer that shows takes what it is told of.
    let observers = told.into_iter().fold(observers, Observers::with).with(shown);
    let session = Session::new(jobs, lab, observers, layout, folder.path(), interrupt.clone());
    let mut session = session.in_turn(turn);
    if E::CAN_CHANGE {
        session = session.with_control(control);
    }
    let measured = experiment.measure(&mut session, &site).await;
    let interrupted = interrupt.is_cancelled();
    if let Some(telemetry) = &mut telemetry {
        let tell = |what: &str| session.tell(Event::Phase(what));
        telemetry::end(telemetry, tell, interrupted, &interrupt).await;
    }
    if E::is_empty(&measured) {
        session.close().await;
        return E::failure(measured).map_or_else(|| Ok(nothing_measured(&mut progress)), Err);
    }
    let record = experiment.record(&measured, &site, session.lab(), interrupted);
    let saved = save(&record, folder);
    session.close().await;
    progress.finish();
    let page = progress.take_page();
    // The result is shown even if saving failed.
    let saved_in = saved.is_ok().then(|| folder.path());
    let text = record.document().render_within(stdout.columns(), output.format, saved_in);
    let shown = stdout.print(&text).map_err(unprinted);
    // Documents for programs show no person why the command fails.
    if output.format != Format::Table {
        record.failures().iter().for_each(say);
    }
    let failed = E::failure(measured).map(|failure| say_failure(&failure));
    if let Some(page) = page {
        let report = saved.is_ok().then(|| folder.page());
        live_page::end(page, report, interrupted, &interrupt);
    }
    if let Some(telemetry) = &telemetry {
        telemetry::linger(telemetry, interrupted, &interrupt);
    }
    let exit = E::exit(&record, failed);
    saved.and(shown)?;
    Ok(exit)
}

/// Opens the socket for `loadgen ctl`, which closes when the returned value is dropped. If the
/// socket cannot be opened, shows a note and returns `None`.
fn open_socket(folder: &Path, control: &Control, progress: &Progress) -> Option<ControlSocket> {
    let socket = ControlSocket::open(folder, control);
    if let Err(error) = &socket {
        progress.note(&format!("`loadgen ctl` cannot control this run: {error}"));
    }
    socket.ok()
}

/// Waits until no other loadgen measures on this machine, unless `anyway` is true. Returns `None`,
/// and shows a note, if other loadgens cannot be seen.
async fn take_turn(job: &Job, anyway: bool, progress: &Progress) -> Option<Turn> {
    let of = match &job.remote {
        Some(Remote::Awaited(remote)) => Measurement::of_manager(&remote.address),
        Some(Remote::Started(workers)) => Measurement::of_manager(&workers.run),
        None => Measurement::new(),
    };
    let turn = match anyway {
        true => Turn::anyway(of, |what| progress.note(what)),
        false => Turn::wait(of, |what| progress.phase(what)).await,
    };
    if let Err(error) = &turn {
        progress.note(&format!("cannot see other loadgens on this machine: {error}"));
    }
    turn.ok()
}

/// Prepares the lab with the targets of all jobs, and builds the targets. Returns the lab with what it lacks, if
/// the experiment can do without; `None` for servers that run already.
async fn prepare_lab<E: Experiment>(
    experiment: &E,
    folder: &RunFolder,
    layout: &Layout,
    progress: &Progress,
) -> Result<Option<(Lab, Lacks)>, Failure> {
    let jobs = experiment.jobs();
    let Subject::Lab { home, .. } = &jobs[0].subject else { return Ok(None) };
    let runtime = jobs[0].runtime;
    let options = Options {
        logs: folder.path().to_owned(),
        cpus: layout.clone(),
        runtime,
        connections: experiment.connections(),
    };
    let mut lab = Lab::prepare(home.clone(), options, progress.teller()).await?;
    // Only jobs of experiments are several, and their targets have no refs.
    check_out(&jobs[0].subject, &mut lab, progress).await?;
    let mut names: Vec<String> = jobs.iter().flat_map(|job| job.subject.names(false)).collect();
    names.sort();
    names.dedup();
    let has_balancer = jobs.iter().any(Job::has_replicas);
    if E::IS_DIVISIBLE {
        let lacks = lab.prepare_what_runs(&names, has_balancer).await?;
        return Ok(Some((lab, lacks)));
    }
    lab.build(&names).await?;
    if has_balancer {
        lab.prepare_balancer().await?;
    }
    Ok(Some((lab, Lacks::default())))
}

/// Writes the files of the targets at refs to folders of their own.
async fn check_out(subject: &Subject, lab: &mut Lab, progress: &Progress) -> Result<(), Failure> {
    let targets = subject.at_refs();
    let records: Vec<GitRecord> =
        targets.iter().filter_map(|target| target.git.as_ref().map(git_record)).collect();
    let notes = lab.check_out(&targets).await?;
    let same = same_commits(&records.iter().collect::<Vec<_>>());
    notes.iter().chain(&same).for_each(|note| progress.note(note));
    Ok(())
}

fn nothing_measured(progress: &mut Progress) -> Exit {
    progress.finish();
    say("interrupted before anything was measured");
    Exit::Interrupted
}
