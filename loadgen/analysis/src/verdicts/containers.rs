//! Checks the effects of containers' limits.

use std::collections::BTreeMap;

use super::verdict;
use crate::record::{LimitsRecord, RunRecord, TargetRecord, Verdict, VerdictKind};

/// Least share of throttled periods, in %, that leads to a verdict: the CPU limit then affects the
/// container's latencies.
const THROTTLED_PERCENT: f64 = 1.0;

/// Returns a verdict that names the containers that were stopped for part of the time, because they
/// had used up their CPU limit.
pub(super) fn throttled(target: &TargetRecord) -> Option<Verdict> {
    let stopped = target.resources.iter().filter_map(|(name, used)| {
        let percent = used.container?.throttled_periods_percent;
        (percent >= THROTTLED_PERCENT).then(|| format!("{name} in {percent:.0} % of its periods"))
    });
    let stopped: Vec<String> = stopped.collect();
    if stopped.is_empty() {
        return None;
    }
    let message = format!("a CPU limit stopped {}", stopped.join(", "));
    let advice = "these latencies are those of a server that pauses: raise the limit with --cpus or \
                  --backend-cpus to measure without pauses";
    Some(verdict(target, VerdictKind::Throttled, message, advice))
}

/// Returns a verdict if targets ran with different limits of CPU or memory, over all replicas of a
/// target together.
pub(super) fn unlike_limits(record: &RunRecord) -> Option<Verdict> {
    let limits = |target: &TargetRecord| {
        let each = record.environment.limits.get(&target.target).copied().unwrap_or_default();
        each.of_all(target.server.replicas.unwrap_or(1))
    };
    let of: BTreeMap<&str, LimitsRecord> =
        record.targets.iter().map(|target| (target.target.as_str(), limits(target))).collect();
    let mut all = of.values();
    let first = all.next()?;
    if all.all(|other| other == first) {
        return None;
    }
    let each: Vec<String> = of.iter().map(|(name, limits)| format!("{name} {limits}")).collect();
    Some(Verdict {
        kind: VerdictKind::UnlikeLimits,
        target: None,
        message: format!("targets had different limits: {}", each.join("; ")),
        advice: "set the same limits for all targets before you compare them, unless the limits \
                 are what you compare"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Environment;

    fn said(limits: &[(&str, LimitsRecord)]) -> Option<String> {
        let target = |name: &str| TargetRecord { target: name.to_owned(), ..Default::default() };
        let limits = limits.iter().map(|(name, limits)| ((*name).to_owned(), *limits)).collect();
        let record = RunRecord {
            targets: ["flask", "sanic"].map(target).into(),
            environment: Environment { limits, ..Environment::default() },
            ..RunRecord::default()
        };
        unlike_limits(&record).map(|verdict| verdict.message)
    }

    #[test]
    fn targets_with_different_limits_are_reported() {
        let half = LimitsRecord { cpus: Some(0.5), memory_bytes: Some(1 << 30) };
        let whole = LimitsRecord { cpus: Some(1.0), ..half };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[("flask", half), ("sanic", half)]), None);
        assert_eq!(
            said(&[("flask", half), ("sanic", whole)]).unwrap(),
            "targets had different limits: flask 0.5 CPUs, 1 GiB; sanic 1 CPU, 1 GiB"
        );
        assert_eq!(
            said(&[("sanic", half)]).unwrap(),
            "targets had different limits: flask no limit; sanic 0.5 CPUs, 1 GiB"
        );
    }
}
