//! Conditions of a run, which another manager that resumes it compares with its own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sysinfo::System;

use crate::cluster::Keys;
use crate::experiment::environment::environment;
use crate::experiment::job::Job;
use crate::experiment::sent::sent;
use crate::lab::Layout;

/// Conditions by name. A value is a text, or a digest that begins with [`DIGEST`].
pub type Values = BTreeMap<String, String>;

/// Conditions under which a run is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    /// Conditions that must be the same.
    pub fixed: Values,
    /// Conditions whose change is told. An update must not cost the rounds of a long run, and the report of such a run
    /// must not say that all of them were alike.
    pub told: Values,
}

/// Beginning of a digest, which says nothing to a person.
const DIGEST: &str = "sha256:";

/// File with the ID that a system gets with its installation and keeps: machine-id(5).
const MACHINE_ID: &str = "/etc/machine-id";

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
    let fixed = [
        ("the machine of the manager", machine(Path::new(MACHINE_ID))),
        ("its processor", here.cpu_model),
        ("its number of processors", here.cores.to_string()),
        ("the authority of the workers", keys.run().unwrap_or_else(|| "none".to_owned())),
        ("the order of the servers", digest(&names.collect::<Vec<_>>())),
        ("the scenario or the load", digest(&(plans.collect::<Vec<_>>(), sent.steps))),
    ];
    let told = [
        ("the kernel of the manager's host", here.kernel),
        ("the operating system of the manager's host", here.os),
    ];
    let owned = |(name, value): (&str, String)| (name.to_owned(), value);
    let fixed = fixed.into_iter().map(owned).chain(rows).collect();
    Conditions { fixed, told: told.into_iter().map(owned).collect() }
}

/// Identifies this machine by its ID, which stays when its host name or its kernel changes; without one, as in many
/// containers, by its host name. machine-id(5) asks not to give the ID to others, and so it is hashed with a word of our own.
fn machine(id: &Path) -> String {
    let id = std::fs::read_to_string(id).unwrap_or_default();
    let id = id.trim();
    let is_one = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_one { digest(&("loadgen --resume", id)) } else { System::host_name().unwrap_or_default() }
}

fn digest(value: &impl Serialize) -> String {
    // Workers get the same values in the same encoding, which can represent all of them.
    let bytes = rmp_serde::to_vec_named(value).unwrap_or_default();
    format!("{DIGEST}{:x}", Sha256::digest(bytes))
}

/// Returns a sentence for each condition that has changed.
pub fn differences(before: &Values, now: &Values) -> Vec<String> {
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
        let of = |pairs: &[(&str, &str)]| -> Values {
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

    #[test]
    fn a_machine_is_known_by_its_id_and_without_one_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("machine-id");
        let of = |text: &str| {
            std::fs::write(&file, text).unwrap();
            machine(&file)
        };
        let id = "4f3c9bd1ae2d47f4b2a4bb3f22b1d2aa";
        let known = of(&format!("{id}\n"));
        assert!(known.starts_with(DIGEST) && !known.contains(id), "{known}");
        assert_eq!(of(id), known);
        assert_ne!(of(&id.replace('4', "5")), known);
        let name = System::host_name().unwrap_or_default();
        for none in ["", "uninitialized\n", "4f3c"] {
            assert_eq!(of(none), name, "{none:?}");
        }
        assert_eq!(machine(&folder.path().join("none")), name);
    }
}
