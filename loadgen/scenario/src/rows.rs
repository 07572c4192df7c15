//! Rows from a file: values that cannot be generated, such as the accounts that a server knows.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Rows of one CSV file, with only the columns that the scenario names.
///
/// A clone shares the cells, which may be many. Workers receive the cells
/// separately: a serialized scenario contains no cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Name of the rows in the scenario, such as `accounts` in `accounts.email`.
    pub name: String,
    /// Path of the file, as written in the scenario.
    pub file: String,
    /// Order in which rows are used.
    pub order: Order,
    /// Whether each user takes a row before the user's first step.
    pub at_start: bool,
    /// Whether each user takes a row for each iteration.
    pub in_iterations: bool,
    /// Names of the columns, as in placeholders: `accounts.email`.
    columns: Vec<String>,
    /// Cells of all rows.
    #[serde(skip)]
    pub cells: Arc<Cells>,
}

/// All cells of a file, row after row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells {
    text: String,
    /// Byte offset in `text` at which each cell ends.
    #[serde(with = "lengths")]
    ends: Vec<u32>,
}

impl Cells {
    fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(u32::try_from(self.text.len()).unwrap_or(u32::MAX));
    }

    fn get(&self, index: usize) -> Option<&str> {
        let end = *self.ends.get(index)? as usize;
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(begin..end)
    }
}

/// Serializes the end offsets of cells as the lengths of the cells. Most lengths take one byte, so
/// that serialized cells are no larger than their file.
mod lengths {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(ends: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        let begins = std::iter::once(&0).chain(ends);
        serializer
            .collect_seq(ends.iter().zip(begins).map(|(end, begin)| end.saturating_sub(*begin)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u32>, D::Error> {
        let mut end = 0_u32;
        let lengths = Vec::<u32>::deserialize(deserializer)?.into_iter();
        Ok(lengths
            .map(|length| {
                end = end.saturating_add(length);
                end
            })
            .collect())
    }
}

/// Order in which rows are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Uses each row at most once in a round, over all workers.
    Once,
    /// Uses the rows in the order of the file, again and again. In the closed model, the users'
    /// first rows are spread over the file. In the open model, the number of the arrival selects
    /// the row. At a user's start, the user's number selects the row.
    #[default]
    Cycle,
    /// Uses a random row, drawn from random data that depends on the test's seed.
    Random,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Once => "each used at most once",
            Self::Cycle => "used in a cycle",
            Self::Random => "used at random",
        })
    }
}

impl Rows {
    /// Creates rows with these columns and no cells.
    pub(super) fn new(name: &str, file: &str, order: Order, columns: &[String]) -> Self {
        Self {
            name: name.to_owned(),
            file: file.to_owned(),
            order,
            at_start: false,
            in_iterations: false,
            columns: columns.iter().map(|column| format!("{name}.{column}")).collect(),
            cells: Arc::default(),
        }
    }

    /// Appends the next cell. All cells together must be smaller than 4 GiB.
    pub(super) fn push(&mut self, cell: &str) {
        Arc::make_mut(&mut self.cells).push(cell);
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.ends.len() / self.columns.len().max(1)
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.ends.is_empty()
    }

    /// Returns the names of the columns, as in placeholders: `accounts.email`.
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the cells of a row, each with the column's name, such as `accounts.email`. Returns
    /// nothing if the row does not exist.
    pub fn row(&self, index: usize) -> impl Iterator<Item = (&str, &str)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(move |(column, name)| Some((name.as_str(), self.cell(index, column)?)))
    }

    fn cell(&self, row: usize, column: usize) -> Option<&str> {
        self.cells.get(row * self.columns.len() + column)
    }

    /// Returns a copy with the given rows and all columns.
    #[must_use]
    pub fn dealt(&self, rows: impl Iterator<Item = usize>) -> Self {
        self.select(rows, |_| true)
    }

    /// Returns a copy with all rows and the columns that `keep` selects.
    pub(super) fn of_columns(&self, keep: impl Fn(&str) -> bool) -> Self {
        self.select(0..self.len(), keep)
    }

    fn select(&self, rows: impl Iterator<Item = usize>, keep: impl Fn(&str) -> bool) -> Self {
        let columns = self.columns.iter().filter(|column| keep(column)).cloned().collect();
        let mut cells = Cells::default();
        for row in rows {
            self.row(row).filter(|(column, _)| keep(column)).for_each(|(_, cell)| cells.push(cell));
        }
        Self {
            columns,
            cells: Arc::new(cells),
            name: self.name.clone(),
            file: self.file.clone(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Rows {
        let columns = ["email", "id"].map(str::to_owned);
        let mut rows = Rows::new("accounts", "a.csv", Order::Once, &columns);
        ["a@x", "1", "", "2", "c@x", "3"].iter().for_each(|cell| rows.push(cell));
        rows
    }

    fn row(rows: &Rows, index: usize) -> Vec<(&str, &str)> {
        rows.row(index).collect()
    }

    #[test]
    fn cells_keep_their_places() {
        let rows = accounts();
        assert_eq!(rows.len(), 3);
        assert_eq!(row(&rows, 0), [("accounts.email", "a@x"), ("accounts.id", "1")]);
        assert_eq!(row(&rows, 1), [("accounts.email", ""), ("accounts.id", "2")]);
        assert_eq!(row(&rows, 3), []);
    }

    #[test]
    fn encoded_rows_are_unchanged_and_no_larger_than_the_file() {
        let rows = accounts();
        let bytes = rmp_serde::to_vec_named(&*rows.cells).unwrap();
        assert_eq!(rmp_serde::from_slice::<Cells>(&bytes).unwrap(), *rows.cells);
        let bytes = rmp_serde::to_vec_named(&rows).unwrap();
        let without = rmp_serde::from_slice::<Rows>(&bytes).unwrap();
        assert!(without.is_empty());
        assert_eq!(Rows { cells: rows.cells.clone(), ..without }, rows);
        let mut many = Rows::new("ids", "ids.csv", Order::Cycle, &["id".to_owned()]);
        (0..100_000).for_each(|id| many.push(&format!("{id:08}")));
        let bytes = rmp_serde::to_vec_named(&*many.cells).unwrap();
        // The file needs as many bytes: eight digits and a line end per row.
        assert!(bytes.len() < 100_000 * 9 + 200, "{}", bytes.len());
        assert_eq!(rmp_serde::from_slice::<Cells>(&bytes).unwrap(), *many.cells);
    }

    #[test]
    fn parts_contain_their_rows_and_columns() {
        let rows = accounts();
        let dealt = rows.dealt([0, 2].into_iter());
        assert_eq!((dealt.len(), row(&dealt, 1)), (2, row(&rows, 2)));
        let ids = rows.of_columns(|column| column == "accounts.id");
        assert_eq!((ids.len(), row(&ids, 1)), (3, vec![("accounts.id", "2")]));
    }
}
