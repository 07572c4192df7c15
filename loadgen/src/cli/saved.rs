//! The command lines of `loadgen report` and `loadgen compare`, which read saved runs.

use std::path::PathBuf;

use clap::Args;

use crate::report::Format;

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

/// The options of `compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// The folders of two runs or more, or of searches for capacities; the first is what the others are
    /// compared with.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Exit with 3 if a target is shown to serve fewer requests than in the first run, or to carry fewer,
    /// by more than this; in the open model, if its median latency is longer by more.
    #[arg(long, value_name = "PERCENT", value_parser = loss, allow_hyphen_values = true)]
    pub fail_on_regression: Option<f64>,
    /// What to write to stdout.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  loadgen --scenario redis3 --out before          and, after the change, --out after
  loadgen compare before after --fail-on-regression 5%

Exit codes: 0 done, 1 a regression can't be judged, 2 the runs can't be compared, 3 a regression";

/// A percentage from 0 to 100, such as `5` or `5%`.
fn loss(text: &str) -> Result<f64, String> {
    match text.trim().trim_end_matches('%').trim_end().parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("it is a percentage from 0 to 100".to_owned()),
    }
}
