//! Describes where and when an experiment runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::SystemTime;

use super::container_limits::limits;
use super::environment::{deployed_images, environment};
use super::job::Job;
use crate::lab::{Lab, Layout};
use crate::record::{Environment, SystemRecord, TelemetryRecord};

/// Function that tells what became of the metrics that were sent to a collector so far.
pub type ExportsTeller = Box<dyn Fn() -> Option<TelemetryRecord>>;

/// Place and time of an experiment, for its record.
pub struct Site<'a> {
    /// CPUs of each part: target, backends and generator.
    pub layout: &'a Layout,
    /// Start of the experiment.
    pub started: SystemTime,
    /// Settings of the machine, and its load before the experiment.
    system: SystemRecord,
    /// Descriptions collected so far, each for other backends.
    environments: RefCell<Vec<Environment>>,
    exports: Option<ExportsTeller>,
}

impl<'a> Site<'a> {
    /// Creates the site of an experiment that begins now. `system` has the settings of the machine, and
    /// its load before the preparation of the experiment.
    pub fn new(layout: &'a Layout, system: SystemRecord) -> Self {
        let started = SystemTime::now();
        Self { layout, started, system, environments: RefCell::default(), exports: None }
    }

    /// Returns the site of an experiment whose metrics are sent to a collector.
    #[must_use]
    pub fn exporting(self, exports: ExportsTeller) -> Self {
        Self { exports: Some(exports), ..self }
    }

    /// Returns a description of the machine and of its software, with the backends in these
    /// versions, and with the limits of the job's containers and the images of its pods. Only the first call with these
    /// backends collects the description.
    pub fn environment(
        &self,
        job: &Job,
        lab: Option<&Lab>,
        backends: &BTreeMap<String, String>,
    ) -> Environment {
        let mut known = self.environments.borrow_mut();
        let mut found = match known.iter().find(|known| known.backends == *backends) {
            Some(found) => found.clone(),
            None => {
                let found = environment(job, lab, self.layout, backends);
                known.push(found.clone());
                found
            }
        };
        found.images.extend(deployed_images(job));
        let telemetry = self.exports.as_ref().and_then(|exports| exports());
        Environment { limits: limits(job, lab), system: self.system.clone(), telemetry, ..found }
    }
}
