//! Describes differences between targets other than in the measured results.

use std::collections::BTreeMap;

use crate::record::ServerRecord;

/// Describes the servers of the targets and their differences. Traits that several targets share
/// are mentioned once. If `workers` is true, the traits include the number of worker processes.
#[must_use]
pub fn differences(servers: &[(&str, &ServerRecord)], workers: bool) -> Vec<String> {
    let mut owners: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut traits = Vec::new();
    for (target, server) in servers {
        for item in traits_of(server, workers) {
            let owners = owners.entry(item.clone()).or_default();
            if owners.is_empty() {
                traits.push(item);
            }
            owners.push(target);
        }
    }
    // Group traits by the targets that have them, both in order of appearance.
    let mut groups: Vec<(&[&str], Vec<&str>)> = Vec::new();
    for item in &traits {
        let owners = owners[item].as_slice();
        match groups.iter_mut().find(|(others, _)| *others == owners) {
            Some((_, items)) => items.push(item),
            None => groups.push((owners, vec![item])),
        }
    }
    groups.sort_by_key(|(owners, _)| std::cmp::Reverse(owners.len()));
    groups
        .iter()
        .map(|(owners, items)| {
            let all = owners.len() > 1 && owners.len() == servers.len();
            let who = if all { "all".to_owned() } else { owners.join(", ") };
            format!("{who}: {}", items.join("; "))
        })
        .collect()
}

/// Returns the traits of a server, such as the framework; empty for a server that loadgen did not
/// launch.
fn traits_of(server: &ServerRecord, workers: bool) -> Vec<String> {
    let mut traits = Vec::new();
    if !server.framework.is_empty() {
        traits.push(format!("{} on {}", server.framework, server.server));
    }
    // Only a language other than that of most targets is worth a word.
    if !["", "Python"].contains(&server.language.as_str()) {
        traits.push(server.language.clone());
    }
    if server.workers > 1 && workers {
        traits.push(format!("{} worker processes requested", server.workers));
    }
    traits.extend(server.replicas.map(|replicas| match replicas {
        1 => "1 replica behind a load balancer".to_owned(),
        n => format!("{n} replicas behind a load balancer"),
    }));
    traits.extend(server.differs.iter().cloned());
    traits
}
