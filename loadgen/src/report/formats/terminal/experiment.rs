//! Lays out an experiment for a terminal.

use std::path::Path;

use crate::record::{ExperimentRecord, GroupRecord};
use crate::report::words::experiment::{
    backend_alone, changed, claim, differs, fairness, group_headline, headline, in_containers,
    proved, scaling, tables, thresholds, warned,
};
use crate::report::words::searched::searched;
use crate::text::{lay_out, wrap};

/// Returns the text for a terminal: tables and differences of each group, the claims with their
/// findings, the warnings, and `folder`, which holds the saved record. `folder` is `None` if saving
/// failed.
#[must_use]
pub(crate) fn experiment(record: &ExperimentRecord, folder: Option<&Path>) -> String {
    let about = record.description.as_ref().map(|about| wrap(" ", about));
    let mut sections = vec![wrap("", &headline(record)) + &about.unwrap_or_default()];
    sections.push(titled("different from the source", differs(record)));
    record.groups.iter().for_each(|group| sections.extend(of_group(group)));
    sections.push(titled("claims", record.claims.iter().map(claim)));
    sections.push(warned(record).iter().map(|warning| wrap(" ! ", warning)).collect());
    sections.extend(folder.map(|folder| format!(" saved in {}\n", folder.display())));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn of_group(group: &GroupRecord) -> Vec<String> {
    let mut above = wrap("", &group_headline(group));
    above += &changed(group).map(|changed| wrap(" ", &changed)).unwrap_or_default();
    let mut sections = vec![above];
    sections.push(backend_alone(group).iter().map(|sentence| wrap(" ", sentence)).collect());
    sections.extend(tables(group).iter().map(|table| {
        let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
        let title = match table.title.as_str() {
            "" => String::new(),
            title => wrap(" ", title),
        };
        title + &lay_out(&header, &table.rows)
    }));
    sections.push(searched(group).iter().map(|sentence| wrap(" - ", sentence)).collect());
    sections.push(titled("scaling", scaling(group)));
    sections.push(titled("thresholds", thresholds(group)));
    sections.push(titled("counters and proofs", proved(group)));
    sections.push(titled("differences between the arms", fairness(group)));
    sections.push(in_containers(group).iter().map(|sentence| wrap(" ", sentence)).collect());
    sections
}

/// Returns sentences below a title, or nothing without a sentence.
fn titled(title: &str, sentences: impl IntoIterator<Item = String>) -> String {
    let text: String = sentences.into_iter().map(|sentence| wrap(" - ", &sentence)).collect();
    if text.is_empty() { text } else { wrap(" ", title) + &text }
}
