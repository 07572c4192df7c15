//! Implements the experiment of a file: groups of arms, one group after the other.

mod apart;
mod assemble;
mod autosave;
mod left_out;
mod length;
mod quick;
mod target_cpus;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Duration;

pub use self::apart::GroupApart;
use self::assemble::Recorded;
use self::autosave::Autosave;
pub use self::left_out::{LeftOut, Place};
pub use self::length::Length;
use self::quick::Budget;
pub use self::target_cpus::TargetCpus;
use super::folder::RunFolder;
use super::job::Job;
use super::kind::Experiment;
use super::measured::Measured;
use super::observe::Observe;
use super::run::Run;
use super::search::searched::Searched;
use super::search::{CapacitySearch, Terms, search};
use super::session::{Session, Stopped};
use super::site::Site;
use super::to_record::{self, Context};
use crate::failure::{Exit, Failure};
use crate::lab::{Lab, Lacks};
use crate::record::{ExperimentRecord, GroupRecord};
use crate::scenario::experiment::{Claim, ExperimentFile};
use crate::text::counted;

/// Times for which a backend is measured alone, in the full and in the quick form, in seconds.
const ALONE_S: u32 = 10;
const ALONE_QUICK_S: u32 = 3;

/// An experiment of a file, with its options.
pub struct Published {
    /// The file.
    pub file: ExperimentFile,
    /// Whether the quick form is measured.
    pub quick: bool,
    /// Jobs of all groups: one for each scenario, load and warm-up of a group.
    pub jobs: Vec<Job>,
    /// Indices of the jobs of each group of the file.
    pub groups: Vec<Range<usize>>,
    /// Terms of each search, by the index of its job. Other jobs are rounds under a load.
    pub searches: BTreeMap<usize, Terms>,
    /// Arms that this machine cannot run, or cannot compare, each with the reason. The jobs lack these arms.
    pub left_out: LeftOut,
    /// CPUs of the targets, of which arms and claims may need several.
    pub target_cpus: TargetCpus,
}

/// Results of all groups.
pub struct Groups {
    /// Results of each job; empty for a search.
    runs: Vec<Measured>,
    /// Results of each search that began, by the index of its job.
    searched: BTreeMap<usize, Searched>,
}

impl Experiment for Published {
    type Measured = Groups;
    type Record = ExperimentRecord;

    const CAN_CHANGE: bool = false;
    const IS_DIVISIBLE: bool = true;

    fn name(&self) -> &str {
        &self.file.name
    }

    fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Adds up the arms of a group that share a start.
    fn connections(&self) -> u32 {
        let of_group = |jobs: &Range<usize>| {
            let jobs = &self.jobs[jobs.clone()];
            let each = jobs.iter().map(Job::connections);
            let is_one_start = jobs.iter().any(|job| job.method.is_one_start());
            if is_one_start { each.sum() } else { each.max().unwrap_or(0) }
        };
        self.groups.iter().map(of_group).max().unwrap_or(0)
    }

    /// Leaves out the trials of searches, which come last: a search tells their number when it begins.
    /// Their time differs from that of rounds.
    fn forecast(&self) -> (u32, Option<Duration>) {
        let rounds =
            |job: &Job| job.rounds * u32::try_from(job.contenders.len()).unwrap_or(u32::MAX);
        let all = self.jobs_of_rounds().map(rounds).sum();
        let Length { known, iterations } = self.length_of_rounds();
        (all, (iterations == 0).then(|| known / all.max(1)))
    }

    /// Says how many claims cannot be judged, and why; `None` if all can.
    fn announcement(&self) -> Option<String> {
        let why: Vec<String> =
            self.file.claims.iter().filter_map(|claim| self.why_not(claim)).collect();
        let number = why.len();
        let why: Vec<String> = why.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        (number > 0).then(|| {
            let all = counted(self.file.claims.len() as u64, "claim");
            format!("{number} of {all} cannot be judged: {}", why.join("; "))
        })
    }

    fn without(&self, lacks: &Lacks) -> Result<Option<Self>, Failure> {
        (*lacks != Lacks::default()).then(|| self.without_what(lacks)).transpose()
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        vec![Box::new(Autosave::new(self, site, folder))]
    }

