//! Measures a backend alone, before the arms of an experiment's group.

use std::ops::Range;

use super::Session;
use super::stopped::{Stopped, unless};
use crate::failure::Failure;
use crate::lab::{Alone, LabError};
use crate::record::BackendAloneRecord;
use crate::scenario::Backend;

/// Reason why a backend of a server at `--url` is not measured alone.
const NO_BACKENDS_ALONE: &str = "loadgen runs no backends for a server at --url";

impl Session<'_> {
    /// Measures a backend alone, without a target, with the profiles of the first of these jobs. The
    /// backend has as many clients as the job with the most users has users, for about this number of
    /// seconds.
    pub async fn backend_alone(
        &mut self,
        jobs: Range<usize>,
        backend: Backend,
        seconds: u32,
    ) -> Result<BackendAloneRecord, Stopped> {
        let jobs = &self.jobs[jobs];
        let existing = jobs.first().map(|job| job.scenario.existing).unwrap_or_default();
        let users = jobs.iter().flat_map(|job| &job.contenders).map(|one| one.users);
        let clients = users.max().unwrap_or(1);
        self.start(jobs).await?;
        let measured = match &self.lab {
            None => Err(NO_BACKENDS_ALONE.to_owned()),
            Some(lab) => {
                let measured = async {
                    lab.fill(existing).await?;
                    Ok(lab.alone(backend, existing.profiles, clients, seconds).await)
                };
                unless(&self.interrupt, measured).await?.map_err(|e: LabError| Failure::from(e))?
            }
        };
        Ok(record(backend, measured))
    }
}

/// Returns the record of a measurement, or of the reason why there is none.
fn record(backend: Backend, measured: Result<Alone, String>) -> BackendAloneRecord {
    let (alone, why_not) = match measured {
        Ok(alone) => (Some(alone), None),
        Err(why) => (None, Some(why)),
    };
    BackendAloneRecord {
        backend: backend.to_string(),
        program: alone.as_ref().map(|alone| alone.program.to_owned()),
        operations: alone.as_ref().map(|alone| alone.operations.to_owned()),
        clients: alone.as_ref().map(|alone| alone.clients),
        rate_per_s: alone.as_ref().map(|alone| alone.rate_per_s),
        why_not,
    }
}
