//! Reads the sources from which a target is built.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::lab::error::LabError;
use crate::lab::home::hashed::{add, add_number};

/// Sources of a target, by their paths relative to the folder of the sources. Folders without files
/// are absent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Inputs {
    files: BTreeMap<PathBuf, Input>,
}

/// A source file.
#[derive(Debug, PartialEq, Eq)]
struct Input {
    is_executable: bool,
    content: Vec<u8>,
}

impl Inputs {
    /// Reads these files and folders, which are relative to `folder`. Follows symbolic links.
    ///
    /// The contents stay in memory, so that the files that are digested are the files that are
    /// built, even if somebody edits them now.
    pub(super) fn read(folder: &Path, inputs: &[String]) -> Result<Self, LabError> {
        let mut files = BTreeMap::new();
        let mut open: Vec<PathBuf> = inputs.iter().map(PathBuf::from).collect();
        while let Some(inside) = open.pop() {
            let path = folder.join(&inside);
            let found = fs::metadata(&path).map_err(LabError::file("read", &path))?;
            if found.is_dir() {
                for entry in fs::read_dir(&path).map_err(LabError::file("read", &path))? {
                    let name = entry.map_err(LabError::file("read", &path))?.file_name();
                    open.push(inside.join(name));
                }
            } else {
                let content = fs::read(&path).map_err(LabError::file("read", &path))?;
                let is_executable = found.permissions().mode() & 0o111 != 0;
                files.insert(inside, Input { is_executable, content });
            }
        }
        Ok(Self { files })
    }

    /// Adds paths, executable bits and contents to a digest.
    pub(super) fn digest(&self, digest: &mut Sha256) {
        add_number(digest, self.files.len());
        for (path, Input { is_executable, content }) in &self.files {
            add(digest, path.as_os_str().as_bytes());
            digest.update([u8::from(*is_executable)]);
            add(digest, content);
        }
    }

    /// Writes all files to `folder`, which is created.
    pub(super) fn write(&self, folder: &Path) -> Result<(), LabError> {
        fs::create_dir_all(folder).map_err(LabError::file("create the folder", folder))?;
        for (inside, Input { is_executable, content }) in &self.files {
            let path = folder.join(inside);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).map_err(LabError::file("create the folder", parent))?;
            }
            let mode = if *is_executable { 0o777 } else { 0o666 };
            let mut options = fs::File::options();
            let file = options.write(true).create_new(true).mode(mode).open(&path);
            let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, content));
            written.map_err(LabError::file("write", &path))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(inputs: &Inputs) -> String {
        let mut digest = Sha256::new();
        inputs.digest(&mut digest);
        format!("{:x}", digest.finalize())
    }

    #[test]
    fn a_copy_has_the_same_files_and_the_same_digest() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(from.path().join("src/node_modules")).unwrap();
        fs::write(from.path().join("built"), "not a source").unwrap();
        fs::write(from.path().join("src/node_modules/y"), "a source").unwrap();
        fs::write(from.path().join("run"), "#!/bin/sh").unwrap();
        fs::set_permissions(from.path().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        let inputs = Inputs::read(from.path(), &["src".to_owned(), "run".to_owned()]).unwrap();
        let names: Vec<_> = inputs.files.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(names, ["run", "src/node_modules/y"]);

        let copy = to.path().join("copy");
        inputs.write(&copy).unwrap();
        let copied = Inputs::read(&copy, &["run".to_owned(), "src".to_owned()]).unwrap();
        assert_eq!(copied, inputs);
        assert_eq!(digest(&copied), digest(&inputs));
    }

    #[test]
    fn names_contents_and_executable_bits_change_the_digest() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        let mut seen = Vec::new();
        let mut look = || {
            let found = digest(&Inputs::read(place.path(), &[".".to_owned()]).unwrap());
            assert!(!seen.contains(&found), "{seen:?}");
            seen.push(found);
        };
        look();
        fs::write(path("a"), "bc").unwrap();
        look();
        fs::write(path("a"), "b").unwrap();
        look();
        fs::rename(path("a"), path("ab")).unwrap();
        look();
        fs::set_permissions(path("ab"), fs::Permissions::from_mode(0o755)).unwrap();
        look();
    }
}
