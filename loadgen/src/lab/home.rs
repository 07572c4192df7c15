//! The project that the targets belong to, and the folder where loadgen keeps what it makes there.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::error::LabError;

/// The root of a project: the folder with `targets/targets.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// The nearest project at the current folder or above it, else the one `LOADGEN_HOME` names.
    pub fn find() -> Result<Self, LabError> {
        let start = env::current_dir().map_err(LabError::io("tell the current folder"))?;
        let named = env::var_os("LOADGEN_HOME").filter(|name| !name.is_empty()).map(PathBuf::from);
        Self::find_from(&start, named.as_deref())
    }

    /// The project in this very folder.
    pub fn at(root: PathBuf) -> Result<Self, LabError> {
        let home = Self { root };
        if home.manifest().is_file() {
            Ok(home)
        } else {
            Err(LabError::NoProject { start: home.root })
        }
    }

    fn find_from(start: &Path, named: Option<&Path>) -> Result<Self, LabError> {
        start
            .ancestors()
            .chain(named)
            .find(|folder| folder.join("targets/targets.toml").is_file())
            .map(|folder| Self { root: folder.to_owned() })
            .ok_or_else(|| LabError::NoProject { start: named.unwrap_or(start).to_owned() })
    }

    /// The project's root; targets run here.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The manifest of the targets.
    pub fn manifest(&self) -> PathBuf {
        self.root.join("targets/targets.toml")
    }

    /// The tables that the targets use.
    pub fn schema(&self) -> PathBuf {
        self.root.join("targets/schema.sql")
    }

    /// The targets and backends as containers.
    pub fn compose(&self) -> PathBuf {
        self.root.join("compose/compose.yaml")
    }

    /// The targets' Python environment.
    pub fn venv(&self) -> PathBuf {
        self.root.join(".venv")
    }

    /// `.loadgen/`: caches, locks and the state of `lab up`; made where it is missing.
    pub fn cache(&self) -> Result<PathBuf, LabError> {
        let folder = self.root.join(".loadgen");
        fs::create_dir_all(&folder).map_err(LabError::file("make the folder", &folder))?;
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
    fn a_project_is_found_from_below() {
        let project = project();
        let home = Home::find_from(&project.path().join("targets/tests"), None).unwrap();
        assert_eq!(home.root(), project.path());
    }

    #[test]
    fn the_named_project_serves_elsewhere() {
        let (project, elsewhere) = (project(), tempfile::tempdir().unwrap());
        let home = Home::find_from(elsewhere.path(), Some(project.path())).unwrap();
        assert_eq!(home.root(), project.path());
        assert!(Home::find_from(elsewhere.path(), None).unwrap_err().is_usage());
    }
}
