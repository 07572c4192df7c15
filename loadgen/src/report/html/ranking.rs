//! Builds the tables of a run's page.

use maud::{Markup, html};

use super::table::{Called, table};
use crate::measure::Summary;
use crate::record::{Placing, RunRecord, TargetRecord};
use crate::report::words::duet::shared;
use crate::report::words::interval::plus_minus;
use crate::report::words::ranked::{parentheses, placed, ranked};
use crate::text::{count, megabytes, milliseconds, rate};

/// Returns the ranking as a table: a row for each target, best first, with the confidence interval
/// of the target's rate as a drawing and in figures.
pub(super) fn ranking(record: &RunRecord) -> Markup {
    let rows = ranked(record);
    let scale = scale(rows.iter().map(|(target, placing)| ends(target, *placing)));
    let of_lab = rows.iter().any(|(target, _)| target.resources.contains_key("target"));
    let latencies = match record.load.rate_per_s {
        None => "latencies in ms",
        Some(_) => "latencies in ms, from the planned send of a request",
    };
    let caption = format!(
        "Requests/s counts expected responses only, with its 95 % confidence interval; {latencies}{}{}",
        shared(record).map(|said| format!("; {said}")).unwrap_or_default(),
        parentheses(record)
    );
    let mut columns =
        vec!["Target", "Requests/s", "95 % interval", "", "Errors", "p50", "p95", "p99", "Max"];
    if of_lab {
        columns.push("CPU, % of a core");
    }
    let rows = html! {
        @for (target, placing) in &rows { (row(record, target, *placing, scale, of_lab)) }
    };
    let title = if record.targets.len() == 1 { "Results" } else { "Ranking" };
    html! {
        section {
            h2 id="ranking" { (title) }
            (table(&Called::Heading("ranking"), &caption, &columns, &rows))
        }
    }
}

fn row(
    record: &RunRecord,
    target: &TargetRecord,
    placing: Option<&Placing>,
    scale: f64,
    of_lab: bool,
) -> Markup {
    let [low, mean, high] = ends(target, placing);
    let known = low < high;
    let latency = &target.total.latency_us;
    html! {
        tr {
            th scope="row" { (placed(&target.name, record, target)) }
            td { (rate(mean)) (plus_minus(mean, Some([low, high]).filter(|_| known))) }
            td { @if known { (rate(low)) "–" (rate(high)) } @else { "–" } }
            td.drawn aria-hidden="true" { (interval([low, mean, high], scale)) }
            td { (count(target.total.errors)) }
            @for us in [latency.p50, latency.p95, latency.p99, latency.max] { td { (milliseconds(us)) } }
            @if of_lab {
                td { @if let Some(used) = target.resources.get("target") { (count(used.cpu_percent.round() as u64)) } }
            }
        }
    }
}

/// Returns the lower end of the confidence interval of a target's rate, the mean rate, and the
/// upper end. All three equal the mean where the rate has no confidence interval.
fn ends(target: &TargetRecord, placing: Option<&Placing>) -> [f64; 3] {
    let mean = placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s);
    match placing.and_then(|placing| placing.confidence_95_per_s) {
        Some([low, high]) => [low, mean, high],
        None => [mean; 3],
    }
}

/// Returns the rate at the right end of the drawings: the highest upper end of an interval, but at
/// most twice the highest mean. A very wide interval would make the other bars invisible.
fn scale(ends: impl Iterator<Item = [f64; 3]>) -> f64 {
    let (mean, high) =
        ends.fold((0.0, 0.0), |(m, h): (f64, f64), [_, mean, high]| (m.max(mean), h.max(high)));
    high.min(2.0 * mean)
}

/// Draws a bar from 0 to the mean, with the confidence interval on the bar. The full width is the
/// rate `scale`.
fn interval([low, mean, high]: [f64; 3], scale: f64) -> Markup {
    let percent =
        |value: f64| if scale > 0.0 { (100.0 * value / scale).clamp(0.0, 100.0) } else { 0.0 };
    let (bar, left) = (percent(mean), percent(low));
    let width = percent(high) - left;
    html! {
        div.bar {
            div.mean style=(format!("width:{bar:.1}%")) {}
            div.ends style=(format!("left:{left:.1}%;width:{width:.1}%")) {}
        }
    }
}

/// Returns the rate, errors and latencies of each target in one step or group of steps, or in all
/// steps together if `step` is `None`.
pub(super) fn percentiles(record: &RunRecord, step: Option<&str>) -> Markup {
    let summary = |target: &'_ TargetRecord| -> Option<Summary> {
        match step {
            None => Some(target.total.clone()),
            Some(name) => {
                target.steps.iter().chain(&target.groups).find(|it| it.name == name).cloned()
            }
        }
    };
    let columns = [
        "Target",
        "Requests/s",
        "Errors",
        "Mean",
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "p99.99",
        "Max",
    ];
    let label = format!("Latencies of {}", step.unwrap_or("all steps"));
    let caption = "Latencies in ms; a percentile with fewer than ten slower requests is left out";
    let rows = html! {
        @for (target, _) in ranked(record) {
            @if let Some(summary) = summary(target) { (latencies(&target.name, &summary)) }
        }
    };
    table(&Called::Label(&label), caption, &columns, &rows)
}

fn latencies(name: &str, summary: &Summary) -> Markup {
    let of = &summary.latency_us;
    let mean = of.mean.map(|us| us.round() as u64);
    let has_none = summary.rate_per_s == 0.0 && summary.requests > summary.errors;
    html! {
        tr {
            th scope="row" { (name) }
            // Requests that users send when they stop have no rate.
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

/// Returns a table of the CPU and memory that each service uses, with the CPU also per expected
/// answer. The server comes first, and the other services follow by name.
pub(super) fn efficiency(record: &RunRecord) -> Markup {
    let columns = [
        "Target",
        "Service",
        "CPU, % of a core",
        "CPU-µs/request",
        "Requests/CPU-s",
        "Memory, MB",
        "At most, MB",
    ];
    let caption = "CPU is user and system time; CPU-µs/request is per expected response; memory is \
                   resident memory";
    let rows = html! { @for (target, _) in ranked(record) { (services(target)) } };
    table(&Called::Label("CPU and memory of each service"), caption, &columns, &rows)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_very_wide_interval_leaves_the_bars_visible() {
        assert_eq!(scale([[90.0, 100.0, 110.0], [50.0, 60.0, 70.0]].into_iter()), 110.0);
        let wide = [[-5_545.0, 100.0, 5_745.0], [50.0, 60.0, 70.0]];
        assert_eq!(scale(wide.into_iter()), 200.0);
        let drawn = interval(wide[0], 200.0).into_string();
        assert!(
            drawn.contains("width:50.0%") && drawn.contains("left:0.0%;width:100.0%"),
            "{drawn}"
        );
    }

    #[test]
    fn bars_without_answers_have_no_width() {
        assert_eq!(scale(std::iter::empty()), 0.0);
        assert!(interval([0.0; 3], 0.0).into_string().contains("width:0.0%"));
    }
}
