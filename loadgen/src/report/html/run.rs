//! Builds the page of a run: first the findings, then each step, then how the run was measured.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::about::{environment, load, repeat};
use super::data::Drawing;
use super::profile::profiled;
use super::ranking::{efficiency, percentiles, ranking};
use super::table::{Called, named_rows, table};
use super::{Top, chooser, figures, header, latencies, matrix, page, sentences};
use crate::analysis::differences;
use crate::measure::{PROBE, Summary};
use crate::record::{RunRecord, TargetRecord};
use crate::report::Reported as _;
use crate::report::words::Warning;
use crate::report::words::bottlenecks::bottlenecks;
use crate::report::words::commits;
use crate::report::words::conclusion::conclusion;
use crate::report::words::connections;
use crate::report::words::containers::containers;
use crate::report::words::first_byte;
use crate::report::words::flows;
use crate::report::words::headline::headline;
use crate::report::words::occupancy::occupancies;
use crate::report::words::postgres;
use crate::report::words::probe::probes;
use crate::report::words::profile;
use crate::report::words::proofs::proofs;
use crate::report::words::ranked::{ranked, servers};
use crate::report::words::rows::rows;
use crate::report::words::stages::{StagesOf, legend, stages};
use crate::report::words::streams;
use crate::report::words::thresholds::judged;
use crate::report::words::title::title_of;
use crate::report::words::traces::traces;
use crate::report::words::uploads;
use crate::report::words::warnings::warnings;

/// Returns the HTML page of a run, made from the record alone.
#[must_use]
pub fn run(record: &RunRecord) -> String {
    let targets: Vec<&TargetRecord> =
        ranked(record).into_iter().map(|(target, _)| target).collect();
    let mut drawing = Drawing::new(record, targets.clone());
    let steps = steps(record, &mut drawing);
    let resources = resources(record, &mut drawing);
    let charts = drawing.charts;
    let headline = headline(record);
    let top = Top {
        kind: RunRecord::kind(),
        name: &record.scenario,
        title: title_of(&record.scenario, record.sent.as_ref()),
        headline: &headline,
        started: &record.started,
    };
    let content = html! {
        (header(top))
        main id="main" {
            (findings(record))
            (ranking(record))
            (matrix::matrix(record))
            (latencies::latencies(record))
            (iterations(&targets))
            (streams(&targets))
            (uploads(&targets))
            (first_bytes(&targets))
            (staged(record))
            (chooser(&charts))
            @for (title, percentiles, numbers) in &steps {
                section { h2 { (title) } (percentiles) (figures(&charts, numbers)) }
            }
            @if record.targets.iter().any(|target| !target.resources.is_empty()) {
                section {
                    h2 { "CPU and memory" }
                    (efficiency(record))
                    (figures(&charts, &resources))
                }
            }
            (profiled(&profile::of_run(record), &record.profile_differences))
            (opened(record))
            (database(&targets))
            (checks(record))
            (about(record))
        }
    };
    page(&record.scenario, &content, &charts)
}

/// Returns the title, the table and the indices of the charts for each step, and then for each group of
/// steps. If there are several steps, the first element is for all steps together.
fn steps(record: &RunRecord, drawing: &mut Drawing<'_>) -> Vec<(String, Markup, Vec<usize>)> {
    let section = |(step, numbers): (Option<&str>, Vec<usize>)| {
        let title = step.map_or("All steps".to_owned(), |name| format!("Step {name}"));
        (title, percentiles(record, step), numbers)
    };
    let steps = drawing.steps().into_iter().map(section);
    let groups = record.targets.first().into_iter().flat_map(|target| &target.groups);
    let groups = groups.map(|Summary { name, .. }| {
        (format!("Group {name}"), percentiles(record, Some(name)), Vec::new())
    });
    steps.chain(groups).collect()
}

/// Returns the conclusions, the thresholds and the warnings; nothing if there are none.
fn findings(record: &RunRecord) -> Markup {
    let noise = commits::noise(&servers(record));
    let differ = profile::differences(record);
    let concluded = [
        conclusion(record),
        noise,
        probes(record),
        traces(record),
        differ,
        bottlenecks(record),
        occupancies(&profile::of_run(record)),
    ]
    .concat();
    let warnings = warnings(record);
    let is_empty = concluded.is_empty() && record.thresholds.is_empty() && warnings.is_empty();
    html! {
        @if !is_empty {
            section aria-labelledby="findings" {
                h2 id="findings" { "Findings" }
                (sentences(&concluded))
                (thresholds(record))
                (warned(&warnings))
            }
        }
    }
}

/// Returns a table of the stages of each target; nothing for a load without stages.
fn staged(record: &RunRecord) -> Markup {
    let all = stages(record);
    let of_target = all.iter().any(|of| of.target.is_some()).then_some("Target");
    let columns = ["Stage", "Requests", "Requests/s", "Errors", "p50", "p95", "p99", "Max"];
    let columns: Vec<&str> = of_target.into_iter().chain(columns).collect();
    let rows = html! {
        @for StagesOf { target, rows } in &all {
            @for (stage, cells) in rows {
                tr {
                    @if let Some(target) = target { th scope="row" { (target) } td.text { (stage) } }
                    @else { th scope="row" { (stage) } }
                    @for cell in cells { td { (cell) } }
                }
            }
        }
    };
    html! {
        @if !all.is_empty() {
            section {
                h2 id="stages" { "Stages" }
                (table(&Called::Heading("stages"), &legend(record), &columns, &rows))
            }
        }
    }
}

