//! Builds the record of an experiment from the records of its groups.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Published;
use crate::analysis::claims::{Arms, figures, is_better_higher, judge_claim, not_judged, unit};
use crate::analysis::{
    ByRound, Compared, Counted, Ran, changed_limits, cpus, curves, grows_with_the_target,
    limits_in_force, unlike,
};
use crate::experiment::command_line::command_line;
use crate::experiment::job::Job;
use crate::experiment::site::Site;
use crate::record::{
    ArmRecord, CapacityRecord, ExperimentRecord, GroupRecord, PublishedRecord, RunRecord, SavedAs,
    ScalingRecord, SourceRecord, TargetRecord,
};
use crate::scenario::WARMUP;
use crate::scenario::experiment::{Arm, describe_load};
use crate::text::duration;

/// Records of the jobs so far, by the index of the job. Jobs without results are absent.
#[derive(Default)]
pub(super) struct Recorded {
    /// Records of the jobs that are rounds under a load.
    pub runs: BTreeMap<usize, RunRecord>,
    /// Records of the jobs that are searches.
    pub capacities: BTreeMap<usize, CapacityRecord>,
}

impl Published {
    /// Returns the record of the experiment.
    pub(super) fn assemble(
        &self,
        recorded: &Recorded,
        site: &Site<'_>,
        interrupted: bool,
    ) -> ExperimentRecord {
        let file = &self.file;
        let cpus = |ran: &[Ran<'_>]| ran.first().map_or(0, |ran| cpus(ran.environment, "target"));
        let of_group =
            |group: usize| recorded.runs.range(self.groups[group].clone()).map(|(_, run)| run);
        let targets =
            |group: usize| of_group(group).flat_map(|run| &run.targets).collect::<Vec<_>>();
        let groups = file.groups.iter().enumerate().map(|(index, group)| {
            let runs: Vec<&RunRecord> = of_group(index).collect();
            let mut capacities = recorded.capacities.range(self.groups[index].clone());
            let capacity = capacities.next().map(|(_, capacity)| capacity);
            let arms = 0..group.arms.len();
            let ran = ran(&runs, capacity);
            GroupRecord {
                name: group.name.clone(),
                description: group.description.clone(),
                changed: self.changed(index, &ran),
                arms: arms.map(|arm| self.arm(index, arm, &targets(index))).collect(),
                scaling: self.scaling(index, &runs),
                differences: unlike(&self.compared(index, &runs, capacity), cpus(&ran)),
                capacity: capacity.cloned(),
                runs: runs.into_iter().cloned().collect(),
            }
        });
        let claims = file.claims.iter();
        ExperimentRecord {
            schema: ExperimentRecord::SCHEMA.to_owned(),
            experiment: file.name.clone(),
            title: file.title.clone(),
            description: file.description.clone(),
            source: file.source.as_ref().map(SourceRecord::from),
            quick: self.quick,
            started: humantime::format_rfc3339_seconds(site.started).to_string(),
            command: command_line(),
            groups: groups.collect(),
            claims: claims
                .map(|claim| {
                    let left_out =
                        |arm: &str| self.left_out.of(claim.group, arm).map(str::to_owned);
                    let group = &file.groups[claim.group];
                    let targets = targets(claim.group);
                    let one_start = of_group(claim.group).any(|run| run.load.one_start);
                    match self.why_not(claim) {
                        Some(why) => not_judged(claim, group, why),
                        None => {
                            let targets = &targets;
                            judge_claim(
                                claim,
                                Arms { group, targets, one_start, left_out: &left_out },
                            )
                        }
                    }
                })
                .collect(),
            interrupted,
        }
    }

    /// Returns the arms of a group that were measured, with their results.
    fn compared<'a>(
        &'a self,
        group: usize,
        runs: &[&'a RunRecord],
        capacity: Option<&'a CapacityRecord>,
    ) -> Vec<Compared<'a>> {
        let searched = |arm: &Arm| {
            let mut targets = capacity.iter().flat_map(|record| &record.targets);
            let target = targets.find(|target| target.name == arm.name)?;
            let record = capacity?;
            Some((&record.environment, record.search.warmup_s, &target.server, None))
        };
        let of = |arm: &'a Arm| {
            let loaded = measured(runs, arm);
            let loaded =
                loaded.map(|(run, it)| (&run.environment, run.load.warmup_s, &it.server, Some(it)));
            let (environment, warmup_s, server, measured) = loaded.or_else(|| searched(arm))?;
            let limits = limits_in_force(environment, "target", &arm.name);
            let limits = limits.of_all(server.replicas.unwrap_or(1));
            Some(Compared { arm, quick: self.quick, limits, warmup_s, server, measured })
        };
        self.file.groups[group].arms.iter().filter_map(of).collect()
    }

    /// Returns how the targets of a group scale. Arms that differ only in their replicas, or only in
    /// their server workers, are one curve, with the name of their target.
    fn scaling(&self, group: usize, runs: &[&RunRecord]) -> Vec<ScalingRecord> {
        let arms = &self.file.groups[group].arms;
        // Arms of other conditions are other curves: they get the name of their first arm.
        let name = |arm: &Arm, of: &dyn Fn(&Arm) -> Arm| {
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
        // More replicas may need a longer warm-up.
        let (warmup, quick_warmup) = (WARMUP, WARMUP);
        let alike = |arm: &Arm| Arm { name: String::new(), warmup, quick_warmup, ..arm.clone() };
        let without_replicas = |arm: &Arm| Arm { replicas: None, ..alike(arm) };
        let without_workers = |arm: &Arm| Arm { server_workers: 1, ..alike(arm) };
        let of = |counted, of: &dyn Fn(&Arm) -> Arm| {
            let targets = arms.iter().filter_map(|arm| {
                let (run, target) = measured(runs, arm)?;
                grows_with_the_target(&run.load).then_some((arm, target))
            });
            let cpus = runs.first().map_or(0, |run| cpus(&run.environment, "target"));
            curves(counted, cpus, targets.map(|(arm, target)| (name(arm, of), target)))
        };
        let mut all = of(Counted::Replicas, &without_replicas);
        all.extend(of(Counted::ServerWorkers, &without_workers));
        all
    }

    /// Returns the differences of the measured form of a group from the full form, as phrases.
    /// `ran` has the arms that ran.
    fn changed(&self, group: usize, ran: &[Ran<'_>]) -> Vec<String> {
        let of = &self.file.groups[group];
        let Some(rounds) = self.jobs[self.groups[group].clone()].first().map(|job| job.rounds)
        else {
            return Vec::new();
        };
        let other = (rounds != of.rounds)
            .then(|| format!("{} instead of {}", of.counted(rounds), of.rounds));
        let mut all: Vec<String> = other.into_iter().collect();
        let jobs = &self.jobs[self.groups[group].clone()];
        if jobs.iter().any(Job::is_one_start) {
            all.push("one start of all arms instead of one for each round".to_owned());
        }
        if jobs.iter().any(|job| !job.subject.deployed_backends().is_empty()) {
            all.push("one copy of the data for all rounds".to_owned());
        }
        if let (Some(search), Some(full)) = (of.capacity(self.quick), of.capacity)
            && search != full
        {
            all.push(format!("{search} instead of {full}"));
        }
        for arm in &of.arms {
            let mut parts = ran.iter().filter(|part| part.arms.contains(&arm.name.as_str()));
            let full = arm.warmup(false);
            let changed = parts.find_map(|part| {
                let actual = Duration::try_from_secs_f64(part.warmup_s).ok()?;
                (actual != full).then_some(actual)
            });
            let what =
                |actual| format!("warm-up of {} instead of {}", duration(actual), duration(full));
            if let Some(what) = changed.map(what)
                && !all.contains(&what)
            {
                all.push(what);
            }
        }
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
        all.extend(changed_limits(of, self.file.backend_limits, ran));
        all
    }

    /// Returns the record of an arm, with its published and measured figures.
    fn arm(&self, group: usize, arm: usize, targets: &[&TargetRecord]) -> ArmRecord {
        let group_file = &self.file.groups[group];
        let Arm { name, target, scenario, quick, .. } = &group_file.arms[arm];
        let search = group_file.capacity(self.quick);
        let load = quick.as_ref().filter(|_| self.quick).unwrap_or(&scenario.load);
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
            load: search.map_or_else(|| describe_load(load), |search| search.to_string()),
            published: published.collect(),
            left_out: self.left_out.of(group, name).map(str::to_owned),
        }
    }
}

/// Returns the arms of a group that ran, under a load or in a search.
fn ran<'a>(runs: &[&'a RunRecord], capacity: Option<&'a CapacityRecord>) -> Vec<Ran<'a>> {
    let loaded = runs.iter().map(|run| Ran {
        environment: &run.environment,
        warmup_s: run.load.warmup_s,
        arms: run.targets.iter().map(|target| target.name.as_str()).collect(),
    });
    let searched = capacity.map(|record| Ran {
        environment: &record.environment,
        warmup_s: record.search.warmup_s,
        arms: record.targets.iter().map(|target| target.name.as_str()).collect(),
    });
    loaded.chain(searched).collect()
}

/// Returns the run of an arm, and the arm's results.
fn measured<'a>(runs: &[&'a RunRecord], arm: &Arm) -> Option<(&'a RunRecord, &'a TargetRecord)> {
    let of = |run: &&'a RunRecord| {
        let target = run.targets.iter().find(|target| target.name == arm.name)?;
        Some((*run, target))
    };
    runs.iter().find_map(of)
}
