//! Describes a comparison of saved runs.

use super::capacity::figure;
use super::interval::aligned_plus_minus;
use super::latencies;
use super::ratio::{times, what_it_takes};
use crate::record::{ComparedTarget, Pair, Placing, RankedBy, RunsRecord, Unlike};
use crate::text::{count, milliseconds, rate};

/// Warning that belongs to every comparison of saved runs.
const INTERLEAVED: &str = "the runs were not interleaved: the differences include all else that changed \
                           between the runs, such as other load on the machine";

pub(crate) fn headline(record: &RunsRecord) -> String {
    let names: Vec<&str> = record.runs.iter().skip(1).map(|run| run.name.as_str()).collect();
    let first = record.runs.first().map_or("", |run| run.name.as_str());
    let scenario = record.runs.first().map_or("", |run| run.scenario.as_str());
    format!("{scenario}: {} compared with {first}", names.join(", "))
}

pub(crate) fn row(record: &RunsRecord, one: &ComparedTarget, name: String) -> Vec<String> {
    let placing = placing(record, one);
    let answered = placing.map_or("–".to_owned(), |placing| {
        let mean = placing.rate_per_s;
        rate(mean) + &aligned_plus_minus(mean, placing.confidence_95_per_s)
    });
    let latency = &one.latency_us;
    let cpu = one.cpu_us_per_request.map_or("–".to_owned(), rate);
    if let Some(capacity) = &one.capacity {
        let knee = one.knee_per_s.map_or("–".to_owned(), rate);
        let [p50, p99] = [latency.p50, latency.p99].map(milliseconds);
        return vec![name, figure(capacity), knee, p50, p99, cpu];
    }
    vec![
        name,
        answered,
        count(one.errors),
        milliseconds(latency.p50),
        milliseconds(latency.p95),
        milliseconds(latency.p99),
        milliseconds(latency.max),
        cpu,
    ]
}

pub(crate) fn placing<'a>(record: &'a RunsRecord, one: &ComparedTarget) -> Option<&'a Placing> {
    record.comparison.ranking.iter().find(|placing| placing.target == one.name)
}

/// Returns the ratio of the later run to the first, and the lower and upper end of the ratio's 95 %
/// confidence interval. A ratio above 1 means that the later run is better. `None` where unknown.
pub(crate) fn to_first(pair: &Pair, later: &ComparedTarget) -> [Option<f64>; 3] {
    let [low, high] = pair.confidence_95.map_or([None; 2], |ends| ends.map(Some));
    match pair.better == later.name {
        true => [pair.ratio, low, high],
        false => [pair.ratio, high, low].map(|value| value.map(|value| 1.0 / value)),
    }
}

/// Compares each target in each later run with the same target in the first run, in a sentence
/// each.
pub(crate) fn conclusion(record: &RunsRecord) -> Vec<String> {
    let later = || record.targets.iter().filter(|one| record.is_later(one));
    let found = later().map(|one| format!("{}: {}", one.target, found(record, one)));
    found.chain(later().flat_map(|one| by_latency(record, one))).collect()
}

/// Compares the latencies of a target in a later run with those in the first run, or says why they
/// are not compared; empty if no difference is shown.
fn by_latency(record: &RunsRecord, later: &ComparedTarget) -> Vec<String> {
    let comparison = &record.comparison;
    let Some(first) = record.in_first(later) else { return Vec::new() };
    if record.against_first(later).is_none() {
        return Vec::new();
    }
    let said =
        latencies::sentence(comparison, [&later.name, &first.name], [&later.run, &first.run]);
    let run = |name: &str| if name == later.name { later.run.clone() } else { first.run.clone() };
    let lacking = latencies::lacking(comparison, &[&later.name, &first.name], run);
    let all = said.into_iter().chain(lacking);
    all.map(|sentence| format!("{}: {sentence}", later.target)).collect()
}

fn found(record: &RunsRecord, later: &ComparedTarget) -> String {
    let first = record.runs.first().map_or("", |run| run.name.as_str());
    let run = &later.run;
    let pair = record.against_first(later);
    let compared = pair.and_then(|pair| {
        let [Some(ratio), Some(low), Some(high)] = to_first(pair, later) else { return None };
        Some((pair, [ratio, low, high]))
    });
    let Some((pair, [ratio, low, high])) = compared else {
        return format!("{run} and {first} are not compared: {}", record.why_not(later));
    };
    if !pair.shown {
        let none = format!("no difference between {run} and {first} could be shown");
        return none + &what_it_takes(pair);
    }
    let [ratio, low, high] = times([ratio, low, high]);
    match record.comparison.ranked_by {
        RankedBy::Answers => {
            format!("{run} serves {ratio} times the requests of {first} ({low}–{high})")
        }
        RankedBy::Speed => {
            format!("{run} answers {ratio} times as fast as {first} ({low}–{high}), by the median")
        }
        RankedBy::Capacity => {
            format!("{run} carries {ratio} times the rate of {first} ({low}–{high})")
        }
    }
}

pub(crate) fn warnings(record: &RunsRecord) -> Vec<String> {
    let names: Vec<&str> = record.runs.iter().map(|run| run.name.as_str()).collect();
    let unlike = record.unlike.iter().map(|Unlike { what, values }| {
        let each = names
            .iter()
            .zip(values)
            .map(|(name, value)| format!("{} in {name}", value.as_deref().unwrap_or("nothing")));
        format!("{what} differs: {}", each.collect::<Vec<_>>().join(", "))
    });
    let verdicts = record.runs.iter().flat_map(|run| {
        run.verdicts.iter().map(move |verdict| {
            let who = verdict.target.as_ref().map(|t| format!("{t}: ")).unwrap_or_default();
            format!("{}: {who}{}", run.name, verdict.coded())
        })
    });
    let cut = record.runs.iter().flat_map(|run| {
        let degraded = run.degraded.iter().map(move |why| format!("{}: degraded: {why}", run.name));
        let interrupted = run.interrupted.then(|| {
            format!("{}: interrupted: the results are those from before the interruption", run.name)
        });
        degraded.chain(interrupted)
    });
    let absent =
        record.absent.iter().map(|it| format!("{}: {} was not measured", it.run, it.target));
    let first = names.first().copied().unwrap_or_default();
    let unknown = record.sent_unknown.iter().map(|run| {
        format!(
            "it is unknown whether {run} and {first} sent the same requests: an earlier version of \
             loadgen saved at least one of them"
        )
    });
    let in_stages = record.runs.iter().filter(|run| run.in_stages).map(|run| {
        format!(
            "{} was measured until its intervals were narrow (--precision), for which the test between runs \
             does not allow: it claims a difference too often",
            run.name
        )
    });
    let all = [INTERLEAVED.to_owned()]
        .into_iter()
        .chain(in_stages)
        .chain(unknown)
        .chain(unlike)
        .chain(verdicts);
    all.chain(cut).chain(absent).collect()
}
