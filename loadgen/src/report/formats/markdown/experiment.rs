//! Writes an experiment as Markdown.

use super::{escaped, list, sections, table, titled};
use crate::record::{ExperimentRecord, GroupRecord};
use crate::report::words::claims::claim;
use crate::report::words::experiment::{
    backend_alone, changed, differs, fairness, group_headline, headline, in_containers, proved,
    scaling, tables, thresholds,
};
use crate::report::words::folded::warned;
use crate::report::words::searched::searched;

/// Returns a Markdown document: tables and differences of each group, the claims with their
/// findings, and warnings to read before believing the figures.
#[must_use]
pub(crate) fn experiment(record: &ExperimentRecord) -> String {
    let mut all = vec![format!("**{}**", escaped(&headline(record)))];
    all.extend(record.description.as_ref().map(|about| escaped(about)));
    all.push(titled("Different from the source:", list(differs(record))));
    record.groups.iter().for_each(|group| all.extend(of_group(group)));
    all.push(titled("**Claims**", list(record.claims.iter().map(claim))));
    all.push(titled("**Warnings**", list(warned(record))));
    sections(&all)
}

fn of_group(group: &GroupRecord) -> Vec<String> {
    let mut all = vec![format!("**{}**", escaped(&group_headline(group)))];
    all.extend(changed(group).map(|changed| escaped(&changed)));
    all.push(list(backend_alone(group)));
    all.extend(tables(group).iter().map(|figures| {
        let header: Vec<String> = figures.header.iter().map(|name| escaped(name)).collect();
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let text = table(&header, &figures.rows);
        match figures.title.as_str() {
            "" => text,
            title => titled(&escaped(title), text),
        }
    }));
    all.push(list(searched(group)));
    all.push(titled("Scaling:", list(scaling(group))));
    all.push(titled("Thresholds:", list(thresholds(group))));
    all.push(titled("Counters and proofs:", list(proved(group))));
    all.push(titled("Differences between the arms:", list(fairness(group))));
    all.push(titled("Containers:", list(in_containers(group))));
    all
}
