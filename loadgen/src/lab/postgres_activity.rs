//! Reads PostgreSQL's own statistics.
//!
//! PostgreSQL's processes report their counts with a delay, at the latest when they end. The second
//! of two readings must therefore come after the target has ended and its connections are closed.

use super::LabError;
use super::postgres::Postgres;
use super::postgres_client::NAME;
use crate::measure::PostgresActivity;

/// Figures of the views that all supported versions have (PostgreSQL 14 and later).
const ALWAYS: &str = "'transactions', d.xact_commit, 'rollbacks', d.xact_rollback, \
    'rows_inserted', d.tup_inserted, 'blocks_read', d.blks_read, 'blocks_hit', d.blks_hit, \
    'wal_bytes', w.wal_bytes";

/// Figures of the views `pg_stat_checkpointer` and `pg_stat_io`, since version 17.
const WITH_IO: &str = "'blocks_written', (SELECT sum(writes) FROM pg_stat_io \
        WHERE object = 'relation'), \
    'blocks_added', (SELECT sum(extends) FROM pg_stat_io WHERE object = 'relation'), \
    'read_ms', (SELECT sum(read_time) FROM pg_stat_io WHERE object = 'relation'), \
    'write_ms', (SELECT sum(coalesce(write_time, 0) + coalesce(extend_time, 0)) FROM pg_stat_io \
        WHERE object = 'relation'), \
    'fsync_ms', (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'relation'), \
    'checkpoints', (SELECT num_timed + num_requested FROM pg_stat_checkpointer)";

/// Figures of the write-ahead log in `pg_stat_io`, since version 18.
const WITH_WAL_IO: &str = "'wal_write_ms', (SELECT sum(write_time) FROM pg_stat_io \
        WHERE object = 'wal'), \
    'wal_fsync_ms', (SELECT sum(fsync_time) FROM pg_stat_io WHERE object = 'wal'), \
    'wal_fsyncs', (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')";

/// Returns the query for a version of PostgreSQL, such as 180004. Its answer is a JSON object.
fn query(version: u32) -> String {
    let mut figures = vec![ALWAYS];
    figures.extend((version >= 170_000).then_some(WITH_IO));
    figures.extend((version >= 180_000).then_some(WITH_WAL_IO));
    format!(
        "SELECT json_strip_nulls(json_build_object({})) FROM pg_stat_database d, pg_stat_wal w \
         WHERE d.datname = '{NAME}'",
        figures.join(", ")
    )
}

impl Postgres {
    /// Reads the counts since the start of the server.
    pub(super) async fn activity(&self) -> Result<PostgresActivity, LabError> {
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
        assert!(!query(150_004).contains("pg_stat_io"));
        assert!(query(170_000).contains("pg_stat_io") && !query(170_000).contains("'wal'"));
        assert!(query(180_004).contains("wal_fsync_ms"));
    }
}
