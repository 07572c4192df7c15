//! Tells from the scheduler's accounts whether a party of the test was at its limit.

use super::{LIMIT_PERCENT, THROTTLED_PERCENT};
use crate::record::{Environment, RoundRecord};
use loadgen_measure::{BALANCER, PROBE, ResourceRecord};

/// Minimum share of the time, in %, that a thread of a backend waits for a CPU for the backend to
/// count as starved. The share is less than 100 % because a backend that gets its requests in
/// bursts has no work between the bursts.
const STARVED_PERCENT: f64 = 50.0;

/// Returns the part of the test to which a service belongs, as the assignment of CPUs names it:
/// `generator`, `backends`, `probe` or `target`.
pub fn part_of(service: &str) -> &'static str {
    match service {
        "generator" => "generator",
        // The balancer of replicas has the CPUs of the backends.
        "redis" | "postgres" | BALANCER => "backends",
        PROBE => "probe",
        // A target that the target sends requests to runs on the same CPUs.
        _ => "target",
    }
}

/// The generator, the target or a backend, with the resources that it used and the CPUs that it may
/// use.
pub(super) struct Party<'a> {
    used: &'a ResourceRecord,
    cpus: f64,
    /// Whether it may use fewer CPUs than there are, so that those can be used up while others are idle.
    has_limit: bool,
    /// Mean utilization of the party's CPUs by all programs, in %; `None` if unknown.
    busy_percent: Option<f64>,
}

impl<'a> Party<'a> {
    pub(super) fn find(
        service: &str,
        round: &'a RoundRecord,
        environment: &Environment,
    ) -> Option<Self> {
        let used = round.resources.get(service)?;
        let of_target = round.target_pods.as_ref().filter(|_| service == "target");
        if let Some(pods) = of_target.or(round.backend_pods.get(service)) {
            let busy_percent = Some(pods.busy_percent);
            return Some(Self { used, cpus: pods.cpus, has_limit: true, busy_percent });
        }
        let own = environment.cpus.get(part_of(service)).filter(|cpus| !cpus.is_empty());
        let busy: Vec<f64> = match own {
            Some(own) => {
                own.iter().filter_map(|n| round.cpus_busy_percent.get(n).copied()).collect()
            }
            None => round.cpus_busy_percent.values().copied().collect(),
        };
        Some(Self {
            used,
            cpus: own.map_or(environment.cores, Vec::len).max(1) as f64,
            has_limit: false,
            busy_percent: (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64),
        })
    }

    /// Returns whether the party was at its limit: a CPU limit throttled its container, one of its
    /// threads nearly always ran or waited for a CPU, or all of its CPUs were busy.
    pub(super) fn is_at_limit(&self) -> bool {
        let container = self.used.container.as_ref();
        container.is_some_and(|it| it.throttled_periods_percent >= THROTTLED_PERCENT)
            || self.used.busiest_thread_percent.is_some_and(|percent| percent >= LIMIT_PERCENT)
            || self.wants_all_cpus()
    }

    /// Returns the time for which the party's threads ran or waited for a CPU, summed over threads,
    /// in % of the elapsed time.
    pub(super) fn wanted_percent(&self) -> f64 {
        self.used.cpu_percent + self.used.cpu_wait_percent
    }

    /// Returns whether a thread of the party waited for a CPU for most of the time.
    pub(super) fn is_starved(&self) -> bool {
        self.used.longest_wait_percent.is_some_and(|percent| percent >= STARVED_PERCENT)
    }

    /// Returns whether the party's threads had work for all of its CPUs, and the CPUs were busy.
    /// The first condition alone is not enough: if several threads wait for a CPU at the same time,
    /// the time of each counts.
    pub(super) fn wants_all_cpus(&self) -> bool {
        let all = LIMIT_PERCENT * self.cpus;
        if self.has_limit && self.used.cpu_percent >= all {
            return true;
        }
        self.wanted_percent() >= all && self.busy_percent.is_none_or(|busy| busy >= LIMIT_PERCENT)
    }
}
