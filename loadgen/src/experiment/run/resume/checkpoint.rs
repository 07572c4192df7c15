//! Keeps each round for a manager that resumes the run.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use super::Resumable;
use super::files::Files;
use super::kept::{KeptRound, State, build, write_round, write_state};
use crate::cluster::OnLoss;
use crate::experiment::command_line::command_line;
use crate::experiment::job::Job;
use crate::experiment::measured::{Measured, MeasuredRound};
use crate::experiment::observe::{Event, Observe, SoFar};
use crate::experiment::site::Site;
use crate::record::StoppedEarly;

/// Observer that keeps each round over a contender, between rounds. A run whose rounds cannot be kept, such as on a full
/// disk, goes on, and cannot be resumed.
pub struct Checkpoint<'a> {
    resumable: &'a Resumable,
    job: &'a Job,
    site: &'a Site<'a>,
    folder: &'a Path,
    began: Instant,
    /// Time that earlier managers took for the rounds.
    took: Duration,
    has_begun: bool,
    /// Whether the files could not be prepared, and may have rounds that do not count.
    has_failed: bool,
    /// Whether this manager has kept a round.
    has_rounds: bool,
}

impl<'a> Checkpoint<'a> {
    /// Creates an observer that keeps rounds in the folder of a run.
    pub fn new(
        resumable: &'a Resumable,
        job: &'a Job,
        site: &'a Site<'a>,
        folder: &'a Path,
    ) -> Self {
        let took = resumable.kept().map(|kept| kept.took).unwrap_or_default();
        Self {
            resumable,
            job,
            site,
            folder,
            began: Instant::now(),
            took,
            has_begun: false,
            has_failed: false,
            has_rounds: false,
        }
    }

    /// Writes the state of the run before the first round. Workers have then joined, and the authority exists.
    fn begin(&mut self) -> io::Result<()> {
        if let Some(kept) = self.resumable.kept() {
            // The wait for the lease of an earlier manager is not the time of a round.
            self.began = Instant::now();
            return kept.begin();
        }
        let files = Files::create(self.folder)?;
        let state = State {
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
        };
        let written = write_state(&files, &state);
        self.resumable.own.replace(Some(files));
        written
    }

    fn keep(&mut self, measured: &Measured) -> io::Result<()> {
        let own = self.resumable.own.borrow();
        let files = own.as_ref().or(self.resumable.kept().map(|kept| &kept.files));
        let Some((round, files)) = measured.rounds.last().zip(files) else { return Ok(()) };
        if !self.counts(round) {
            return Ok(());
        }
        let kept = KeptRound {
            ended: SystemTime::now(),
            stages: measured.stages.clone(),
            took: self.took + self.began.elapsed(),
            workers: measured.workers,
            round,
        };
        write_round(files, &kept)?;
        drop(own);
        self.has_rounds = true;
        Ok(())
    }

    /// Returns whether a round is part of the run although another manager measures the next one: it was not cut off, and
    /// does not end the run.
    fn counts(&self, round: &MeasuredRound) -> bool {
        let is_lost = self.job.on_loss == OnLoss::Fail && !round.results.is_whole();
        !round.cut && round.ended.is_none() && !is_lost
    }
}

impl Observe for Checkpoint<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        match event {
            Event::RoundBegan(_) if !self.has_begun => {
                self.has_begun = true;
                self.has_failed = self.begin().is_err();
            }
            Event::RoundOver(SoFar::Run(_, measured), _) if !self.has_failed => {
                // Another manager measures this round and the later ones again.
                let _ = self.keep(measured);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Checkpoint<'_> {
    /// Removes the files of a new run without a round.
    fn drop(&mut self) {
        if self.resumable.kept().is_none() && !self.has_rounds {
            self.resumable.finish();
        }
    }
}
