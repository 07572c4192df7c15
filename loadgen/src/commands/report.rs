//! `loadgen report`: shows a saved run again.

use crate::cli::ReportArgs;
use crate::experiment::folder::RunFolder;
use crate::experiment::saved::{Record, Saved};
use crate::failure::{Exit, Failure};
use crate::process::{columns, print_report};
use crate::report::Reported;

/// Prints each saved run, and writes the run's HTML report
/// again. Reads all runs before anything is written.
pub(super) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let saved: Result<Vec<Saved>, Failure> = args.runs.iter().map(|run| Saved::read(run)).collect();
    for Saved { folder, record } in saved? {
        let record: &dyn Reported = match &record {
            Record::Run(record) => &**record,
            Record::Capacity(record) => &**record,
            Record::Experiment(record) => &**record,
        };
        let text = record.document().render_within(columns(), args.format, Some(&folder));
        // The result is shown even if saving failed.
        let written = RunFolder::of_saved(&folder).save_page(&record.page());
        print_report(&text)?;
        written?;
    }
    Ok(Exit::Done)
}
