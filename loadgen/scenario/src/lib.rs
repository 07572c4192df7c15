//! Scenarios: reads a TOML file into a validated model.
//!
//! [`load()`] reads and checks a whole file. The result is either a valid [`Scenario`] or one
//! [`ScenarioError`] that shows every fault at its line.
//!
//! # Why the file is not read with `derive(Deserialize)`
//!
//! A derived reader stops at the first fault, so an author with five mistakes would see them one at
//! a time. Instead, the `toml` crate parses the file into a tree with the position of every key and
//! value. The `file` module walks the tree, takes out key after key and records every fault. Serde
//! only serializes data for transfer: workers receive the model as it is.
//!
//! The `file` module does not check a file that is not valid TOML: a parser's guesses after a
//! syntax error would produce false faults.

mod action;
mod backend;
mod body;
mod bounded;
mod data;
mod duration;
mod environment;
mod error;
mod escape;
mod expect;
pub mod experiment;
pub mod explain;
mod file;
mod flow;
#[cfg(any(test, fuzzing))]
mod fuzzing;
mod grpc_status;
mod http;
mod iteration;
mod limits;
mod load;
mod load_level;
mod masking;
mod method;
mod metric;
mod model;
mod multipart;
mod nearest;
mod on_disk;
mod overrides;
mod placeholder;
mod proof;
mod protos;
mod rows;
mod secret;
mod server_url;
mod sharing;
mod size_range;
mod stream;
mod template;
mod threshold;
mod tls;
mod token;
mod warnings;

use std::path::Path;

pub use action::Action;
pub use backend::Backend;
pub use body::{Attachment, Body, Content, Part};
pub use bounded::{read_at_most, read_text};
pub use data::Data;
pub use duration::parse_duration;
pub use environment::{Environment, process_environment};
pub use error::{Fault, ScenarioError};
pub use escape::{RenderError, may_be_in_header};
pub use expect::{Condition, Expect, HeaderCondition, JsonType, Statuses};
pub use file::step_line;
pub use flow::{Assign, Flow, Given, ITERATION, Repeat};
#[cfg(any(test, fuzzing))]
pub use fuzzing::encode_foreign;
pub use grpc_status::{GrpcStatus, GrpcStatuses};
pub use http::{Http, HttpVersion, Lifetime, Reuse, TransportKind};
pub use iteration::groups;
pub use limits::{Cpus, Limits, Memory};
pub use load::{Arrivals, Load, Model, Open, Stage, ThinkTime, Until, WARMUP};
pub use load_level::{LoadLevel, LoadLevelError};
pub use masking::Secrets;
#[cfg(any(test, fuzzing))]
pub use masking::fuzzing::mask_foreign;
pub use method::Method;
pub use metric::{Metric, Statistic, Timing, Used};
pub use model::{Capture, Counter, EACH, Existing, OnError, Pick, Scenario, Source, Step, When};
pub use nearest::nearest;
pub use on_disk::OnDisk;
pub use overrides::{OverrideError, Overrides};
pub use placeholder::{PLACEHOLDERS, TemplateError};
pub use proof::{ExpectedContent, Proof};
pub use protos::{Protos, message_of_json, messages_of_json, protos_of_text};
pub use rows::{Cells, Order, Rows};
pub use server_url::ServerUrl;
pub use sharing::{Sharing, TooFewStreams};
pub use size_range::SizeRange;
pub use stream::{EndMarker, ExpectedStream, StreamFormat};
pub use template::Template;
pub use threshold::{Of, Operator, Threshold};
pub use tls::{IdentityFault, Tls, TlsVersion, read_pem};
pub use token::{is_method, is_token};

/// Reads and checks a scenario file for inspection, without environment
/// variables. The scenario's name is the file's stem.
pub fn load(path: &Path) -> Result<Scenario, ScenarioError> {
    read(path, None)
}

/// Reads and checks a scenario file for a run, with environment variables from `environment`.
pub fn load_to_run(path: &Path, environment: Environment<'_>) -> Result<Scenario, ScenarioError> {
    read(path, Some(environment))
}

/// Largest scenario or experiment in a file, in bytes.
pub(crate) const LARGEST: u64 = 16 << 20;

fn read(path: &Path, environment: Option<Environment<'_>>) -> Result<Scenario, ScenarioError> {
    let text = read_text(LARGEST, path).map_err(|reason| {
        let path = path.to_owned();
        ScenarioError::Unreadable { path, reason }
    })?;
    let name = path.file_stem().unwrap_or(path.as_os_str());
    check(&name.to_string_lossy(), &path.to_string_lossy(), &text, environment)
}

/// Reads and checks the text of a scenario called `name` for inspection, without environment
/// variables. Faults name `file_name` as the scenario's file.
pub fn parse(name: &str, file_name: &str, text: &str) -> Result<Scenario, ScenarioError> {
    check(name, file_name, text, None)
}

/// Reads and checks the text of a scenario for a run, with environment variables from
/// `environment`.
pub fn parse_to_run(
    name: &str,
    file_name: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<Scenario, ScenarioError> {
    check(name, file_name, text, Some(environment))
}

/// Returns the JSON Schema (draft 7) of a scenario file, for editors. The schema covers only the
/// form of a file; [`parse`] finds more faults.
pub fn json_schema() -> serde_json::Value {
    file::schema()
}

/// Returns the names of the tables of a scenario file that the reference shows, as in messages.
pub fn key_tables() -> impl Iterator<Item = &'static str> {
    file::tables()
}

/// Returns the rows of a table of a scenario file in the reference: keys, type, default and meaning, in
/// Markdown. `name` is the table's name in messages, such as `[load]`; `None` for an unknown name.
pub fn key_reference(name: &str) -> Option<Vec<[String; 4]>> {
    file::reference(name)
}

fn check(
    name: &str,
    file_name: &str,
    text: &str,
    environment: Option<Environment<'_>>,
) -> Result<Scenario, ScenarioError> {
    let folder = Path::new(file_name).parent().unwrap_or(Path::new(""));
    file::read(name, text, folder, environment).map_err(|faults| ScenarioError::Invalid {
        file: file_name.to_owned(),
        text: miette::NamedSource::new(file_name, text.to_owned()),
        faults,
    })
}
