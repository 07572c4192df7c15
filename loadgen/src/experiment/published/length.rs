//! Estimates how long an experiment takes.

use std::time::Duration;

use super::quick::fewest;
use super::{ALONE_QUICK_S, ALONE_S, Published};
use crate::experiment::job::Job;
use crate::experiment::session::OVERHEAD;
use crate::scenario::Until;

/// Approximate length of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Length {
    /// Time that is known before the experiment begins.
    pub known: Duration,
    /// Number of iterations whose time is not known, because they end their rounds.
    pub iterations: u64,
}

impl Published {
    /// Returns the approximate length of the experiment, with its searches.
    pub fn length(&self) -> Length {
        let mut all = self.length_of_rounds();
        for (_, quest) in self.quests() {
            all.known += quest.trial_length() * quest.trials();
        }
        let groups = self.groups.iter().zip(&self.file.groups);
        let alone = groups.filter(|(jobs, file)| !jobs.is_empty() && file.backend_alone.is_some());
        let seconds = if self.quick { ALONE_QUICK_S } else { ALONE_S };
        all.known +=
            Duration::from_secs(seconds.into()) * u32::try_from(alone.count()).unwrap_or(0);
        all
    }

    /// Returns about how long the rounds of a group take at most; `None` if iterations end them.
    pub fn longest_of_group(&self, group: usize) -> Option<Duration> {
        let mut all = Length::default();
        let jobs = &self.jobs[self.groups[group].clone()];
        jobs.iter().for_each(|job| of_rounds(job, &mut all));
        let is_open = jobs.iter().any(|job| job.plan(0, String::new(), 1).length().is_none());
        let is_extended = jobs.iter().any(|job| job.method.is_one_start());
        let extended = if is_extended { self.quick_time_of(group) } else { Duration::ZERO };
        (!is_open).then(|| all.known.max(extended))
    }

    /// Returns the jobs that are rounds under a load.
    pub(super) fn jobs_of_rounds(&self) -> impl Iterator<Item = &Job> {
        let jobs = self.jobs.iter().enumerate();
        jobs.filter(|(index, _)| !self.searches.contains_key(index)).map(|(_, job)| job)
    }

    /// Returns the approximate length of all rounds under a load, with their starts.
    pub(super) fn length_of_rounds(&self) -> Length {
        let mut all = Length::default();
        self.jobs_of_rounds().for_each(|job| of_rounds(job, &mut all));
        all
    }
}

/// Adds the rounds of a job.
fn of_rounds(job: &Job, all: &mut Length) {
    if job.method.is_one_start() {
        all.known += fewest(job);
        return;
    }
    let rounds = job.passes() * job.rounds;
    match job.plan(0, String::new(), 1).length() {
        Some(length) => all.known += (length + OVERHEAD) * rounds,
        None => {
            let load = &job.scenario.load;
            let each = match load.until {
                Until::Iterations(n) => n,
                Until::IterationsPerUser(n) => n * u64::from(load.users),
                Until::Duration(_) | Until::Stages(_) => 0,
            };
            all.known += (job.warmup + OVERHEAD) * rounds;
            all.iterations += each * u64::from(rounds);
        }
    }
}
