//! Builds targets, once for each content of their source files.
//!
//! A build takes place in `.loadgen/builds/NAME.partial/`, which is renamed to `NAME-HASH/` when the
//! build has succeeded, so that a folder of that name is always complete. `NAME.lock` is held by the
//! one process that builds the target or removes its older builds. `NAME-HASH.lock` is held, shared,
//! by each process that uses the build.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::LabError;
use super::home::Home;
use super::inputs::{Inputs, add, add_number};
use super::install;
use super::lock::Lock;
use super::tools::Version;

/// Number of hexadecimal digits of the hash in a folder's name.
const DIGITS: usize = 16;

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
pub(super) struct Built {
    /// Folder with the source files and the output of the build.
    pub(super) folder: PathBuf,
    /// Versions of the required programs, by name.
    pub(super) tools: BTreeMap<String, Version>,
    _in_use: Lock,
}

/// Builds the target `name`, unless the same source files were built before with the same command
/// and the same versions of `tools`. Removes older builds of the target that no process uses. Writes
/// the output of the build to the file `log`.
pub(super) async fn build(
    home: &Home,
    name: &str,
    build: &Build,
    tools: BTreeMap<String, Version>,
    log: &Path,
    progress: &(dyn Fn(&str) + Send + Sync),
) -> Result<Built, LabError> {
    let builds = home.cache()?.join("builds");
    // Absolute, because a built program is started in another folder.
    let builds = std::path::absolute(&builds).unwrap_or(builds);
    fs::create_dir_all(&builds).map_err(LabError::file("create the folder", &builds))?;
    let waits = || progress(&format!("waiting for another loadgen, which is building {name}"));
    let _lock = Lock::wait(&builds.join(format!("{name}.lock")), waits).await?;
    let inputs = Inputs::read(&home.root().join(&build.folder), &build.inputs)?;
    let folder = builds.join(format!("{name}-{}", hash(&inputs, &build.command, &tools)));
    if !folder.is_dir() {
        progress(&format!("building {name}"));
        let partial = builds.join(format!("{name}.partial"));
        // A build that was ended left the folder behind.
        remove(&partial)?;
        inputs.write(&partial)?;
        if let Err(output) = install::run_in(&partial, home, name, &build.command, log).await? {
            let (target, log) = (name.to_owned(), log.to_owned());
            return Err(LabError::Build { target, output, log, hint: "" });
        }
        fs::rename(&partial, &folder).map_err(LabError::file("create", &folder))?;
    }
    // Only the holder of the target's lock may hold this lock exclusively, so it is free.
    let path = lock_of(&folder);
    let in_use = Lock::shared(&path)?
        .ok_or(std::io::ErrorKind::WouldBlock.into())
        .map_err(LabError::file("lock", &path))?;
    remove_others(&builds, name, &folder)?;
    Ok(Built { folder, tools, _in_use: in_use })
}

/// Returns the path of the lock that each process holds, shared, while it uses the build in `folder`.
fn lock_of(folder: &Path) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Returns the first digits of a hash over everything that decides the output of a build.
fn hash(inputs: &Inputs, command: &[String], tools: &BTreeMap<String, Version>) -> String {
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
    let digits: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..DIGITS].to_owned()
}

/// Removes the other builds of this target that no process uses. The caller must hold the target's
/// lock.
fn remove_others(builds: &Path, name: &str, current: &Path) -> Result<(), LabError> {
    for entry in fs::read_dir(builds).map_err(LabError::file("read", builds))?.flatten() {
        let (path, file_name) = (entry.path(), entry.file_name());
        if path == current || !is_build_of(name, &file_name.to_string_lossy()) {
            continue;
        }
        let lock = lock_of(&path);
        let Some(_unused) = Lock::attempt(&lock)? else { continue };
        // A folder that is only half removed must not have the name of a build.
        let partial = builds.join(format!("{name}.partial"));
        remove(&partial)?;
        fs::rename(&path, &partial).map_err(LabError::file("remove", &path))?;
        remove(&partial)?;
        let _ = fs::remove_file(lock);
    }
    Ok(())
}

/// Whether a file in the folder of builds is a build of this target: `fastapi-granian` is not a
/// build of `fastapi`.
fn is_build_of(target: &str, file_name: &str) -> bool {
    let hash = file_name.strip_prefix(target).and_then(|rest| rest.strip_prefix('-'));
    hash.is_some_and(|hash| {
        hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn remove(folder: &Path) -> Result<(), LabError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(LabError::file("remove", folder)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_builds_are_removed_when_no_process_uses_them() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let [current, used, unused] =
            ["a", "b", "c"].map(|digit| format!("echo-{}", digit.repeat(DIGITS)));
        let other = format!("echo-go-{}", "0".repeat(DIGITS));
        for folder in [&current, &used, &unused, &other] {
            fs::create_dir_all(path(folder).join("inside")).unwrap();
        }
        let lock = Lock::shared(&path(&format!("{used}.lock"))).unwrap().unwrap();
        let left = || {
            remove_others(place.path(), "echo", &path(&current)).unwrap();
            let names = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(left(), [current.clone(), used.clone(), format!("{used}.lock"), other.clone()]);
        drop(lock);
        assert_eq!(left(), [current.clone(), other]);
    }

    #[test]
    fn the_hash_depends_on_command_and_versions() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("main.go"), "package main").unwrap();
        let inputs = Inputs::read(folder.path(), &["main.go".to_owned()]).unwrap();
        let of = |command: &[&str], version: &str| {
            let command: Vec<String> = command.iter().map(|it| (*it).to_owned()).collect();
            let tools = BTreeMap::from([("go".to_owned(), version.parse().unwrap())]);
            hash(&inputs, &command, &tools)
        };
        let first = of(&["go", "build"], "1.26");
        assert_eq!(of(&["go", "build"], "1.26"), first);
        assert_ne!(of(&["gobuild"], "1.26"), first);
        assert_ne!(of(&["go", "build"], "1.27"), first);
    }
}
