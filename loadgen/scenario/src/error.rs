//! Faults of a scenario, shown at their position in the file.

use std::ops::Range;
use std::path::PathBuf;
use std::{fmt, io};

use miette::{Diagnostic, LabeledSpan, NamedSource};
use thiserror::Error;

/// Reason why a scenario cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub enum ScenarioError {
    /// The file could not be read.
    #[error("cannot read the scenario {}", path.display())]
    #[diagnostic(code(unreadable_scenario))]
    Unreadable {
        /// The file's path, as given by the caller.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        reason: io::Error,
    },
    /// The file was read, but contains at least one fault.
    #[error("{file} has {}", count(faults))]
    #[diagnostic(code(bad_scenario))]
    Invalid {
        /// The file's name for display.
        file: String,
        /// The file's text, into which the faults point.
        #[source_code]
        text: NamedSource<String>,
        /// All faults, ordered by their position in the file.
        #[related]
        faults: Vec<Fault>,
    },
}

pub(super) fn count(faults: &[Fault]) -> String {
    match faults.len() {
        1 => "one fault".to_owned(),
        n => format!("{n} faults"),
    }
}

/// One fault of a scenario: description, position and help to fix the fault.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct Fault {
    message: String,
    labels: Vec<LabeledSpan>,
    help: Option<String>,
}

impl Diagnostic for Fault {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }
}

impl Fault {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), labels: Vec::new(), help: None }
    }

    /// Adds a label to a range of bytes in the file.
    pub(super) fn at(mut self, place: Range<usize>, label: impl Into<String>) -> Self {
        self.labels.push(LabeledSpan::new_with_span(Some(label.into()), place));
        self
    }

    /// Adds help to fix the fault.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the byte offset of the first label in the file; 0 for a fault of the whole file.
    pub(super) fn offset(&self) -> usize {
        self.labels.first().map_or(0, LabeledSpan::offset)
    }
}
