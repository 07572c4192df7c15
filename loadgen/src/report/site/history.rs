//! Builds the page of one scenario.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::words::{self, changes, claims, differs};
use super::{SiteSettings, report_path};
use crate::analysis::history::{Entry, History, Kind, MeasuredTarget, Metric, TargetHistory};
use crate::report::html::table::{Called, table};
use crate::report::svg;
use crate::report::words::history::{day, figure, is_better, metric, percent};
use crate::text::counted;

/// Says which changes are found.
pub(super) const FINDS: &str = "Changepoint analysis of comparable results, of which it needs ten. A change that is not \
    greater than the noise from one result to the next, or of only one result, is not found.";

/// Returns the page of a history.
pub(super) fn page(history: &History<'_>, settings: &SiteSettings) -> String {
    let metrics: Vec<Metric> = history.metrics().into_iter().collect();
    let ends = [history.entries.first(), history.entries.last()].map(|it| it.map(|it| day(it)));
    let [first, last] = ends.map(Option::unwrap_or_default);
    let results = counted(history.entries.len() as u64, "result");
    let headline = format!("{}: {results} from {first} to {last}", words::kind(history.kind));
    let named = |entry: &&&Entry| settings.baseline.as_ref() == Some(&entry.name);
    let baseline = history.entries.iter().find(named).copied();
    let content = html! {
        @if !history.targets.is_empty() { (newest(history, &metrics, baseline)) }
        (changed(history))
        @for (nth, target) in history.targets.iter().enumerate() {
            section {
                h2 { (target.name) }
                @for of in &metrics {
                    @if let Some(picture) = svg::history(history, nth, *of, baseline, report_path) {
                        div.history tabindex="0" role="region" aria-label={ (target.name) ": " (metric(*of)) } {
                            (picture.inline(&format!("chart-{nth}-{}", *of as u8)))
                        }
                    }
                }
            }
        }
        (breaks(history))
        (results_of(history, &metrics))
    };
    let kind = html! { a href="index.html" { (settings.title) } };
    super::page(history.title, &kind, &headline, &content)
}

/// Returns the newest figures of each target.
fn newest(history: &History<'_>, metrics: &[Metric], baseline: Option<&Entry>) -> Markup {
    let first = words::first(history);
    let mut columns = vec!["Target", "Place"];
    columns.extend(metrics.iter().map(|of| metric(*of)));
    let against_baseline = first.map(|of| format!("{}, against the baseline", metric(of)));
    columns.extend(against_baseline.as_deref().filter(|_| baseline.is_some()));
    columns.extend(["Measured", "Commit"]);
    let against = |target: &MeasuredTarget| {
        let [now, before] =
            [target, baseline?.comparable(target)?].map(|it| it.figures.get(&first?));
        let (now, before) = (now?, before?);
        let apart = match (now.confidence_95, before.confidence_95) {
            (Some([low, high]), Some([from, to])) if low > to || high < from => "apart",
            (Some(_), Some(_)) => "intervals overlap",
            _ => "one round",
        };
        Some(format!("{} ({apart})", percent(now.mean / before.mean)))
    };
    let row = |target: &TargetHistory<'_>| {
        let (at, newest) = target.newest()?;
        let entry = history.entries[at];
        Some(html! {
            tr {
                th scope="row" { (target.name) }
                td { @if let Some(place) = newest.place { (place) "." } @else { "–" } }
                @for of in metrics {
                    td { @if let Some(of) = newest.figures.get(of) { (figure(of)) } @else { "–" } }
                }
                @if baseline.is_some() && first.is_some() { td { (against(newest).unwrap_or("–".to_owned())) } }
                td.left { a href=(report_path(&entry.name)) { (day(entry)) } }
                td.left { (commit(newest)) }
            }
        })
    };
    let rows = html! { @for row in history.targets.iter().filter_map(row) { (row) } };
    let caption = "± is the 95 % confidence interval. A target is behind as many others as were shown to be better: \
        targets of which neither was may share a place.";
    html! {
        section {
            h2 id="newest" { "Newest figures" }
            @if let Some(baseline) = baseline {
                p { "Baseline: " a href=(report_path(&baseline.name)) { (baseline.name) } }
            }
            (table(&Called::Heading("newest"), caption, &columns, &rows))
        }
    }
}

