//! Finds the party (generator, target, backend or network) that limited the rate: the first
//! question to ask about a measured rate.
//!
//! A party is at its limit if its threads ran or waited for a CPU nearly all the time. This rule
//! finds both a party with too much work and a party that other programs deprive of CPU time. The
//! method is the U and the S, utilisation and saturation, of Gregg's USE (*Thinking Methodically
//! about Performance*, CACM 56(2), 2013), computed from the scheduler's accounts.

mod party;

use self::party::Party;
pub use self::party::part_of;
use crate::record::{Bottleneck, Environment, RoundRecord, WorkerRecord};
use loadgen_measure::{ErrorKind, is_behind_target};

/// Minimum utilization, in %, at which the generator, the target, a backend or the network counts
/// as being at its limit.
const LIMIT_PERCENT: f64 = 90.0;

/// Minimum share of throttled periods, in %, at which a container counts as being at its CPU limit.
const THROTTLED_PERCENT: f64 = 50.0;

impl Bottleneck {
    /// Returns the party that limited the rate of `round`. `can_send` is the greatest rate of the
    /// generator, in requests/s, if known. `workers` are the workers on other hosts; empty if the load
    /// came from this machine. `None` if nothing was observed, or if no party was at its limit and no
    /// request was answered as expected.
    ///
    /// The load on a server that loadgen did not start is unknown. For such a server, the result is
    /// only ever the generator, the network or `None`; for one in the pods of a cluster, also the target, or a backend in
    /// such pods.
    ///
    /// A target at its limit is the bottleneck even if other parties are at their limits too, as
    /// the target could not have done more.
    #[must_use]
    pub fn of(
        round: &RoundRecord,
        environment: &Environment,
        can_send: Option<f64>,
        workers: &[WorkerRecord],
    ) -> Option<Self> {
        let party = |service: &str| Party::find(service, round, environment);
        let wants_more = match workers {
            [] => party("generator")?.wants_all_cpus(),
            workers => is_load_limited(workers),
        };
        let target = party("target");
        let near = |can_send: f64| round.total.rate_per_s * 100.0 >= LIMIT_PERCENT * can_send;
        if target.as_ref().is_some_and(Party::is_at_limit) {
            return Some(Self::Target);
        }
        let answers = round.total.requests > round.total.errors;
        // Users who only fail keep the generator busy, and not the server. The generator's threads
        // share the work, so a single busy thread is not a limit.
        let is_busy = wants_more && answers && !is_refused(round);
        if is_busy || can_send.is_some_and(near) {
            return Some(Self::Generator);
        }
        let link = round.machine.fullest_link.as_ref();
        if link.is_some_and(|link| link.busy_percent >= LIMIT_PERCENT) {
            return Some(Self::Network);
        }
        target.as_ref()?;
        let backends = round.resources.keys().filter(|name| is_behind_target(name));
        // Others on the node of a pod, such as the load, may have taken its CPU.
        let counts_starved = round.target_pods.is_none();
        let short = |name: &&String| {
            party(name)
                .is_some_and(|party| party.is_at_limit() || (counts_starved && party.is_starved()))
        };
        let wanted = |name: &String| party(name).map_or(0.0, |party| party.wanted_percent());
        let most = backends.filter(short).max_by(|a, b| wanted(a).total_cmp(&wanted(b)));
        // A target that answers nobody would not answer more users either. Of pods, neither the links of their nodes nor
        // other programs there are known.
        let nobody = (answers && round.target_pods.is_none()).then_some(Self::Nobody);
        most.map(|name| Self::Backend(name.clone())).or(nobody)
    }

    /// Returns the most frequent bottleneck of these rounds; `None` if it is unknown in most of them.
    /// Of two equally frequent bottlenecks, the function returns the one that spoils the measurement
    /// more.
    #[must_use]
    pub fn of_most(rounds: &[RoundRecord]) -> Option<Self> {
        let each = || rounds.iter().map(|round| round.bottleneck.as_ref());
        each()
            .max_by_key(|one| (each().filter(|other| other == one).count(), *one))
            .flatten()
            .cloned()
    }
}

impl WorkerRecord {
    /// Returns the time for which the worker used its CPUs or waited for one, in % of the time of these CPUs; `None` if
    /// unknown.
    #[must_use]
    pub fn wanted_percent(&self) -> Option<f64> {
        Some(self.cpu_percent? + self.cpu_wait_percent?)
    }

