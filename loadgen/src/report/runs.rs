//! Saved runs held against each other, as people and programs read it.

use super::capacity::figure;
use super::csv::{known, table as csv_table};
use super::format::{count, half_width, milliseconds, paragraphs, precise, rate, wrap};
use super::markdown::{escaped, list, sections, table as markdown_table, titled};
use super::ratio::{times, what_it_takes};
use super::table::lay_out;
use crate::measure::{
    Bound, Capacity, ComparedTarget, Pair, Placing, RankedBy, RunsRecord, Unlike,
};

const HEADER: [&str; 8] =
    ["", "requests/s", "errors", "p50", "p95", "p99", "max", "CPU-µs/request"];
const CAPACITIES: [&str; 6] = ["", "capacity/s", "knee/s", "p50", "p99", "CPU-µs/request"];

/// What all of it rests on.
const INTERLEAVED: &str = "the runs were not interleaved: whatever else changed between them, such as \
                           a neighbour on the machine, is in these differences";

/// The table, what it means, and what else differs, within 80 columns where names allow.
#[must_use]
pub fn compared(record: &RunsRecord) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut before = None;
    for one in &record.targets {
        if before != Some(&one.target) {
            rows.push(vec![one.target.clone()]);
        }
        before = Some(&one.target);
        rows.push(row(record, one, format!("  {}", one.run)));
    }
    let (header, legend) = match record.comparison.ranked_by {
        RankedBy::Capacity => (
            &CAPACITIES[..],
            "capacity: the highest rate that passes, ± its 95 % confidence interval; knee: where throughput \
             over mean latency is greatest; above, the latencies there, in ms, and the server's CPU time",
        ),
        _ => (
            &HEADER[..],
            "requests/s counts expected answers only, ± its 95 % confidence interval; latencies in ms; CPU \
             time for an expected answer is the server's",
        ),
    };
    let warnings: String = warnings(record).iter().map(|what| wrap(" ! ", what)).collect();
    let parts = [
        wrap("", &headline(record)),
        lay_out(header, &rows) + "\n" + &wrap(" ", legend),
        paragraphs(&conclusion(record)),
        judgement(record).iter().map(|what| wrap(" ", what)).collect(),
        warnings,
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

/// The same as Markdown.
#[must_use]
pub fn compared_markdown(record: &RunsRecord) -> String {
    let each = record.targets.iter();
    let rows: Vec<Vec<String>> = each.map(|one| row(record, one, one.name.clone())).collect();
    let header: &[&str] = match record.comparison.ranked_by {
        RankedBy::Capacity => {
            &["", "capacity/s", "knee/s", "p50 there, ms", "p99 there, ms", "CPU-µs/request"]
        }
        _ => &[
            "",
            "requests/s",
            "errors",
            "p50, ms",
            "p95, ms",
            "p99, ms",
            "max, ms",
            "CPU-µs/request",
        ],
    };
    sections(&[
        format!("**{}**", escaped(&headline(record))),
        markdown_table(header, &rows),
        list(conclusion(record).into_iter().chain(judgement(record))),
        titled("Before you believe it:", list(warnings(record))),
    ])
}

/// A row for each target in each run, and what it is to the same target in the first.
#[must_use]
pub fn compared_csv(record: &RunsRecord) -> String {
    csv_table(|writer| {
        writer.write_record([
            "target",
            "run",
            "requests",
            "errors",
            "rate_per_s",
            "rate_95_low_per_s",
            "rate_95_high_per_s",
            "p50_us",
            "p95_us",
            "p99_us",
            "cpu_us_per_request",
            "to_first",
            "to_first_95_low",
            "to_first_95_high",
            "shown",
            "bound",
        ])?;
        for one in &record.targets {
            let (per_s, interval) = match (&one.capacity, placing(record, one)) {
                (Some(capacity), _) => (capacity.rate_per_s, capacity.confidence_95_per_s),
                (None, Some(placing)) => (Some(placing.rate_per_s), placing.confidence_95_per_s),
                (None, None) => (None, None),
            };
            let pair = Some(one).filter(|one| record.is_later(one));
            let pair = pair.and_then(|one| record.against_first(one));
            let [ratio, low, high] = pair.map(|pair| to_first(pair, one)).unwrap_or_default();
            writer.write_record([
                one.target.clone(),
                one.run.clone(),
                one.requests.to_string(),
                one.errors.to_string(),
                known(per_s),
                known(interval.map(|[low, _]| low)),
                known(interval.map(|[_, high]| high)),
                known(one.latency_us.p50),
                known(one.latency_us.p95),
                known(one.latency_us.p99),
                known(one.cpu_us_per_request),
                known(ratio),
                known(low),
                known(high),
                known(pair.map(|pair| pair.shown)),
                one.capacity.map_or("", |capacity| bound(&capacity)).to_owned(),
            ])?;
        }
        Ok(())
    })
}

/// As the record calls it.
fn bound(capacity: &Capacity) -> &'static str {
    match capacity.bound {
        Bound::Found => "found",
        Bound::AtLeast => "at_least",
        Bound::Below => "below",
        Bound::Unknown => "unknown",
    }
}

