//! Builds targets, once for each content of their source files.
//!
//! A build takes place in `.loadgen/builds/NAME.partial/`, which is renamed to `NAME-HASH/` when the
//! build has succeeded, so that a folder of that name is always complete: see [`hashed`].

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::inputs::Inputs;
use super::tools::Version;
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::home::hashed::{self, add, add_number};
use crate::lab::home::lock::Lock;
use crate::lab::install;

/// How to build a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// Folder of the source files, relative to the project's root.
    pub folder: String,
    /// Source files, and folders of source files, relative to `folder`. The build sees a copy of
    /// these files and no other file.
    pub inputs: Vec<String>,
    /// Command line of the build, which runs in the folder with the copies.
    pub command: Vec<String>,
}

/// A target that was built. Another process does not remove the folder before this value is dropped.
#[derive(Debug)]
pub(in crate::lab) struct Built {
    /// Folder with the source files and the output of the build.
    pub(in crate::lab) folder: PathBuf,
    _in_use: Lock,
}

/// Builds the target `name`, unless the same source files were built before with the same command
/// and the same versions of `tools`. Removes older builds of the target that no process uses. Writes
/// the output of the build to the file `log`.
pub(in crate::lab) async fn build(
    home: &Home,
    name: &str,
    build: &Build,
    tools: &BTreeMap<String, Version>,
    log: &Path,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<Built, LabError> {
    let builds = home.cache()?.join("builds");
    // Absolute, because a built program is started in another folder.
    let builds = std::path::absolute(&builds).unwrap_or(builds);
    fs::create_dir_all(&builds).map_err(LabError::file("create the folder", &builds))?;
    let waits = || progress(&format!("waiting for another loadgen, which is building {name}"));
    let _lock = Lock::wait(&hashed::lock_of_maker(&builds, name), waits).await?;
    let inputs = Inputs::read(&home.root().join(&build.folder), &build.inputs)?;
    let folder = hashed::folder(&builds, name, digest(&inputs, &build.command, tools));
    if !folder.is_dir() {
        progress(&format!("building {name}"));
        let partial = hashed::partial(&builds, name);
        // A build that was ended left the folder behind.
        hashed::remove(&partial)?;
        inputs.write(&partial)?;
        if let Err(output) = install::run_in(&partial, home, name, &build.command, log).await? {
            let (target, log) = (name.to_owned(), log.to_owned());
            return Err(LabError::Build { target, output, log, hint: "" });
        }
        fs::rename(&partial, &folder).map_err(LabError::file("create", &folder))?;
    }
    let in_use = hashed::use_folder(&folder)?;
    if let Err(error) = hashed::remove_others(&builds, name, &folder, Duration::ZERO) {
        progress(&format!("an older build of {name} stays: {error}"));
    }
    Ok(Built { folder, _in_use: in_use })
}

/// Returns whether the target `name` was built before with these tools.
pub(in crate::lab) fn is_built(
    home: &Home,
    name: &str,
    build: &Build,
    tools: &BTreeMap<String, Version>,
) -> Result<bool, LabError> {
    let inputs = Inputs::read(&home.root().join(&build.folder), &build.inputs)?;
    let builds = home.cache()?.join("builds");
    Ok(hashed::folder(&builds, name, digest(&inputs, &build.command, tools)).is_dir())
}

/// Returns the digest of everything that decides the output of a build.
fn digest(inputs: &Inputs, command: &[String], tools: &BTreeMap<String, Version>) -> Sha256 {
    let mut digest = Sha256::new();
    inputs.digest(&mut digest);
    add_number(&mut digest, command.len());
    command.iter().for_each(|word| add(&mut digest, word.as_bytes()));
    add_number(&mut digest, tools.len());
    for (tool, version) in tools {
        add(&mut digest, tool.as_bytes());
        add(&mut digest, version.to_string().as_bytes());
    }
    // The project may be on a file system that several machines share.
    add(&mut digest, std::env::consts::OS.as_bytes());
    add(&mut digest, std::env::consts::ARCH.as_bytes());
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_depends_on_command_and_versions() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("main.go"), "package main").unwrap();
        let inputs = Inputs::read(folder.path(), &["main.go".to_owned()]).unwrap();
        let of = |command: &[&str], version: &str| {
            let command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
            let tools = BTreeMap::from([("go".to_owned(), version.parse().unwrap())]);
            digest(&inputs, &command, &tools).finalize()
        };
        let first = of(&["go", "build"], "1.26");
        assert_eq!(of(&["go", "build"], "1.26"), first);
        assert_ne!(of(&["gobuild"], "1.26"), first);
        assert_ne!(of(&["go", "build"], "1.27"), first);
    }
}
