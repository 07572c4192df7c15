//! Keeps each round for a manager that resumes the run.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::SystemTime;

use super::Resumable;
use super::files::{Files, encode};
use super::kept::{KeptRound, State, build, name_of};
use crate::cluster::OnLoss;
use crate::engine::LostWorker;
use crate::experiment::command_line::command_line;
use crate::experiment::folder::RESUMABLE;
use crate::experiment::job::Job;
use crate::experiment::measured::{EarlierLoss, Measured, MeasuredRound};
use crate::experiment::observe::{Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::record::StoppedEarly;

/// Observer that keeps each round over a contender, between rounds. A run whose rounds cannot be kept, such as on a full
/// disk, goes on, and the user is told.
pub struct Checkpoint<'a> {
    resumable: &'a Resumable,
    job: &'a Job,
    site: &'a Site<'a>,
    folder: &'a Path,
    /// State of the run; `None` before its first round, and if nothing can be kept.
    state: Option<State>,
    has_begun: bool,
    /// Contender and number of the round in progress.
    round: (usize, u32),
    /// Host of each worker that runs elsewhere.
    hosts: BTreeMap<u32, String>,
    /// Reason why something is not kept, until the user is told.
    error: Option<String>,
    is_told: bool,
}

impl<'a> Checkpoint<'a> {
    /// Creates an observer that keeps rounds in the folder of a run.
    pub fn new(
        resumable: &'a Resumable,
        job: &'a Job,
        site: &'a Site<'a>,
        folder: &'a Path,
    ) -> Self {
        Self {
            resumable,
            job,
            site,
            folder,
            state: None,
            has_begun: false,
            round: (0, 1),
            hosts: BTreeMap::new(),
            error: None,
            is_told: false,
        }
    }

    /// Writes the state of the run before the first round. Workers have then joined, and the authority exists.
    fn begin(&self) -> io::Result<State> {
        let state = match self.resumable.kept() {
            Some(kept) => {
                kept.remove_rest()?;
                self.resumable.write_to(kept.files.clone())?;
                kept.state().clone()
            }
            None => {
                self.resumable.write_to(Files::create(self.folder)?.into())?;
                self.new_state()?
            }
        };
        self.write_state(&state)?;
        Ok(state)
    }

    fn new_state(&self) -> io::Result<State> {
        Ok(State {
            build: build(),
            words: self.resumable.words().to_vec(),
            directory: std::env::current_dir()?,
            seed: self.job.seed,
            contenders: self.job.contenders.len(),
            conditions: self.resumable.conditions(self.job),
            started: humantime::format_rfc3339_seconds(self.site.started).to_string(),
            command: command_line(),
            began: SystemTime::now(),
            resumed: Vec::new(),
            lost: Vec::new(),
        })
    }

    fn write_state(&self, state: &State) -> io::Result<()> {
        self.resumable.write(RESUMABLE.to_owned(), encode(state)?);
        Ok(())
    }

    /// Keeps the last round, if it counts.
    fn keep(&self, measured: &Measured) -> io::Result<()> {
        let Some(round) = measured.rounds.last().filter(|round| self.counts(round)) else {
            return Ok(());
        };
        let kept = KeptRound {
            ended: SystemTime::now(),
            stages: measured.stages.clone(),
            took: measured.took,
            workers: measured.workers,
            round,
        };
        self.resumable.write(name_of(round), encode(&kept)?);
        Ok(())
    }

    /// Keeps the loss of a worker, which may be in a round that is measured again.
    fn keep_loss(&mut self, lost: &LostWorker) -> io::Result<()> {
        let Some(mut state) = self.state.take() else { return Ok(()) };
        let (contender, round) = self.round;
        state.lost.push(EarlierLoss {
            resumptions: state.resumed.len(),
            round,
            contender,
            host: self.hosts.get(&lost.worker).cloned(),
            lost: lost.clone(),
        });
        let written = self.write_state(&state);
        self.state = Some(state);
        written
    }

    /// Returns whether a round is part of the run although another manager measures the next one: it was not cut off, and
    /// does not end the run.
    fn counts(&self, round: &MeasuredRound) -> bool {
        let is_lost = self.job.on_loss == OnLoss::Fail && !round.results.is_whole();
        self.state.is_some() && !round.cut && round.ended.is_none() && !is_lost
    }
}

impl Observe for Checkpoint<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        let kept = match event {
            Event::Joined(workers) => {
                let hosts =
                    workers.iter().filter_map(|(worker, host)| Some((*worker, host.clone()?)));
                self.hosts = hosts.collect();
                Ok(())
            }
            Event::RoundBegan(begun) => {
                self.round = (begun.contender, begun.number);
                match self.has_begun {
                    true => Ok(()),
                    false => {
                        self.has_begun = true;
                        self.begin().map(|state| self.state = Some(state))
                    }
                }
            }
            Event::Lost(lost) => self.keep_loss(lost),
            Event::RoundOver(SoFar::Run(_, measured), _) => self.keep(measured),
            _ => Ok(()),
        };
        self.error = self.error.take().or(kept.err().map(|error| error.to_string()));
        ControlFlow::Continue(())
    }

    fn note(&mut self) -> Option<String> {
        if self.is_told {
            return None;
        }
        let error = self.error.take().or_else(|| self.resumable.failure())?;
        self.is_told = true;
        Some(format!(
            "warning: rounds are no longer kept for `--resume`, perhaps from the last one on: {}: {error}; the run goes on, but \
             its result goes to the same folder",
            self.folder.display()
        ))
    }
}

impl Drop for Checkpoint<'_> {
    /// Waits until all is written, and removes the files of a new run without a round.
    fn drop(&mut self) {
        self.resumable.end();
    }
}
