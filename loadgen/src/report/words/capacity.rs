//! Describes the results of a search for capacities.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use super::conclusion::conclude;
use super::interval::aligned_plus_minus;
use super::left_out;
use crate::analysis::verdicts::{cpus_of_test, is_disturbed};
use crate::analysis::{Loaded, Plateau, Uncertain, uncertain};
use crate::record::{
    Bottleneck, Bound, Capacity, CapacityRecord, CapacityTarget, Placing, TrialRecord, VerdictKind,
};
use crate::text::{counted, duration, milliseconds, precise, rate};

/// Describes the search: its scenario and its parameters.
pub(crate) fn headline(record: &CapacityRecord) -> String {
    let search = &record.search;
    let seconds = |s: f64| duration(Duration::try_from_secs_f64(s).unwrap_or_default());
    let mut text =
        format!("{}: capacity in the open model ({}), ", record.scenario, search.arrivals);
    let _ = match search.rounds {
        1 => write!(text, "one search"),
        n => write!(text, "{n} searches"),
    };
    let _ = write!(
        text,
        " to a precision of {} % by trials of {} after {} of warm-up",
        precise(search.precision_percent),
        seconds(search.duration_s),
        seconds(search.warmup_s)
    );
    let _ = match search.workers {
        0 => Ok(()),
        n => write!(text, ", {}", counted(n.into(), "worker")),
    };
    text
}

/// Names the conditions under which a rate passes.
pub(crate) fn what_passes(record: &CapacityRecord) -> String {
    format!(
        "a rate passes if the target carries the rate and these thresholds hold: {}",
        record.search.criteria.join(", ")
    )
}

/// Formats a capacity in requests/s: `1,210 ± 3 %`, or a bound such as `≥ 1,210`, or `–` if
/// unknown.
pub(crate) fn figure(capacity: &Capacity) -> String {
    let Some(per_s) = capacity.rate_per_s else { return "–".to_owned() };
    match capacity.bound {
        Bound::Found => rate(per_s) + &aligned_plus_minus(per_s, capacity.confidence_95_per_s),
        Bound::AtLeast | Bound::Unknown => format!("≥ {}", rate(per_s)),
        Bound::Below => format!("< {}", rate(per_s)),
    }
}

/// Returns the name of a target, its capacity, and the knee of its curve with the latencies there, in
/// ms.
pub(crate) fn row(target: &CapacityTarget) -> Vec<String> {
    let knee = target.knee.as_ref();
    vec![
        target.name.clone(),
        figure(&target.capacity),
        knee.map_or("–".to_owned(), |knee| rate(knee.rate_per_s)),
        milliseconds(knee.and_then(|knee| knee.latency_us.p50)),
        milliseconds(knee.and_then(|knee| knee.latency_us.p99)),
    ]
}

/// Describes the capacity of each target, and compares each pair of neighbours in the ranking.
pub(crate) fn conclusion(record: &CapacityRecord) -> Vec<String> {
    let found = record.targets.iter();
    let found =
        found.filter_map(|target| Some(format!("{} {}", target.name, bound(record, target)?)));
    let mut out: Vec<String> = found.collect();
    if let Some(comparison) = &record.comparison {
        let two = comparison.ranking.windows(2);
        let pair = |two: &[Placing]| comparison.pair(&two[0].target, &two[1].target);
        out.extend(conclude(&two.filter_map(pair).collect::<Vec<_>>(), &[], comparison));
    }
    out
}

