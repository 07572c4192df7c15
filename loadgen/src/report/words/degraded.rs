//! Says why a result is not as planned, and what load remained.

use std::collections::BTreeMap;

use super::Warning;
use crate::record::RunRecord;
use crate::text::{count, counted};

/// Warns that the run did not go as planned, with the reason and the number of users that remained.
/// `None` if all went as planned.
pub(crate) fn degraded(record: &RunRecord) -> Option<Warning> {
    let degraded = record.degraded.as_ref()?;
    let what = format!("degraded: {}", degraded.reason);
    let is_taken_over = degraded.lost.iter().any(|lost| lost.taken_over_s.is_some());
    let marked = is_taken_over.then(|| "the rounds of these losses are in no ranking".to_owned());
    Some(Warning { kind: None, who: None, what, more: users_left(record).or(marked) })
}

/// Says how many of the planned users remained at the end of the rounds that lost users, the most
/// users first. `None` if no round lost users.
fn users_left(record: &RunRecord) -> Option<String> {
    let mut rounds: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    for round in record.targets.iter().flat_map(|target| &target.rounds) {
        if round.users_achieved < round.users_planned {
            *rounds.entry((round.users_achieved, round.users_planned)).or_default() += 1;
        }
    }
    let left = rounds.iter().rev().map(|((achieved, planned), n)| {
        let (achieved, planned) = (count((*achieved).into()), count((*planned).into()));
        let rounds = counted((*n).into(), "round");
        format!("{achieved} of {planned} at the end of {rounds}")
    });
    let left: Vec<String> = left.collect();
    let with = if record.load.rate_per_s.is_some() { ", with their share of the rate" } else { "" };
    (!left.is_empty()).then(|| {
        format!("remaining users{with}: {}; these rounds are in no ranking", left.join(", "))
    })
}