    async fn measure(&self, session: &mut Session<'_>, site: &Site<'_>) -> Groups {
        let runs = self.jobs.iter().map(|_| Measured::default()).collect();
        let mut measured = Groups { runs, searched: BTreeMap::new() };
        self.rounds(session, site, &mut measured.runs).await;
        let mut quests: Vec<(usize, CapacitySearch<'_>)> = self.quests().collect();
        let failed = measured.runs.iter().any(|job| job.failure.is_some());
        while !failed && !session.is_interrupted() && !quests.is_empty() {
            let (job, quest) = quests.remove(0);
            let later = quests.iter().map(|(_, quest)| quest.trials()).sum();
            let searched = search(quest, job, later, session, site).await;
            let has_failed = searched.failure.is_some();
            measured.searched.insert(job, searched);
            if has_failed {
                break;
            }
        }
        measured
    }

    fn is_empty(measured: &Groups) -> bool {
        measured.runs.iter().all(|job| job.rounds.is_empty())
            && measured.searched.values().all(Searched::is_empty)
    }

    fn failure(measured: Groups) -> Option<Failure> {
        let of_runs = measured.runs.into_iter().filter_map(|job| job.failure);
        let of_searches = measured.searched.into_values().filter_map(|it| it.failure);
        of_runs.chain(of_searches).next()
    }

    fn record(
        &self,
        measured: &Groups,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> ExperimentRecord {
        let mut recorded = Recorded::default();
        for (index, (job, measured)) in self.jobs.iter().zip(&measured.runs).enumerate() {
            if !measured.rounds.is_empty() {
                let context = Context::of(job, site, &measured.backends, lab, interrupted);
                recorded.runs.insert(index, to_record::build(job, measured, None, context));
            }
        }
        for (index, quest) in self.quests() {
            if let Some(searched) = measured.searched.get(&index).filter(|it| !it.is_empty()) {
                let record = quest.record(searched, site, lab, interrupted);
                recorded.capacities.insert(index, record);
            }
        }
        self.assemble(&recorded, site, interrupted)
    }

    fn exit(record: &ExperimentRecord, failed: Option<Exit>) -> Exit {
        if record.interrupted {
            return Exit::Interrupted;
        }
        let of_group = |group: &GroupRecord| -> Vec<Exit> {
            let of_runs = group.runs.iter().map(|run| Run::exit(run, failed));
            let of_search =
                group.capacity.iter().map(|record| CapacitySearch::exit(record, failed));
            of_runs.chain(of_search).collect()
        };
        let exits: Vec<Exit> = record.groups.iter().flat_map(of_group).collect();
        let most_urgent = [Exit::Failed, Exit::Target, Exit::Degraded, Exit::Threshold];
        let found = most_urgent.into_iter().find(|exit| exits.contains(exit));
        found.or(failed).unwrap_or(Exit::Done)
    }
}

impl Published {
    /// Returns why this measurement cannot judge a claim; `None` if it can.
    pub fn why_not(&self, claim: &Claim) -> Option<String> {
        let of_form = || {
            let why = claim.full_only.as_ref().filter(|_| self.quick)?;
            Some(format!("not comparable in the quick form: {why}"))
        };
        self.target_cpus.why_not(claim, &self.file.groups[claim.group]).or_else(of_form)
    }

    /// Measures the rounds of all groups, or as many as an interrupt or an error allows.
    async fn rounds(&self, session: &mut Session<'_>, site: &Site<'_>, measured: &mut [Measured]) {
        let budget = Budget::new(self.file.quick_time);
        let groups = self.groups.iter().zip(&self.file.groups).enumerate();
        let of_rounds =
            groups.filter(|(_, (jobs, file))| !jobs.is_empty() && file.capacity.is_none());
        for (index, (group, file)) in of_rounds {
            let of = &mut measured[group.clone()];
            if let Some(backend) = file.backend_alone {
                let seconds = if self.quick { ALONE_QUICK_S } else { ALONE_S };
                match session.backend_alone(group.clone(), backend, seconds).await {
                    Ok(alone) => of[0].backend_alone = Some(alone),
                    Err(Stopped::Interrupted) => return,
                    Err(Stopped::Failed(failure)) => {
                        of[0].failure = Some(failure);
                        return;
                    }
                }
            }
            match self.jobs[group.start].method.is_one_start() {
                true => self.in_one_start(index, &budget, session, site, of).await,
                false => session.measure(group.clone(), of).await,
            }
            if session.is_interrupted() || of.iter().any(|job| job.failure.is_some()) {
                return;
            }
        }
    }

    /// Returns each search with the index of its job, in the order of the file.
    fn quests(&self) -> impl Iterator<Item = (usize, CapacitySearch<'_>)> {
        self.searches.iter().map(|(&job, terms)| {
            (job, CapacitySearch { job: &self.jobs[job], terms, profiling_rounds: 0 })
        })
    }
}
