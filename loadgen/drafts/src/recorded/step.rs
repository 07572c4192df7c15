//! Writes a request as a step.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::{Body, Part, Place, Request, Slot};
use crate::pointer;
use crate::{Step, Value};

impl Request {
    /// Returns the step that sends the request.
    pub(crate) fn step(&self, name: String) -> Step {
        let mut path = String::new();
        for slot in &self.slots {
            match &slot.place {
                Place::Path(_) => path.push('/'),
                Place::WholeQuery => path.push('?'),
                _ => continue,
            }
            path.push_str(&slot.text());
        }
        let mut step = Step::new(name, &self.method, path);
        let query = self.grouped(|place| match place {
            Place::Query(name, _) => Some(name),
            _ => None,
        });
        let headers = self.grouped(|place| match place {
            Place::Header(name) => Some(name),
            _ => None,
        });
        for (key, table) in [("query", query), ("headers", headers)] {
            if !table.is_empty() {
                step.push(key, Value::Table(table));
            }
        }
        self.push_body(&mut step);
        match self.left_out {
            0 => {}
            1 => step
                .about
                .push("A member is left out, because its name looks like a secret.".to_owned()),
            many => step.about.push(format!(
                "{many} members are left out, because their names look like secrets."
            )),
        }
        step
    }

    /// Returns the values at some places by their names. Several values of a name are an array.
    fn grouped(&self, name: impl Fn(&Place) -> Option<&String>) -> Vec<(String, Value)> {
        let slots = self.slots.iter().filter(|slot| !slot.is_left_out);
        let values = slots.filter_map(|slot| Some((name(&slot.place)?, slot)));
        let values = values.map(|(name, slot)| (name.clone(), Value::String(slot.text())));
        group(values)
    }

    fn push_body(&self, step: &mut Step) {
        let (key, value, content_type) = match &self.body {
            Body::None => return,
            Body::TooLong(length) => {
                let about = format!(
                    "Its body of {length} bytes is left out: save it in a file, and name the file in `body`."
                );
                step.about.push(about);
                return;
            }
            Body::Json { json, content_type } => match self.json(json) {
                Some(value) => ("json", value, content_type.clone()),
                None => {
                    let content_type =
                        content_type.clone().unwrap_or_else(|| "application/json".to_owned());
                    ("text", Value::String(self.json_text(json)), Some(content_type))
                }
            },
            Body::Form { content_type } => {
                let form = self.grouped(|place| match place {
                    Place::Form(name, _) => Some(name),
                    _ => None,
                });
                ("form", Value::Table(form), content_type.clone())
            }
            Body::Multipart(parts) => ("multipart", self.multipart(parts, step), None),
            Body::Text { content_type } => {
                let text = self.slots.iter().find(|slot| slot.place == Place::Text);
                let text = text.map(Slot::text).unwrap_or_default();
                ("text", Value::String(text), content_type.clone())
            }
            Body::File { path, content_type } => {
                ("file", path.as_str().into(), content_type.clone())
            }
        };
        let is_empty = matches!(&value, Value::Table(fields) if fields.is_empty());
        // All fields of the form are left out.
        if is_empty && key != "json" && self.left_out > 0 {
            return;
        }
        let content_type = content_type.map(|text| ("content_type", Value::String(text)));
        step.push("body", Value::table([(key, value)].into_iter().chain(content_type)));
    }

