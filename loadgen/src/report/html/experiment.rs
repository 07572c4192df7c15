//! Builds the page of an experiment: first the claims, then the figures of each group.

use maud::{Markup, html};

use super::about::{environment, load, repeat};
use super::chart::Charts;
use super::table::{Called, named_rows, table};
use super::{header, page, sentences};
use crate::record::{ClaimRecord, ExperimentRecord, Finding, GroupRecord};
use crate::report::words::experiment::{
    ArmTable, backend_alone, changed, claim, fairness, group_headline, headline, in_containers,
    proved, scaling, tables, thresholds, warned,
};

/// Returns the HTML page of an experiment, made from the record alone.
#[must_use]
pub fn experiment(record: &ExperimentRecord) -> String {
    let run = record.groups.iter().flat_map(|group| &group.runs).next();
    let content = html! {
        (header("Experiment", &record.experiment, &headline(record), &record.started))
        main id="main" {
            section aria-labelledby="findings" {
                h2 id="findings" { "Claims" }
                @if let Some(description) = &record.description { p { (description) } }
                (claims(&record.claims))
                @if !warned(record).is_empty() {
                    h3 { "Warnings" }
                    (sentences(&warned(record)))
                }
            }
            @for group in &record.groups { (of_group(group)) }
            @if let Some(run) = run {
                section { h2 { "Environment" } (environment(&run.environment)) }
                section {
                    h2 { "Command to repeat the experiment" }
                    (repeat(&record.command, run.seed))
                }
            }
        }
    };
    page(&record.title, &content, &Charts { targets: Vec::new(), charts: Vec::new() })
}

fn claims(claims: &[ClaimRecord]) -> Markup {
    let finding = |claim: &ClaimRecord| match claim.finding {
        Finding::Held => "held",
        Finding::DidNotHold => "refuted",
        Finding::CouldNotBeShown => "open",
    };
    html! {
        @if claims.is_empty() {
            p { "The experiment makes no claims." }
        } @else {
            ul.claims { @for one in claims { li class=(finding(one)) { (claim(one)) } } }
        }
    }
}

fn of_group(group: &GroupRecord) -> Markup {
    let sentences_of = [
        ("Scaling", scaling(group)),
        ("Thresholds", thresholds(group)),
        ("Counters and proofs", proved(group)),
        ("Differences between the arms", fairness(group)),
        ("Containers", in_containers(group)),
    ];
    html! {
        section {
            h2 { (group_headline(group)) }
            @if let Some(changed) = changed(group) { p { (changed) } }
            @for sentence in backend_alone(group) { p { (sentence) } }
            @for figures in tables(group) { (arms(group, &figures)) }
            @for (title, all) in sentences_of.iter().filter(|(_, all)| !all.is_empty()) {
                h3 { (title) }
                (sentences(all))
            }
            @for run in &group.runs {
                @let names: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
                details { summary { "Load on " (names.join(", ")) } (load(run)) }
            }
        }
    }
}

fn arms(group: &GroupRecord, figures: &ArmTable) -> Markup {
    let label = match figures.title.as_str() {
        "" => format!("Results of {}", group.name),
        title => format!("{}: {title}", group.name),
    };
    let columns: Vec<&str> =
        figures.header.iter().map(|name| if name.is_empty() { "Arm" } else { name }).collect();
    table(&Called::Label(&label), &figures.title, &columns, &named_rows(&figures.rows))
}
