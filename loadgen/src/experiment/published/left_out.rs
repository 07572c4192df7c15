//! Leaves out the arms that this machine cannot run.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Published;
use crate::experiment::job::Job;
use crate::experiment::subject::Subject;
use crate::failure::{Exit, Failure};
use crate::lab::Lacks;
use crate::scenario::experiment::{ExperimentFile, Group};

/// Place of the targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// This machine.
    Here,
    /// The cluster that also generates the load.
    Cluster,
}

/// Reasons why arms were left out, by the index of their group and their name. A reason is one line; the part
/// before its first semicolon says what is missing, such as `needs Go 1.26`.
#[derive(Debug, Clone, Default)]
pub struct LeftOut(BTreeMap<(usize, String), String>);

impl LeftOut {
    /// Adds an arm.
    pub fn add(&mut self, group: usize, arm: &str, why: String) {
        self.0.insert((group, arm.to_owned()), why);
    }

    /// Adds all arms of the groups for which `is_left_out` holds.
    pub fn add_groups(
        &mut self,
        file: &ExperimentFile,
        why: &str,
        is_left_out: impl Fn(&Group) -> bool,
    ) {
        for (index, group) in file.groups.iter().enumerate().filter(|(_, group)| is_left_out(group))
        {
            group.arms.iter().for_each(|arm| self.add(index, &arm.name, why.to_owned()));
        }
    }

    /// Returns why an arm was left out; `None` if it was not.
    pub fn of(&self, group: usize, arm: &str) -> Option<&str> {
        self.0.get(&(group, arm.to_owned())).map(String::as_str)
    }

    /// Returns the arms of a group that were left out, by name, each with the reason.
    pub fn of_group(&self, group: usize) -> BTreeMap<String, String> {
        let of = self.0.iter().filter(|((of, _), _)| *of == group);
        of.map(|((_, arm), why)| (arm.clone(), why.clone())).collect()
    }

    /// Returns whether all arms of a target were left out for this reason.
    pub fn has_target(&self, file: &ExperimentFile, target: &str, why: &str) -> bool {
        let mut groups = file.groups.iter().enumerate();
        groups.all(|(index, group)| {
            let mut arms = group.arms.iter().filter(|arm| arm.target == target);
            arms.all(|arm| self.of(index, &arm.name) == Some(why))
        })
    }

    /// Returns a failure if the experiment has no jobs, because all arms were left out in this place.
    pub fn check(&self, jobs: &[Job], place: Place) -> Result<(), Failure> {
        let (who, help) = match place {
            Place::Here => ("this machine", "install the program"),
            Place::Cluster => {
                ("the cluster", "see what each arm lacks: loadgen k8s experiment NAME --check")
            }
        };
        match self.0.iter().next() {
            Some(((_, arm), why)) if jobs.is_empty() => {
                let message = format!("{who} can run no target of the experiment: {arm}: {why}");
                Err(Failure::message(Exit::Target, "no_target", message, help))
            }
            _ => Ok(()),
        }
    }
}

impl Published {
    /// Returns the experiment without the arms that a lab cannot run.
    ///
    /// # Errors
    /// If no arm is left.
    pub(super) fn without_what(&self, lacks: &Lacks) -> Result<Self, Failure> {
        let mut left_out = self.left_out.clone();
        let (mut jobs, mut groups, mut searches) =
            (Vec::new(), Vec::<Range<usize>>::new(), BTreeMap::new());
        for (group, of_group) in self.groups.iter().enumerate() {
            let first = jobs.len();
            for index in of_group.clone() {
                let without = |arm: &str, why: &str| left_out.add(group, arm, why.to_owned());
                let Some(job) = self.jobs[index].without(lacks, without) else { continue };
                if let Some(terms) = self.searches.get(&index) {
                    searches.insert(jobs.len(), terms.clone());
                }
                jobs.push(job);
            }
            groups.push(first..jobs.len());
        }
        left_out.check(&jobs, Place::Here)?;
        let (file, quick, target_cpus) = (self.file.clone(), self.quick, self.target_cpus);
        Ok(Self { file, quick, jobs, groups, searches, left_out, target_cpus })
    }
}

impl Job {
    /// Returns the job without the contenders that a lab cannot run, and passes each of them with the reason to
    /// `without`; `None` if no contender is left.
    fn without(&self, lacks: &Lacks, mut without: impl FnMut(&str, &str)) -> Option<Self> {
        let Subject::Lab { home, targets, left_out } = &self.subject else {
            return Some(self.clone());
        };
        let (mut contenders, mut left) = (Vec::new(), Vec::new());
        for (index, contender) in self.contenders.iter().enumerate() {
            let target = self.target(index)?;
            let of_replicas = self.replicas(index).and(lacks.balancer.as_ref());
            match lacks.targets.get(&target.name).or(of_replicas) {
                Some(why) => without(&contender.name, why),
                None => {
                    let mut contender = contender.clone();
                    contender.index = left.len();
                    contenders.push(contender);
                    left.push(target.clone());
                }
            }
        }
        debug_assert!(targets.len() >= left.len(), "each contender has one target");
        let subject =
            Subject::Lab { home: home.clone(), targets: left, left_out: left_out.clone() };
        (!contenders.is_empty()).then(|| Self { contenders, subject, ..self.clone() })
    }
}
