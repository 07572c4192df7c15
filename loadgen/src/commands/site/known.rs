//! Keeps the results that a site shows, so that the next site reads only new ones.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::found::Found;
use crate::analysis::history::Entry;
use crate::failure::{Exit, Failure};
use crate::report::site::{is_address_part, report_path};

/// File of what is kept, in the folder of the site.
const FILE: &str = "results.json";

/// Version of the form of the file.
const FORM: &str = "loadgen.site/1";

/// A result, as a site keeps it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct KnownResult {
    /// Folder of the result.
    pub path: PathBuf,
    /// Size and time of the result's file.
    pub version: String,
    pub entry: Entry,
}

/// The file of a site.
#[derive(Serialize, Deserialize)]
struct Kept {
    form: String,
    results: Vec<KnownResult>,
    /// Paths of all pages, in the folder of the site.
    pages: BTreeSet<String>,
}

/// Results and pages of an earlier site.
pub(super) struct Known {
    folder: PathBuf,
    /// Several may have been in one folder, one night after another.
    results: Vec<KnownResult>,
    pages: BTreeSet<String>,
}

impl KnownResult {
    /// Whether the other one is the same result, perhaps in another folder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let about = |of: &Self| (of.entry.kind, of.entry.started.clone(), of.entry.seed);
        about(self) == about(other) && self.entry.title == other.entry.title
    }
}

impl Known {
    /// Reads what an earlier site in this folder kept; nothing if there is none. `is_needed` tells whether its results
    /// must not be lost.
    ///
    /// # Errors
    /// If the folder has other files than those of a site, or if what is needed cannot be read.
    pub(super) fn read(folder: &Path, is_needed: bool) -> Result<Self, Failure> {
        let nothing =
            Self { folder: folder.to_owned(), results: Vec::new(), pages: BTreeSet::new() };
        let file = folder.join(FILE);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                refuse_foreign(folder)?;
                return Ok(nothing);
            }
            Err(error) => return Err(unwritable(&file, &error)),
        };
        let kept = serde_json::from_str::<Kept>(&text).map_err(|error| error.to_string());
        let kept = kept.and_then(|kept| match kept.form.as_str() {
            FORM => Ok(kept),
            form => Err(format!("its form is {form}, and this version knows {FORM}")),
        });
        let kept = match kept {
            Ok(kept) => kept,
            // All results are read again.
            Err(_) if !is_needed => return Ok(nothing),
            Err(why) => {
                let message = format!("{}: cannot keep what it has: {why}", file.display());
                let help = "use the version of loadgen that wrote it, or leave out --keep";
                return Err(Failure::message(Exit::Usage, "unreadable_site", message, help));
            }
        };
        // A name or a path that somebody else has written must not lead out of the folder.
        let results = kept.results.into_iter();
        let results = results.filter(|result| is_address_part(&result.entry.name));
        Ok(Self { results: results.collect(), pages: kept.pages, ..nothing })
    }

    /// Returns what is known of a result, if its file is the same and its report is there.
    pub(super) fn take(&mut self, found: &Found) -> Option<KnownResult> {
        let is_same =
            |known: &KnownResult| (&known.path, &known.version) == (&found.path, &found.version);
        let at = self.results.iter().position(is_same)?;
        let is_there = self.folder.join(report_path(&self.results[at].entry.name)).is_file();
        is_there.then(|| self.results.remove(at))
    }

    /// Returns what is known of results that were not found again, or not as they were.
    pub(super) fn take_rest(&mut self) -> Vec<KnownResult> {
        std::mem::take(&mut self.results)
    }

    /// Writes what the next site uses again, and removes the pages that this one has no more. `pages` are its pages.
    pub(super) fn write(
        self,
        mut results: Vec<KnownResult>,
        pages: BTreeSet<String>,
    ) -> Result<(), Failure> {
        let old: Vec<&String> = self.pages.difference(&pages).collect();
        for path in old.into_iter().filter(|path| is_page(path)) {
            let page = self.folder.join(path);
            // What cannot be removed is no longer linked.
            let _ = fs::remove_file(&page);
            let _ = page.parent().map(fs::remove_dir);
        }
        // In an order that does not depend on which are new.
        let by_time = |of: &KnownResult| (of.entry.started.clone(), of.entry.name.clone());
        results.sort_by_cached_key(by_time);
        // Serialization cannot fail: all keys of maps are strings.
        let kept = Kept { form: FORM.to_owned(), results, pages };
        write(&self.folder.join(FILE), &serde_json::to_string(&kept).unwrap_or_default())
    }
}

/// Whether a path is that of a page or of a report, in the folder.
fn is_page(path: &str) -> bool {
    let report = path.strip_prefix("runs/").and_then(|rest| rest.strip_suffix("/report.html"));
    report.or(path.strip_suffix(".html")).is_some_and(is_address_part)
}

/// Refuses a folder with files that no site has written, which a site would mix with its own. Hidden files are those of
/// tools, and CNAME is that of GitHub Pages.
fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut foreign = names.filter(|name| !name.starts_with('.') && name != "CNAME");
    let Some(name) = foreign.next() else { return Ok(()) };
    let folder = folder.display();
    let message = format!("{folder} has files, such as {name}, but no site of loadgen");
    let help = "name a new folder for --out, or one that `loadgen site` has written";
    Err(Failure::message(Exit::Usage, "foreign_folder", message, help))
}

/// Writes a file whole, or not at all, unless it has this text already.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder)
        .and_then(|()| NamedTempFile::new_in(folder))
        .and_then(|mut file| file.write_all(text.as_bytes()).map(|()| file))
        .and_then(|file| {
            readable(&file)?;
            file.persist(path).map_err(io::Error::from)
        });
    written.map(drop).map_err(|error| unwritable(path, &error))
}

/// Lets everybody read a file, as others that a program writes: servers of pages run as other users.
fn readable(file: &NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}", path.display());
    let help = "name another folder for --out";
    Failure::message(Exit::Failed, "unwritable_site", message, help)
}
