//! The command line of `loadgen schema`.

use clap::{Args, ValueEnum};

/// Options of `schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Result document whose schema to print, instead of that of scenario files.
    #[arg(long, value_name = "DOCUMENT")]
    pub document: Option<DocumentName>,
}

/// Documents with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DocumentName {
    /// Result of `run`.
    Run,
    /// Result of `capacity`.
    Capacity,
    /// Result of `experiment`.
    Experiment,
    /// Result of `compare`.
    Compare,
}
