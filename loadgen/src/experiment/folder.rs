//! Creates the folder that a run is saved in, and writes its files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::failure::{Exit, Failure};
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord, SavedAs, json};

/// Folder of the folders of runs, in the current folder.
pub const RUNS: &str = "runs";

/// File names of the records that are saved.
pub const RECORDS: [&str; 3] = [RunRecord::FILE, CapacityRecord::FILE, ExperimentRecord::FILE];

/// Folder, in that of a run, with all that another manager needs to resume the run. Hidden, so that it is hardly a folder
/// of the user's.
pub const RESUME: &str = ".resume";

/// File of that folder, with which the run can be resumed.
pub const RESUMABLE: &str = "run";

/// File name of the HTML report.
const PAGE: &str = "report.html";

/// Folder in which the results of a run or a search are saved.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    /// Whether the folder did not exist before.
    made: bool,
}

impl RunFolder {
    /// Creates the folder `out`, or `runs/TIME-SCENARIO` if `out` is
    /// `None`, and checks that the folder is writable. Called before
    /// the measurement, so that an unwritable folder loses no results.
    pub fn create(out: Option<&Path>, scenario: &str) -> Result<Self, Failure> {
        let path = out.map_or_else(|| default_path(scenario), Path::to_owned);
        let folder = Self { made: !path.exists(), path };
        let failed = |e: io::Error| folder.failure("write to", &e);
        if RECORDS.iter().any(|name| folder.path.join(name).exists()) {
            let message = format!("{} already contains a run", folder.path.display());
            let can_resume = folder.path.join(RESUME).join(RESUMABLE).is_file();
            let resume = format!(
                "resume it: loadgen manager --resume {}; or choose another folder for --out",
                folder.path.display()
            );
            let help = if can_resume { &resume } else { "choose another folder for --out" };
            return Err(Failure::message(Exit::Usage, "folder_has_run", message, help));
        }
        fs::create_dir_all(&folder.path).map_err(failed)?;
        // A folder that exists may still refuse files.
        let probe = folder.path.join(".probe");
        write_new(&probe, "probe").and_then(|()| fs::remove_file(&probe)).map_err(failed)?;
        Ok(folder)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder of a run or a search that was saved earlier.
    pub fn of_saved(path: &Path) -> Self {
        Self { path: path.to_owned(), made: false }
    }

    /// Saves a record.
    pub fn save<R: SavedAs>(&self, record: &R) -> Result<(), Failure> {
        json(record)
            .map_err(io::Error::other)
            .and_then(|text| self.save_as(R::FILE, &text))
            .map_err(|e| self.failure("save the run in", &e))
    }

    /// Saves the latencies of a run as an HdrHistogram log.
    pub fn save_latencies(&self, hlog: &str) -> Result<(), Failure> {
        self.save_as("latencies.hlog", hlog).map_err(|e| self.failure("save the run in", &e))
    }

    /// Saves the HTML report of the run or search in this folder.
    pub fn save_page(&self, html: &str) -> Result<(), Failure> {
        self.save_as(PAGE, html).map_err(|e| self.failure("save the report in", &e))
    }

    /// Returns the path of the HTML report in this folder.
    pub fn page(&self) -> PathBuf {
        self.path.join(PAGE)
    }

    /// Saves `text` as the file `name`. Writes a temporary file first and then renames the file, so
    /// that a reader never finds half a file. Leaves no temporary file on a disk that is full.
    pub(super) fn save_as(&self, name: &str, text: &str) -> io::Result<()> {
        let temporary = self.path.join(format!(".{name}"));
        let saved =
            write_new(&temporary, text).and_then(|()| fs::rename(&temporary, self.path.join(name)));
        saved.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    fn failure(&self, verb: &str, error: &io::Error) -> Failure {
        let help = match error.kind() {
            io::ErrorKind::PermissionDenied => {
                "with --out DIR, choose a folder that you may write to"
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free disk space, or choose a folder on another disk with --out DIR"
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
                "a file of this name exists; choose another folder with --out DIR"
            }
            _ => "choose another folder with --out DIR",
        };
        let message = format!("cannot {verb} {}: {error}", self.path.display());
        Failure::message(Exit::Failed, "unwritable_folder", message, help)
    }
}

impl Drop for RunFolder {
    /// Removes the folder if loadgen created the folder and nothing is in the folder: removing a
    /// folder with a record or logs fails.
    fn drop(&mut self) {
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Replaces the file at `path` with a new file. A link at
/// `path`, which other users may have created, is not followed.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let _ = fs::remove_file(path);
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// Returns a path such as `runs/2026-11-21T08-30-00Z-redis3`, with a
/// number appended if the path exists.
fn default_path(scenario: &str) -> PathBuf {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string().replace(':', "-");
    let name = format!("{now}-{scenario}");
    let path = |n: u32| match n {
        1 => PathBuf::from(RUNS).join(&name),
        n => PathBuf::from(RUNS).join(format!("{name}-{n}")),
    };
    (1..).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_folder_of_the_run_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (before, new) = (parent.path().join("before"), parent.path().join("new"));
        fs::create_dir(&before).unwrap();
        for path in [&before, &new] {
            drop(RunFolder::create(Some(path), "direct").unwrap());
        }
        assert!(before.exists() && !new.exists());
        let folder = RunFolder::create(Some(&new), "direct").unwrap();
        folder.save_page("page").unwrap();
        drop(folder);
        assert_eq!(fs::read_to_string(new.join("report.html")).unwrap(), "page");
    }

    #[test]
    fn links_in_the_folder_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in [".probe", ".report.html", "report.html"] {
            std::os::unix::fs::symlink(&victim, folder.path().join(name)).unwrap();
        }
        RunFolder::create(Some(folder.path()), "direct").unwrap().save_page("page").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(folder.path().join("report.html")).unwrap(), "page");
    }
}
