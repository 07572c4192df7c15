//! Reads PostgreSQL's own statistics.
//!
//! PostgreSQL's processes report their counts with a delay, at the latest when they end. The second
//! of two readings must therefore come after the target has ended and its connections are closed.

use super::Postgres;
use super::client::NAME;
use crate::lab::LabError;
use crate::measure::PostgresActivity;

/// Figures of the views that all supported versions have (PostgreSQL 14 and later).
const ALWAYS: &str = "'transactions', d.xact_commit, 'rollbacks', d.xact_rollback, \
    'rows_inserted', d.tup_inserted, 'blocks_read', d.blks_read, 'blocks_hit', d.blks_hit, \
    'wal_bytes', w.wal_bytes";

/// Figures of `pg_stat_io`, since version 16.
const IO: &str = "'blocks_written', (SELECT sum(writes) FROM pg_stat_io \
        WHERE object = 'relation'), \
    'blocks_added', (SELECT sum(extends) FROM pg_stat_io WHERE object = 'relation'), \
    'read_ms', (SELECT sum(read_time) FROM pg_stat_io WHERE object = 'relation'), \
    'write_ms', (SELECT sum(coalesce(write_time, 0) + coalesce(extend_time, 0)) FROM pg_stat_io \
        WHERE object = 'relation'), \
    'fsync_ms', (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'relation')";

/// Blocks and times of the earlier views, until version 15. There, blocks by which tables grew count
/// as written.
const IO_BEFORE: &str = "'blocks_written', \
        (SELECT buffers_checkpoint + buffers_clean + buffers_backend FROM pg_stat_bgwriter), \
    'read_ms', d.blk_read_time, 'write_ms', d.blk_write_time";

/// Checkpoints in `pg_stat_checkpointer`, since version 17.
const CHECKPOINTS: &str =
    "'checkpoints', (SELECT num_timed + num_requested FROM pg_stat_checkpointer)";

/// Checkpoints in `pg_stat_bgwriter`, until version 16.
const CHECKPOINTS_BEFORE: &str =
    "'checkpoints', (SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter)";

/// Figures of the write-ahead log in `pg_stat_io`, since version 18.
const WAL: &str = "'wal_write_ms', (SELECT sum(write_time) FROM pg_stat_io \
        WHERE object = 'wal'), \
    'wal_fsync_ms', (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'wal'), \
    'wal_fsyncs', (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')";

/// Figures of the write-ahead log in `pg_stat_wal`, until version 17.
const WAL_BEFORE: &str =
    "'wal_write_ms', w.wal_write_time, 'wal_fsync_ms', w.wal_sync_time, 'wal_fsyncs', w.wal_sync";

/// Returns the query for a version of PostgreSQL, such as 180004. Its answer is a JSON object.
fn query(version: u32) -> String {
    let since = |first: u32, now, before| if version >= first { now } else { before };
    let figures = [
        ALWAYS,
        since(160_000, IO, IO_BEFORE),
        since(170_000, CHECKPOINTS, CHECKPOINTS_BEFORE),
        since(180_000, WAL, WAL_BEFORE),
    ];
    format!(
        "SELECT json_strip_nulls(json_build_object({})) FROM pg_stat_database d, pg_stat_wal w \
         WHERE d.datname = '{NAME}'",
        figures.join(", ")
    )
}

impl Postgres {
    /// Reads the counts since the start of the server.
    pub(in crate::lab::backends) async fn activity(&self) -> Result<PostgresActivity, LabError> {
        let version = self.tell(NAME, &["-c", "SHOW server_version_num"]).await?;
        let answer = self.tell(NAME, &["-c", &query(version.trim().parse().unwrap_or(0))]).await?;
        serde_json::from_str(answer.trim())
            .map_err(|error| self.fault(&format!("the statistics are unreadable: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_views_of_the_version_are_read() {
        let views = |version| {
            let query = query(version);
            ["pg_stat_io", "pg_stat_bgwriter", "pg_stat_checkpointer", "w.wal_sync", "'wal'"]
                .map(|view| query.contains(view))
        };
        assert_eq!(views(150_004), [false, true, false, true, false]);
        assert_eq!(views(160_014), [true, true, false, true, false]);
        assert_eq!(views(170_000), [true, false, true, true, false]);
        assert_eq!(views(180_004), [true, false, true, false, true]);
    }
}
