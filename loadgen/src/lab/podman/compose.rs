//! Finds podman-compose, or else installs podman-compose from PyPI in loadgen's own folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::home::lock::Lock;
use crate::lab::install::uv;
use crate::lab::service::programs::on_path;

/// Package that is installed if podman-compose is missing.
const PACKAGE: &str = "podman-compose==1.6.0";

/// Oldest version of podman-compose, as major and minor number, that can create a container without
/// starting the container and without creating the container's dependencies.
const OLDEST: (u32, u32) = (1, 1);

/// Command that runs podman-compose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Compose {
    argv: Vec<OsString>,
}

impl Compose {
    /// Finds podman-compose on the PATH or in loadgen's own folder, or else installs podman-compose
    /// in loadgen's own folder.
    pub(super) async fn find_or_install(
        home: &Home,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, LabError> {
        if let Some(found) = Self::find(home).await {
            return Ok(found);
        }
        let cache = home.cache()?;
        let _lock = Lock::wait(&cache.join("lock"), || {}).await?;
        progress("installing podman-compose");
        uv::install(home, PACKAGE, &folder(&cache)).await?;
        Ok(Self::in_folder(&folder(&cache)))
    }

    /// Finds podman-compose on the PATH, if the version is new enough, or else in loadgen's own
    /// folder. Returns `None` if neither has podman-compose.
    pub(super) async fn find(home: &Home) -> Option<Self> {
        if let Some(program) = on_path("podman-compose") {
            let found = Self { argv: vec![program.into()] };
            if found.version().await.is_some_and(|version| version >= OLDEST) {
                return Some(found);
            }
        }
        let ours = folder(&home.cache().ok()?);
        ours.join("bin/python").exists().then(|| Self::in_folder(&ours))
    }

    /// Builds the command for podman-compose in `folder`. The command runs the module, because the
    /// installed script contains the path from before the installation was moved.
    fn in_folder(folder: &Path) -> Self {
        let module = ["-m".into(), "podman_compose".into()];
        Self { argv: [folder.join("bin/python").into()].into_iter().chain(module).collect() }
    }

    /// Version of podman-compose, major and minor; `None` if podman-compose does not run.
    pub(super) async fn version(&self) -> Option<(u32, u32)> {
        let (program, more) = self.argv.split_first()?;
        let mut command = Command::new(program);
        command.args(more).arg("--version").stdin(Stdio::null()).kill_on_drop(true);
        version_in(&String::from_utf8_lossy(&command.output().await.ok()?.stdout))
    }

    /// Builds a command line of podman-compose for this project and these compose files, of which
    /// each adds to those before, with the arguments `words`.
    pub(super) fn command(&self, project: &str, files: &[&Path], words: &[&str]) -> Vec<OsString> {
        let project: [OsString; 2] = ["-p".into(), project.into()];
        let files = files.iter().flat_map(|file| ["-f".into(), file.as_os_str().to_owned()]);
        let words = words.iter().map(OsString::from);
        self.argv.iter().cloned().chain(project).chain(files).chain(words).collect()
    }
}

fn folder(cache: &Path) -> PathBuf {
    cache.join("podman-compose")
}

/// Returns the major and minor version from output such as `podman-compose version 1.6.0`.
fn version_in(text: &str) -> Option<(u32, u32)> {
    let mut words = text.lines().filter_map(|line| line.strip_prefix("podman-compose version"));
    let number = words.next_back()?.trim().trim_start_matches(':').trim();
    let mut parts = number.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_in_the_output() {
        let said = "podman-compose version 1.6.0\npodman version 4.3.1\n";
        assert_eq!(version_in(said), Some((1, 6)));
        assert_eq!(version_in("podman-compose version: 1.0.3\n"), Some((1, 0)));
        assert_eq!(version_in("podman version 4.3.1\n"), None);
    }
}
