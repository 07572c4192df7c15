//! The command lines of `loadgen report` and `loadgen compare`, which read saved runs.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::values::percent;
use crate::report::Format;

/// Options of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Folders of saved runs, capacity searches or experiments, also of killed ones; or the files
    /// run.json, capacity.json or experiment.json in these folders.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Format of the document on standard output.
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Options of `compare`.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub struct CompareArgs {
    /// Folders of two or more saved runs or capacity searches, or the files run.json or
    /// capacity.json in these folders. The other runs are compared with the first run.
    #[arg(value_name = "RUN", required = true, num_args = 2..)]
    pub runs: Vec<PathBuf>,
    /// Greatest accepted loss of a target compared with the first run, in %, from 0 to 100. The exit
    /// code is 3 if a greater loss is shown, and 1 if a target cannot be judged. A loss is a lower rate
    /// of expected responses, a lower capacity or, in the open model, a longer median latency.
    #[arg(long, value_name = "PERCENT", value_parser = percent(0.0..=100.0), allow_hyphen_values = true)]
    pub fail_on_regression: Option<f64>,
    /// File for the result as JUnit XML: whether each target of a later run lost more than
    /// --fail-on-regression accepts, and why a run failed.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Format of the document on standard output.
    #[arg(short, long, value_parser = of_comparison(), default_value = "table")]
    pub format: Format,
}

/// Returns a parser of the formats of a comparison, which has no picture.
fn of_comparison() -> impl TypedValueParser<Value = Format> {
    let all = Format::value_variants().iter().filter(|format| **format != Format::Svg);
    let named = all.filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(named.collect::<Vec<_>>())
        .try_map(|name| Format::from_str(&name, false))
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  loadgen --scenario redis3 --out before                before the change
  loadgen --scenario redis3 --out after                 after the change
  loadgen compare before after --fail-on-regression 5%

Exit codes:
  0  done
  1  --fail-on-regression cannot be judged
  2  the runs cannot be compared
  3  a greater loss than --fail-on-regression accepts is shown";
