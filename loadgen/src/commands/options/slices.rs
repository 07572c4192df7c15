//! Divides the load of a job into slices, if it can be.

use std::time::Duration;

use super::duet::uses_up_rows;
use crate::experiment::job::{Job, Method};
use crate::experiment::slicing::Slicing;
use crate::experiment::subject::Subject;
use crate::failure::Failure;
use crate::lab::Runtime;
use crate::scenario::Until;
use crate::text::duration;

/// Least length of a slice. In a shorter one, the first and the last responses of the users are a
/// large part of all.
const SHORTEST: Duration = Duration::from_millis(100);

/// Divides the load on each contender in each start into this number of slices; one slice changes
/// nothing. Returns an error if the job cannot be measured in slices.
pub fn apply(job: &mut Job, slices: u32) -> Result<(), Failure> {
    if slices == 1 {
        return Ok(());
    }
    let refused = |what: &str, help: &str| Err(Failure::conflict(format!("--slices {what}"), help));
    if job.contenders.len() < 2 {
        return refused(
            "compares at least two targets, which are loaded in turn",
            "name two: --target NAME,NAME, or --url URL,URL; or add --aa to compare one with itself",
        );
    }
    if matches!(job.runtime, Runtime::Podman { .. }) {
        return refused(
            "keeps all targets up at the same time, as processes and not in containers",
            "leave out --runtime",
        );
    }
    let Until::Duration(held) = job.scenario.load.until else {
        return refused(
            "needs a load that ends after a duration and does not change",
            "give `duration` in [load] of the scenario, instead of stages or iterations",
        );
    };
    if !job.scenario.load.ramp_up.is_zero() {
        return refused(
            "takes no ramp-up, because each slice would begin with one",
            "leave out --ramp-up and `ramp_up` in [load] of the scenario",
        );
    }
    if uses_up_rows(&job.scenario) && matches!(job.subject, Subject::Lab { .. }) {
        return refused(
            "would send each row of a file with use = \"once\" again in the next slice, to targets that \
             have it already",
            "use = \"cycle\" or \"random\", or leave out --slices",
        );
    }
    let each = held / slices;
    if each < SHORTEST {
        let message = format!(
            "{slices} makes slices of {} out of {}; a slice lasts at least {}",
            duration(each),
            duration(held),
            duration(SHORTEST)
        );
        let help = format!("--duration {}, or fewer slices", duration(SHORTEST * slices));
        return refused(&message, &help);
    }
    job.scenario.load.until = Until::Duration(each);
    job.method = Method::Slices(Slicing::new(slices, job.warmup));
    Ok(())
}
