//! Lets another manager take up a run after its manager has ended.
//!
//! A manager keeps each round in the folder of the run, in the encoding in which snapshots travel: the record of a round
//! does not have the histograms that the record of the run needs of all rounds together. Another manager reads the
//! rounds, and goes on as if it had measured them, so that the record of a resumed run is made by the same code.
//!
//! - `files`: the folder, its lock, and files that only their owner reads. `writer`: the thread that writes them. `kept`:
//!   their contents.
//! - `conditions`: conditions that are compared. `refusals`: reasons not to resume.
//! - `checkpoint`: the observer that keeps rounds.

mod checkpoint;
mod conditions;
mod files;
mod kept;
mod refusals;
mod writer;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use self::checkpoint::Checkpoint;
use self::conditions::{Conditions, conditions, differences};
use self::files::Files;
pub use self::files::exist;
pub use self::kept::Kept;
use self::refusals::unlike;
use self::writer::Writer;
use crate::cluster::{Keys, RemoteWorkers};
use crate::engine::Host;
use crate::experiment::job::{Job, Method, Remote};
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::Event;
use crate::experiment::session::{Session, Stopped};
use crate::failure::Failure;
use crate::text::{counted, say};

/// A run that another manager can resume, or that this one resumes.
#[derive(Debug)]
pub struct Resumable {
    words: Vec<String>,
    keys: Keys,
    /// Longest time after the end of a manager for which workers may still hold load.
    silent_within: Duration,
    kept: Option<Kept>,
    /// Told conditions that have changed since the manager before this one, in sentences.
    changed: Vec<String>,
    /// Writes the files of the run from the first round of this manager to the end; `None` before, and if nothing can be
    /// kept.
    writer: RefCell<Option<Writer>>,
}

impl Resumable {
    /// Describes a new run, which this command line means; `None` unless it waits for workers, and each of its rounds stands
    /// alone.
    pub fn new(words: Vec<String>, job: &Job) -> Option<Self> {
        let remote = awaited(job).filter(|_| job.method == Method::Rounds)?;
        let (keys, silent_within) = (remote.keys.clone(), remote.silent_within());
        let (changed, writer) = (Vec::new(), RefCell::default());
        Some(Self { words, keys, silent_within, kept: None, changed, writer })
    }

    /// Resumes a run. `job` is that of its command line, and gets its seed.
    ///
    /// # Errors
    /// If the rest of the run would be another one than its beginning.
    pub fn of(mut kept: Kept, job: &mut Job) -> Result<Self, Failure> {
        let state = kept.state().clone();
        job.seed = state.seed;
        let new = Self::new(state.words, job);
        let Some(new) = new.filter(|_| state.contenders == job.contenders.len()) else {
            return Err(kept.damaged("its command line is that of another run"));
        };
        let (before, now) = (state.conditions, new.conditions(job));
        match differences(&before.fixed, &now.fixed).as_slice() {
            [] => {
                let changed = differences(&before.told, &now.told);
                kept.set_conditions(now);
                Ok(Self { kept: Some(kept), changed, ..new })
            }
            differences => Err(unlike(&kept.folder, differences)),
        }
    }

    /// Removes all that is kept, because the run is finished. Only of files that this process has locked.
    pub fn finish(&self) {
        let own = self.writer.take().map(Writer::end);
        let files = own.as_ref().or(self.kept.as_ref().map(|kept| &kept.files));
        if let Some(Err(error)) = files.map(|files| files.discard()) {
            let folder = files.map(|files| files.path("")).unwrap_or_default();
            say(format!(
                "{} may still have the command line of the run, with its headers; remove it: {error}",
                folder.display()
            ));
        }
    }

    /// Waits until all is written, and removes the files of a new run without a round.
    fn end(&self) {
        let Some(files) = self.writer.take().map(Writer::end) else { return };
        if self.kept.is_none() && !files.has_round() {
            // A run that is not told about has no secrets.
            let _ = files.discard();
        }
    }

    /// Returns the command line of the run.
    fn words(&self) -> &[String] {
        &self.words
    }

    /// Returns the run that is resumed; `None` for a new one.
    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    fn conditions(&self, job: &Job) -> Conditions {
        conditions(job, &self.keys)
    }

    /// Begins to write these files.
    fn write_to(&self, files: Arc<Files>) -> io::Result<()> {
        self.writer.replace(Some(Writer::new(files)?));
        Ok(())
    }

    /// Replaces a file, without waiting for the disk.
    fn write(&self, name: String, bytes: Vec<u8>) {
        if let Some(writer) = &*self.writer.borrow() {
            writer.write(name, bytes);
        }
    }

    /// Returns the reason why a file could not be written, if any.
    fn failure(&self) -> Option<String> {
        self.writer.borrow().as_ref()?.failure().map(str::to_owned)
    }

    /// Waits for the workers of a resumed run, and until no worker can hold load for an earlier manager, before the round of
    /// this number. Does nothing for a new run, and for later rounds. `measured` has the results of the earlier managers.
    ///
    /// # Errors
    /// If the workers are not those of the earlier rounds, or none come.
    pub async fn take_up(
        &self,
        round: u32,
        session: &mut Session<'_>,
        job: &Job,
        measured: &mut Measured,
    ) -> Result<(), Stopped> {
        let Some(kept) = self.kept.as_ref().filter(|kept| kept.next == round) else {
            return Ok(());
        };
        let rounds = match kept.next - 1 {
            0 => "no round is kept".to_owned(),
            rounds => format!("{} kept", counted(rounds.into(), "round")),
        };
        let told = format!("resuming the run with round {}: {rounds}", kept.next);
        session.tell(Event::Note(&told));
        for changed in &self.changed {
            session.tell(Event::Note(&format!("warning: {changed}")));
        }
        session.start(std::slice::from_ref(job)).await?;
        let (workers, hosts) = session.workers();
        check_workers(kept, measured, workers, &hosts)?;
        session.tell(Event::Phase("waiting until no worker holds load for the earlier manager"));
        session.wait_until(kept.alone_since + self.silent_within).await?;
        session.begin_with(kept.next);
        measured.earlier = Some(kept.resume(&self.changed));
        Ok(())
    }
}

fn awaited(job: &Job) -> Option<&RemoteWorkers> {
    match &job.remote {
        Some(Remote::Awaited(remote)) => Some(remote),
        Some(Remote::Started(_)) | None => None,
    }
}

/// Refuses workers among which the load would be dealt otherwise, or whose hosts differ in their CPUs.
fn check_workers(
    kept: &Kept,
    measured: &Measured,
    workers: u32,
    hosts: &BTreeMap<u32, Host>,
) -> Result<(), Failure> {
    let mut why = Vec::new();
    let before = measured.workers;
    if !measured.rounds.is_empty() && before != workers {
        why.push(format!("its load was shared by {before} workers, and {workers} have joined"));
    }
    for (worker, host) in known_hosts(&measured.rounds) {
        if let Some(now) = hosts.get(&worker).filter(|now| now.cpus != host.cpus) {
            why.push(format!(
                "worker {worker} had {} CPUs on {}, and has {} on {}",
                host.cpus, host.name, now.cpus, now.name
            ));
        }
    }
    if why.is_empty() { Ok(()) } else { Err(unlike(&kept.folder, &why)) }
}

/// Returns the host of each worker of these rounds.
fn known_hosts(rounds: &[MeasuredRound]) -> BTreeMap<u32, &Host> {
    let workers = rounds.iter().flat_map(|round| &round.results.workers);
    workers.filter_map(|of| Some((of.worker, of.host.as_ref()?))).collect()
}
