//! Counts what PostgreSQL did, by its own statistics.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What PostgreSQL did between two readings of its statistics views. A figure that this version of
/// PostgreSQL does not count is `None`. Blocks are of 8 KiB, unless PostgreSQL was built otherwise.
///
/// A reading has the counts since the server's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PostgresActivity {
    /// Committed transactions, with a few of loadgen's own; `None` if not counted.
    pub transactions: Option<f64>,
    /// Transactions that were rolled back; `None` if not counted.
    pub rollbacks: Option<f64>,
    /// Inserted rows; `None` if not counted.
    pub rows_inserted: Option<f64>,
    /// Blocks of 8 KiB that were read from the operating system; `None` if not counted.
    pub blocks_read: Option<f64>,
    /// Blocks that were found in PostgreSQL's cache; `None` if not counted.
    pub blocks_hit: Option<f64>,
    /// Blocks of tables and indexes that were written; before version 16, with `blocks_added`.
    /// `None` if not counted.
    pub blocks_written: Option<f64>,
    /// Blocks by which tables and indexes grew; `None` before version 16.
    pub blocks_added: Option<f64>,
    /// Write-ahead log; `None` if not counted.
    pub wal_bytes: Option<f64>,
    /// Flushes of the write-ahead log; `None` if not counted.
    pub wal_fsyncs: Option<f64>,
    /// Checkpoints; `None` if not counted.
    pub checkpoints: Option<f64>,
    /// Time that processes waited for reads of tables and indexes; `None` if not counted.
    pub read_ms: Option<f64>,
    /// Time that processes waited for writes of tables and indexes; `None` if not counted.
    pub write_ms: Option<f64>,
    /// Time that processes waited for flushes of tables and indexes; `None` before version 16.
    pub fsync_ms: Option<f64>,
    /// Time that processes waited for writes of the write-ahead log; `None` if not counted.
    pub wal_write_ms: Option<f64>,
    /// Time that processes waited for flushes of the write-ahead log; `None` if not counted.
    pub wal_fsync_ms: Option<f64>,
}

impl PostgresActivity {
    /// Returns what happened between the reading `before` and this reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = |now: Option<f64>, before: Option<f64>| Some(now? - before?);
        Self {
            transactions: less(self.transactions, before.transactions),
            rollbacks: less(self.rollbacks, before.rollbacks),
            rows_inserted: less(self.rows_inserted, before.rows_inserted),
            blocks_read: less(self.blocks_read, before.blocks_read),
            blocks_hit: less(self.blocks_hit, before.blocks_hit),
            blocks_written: less(self.blocks_written, before.blocks_written),
            blocks_added: less(self.blocks_added, before.blocks_added),
            wal_bytes: less(self.wal_bytes, before.wal_bytes),
            wal_fsyncs: less(self.wal_fsyncs, before.wal_fsyncs),
            checkpoints: less(self.checkpoints, before.checkpoints),
            read_ms: less(self.read_ms, before.read_ms),
            write_ms: less(self.write_ms, before.write_ms),
            fsync_ms: less(self.fsync_ms, before.fsync_ms),
            wal_write_ms: less(self.wal_write_ms, before.wal_write_ms),
            wal_fsync_ms: less(self.wal_fsync_ms, before.wal_fsync_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_is_the_difference_of_two_readings() {
        let read = |text: &str| serde_json::from_str::<PostgresActivity>(text).unwrap();
        let before = read(r#"{"transactions": 10, "wal_bytes": 1000}"#);
        let after = read(r#"{"transactions": 30, "wal_bytes": 5000.5, "read_ms": 3}"#);
        let activity = after.since(&before);
        assert_eq!(activity.transactions, Some(20.0));
        assert_eq!(activity.wal_bytes, Some(4_000.5));
        assert_eq!(activity.read_ms, None);
    }
}
