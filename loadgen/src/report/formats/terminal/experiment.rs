//! Lays out an experiment for a terminal: a line for each arm, a line for each code of a warning, and last the
//! answer. `report.html`, Markdown and the saved document have everything else.

use std::path::Path;

use super::answer::{ANSWER, answer};
use crate::record::{ExperimentRecord, GroupRecord};
use crate::report::words::arm_figures::{columns, figures};
use crate::report::words::experiment::{
    backend_alone, changed, failed_thresholds, group_headline, headline, tables,
};
use crate::report::words::folded;
use crate::text::{cut, lay_out, wrap_within};

/// Returns the text for a terminal of this many columns: a table of the arms of each group, the warnings, the
/// claims with their findings, and `folder`, which holds the saved record. `folder` is `None` if saving failed.
/// The last [`ANSWER`] lines have all claims of an experiment, if they can.
#[must_use]
pub(crate) fn experiment(
    record: &ExperimentRecord,
    folder: Option<&Path>,
    columns: usize,
) -> String {
    let mut sections = vec![wrap_within(columns, "", &headline(record))];
    sections.extend(record.groups.iter().map(|group| of_group(record, group, columns)));
    let warnings = folded::lines(&folded::of_experiment(record), "arm", columns);
    sections.push(warnings.iter().map(|line| format!("{line}\n")).collect());
    let saved = folder.map(|folder| saved(folder, columns)).unwrap_or_default();
    sections.push(answer(record, columns, ANSWER - saved.lines().count()) + &saved);
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn of_group(record: &ExperimentRecord, group: &GroupRecord, columns: usize) -> String {
    let mut text = format!("{}\n", cut(&group_headline(group), columns));
    let said = changed(group).into_iter().chain(backend_alone(group).into_iter().take(1));
    text.extend(said.map(|sentence| format!(" {}\n", cut(&sentence, columns - 1))));
    if group.capacity.is_some() || !group.runs.is_empty() {
        text += &table(record, group, columns);
    }
    for sentence in failed_thresholds(group) {
        text += &format!(" {}\n", cut(&sentence, columns - 1));
    }
    text
}

/// Columns of the main table that a terminal shows: name, rate, errors and mean latency.
const SHOWN: usize = 4;

/// Returns a table with one line for each arm: the rate, the errors and the mean, and then as many of the figures
/// that claims and the publication are about as fit.
fn table(record: &ExperimentRecord, group: &GroupRecord, columns_of_terminal: usize) -> String {
    let Some(main) = tables(group).into_iter().next() else { return String::new() };
    let is_search = group.capacity.is_some();
    let shown = if is_search { main.header.len() } else { SHOWN };
    let mut header = main.header;
    header.truncate(shown);
    let mut rows = main.rows;
    rows.iter_mut().for_each(|row| row.truncate(shown));
    let mut text = laid_out(&header, &rows);
    if is_search {
        return text;
    }
    for (name, cells) in columns(&figures(group, &record.claims), &["rate", "error_rate", "mean"]) {
        header.push(name);
        for (row, cell) in rows.iter_mut().zip(cells) {
            // An arm without a result has one cell, which says so.
            while row.len() + 1 < header.len() {
                row.push(String::new());
            }
            row.push(cell);
        }
        let wider = laid_out(&header, &rows);
        if wider.lines().any(|line| line.chars().count() > columns_of_terminal) {
            break;
        }
        text = wider;
    }
    text
}

fn laid_out(header: &[String], rows: &[Vec<String>]) -> String {
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    lay_out(&header, rows)
}

fn saved(folder: &Path, columns: usize) -> String {
    let all = "report.html has a chart of the claims, and everything else";
    wrap_within(columns, " ", &format!("saved in {}: {all}", folder.display()))
}
