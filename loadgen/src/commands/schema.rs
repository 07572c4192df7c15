//! `loadgen schema`: prints the JSON Schema of scenario files, or of a result document.

use serde_json::Value;

use crate::cli::{DocumentName, SchemaArgs};
use crate::failure::{Exit, Failure};
use crate::process::print;
use crate::record::{
    COMPARE_SCHEMA, CapacityRecord, ExperimentRecord, RunRecord, RunsRecord, SavedAs,
    document_schema,
};
use crate::scenario::json_schema;

/// Prints the JSON Schema that the arguments name.
pub(super) fn run(args: &SchemaArgs) -> Result<Exit, Failure> {
    print(&args.document.map_or_else(text, |document| as_text(&of_document(document))))?;
    Ok(Exit::Done)
}

/// Returns the JSON Schema of scenario files as text.
pub(super) fn text() -> String {
    as_text(&json_schema())
}

fn of_document(document: DocumentName) -> Value {
    match document {
        DocumentName::Run => document_schema::<RunRecord>(RunRecord::SCHEMA),
        DocumentName::Capacity => document_schema::<CapacityRecord>(CapacityRecord::SCHEMA),
        DocumentName::Experiment => document_schema::<ExperimentRecord>(ExperimentRecord::SCHEMA),
        DocumentName::Compare => document_schema::<RunsRecord>(COMPARE_SCHEMA),
    }
}

fn as_text(schema: &Value) -> String {
    format!("{schema:#}\n")
}
