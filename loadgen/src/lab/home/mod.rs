//! Finds the project that the targets belong to, and the folder where loadgen keeps its files for
//! the project.
//!
//! A project is a user's folder with a file `loadgen.toml`, a checkout of the repository, or else the
//! lab that is embedded in this program, unpacked in the user's cache. If pip installed the program
//! together with the targets, the embedded lab's targets use the packages of that Python environment.
//! In a user's folder, targets use the active Python environment, if any, and the programs on the PATH.
//!
//! Several processes may use the same folders: they take turns by a [`lock`], and use folders that are
//! named after a hash of their content (`hashed`).

mod embedded;
pub(super) mod hashed;
pub(super) mod installed;
pub mod lock;
pub(super) mod packages;
pub(super) mod user_cache;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use super::error::LabError;

/// Manifests of projects: of a user's own targets, and of the lab's.
const OWN: &str = "loadgen.toml";
const LABS: &str = "targets/targets.toml";

/// A project: a folder that contains `loadgen.toml` or `targets/targets.toml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    kind: Kind,
}

/// Kind of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    /// A user's folder, with targets of the user's own.
    Own,
    /// A checkout of the repository.
    Checkout,
    /// The lab that is embedded in this program.
    Embedded,
    /// The embedded lab, with the packages of this Python environment, in which pip installed the
    /// program and the targets.
    Installed(PathBuf),
    /// A user's folder as it is at a ref. Without a Python environment of its own, it uses this one,
    /// the user's.
    AtRef(PathBuf),
}

impl Home {
    /// Finds the project. If the variable `LOADGEN_HOME` is set, only the folder that
    /// `LOADGEN_HOME` names counts. Otherwise, searches the current folder and the folders above, and
    /// then takes the embedded lab.
    pub fn find() -> Result<Self, LabError> {
        let named = env::var_os("LOADGEN_HOME").filter(|name| !name.is_empty()).map(PathBuf::from);
        match named {
            Some(named) => Self::named(&named),
            None => match Self::find_from(&current_folder()?) {
                Err(LabError::NoProject { .. }) => Self::embedded(),
                found => found,
            },
        }
    }

    /// Returns the embedded lab.
    fn embedded() -> Result<Self, LabError> {
        let home = Self { root: embedded::unpack()?.to_owned(), kind: Kind::Embedded };
        let manifest = home.manifest();
        let manifest = fs::read_to_string(&manifest).map_err(LabError::file("read", &manifest))?;
        let program = env::current_exe().ok();
        let environment = program.and_then(|path| installed::environment_of(&path, &manifest));
        let kind = environment.map_or(Kind::Embedded, Kind::Installed);
        Ok(Self { kind, ..home })
    }

    /// Returns the project in the folder `root`, without a search of the folders above.
    pub fn at(root: PathBuf) -> Result<Self, LabError> {
        Self::in_folder(&root).ok_or(LabError::NoProject { start: root })
    }

    /// Returns the project in this folder, if any.
    fn in_folder(folder: &Path) -> Option<Self> {
        let kinds = [(OWN, Kind::Own), (LABS, Kind::Checkout)];
        let found = kinds.into_iter().find(|(manifest, _)| folder.join(manifest).is_file());
        found.map(|(_, kind)| Self { root: folder.to_owned(), kind })
    }

    /// Returns the project that `LOADGEN_HOME` names.
    fn named(named: &Path) -> Result<Self, LabError> {
        // The path must be absolute, because services are started in other folders.
        let root = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
        Self::at(root).map_err(|_| LabError::NotAProject { named: named.to_owned() })
    }

    fn find_from(start: &Path) -> Result<Self, LabError> {
        let found = start.ancestors().find_map(Self::in_folder);
        let home = found.ok_or_else(|| LabError::NoProject { start: start.to_owned() })?;
        // Whoever wrote the file in a folder above, such as /tmp, decides what loadgen runs.
        let manifest = home.manifest();
        match home.root == start || is_trusted(&manifest) {
            true => Ok(home),
            false => Err(LabError::ForeignProject { manifest }),
        }
    }

    /// Root folder of the project, which is the working directory of the targets.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns this project as it is at a ref, whose files are in the folder `root`.
    pub(super) fn at_ref(&self, root: PathBuf) -> Self {
        Self { root, kind: Kind::AtRef(self.venv()) }
    }

