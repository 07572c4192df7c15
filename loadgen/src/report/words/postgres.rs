//! Shows what PostgreSQL did, by its own statistics.

use crate::measure::PostgresActivity;
use crate::record::TargetRecord;
use crate::text::{count, megabytes, precise};

/// Names of the columns of the table.
pub(crate) const HEADER: [&str; 9] = [
    "",
    "commits",
    "rows",
    "WAL, MB",
    "WAL flushes",
    "read",
    "written",
    "checkpoints",
    "waited, s",
];

/// Explanation of the columns.
pub(crate) const LEGEND: &str = "of PostgreSQL, mean over rounds: committed transactions, inserted \
    rows, write-ahead log and its flushes, blocks read and written, checkpoints; the time that its \
    processes waited for files, all together";

/// Returns a row for each target with such statistics.
pub(crate) fn rows<'a>(targets: impl Iterator<Item = &'a TargetRecord>) -> Vec<Vec<String>> {
    targets.filter_map(row).collect()
}

fn row(target: &TargetRecord) -> Option<Vec<String>> {
    let whole = target.rounds.iter().filter(|round| round.whole);
    let activity: Vec<&PostgresActivity> =
        whole.filter_map(|round| round.postgres.as_ref()).collect();
    if activity.is_empty() {
        return None;
    }
    let mean = |figure: fn(&PostgresActivity) -> Option<f64>| {
        let sum: Option<f64> = activity.iter().map(|one| figure(one)).sum();
        sum.map(|sum| sum / activity.len() as f64)
    };
    let number =
        |figure| mean(figure).map_or("–".to_owned(), |mean| count(mean.max(0.0).round() as u64));
    let waited = |it: &PostgresActivity| {
        Some(it.read_ms? + it.write_ms? + it.fsync_ms? + it.wal_write_ms? + it.wal_fsync_ms?)
    };
    Some(vec![
        target.name.clone(),
        number(|it| it.transactions),
        number(|it| it.rows_inserted),
        mean(|it| it.wal_bytes).map_or("–".to_owned(), |bytes| megabytes(bytes.round() as u64)),
        number(|it| it.wal_fsyncs),
        number(|it| it.blocks_read),
        number(|it| Some(it.blocks_written? + it.blocks_added.unwrap_or(0.0))),
        number(|it| it.checkpoints),
        mean(waited).map_or("–".to_owned(), |ms| precise((ms / 100.0).round() / 10.0)),
    ])
}
