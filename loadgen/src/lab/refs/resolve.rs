//! Finds the commit that a ref stands for, and the target's table there.

use std::fs;
use std::path::Path;

use crate::lab::Runtime;
use crate::lab::error::LabError;
use crate::lab::git::{Repository, bad_ref};
use crate::lab::git_ref::{GitRef, WORKING_TREE};
use crate::lab::home::Home;
use crate::lab::manifest::{Init, Manifest, TargetSpec};
use crate::scenario::{Backend, nearest};

/// Number of digits of a hash in messages.
const DIGITS: usize = 10;

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
    let git = GitRef {
        target: target.to_owned(),
        name: name.to_owned(),
        commit: commit(&repository, target, name)?,
        dirty: None,
        is_defined_elsewhere: false,
        notes: Vec::new(),
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
    let short = git.commit.get(..DIGITS).unwrap_or(&git.commit);
    if !repository.has_project(&git.commit)? {
        let folder = repository.prefix.display();
        let what = format!("the commit {short} has no folder {folder}");
        return Err(wrong(word, &what, "name a later ref"));
    }
    let Some(text) = repository.content(&git.commit, Path::new(file))? else {
        let note =
            format!("{word}: the commit has no {file}: the table of the working tree counts");
        let target = here.target(&git.target)?;
        let git = GitRef { is_defined_elsewhere: true, notes: vec![note], ..git };
        return Ok(named(target, word, git));
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
    let notes = differing_data(repository, &git.commit, [here, &there], word)?;
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
    let git = GitRef {
        target: target.name.clone(),
        name: WORKING_TREE.to_owned(),
        commit,
        dirty: Some(repository.is_changed()?),
        is_defined_elsewhere: false,
        notes: Vec::new(),
    };
    Ok(named(target, word, git))
}

/// Returns the full hash of the commit that `name` stands for.
fn commit(repository: &Repository, target: &str, name: &str) -> Result<String, LabError> {
    let wrong = |said: &[u8], help: String| {
        Err(bad_ref(format!("--target {target}@{name}: unknown ref \"{name}\""), said, help))
    };
    // Git would take such a word for an option; no branch or tag begins so.
    if name.is_empty() || name.starts_with('-') || name.chars().any(char::is_control) {
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
    // Says nothing but that the name is unknown.
    let said = if said.ends_with(b"Needed a single revision\n") { Vec::new() } else { said };
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
        if here != there || differs(repository, commit, &here)? {
            notes.push(format!(
                "{word}: the commit fills {backend} in another way: all contenders get the data of the \
                 working tree"
            ));
        }
    }
    Ok(notes)
}

/// Returns whether the file that fills a backend is another one in the commit than in the working
/// tree.
fn differs(repository: &Repository, commit: &str, init: &Init) -> Result<bool, LabError> {
    let Some(file) = init.file.as_ref().filter(|file| file.is_relative()) else { return Ok(false) };
    let here = fs::read(repository.top.join(&repository.prefix).join(file)).ok();
    Ok(repository.content(commit, file)? != here)
}
