//! Describes the documents by JSON Schemas, which follow from the types of the records and from the
//! comments of their fields.

use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Returns the JSON Schema of a type, as this version of loadgen writes its values.
#[must_use]
pub fn json_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with_transform(describe);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Returns the JSON Schema of the documents whose format has this name and version.
#[must_use]
pub fn document_schema<T: JsonSchema>(format: &str) -> Value {
    let mut schema = json_schema::<T>();
    schema["title"] = format.into();
    schema["properties"]["schema"]["const"] = format.into();
    schema
}

/// Turns the first paragraph of a comment into a description for readers of JSON, in one line; what follows
/// is for a page. Removes default values, which only say how documents of earlier versions are read.
fn describe(schema: &mut Schema) {
    schema.remove("default");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        let first = text.split("\n\n").next().unwrap_or_default();
        let words: Vec<&str> = first.split_whitespace().collect();
        *text = words.join(" ").replace("`None`", "`null`");
    }
    transform_subschemas(&mut describe, schema);
}

#[cfg(test)]
mod tests {
    use super::super::{RunRecord, SavedAs};
    use super::*;

    #[test]
    fn a_schema_names_its_document_and_says_when_a_field_is_null() {
        let schema = document_schema::<RunRecord>(RunRecord::SCHEMA);
        assert_eq!(schema["properties"]["schema"]["const"], "loadgen.run/1");
        let precision = &schema["properties"]["precision"]["description"];
        assert!(
            precision.as_str().unwrap().contains("; `null` without `--precision`"),
            "{precision}"
        );
        assert!(!schema.to_string().contains("`None`"));
    }
}
