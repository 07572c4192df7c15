//! Where and when an experiment runs.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::SystemTime;

use super::environment::environment;
use super::job::Job;
use crate::lab::{Lab, Layout};
use crate::record::Environment;

/// Where and when an experiment runs: what its record tells besides what was measured.
pub struct Site<'a> {
    /// What is measured.
    pub job: &'a Job,
    /// The CPUs of each part.
    pub layout: &'a Layout,
    /// When it began.
    pub started: SystemTime,
    environment: OnceCell<Environment>,
}

impl<'a> Site<'a> {
    /// For an experiment that begins now.
    pub fn new(job: &'a Job, layout: &'a Layout) -> Self {
        Self { job, layout, started: SystemTime::now(), environment: OnceCell::new() }
    }

    /// The machine and what runs on it, found out once: with these versions of the backends.
    pub fn environment(
        &self,
        lab: Option<&Lab>,
        backends: &BTreeMap<String, String>,
    ) -> &Environment {
        self.environment.get_or_init(|| environment(self.job, lab, self.layout, backends))
    }
}
