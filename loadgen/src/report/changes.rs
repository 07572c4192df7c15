//! What the load was changed to while it was on.

use super::format::{count, precise};
use crate::measure::{ChangeRecord, RunRecord};

/// A change, and since when: `200 users from second 12`.
#[must_use]
pub fn changed(change: &ChangeRecord) -> String {
    let amount = match (change.users, change.rate_per_s) {
        (Some(1), _) => "1 user".to_owned(),
        (Some(users), _) => format!("{} users", count(users.into())),
        (None, rate) => format!("{} requests/s", precise(rate.unwrap_or_default())),
    };
    format!("{amount} from second {}", change.second)
}

/// All changes of a run; nothing where all went as planned.
pub fn changes(record: &RunRecord) -> Option<String> {
    let rounds = record.targets.iter().flat_map(|target| {
        target.rounds.iter().map(move |round| (&target.name, round.round, &round.changes))
    });
    let all: Vec<String> = rounds
        .filter(|(.., changes)| !changes.is_empty())
        .map(|(target, round, changes)| {
            let changes: Vec<String> = changes.iter().map(changed).collect();
            format!("{} of round {round} ({target})", changes.join(", "))
        })
        .collect();
    (!all.is_empty()).then(|| format!("changed while it ran: {}", all.join("; ")))
}
