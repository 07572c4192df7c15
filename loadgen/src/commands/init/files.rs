//! Writes the files of `loadgen init`.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Exit, Failure};

/// Refuses a path at which a file exists, unless it may be overwritten.
pub(super) fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.exists() {
        return Ok(());
    }
    let message = format!("{} already exists", path.display());
    let help = "choose another name, or overwrite the file with --force";
    Err(Failure::message(Exit::Usage, "file_exists", message, help))
}

/// Writes texts to paths: all of them whole, or none, so that a full disk costs no earlier file.
pub(super) fn write(files: &[(PathBuf, String)]) -> Result<(), Failure> {
    let written = files.iter().map(|(path, text)| {
        temporary(path, text).map(|file| (file, path)).map_err(|error| unwritten(path, &error))
    });
    for (file, path) in written.collect::<Result<Vec<_>, _>>()? {
        file.persist(path).map_err(|error| unwritten(path, &error.error))?;
    }
    Ok(())
}

/// Writes a text beside the place to which it will be moved, readable by whom the user lets read files.
fn temporary(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    if fs::symlink_metadata(path).is_ok_and(|it| !it.is_file() && !it.is_symlink()) {
        return Err(io::Error::other("it is no regular file"));
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".loadgen-").permissions(Permissions::from_mode(0o666));
    // Without the name of the temporary file, which tells nothing.
    let mut file = builder.tempfile_in(folder).map_err(|error| {
        let inner = error.get_ref().and_then(|it| it.source());
        inner.map_or_else(|| error.kind().into(), |it| io::Error::new(error.kind(), it.to_string()))
    })?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    let help =
        "the folder must exist and have room, and you must be allowed to write to the folder";
    Failure::message(Exit::Failed, "unwritable_file", message, help)
}
