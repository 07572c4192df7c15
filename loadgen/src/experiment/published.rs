//! Implements the experiment of a file: groups of arms, one group after the other.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::time::Duration;

use super::folder::RunFolder;
use super::job::Job;
use super::kind::Experiment;
use super::measured::Measured;
use super::observe::{Event, Observe, SoFar};
use super::run::Run;
use super::session::{OVERHEAD, Session, Stopped};
use super::site::Site;
use super::to_record::{self, Context, command_line};
use crate::analysis::claims::{figures, is_better_higher, judge_claim, unit};
use crate::analysis::{
    ByRound, Compared, Counted, changed_limits, cpus, curves, grows_with_the_target,
    limits_in_force, unlike,
};
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::record::{
    ArmRecord, EXPERIMENT_SCHEMA, ExperimentRecord, GroupRecord, PublishedRecord, RunRecord,
    ScalingRecord, SourceRecord, StoppedEarly, TargetRecord,
};
use crate::scenario::experiment::{Arm, ExperimentFile, describe_load};

/// Times for which a backend is measured alone, in the full and in the quick form, in seconds.
const ALONE_S: u32 = 10;
const ALONE_QUICK_S: u32 = 3;

/// An experiment of a file, with its options.
pub struct Published {
    /// The file.
    pub file: ExperimentFile,
    /// Whether the quick form is measured.
    pub quick: bool,
    /// Jobs of all groups: one for each scenario and load of a group.
    pub jobs: Vec<Job>,
    /// Indices of the jobs of each group of the file.
    pub groups: Vec<Range<usize>>,
    /// Targets that this machine cannot run, each with the reason. The jobs lack the arms of these
    /// targets.
    pub left_out: BTreeMap<String, String>,
}

impl Experiment for Published {
    type Measured = Vec<Measured>;
    type Record = ExperimentRecord;

    const CAN_CHANGE: bool = false;

    fn name(&self) -> &str {
        &self.file.name
    }

    fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    fn forecast(&self) -> (u32, Option<Duration>) {
        let rounds =
            |job: &Job| job.rounds * u32::try_from(job.contenders.len()).unwrap_or(u32::MAX);
        let all = self.jobs.iter().map(rounds).sum();
        let length = |job: &Job| {
            let length = job.plan(0, String::new(), 1).length()?;
            Some((length + OVERHEAD) * rounds(job))
        };
        let total: Option<Duration> = self.jobs.iter().map(length).sum();
        (all, total.map(|total| total / all.max(1)))
    }

    fn observers<'a>(
        &'a self,
        site: &'a Site<'a>,
        folder: &'a RunFolder,
    ) -> Vec<Box<dyn Observe + 'a>> {
        let runs = vec![None; self.jobs.len()];
        vec![Box::new(Autosave { experiment: self, site, folder, runs })]
    }

    async fn measure(&self, session: &mut Session<'_>, _: &Site<'_>) -> Vec<Measured> {
        let mut measured: Vec<Measured> = self.jobs.iter().map(|_| Measured::default()).collect();
        let groups = self.groups.iter().zip(&self.file.groups);
        for (group, file) in groups.filter(|(group, _)| !group.is_empty()) {
            let of = &mut measured[group.clone()];
            if let Some(backend) = file.backend_alone {
                let seconds = if self.quick { ALONE_QUICK_S } else { ALONE_S };
                match session.backend_alone(group.clone(), backend, seconds).await {
                    Ok(alone) => of[0].backend_alone = Some(alone),
                    Err(Stopped::Interrupted) => break,
                    Err(Stopped::Failed(failure)) => {
                        of[0].failure = Some(failure);
                        break;
                    }
                }
            }
            session.measure(group.clone(), of).await;
            if session.is_interrupted() || of.iter().any(|job| job.failure.is_some()) {
                break;
            }
        }
        measured
    }

    fn is_empty(measured: &Vec<Measured>) -> bool {
        measured.iter().all(|job| job.rounds.is_empty())
    }

    fn failure(measured: Vec<Measured>) -> Option<Failure> {
        measured.into_iter().find_map(|job| job.failure)
    }

    fn record(
        &self,
        measured: &Vec<Measured>,
        site: &Site<'_>,
        lab: Option<&Lab>,
        interrupted: bool,
    ) -> ExperimentRecord {
        let runs = self.jobs.iter().zip(measured).map(|(job, measured)| {
            let context = Context::of(job, site, &measured.backends, lab, interrupted);
            let has_rounds = !measured.rounds.is_empty();
            has_rounds.then(|| to_record::build(job, measured, None, context))
        });
        self.assemble(&runs.collect::<Vec<_>>(), site, interrupted)
    }

    fn exit(record: &ExperimentRecord, failed: Option<Exit>) -> Exit {
        if record.interrupted {
            return Exit::Interrupted;
        }
        let runs = record.groups.iter().flat_map(|group| &group.runs);
        let exits: Vec<Exit> = runs.map(|run| Run::exit(run, failed)).collect();
        let most_urgent = [Exit::Failed, Exit::Target, Exit::Degraded, Exit::Threshold];
        let found = most_urgent.into_iter().find(|exit| exits.contains(exit));
        found.or(failed).unwrap_or(Exit::Done)
    }
}

