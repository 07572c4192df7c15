//! Finds the project that the targets belong to, and the folder where loadgen keeps its files for
//! the project.
//!
//! A project is a checkout of the repository, or the folder `share/loadgen/` that `pip install`
//! creates in a Python environment. In the second case, the targets use the packages of the same
//! Python environment.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::error::LabError;

/// Folder in which pip installs the files of a project, relative to the root of the Python
/// environment.
const INSTALLED: &str = "share/loadgen";

/// A loadgen project: a folder that contains `targets/targets.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    /// Python environment in which pip installed the project; `None` for a checkout of the
    /// repository.
    installed_in: Option<PathBuf>,
}

impl Home {
    /// Finds the project. If the variable `LOADGEN_HOME` is set, only the folder that
    /// `LOADGEN_HOME` names counts. Otherwise, searches the current folder, the folders above, and
    /// then the Python environment in which this program is installed.
    pub fn find() -> Result<Self, LabError> {
        let start = env::current_dir().map_err(LabError::io("determine the current folder"))?;
        let named = env::var_os("LOADGEN_HOME").filter(|name| !name.is_empty()).map(PathBuf::from);
        let program = env::current_exe().ok();
        match named {
            Some(named) => Self::named(&named),
            None => Self::find_from(&start)
                .or_else(|error| program.and_then(|path| Self::installed_with(&path)).ok_or(error)),
        }
    }

    /// Returns the project that pip installed in the same Python environment as `program`, if any.
    fn installed_with(program: &Path) -> Option<Self> {
        let environment = program.parent()?.parent()?;
        let home =
            Self { root: environment.join(INSTALLED), installed_in: Some(environment.to_owned()) };
        home.manifest().is_file().then_some(home)
    }

    /// Returns the project in the folder `root`, without a search of the folders above.
    pub fn at(root: PathBuf) -> Result<Self, LabError> {
        let home = Self { root, installed_in: None };
        if home.manifest().is_file() {
            Ok(home)
        } else {
            Err(LabError::NoProject { start: home.root })
        }
    }

    /// Returns the project that `LOADGEN_HOME` names.
    fn named(named: &Path) -> Result<Self, LabError> {
        // The path must be absolute, because services are started in other folders.
        let root = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
        Self::at(root).map_err(|_| LabError::NotAProject { named: named.to_owned() })
    }

    fn find_from(start: &Path) -> Result<Self, LabError> {
        start
            .ancestors()
            .find(|folder| folder.join("targets/targets.toml").is_file())
            .map(|folder| Self { root: folder.to_owned(), installed_in: None })
            .ok_or_else(|| LabError::NoProject { start: start.to_owned() })
    }

    /// Root folder of the project, which is the working directory of the targets.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of the manifest, `targets/targets.toml`, which lists the servers under test.
    pub fn manifest(&self) -> PathBuf {
        self.root.join("targets/targets.toml")
    }

    /// Path of the SQL file that creates the targets' tables.
    pub fn schema(&self) -> PathBuf {
        self.root.join("targets/schema.sql")
    }

    /// Path of the compose file with the targets and backends as containers.
    pub fn compose(&self) -> PathBuf {
        self.root.join("compose/compose.yaml")
    }

    /// Folder of the targets' Python environment.
    pub fn venv(&self) -> PathBuf {
        self.installed_in.clone().unwrap_or_else(|| self.root.join(".venv"))
    }

    /// Whether pip installed the project. If true, the project's Python environment belongs to the
    /// user, and loadgen does not change the environment.
    pub fn is_installed(&self) -> bool {
        self.installed_in.is_some()
    }

    /// Folder `.loadgen/` for caches, locks and the state of `lab up`; created if missing.
    pub fn cache(&self) -> Result<PathBuf, LabError> {
        let folder = self.root.join(".loadgen");
        fs::create_dir_all(&folder).map_err(LabError::file("create the folder", &folder))?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("targets/tests")).unwrap();
        fs::write(folder.path().join("targets/targets.toml"), "").unwrap();
        folder
    }

    #[test]
    fn a_project_is_found_from_a_subfolder() {
        let project = project();
        let home = Home::find_from(&project.path().join("targets/tests")).unwrap();
        assert_eq!(home.root(), project.path());
    }

    #[test]
    fn a_named_folder_must_be_a_project() {
        let (project, elsewhere) = (project(), tempfile::tempdir().unwrap());
        let home = Home::named(project.path()).unwrap();
        assert_eq!(home.root(), project.path());
        assert!(Home::named(elsewhere.path()).unwrap_err().is_usage());
        assert!(Home::find_from(elsewhere.path()).unwrap_err().is_usage());
    }

    #[test]
    fn an_installed_project_uses_the_environment_of_its_program() {
        let environment = tempfile::tempdir().unwrap();
        let program = environment.path().join("bin/loadgen");
        assert_eq!(Home::installed_with(&program), None);
        let targets = environment.path().join("share/loadgen/targets");
        fs::create_dir_all(&targets).unwrap();
        fs::write(targets.join("targets.toml"), "").unwrap();
        let home = Home::installed_with(&program).unwrap();
        assert_eq!((home.venv().as_path(), home.is_installed()), (environment.path(), true));
        assert_eq!(home.root(), environment.path().join("share/loadgen"));
    }
}
