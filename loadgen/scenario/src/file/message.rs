//! Checks the JSON form of a message against the message's type.

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value as Json;

use super::json;
use super::reader::{Faults, Value};
use crate::data::Data;
use crate::error::Fault;
use crate::nearest::{list, suggestion};
use crate::protos::message_of_json;

/// Adds a fault for each part of `value` that a message of type `kind` cannot have. Parts with
/// captured values, cells of rows or environment variables are not compared.
pub(super) fn check(value: &Value<'_>, kind: &MessageDescriptor, faults: &mut Faults<'_>) {
    if check_fields(value, kind, faults)
        && let Some(Err(message)) = rendered(value, faults).map(|text| reason(kind, &text))
    {
        // What fields say only together, such as two alternatives of a `oneof`.
        let message =
            format!("`json` is not a message of the type {}: {message}", kind.full_name());
        value.fault::<()>(message, "no such message", "", faults);
    }
}

/// Returns whether no field has a fault.
fn check_fields(value: &Value<'_>, kind: &MessageDescriptor, faults: &mut Faults<'_>) -> bool {
    if is_well_known(kind) || value.node.get_ref().as_table().is_none() {
        return true;
    }
    let mut is_right = true;
    for written in json::fields(value) {
        // `[package.name]` is an extension.
        if written.key.starts_with('[') {
            continue;
        }
        let known = kind.get_field_by_json_name(written.key);
        is_right &= match known.or_else(|| kind.get_field_by_name(written.key)) {
            Some(field) => check_field(&written, &field, kind, faults),
            None => {
                refuse_unknown(&written, kind, faults);
                false
            }
        };
    }
    is_right
}

fn refuse_unknown(written: &Value<'_>, kind: &MessageDescriptor, faults: &mut Faults<'_>) {
    let names: Vec<String> = kind.fields().map(|field| field.json_name().to_owned()).collect();
    let help = match names.is_empty() {
        true => "the message has no fields".to_owned(),
        false => suggestion(written.key, names.iter().map(String::as_str)),
    };
    let message = format!("`{}` is not a field of {}", written.key, kind.full_name());
    faults.add(Fault::new(message).at(written.key_place.clone(), "unknown field").help(help));
}

fn check_field(
    written: &Value<'_>,
    field: &FieldDescriptor,
    of: &MessageDescriptor,
    faults: &mut Faults<'_>,
) -> bool {
    let within = |kind: &Kind| match kind {
        Kind::Message(inner) if !is_well_known(inner) => Some(inner.clone()),
        _ => None,
    };
    let is_table = written.node.get_ref().as_table().is_some();
    let (inner, parts) = match field.kind() {
        Kind::Message(entry) if field.is_map() => {
            (within(&entry.map_entry_value_field().kind()), json::fields(written))
        }
        kind if field.is_list() => (within(&kind), json::items(written)),
        kind => (within(&kind), if is_table { vec![written.clone()] } else { Vec::new() }),
    };
    if let Some(inner) = inner {
        let checked: Vec<bool> =
            parts.iter().map(|part| check_fields(part, &inner, faults)).collect();
        if checked.contains(&false) {
            return false;
        }
    }
    let Some(text) = rendered(written, faults) else { return true };
    let alone = format!("{{{}:{text}}}", Json::from(written.key));
    match reason(of, &alone) {
        Ok(()) => true,
        Err(reason) => {
            let message = format!("`{}` of {}: {reason}", written.key, of.full_name());
            written.fault::<()>(message, "impossible value", help(field), faults);
            false
        }
    }
}

/// Returns the JSON of a value with placeholders replaced; `None` if some have no value yet, or one that
/// no fault may show.
fn rendered(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    // Adds no fault: the whole body was read without one.
    let (template, mut text) = (json::read_template(value, faults)?, String::new());
    if !template.variables().is_empty() {
        return None;
    }
    template.render(&mut Data::new(0, 0), &mut text).ok().map(|()| text)
}

/// Returns an error if no message of this type has the JSON form `text`.
fn reason(kind: &MessageDescriptor, text: &str) -> Result<(), String> {
    message_of_json(kind, text).map(drop)
}

fn help(field: &FieldDescriptor) -> String {
    let name = match field.kind() {
        Kind::Enum(kind) => {
            let names: Vec<String> = kind.values().map(|value| value.name().to_owned()).collect();
            return format!("expected one of: {}", list(names.iter().map(String::as_str)));
        }
        _ if field.is_map() => "map".to_owned(),
        Kind::Message(kind) => kind.full_name().to_owned(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    let repeated = if field.is_list() { "repeated " } else { "" };
    format!("the type of the field is `{repeated}{name}`")
}

/// Whether the JSON form of a message is a special one, such as a string for a time.
fn is_well_known(kind: &MessageDescriptor) -> bool {
    kind.package_name() == "google.protobuf"
}
