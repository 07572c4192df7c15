//! Records which rows of a file the requests of a round used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Rows that requests used of each CSV file, by the file's name in the scenario.
pub type RowsUsed = BTreeMap<String, Used>;

/// Rows that requests used of one CSV file. Merging is associative, commutative and exact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Used {
    /// Number of used rows, for a file of which each row is used at most once.
    Number(u64),
    /// One bit for each row of the file, set if the row was used. The lowest bit of the first word
    /// stands for the first row.
    Bits(Vec<u64>),
}

impl Used {
    /// Adds the rows of the same file that another process used.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Number(here), Self::Number(there)) => *here = here.saturating_add(*there),
            (Self::Bits(here), Self::Bits(there)) => {
                here.resize(here.len().max(there.len()), 0);
                here.iter_mut().zip(there).for_each(|(here, there)| *here |= there);
            }
            // The file's order determines the variant, which is the same for all processes: a
            // worker that reports the other variant is ignored.
            _ => {}
        }
    }

    /// Counts the used rows in a file of `rows` rows. Ignores rows beyond the end, which a worker
    /// may report.
    #[must_use]
    pub fn count(&self, rows: u64) -> u64 {
        match self {
            Self::Number(number) => (*number).min(rows),
            Self::Bits(words) => {
                let whole = usize::try_from(rows / 64).unwrap_or(usize::MAX);
                let ones = |words: &[u64]| -> u64 {
                    words.iter().map(|word| u64::from(word.count_ones())).sum()
                };
                let part = words.get(whole).map_or(0, |word| word & !(u64::MAX << (rows % 64)));
                ones(&words[..whole.min(words.len())]) + ones(&[part])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn bits(rows: &BTreeSet<u64>) -> Used {
        let mut words = vec![0; 8];
        rows.iter().for_each(|row| words[*row as usize / 64] |= 1 << (row % 64));
        Used::Bits(words)
    }

    proptest! {
        #[test]
        fn a_row_used_several_times_counts_once(
            parts in prop::collection::vec(prop::collection::btree_set(0u64..512, 0..99), 1..5),
            rows in 0u64..600,
        ) {
            let mut all = Used::Bits(Vec::new());
            parts.iter().for_each(|part| all.merge(&bits(part)));
            let union: BTreeSet<u64> = parts.into_iter().flatten().filter(|row| *row < rows).collect();
            prop_assert_eq!(all.count(rows), union.len() as u64);
        }
    }

    #[test]
    fn rows_used_by_one_process_each_are_summed() {
        let mut all = Used::Number(3);
        all.merge(&Used::Number(4));
        all.merge(&Used::Bits(vec![u64::MAX]));
        assert_eq!((all.count(10), all.count(5)), (7, 5));
    }
}
