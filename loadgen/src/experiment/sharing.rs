//! Checks whether a job's workers can share connections as its scenario says.

use super::job::Job;
use crate::engine::Share;
use crate::failure::{Exit, Failure};

/// Checks that each worker of the job gets enough connections for its users. The number of workers on
/// other hosts is known only to those who start them: they check for themselves.
///
/// # Errors
/// The first worker that gets too few connections.
pub fn check(job: &Job) -> Result<(), Failure> {
    let sharing = job.scenario.http.sharing;
    let of = job.workers.unwrap_or(1);
    let contenders = job.contenders.iter().map(|contender| contender.users);
    for users in contenders.chain([job.scenario.load.users]) {
        for index in 0..of {
            Share { index, of }.connections(sharing, users).map_err(|message| {
                let help = "change `connections` or `streams` in [http], or the number of workers";
                Failure::message(Exit::Usage, "bad_load", message, help)
            })?;
        }
    }
    Ok(())
}
