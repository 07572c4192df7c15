//! Leaves out the arms and the claims of an experiment that need more CPUs than the targets have.

use std::collections::BTreeSet;

use super::left_out::LeftOut;
use crate::scenario::experiment::{Claim, ExperimentFile, Group};
use crate::text::counted;

/// Number of CPUs of the targets; `None` if unknown, because loadgen does not start the targets.
#[derive(Debug, Clone, Copy)]
pub struct TargetCpus(pub Option<u32>);

impl TargetCpus {
    /// Returns why the claim about `group` cannot be judged on this machine; `None` if it can.
    pub fn why_not(self, claim: &Claim, group: &Group) -> Option<String> {
        let of_arms = claim.statement.arms().iter().map(|&arm| group.arms[arm].needs_cpus);
        self.without(of_arms.fold(claim.needs_cpus, u32::max))
    }

    /// Adds the arms that are not measured on this machine: those that need more than it has, and those that
    /// only serve claims that cannot be judged.
    pub fn leave_out(self, file: &ExperimentFile, left_out: &mut LeftOut) {
        for (group, of) in file.groups.iter().enumerate() {
            for (arm, why) in self.arms_without_use(file, group) {
                let name = &of.arms[arm].name;
                // A missing program comes first: more CPUs would not bring it.
                if left_out.of(group, name).is_none() {
                    left_out.add(group, name, why);
                }
            }
        }
    }

    /// Returns the arms of a group, by index, that are not measured, each with the reason.
    fn arms_without_use(self, file: &ExperimentFile, group: usize) -> Vec<(usize, String)> {
        let of = &file.groups[group];
        let claims = || file.claims.iter().filter(move |claim| claim.group == group);
        let judged = claims().filter(|claim| self.why_not(claim, of).is_none());
        let judged: BTreeSet<usize> =
            judged.flat_map(|claim| claim.statement.arms()).copied().collect();
        let why = |arm: usize| {
            let mut about = claims().filter(|claim| claim.statement.arms().contains(&arm));
            let of_claims = || about.find_map(|claim| self.why_not(claim, of));
            self.without(of.arms[arm].needs_cpus).or_else(of_claims)
        };
        let unjudged = (0..of.arms.len()).filter(|arm| !judged.contains(arm));
        unjudged.filter_map(|arm| Some((arm, why(arm)?))).collect()
    }

    /// Returns the reason against a comparison that needs this number of CPUs; `None` if there are as many.
    fn without(self, needs_cpus: u32) -> Option<String> {
        let here = self.0.filter(|cpus| *cpus < needs_cpus)?;
        let needs = counted(needs_cpus.into(), "CPU");
        Some(format!("not comparable here: needs {needs} for the targets, which have {here}"))
    }
}
