//! Defines what all records with a report have in common.

use super::document::Document;
use super::html;
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord};

/// A record with a report.
pub trait Reported {
    /// Returns the record as a document, which is printed.
    fn document(&self) -> Document<'_>;

    /// Returns the report, as an HTML page.
    fn page(&self) -> String;
}

impl Reported for RunRecord {
    fn document(&self) -> Document<'_> {
        Document::Run(self)
    }

    fn page(&self) -> String {
        html::run(self)
    }
}

impl Reported for CapacityRecord {
    fn document(&self) -> Document<'_> {
        Document::Capacity(self)
    }

    fn page(&self) -> String {
        html::capacity(self)
    }
}

impl Reported for ExperimentRecord {
    fn document(&self) -> Document<'_> {
        Document::Experiment(self)
    }

    fn page(&self) -> String {
        html::experiment(self)
    }
}
