//! Measures each group of an experiment apart, in a process of its own, and joins the records of the groups.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::assemble::Recorded;
use super::{LeftOut, Published, TargetCpus};
use crate::experiment::site::Site;
use crate::experiment::subject::Server;
use crate::record::{ClaimRecord, ExperimentRecord};
use crate::scenario::experiment::ExperimentFile;

/// A group of an experiment, with all that another process needs to measure the group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupApart {
    /// The experiment, with this group alone.
    pub file: ExperimentFile,
    /// Whether the quick form is measured.
    pub quick: bool,
    /// Arms that are left out, by name, each with the reason.
    left_out: BTreeMap<String, String>,
    /// CPUs of the targets, of which arms and claims may need several; `None` if unknown.
    target_cpus: Option<u32>,
    /// Server of each other arm, by the name of the arm.
    pub servers: BTreeMap<String, Server>,
}

impl GroupApart {
    /// Returns the arms that are left out.
    pub fn left_out(&self) -> LeftOut {
        let mut all = LeftOut::default();
        self.left_out.iter().for_each(|(arm, why)| all.add(0, arm, why.clone()));
        all
    }

    /// Returns the CPUs of the targets.
    pub fn target_cpus(&self) -> TargetCpus {
        TargetCpus(self.target_cpus)
    }
}

impl Published {
    /// Returns the group of this index, whose arms have these servers. Its backend is not measured alone, because the
    /// other process has none.
    pub fn apart(&self, group: usize, servers: BTreeMap<String, Server>) -> GroupApart {
        let mut file = self.file.only(group);
        file.quick_time = self.quick_time_of(group);
        file.groups.iter_mut().for_each(|group| group.backend_alone = None);
        GroupApart {
            file,
            quick: self.quick,
            left_out: self.left_out.of_group(group),
            target_cpus: self.target_cpus.0,
            servers,
        }
    }

    /// Returns the record of the experiment from those of its groups, by the index of the group. A group without a record
    /// was not measured.
    pub fn joined(
        &self,
        groups: &BTreeMap<usize, ExperimentRecord>,
        site: &Site<'_>,
        interrupted: bool,
    ) -> ExperimentRecord {
        let mut all = self.assemble(&Recorded::default(), site, interrupted);
        for (&index, record) in groups {
            // The claims of a group have the order of the file in both records.
            let claims = self.file.claims.iter().zip(&mut all.claims);
            let own = claims.filter(|(claim, _)| claim.group == index).map(|(_, claim)| claim);
            let judged = record.claims.iter().cloned();
            own.zip(judged).for_each(|(claim, judged): (&mut ClaimRecord, _)| *claim = judged);
            if let (Some(group), Some(measured)) =
                (all.groups.get_mut(index), record.groups.first())
            {
                group.clone_from(measured);
            }
        }
        all
    }

    /// Returns the part of the time for the quick form that a group gets if no other process knows how long the groups
    /// before it took: its share of the time that the fewest rounds of all groups need.
    pub(super) fn quick_time_of(&self, group: usize) -> Duration {
        let all: Duration = (0..self.groups.len()).map(|group| self.needs(group)).sum();
        let share = self.needs(group).as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE);
        self.file.quick_time.mul_f64(share.min(1.0))
    }
}
