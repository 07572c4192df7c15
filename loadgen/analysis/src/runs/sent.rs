//! Compares the requests of two runs.

use std::collections::{BTreeMap, BTreeSet};

use super::comparable::{Comparable, Measured};
use crate::record::SentRecord;

/// Returns descriptions of the differences between the requests to a target in the `later` run and
/// in the `first` run.
pub(super) fn unlike(
    first: (&Comparable, &Measured),
    later: (&Comparable, &Measured),
) -> Vec<String> {
    let mut what = Vec::new();
    if let (Some(before), Some(after)) = (&first.0.sent, &later.0.sent)
        && before.form == after.form
    {
        what.extend(parts("", &before.all_steps, &after.all_steps));
        what.extend(steps(before, after, [&first.0.run.name, &later.0.run.name]));
    }
    let (before, after) = (first.1, later.1);
    if let (Some(before), Some(after)) = (&before.transport, &after.transport)
        && before != after
    {
        what.push(format!("another transport ({after}, not {before})"));
    }
    if let (Some(before), Some(after)) = (&before.versions, &after.versions)
        && before != after
    {
        let all = |versions: &BTreeSet<String>| {
            versions.iter().map(String::as_str).collect::<Vec<_>>().join(" and ")
        };
        what.push(format!("another version of HTTP ({}, not {})", all(after), all(before)));
    }
    what
}

/// Returns whether the later run has digests of its requests in the same format as the first run.
pub(super) fn is_known(first: &Comparable, later: &Comparable) -> bool {
    let form = |run: &Comparable| run.sent.as_ref().map(|sent| sent.form);
    form(first).is_some() && form(first) == form(later)
}

fn steps(before: &SentRecord, after: &SentRecord, runs: [&str; 2]) -> Vec<String> {
    let names: BTreeSet<&String> = before.steps.keys().chain(after.steps.keys()).collect();
    let of_step = |name: &String| match (before.steps.get(name), after.steps.get(name)) {
        (Some(before), Some(after)) => parts(&format!(" of step \"{name}\""), before, after),
        (before, _) => {
            let run = runs[usize::from(before.is_none())];
            vec![format!("step \"{name}\" is in {run} only")]
        }
    };
    names.into_iter().flat_map(of_step).collect()
}

/// Describes the parts of a request that differ, such as `another path of step "list"`. The maps
/// hold the digest of each part by its name.
fn parts(
    of: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<String> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differ = names.into_iter().filter(|part| before.get(*part) != after.get(*part));
    differ.map(|part| format!("another {part}{of}")).collect()
}
