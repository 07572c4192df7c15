//! A table with a row for each arm of a group.

/// A table: names of the columns, and a row for each arm, whose name comes first.
pub(crate) struct ArmTable {
    /// Text to show above the table; empty for the main table.
    pub title: String,
    /// Names of the columns.
    pub header: Vec<String>,
    /// A row for each arm.
    pub rows: Vec<Vec<String>>,
}