fn commit(target: &MeasuredTarget) -> String {
    target.commit.as_deref().map_or("–".to_owned(), |commit| commit.chars().take(10).collect())
}

/// Returns all changes of figures, the newest first.
fn changed(history: &History<'_>) -> Markup {
    let mut told = changes(history);
    told.sort_by_key(|it| Reverse(it.change.at));
    html! {
        @if !told.is_empty() {
            section {
                h2 { "What changed" }
                ul {
                    @for it in &told {
                        @let better = is_better(it.metric, it.change.ratio);
                        li {
                            a href=(report_path(&it.entry.name)) { (day(it.entry)) } ": "
                            span.better[better].worse[!better] { (it.text()) }
                        }
                    }
                }
                p.hint { (FINDS) }
            }
        }
    }
}

/// Returns why new lines begin.
fn breaks(history: &History<'_>) -> Markup {
    let of_target = |target: &TargetHistory<'_>| {
        let later = target.lines.iter().filter(|line| !line.differs.is_empty());
        let told = later.map(|line| {
            let differs: Vec<String> = line.differs.iter().map(differs).collect();
            (line.points[0].0, target.name.to_owned(), differs)
        });
        told.collect::<Vec<_>>()
    };
    let mut all: Vec<_> = history.targets.iter().flat_map(of_target).collect();
    all.sort_by_key(|(at, _, _)| *at);
    html! {
        @if !all.is_empty() {
            section {
                h2 { "Why new lines begin" }
                p { "Only results are joined that were measured alike. A new line differs from the most similar earlier one in:" }
                ul {
                    @for (at, target, differs) in &all {
                        li {
                            (day(history.entries[*at])) ", " (target) ": "
                            (differs.iter().take(6).cloned().collect::<Vec<_>>().join("; "))
                            @if differs.len() > 6 { "; and " (differs.len() - 6) " more" }
                        }
                    }
                }
            }
        }
    }
}

/// Returns all results, the newest first.
fn results_of(history: &History<'_>, metrics: &[Metric]) -> Markup {
    let first = words::first(history).or(metrics.first().copied());
    let figures = |entry: &Entry| {
        let figure = |target: &MeasuredTarget| match (&target.left_out, first) {
            (Some(why), _) => Some(format!("{}: {why}", target.name)),
            (None, Some(first)) => {
                Some(format!("{} {}", target.name, figure(target.figures.get(&first)?)))
            }
            (None, None) => None,
        };
        match entry.kind {
            Kind::Experiment => claims(entry),
            _ => entry.targets.iter().filter_map(figure).collect::<Vec<_>>().join(", "),
        }
    };
    let told = |entry: &Entry| {
        let mut codes: Vec<String> =
            entry.verdicts.iter().map(|verdict| verdict.kind.as_ref().to_owned()).collect();
        codes.sort();
        codes.dedup();
        entry.left_out.iter().cloned().chain(codes).collect::<Vec<_>>().join(", ")
    };
    let rows = html! {
        @for entry in history.entries.iter().rev() {
            tr {
                th scope="row" { a href=(report_path(&entry.name)) { (entry.name) } }
                td.left { (entry.started) }
                td.left { (figures(entry)) }
                td.left { (told(entry)) }
            }
        }
    };
    let shown = first.map_or("Figures", metric);
    html! {
        section {
            h2 id="results" { "All results" }
            (table(&Called::Heading("results"), "", &["Result", "Started", shown, "To know"], &rows))
        }
    }
}
