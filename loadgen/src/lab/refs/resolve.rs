//! Finds the commit that a ref stands for, and the target's table there.

use std::path::{Path, PathBuf};

use super::elsewhere::pieces;
use crate::lab::Runtime;
use crate::lab::error::LabError;
use crate::lab::git::git_ref::{GitRef, WORKING_TREE};
use crate::lab::git::{Commit, Repository, bad_ref, short};
use crate::lab::home::Home;
use crate::lab::manifest::{Init, Manifest, TargetSpec};
use crate::scenario::{Backend, nearest};

/// Returns the target that `word`, such as `shop@main`, names. The target's table is that of
/// `loadgen.toml` in the commit; if the commit has no such file, that of the working tree, whose
/// manifest is `manifest`. For `shop@.`, it is that of the working tree.
///
/// # Errors
/// Fails if refs cannot be measured here, or if the commit or the target in it does not exist.
pub fn at_ref(
    home: &Home,
    manifest: &Manifest,
    runtime: Runtime,
    word: &str,
) -> Result<TargetSpec, LabError> {
    let Some((target, name)) = word.split_once('@') else { return manifest.target(word).cloned() };
    if !home.is_own() {
        return Err(wrong(
            word,
            "refs are for targets of your own, but those of targets/targets.toml are loadgen's",
            "name the target without a ref, or name a server of your own in loadgen.toml",
        ));
    }
    if runtime != Runtime::Process {
        return Err(wrong(
            word,
            "refs are for processes: with --runtime podman, all refs would share one image",
            "leave out --runtime podman",
        ));
    }
    let repository = Repository::of(home.root(), word)?;
    if name == WORKING_TREE {
        return working_tree(&repository, manifest.target(target)?, word);
    }
    let commit = commit(&repository, target, name)?;
    let git = GitRef {
        target: target.to_owned(),
        name: name.to_owned(),
        notes: warnings(&commit, word, name),
        commit: commit.hash,
        dirty: None,
        untracked: None,
        is_defined_elsewhere: false,
    };
    of_commit(&repository, home.manifest_name(), manifest, git, word)
}

