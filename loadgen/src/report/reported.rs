//! Defines what all records with a report have in common.

use super::document::Document;
use super::html;
use super::words::failures;
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord};

/// A record with a report.
pub trait Reported {
    /// Returns what was measured, in a word or two.
    fn kind() -> &'static str
    where
        Self: Sized;

    /// Returns the record as a document, which is printed.
    fn document(&self) -> Document<'_>;

    /// Returns the report, as an HTML page.
    fn page(&self) -> String;

    /// Returns why the command fails although it measured, such as a threshold: a sentence for each reason.
    fn failures(&self) -> Vec<String>;
}

impl Reported for RunRecord {
    fn kind() -> &'static str {
        "Load test"
    }

    fn document(&self) -> Document<'_> {
        Document::Run(self)
    }

    fn page(&self) -> String {
        html::run(self)
    }

    fn failures(&self) -> Vec<String> {
        failures::of_run(self)
    }
}

impl Reported for CapacityRecord {
    fn kind() -> &'static str {
        "Capacity search"
    }

    fn document(&self) -> Document<'_> {
        Document::Capacity(self)
    }

    fn page(&self) -> String {
        html::capacity(self)
    }

    fn failures(&self) -> Vec<String> {
        failures::of_search(self)
    }
}

impl Reported for ExperimentRecord {
    fn kind() -> &'static str {
        "Experiment"
    }

    fn document(&self) -> Document<'_> {
        Document::Experiment(self)
    }

    fn page(&self) -> String {
        html::experiment(self)
    }

    fn failures(&self) -> Vec<String> {
        failures::of_experiment(self)
    }
}
