//! Renders each document in each format.

use std::path::Path;

use clap::ValueEnum;

use super::formats::{csv, markdown, terminal};
use super::svg;
use crate::record::{CapacityRecord, ExperimentRecord, RunRecord, RunsRecord, json};
use crate::text::COLUMNS;

/// Format of the document on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table, for people.
    Table,
    /// The whole result as JSON, for programs.
    Json,
    /// A row for each target and step, for spreadsheets.
    Csv,
    /// Markdown, for pages and pull requests.
    Markdown,
    /// A picture as SVG, for pages: the claims of an experiment, or the ranking.
    Svg,
}

/// Result of a command, which can be printed in any [`Format`].
#[derive(Debug, Clone, Copy)]
pub enum Document<'a> {
    /// Result of a run.
    Run(&'a RunRecord),
    /// Result of a capacity search: the highest rate that each target carries.
    Capacity(&'a CapacityRecord),
    /// Result of an experiment: groups of arms, and findings about claims.
    Experiment(&'a ExperimentRecord),
    /// Comparison of saved runs or of saved capacity searches.
    Comparison(&'a RunsRecord),
}

impl Document<'_> {
    /// Returns the text of the document in `format`, for a terminal of [`COLUMNS`] columns: see
    /// [`Document::render_within`].
    #[must_use]
    pub fn render(self, format: Format, folder: Option<&Path>) -> String {
        self.render_within(COLUMNS, format, folder)
    }

    /// Returns the text of the document in `format`. The tables of a run, of a capacity search and of an
    /// experiment name `folder`, which holds the saved result; `None` if the result is not saved. Lines for a
    /// terminal have at most `columns` columns, where names allow.
    #[must_use]
    pub fn render_within(self, columns: usize, format: Format, folder: Option<&Path>) -> String {
        match (format, self) {
            (Format::Table, Self::Run(record)) => terminal::run(record, folder, columns),
            (Format::Table, Self::Capacity(record)) => terminal::capacity(record, folder),
            (Format::Table, Self::Experiment(record)) => {
                terminal::experiment(record, folder, columns)
            }
            (Format::Table, Self::Comparison(record)) => terminal::comparison(record),
            (Format::Json, Self::Run(record)) => json(record).unwrap_or_default(),
            (Format::Json, Self::Capacity(record)) => json(record).unwrap_or_default(),
            (Format::Json, Self::Experiment(record)) => json(record).unwrap_or_default(),
            (Format::Json, Self::Comparison(record)) => json(record).unwrap_or_default(),
            (Format::Csv, Self::Run(record)) => csv::run(record),
            (Format::Csv, Self::Capacity(record)) => csv::capacity(record),
            (Format::Csv, Self::Experiment(record)) => csv::experiment(record),
            (Format::Csv, Self::Comparison(record)) => csv::comparison(record),
            (Format::Markdown, Self::Run(record)) => markdown::run(record),
            (Format::Markdown, Self::Capacity(record)) => markdown::capacity(record),
            (Format::Markdown, Self::Experiment(record)) => markdown::experiment(record),
            (Format::Markdown, Self::Comparison(record)) => markdown::comparison(record),
            (Format::Svg, Self::Run(record)) => svg::run(record),
            (Format::Svg, Self::Capacity(record)) => svg::capacity(record),
            (Format::Svg, Self::Experiment(record)) => svg::experiment(record),
            (Format::Svg, Self::Comparison(_)) => String::new(),
        }
    }
}