    /// Returns whether the worker was short of CPU: it used its CPUs up, or waited for CPUs that other programs used as
    /// well.
    #[must_use]
    pub fn wants_all_cpus(&self) -> bool {
        let is_high = |percent: f64| percent >= LIMIT_PERCENT;
        self.cpu_percent.is_some_and(is_high)
            || (self.wanted_percent().is_some_and(is_high)
                && self.cpus_busy_percent.is_none_or(is_high))
    }

    /// Returns whether the worker could not have sent more: it was short of CPU, or a limit of CPU stopped it.
    #[must_use]
    pub fn is_at_limit(&self) -> bool {
        let is_stopped = |percent: f64| percent >= THROTTLED_PERCENT;
        self.wants_all_cpus() || self.throttled_percent.is_some_and(is_stopped)
    }
}

/// Returns whether workers that could not have sent more had half of the users or more.
fn is_load_limited(workers: &[WorkerRecord]) -> bool {
    let (mut all, mut limited) = (0, 0);
    for worker in workers {
        let users = u64::from(worker.users);
        all += users;
        limited += if worker.is_at_limit() { users } else { 0 };
    }
    all > 0 && 2 * limited >= all
}

/// Returns whether most requests of a round got no connection.
fn is_refused(round: &RoundRecord) -> bool {
    let refused = round.total.errors_by_kind.get(&ErrorKind::Connect).copied().unwrap_or(0);
    refused > round.total.requests / 2
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use loadgen_measure::{LinkRecord, PodsRecord, ResourceRecord, Summary};

    /// Returns an environment with two CPUs: the target on the second CPU, all else on the first.
    fn environment() -> Environment {
        let cpus = [("generator", vec![0]), ("backends", vec![0]), ("target", vec![1])];
        let cpus = cpus.into_iter().map(|(part, cpus)| (part.to_owned(), cpus)).collect();
        Environment { cores: 2, cpus, ..Environment::default() }
    }

    /// Returns a round with the utilization of two CPUs, in %. Each service has a name, and one
    /// thread that ran and waited for a CPU for the given % of the time.
    fn round(busy: [f64; 2], services: &[(&str, f64, f64)]) -> RoundRecord {
        let resources = services.iter().map(|(name, ran, waited)| {
            let used = ResourceRecord {
                cpu_percent: *ran,
                cpu_wait_percent: *waited,
                busiest_thread_percent: Some(ran + waited),
                longest_wait_percent: Some(*waited),
                ..ResourceRecord::default()
            };
            ((*name).to_owned(), used)
        });
        RoundRecord {
            total: Summary { requests: 1, ..Summary::default() },
            resources: resources.collect(),
            cpus_busy_percent: BTreeMap::from([(0, busy[0]), (1, busy[1])]),
            ..RoundRecord::default()
        }
    }

    fn found(busy: [f64; 2], services: &[(&str, f64, f64)]) -> Option<Bottleneck> {
        Bottleneck::of(&round(busy, services), &environment(), None, &[])
    }

    #[test]
    fn a_target_in_pods_is_at_its_limit_or_nothing_is_known() {
        let in_pods = |cpu_percent: f64, cpus: f64, busy_percent: f64| {
            let used = ResourceRecord { cpu_percent, ..ResourceRecord::default() };
            let total = Summary { requests: 10, ..Summary::default() };
            let round = RoundRecord {
                total,
                resources: [("target".to_owned(), used)].into(),
                target_pods: Some(PodsRecord { cpus, busy_percent, ..PodsRecord::default() }),
                ..RoundRecord::default()
            };
            let workers = [WorkerRecord { users: 4, ..WorkerRecord::default() }];
            Bottleneck::of(&round, &Environment { cores: 1, ..environment() }, None, &workers)
        };
        // The cores of the manager's node say nothing of the pods.
        assert_eq!(in_pods(150.0, 4.0, 40.0), None);
        assert_eq!(in_pods(390.0, 4.0, 98.0), Some(Bottleneck::Target));
        assert_eq!(in_pods(49.0, 0.5, 30.0), Some(Bottleneck::Target), "its limit is used up");
        assert_eq!(in_pods(150.0, 4.0, 99.0), None, "others use the node");
    }

    #[test]
    fn a_backend_in_pods_is_at_its_limit_or_nothing_is_known() {
        let with_postgres = |cpu_percent: f64| {
            let used = |cpu_percent| ResourceRecord { cpu_percent, ..ResourceRecord::default() };
            let pods = |cpus| PodsRecord { cpus, busy_percent: 50.0, ..PodsRecord::default() };
            let resources = [("target", 40.0), ("postgres", cpu_percent)];
            let round = RoundRecord {
                total: Summary { requests: 10, ..Summary::default() },
                resources: resources.map(|(name, cpu)| (name.to_owned(), used(cpu))).into(),
                target_pods: Some(pods(4.0)),
                backend_pods: [("postgres".to_owned(), pods(0.5))].into(),
                ..RoundRecord::default()
            };
            let workers = [WorkerRecord { users: 4, ..WorkerRecord::default() }];
            Bottleneck::of(&round, &environment(), None, &workers)
        };
        assert_eq!(with_postgres(30.0), None);
        assert_eq!(with_postgres(48.0), Some(Bottleneck::Backend("postgres".to_owned())));
    }

    #[test]
    fn a_busy_target_is_the_bottleneck() {
        let services = [("generator", 20.0, 5.0), ("redis", 25.0, 5.0), ("target", 98.0, 1.0)];
        assert_eq!(found([45.0, 99.0], &services), Some(Bottleneck::Target));
        // The generator has no time left either.
        let services = [("generator", 90.0, 9.0), ("target", 98.0, 1.0)];
        assert_eq!(found([100.0, 99.0], &services), Some(Bottleneck::Target));
    }

    #[test]
    fn a_silent_idle_target_has_no_known_bottleneck() {
        let services = [("generator", 2.0, 0.0), ("target", 0.0, 0.0)];
        let idle = round([3.0, 1.0], &services);
        let silent = RoundRecord { total: Summary::default(), ..idle.clone() };
        let of = |round| Bottleneck::of(round, &environment(), None, &[]);
        assert_eq!((of(&idle), of(&silent)), (Some(Bottleneck::Nobody), None));
    }

    #[test]
    fn a_starved_generator_is_the_bottleneck() {
        let services = [("generator", 2.0, 97.0), ("target", 10.0, 1.0)];
        assert_eq!(found([100.0, 11.0], &services), Some(Bottleneck::Generator));
    }

    #[test]
    fn refused_connections_make_no_bottleneck() {
        let busy = round([100.0, 11.0], &[("generator", 99.0, 0.0), ("target", 10.0, 1.0)]);
        let of = |refused: u64| {
            let errors_by_kind = BTreeMap::from([(ErrorKind::Connect, refused)]);
            let total =
                Summary { requests: 100, errors: refused, errors_by_kind, ..Summary::default() };
            Bottleneck::of(&RoundRecord { total, ..busy.clone() }, &environment(), None, &[])
        };
        assert_eq!((of(0), of(50)), (Some(Bottleneck::Generator), Some(Bottleneck::Generator)));
        assert_eq!((of(51), of(100)), (Some(Bottleneck::Nobody), None));
    }

    #[test]
    fn threads_that_wait_for_each_other_are_no_limit_on_an_idle_cpu() {
        let services = [("generator", 30.0, 80.0), ("target", 60.0, 1.0)];
        assert_eq!(found([40.0, 61.0], &services), Some(Bottleneck::Nobody));
    }

    #[test]
    fn a_starved_backend_is_found_beside_an_idle_one() {
        let services = [
            ("generator", 5.0, 20.0),
            ("postgres", 0.0, 0.0),
            ("redis", 3.0, 62.0),
            ("target", 49.0, 1.0),
        ];
        let redis = Some(Bottleneck::Backend("redis".to_owned()));
        assert_eq!(found([100.0, 50.0], &services), redis);
        // A backend that runs all the time has too much work.
        let services = [("generator", 5.0, 20.0), ("redis", 93.0, 1.0), ("target", 49.0, 1.0)];
        assert_eq!(found([100.0, 50.0], &services), redis);
    }

    #[test]
    fn a_rate_near_the_calibrated_one_is_limited_by_the_generator() {
        let mut round = round([50.0, 50.0], &[("generator", 50.0, 1.0), ("target", 50.0, 1.0)]);
        round.total.rate_per_s = 950.0;
        let of = |can_send| Bottleneck::of(&round, &environment(), can_send, &[]);
        assert_eq!(of(Some(1_000.0)), Some(Bottleneck::Generator));
        assert_eq!(of(Some(10_000.0)), Some(Bottleneck::Nobody));
    }

    #[test]
    fn a_full_link_is_the_bottleneck_if_no_cpu_is() {
        let of = |generator, busy_percent| {
            let mut round = round([95.0, 95.0], &[("generator", generator, 1.0)]);
            round.machine.fullest_link = Some(LinkRecord { name: "eth0".to_owned(), busy_percent });
            Bottleneck::of(&round, &environment(), None, &[])
        };
        assert_eq!(of(30.0, 94.0), Some(Bottleneck::Network));
        assert_eq!(of(30.0, 60.0), None);
        assert_eq!(of(95.0, 94.0), Some(Bottleneck::Generator));
    }

    #[test]
    fn a_remote_server_is_never_named_as_the_bottleneck() {
        assert_eq!(found([30.0, 30.0], &[("generator", 20.0, 1.0)]), None);
        let starved = Bottleneck::of(
            &round([99.0, 99.0], &[("generator", 150.0, 45.0)]),
            &Environment { cores: 2, ..Environment::default() },
            None,
            &[],
        );
        assert_eq!(starved, Some(Bottleneck::Generator));
        assert_eq!(found([0.0, 0.0], &[]), None);
    }

    #[test]
    fn the_bottleneck_of_most_rounds_is_that_of_the_target() {
        let of = |all: &[Option<Bottleneck>]| {
            let rounds = all
                .iter()
                .map(|one| RoundRecord { bottleneck: one.clone(), ..RoundRecord::default() });
            Bottleneck::of_most(&rounds.collect::<Vec<_>>())
        };
        let (target, generator) = (Some(Bottleneck::Target), Some(Bottleneck::Generator));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[None, target.clone(), target.clone(), generator.clone()]), target);
        assert_eq!(of(&[target, generator.clone()]), generator);
        // A server at a URL has no other bottleneck that is known.
        assert_eq!(of(&[None, generator, None]), None);
    }

    #[test]
    fn workers_elsewhere_are_the_generator() {
        let strain = |used, waited, busy, throttled| WorkerRecord {
            errors: Some(0),
            users: 10,
            cpu_percent: used,
            cpu_wait_percent: waited,
            cpus_busy_percent: busy,
            throttled_percent: throttled,
            worker: 0,
            host: None,
            cpus: None,
            rtt_ms: None,
            requests: 0,
            snapshots: 0,
            lag_mean_ms: None,
            lag_max_ms: None,
            seconds: 0,
            late_seconds: 0,
        };
        let found = |workers: &[WorkerRecord]| {
            Bottleneck::of(&round([0.0; 2], &[]), &environment(), None, workers)
        };
        let alone = |used, waited, busy, throttled| {
            found(&[strain(Some(used), Some(waited), busy, throttled)])
        };
        let limited = Some(Bottleneck::Generator);
        assert_eq!(alone(90.0, 0.0, Some(90.0), None), limited);
        assert_eq!(alone(50.0, 45.0, Some(95.0), None), limited, "others used the rest");
        assert_eq!(alone(50.0, 45.0, None, None), limited, "they may have");
        assert_eq!(alone(50.0, 45.0, Some(75.0), None), None, "threads waited for each other");
        assert_eq!(alone(20.0, 0.0, Some(20.0), Some(50.0)), limited, "stopped by a limit");
        assert_eq!(alone(50.0, 0.0, Some(95.0), Some(40.0)), None);
        assert_eq!(found(&[strain(None, None, None, None)]), None, "it reported nothing");
        // A limit of one of ten says nothing of the others, and a large idle host frees nobody.
        let with = |users, percent: f64| {
            let percent = Some(percent);
            WorkerRecord { users, ..strain(percent, Some(0.0), percent, None) }
        };
        assert_eq!(found(&[with(1, 98.0), with(9, 3.0)]), None);
        assert_eq!(found(&[with(2, 98.0), with(2, 98.0), with(3, 3.0)]), limited);
    }
}