/// Describes the capacity of one target; `None` if the capacity is unknown. Where targets are
/// compared, also `None` unless the capacity is only a bound, because the table shows other
/// capacities.
fn bound(record: &CapacityRecord, target: &CapacityTarget) -> Option<String> {
    let per_s = rate(target.capacity.rate_per_s?);
    let interval = target
        .capacity
        .confidence_95_per_s
        .map_or(String::new(), |[low, high]| format!(" ({}–{})", rate(low), rate(high)));
    match target.capacity.bound {
        Bound::Found if record.comparison.is_some() => None,
        Bound::Found => Some(format!("carries {per_s} requests/s{interval}")),
        Bound::AtLeast => {
            let (who, help) = limits(target);
            Some(format!(
                "carries at least {per_s} requests/s: above that rate {who} may have been the limit, so \
                 this bound is compared with no other target{help}"
            ))
        }
        Bound::Unknown => {
            Some(format!("carries at least {per_s} requests/s: the search did not finish"))
        }
        Bound::Below => Some(format!(
            "passed at no rate in {} of {} searches, down to {}/s, the lowest rate that trials of {} can \
             judge: see the reasons below; lower rates need longer trials",
            target.rounds.iter().filter(|round| round.bound == Bound::Below).count(),
            target.rounds.len(),
            rate(record.search.lowest_per_s),
            duration(Duration::try_from_secs_f64(record.search.duration_s).unwrap_or_default())
        )),
    }
}

/// Lists what a reader must know before believing the result.
pub(crate) fn warnings(record: &CapacityRecord) -> Vec<String> {
    let mut out = Vec::new();
    if !record.search.left_out.is_empty() {
        let ignored = record.search.left_out.join(", ");
        out.push(format!("{ignored}: ignored, because the search looks for the rate"));
    }
    out.extend(record.left_out.iter().map(|(target, why)| left_out(target, why)));
    let trials = || record.targets.iter().flat_map(|target| &target.trials);
    let together = trials().filter(|trial| trial.other_loadgen).count();
    let cpus = cpus_of_test(&record.environment);
    let others = trials().filter_map(|trial| trial.others_percent);
    let disturbed: Vec<f64> = others.filter(|percent| is_disturbed(*percent, cpus)).collect();
    if let Some(most) = disturbed.iter().copied().max_by(f64::total_cmp) {
        out.push(VerdictKind::Disturbed.coded(&format!(
            "other programs used up to {most:.0} % of a core on the CPUs of the test, in {} of {} trials",
            disturbed.len(),
            trials().count()
        )));
    }
    if together > 0 {
        out.push(VerdictKind::MeasuredTogether.coded(&format!(
            "another loadgen measured on this machine at the same time, in {together} of {} trials",
            trials().count()
        )));
    }
    out.extend(record.targets.iter().filter_map(|target| uncertainty(record, target)));
    if let Some(degraded) = &record.degraded {
        out.push(format!("degraded: {}", degraded.reason));
    }
    if record.interrupted {
        out.push("interrupted: the results are those from before the interruption".to_owned());
    }
    out
}

/// Says why the capacity of a target is uncertain, and what makes it less so; `None` if it is not.
fn uncertainty(record: &CapacityRecord, target: &CapacityTarget) -> Option<String> {
    let longer = duration(Duration::try_from_secs_f64(4.0 * record.search.duration_s).ok()?);
    let why = match uncertain(target)? {
        Uncertain::FewRounds(rounds) => format!(
            "{rounds} searches are few for an interval: search more often, with --rounds 5 or more"
        ),
        Uncertain::Trend { first_per_s, last_per_s } => {
            let (more, what) = match last_per_s > first_per_s {
                true => ("more", "warmed up, or the machine became free"),
                false => ("less", "filled up or slowed down, or the machine became busy"),
            };
            format!(
                "each search found {more} than the search before, from {}/s to {}/s, as if something \
                 {what}: search again, with a longer --warmup",
                rate(first_per_s),
                rate(last_per_s)
            )
        }
        Uncertain::Disputed { failed_per_s, passed_per_s, trials, passed } => format!(
            "the searches contradict each other: one search failed at {}/s, another passed at {}/s, \
             and {passed} of {trials} trials between passed. Either server and machine were not \
             steady, or the thresholds' values hardly depend on the rate there: hold the rates \
             longer, with --duration {longer}, and search more often, with --rounds {}",
            rate(failed_per_s),
            rate(passed_per_s),
            2 * record.search.rounds
        ),
        Uncertain::Coarse => format!(
            "a precision of {} % is coarse: search with a smaller --precision",
            precise(record.search.precision_percent)
        ),
    };
    Some(format!("the capacity of {} is uncertain: {why}", target.name))
}

