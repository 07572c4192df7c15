//! Reads a scenario file, with one module for each part of the file.
//!
//! A function of these modules returns `None` only after adding a fault. A default value replaces a
//! value with a fault where the default helps to find more faults.

// First, for its macro.
#[macro_use]
mod keys;

mod attachment;
mod auth;
mod body;
mod capture;
mod condition;
mod connection;
mod csv;
mod expect;
mod experiment;
mod flow;
mod grpc;
mod headers;
mod http;
mod json;
mod load;
mod meaning;
mod media_type;
mod message;
mod moment;
mod multipart;
mod name;
mod pairs;
mod pointer;
mod proof;
mod reader;
mod regex;
mod repeat;
mod rows;
mod scenario;
mod services;
mod step;
mod step_line;
mod stream;
mod thresholds;
mod tls;
mod websocket;

use std::path::Path;

use keys::Keys;
use reader::Faults;
use scenario::{BACKEND_NAMES, KEYS};
use serde_json::Value as Json;
use toml::de::DeTable;

pub use self::step_line::step_line;
use super::environment::Environment;
use super::error::Fault;
use super::model::Scenario;

/// Tables that the reference shows, in its order.
const TABLES: [&Keys; 18] = [
    &KEYS,
    &load::KEYS,
    &load::STAGE,
    &http::KEYS,
    &connection::KEYS,
    &tls::KEYS,
    &step::KEYS,
    &grpc::KEYS,
    &websocket::MESSAGE,
    &moment::KEYS,
    &body::KEYS,
    &multipart::KEYS,
    &expect::KEYS,
    &stream::KEYS,
    &capture::KEYS,
    &flow::KEYS,
    &rows::KEYS,
    &proof::KEYS,
];

/// Returns the names of all tables that the reference shows.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|table| table.name)
}

/// Returns the rows of the table called `name` in the reference: keys, type, default, meaning.
pub(super) fn reference(name: &str) -> Option<Vec<[String; 4]>> {
    TABLES.iter().find(|table| table.name == name).map(|table| table.rows())
}

/// Returns the JSON Schema of a scenario file, with which editors complete, explain and underline keys.
///
/// The readers alone check what only the whole file shows, such as whether a step of some name exists.
/// The schema refuses nothing that the readers accept.
///
/// The schema is draft 7 without `$ref`: most editors use taplo for TOML, and taplo supports no
/// newer draft and ignores everything beside a `$ref`, including descriptions. Where a key excludes
/// another key, the schema of the excluded key is `false`, so that an editor underlines the
/// excluded key. `allOf` could say the same, but taplo completes nothing in a table with `allOf`.
pub(super) fn schema() -> Json {
    let scenario = KEYS.schema().with("$schema", "http://json-schema.org/draft-07/schema#");
    scenario.with("title", "A scenario of loadgen").into()
}

/// Reads a scenario, or returns all faults of the file, in the order of their lines. Relative paths
/// in the file start at `folder`. Environment variables are read only if `environment` is given.
pub(super) fn read(
    name: &str,
    text: &str,
    folder: &Path,
    environment: Option<Environment<'_>>,
) -> Result<Scenario, Vec<Fault>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut faults = Faults::new(text);
        errors.iter().for_each(|error| faults.add(syntax_fault(error, text)));
        return Err(faults.in_order());
    }
    let mut faults = Faults::new(text);
    faults.scope.environment = environment;
    faults.folder = folder.to_owned();
    match scenario::read(name, folder, tree.get_ref(), &mut faults) {
        Some(scenario) if faults.is_empty() => Ok(scenario),
        _ => Err(faults.in_order()),
    }
}

fn syntax_fault(error: &toml::de::Error, text: &str) -> Fault {
    let place = error.span().unwrap_or(0..0);
    // The parser's span may lie beyond the end of the text or within a character.
    let place = if text.get(place.clone()).is_some() { place } else { 0..0 };
    Fault::new(error.message()).at(place, "here")
}
