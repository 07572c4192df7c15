//! The tables of a run's page.

use maud::{Markup, html};

use crate::measure::{Placing, RunRecord, Summary, TargetRecord};
use crate::report::format::{count, half_width, megabytes, milliseconds, rate};
use crate::report::ranked::{parentheses, placed, ranked};

/// All targets, best first, each with the interval of its rate, drawn and in figures.
pub fn ranking(record: &RunRecord) -> Markup {
    let rows = ranked(record);
    let highest =
        rows.iter().map(|(target, placing)| ends(target, *placing)[2]).fold(0.0, f64::max);
    let of_lab = rows.iter().any(|(target, _)| target.resources.contains_key("target"));
    let latencies = match record.load.rate_per_s {
        None => "latencies in ms",
        Some(_) => "latencies in ms, from the time for which a request was planned",
    };
    html! {
        section {
            h2 id="ranking" { "Ranking" }
            div.scroll tabindex="0" role="region" aria-labelledby="ranking" {
                table.ranking {
                    caption {
                        span {
                            "Requests/s counts expected answers only, with its 95 % confidence "
                            "interval; " (latencies) (parentheses(record))
                        }
                    }
                    thead {
                        tr {
                            th scope="col" { "Target" }
                            th scope="col" { "Requests/s" }
                            th scope="col" { "95 % interval" }
                            th.drawn scope="col" aria-hidden="true" {}
                            th scope="col" { "Errors" }
                            @for name in ["p50", "p95", "p99", "Max"] { th scope="col" { (name) } }
                            @if of_lab { th scope="col" { "CPU, % of a core" } }
                        }
                    }
                    tbody { @for (target, placing) in &rows { (row(record, target, *placing, highest, of_lab)) } }
                }
            }
        }
    }
}

fn row(
    record: &RunRecord,
    target: &TargetRecord,
    placing: Option<&Placing>,
    highest: f64,
    of_lab: bool,
) -> Markup {
    let [low, mean, high] = ends(target, placing);
    let known = low < high;
    let latency = &target.total.latency_us;
    html! {
        tr {
            th scope="row" { (placed(&target.name, record, target)) }
            td { (rate(mean)) @if known { " ±" (half_width(mean, high).trim()) } }
            td { @if known { (rate(low)) "–" (rate(high)) } @else { "–" } }
            td.drawn aria-hidden="true" { (interval([low, mean, high], highest)) }
            td { (count(target.total.errors)) }
            @for us in [latency.p50, latency.p95, latency.p99, latency.max] { td { (milliseconds(us)) } }
            @if of_lab {
                td { @if let Some(used) = target.resources.get("target") { (count(used.cpu_percent.round() as u64)) } }
            }
        }
    }
}

/// The lower end, the mean and the upper end of a target's rate; all the same where there is no interval.
fn ends(target: &TargetRecord, placing: Option<&Placing>) -> [f64; 3] {
    let mean = placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s);
    match placing.and_then(|placing| placing.confidence_95_per_s) {
        Some([low, high]) => [low, mean, high],
        None => [mean; 3],
    }
}

/// A bar up to the mean, and the interval on it.
fn interval([low, mean, high]: [f64; 3], highest: f64) -> Markup {
    let percent = |value: f64| if highest > 0.0 { 100.0 * value / highest } else { 0.0 };
    let (bar, left, width) = (percent(mean), percent(low), percent(high - low));
    html! {
        div.bar {
            div.mean style=(format!("width:{bar:.1}%")) {}
            div.ends style=(format!("left:{left:.1}%;width:{width:.1}%")) {}
        }
    }
}

/// How each target answered one step, or all where none is named.
pub fn percentiles(record: &RunRecord, step: Option<&str>) -> Markup {
    let summary = |target: &'_ TargetRecord| -> Option<Summary> {
        match step {
            None => Some(target.total.clone()),
            Some(name) => target.steps.iter().find(|step| step.name == name).cloned(),
        }
    };
    let columns =
        ["Requests/s", "Errors", "Mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "Max"];
    html! {
        div.scroll tabindex="0" role="region" aria-label={ "Latencies of " (step.unwrap_or("all steps")) } {
            table {
                caption { span { "Latencies in ms; a percentile is left out that fewer than ten slower requests support" } }
                thead {
                    tr { th scope="col" { "Target" } @for name in columns { th scope="col" { (name) } } }
                }
                tbody {
                    @for (target, _) in ranked(record) {
                        @if let Some(summary) = summary(target) { (latencies(&target.name, &summary)) }
                    }
                }
            }
        }
    }
}

fn latencies(name: &str, summary: &Summary) -> Markup {
    let of = &summary.latency_us;
    let mean = of.mean.map(|us| us.round() as u64);
    let has_none = summary.rate_per_s == 0.0 && summary.requests > summary.errors;
    html! {
        tr {
            th scope="row" { (name) }
            // What users send when they stop has no rate.
            td { @if has_none { "–" } @else { (rate(summary.rate_per_s)) } }
            td { (count(summary.errors)) }
            @for us in [mean, of.p50, of.p90, of.p95, of.p99, of.p99_9, of.p99_99, of.max] {
                td { (milliseconds(us)) }
            }
        }
        @for (kind, example) in &summary.error_examples {
            tr.example {
                td colspan="11" {
                    (count(summary.errors_by_kind.get(kind).copied().unwrap_or(0))) " × " (kind) ": " (example)
                }
            }
        }
    }
}

/// What an expected answer takes of each service, the server's own and then its backends'.
pub fn efficiency(record: &RunRecord) -> Markup {
    let columns =
        ["CPU, % of a core", "CPU-µs/request", "Requests/CPU-s", "Memory, MB", "At most, MB"];
    html! {
        div.scroll tabindex="0" role="region" aria-label="CPU and memory of each service" {
            table {
                caption { span { "CPU is user and system time, over expected answers; memory is resident memory" } }
                thead {
                    tr {
                        th scope="col" { "Target" }
                        th scope="col" { "Service" }
                        @for name in columns { th scope="col" { (name) } }
                    }
                }
                tbody { @for (target, _) in ranked(record) { (services(target)) } }
            }
        }
    }
}

fn services(target: &TargetRecord) -> Markup {
    let mut services: Vec<_> = target.resources.iter().collect();
    services.sort_by_key(|(name, _)| name.as_str() != "target");
    let figure = |value: Option<f64>| value.map_or("–".to_owned(), rate);
    html! {
        @for (name, used) in services {
            tr {
                th scope="row" { (target.name) }
                td.text { @if name == "target" { "server" } @else { (name) } }
                td { (count(used.cpu_percent.round() as u64)) }
                td { (figure(used.cpu_us_per_request)) }
                td { (figure(used.requests_per_cpu_s)) }
                td { (megabytes(used.memory_mean_bytes)) }
                td { (megabytes(used.memory_max_bytes)) }
            }
        }
    }
}
