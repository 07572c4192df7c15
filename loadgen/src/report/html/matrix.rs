//! Shows targets with several numbers of server workers, replicas or users as a matrix.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::table::{Called, table};
use crate::record::{RunRecord, ServerSize, TargetRecord};
use crate::report::words::interval::plus_minus;
use crate::text::{count, counted, rate};

/// Returns a table of the rates with their confidence intervals: a row for each target and number
/// of server workers and replicas, a column for each number of users. Returns nothing where no number
/// varies.
pub(super) fn matrix(record: &RunRecord) -> Markup {
    let users: BTreeSet<u32> = record.targets.iter().map(|target| target.users).collect();
    let mut rows: Vec<(&str, ServerSize)> = Vec::new();
    for target in &record.targets {
        let row = (target.target.as_str(), target.server.size());
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let cell = |(name, size): (&str, ServerSize), users: u32| {
        let is_it = |target: &&TargetRecord| {
            (target.target.as_str(), target.server.size(), target.users) == (name, size, users)
        };
        record.targets.iter().find(is_it)
    };
    let numbers: Vec<String> = users.iter().map(|n| counted((*n).into(), "user")).collect();
    let has_replicas = rows.iter().any(|(_, size)| size.replicas.is_some());
    let columns: Vec<&str> = ["Target", "Server workers"]
        .into_iter()
        .chain(has_replicas.then_some("Replicas"))
        .chain(numbers.iter().map(String::as_str))
        .collect();
    let caption = "Expected responses per second, ± the 95 % confidence interval";
    let cells = html! {
        @for row in &rows {
            tr {
                th scope="row" { (row.0) }
                td { (row.1.workers) }
                @if has_replicas { td { (row.1.replicas.map_or("–".to_owned(), |n| count(n.into()))) } }
                @for n in &users { td { (shown(record, cell(*row, *n))) } }
            }
        }
    };
    html! {
        @if record.is_matrix() && (users.len() > 1 || rows.iter().any(|row| row.1 != rows[0].1)) {
            section {
                h2 id="matrix" { "Matrix" }
                (table(&Called::Heading("matrix"), caption, &columns, &cells))
            }
        }
    }
}

fn shown(record: &RunRecord, target: Option<&TargetRecord>) -> String {
    let Some(target) = target else { return "–".to_owned() };
    let comparison = record.comparison.as_ref();
    let placing = comparison.and_then(|c| c.ranking.iter().find(|p| p.target == target.name));
    let mean = placing.map_or(target.total.rate_per_s, |placing| placing.rate_per_s);
    let interval = placing.and_then(|placing| placing.confidence_95_per_s);
    rate(mean) + &plus_minus(mean, interval)
}