/// Returns the target as its commit has it. `file` is the name of the manifest, and `here` that of the
/// working tree.
fn of_commit(
    repository: &Repository,
    file: &str,
    here: &Manifest,
    git: GitRef,
    word: &str,
) -> Result<TargetSpec, LabError> {
    let short = short(&git.commit);
    if !repository.has_project(&git.commit)? {
        let folder = repository.prefix.display();
        let what = format!("the commit {short} has no folder {folder}");
        return Err(wrong(word, &what, "name a later ref"));
    }
    let mut notes = git.notes.clone();
    let Some(text) = repository.content(&git.commit, Path::new(file))? else {
        notes.push(format!(
            "{word}: the commit has no {file}: the table of the working tree counts"
        ));
        let target = here.target(&git.target)?;
        return Ok(named(target, word, GitRef { is_defined_elsewhere: true, notes, ..git }));
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let there = Manifest::read(text, &format!("{file} at {}", git.name), true)?;
    let found = there.targets().iter().find(|one| one.name == git.target);
    let found = found.ok_or_else(|| {
        let what = format!("{file} of the commit {short} has no target \"{}\"", git.target);
        let help = match there.names().join(", ").as_str() {
            "" => "name another ref".to_owned(),
            names => format!("{file} there has {names}: name one of them, or another ref"),
        };
        wrong(word, &what, &help)
    })?;
    notes.extend(differing_data(repository, &git.commit, [here, &there], word)?);
    Ok(named(found, word, GitRef { notes, ..git }))
}

fn wrong(word: &str, what: &str, help: &str) -> LabError {
    bad_ref(format!("--target {word}: {what}"), b"", help)
}

fn named(target: &TargetSpec, word: &str, git: GitRef) -> TargetSpec {
    TargetSpec { name: word.to_owned(), git: Some(git), ..target.clone() }
}

/// Returns the target as the working tree has it.
fn working_tree(
    repository: &Repository,
    target: &TargetSpec,
    word: &str,
) -> Result<TargetSpec, LabError> {
    let commit = repository.commit("HEAD")?.map_err(|said| {
        let help = "commit something first, or name the target without a ref";
        bad_ref(format!("--target {word}: the repository has no commit yet"), &said, help)
    })?;
    let changes = repository.changes()?;
    let git = GitRef {
        target: target.name.clone(),
        name: WORKING_TREE.to_owned(),
        notes: warnings(&commit, word, "HEAD"),
        commit: commit.hash,
        dirty: Some(changes.tracked),
        untracked: Some(changes.untracked),
        is_defined_elsewhere: false,
    };
    Ok(named(target, word, git))
}

/// Returns a note for each warning of Git about the name of a commit.
fn warnings(commit: &Commit, word: &str, name: &str) -> Vec<String> {
    let note = |warning: &String| {
        let taken = format!("loadgen takes the commit {}", short(&commit.hash));
        let help = match warning.contains("is ambiguous") {
            true => format!("; refs/heads/{name} is the branch, refs/tags/{name} the tag"),
            false => String::new(),
        };
        format!("{word}: Git warns: {warning}: {taken}{help}")
    };
    commit.warnings.iter().map(note).collect()
}

/// Returns the commit that `name` stands for.
fn commit(repository: &Repository, target: &str, name: &str) -> Result<Commit, LabError> {
    let wrong = |said: &[u8], help: String| {
        Err(bad_ref(format!("--target {target}@{name}: unknown ref \"{name}\""), said, help))
    };
    // Git would take such a word for an option, or for all commits but one; no branch or tag begins so.
    if name.is_empty() || name.starts_with(['-', '^']) || name.chars().any(char::is_control) {
        let help = "write a branch, a tag or a commit after the @, or a dot for the working tree";
        return wrong(b"", help.to_owned());
    }
    let said = match repository.commit(name)? {
        Ok(commit) => return Ok(commit),
        Err(said) => said,
    };
    let names = repository.names()?;
    let of_remote = names.iter().find(|one| one.ends_with(&format!("/{name}")));
    let near =
        of_remote.map(String::as_str).or_else(|| nearest(name, names.iter().map(String::as_str)));
    let help = match near {
        Some(near) => format!("did you mean {target}@{near}?"),
        None if repository.path("shallow")?.is_file() => {
            "this clone is shallow, and has no other commits: git fetch --unshallow --tags origin"
                .to_owned()
        }
        None => "name a branch, a tag or a commit; `git fetch` gets those of other repositories"
            .to_owned(),
    };
    wrong(&said, help)
}

/// Returns a note for each backend that is filled in another way in the commit than in the working
/// tree, which counts for all targets of a run.
fn differing_data(
    repository: &Repository,
    commit: &str,
    [here, there]: [&Manifest; 2],
    word: &str,
) -> Result<Vec<String>, LabError> {
    let of = |manifest: &Manifest, backend| match backend {
        Backend::Postgres => manifest.inits.postgres.clone(),
        Backend::Redis => manifest.inits.redis.clone(),
    };
    let mut notes = Vec::new();
    for backend in Backend::ALL {
        let (here, there) = (of(here, backend), of(there, backend));
        let why = if here == there {
            differing_file(repository, commit, &here)?.map(|file| file.display().to_string())
        } else {
            Some(format!("[backend.{backend}]"))
        };
        notes.extend(why.map(|why| {
            format!(
                "{word}: the commit fills {backend} in another way ({why} differs): all contenders get the \
                 data of the working tree"
            )
        }));
    }
    Ok(notes)
}

/// Returns a file that fills a backend and is another one in the commit than in the working tree: the file
/// itself, or one that the command names.
fn differing_file(
    repository: &Repository,
    commit: &str,
    init: &Init,
) -> Result<Option<PathBuf>, LabError> {
    let project = repository.top.join(&repository.prefix);
    let words = init.fill.iter().flat_map(|fill| &fill.command);
    let named = words.flat_map(|word| std::iter::once(word.as_str()).chain(pieces(word)));
    let named = named.map(PathBuf::from);
    let named = named.filter(|file| project.join(file).is_file());
    for file in init.file.iter().cloned().chain(named) {
        if repository.differs(commit, &file)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}
