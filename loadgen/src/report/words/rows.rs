//! Says how much of the scenario's files of rows was used.

use std::collections::BTreeMap;

use crate::record::{RowsRecord, RunRecord, TargetRecord};
use crate::text::count;

/// Returns a sentence for each file of rows in the scenario: how many of the rows were used.
pub(crate) fn rows(record: &RunRecord) -> Vec<String> {
    let mut files: BTreeMap<&str, Vec<(&str, Vec<RowsRecord>)>> = BTreeMap::new();
    for target in &record.targets {
        for (name, used) in by_file(target) {
            files.entry(name).or_default().push((&target.name, used));
        }
    }
    files.into_iter().map(|(name, targets)| sentence(name, &targets)).collect()
}

/// Returns how many rows of each file each round of a target used, by the file's name.
fn by_file(target: &TargetRecord) -> BTreeMap<&str, Vec<RowsRecord>> {
    let mut files: BTreeMap<&str, Vec<RowsRecord>> = BTreeMap::new();
    for (name, used) in target.rounds.iter().flat_map(|round| &round.rows_used) {
        files.entry(name).or_default().push(*used);
    }
    files
}

fn sentence(name: &str, targets: &[(&str, Vec<RowsRecord>)]) -> String {
    let all = targets.iter().flat_map(|(_, rounds)| rounds);
    let of = all.clone().map(|used| used.of).max().unwrap_or(0);
    let ranges: Vec<(&str, String)> =
        targets.iter().map(|(target, rounds)| (*target, range(rounds))).collect();
    let what = match ranges.as_slice() {
        [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => {
            first.clone()
        }
        each => {
            let each: Vec<String> =
                each.iter().map(|(target, range)| format!("{target} {range}")).collect();
            each.join(", ")
        }
    };
    let when = if all.count() > 1 { " in each round" } else { "" };
    format!("rows of {name} used{when}: {what} (of {})", count(of))
}

/// Formats the least and the greatest number of rows used in a round, or a single number if all
/// rounds used as many.
fn range(rounds: &[RowsRecord]) -> String {
    let used = rounds.iter().map(|round| round.used);
    match (used.clone().min().unwrap_or(0), used.max().unwrap_or(0)) {
        (least, most) if least == most => count(most),
        (least, most) => format!("{} to {}", count(least), count(most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RoundRecord;

    fn target(name: &str, used: &[u64]) -> TargetRecord {
        let round = |used: &u64| RoundRecord {
            rows_used: [("people".to_owned(), RowsRecord { used: *used, of: 10_000 })].into(),
            ..RoundRecord::default()
        };
        let rounds = used.iter().map(round).collect();
        TargetRecord { name: name.to_owned(), rounds, ..TargetRecord::default() }
    }

    fn told(targets: Vec<TargetRecord>) -> Vec<String> {
        rows(&RunRecord { targets, ..RunRecord::default() })
    }

    #[test]
    fn the_used_rows_of_a_file_are_reported_in_a_sentence() {
        assert_eq!(told(vec![TargetRecord::default()]), Vec::<String>::new());
        assert_eq!(told(vec![target("a", &[3_000])]), ["rows of people used: 3,000 (of 10,000)"]);
        assert_eq!(
            told(vec![target("a", &[10_000, 10_000]), target("b", &[10_000, 10_000])]),
            ["rows of people used in each round: 10,000 (of 10,000)"]
        );
        assert_eq!(
            told(vec![target("a", &[3_000, 2_900]), target("b", &[70, 70])]),
            ["rows of people used in each round: a 2,900 to 3,000, b 70 (of 10,000)"]
        );
    }
}
