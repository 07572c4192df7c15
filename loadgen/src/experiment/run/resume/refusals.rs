//! Reasons not to resume a run.

use std::path::Path;

use crate::experiment::saved::{Record, Saved};
use crate::failure::{Exit, Failure};

/// Returns whether the folder has the record of a run that has ended.
pub(super) fn is_finished(folder: &Path) -> bool {
    matches!(Saved::read(folder), Ok(Saved { record: Record::Run(run), .. }) if !run.interrupted)
}

/// Returns the error that a folder has no run that can be resumed.
pub(super) fn nothing_to_resume(folder: &Path) -> Failure {
    let what = match Saved::read(folder) {
        Err(failure) => return failure,
        Ok(Saved { record: Record::Run(run), .. }) if run.interrupted => {
            "the run keeps no round that could be resumed: only runs of `loadgen manager` do"
        }
        Ok(Saved { record: Record::Run(_), .. }) => "the run is finished",
        Ok(Saved { record: Record::Capacity(_), .. }) => {
            "a search for capacities cannot be resumed"
        }
        Ok(Saved { record: Record::Experiment(_), .. }) => "an experiment cannot be resumed",
    };
    let message = format!("{}: {what}", folder.display());
    let help = "show what it has with `loadgen report`, or measure again, with another --out";
    Failure::message(Exit::Usage, "nothing_to_resume", message, help)
}

/// Returns the error that the manager of a run still lives.
pub(super) fn in_use(folder: &Path) -> Failure {
    let message = format!("{}: the manager of this run still runs", folder.display());
    let help = "wait for its end, or end it first; `loadgen ctl` reaches it";
    Failure::message(Exit::Failed, "run_in_use", message, help)
}

/// Returns the error that a file of a run cannot be used.
pub(super) fn damaged(path: &Path, why: &str) -> Failure {
    let message = format!("cannot resume from {}: {why}", path.display());
    let help =
        "measure again, with another --out; `loadgen report` still shows what the run had measured";
    Failure::message(Exit::Failed, "damaged_run", message, help)
}

/// Returns the error that the rest of a run would be another one than its beginning.
pub(super) fn unlike(folder: &Path, why: &[String]) -> Failure {
    let message = format!("cannot resume {}: {}", folder.display(), why.join("; "));
    let help = "restore what has changed, or measure again, with another --out: rounds under different conditions \
                are not those of one run";
    Failure::message(Exit::Usage, "cannot_resume", message, help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ExperimentRecord, RunRecord, SavedAs};

    fn told<R: SavedAs>(record: &R) -> String {
        let folder = tempfile::tempdir().unwrap();
        let text = serde_json::to_string(record).unwrap();
        std::fs::write(folder.path().join(R::FILE), text).unwrap();
        format!("{:?}", nothing_to_resume(folder.path()).report)
    }

    #[test]
    fn each_kind_of_result_has_its_reason() {
        let run = |interrupted| {
            let schema = RunRecord::SCHEMA.to_owned();
            told(&RunRecord { schema, interrupted, ..RunRecord::default() })
        };
        assert!(run(false).contains("the run is finished"), "{}", run(false));
        assert!(run(true).contains("keeps no round"), "{}", run(true));
        let schema = ExperimentRecord::SCHEMA.to_owned();
        let told = told(&ExperimentRecord { schema, ..ExperimentRecord::default() });
        assert!(told.contains("an experiment cannot be"), "{told}");
    }
}
