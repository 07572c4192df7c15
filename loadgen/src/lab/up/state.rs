//! Records the lab that `lab up` keeps up, so that other processes can find it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::lab::home::lock::Lock;
use crate::lab::{Home, LabError};

/// Time for which another process must hold the lock until loadgen concludes that another lab is
/// up. Shorter holds are checks whether a lab is up.
const PATIENCE: Duration = Duration::from_millis(300);

/// URLs of all services by name, which `lab up --format json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Urls {
    /// URLs of the targets, in alphabetical order of names.
    pub targets: BTreeMap<String, String>,
    /// URLs of the backends, with passwords.
    pub backends: BTreeMap<String, String>,
}

/// State that `lab up` writes for `lab status` and `lab down`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// ID of the process that keeps the lab up.
    pub pid: u32,
    /// URLs of all services; `None` while the lab starts.
    pub urls: Option<Urls>,
}

/// Right to keep a project's lab up. One process at a time holds this right.
#[derive(Debug)]
pub(super) struct Claim {
    file: PathBuf,
    _lock: Lock,
}

impl Claim {
    /// Takes the right to keep the lab up, or returns an error that names the process that already
    /// keeps a lab up.
    pub(super) async fn take(home: &Home) -> Result<Self, LabError> {
        let cache = home.cache()?;
        let path = cache.join("lab.lock");
        // A process that checks whether a lab is up holds the lock for a moment.
        let waiting = tokio::time::timeout(PATIENCE, Lock::wait(&path, || {}));
        let Ok(lock) = waiting.await else {
            return Err(LabError::AlreadyUp { pid: read(&cache).map(|state| state.pid) });
        };
        let lock = lock?;
        let claim = Self { file: cache.join("lab.json"), _lock: lock };
        claim.write(None)?;
        Ok(claim)
    }

    /// Saves the URLs of the services, by which other processes see that all services are up.
    pub(super) fn ready(&self, urls: &Urls) -> Result<(), LabError> {
        self.write(Some(urls.clone()))
    }

    fn write(&self, urls: Option<Urls>) -> Result<(), LabError> {
        let state = State { pid: std::process::id(), urls };
        let write = || {
            // A temporary file that is then renamed: only its owner can read the passwords, and
            // readers always see a whole file.
            let folder = self.file.parent().unwrap_or(&self.file);
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            serde_json::to_writer(&mut file, &state)?;
            file.persist(&self.file)?;
            Ok(())
        };
        write().map_err(LabError::file("write", &self.file))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// Returns the state of the lab that is up; `None` if no lab is up. Ignores the state of a process
/// that has ended.
pub fn find(home: &Home) -> Result<Option<State>, LabError> {
    let cache = home.cache()?;
    Ok(if Lock::shared(&cache.join("lab.lock"))?.is_some() { None } else { read(&cache) })
}

fn read(cache: &Path) -> Option<State> {
    serde_json::from_str(&fs::read_to_string(cache.join("lab.json")).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_reader_of_the_state_does_not_prevent_a_start() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join("targets")).unwrap();
        fs::write(project.path().join("targets/targets.toml"), "").unwrap();
        let home = Home::at(project.path().to_owned()).unwrap();
        let looking = Lock::shared(&home.cache().unwrap().join("lab.lock")).unwrap();
        assert_eq!(find(&home).unwrap(), None, "two may look at a time");
        let (claim, ()) = tokio::join!(Claim::take(&home), async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(looking);
        });
        let claim = claim.unwrap();
        assert_eq!(find(&home).unwrap().unwrap().pid, std::process::id());
        let second = Claim::take(&home).await.unwrap_err();
        assert!(matches!(second, LabError::AlreadyUp { pid: Some(_) }), "{second}");
        drop(claim);
        assert_eq!(find(&home).unwrap(), None);
    }
}
