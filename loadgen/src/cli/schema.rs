//! The command line of `loadgen schema`.

use clap::{Args, ValueEnum};

/// Options of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Result document whose schema to print [default: the schema of scenario files].
    #[arg(long, value_name = "DOCUMENT")]
    pub document: Option<DocumentName>,
}

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DocumentName {
    /// `run.json`, of a run.
    Run,
    /// `capacity.json`, of a search.
    Capacity,
    /// `experiment.json`, of an experiment.
    Experiment,
    /// Output of `loadgen compare` with `--format json`.
    Compare,
}