impl Published {
    /// Returns the record of the experiment. `runs` has the record of each job; `None` for a job
    /// without a measured round.
    fn assemble(
        &self,
        runs: &[Option<RunRecord>],
        site: &Site<'_>,
        interrupted: bool,
    ) -> ExperimentRecord {
        let file = &self.file;
        let cpus =
            |runs: &[&RunRecord]| runs.first().map_or(0, |run| cpus(&run.environment, "target"));
        let of_group = |group: usize| runs[self.groups[group].clone()].iter().flatten();
        let targets =
            |group: usize| of_group(group).flat_map(|run| &run.targets).collect::<Vec<_>>();
        let groups = file.groups.iter().enumerate().map(|(index, group)| {
            let runs: Vec<&RunRecord> = of_group(index).collect();
            let arms = 0..group.arms.len();
            GroupRecord {
                name: group.name.clone(),
                description: group.description.clone(),
                changed: self.changed(index, &runs),
                arms: arms.map(|arm| self.arm(index, arm, &targets(index))).collect(),
                scaling: self.scaling(index, &runs),
                differences: unlike(&self.compared(index, &runs), cpus(&runs)),
                runs: runs.into_iter().cloned().collect(),
            }
        });
        let claims = file.claims.iter();
        ExperimentRecord {
            schema: EXPERIMENT_SCHEMA.to_owned(),
            experiment: file.name.clone(),
            title: file.title.clone(),
            description: file.description.clone(),
            source: file.source.as_ref().map(|source| SourceRecord {
                title: source.title.clone(),
                year: source.year,
                url: source.url.clone(),
            }),
            quick: self.quick,
            started: humantime::format_rfc3339_seconds(site.started).to_string(),
            command: command_line(),
            groups: groups.collect(),
            claims: claims
                .map(|claim| judge_claim(claim, &file.groups[claim.group], &targets(claim.group)))
                .collect(),
            interrupted,
        }
    }

    /// Returns the arms of a group that were measured, with their results.
    fn compared<'a>(&'a self, group: usize, runs: &[&'a RunRecord]) -> Vec<Compared<'a>> {
        let of = |arm: &'a Arm| {
            let (run, measured) = measured(runs, arm)?;
            let server = &measured.server;
            let limits = limits_in_force(run, "target", &arm.name);
            let limits = limits.of_all(server.replicas.unwrap_or(1));
            Some(Compared { arm, quick: self.quick, limits, server, measured: Some(measured) })
        };
        self.file.groups[group].arms.iter().filter_map(of).collect()
    }

    /// Returns how the targets of a group scale. Arms that differ only in their replicas, or only in
    /// their server workers, are one curve, with the name of their target.
    fn scaling(&self, group: usize, runs: &[&RunRecord]) -> Vec<ScalingRecord> {
        let arms = &self.file.groups[group].arms;
        // Arms of other conditions are other curves: they get the name of their first arm.
        let name = |arm: &Arm, of: fn(&Arm) -> Arm| {
            let alike = || arms.iter().filter(|other| of(other) == of(arm));
            let is_only_one = arms
                .iter()
                .filter(|other| other.target == arm.target)
                .all(|other| of(other) == of(arm));
            match alike().next() {
                Some(first) if !is_only_one => first.name.clone(),
                _ => arm.target.clone(),
            }
        };
        let without_replicas =
            |arm: &Arm| Arm { name: String::new(), replicas: None, ..arm.clone() };
        let without_workers =
            |arm: &Arm| Arm { name: String::new(), server_workers: 1, ..arm.clone() };
        let of = |counted, of: fn(&Arm) -> Arm| {
            let targets = arms.iter().filter_map(|arm| {
                let (run, target) = measured(runs, arm)?;
                grows_with_the_target(&run.load).then_some((arm, target))
            });
            let cpus = runs.first().map_or(0, |run| cpus(&run.environment, "target"));
            curves(counted, cpus, targets.map(|(arm, target)| (name(arm, of), target)))
        };
        let mut all = of(Counted::Replicas, without_replicas);
        all.extend(of(Counted::ServerWorkers, without_workers));
        all
    }

