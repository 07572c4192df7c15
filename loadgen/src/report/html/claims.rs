//! Builds the first screens of an experiment's page: a chart of the claims, dot plots of the arms, and the
//! findings in words.

use maud::{Markup, html};

use super::sentences;
use super::table::{Called, named_rows, table};
use crate::record::{ClaimRecord, ExperimentRecord, Finding};
use crate::report::svg;
use crate::report::words::arm_figures::figures;
use crate::report::words::claims::{Claimed, claim, counted_findings, rows};
use crate::report::words::experiment::differs;
use crate::report::words::folded;

/// Returns the chart of the claims, with its figures as a table.
pub(super) fn claims(record: &ExperimentRecord) -> Markup {
    let rows = rows(record);
    let columns = ["Claim", "Group", "Figure", "Published", "Here, with 95 % interval", "Finding"];
    let cells: Vec<Vec<String>> = rows
        .iter()
        .flat_map(|row| {
            let none = || vec!["–".to_owned(), "–".to_owned(), row.shown.word().to_owned()];
            let figure = |one: &Claimed| vec![one.name.clone(), one.published(), one.here()];
            let mut all: Vec<Vec<String>> = row.figures.iter().map(figure).collect();
            if all.is_empty() {
                all.push(none());
            }
            let claim = [row.claim.says.clone(), row.claim.group.clone()];
            let finding = format!("{} {}", row.shown.symbol(), row.shown.word());
            all.into_iter().map(move |figure| {
                claim.iter().cloned().chain(figure).chain([finding.clone()]).collect()
            })
        })
        .collect();
    html! {
        section aria-labelledby="claims" {
            h2 id="claims" { "Claims" @if !rows.is_empty() { ": " (counted_findings(&rows)) } }
            @if rows.is_empty() {
                p { "The experiment makes no claims." }
            } @else {
                figure {
                    @if let Some(wide) = svg::claims(record, svg::WIDE) {
                        div.wide { (wide.inline("claims-wide")) }
                    }
                    @if let Some(narrow) = svg::claims(record, svg::NARROW) {
                        div.narrow { (narrow.inline("claims-narrow")) }
                    }
                    details {
                        summary { "As a table" }
                        (table(&Called::Label("Figures of the claims"), "", &columns, &named_rows(&cells)))
                    }
                }
            }
        }
    }
}

/// Returns a dot plot of the arms for each group and metric that claims and the publication are about.
pub(super) fn arms(record: &ExperimentRecord) -> Markup {
    let mut plots = Vec::new();
    for group in &record.groups {
        for of in figures(group, &record.claims) {
            let title = format!("{}: {}", group.name, of.title);
            let picture = svg::figures(&of, &title);
            let id = format!("arms-{}", plots.len());
            plots.extend(picture.map(|picture| (title, picture.inline(&id))));
        }
    }
    html! {
        @if !plots.is_empty() {
            section aria-labelledby="arms" {
                h2 id="arms" { "Arms" }
                div.charts {
                    @for (title, picture) in &plots {
                        figure { figcaption { (title) } (picture) }
                    }
                }
            }
        }
    }
}

/// Returns the findings as sentences, the differences from the source, and the warnings, folded by their code.
pub(super) fn in_words(record: &ExperimentRecord) -> Markup {
    let warnings = folded::of_experiment(record);
    html! {
        section aria-labelledby="findings" {
            h2 id="findings" { "Findings in words" }
            @if let Some(description) = &record.description { p { (description) } }
            @if !record.claims.is_empty() {
                ul.claims { @for one in &record.claims { li class=(finding(one)) { (claim(one)) } } }
            }
            @if !differs(record).is_empty() {
                h3 { "Different from the source" }
                (sentences(&differs(record)))
            }
            @if !warnings.is_empty() {
                h3 { "Warnings" }
                div.warnings.folded {
                    @for one in &warnings {
                        @if one.kind.is_none() && one.all.len() == 1 {
                            p { (one.all[0]) }
                        } @else {
                            details { summary { (one.title("arm")) } (sentences(&one.all)) }
                        }
                    }
                }
            }
        }
    }
}

fn finding(claim: &ClaimRecord) -> &'static str {
    match claim.finding {
        Finding::Held => "held",
        Finding::DidNotHold => "refuted",
        Finding::CouldNotBeShown => "open",
    }
}