/// Names the backends or the network that may have limited the failed trials, or loadgen itself.
/// Also returns a remedy, which is empty unless loadgen itself may have been the limit.
fn limits(target: &CapacityTarget) -> (String, &'static str) {
    let who: BTreeSet<&str> = decisive(target)
        .filter_map(|trial| match &trial.bottleneck {
            Some(Bottleneck::Backend(name)) => Some(name.as_str()),
            Some(Bottleneck::Network) => Some("the network"),
            _ => trial.generator_limited.then_some("loadgen itself"),
        })
        .collect();
    let help = "; give the generator more cores, or use --workers";
    match who.is_empty() || who.contains("loadgen itself") {
        true => ("loadgen itself".to_owned(), help),
        false => (who.into_iter().collect::<Vec<_>>().join(" or "), ""),
    }
}

/// Says what limits each target's capacity.
pub(crate) fn endings(record: &CapacityRecord) -> Vec<String> {
    let each = |target| ending(target).into_iter().chain(queue(record, target));
    record.targets.iter().flat_map(each).collect()
}

/// Describes a server that answered no more requests at a higher rate, although no CPU or link was
/// at its limit. `None` if the trials do not show this behaviour.
fn queue(record: &CapacityRecord, target: &CapacityTarget) -> Option<String> {
    let clear = target
        .trials
        .iter()
        .filter(|trial| trial.bottleneck == Some(Bottleneck::Nobody) && trial.total.errors == 0);
    let loaded = |trial: &TrialRecord| {
        Some(Loaded {
            amount: trial.rate_per_s,
            rate_per_s: trial.total.rate_per_s,
            latency_s: trial.total.latency_us.p50? as f64 / 1e6,
        })
    };
    let found = Plateau::of(&clear.filter_map(loaded).collect::<Vec<_>>())?;
    // With fewer users, the users themselves might be the limit.
    let is_servers = |served: &f64| f64::from(record.search.users) >= 2.0 * served;
    let (served, least) = (found.served().filter(is_servers)?, found.least?);
    Some(format!(
        "{} answered {} of {} requests/s and {} of {} requests/s, although no CPU or link was at its limit: by \
         Little's law, with {} ms for a response at {}/s, the server worked on at most about {served:.0} \
         requests at a time",
        target.name,
        rate(found.from.rate_per_s),
        rate(found.from.amount),
        rate(found.to.rate_per_s),
        rate(found.to.amount),
        milliseconds(Some((least.latency_s * 1e6) as u64)),
        rate(least.amount)
    ))
}

/// Returns the trials that failed above all rates that passed. A failure below such a rate was bad luck,
/// such as a cold start, and says nothing about the capacity.
fn decisive(target: &CapacityTarget) -> impl Iterator<Item = &TrialRecord> {
    let passed = target.trials.iter().filter(|trial| trial.passed);
    let highest = passed.map(|trial| trial.rate_per_s).fold(0.0, f64::max);
    target.trials.iter().filter(move |trial| !trial.passed && trial.rate_per_s > highest)
}

/// Says why the lowest of the decisive rates failed; `None` if no rate failed.
fn ending(target: &CapacityTarget) -> Option<String> {
    let lowest = decisive(target).min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let who = match &lowest.bottleneck {
        _ if lowest.generator_limited => ", with the generator at its limit".to_owned(),
        Some(Bottleneck::Backend(name)) => format!(", with {name} at its limit"),
        Some(Bottleneck::Network) => ", with the network at its limit".to_owned(),
        Some(Bottleneck::Target) => ", with the server at its limit".to_owned(),
        Some(Bottleneck::Nobody) => ", with no CPU or link at its limit".to_owned(),
        Some(Bottleneck::Generator) | None => String::new(),
    };
    let at = format!("{} failed at {}/s{who}", target.name, rate(lowest.rate_per_s));
    Some(format!("{at}: {}", lowest.reasons.join("; ")))
}
