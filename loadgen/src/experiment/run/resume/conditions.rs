//! Conditions of a run that must be the same when another manager resumes it.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::cluster::Keys;
use crate::experiment::cache;
use crate::experiment::environment::environment;
use crate::experiment::job::Job;
use crate::experiment::sent::sent;
use crate::lab::Layout;

/// Conditions by name. A value is a text, or a digest that begins with [`DIGEST`].
pub type Conditions = BTreeMap<String, String>;

/// Beginning of a digest, which says nothing to a person.
const DIGEST: &str = "sha256:";

/// Returns the conditions of a run on this machine. The authority of the workers must exist.
pub fn conditions(job: &Job, keys: &Keys) -> Conditions {
    let here = environment(job, None, &Layout::unpinned(), &BTreeMap::new());
    let names = job.contenders.iter().map(|contender| contender.name.as_str());
    // The number of a round only adds to the seed.
    let plans = (0..job.contenders.len()).map(|contender| {
        let url = job.running(contender).map(|server| server.url.clone());
        job.plan(contender, url.unwrap_or_default(), 1)
    });
    let sent = sent(&job.scenario);
    // Plans do not contain the cells of rows.
    let rows = sent.all_steps.into_iter().filter(|(part, _)| part.starts_with("rows."));
    let rows = rows.map(|(part, digest)| {
        (format!("the content of {part} of the scenario"), format!("{DIGEST}{digest}"))
    });
    let told = [
        ("the machine of the manager", cache::machine()),
        ("its operating system", here.os),
        ("its processor", here.cpu_model),
        ("its number of processors", here.cores.to_string()),
        ("the authority of the workers", keys.run().unwrap_or_else(|| "none".to_owned())),
        ("the order of the servers", digest(&names.collect::<Vec<_>>())),
        ("the scenario or the load", digest(&(plans.collect::<Vec<_>>(), sent.steps))),
    ];
    let told = told.into_iter().map(|(name, value)| (name.to_owned(), value));
    told.chain(rows).collect()
}

fn digest(value: &impl Serialize) -> String {
    // Workers get the same values in the same encoding, which can represent all of them.
    let bytes = rmp_serde::to_vec_named(value).unwrap_or_default();
    format!("{DIGEST}{:x}", Sha256::digest(bytes))
}

/// Returns a sentence for each condition that has changed.
pub fn differences(before: &Conditions, now: &Conditions) -> Vec<String> {
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    let told = names.filter_map(|name| match (before.get(name), now.get(name)) {
        (before, now) if before == now => None,
        (Some(before), Some(now)) if !now.starts_with(DIGEST) => {
            Some(format!("{name} was {before:?}, and is {now:?}"))
        }
        _ => Some(format!("{name} has changed")),
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_difference_is_told() {
        let of = |pairs: &[(&str, &str)]| -> Conditions {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let before = of(&[("the machine", "a"), ("the load", "sha256:1"), ("the kernel", "6")]);
        let now = of(&[("the machine", "b"), ("the load", "sha256:2"), ("the kernel", "6")]);
        let told = ["the load has changed", "the machine was \"a\", and is \"b\""];
        assert_eq!(differences(&before, &now), told);
        assert!(differences(&now, &now).is_empty());
        let more = [("rows.a", "sha256:3")].into_iter().chain([("the machine", "b")]);
        let more = of(&more.collect::<Vec<_>>());
        assert_eq!(
            differences(&of(&[("the machine", "b")]), &more),
            ["rows.a has changed"],
            "of rows that are new"
        );
    }
}