/// Makes charts of the CPU and memory of each service: the server's charts come first, the load
/// generator's last. Returns the indices of the added charts.
fn resources(record: &RunRecord, drawing: &mut Drawing<'_>) -> Vec<usize> {
    let rounds = record.targets.iter().flat_map(|target| &target.rounds);
    let services: BTreeSet<&str> =
        rounds.flat_map(|round| round.resources.keys()).map(String::as_str).collect();
    let mut services: Vec<&str> = services.into_iter().collect();
    services.sort_by_key(|service| match *service {
        "target" => 0,
        "generator" => 2,
        PROBE => 3,
        _ => 1,
    });
    services.into_iter().flat_map(|service| drawing.resources(service)).collect()
}

fn thresholds(record: &RunRecord) -> Markup {
    html! {
        @if !record.thresholds.is_empty() {
            h3 { "Thresholds" }
            ul.thresholds {
                @for threshold in &record.thresholds {
                    @if threshold.passed {
                        li { span.held { "held" } " " (judged(threshold)) }
                    } @else {
                        li { span.failed { "failed" } " " (judged(threshold)) }
                    }
                }
            }
        }
    }
}

/// Lists what a reader must know before believing the figures.
fn warned(warnings: &[Warning]) -> Markup {
    html! {
        @if !warnings.is_empty() {
            h3 { "Warnings" }
            ul.warnings {
                @for Warning { kind, what, more, .. } in warnings {
                    li {
                        (what)
                        @if let Some(kind) = kind { " " code { (kind.as_ref()) } }
                        @if let Some(more) = more { br; span.advice { (more) } }
                    }
                }
            }
        }
    }
}

/// Shows a table in a section of its own; nothing without rows. The first column, which has no name in
/// `header`, is called `first`.
fn tabled(
    (id, title): (&str, &str),
    first: &str,
    header: &[&str],
    legend: &str,
    rows: &[Vec<String>],
) -> Markup {
    let columns: Vec<&str> =
        header.iter().map(|name| if name.is_empty() { first } else { name }).collect();
    html! {
        @if !rows.is_empty() {
            section {
                h2 id=(id) { (title) }
                (table(&Called::Heading(id), legend, &columns, &named_rows(rows)))
            }
        }
    }
}

/// Shows whole iterations of each flow; nothing if each iteration has one request.
fn iterations(targets: &[&TargetRecord]) -> Markup {
    let rows = flows::rows(targets.iter().copied());
    tabled(("iterations", "Iterations"), "Flow", &flows::HEADER, flows::LEGEND, &rows)
}

/// Shows the events of streams; nothing without streams.
fn streams(targets: &[&TargetRecord]) -> Markup {
    let rows = streams::rows(targets.iter().copied());
    tabled(("streams", "Streams"), "Target", &streams::HEADER, streams::LEGEND, &rows)
}

/// Shows how fast files were uploaded; nothing without files.
fn uploads(targets: &[&TargetRecord]) -> Markup {
    let rows = uploads::rows(targets.iter().copied());
    tabled(("uploads", "Uploads"), "Target", &uploads::HEADER, uploads::LEGEND, &rows)
}

/// Shows the times to the first byte; nothing if they tell no more than the latency.
fn first_bytes(targets: &[&TargetRecord]) -> Markup {
    let rows = first_byte::rows(targets.iter().copied());
    let called = ("ttfb", "Time to first byte");
    tabled(called, "Target", &first_byte::HEADER, first_byte::LEGEND, &rows)
}

/// Shows what PostgreSQL did; nothing if loadgen did not start PostgreSQL.
fn database(targets: &[&TargetRecord]) -> Markup {
    let rows = postgres::rows(targets.iter().copied());
    tabled(("postgres", "PostgreSQL"), "Target", &postgres::HEADER, postgres::LEGEND, &rows)
}

/// Shows how long opening connections took; nothing if it cost little.
fn opened(record: &RunRecord) -> Markup {
    let (rows, legend) = (connections::rows(record), connections::legend(record));
    tabled(("connections", "Connections"), "Target", &connections::HEADER, &legend, &rows)
}

/// Lists the sums of numbers that the answers reported, and the proofs, which compare the content
/// of the backends with the expected content.
fn checks(record: &RunRecord) -> Markup {
    let proofs = proofs(record);
    html! {
        @if !proofs.is_empty() {
            section { h2 { "Counters and proofs" } (sentences(&proofs)) }
        }
    }
}

fn about(record: &RunRecord) -> Markup {
    let mut servers = differences(&servers(record), !record.is_matrix());
    servers.extend(containers(&record.environment));
    html! {
        @if !servers.is_empty() {
            section { h2 { "Servers" } (sentences(&servers)) }
        }
        section { h2 { "Load" } (load(record)) (sentences(&rows(record))) }
        section { h2 { "Environment" } (environment(&record.environment)) }
        section { h2 { "Command to repeat the run" } (repeat(&record.command, record.seed)) }
    }
}