    /// Folder of the user's Python environment, for a project at a ref.
    pub(super) fn users_venv(&self) -> Option<&Path> {
        match &self.kind {
            Kind::AtRef(users) => Some(users),
            _ => None,
        }
    }

    /// Path of the manifest, which lists the servers under test.
    pub fn manifest(&self) -> PathBuf {
        self.root.join(self.manifest_name())
    }

    /// Path of the manifest in the project: `loadgen.toml` or `targets/targets.toml`.
    pub fn manifest_name(&self) -> &'static str {
        if self.is_own() { OWN } else { LABS }
    }

    /// Whether the targets are the user's own, instead of the lab's.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Own | Kind::AtRef(_))
    }

    /// Path of the SQL file that creates the targets' tables.
    pub fn schema(&self) -> PathBuf {
        self.root.join("targets/schema.sql")
    }

    /// Path of the compose file with the targets and backends as containers.
    pub fn compose(&self) -> PathBuf {
        self.root.join("compose/compose.yaml")
    }

    /// Folder of the targets' Python environment. A user's own targets may have none: the folder may
    /// be missing.
    pub fn venv(&self) -> PathBuf {
        let active = || env::var_os("VIRTUAL_ENV").filter(|name| !name.is_empty());
        match &self.kind {
            Kind::Installed(environment) => environment.clone(),
            Kind::Own => active().map_or_else(|| self.root.join(".venv"), PathBuf::from),
            Kind::Checkout | Kind::Embedded => self.root.join(".venv"),
            Kind::AtRef(users) => {
                let own = self.root.join(".venv");
                if own.join("bin").is_dir() { own } else { users.clone() }
            }
        }
    }

    /// Whether pip installed the targets' packages. If true, the Python environment belongs to the user,
    /// and loadgen does not change the environment.
    pub fn is_installed(&self) -> bool {
        matches!(self.kind, Kind::Installed(_))
    }

    /// Whether the project is the lab that is embedded in this program. Nobody chose this lab: it is
    /// used because no other project was found.
    pub fn is_embedded(&self) -> bool {
        matches!(self.kind, Kind::Embedded | Kind::Installed(_))
    }

    /// Returns an error that says that the current folder belongs to no project.
    pub fn none_here() -> LabError {
        current_folder().map_or_else(|error| error, |start| LabError::NoProject { start })
    }

    /// Folder `.loadgen/` for caches, locks and the state of `lab up`; created if missing.
    pub fn cache(&self) -> Result<PathBuf, LabError> {
        let folder = self.root.join(".loadgen");
        fs::create_dir_all(&folder).map_err(LabError::file("create the folder", &folder))?;
        Ok(folder)
    }
}

fn current_folder() -> Result<PathBuf, LabError> {
    env::current_dir().map_err(LabError::io("determine the current folder"))
}

/// Returns whether a file belongs to this user or to root. If a link leads to the file, so must the link:
/// the user who made the link chose the folder in which programs start. A link that leads nowhere is judged by
/// itself.
pub(super) fn is_trusted(file: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_own = |found: Metadata| [0, own].contains(&found.uid());
    let leads_nowhere = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    file.symlink_metadata().is_ok_and(is_own) && file.metadata().map_or_else(leads_nowhere, is_own)
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
    fn the_nearest_project_is_found() {
        let project = project();
        let own = project.path().join("shop");
        fs::create_dir_all(own.join("src")).unwrap();
        fs::write(own.join("loadgen.toml"), "").unwrap();
        let home = Home::find_from(&own.join("src")).unwrap();
        assert_eq!((home.root(), home.is_own()), (own.as_path(), true));
        assert_eq!(home.manifest(), own.join("loadgen.toml"));
        assert!(!Home::find_from(project.path()).unwrap().is_own());
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
    fn a_link_is_trusted_if_it_and_its_file_are() {
        let place = tempfile::tempdir().unwrap();
        let [file, link, nowhere] = ["file", "link", "nowhere"].map(|name| place.path().join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("missing", &nowhere).unwrap();
        assert!(is_trusted(&file) && is_trusted(&link) && is_trusted(&nowhere));
        assert!(!is_trusted(&place.path().join("missing")));
        // Only root can give a file to another user.
        if rustix::process::geteuid().is_root() {
            let give = |path: &Path| std::os::unix::fs::lchown(path, Some(12_345), None).unwrap();
            give(&link);
            assert!(is_trusted(&file) && !is_trusted(&link));
            give(&file);
            assert!(!is_trusted(&file));
        }
    }
}
