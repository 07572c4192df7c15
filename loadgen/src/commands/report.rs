//! `loadgen report`: a saved run, shown again.

use super::output::print;
use super::run::{self as runs, folder::RunFolder};
use super::saved::{Record, Saved};
use super::{Exit, Failure, capacity};
use crate::cli::ReportArgs;
use crate::report::{capacity_html, html};

/// Prints each run, and writes its page anew. All are read before anything is written.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let saved: Result<Vec<Saved>, Failure> = args.runs.iter().map(|run| Saved::read(run)).collect();
    for Saved { folder, record } in saved? {
        let (page, text) = match &record {
            Record::Run(record) => {
                (html(record), runs::printed(args.format, record, Some(&folder)))
            }
            Record::Capacity(record) => {
                (capacity_html(record), capacity::printed(args.format, record, Some(&folder)))
            }
        };
        // Not being able to save is no reason not to show.
        let written = RunFolder::of_saved(&folder).save_page(&page);
        print(&text)?;
        written?;
    }
    Ok(Exit::Done)
}
