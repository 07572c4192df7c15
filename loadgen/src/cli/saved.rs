//! The command lines of `loadgen report` and `loadgen compare`, which read saved runs.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// The options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The folders of runs or searches for capacities, of killed ones too; or what they saved, run.json
    /// or capacity.json.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// What to write to stdout.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}
