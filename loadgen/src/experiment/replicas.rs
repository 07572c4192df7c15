//! Checks whether replicas can be measured as a job asks, and counts their responses.

use super::job::Job;
use crate::failure::{Exit, Failure};
use crate::lab::Lab;
use crate::lab::manifest::Ready;
use crate::scenario::HttpVersion;
use crate::text::counted;

/// Largest number of worker processes of all replicas of a target together. PostgreSQL accepts so
/// many connections and some more.
const MOST_PROCESSES: u32 = 256;

/// Checks the contenders of a job that have replicas.
///
/// # Errors
/// The first contender that the balancer or the backends cannot serve as asked.
pub fn check(job: &Job, lab: &Lab) -> Result<(), Failure> {
    let refuse = |message: String, help: &str| {
        Err(Failure::message(Exit::Usage, "bad_replicas", message, help))
    };
    for (index, contender) in job.contenders.iter().enumerate() {
        let Some(replicas) = job.replicas(index) else { continue };
        let name = &contender.name;
        let processes = replicas.saturating_mul(contender.server_workers);
        if processes > MOST_PROCESSES {
            let message = format!(
                "{name}: {replicas} replicas of {} worker processes are {processes} processes, more than \
                 {MOST_PROCESSES}",
                contender.server_workers
            );
            return refuse(message, "use fewer replicas or server workers");
        }
        let most = lab.balancer_connections();
        if u64::from(contender.users) > most {
            let message = format!(
                "{name}: the load balancer serves at most {most} connections here, fewer than {}",
                counted(contender.users.into(), "user")
            );
            return refuse(
                message,
                "raise the limit of open files (ulimit -Hn), or use fewer users",
            );
        }
        let http1 = format!("{name}: the load balancer speaks HTTP/1.1 to the replicas");
        if job.target(index).is_some_and(|target| target.entry.ready == Ready::Grpc) {
            return refuse(http1, "leave out the replicas: gRPC needs HTTP/2");
        }
        if job.scenario.http.version == HttpVersion::Http2 {
            return refuse(http1, "leave out the replicas, or `version = \"2\"` of the scenario");
        }
        let headers = job.scenario.steps.iter().flat_map(|step| &step.headers);
        let removed = lab.headers_removed_by_balancer();
        let is_removed = |name: &str| removed.iter().any(|it| it.eq_ignore_ascii_case(name));
        if let Some((header, _)) = headers.into_iter().find(|(header, _)| is_removed(header)) {
            let message = format!("{name}: Caddy as the load balancer removes the header {header}");
            return refuse(message, "install HAProxy, or leave out the replicas or the header");
        }
    }
    Ok(())
}

/// Returns the differences between two counts of each replica's responses; empty if one of them is
/// missing.
pub(super) fn since(after: &[u64], before: &[u64]) -> Vec<u64> {
    if after.len() != before.len() {
        return Vec::new();
    }
    after.iter().zip(before).map(|(after, before)| after.saturating_sub(*before)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_count_gives_no_difference() {
        assert_eq!(since(&[5, 7], &[1, 2]), [4, 5]);
        assert_eq!(since(&[], &[1, 2]), [0; 0]);
        assert_eq!(since(&[5, 7], &[]), [0; 0]);
    }
}
