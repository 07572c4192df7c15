//! First scenarios from what people already have: [`openapi`] from the description of an API, [`har`]
//! from recordings of a browser, [`curl`] from a command, [`access_log`] from the log of a server.
//!
//! Each of these reads its source into a [`Draft`]: steps in flows, with comments where a person must
//! decide. [`Draft::text`] writes the scenario file. Passwords, tokens and cookies of a source
//! become `{{ env NAME }}`: `secrets` knows them by their names and by their form. [`RowsFile::csv`] writes the values that steps take from
//! files beside the scenario.

pub mod access_log;
pub mod curl;
mod draft;
mod error;
#[cfg(any(test, fuzzing))]
mod fuzzing;
pub mod har;
mod names;
pub mod openapi;
mod pointer;
mod recorded;
mod secrets;
mod static_files;
#[cfg(test)]
mod testing;
mod write;

pub use draft::{Draft, Entry, Flow, RowsFile, Step, Value};
pub use error::DraftError;
#[cfg(any(test, fuzzing))]
pub use fuzzing::draft_foreign;
