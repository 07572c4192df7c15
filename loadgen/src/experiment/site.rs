//! Describes where and when an experiment runs.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::SystemTime;

use super::environment::environment;
use super::job::Job;
use crate::lab::{Lab, Layout};
use crate::record::Environment;

/// Job, CPUs, machine and start time of an experiment,
/// which the record contains besides the results.
pub struct Site<'a> {
    /// Job of the experiment.
    pub job: &'a Job,
    /// CPUs assigned to each part: target, backends and generator.
    pub layout: &'a Layout,
    /// Start of the experiment.
    pub started: SystemTime,
    environment: OnceCell<Environment>,
}

impl<'a> Site<'a> {
    /// Creates the description of an experiment that begins now.
    pub fn new(job: &'a Job, layout: &'a Layout) -> Self {
        Self { job, layout, started: SystemTime::now(), environment: OnceCell::new() }
    }

    /// Returns a description of the machine and its software, with these versions of the backends.
    /// Only the first call collects the description; later calls return the same description.
    pub fn environment(
        &self,
        lab: Option<&Lab>,
        backends: &BTreeMap<String, String>,
    ) -> &Environment {
        self.environment.get_or_init(|| environment(self.job, lab, self.layout, backends))
    }
}