fn headline(record: &RunsRecord) -> String {
    let names: Vec<&str> = record.runs.iter().skip(1).map(|run| run.name.as_str()).collect();
    let first = record.runs.first().map_or("", |run| run.name.as_str());
    let scenario = record.runs.first().map_or("", |run| run.scenario.as_str());
    format!("{scenario}: {} against {first}", names.join(", "))
}

fn row(record: &RunsRecord, one: &ComparedTarget, name: String) -> Vec<String> {
    let placing = placing(record, one);
    let answered = match placing.and_then(|p| Some((p.rate_per_s, p.confidence_95_per_s?))) {
        Some((mean, [_, high])) if mean > 0.0 => {
            format!("{} ±{}", rate(mean), half_width(mean, high))
        }
        _ => placing.map_or("–".to_owned(), |placing| rate(placing.rate_per_s)),
    };
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

fn placing<'a>(record: &'a RunsRecord, one: &ComparedTarget) -> Option<&'a Placing> {
    record.comparison.ranking.iter().find(|placing| placing.target == one.name)
}

/// The ratio of the later to the first, and the ends of its interval.
fn to_first(pair: &Pair, later: &ComparedTarget) -> [Option<f64>; 3] {
    let [low, high] = pair.confidence_95.map_or([None; 2], |ends| ends.map(Some));
    match pair.better == later.name {
        true => [pair.ratio, low, high],
        false => [pair.ratio, high, low].map(|value| value.map(|value| 1.0 / value)),
    }
}

/// A sentence for each target and later run.
fn conclusion(record: &RunsRecord) -> Vec<String> {
    let later = record.targets.iter().filter(|one| record.is_later(one));
    later.map(|one| format!("{}: {}", one.target, found(record, one))).collect()
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

/// Who lost more than the limit, where there is one.
fn judgement(record: &RunsRecord) -> Vec<String> {
    let Some(limit) = record.limit_percent else { return Vec::new() };
    let lost = match record.comparison.ranked_by {
        RankedBy::Answers => "serves less",
        RankedBy::Speed => "answers slower",
        RankedBy::Capacity => "carries less",
    };
    let regressions = record.regressions.iter().map(|it| {
        let (target, run, percent) =
            (&it.target, &it.run, precise((it.percent * 10.0).round() / 10.0));
        format!("regression: {target} {lost} by {percent} % in {run}; {limit} % are allowed")
    });
    let unjudged = record.unjudged.iter().map(|why| format!("not judged: {why}"));
    let all: Vec<String> = regressions.chain(unjudged).collect();
    match all.is_empty() {
        true => vec![format!("no regression of more than {limit} % was shown")],
        false => all,
    }
}

fn warnings(record: &RunsRecord) -> Vec<String> {
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
            format!("{}: {who}{}", run.name, verdict.message)
        })
    });
    let cut = record.runs.iter().flat_map(|run| {
        let degraded = run.degraded.iter().map(move |why| format!("{}: degraded: {why}", run.name));
        let interrupted = run.interrupted.then(|| {
            format!("{}: interrupted: only what was measured until then is here", run.name)
        });
        degraded.chain(interrupted)
    });
    let absent =
        record.absent.iter().map(|it| format!("{}: {} was not measured", it.run, it.target));
    let first = names.first().copied().unwrap_or_default();
    let unknown = record.sent_unknown.iter().map(|run| {
        format!("whether {run} sent the same as {first} is unknown: not both were saved by a version that tells")
    });
    let all = [INTERLEAVED.to_owned()].into_iter().chain(unknown).chain(unlike).chain(verdicts);
    all.chain(cut).chain(absent).collect()
}
