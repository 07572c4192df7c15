//! Builds the page of one scenario.

use std::cmp::Reverse;

use maud::{Markup, html};

use super::words::{self, changes, differs};
use super::{SiteSettings, report_path};
use crate::analysis::history::{Entry, History, MeasuredTarget, Metric, TargetHistory};
use crate::report::html::table::{Called, table};
use crate::report::svg;
use crate::report::words::history::{day, figure, is_better, metric, percent};
use crate::text::counted;

/// Returns the page of a history.
pub(super) fn page(history: &History<'_>, settings: &SiteSettings) -> String {
    let metrics: Vec<Metric> = history.metrics().into_iter().collect();
    let ends = [history.entries.first(), history.entries.last()].map(|it| it.map(|it| day(it)));
    let [first, last] = ends.map(Option::unwrap_or_default);
    let results = counted(history.entries.len() as u64, "result");
    let headline = format!("{}: {results} from {first} to {last}", words::kind(history.kind));
    let baseline = Baseline::of(history, settings);
    let content = html! {
        (newest(history, &metrics, baseline.as_ref()))
        (changed(history))
        @for (nth, target) in history.targets.iter().enumerate() {
            section {
                h2 { (target.name) }
                @for of in &metrics {
                    @if let Some(picture) = svg::history(history, nth, *of, baseline.as_ref().map(|it| it.entry), report_path) {
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

/// The result with which the newest ones are compared.
struct Baseline<'a> {
    entry: &'a Entry,
}

impl<'a> Baseline<'a> {
    fn of(history: &History<'a>, settings: &SiteSettings) -> Option<Self> {
        let name = settings.baseline.as_ref()?;
        let entry = history.entries.iter().find(|entry| entry.name == *name)?;
        Some(Self { entry })
    }

    /// Returns a figure of the baseline, if its target can be compared with this one.
    fn figure(&self, target: &MeasuredTarget, of: Metric) -> Option<f64> {
        let all = self.entry.targets.iter();
        let mut comparable = all.filter(|it| {
            it.name == target.name && it.settings == target.settings && it.left_out.is_none()
        });
        Some(comparable.next()?.figures.get(&of)?.mean)
    }
}

/// Returns the newest figures of each target.
fn newest(history: &History<'_>, metrics: &[Metric], baseline: Option<&Baseline<'_>>) -> Markup {
    let mut columns = vec!["Target", "Place"];
    columns.extend(metrics.iter().map(|of| metric(*of)));
    columns.extend(baseline.map(|_| "against the baseline"));
    columns.extend(["Measured", "Commit"]);
    let first = words::first(history);
    let against = |target: &MeasuredTarget| {
        let of = first?;
        let before = baseline?.figure(target, of)?;
        Some(percent(target.figures.get(&of)?.mean / before))
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
                @if baseline.is_some() { td { (against(newest).unwrap_or("–".to_owned())) } }
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
                p { "Baseline: " a href=(report_path(&baseline.entry.name)) { (baseline.entry.name) } }
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
                p.hint { "Changepoint analysis of comparable results, of which it needs ten; changes of less than 2 % are none." }
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
        entry.targets.iter().filter_map(figure).collect::<Vec<_>>().join(", ")
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
