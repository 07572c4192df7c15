//! Saves and prints the result of a run in a cluster.

use std::path::Path;

use crate::commands::measure::save;
use crate::commands::options::junit;
use crate::experiment::folder::{RECORDS, RunFolder};
use crate::experiment::saved::{Record, Saved};
use crate::failure::{Exit, Failure};
use crate::kubernetes::{Followed, KubernetesError};
use crate::process::{columns, print_report};
use crate::record::{ExperimentRecord, RunRecord};
use crate::report::{self, Format, Reported};
use crate::text::say;

/// Where a result goes.
pub(super) struct Delivery<'a> {
    folder: RunFolder,
    format: Format,
    junit: Option<&'a Path>,
}

impl<'a> Delivery<'a> {
    /// Creates the folder `out`, or one with this name, and checks that all can be written.
    pub fn prepare(
        out: Option<&Path>,
        name: &str,
        format: Format,
        junit: Option<&'a Path>,
    ) -> Result<Self, Failure> {
        let folder = RunFolder::create(out, name)?;
        junit.map_or(Ok(()), junit::prepare)?;
        Ok(Self { folder, format, junit })
    }

    /// Returns the path of the folder for the result.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Shows what was fetched into the folder and what happened, and returns the exit code of the run. `keep` gets the
    /// record, if there is one.
    pub fn conclude(
        &self,
        followed: Followed,
        keep: impl FnOnce(&RunRecord),
    ) -> Result<Exit, Failure> {
        let Followed { exit_code, troubles, .. } = followed;
        let Some(code) = exit_code else {
            say("interrupted before the run began");
            return Ok(Exit::Interrupted);
        };
        self.show(keep)?;
        troubles.iter().for_each(say);
        Exit::of_code(code).ok_or_else(|| pod_failed(code))
    }

    fn show(&self, keep: impl FnOnce(&RunRecord)) -> Result<(), Failure> {
        match read(self.folder())? {
            Some(Record::Run(record)) => {
                self.print(&*record)?;
                keep(&record);
                self.junit.map_or(Ok(()), |path| junit::write(path, &report::junit(&record)))
            }
            // A group of an experiment, which somebody takes up.
            Some(Record::Experiment(record)) => self.print(&*record),
            Some(Record::Capacity(_)) | None => Ok(()),
        }
    }

    /// Prints a record that is in the folder.
    pub fn print(&self, record: &impl Reported) -> Result<(), Failure> {
        let document = record.document();
        print_report(&document.render_within(columns(), self.format, Some(self.folder())))?;
        // Documents for programs show no person why the command fails.
        if self.format != Format::Table {
            record.failures().iter().for_each(say);
        }
        Ok(())
    }

    /// Saves the record of an experiment, and its report.
    pub fn save(&self, record: &ExperimentRecord) -> Result<(), Failure> {
        save(record, &self.folder)
    }
}

/// Reads the record that was fetched into this folder; `None` if none was.
pub(super) fn read(folder: &Path) -> Result<Option<Record>, Failure> {
    if !RECORDS.iter().any(|name| folder.join(name).exists()) {
        return Ok(None);
    }
    let saved = Saved::read(folder).map_err(|failure| unreadable(folder, &failure))?;
    Ok(Some(saved.record))
}

/// Returns the failure of a manager that ended with this code, which is none of loadgen's, or without a result.
pub(super) fn pod_failed(code: u8) -> Failure {
    let message = format!("loadgen in the pod of the manager ended with exit code {code}");
    Failure::message(Exit::Failed, "pod_failed", message, "see what it said above")
}

/// Returns the failure of a result that is saved, but that another version of loadgen has written.
fn unreadable(folder: &Path, failure: &Failure) -> Failure {
    let message =
        format!("the result is in {}, but cannot be shown: {}", folder.display(), failure.report);
    let help = format!(
        "show it with the version of loadgen that is in the image of the run: `loadgen report {}`",
        folder.display()
    );
    Failure::message(Exit::Failed, "unreadable_result", message, &help)
}

/// Returns the failure of a run in a cluster, with the exit code of any run: servers that do not start have one of their own.
pub(super) fn failure(error: KubernetesError) -> Failure {
    let exit = if error.is_of_servers() { Exit::Target } else { Exit::Failed };
    Failure::new(exit, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SavedAs as _;

    #[test]
    fn a_result_of_another_version_is_kept_and_named() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("result");
        let delivery = Delivery::prepare(Some(&path), "lg", Format::Table, None).unwrap();
        std::fs::write(path.join("run.json"), r#"{"schema": "loadgen/run/999"}"#).unwrap();
        let followed = Followed { exit_code: Some(0), ..Followed::default() };
        let failure = delivery.conclude(followed, |_| panic!("there is no record")).unwrap_err();
        drop(delivery);
        let said = failure.report.to_string();
        assert!(said.contains(&format!("the result is in {}", path.display())), "{said}");
        assert!(said.contains("loadgen/run/999"), "{said}");
        assert!(path.join("run.json").exists());
    }

    #[test]
    fn a_group_of_an_experiment_is_a_result_like_that_of_a_run() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("result");
        let delivery = Delivery::prepare(Some(&path), "lg", Format::Table, None).unwrap();
        let mut record = ExperimentRecord { title: "Sizes".to_owned(), ..Default::default() };
        // Of another version: a result that is read is one that is looked at.
        record.schema = "loadgen.experiment/999".to_owned();
        RunFolder::of_saved(&path).save(&record).unwrap();
        let followed = || Followed { exit_code: Some(3), ..Followed::default() };
        let failure = delivery.conclude(followed(), |_| panic!("no run")).unwrap_err();
        assert!(failure.report.to_string().contains("loadgen.experiment/999"));
        record.schema = ExperimentRecord::SCHEMA.to_owned();
        RunFolder::of_saved(&path).save(&record).unwrap();
        let exit = delivery.conclude(followed(), |_| panic!("no run")).unwrap();
        assert_eq!(exit, Exit::Threshold);
    }

    #[test]
    fn a_run_without_a_result_has_its_exit_code_and_leaves_no_folder() {
        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("result");
        for (code, exit) in [(Some(4), Exit::Target), (None, Exit::Interrupted)] {
            let delivery = Delivery::prepare(Some(&path), "lg", Format::Table, None).unwrap();
            let followed = Followed { exit_code: code, ..Followed::default() };
            assert_eq!(delivery.conclude(followed, |_| panic!("no record")).unwrap(), exit);
            drop(delivery);
            assert!(!path.exists());
        }
    }
}