    fn multipart(&self, parts: &[Part], step: &mut Step) -> Value {
        let slots = self.slots.iter().filter(|slot| !slot.is_left_out);
        let fields = slots.filter_map(|slot| match &slot.place {
            Place::Part(index, name) => Some((slot, name, parts.get(*index)?)),
            _ => None,
        });
        let fields: Vec<_> = fields.collect();
        let fields = fields.into_iter().map(|(slot, name, part)| {
            // Of a file that was recorded, the content is not in the draft.
            let is_missing = part.file.is_none() && part.filename.is_some();
            if is_missing {
                step.about.push(format!("`{name}` has a text in place of its file: decide what to upload, such as {{ file = \"photo.jpg\" }}."));
            }
            let content = match &part.file {
                Some(path) => ("file", path.as_str().into()),
                None if is_missing => ("text", "content of the file".into()),
                None => ("text", Value::String(slot.text())),
            };
            let mut table = vec![content];
            table.extend(part.filename.as_ref().map(|name| ("filename", Value::literal(&plain(name)))));
            table.extend(part.content_type.as_ref().map(|text| ("content_type", Value::String(plain(text)))));
            let value = match table.as_slice() {
                [("text", value)] => value.clone(),
                _ => Value::table(table),
            };
            (plain(name), value)
        });
        Value::Table(group(fields))
    }

    fn replaced(&self) -> HashMap<&str, &Slot> {
        let places = self.slots.iter().filter_map(|slot| match &slot.place {
            Place::Json(pointer) => Some((pointer.as_str(), slot)),
            _ => None,
        });
        places.filter(|(_, slot)| slot.template.is_some()).collect()
    }

    /// Returns a JSON body, or nothing if TOML cannot hold it: also a placeholder for a number, which
    /// would be sent as a string.
    fn json(&self, json: &Json) -> Option<Value> {
        let replaced = self.replaced();
        if replaced.values().any(|slot| slot.is_number) {
            return None;
        }
        let mut value = Value::of_json(json)?;
        replace(&mut value, &mut String::new(), &replaced);
        Some(value)
    }

    fn json_text(&self, json: &Json) -> String {
        let mut text = String::new();
        write(&mut text, json, &mut String::new(), &self.replaced());
        text
    }
}

/// Leaves out control characters, which names of fields and files cannot have.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Joins several values of a name, at the place of the first.
fn group(values: impl Iterator<Item = (String, Value)>) -> Vec<(String, Value)> {
    let mut grouped: Vec<(String, Vec<Value>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (name, value) in values {
        let place = *places.entry(name.clone()).or_insert(grouped.len());
        match grouped.get_mut(place) {
            Some((_, values)) => values.push(value),
            None => grouped.push((name, vec![value])),
        }
    }
    let joined = |mut values: Vec<Value>| match values.pop() {
        Some(only) if values.is_empty() => only,
        last => Value::Array(values.into_iter().chain(last).collect()),
    };
    grouped.into_iter().map(|(name, values)| (name, joined(values))).collect()
}

fn replace(value: &mut Value, pointer: &mut String, replaced: &HashMap<&str, &Slot>) {
    let length = pointer.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                pointer.push_str(&format!("/{index}"));
                replace(item, pointer, replaced);
                pointer.truncate(length);
            }
        }
        Value::Table(members) => {
            for (key, member) in members {
                pointer.push_str(&part(key));
                replace(member, pointer, replaced);
                pointer.truncate(length);
            }
        }
        Value::String(text) => {
            if let Some(slot) = replaced.get(pointer.as_str()) {
                *text = slot.text();
            }
        }
        _ => {}
    }
}

fn write(out: &mut String, json: &Json, pointer: &mut String, replaced: &HashMap<&str, &Slot>) {
    let length = pointer.len();
    match json {
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                pointer.push_str(&format!("/{index}"));
                write(out, item, pointer, replaced);
                pointer.truncate(length);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                out.push_str(&crate::draft::escape(&Json::from(key.as_str()).to_string()));
                out.push_str(": ");
                pointer.push_str(&part(key));
                write(out, member, pointer, replaced);
                pointer.truncate(length);
            }
            out.push('}');
        }
        leaf => match replaced.get(pointer.as_str()) {
            Some(slot) if slot.is_number => out.push_str(&slot.text()),
            // No placeholder has a character that JSON escapes.
            Some(slot) => out.push_str(&Json::from(slot.text()).to_string()),
            None => out.push_str(&crate::draft::escape(&leaf.to_string())),
        },
    }
}

/// Returns a key as a part of a JSON pointer.
fn part(key: &str) -> String {
    format!("/{}", pointer::escaped(key))
}
