//! Renders each document in each format.

use std::path::Path;

use loadgen::record::{CapacityRecord, RunRecord, RunsRecord};
use loadgen::report::{Document, Format};

pub use loadgen::report::html::{capacity as capacity_html, run as html};

pub fn terminal<'a>(record: &RunRecord, folder: impl Into<Option<&'a Path>>) -> String {
    Document::Run(record).render(Format::Table, folder.into())
}

pub fn csv(record: &RunRecord) -> String {
    Document::Run(record).render(Format::Csv, None)
}

pub fn markdown(record: &RunRecord) -> String {
    Document::Run(record).render(Format::Markdown, None)
}

pub fn capacity<'a>(record: &CapacityRecord, folder: impl Into<Option<&'a Path>>) -> String {
    Document::Capacity(record).render(Format::Table, folder.into())
}

pub fn capacity_csv(record: &CapacityRecord) -> String {
    Document::Capacity(record).render(Format::Csv, None)
}

pub fn capacity_markdown(record: &CapacityRecord) -> String {
    Document::Capacity(record).render(Format::Markdown, None)
}

pub fn compared(record: &RunsRecord) -> String {
    Document::Comparison(record).render(Format::Table, None)
}

pub fn compared_csv(record: &RunsRecord) -> String {
    Document::Comparison(record).render(Format::Csv, None)
}

pub fn compared_markdown(record: &RunsRecord) -> String {
    Document::Comparison(record).render(Format::Markdown, None)
}
