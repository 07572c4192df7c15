//! Reads the records that earlier commands saved.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::experiment::folder::RECORDS;
use crate::failure::{Exit, Failure};
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord, SavedAs};
use crate::scenario::read_text;

/// Largest record that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// A saved record, and the folder that contains the record.
pub struct Saved {
    /// Folder of the record.
    pub folder: PathBuf,
    /// The record.
    pub record: Record,
}

/// A record of any kind.
pub enum Record {
    /// Record of a run.
    Run(Box<RunRecord>),
    /// Record of a search for capacities.
    Capacity(Box<CapacityRecord>),
    /// Record of an experiment.
    Experiment(Box<ExperimentRecord>),
}

/// Fields that all kinds of record share, and that identify the kind of record.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

impl Saved {
    /// Reads a saved record. `path` is either the record's
    /// file or the folder that contains the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let file = match path.is_dir() {
            false => path.to_owned(),
            true => RECORDS
                .map(|name| path.join(name))
                .into_iter()
                .find(|file| file.exists())
                .ok_or_else(|| {
                    wrong(path, "contains none of run.json, capacity.json and experiment.json")
                })?,
        };
        let text = read_text(LARGEST, &file).map_err(|e| wrong(&file, &e.to_string()))?;
        let Head { schema } = parse(&file, &text)?;
        let record = match schema.as_str() {
            RunRecord::SCHEMA => Record::Run(parse(&file, &text)?),
            CapacityRecord::SCHEMA => Record::Capacity(parse(&file, &text)?),
            ExperimentRecord::SCHEMA => Record::Experiment(parse(&file, &text)?),
            other => {
                let what = format!("has the schema {other}, unknown to this version");
                return Err(wrong(&file, &what));
            }
        };
        let folder = file.parent().filter(|folder| *folder != Path::new(""));
        Ok(Self { folder: folder.unwrap_or(Path::new(".")).to_owned(), record })
    }
}

fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, Failure> {
    let read = serde_json::from_str(text);
    read.map_err(|e| wrong(file, &format!("is damaged, or was written by another version: {e}")))
}

fn wrong(path: &Path, what: &str) -> Failure {
    let message = format!("{}: {what}", path.display());
    let help = "name the folder of a run, such as runs/TIME-SCENARIO";
    Failure::message(Exit::Usage, "bad_saved_run", message, help)
}
