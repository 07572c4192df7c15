//! Checks whether each worker kept up with its share of the load, and reached the server.

use super::verdict;
use crate::record::{RunRecord, TargetRecord, Verdict, VerdictKind, WorkerRecord};
use loadgen_measure::LATE;
use loadgen_text::{counted, listed};

/// Least utilization of a worker's CPUs, in %, at which the worker counts as fully busy.
const BUSY_PERCENT: f64 = 90.0;

/// Least number of seconds with a late timer, and their least share of all seconds (0 to 1), for a
/// worker to count as late. Both conditions must be met.
const LATE_SECONDS: u32 = 3;
const LATE_SHARE: f64 = 0.1;

/// Least share of throttled periods, in %, at which the limit of CPU shows in what a worker measures.
const THROTTLED_PERCENT: f64 = 1.0;

/// Least mean number of successful requests of the other workers from which a worker without any is no chance.
const SUCCESSES: u64 = 10;

/// Returns a verdict that names the workers on other hosts of which no request succeeded, while those of others did. A
/// lost worker is told of elsewhere.
pub(super) fn worker_without_success(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    let successes = |of: &WorkerRecord| of.requests.saturating_sub(of.errors.unwrap_or(0));
    let with_users = target.workers.iter().filter(|of| of.users > 0);
    let (without, with): (Vec<_>, Vec<_>) = with_users.partition(|of| successes(of) == 0);
    let all: u64 = with.iter().map(|of| successes(of)).sum();
    let each = all.checked_div(with.len() as u64)?;
    if each < SUCCESSES || record.degraded.is_some() {
        return None;
    }
    let named = without.iter().filter_map(|of| {
        let place = format!("worker {} on {}", of.worker, of.host.as_ref()?);
        Some(match of.requests {
            0 => format!("no request of {place} ended"),
            _ => format!("all {} of {place} failed", counted(of.requests, "request")),
        })
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return None;
    }
    let named = listed(&named, "; ");
    let message =
        format!("{named}, but {} of each other worker succeeded", counted(each, "request"));
    let advice = "try the server from that host: a name, a route or a firewall may keep it away, unless the users of that \
                  worker had longer requests than the others; the figures are those of less load than planned, or of \
                  failures that may not be the server's";
    Some(verdict(target, VerdictKind::WorkerWithoutSuccess, message, advice))
}

/// Returns a verdict that names the workers that could not keep up. The latencies that a slow
/// worker measures include the worker's own delays.
pub(super) fn slow_worker(target: &TargetRecord) -> Option<Verdict> {
    let slow: Vec<String> = target.workers.iter().filter_map(why_slow).collect();
    if slow.is_empty() {
        return None;
    }
    let advice = "latencies from slow workers include the workers' own delays, and slow workers may have \
                  sent fewer requests: give them fewer users, more CPUs or separate hosts, and pods no limit of CPU";
    Some(verdict(target, VerdictKind::SlowWorker, listed(&slow, "; "), advice))
}

/// Returns the reason why a worker did not keep up with its load; `None` if the worker kept up.
fn why_slow(record: &WorkerRecord) -> Option<String> {
    let WorkerRecord { worker, late_seconds, seconds, .. } = record;
    let used = record.cpu_percent.filter(|percent| *percent >= BUSY_PERCENT);
    let used = used.map(|percent| format!("used {percent:.0} % of its CPUs"));
    let busy = used.or_else(|| {
        // Workers on this machine share their CPUs by design: there, the accounts of all threads tell.
        let wanted =
            record.wanted_percent().filter(|_| record.host.is_some() && record.wants_all_cpus())?;
        Some(format!("ran or waited for a CPU for {wanted:.0} % of the time of its CPUs"))
    });
    let is_late = *late_seconds >= LATE_SECONDS
        && f64::from(*late_seconds) >= LATE_SHARE * f64::from(*seconds);
    let late = is_late.then(|| {
        let (limit, most) = (LATE.as_millis(), record.lag_max_ms.unwrap_or_default());
        format!(
            "was delayed by {limit} ms or more in {late_seconds} of {}, by up to \
             {most:.0} ms",
            counted((*seconds).into(), "second")
        )
    });
    let stopped = record.throttled_percent.filter(|percent| *percent >= THROTTLED_PERCENT);
    let stopped = stopped.map(|percent| {
        format!(
            "was stopped by its limit of CPU in {percent:.0} % of the periods in which it computed"
        )
    });
    let reasons: Vec<String> = stopped.into_iter().chain(busy).chain(late).collect();
    (!reasons.is_empty()).then(|| format!("worker {worker} {}", reasons.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(cpu_percent: f64, late_seconds: u32, seconds: u32) -> Option<String> {
        why_slow(&record(cpu_percent, late_seconds, seconds))
    }

    fn record(cpu_percent: f64, late_seconds: u32, seconds: u32) -> WorkerRecord {
        WorkerRecord {
            worker: 2,
            host: None,
            cpus: None,
            rtt_ms: None,
            users: 10,
            requests: 1_000,
            errors: Some(0),
            snapshots: seconds,
            cpu_percent: Some(cpu_percent),
            lag_mean_ms: Some(12.0),
            lag_max_ms: Some(87.4),
            seconds,
            late_seconds,
            throttled_percent: None,
            cpu_wait_percent: None,
            cpus_busy_percent: None,
        }
    }

    #[test]
    fn a_worker_that_does_not_reach_the_server_is_named() {
        let host = Some("load-2".to_owned());
        let of = |requests, errors, others: u64| {
            let lonely =
                WorkerRecord { host: host.clone(), requests, errors, ..record(1.0, 0, 10) };
            let other = WorkerRecord { worker: 3, requests: others, ..record(1.0, 0, 10) };
            let idle = WorkerRecord { users: 0, requests: 0, ..record(1.0, 0, 10) };
            TargetRecord { workers: vec![lonely, other, idle], ..TargetRecord::default() }
        };
        let run = RunRecord::default();
        let said = |target| Some(worker_without_success(&target, &run)?.message);
        assert_eq!(
            said(of(0, Some(0), 10)).unwrap(),
            "no request of worker 2 on load-2 ended, but 10 requests of each other worker succeeded"
        );
        assert_eq!(
            said(of(70, Some(70), 10)).unwrap(),
            "all 70 requests of worker 2 on load-2 failed, but 10 requests of each other worker succeeded"
        );
        assert_eq!(said(of(70, Some(69), 10)), None);
        assert_eq!(said(of(70, None, 10)), None, "an earlier version");
        assert_eq!(said(of(0, Some(0), 9)), None, "it may be chance");
        assert_eq!(said(of(0, Some(0), 0)), None, "the server answers nobody");
        let mut here = of(0, Some(0), 10);
        here.workers[0].host = None;
        assert_eq!(said(here), None, "on this machine");
    }

    #[test]
    fn a_worker_that_its_limit_stops_is_named() {
        let of = |percent| {
            why_slow(&WorkerRecord { throttled_percent: Some(percent), ..record(20.0, 0, 10) })
        };
        assert_eq!(of(0.9), None);
        let said =
            "worker 2 was stopped by its limit of CPU in 31 % of the periods in which it computed";
        assert_eq!(of(31.2).unwrap(), said);
    }

    #[test]
    fn a_worker_whose_cpus_others_use_is_named() {
        let of = |host: Option<&str>, busy| {
            why_slow(&WorkerRecord {
                host: host.map(str::to_owned),
                cpu_wait_percent: Some(45.0),
                cpus_busy_percent: Some(busy),
                ..record(50.0, 0, 10)
            })
        };
        let said = "worker 2 ran or waited for a CPU for 95 % of the time of its CPUs";
        assert_eq!(of(Some("load-1"), 99.0).unwrap(), said);
        assert_eq!(of(Some("load-1"), 80.0), None, "threads that wait for each other");
        assert_eq!(of(None, 99.0), None, "on this machine");
    }

    #[test]
    fn of_many_slow_workers_few_are_named() {
        let workers = vec![record(97.2, 0, 10); 1_000];
        let target = TargetRecord { workers, ..TargetRecord::default() };
        let message = slow_worker(&target).unwrap().message;
        assert!(message.ends_with("; and 990 others"), "{message}");
    }

    #[test]
    fn a_slow_worker_is_named_with_the_reason() {
        assert_eq!(worker(89.9, 2, 10), None);
        assert_eq!(worker(50.0, 3, 31), None, "three seconds of many");
        assert_eq!(worker(97.2, 0, 10).unwrap(), "worker 2 used 97 % of its CPUs");
        assert_eq!(
            worker(97.2, 3, 10).unwrap(),
            "worker 2 used 97 % of its CPUs and was delayed by 50 ms or more in 3 of 10 seconds, \
             by up to 87 ms"
        );
    }
}
