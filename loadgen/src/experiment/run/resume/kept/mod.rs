//! Holds the state and the rounds of a run for a manager that resumes it.

#[cfg(test)]
mod tests;

use std::cell::{Ref, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::conditions::Conditions;
use super::files::{self, Files, ROUND};
use super::refusals::{damaged, in_use, is_finished, nothing_to_resume, unlike};
use crate::experiment::cache;
use crate::experiment::folder::RESUMABLE;
use crate::experiment::measured::{Earlier, EarlierLoss, Measured, MeasuredRound};
use crate::failure::Failure;
use crate::record::ResumedRecord;

/// File with [`Head`] and [`State`].
const STATE: &str = RESUMABLE;

/// Longest time that the rounds of a run can have taken.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

/// Build of loadgen that wrote the folder. Another build may read something else into the other files.
#[derive(Serialize, Deserialize)]
struct Head {
    build: String,
}

/// State of a run, known from its start on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Build of loadgen that measures the run.
    pub build: String,
    /// Command line of the run, with secrets.
    pub words: Vec<String>,
    /// Folder in which the command was given, to which its paths are relative.
    pub directory: PathBuf,
    /// Seed of the generated data and of the order of contenders.
    pub seed: u64,
    /// Number of contenders.
    pub contenders: usize,
    /// Conditions of the last manager.
    pub conditions: Conditions,
    /// Start of the run, as in its record.
    pub started: String,
    /// Command line of the run, as in its record.
    pub command: Vec<String>,
    /// Moment from which on nothing is known to have been measured, without a round.
    pub began: SystemTime,
    /// Resumptions so far.
    pub resumed: Vec<ResumedRecord>,
    /// Losses of workers so far, also in rounds that are measured again.
    pub lost: Vec<EarlierLoss>,
}

/// A measured round, and the state of the run at its end.
#[derive(Debug, Serialize, Deserialize)]
pub struct KeptRound<R> {
    /// End of the round.
    pub ended: SystemTime,
    /// See [`Measured::stages`].
    pub stages: Vec<u32>,
    /// See [`Measured::took`].
    pub took: Duration,
    /// See [`Measured::workers`].
    pub workers: u32,
    /// The round.
    pub round: R,
}

/// A run that another manager has begun, and that this one resumes.
#[derive(Debug)]
pub struct Kept {
    /// Folder of the run.
    pub folder: PathBuf,
    /// The files, which this process has locked.
    pub files: Arc<Files>,
    /// Number of the round with which the run goes on.
    pub next: u32,
    /// Moment from which on no other manager lives.
    pub alone_since: Instant,
    /// End of the last round.
    ended: SystemTime,
    /// State of the run, with this resumption once it has taken place.
    state: RefCell<State>,
    /// Results of the rounds that are kept, until [`Kept::take`] takes them: there may be many.
    measured: RefCell<Measured>,
}

/// Identifies this build, because another one may write other fields.
pub fn build() -> String {
    cache::build().unwrap_or_else(|| env!("CARGO_PKG_VERSION").to_owned())
}

/// Returns the name of the file with this round. Numbers have six digits, so that names are in the order of numbers.
pub fn name_of(round: &MeasuredRound) -> String {
    format!("{ROUND}{:06}-{}", round.number, round.contender)
}

