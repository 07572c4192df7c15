//! What a site keeps of the results that it shows, so that the next site reads only new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::found::Found;
use super::{unwritable, write};
use crate::analysis::history::Entry;
use crate::failure::{Exit, Failure};
use crate::report::site::{address_part, report_path};

/// File of what is kept, in the folder of the site.
const FILE: &str = "results.json";

/// Version of the form of the file. Another version reads all results again.
const FORM: &str = concat!("loadgen.site/1 ", env!("CARGO_PKG_VERSION"));

/// What a site keeps of one result.
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
}

/// What an earlier site kept.
pub(super) struct Known {
    folder: PathBuf,
    results: BTreeMap<PathBuf, KnownResult>,
}

impl Known {
    /// Reads what an earlier site in this folder kept; nothing if there is none, or if another version wrote it.
    ///
    /// # Errors
    /// If the folder has other files than those of a site, or cannot be read.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let nothing = || Self { folder: folder.to_owned(), results: BTreeMap::new() };
        let text = match fs::read_to_string(folder.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                refuse_foreign(folder)?;
                return Ok(nothing());
            }
            Err(error) => return Err(unwritable(&folder.join(FILE), &error)),
        };
        let kept = serde_json::from_str::<Kept>(&text).ok().filter(|kept| kept.form == FORM);
        let results = kept.into_iter().flat_map(|kept| kept.results);
        // A name that somebody else has written must not lead out of the folder.
        let is_name = |name: &str| address_part(name, &mut BTreeSet::new()) == name;
        let results = results.filter(|result| is_name(&result.entry.name));
        let results = results.map(|result| (result.path.clone(), result)).collect();
        Ok(Self { results, ..nothing() })
    }

    /// Returns what is known of a result, if its file is the same and its report is there.
    pub(super) fn take(&mut self, found: &Found) -> Option<KnownResult> {
        let known = self.results.remove(&found.path)?;
        let has_report = || self.folder.join(report_path(&known.entry.name)).is_file();
        (known.version == found.version && has_report()).then_some(known)
    }

    /// Returns what is known of results that were not found again.
    pub(super) fn take_rest(&mut self) -> Vec<KnownResult> {
        std::mem::take(&mut self.results).into_values().collect()
    }

    /// Removes the reports of results that were not found again.
    pub(super) fn remove_rest(&mut self) {
        for result in self.take_rest() {
            let report = self.folder.join(report_path(&result.entry.name));
            // What cannot be removed is no longer linked.
            let _ = fs::remove_file(&report);
            let _ = report.parent().map(fs::remove_dir);
        }
    }

    /// Writes what the next site uses again.
    pub(super) fn write(folder: &Path, results: Vec<KnownResult>) -> Result<(), Failure> {
        // Serialization cannot fail: all keys of maps are strings.
        let kept = Kept { form: FORM.to_owned(), results };
        write(&folder.join(FILE), &serde_json::to_string(&kept).unwrap_or_default())
    }
}

/// Refuses a folder with files that no site has written, which a site would mix with its own.
fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    let is_foreign = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if !is_foreign {
        return Ok(());
    }
    let message = format!("{} has files, but no site of loadgen", folder.display());
    let help = "name a new folder for --out, or one that `loadgen site` has written";
    Err(Failure::message(Exit::Usage, "foreign_folder", message, help))
}
