//! Builds the first page of the site.

use maud::{Markup, html};

use super::history::FINDS;
use super::words::{self, changes, claims};
use super::{Pages, SiteSettings, page, report_path};
use crate::analysis::history::{FEWEST, History, Kind};
use crate::report::html::table::{Called, table};
use crate::report::words::history::{day, figure, is_better, metric as name_of};
use crate::text::counted;

/// Greatest number of changes that the page lists.
const CHANGES: usize = 12;

/// Returns the first page of the site.
pub(super) fn index(histories: &[History<'_>], pages: &Pages, settings: &SiteSettings) -> String {
    let results: usize = histories.iter().map(|history| history.entries.len()).sum();
    let days = histories.iter().flat_map(|history| history.entries.iter().map(|entry| day(entry)));
    let span = days.clone().min().zip(days.max()).map(|(first, last)| match first == last {
        true => format!(" of {first}"),
        false => format!(" from {first} to {last}"),
    });
    let headline = format!("{}{}", counted(results as u64, "result"), span.unwrap_or_default());
    let content = html! {
        (news(histories, pages))
        section {
            h2 id="scenarios" { "Scenarios and experiments" }
            p { label { "Search " input type="search" id="search" autocomplete="off"; } }
            (scenarios(histories, pages))
        }
        p.hint { a href="feed.xml" { "News as an Atom feed" } }
    };
    page(&settings.title, &html! { "Results" }, &headline, &content)
}

/// Returns the latest changes of figures, the newest first.
fn news(histories: &[History<'_>], pages: &Pages) -> Markup {
    let all = histories.iter().zip(&pages.0);
    let mut told: Vec<_> =
        all.flat_map(|(of, path)| changes(of).into_iter().map(move |it| (of, path, it))).collect();
    told.sort_by(|(_, _, a), (_, _, b)| b.entry.started.cmp(&a.entry.started));
    let is_long = told.len() > CHANGES;
    told.truncate(CHANGES);
    html! {
        section {
            h2 { "What changed" }
            @if histories.iter().all(|of| of.entries.len() < FEWEST) {
                p { "No scenario has the " (FEWEST) " results that it needs to find a change." }
                p.hint { (FINDS) }
            } @else if told.is_empty() {
                p { "No change was found." }
                p.hint { (FINDS) }
            } @else {
                ul {
                    @for (history, path, it) in &told {
                        @let better = is_better(it.metric, it.change.ratio);
                        li data-text=(history.title) {
                            (day(it.entry)) ", " a href=(path) { (history.title) } ": "
                            span.better[better].worse[!better] { (it.text()) }
                            " (" a href=(report_path(&it.entry.name)) { "report" } ")"
                        }
                    }
                }
                @if is_long { p.hint { "Earlier changes are on the pages of the scenarios." } }
            }
        }
    }
}

fn scenarios(histories: &[History<'_>], pages: &Pages) -> Markup {
    let rows = html! {
        @for (history, path) in histories.iter().zip(&pages.0) {
            @let targets: Vec<&str> = history.targets.iter().map(|target| target.name).collect();
            tr.found data-text={ (history.title) " " (targets.join(" ")) } {
                th scope="row" {
                    a href=(path) { (history.title) }
                }
                td.left { (words::kind(history.kind)) }
                td { (history.entries.len()) }
                td.left { (newest(history)) }
                td.left {
                    @if let Some(entry) = history.entries.last() {
                        a href=(report_path(&entry.name)) { (day(entry)) }
                    }
                }
            }
        }
    };
    let columns = ["Name", "Kind", "Results", "Newest figures", "Newest report"];
    table(&Called::Heading("scenarios"), "", &columns, &rows)
}

/// Returns the newest figures of a history.
fn newest(history: &History<'_>) -> Markup {
    if history.kind == Kind::Experiment {
        let newest = history.entries.iter().rfind(|entry| entry.left_out.is_none());
        return html! { (newest.map_or("none was measured to its end".to_owned(), |entry| claims(entry))) };
    }
    let Some(metric) = words::first(history) else { return html! { "–" } };
    let figures = history.targets.iter().filter_map(|target| {
        let (_, newest) = target.newest()?;
        Some(format!("{} {}", target.name, figure(newest.figures.get(&metric)?)))
    });
    html! { (name_of(metric)) ": " (figures.collect::<Vec<_>>().join(", ")) }
}
