//! Finds the folders of results.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::experiment::folder::RECORDS;
use crate::failure::{Exit, Failure};
use crate::text::say;

/// How deep below a named folder results are looked for.
const DEPTH: u32 = 4;

/// A result that was found.
pub(super) struct Found {
    /// Folder of the result, without links.
    pub path: PathBuf,
    /// File of its record.
    pub file: PathBuf,
    /// Size and time of the file, by which a change of it is noticed.
    pub version: String,
}

impl Found {
    /// Returns the name of the folder.
    pub(super) fn name(&self) -> String {
        let path = &self.path;
        path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Returns the results in these folders, each once, in the order of their paths.
///
/// # Errors
/// If a folder cannot be read, or none has a result.
pub(super) fn found(folders: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut all = Vec::new();
    for folder in folders {
        add(folder, DEPTH, &mut all).map_err(|error| {
            let message = format!("cannot read {}: {error}", folder.display());
            let help = "name the folder of results, such as runs";
            Failure::message(Exit::Usage, "no_results", message, help)
        })?;
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    all.dedup_by(|a, b| a.path == b.path);
    if all.is_empty() {
        let named: Vec<String> = folders.iter().map(|it| it.display().to_string()).collect();
        let message = format!("no result is in {}", named.join(", "));
        let help =
            "name a folder with folders that have a run.json, capacity.json or experiment.json";
        return Err(Failure::message(Exit::Usage, "no_results", message, help));
    }
    Ok(all)
}

fn add(folder: &Path, depth: u32, all: &mut Vec<Found>) -> io::Result<()> {
    let entries = fs::read_dir(folder)?;
    // A link might lead to what nobody wants to publish.
    let about = |file: &PathBuf| file.symlink_metadata().ok().filter(Metadata::is_file);
    let mut files = RECORDS.map(|name| folder.join(name)).into_iter();
    if let Some((file, about)) = files.find_map(|file| about(&file).map(|about| (file, about))) {
        let changed = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let version = format!("{} bytes, {} ns", about.len(), changed.as_nanos());
        all.push(Found { path: folder.canonicalize()?, file, version });
        return Ok(());
    }
    for entry in entries {
        let entry = entry?;
        // No link is followed, so that none leads back.
        if depth > 0 && entry.file_type()?.is_dir() {
            let path = entry.path();
            if let Err(error) = add(&path, depth - 1, all) {
                say(format!("left out: cannot read {}: {error}", path.display()));
            }
        }
    }
    Ok(())
}
