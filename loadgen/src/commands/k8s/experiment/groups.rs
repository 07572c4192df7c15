//! Takes the results of the groups, and joins them to the record of the experiment.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::commands::k8s::delivery::{Delivery, failure, pod_failed, read};
use crate::experiment::kind::Experiment as _;
use crate::experiment::published::Published;
use crate::experiment::saved::Record;
use crate::experiment::site::Site;
use crate::failure::{Exit, Failure};
use crate::kubernetes::{Followed, KubernetesError};
use crate::lab::{Layout, file_name};
use crate::process::say_failure;
use crate::record::{ExperimentRecord, SystemRecord};
use crate::text::say;

/// Results of the groups so far.
pub(super) struct Groups<'a> {
    experiment: &'a Published,
    delivery: &'a Delivery<'a>,
    site: Site<'a>,
    /// Records of the groups that were measured, by the index of the group.
    records: BTreeMap<usize, ExperimentRecord>,
    ended: Ended,
}

/// How the experiment ended.
enum Ended {
    /// It goes on, or all groups were measured.
    Whole,
    /// The user has interrupted it.
    Interrupted,
    /// A group failed, which its manager has said. Its exit code.
    Told(Exit),
    /// A group failed.
    Failed(Failure),
}

impl<'a> Groups<'a> {
    /// Begins an experiment whose results go to `delivery`.
    pub fn new(experiment: &'a Published, delivery: &'a Delivery<'a>, layout: &'a Layout) -> Self {
        // The machines that count are those of the groups' records.
        let site = Site::new(layout, SystemRecord::default());
        Self { experiment, delivery, site, records: BTreeMap::new(), ended: Ended::Whole }
    }

    /// Returns the name of a group.
    pub fn name(&self, index: usize) -> &str {
        &self.experiment.file.groups[index].name
    }

    /// Creates the folder for the result of a group.
    pub fn folder(&self, index: usize) -> Result<PathBuf, Failure> {
        let name = format!("{}-{}", index + 1, file_name(self.name(index)));
        let folder = self.delivery.folder().join(name);
        fs::create_dir_all(&folder).map_err(|error| {
            let message = format!("cannot create {}: {error}", folder.display());
            let help = "choose another folder with --out DIR";
            Failure::message(Exit::Failed, "unwritable_folder", message, help)
        })?;
        Ok(folder)
    }

    /// Takes the result of a group from its folder, and saves the experiment so far. Breaks if the experiment ends with
    /// this group: it failed, or was interrupted.
    pub fn take(
        &mut self,
        index: usize,
        folder: &Path,
        followed: Result<Followed, KubernetesError>,
    ) -> ControlFlow<()> {
        self.ended = match followed {
            Err(error) => Ended::Failed(failure(error)),
            Ok(Followed { exit_code, troubles, is_left }) => {
                troubles.iter().for_each(say);
                match self.add(index, folder, exit_code) {
                    // Its servers would take CPU from those of the next group.
                    Ok(Ended::Whole) if is_left => Ended::Failed(left(self.name(index))),
                    ended => ended.unwrap_or_else(Ended::Failed),
                }
            }
        };
        // Nothing is in the folder of a group without a result.
        let _ = fs::remove_dir(folder);
        match self.ended {
            Ended::Whole => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    /// Ends the experiment with this failure.
    pub fn fail(&mut self, failure: Failure) {
        self.ended = Ended::Failed(failure);
    }

    /// Adds the record of a group that ended with this code; `None` if the group was interrupted before it began.
    fn add(
        &mut self,
        index: usize,
        folder: &Path,
        exit_code: Option<u8>,
    ) -> Result<Ended, Failure> {
        let Some(code) = exit_code else { return Ok(Ended::Interrupted) };
        let exit = Exit::of_code(code);
        let Some(Record::Experiment(record)) = read(folder)? else {
            return match exit {
                Some(Exit::Interrupted) => Ok(Ended::Interrupted),
                Some(exit) if exit != Exit::Done => Ok(Ended::Told(exit)),
                _ => Err(pod_failed(code)),
            };
        };
        // Without an error, the exit code follows from the record.
        let of_record = Published::exit(&record, None);
        self.records.insert(index, *record);
        self.delivery.save(&self.joined(true))?;
        match exit {
            None => Err(pod_failed(code)),
            Some(Exit::Interrupted) => Ok(Ended::Interrupted),
            Some(exit) if exit != of_record => Ok(Ended::Told(exit)),
            Some(_) => Ok(Ended::Whole),
        }
    }

    /// Saves and prints the record of all groups, and returns the exit code of the experiment. `interrupted` tells whether
    /// the user has interrupted it.
    pub fn conclude(self, interrupted: bool) -> Result<Exit, Failure> {
        if self.records.is_empty() {
            return match self.ended {
                Ended::Failed(failure) => Err(failure),
                Ended::Told(exit) => Ok(exit),
                Ended::Interrupted | Ended::Whole => {
                    say("interrupted before the first round was over: nothing was measured");
                    Ok(Exit::Interrupted)
                }
            };
        }
        let record = self.joined(interrupted || matches!(self.ended, Ended::Interrupted));
        let saved = self.delivery.save(&record);
        let printed = self.delivery.print(&record);
        let failed = match self.ended {
            Ended::Whole | Ended::Interrupted => None,
            Ended::Told(exit) => Some(exit),
            Ended::Failed(failure) => Some(say_failure(&failure)),
        };
        saved?;
        printed?;
        Ok(Published::exit(&record, failed))
    }

    fn joined(&self, interrupted: bool) -> ExperimentRecord {
        self.experiment.joined(&self.records, &self.site, interrupted)
    }
}

/// Returns the failure of an experiment in whose way a group is that could not be removed.
fn left(group: &str) -> Failure {
    let message =
        format!("pods of the group {group} may be left, beside which no other is measured");
    let help = "wait until they are gone (`kubectl get pods`), and begin again";
    Failure::message(Exit::Failed, "left_in_cluster", message, help)
}