    /// Returns the differences of the measured form of a group from the full form, as phrases.
    /// `runs` has the records of the group's jobs.
    fn changed(&self, group: usize, runs: &[&RunRecord]) -> Vec<String> {
        let of = &self.file.groups[group];
        let Some(rounds) = self.jobs[self.groups[group].clone()].first().map(|job| job.rounds)
        else {
            return Vec::new();
        };
        let number = match rounds {
            1 => "1 round".to_owned(),
            n => format!("{n} rounds"),
        };
        let other = (rounds != of.rounds).then(|| format!("{number} instead of {}", of.rounds));
        let mut all: Vec<String> = other.into_iter().collect();
        for Arm { scenario, quick, .. } in of.arms.iter().filter(|_| self.quick) {
            let quick = quick.as_ref().filter(|quick| **quick != scenario.load);
            let (Some(quick), full) = (quick.map(describe_load), describe_load(&scenario.load))
            else {
                continue;
            };
            let change = format!("{quick} instead of {full}");
            if !all.contains(&change) {
                all.push(change);
            }
        }
        all.extend(changed_limits(of, self.file.backend_limits, runs));
        all
    }

    /// Returns the record of an arm, with its published and measured figures.
    fn arm(&self, group: usize, arm: usize, targets: &[&TargetRecord]) -> ArmRecord {
        let Arm { name, target, scenario, quick, .. } = &self.file.groups[group].arms[arm];
        let measured = targets.iter().find(|target| target.name == *name);
        let published = self.file.published.iter().filter(|published| published.group == group);
        let published = published.filter_map(|published| {
            let (_, figure) = published.figures.iter().find(|(of, _)| *of == arm)?;
            let (unit, factor) = unit(&published.metric);
            let rounds = measured.map(|target| figures(&target.rounds, &published.metric));
            let rounds = rounds.filter(|rounds| !rounds.is_empty());
            let best = |rounds: &ByRound| {
                let better = if is_better_higher(&published.metric) { f64::max } else { f64::min };
                rounds.values().copied().reduce(better)
            };
            let of_best = rounds.as_ref().filter(|_| published.best_of_rounds).and_then(best);
            Some(PublishedRecord {
                metric: published.metric.to_string(),
                unit: unit.to_owned(),
                machine: published.machine.clone(),
                published: figure * factor,
                measured: rounds
                    .map(|rounds| rounds.values().sum::<f64>() / rounds.len() as f64 * factor),
                best_round: of_best.map(|figure| figure * factor),
            })
        });
        ArmRecord {
            name: name.clone(),
            target: target.clone(),
            scenario: scenario.name.clone(),
            load: describe_load(quick.as_ref().filter(|_| self.quick).unwrap_or(&scenario.load)),
            published: published.collect(),
            left_out: self.left_out.get(target).cloned(),
        }
    }
}

/// Returns the run of an arm, and the arm's results.
fn measured<'a>(runs: &[&'a RunRecord], arm: &Arm) -> Option<(&'a RunRecord, &'a TargetRecord)> {
    let of = |run: &&'a RunRecord| {
        let target = run.targets.iter().find(|target| target.name == arm.name)?;
        Some((*run, target))
    };
    runs.iter().find_map(of)
}

/// Observer that saves the experiment after each round, so that a kill loses only the round in
/// progress.
struct Autosave<'a> {
    experiment: &'a Published,
    site: &'a Site<'a>,
    folder: &'a RunFolder,
    /// Record of each job so far; `None` for a job without a measured round.
    runs: Vec<Option<RunRecord>>,
}

impl Observe for Autosave<'_> {
    fn observe(&mut self, event: &mut Event<'_>) -> ControlFlow<StoppedEarly> {
        if let Event::RoundOver(SoFar::Run(index, measured), lab) = event {
            let job = &self.experiment.jobs[*index];
            let context = Context::of(job, self.site, &measured.backends, *lab, true);
            self.runs[*index] = Some(to_record::build(job, measured, None, context));
            // If saving fails, the save at the end of the experiment reports the reason.
            let record = self.experiment.assemble(&self.runs, self.site, true);
            let _ = self.folder.save_experiment(&record);
        }
        ControlFlow::Continue(())
    }
}
