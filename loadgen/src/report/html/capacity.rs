//! Builds the page of a search for capacities.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::about::{environment, repeat};
use super::chart::{Chart, Charts, Line, Over, ms, short};
use super::profile::profiled;
use super::table::{Called, table};
use super::{Top, chooser, figures, header, page, sentences};
use crate::analysis::differences;
use crate::record::{CapacityRecord, CapacityTarget, CurvePoint};
use crate::report::Reported as _;
use crate::report::words::capacity::{
    conclusion, endings, figure, headline, warnings, what_passes,
};
use crate::report::words::commits;
use crate::report::words::occupancy::occupancies;
use crate::report::words::profile;
use crate::report::words::title::title_of;
use crate::text::{milliseconds, precise, rate};

/// Returns the HTML page of a capacity search, made from the record alone.
#[must_use]
pub fn capacity(record: &CapacityRecord) -> String {
    let charts = charts(record);
    let numbers: Vec<usize> = (0..charts.charts.len()).collect();
    let servers: Vec<_> = record.targets.iter().map(|t| (t.name.as_str(), &t.server)).collect();
    let noise = commits::noise(&servers);
    let profiles = profile::of_search(record);
    let found = [
        vec![what_passes(record)],
        conclusion(record),
        occupancies(&profiles),
        noise,
        endings(record),
    ]
    .concat();
    let headline = headline(record);
    let top = Top {
        kind: CapacityRecord::kind(),
        name: &record.scenario,
        title: title_of(&record.scenario, record.sent.as_ref()),
        headline: &headline,
        started: &record.started,
    };
    let content = html! {
        (header(top))
        main id="main" {
            section aria-labelledby="findings" {
                h2 id="findings" { "Findings" }
                (sentences(&found))
                @if !warnings(record).is_empty() {
                    h3 { "Warnings" }
                    (sentences(&warnings(record)))
                }
            }
            (capacities(record))
            (chooser(&charts))
            @if record.targets.iter().any(|target| !target.curve.is_empty()) {
                section {
                    h2 { "Latency over throughput" }
                    (figures(&charts, &numbers))
                    @for target in record.targets.iter().filter(|target| !target.curve.is_empty()) {
                        (points(target))
                    }
                }
            }
            (profiled(&profiles, &[]))
            @if !differences(&servers, true).is_empty() {
                section { h2 { "Servers" } (sentences(&differences(&servers, true))) }
            }
            section { h2 { "Environment" } (environment(&record.environment)) }
            section { h2 { "Command to repeat the search" } (repeat(&record.command, record.seed)) }
        }
    };
    page(&record.scenario, &content, &charts)
}

/// Returns the charts of latency over throughput.
pub(super) fn charts(record: &CapacityRecord) -> Charts {
    let names = record.targets.iter().map(|target| target.name.clone()).collect();
    let mut charts = Charts { targets: names, charts: Vec::new() };
    charts.add(curves(record, "Median latency", |point| point.latency_us.p50));
    charts.add(curves(record, "99th percentile of latency", |point| point.latency_us.p99));
    charts
}

fn capacities(record: &CapacityRecord) -> Markup {
    let caption = "The highest rate that passes, with its 95 % confidence interval; the knee is the rate \
                   with the greatest throughput over mean latency; p50 and p99 at the knee, in ms";
    let columns = ["Target", "Requests/s", "95 % interval", "Knee, requests/s", "p50", "p99"];
    let rows = html! { @for target in &record.targets { (row(target)) } };
    html! {
        section {
            h2 id="ranking" { "Capacities" }
            (table(&Called::Heading("ranking"), caption, &columns, &rows))
        }
    }
}

fn row(target: &CapacityTarget) -> Markup {
    let knee = target.knee.as_ref();
    let latency = |of: fn(&CurvePoint) -> Option<u64>| milliseconds(knee.and_then(of));
    html! {
        tr {
            th scope="row" { (target.name) }
            td { (figure(&target.capacity)) }
            td {
                @match target.capacity.confidence_95_per_s {
                    Some([low, high]) => { (rate(low)) "–" (rate(high)) }
                    None => { "–" }
                }
            }
            td { (knee.map_or("–".to_owned(), |knee| rate(knee.rate_per_s))) }
            td { (latency(|point| point.latency_us.p50)) }
            td { (latency(|point| point.latency_us.p99)) }
        }
    }
}

/// Returns a table of the points of a target's curve of latency over throughput.
fn points(target: &CapacityTarget) -> Markup {
    let label = format!("Curve of {}", target.name);
    let rows = html! {
        @for point in &target.curve {
            tr {
                th scope="row" {
                    (rate(point.rate_per_s))
                    @if target.knee.as_ref() == Some(point) { " (knee)" }
                }
                td { (rate(point.answered_per_s)) }
                td { (precise(point.error_rate * 100.0)) " %" }
                td { (milliseconds(point.latency_us.p50)) }
                td { (milliseconds(point.latency_us.p99)) }
                td { (point.passed) "/" (point.trials) }
            }
        }
    };
    let columns = ["Rate/s", "Answered/s", "Errors", "p50", "p99", "Passed"];
    html! {
        h3 { (target.name) }
        (table(&Called::Label(&label), "", &columns, &rows))
    }
}

/// Makes a chart of latency over the rate of expected answers, with a line for each target. `of`
/// returns the latency of a point, in µs.
fn curves(record: &CapacityRecord, title: &str, of: fn(&CurvePoint) -> Option<u64>) -> Chart {
    let place = |point: &CurvePoint| (point.answered_per_s * 10.0).round() as u64;
    let places: BTreeSet<u64> =
        record.targets.iter().flat_map(|target| target.curve.iter().map(place)).collect();
    let lines = record.targets.iter().enumerate().map(|(target, of_target)| {
        let value = |at: &u64| of(of_target.curve.iter().find(|p| place(p) == *at)?).map(ms);
        Line { target, values: places.iter().map(value).collect() }
    });
    Chart {
        title: title.to_owned(),
        note: String::new(),
        over: Over::Throughput,
        unit: "ms",
        x: places.iter().map(|tenths| short(*tenths as f64 / 10.0)).collect(),
        marks: Vec::new(),
        lines: lines.collect(),
    }
}