impl Kept {
    /// Locks and reads the files of the run in this folder.
    ///
    /// # Errors
    /// If there is no such run, its manager lives, another build began it, or a file is damaged.
    pub fn open(folder: &Path) -> Result<Self, Failure> {
        if !files::exist(folder) {
            return Err(nothing_to_resume(folder));
        }
        let unreadable = |error: std::io::Error| damaged(folder, &error.to_string());
        let files = Files::open(folder).map_err(unreadable)?.ok_or_else(|| in_use(folder))?;
        let alone_since = Instant::now();
        // Only now, because a manager that has just saved its result may have ended meanwhile.
        if is_finished(folder) {
            return Err(nothing_to_resume(folder));
        }
        let names = files.names().map_err(unreadable)?;
        if names.is_empty() {
            return Err(nothing_to_resume(folder));
        }
        let bad = |name: &str| {
            let path = files.path(name);
            move |why: String| damaged(&path, &why)
        };
        let Head { build: of } = files.read(STATE).map_err(bad(STATE))?;
        if of != build() {
            return Err(unlike(
                folder,
                &[format!("it was begun by {of}, and this is {}", build())],
            ));
        }
        let state: State = files.read(STATE).map_err(bad(STATE))?;
        let mut rounds = Vec::new();
        for name in names.iter().filter(|name| name.starts_with(ROUND)) {
            rounds.push(files.read::<KeptRound<MeasuredRound>>(name).map_err(bad(name))?);
        }
        let is_one = |kept: &KeptRound<MeasuredRound>| {
            let MeasuredRound { number, contender, partner, .. } = &kept.round;
            let is_known = *number > 0 && *contender < state.contenders && partner.is_none();
            is_known && kept.took < LONGEST && !kept.stages.contains(&0)
        };
        if !rounds.iter().all(is_one) || state.contenders == 0 {
            return Err(bad(STATE)("its rounds are not those of such a run".to_owned()));
        }
        let next = first_incomplete(rounds.iter().map(|kept| &kept.round), state.contenders);
        rounds.retain(|kept| kept.round.number < next);
        // The clock may have been set back between two of them.
        rounds.sort_by_key(|kept| (kept.round.number, kept.ended));
        let ended = rounds.last().map_or(state.began, |kept| kept.ended);
        let (stages, took, workers) = match rounds.last() {
            Some(KeptRound { stages, took, workers, .. }) => (stages.clone(), *took, *workers),
            None => Default::default(),
        };
        let rounds = rounds.into_iter().map(|kept| kept.round).collect();
        let measured = Measured { rounds, stages, took, workers, ..Measured::default() };
        Ok(Self {
            folder: folder.to_owned(),
            files: Arc::new(files),
            next,
            alone_since,
            ended,
            state: RefCell::new(state),
            measured: RefCell::new(measured),
        })
    }

    /// Makes the folder of the first command the current one, so that its paths mean the same.
    ///
    /// # Errors
    /// If that folder is gone.
    pub fn enter(&mut self) -> Result<(), Failure> {
        let directory = &self.state.get_mut().directory;
        if std::env::current_dir().is_ok_and(|here| here == *directory) {
            return Ok(());
        }
        let gone = |error: std::io::Error| {
            let why = "the folder in which it was begun cannot be entered";
            unlike(&self.folder, &[format!("{why}: {}: {error}", directory.display())])
        };
        let folder = std::path::absolute(&self.folder).map_err(gone)?;
        std::env::set_current_dir(directory).map_err(gone)?;
        self.folder = folder;
        Ok(())
    }

    /// Returns the error that the command line of the run cannot be used.
    pub fn damaged(&self, why: &str) -> Failure {
        damaged(&self.files.path(STATE), why)
    }

    /// Returns the state of the run, with this resumption once it has taken place.
    pub fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Sets the conditions under which the run goes on.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.state.get_mut().conditions = conditions;
    }

    /// Resumes the run now. Returns all resumptions, and what else earlier managers know. `changed` are the told conditions
    /// that have changed.
    pub fn resume(&self, changed: &[String]) -> Earlier {
        let now = SystemTime::now();
        self.state.borrow_mut().resumed.push(ResumedRecord {
            at: humantime::format_rfc3339_seconds(now).to_string(),
            from_round: self.next,
            gap_s: now.duration_since(self.ended).unwrap_or_default().as_secs_f64(),
            changed: changed.to_vec(),
        });
        self.earlier()
    }

    fn earlier(&self) -> Earlier {
        let State { started, command, resumed, lost, .. } = self.state().clone();
        Earlier { started, command, resumed, lost }
    }

    /// Returns the rounds that are kept, until [`Kept::take`] takes them.
    pub fn rounds(&self) -> Ref<'_, [MeasuredRound]> {
        Ref::map(self.measured.borrow(), |measured| &measured.rounds[..])
    }

    /// Takes the results of the run so far.
    pub fn take(&self) -> Measured {
        Measured { earlier: Some(self.earlier()), ..self.measured.take() }
    }

    /// Removes the files of rounds that are measured again.
    pub fn remove_rest(&self) -> std::io::Result<()> {
        let next = format!("{ROUND}{:06}", self.next);
        let stays = |name: &String| name == STATE || (name.starts_with(ROUND) && *name < next);
        self.files
            .names()?
            .iter()
            .filter(|name| !stays(name))
            .try_for_each(|name| self.files.remove(name))
    }
}

/// Returns the number of the first round that lacks a contender. Contenders are compared within a round, so that both
/// sides of a gap must not be in one.
fn first_incomplete<'a>(
    rounds: impl Iterator<Item = &'a MeasuredRound> + Clone,
    contenders: usize,
) -> u32 {
    let has_all = |number: &u32| {
        let of = rounds.clone().filter(|round| round.number == *number);
        of.count() >= contenders
    };
    (1..).take_while(has_all).count() as u32 + 1
}
