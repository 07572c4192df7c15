//! Describes differences between targets other than in the measured results.

use std::collections::BTreeMap;

use crate::record::{GitRecord, ServerRecord};

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
    traits.extend(server.git.as_ref().map(commit));
    traits.extend(server.differs.iter().cloned());
    traits
}

/// Describes the commit of a target that is measured at a ref.
fn commit(git: &GitRecord) -> String {
    let changed = match (git.dirty == Some(true), git.untracked == Some(true)) {
        (true, true) => " with uncommitted changes and untracked files",
        (true, false) => " with uncommitted changes",
        (false, true) => " with untracked files",
        (false, false) => "",
    };
    let table = match git.defined_elsewhere {
        true => ", started as the working tree's loadgen.toml says",
        false => "",
    };
    format!("commit {}{changed}{table}", git.short_commit())
}

/// Returns a sentence for each ref that was measured, with its commit.
#[must_use]
pub fn commits(refs: &[&GitRecord]) -> Vec<String> {
    let sentence = |git: &GitRecord| format!("{}@{} is {}", git.target, git.r#ref, commit(git));
    let mut all: Vec<String> = refs.iter().map(|git| sentence(git)).collect();
    all.dedup();
    all
}

/// Returns a sentence for each two refs that stand for the same files.
#[must_use]
pub fn same_commits(refs: &[&GitRecord]) -> Vec<String> {
    let mut all = Vec::new();
    for (index, git) in refs.iter().enumerate() {
        for other in refs[..index].iter().filter(|other| git.has_files_of(other)) {
            let sentence = format!(
                "{0}@{1} and {0}@{2} are the same commit: a difference between them is noise",
                git.target, other.r#ref, git.r#ref
            );
            // Contenders may differ in the numbers of users or server workers, too.
            if !all.contains(&sentence) {
                all.push(sentence);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(name: &str, commit: &str, dirty: Option<bool>) -> GitRecord {
        GitRecord {
            target: "shop".to_owned(),
            r#ref: name.to_owned(),
            commit: commit.repeat(40),
            dirty,
            untracked: dirty.map(|_| false),
            defined_elsewhere: false,
        }
    }

    #[test]
    fn each_ref_is_named_with_its_commit_once() {
        let (main, here) = (git("main", "a", None), git(".", "b", Some(true)));
        let more = GitRecord { untracked: Some(true), ..here.clone() };
        let old = GitRecord { defined_elsewhere: true, ..git("v1", "c", None) };
        assert_eq!(
            commits(&[&main, &main, &here, &more, &old]),
            [
                "shop@main is commit aaaaaaaaaa",
                "shop@. is commit bbbbbbbbbb with uncommitted changes",
                "shop@. is commit bbbbbbbbbb with uncommitted changes and untracked files",
                "shop@v1 is commit cccccccccc, started as the working tree's loadgen.toml says",
            ]
        );
    }

    #[test]
    fn two_names_of_one_commit_are_noticed() {
        let (main, head) = (git("main", "a", None), git("HEAD", "a", None));
        let sentence =
            "shop@main and shop@HEAD are the same commit: a difference between them is noise";
        assert_eq!(same_commits(&[&main, &head, &main, &head])[0], sentence);
        assert_eq!(same_commits(&[&main, &main]).len(), 0, "--aa, or another number of users");
        assert_eq!(same_commits(&[&head, &git(".", "a", Some(true))]).len(), 0);
        let here = git(".", "a", Some(false));
        assert_eq!(same_commits(&[&head, &here]).len(), 0, "ignored files may differ");
        assert_eq!(same_commits(&[&head, &git("main", "b", None)]).len(), 0);
    }
}
