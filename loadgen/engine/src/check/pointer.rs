//! Finds values by a JSON pointer (RFC 6901), in which a part [`EACH`] stands for all elements or members.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json::is_index;
use loadgen_scenario::EACH;

/// Returns the JSON texts of all values at a pointer, in the order of the text.
pub(super) fn values<'a>(json: &'a str, pointer: &str) -> Vec<&'a str> {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let mut values = Vec::new();
    find(json, &parts, &mut values);
    values
}

/// Adds the JSON texts of all values at a pointer of these parts to `values`.
fn find<'a>(json: &'a str, parts: &[&str], values: &mut Vec<&'a str>) {
    let Some((part, rest)) = parts.split_first() else {
        values.push(json);
        return;
    };
    if *part == EACH {
        for value in members(json) {
            find(value.get(), rest, values);
        }
    } else if let Some(value) = member(json, &part.replace("~1", "/").replace("~0", "~")) {
        find(value.get(), rest, values);
    }
}

/// Returns the elements of an array or the members of an object, in the order of the text.
fn members(json: &str) -> Vec<&RawValue> {
    let all = match json.as_bytes().first() {
        Some(b'{') => serde_json::from_str(json).map(|Members(all)| all),
        Some(b'[') => serde_json::from_str(json),
        _ => Ok(Vec::new()),
    };
    all.unwrap_or_default()
}

/// The values of an object, in the order of the text.
struct Members<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Members<'de> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Self, A::Error> {
        while let Some((_, value)) = map.next_entry::<IgnoredAny, &RawValue>()? {
            self.0.push(value);
        }
        Ok(self)
    }
}

fn member<'a>(text: &'a str, token: &str) -> Option<&'a RawValue> {
    if text.starts_with('{') {
        serde_json::from_str::<HashMap<String, &RawValue>>(text).ok()?.remove(token)
    } else if text.starts_with('[') {
        let items = serde_json::from_str::<Vec<&RawValue>>(text).ok()?;
        items.into_iter().enumerate().find(|(index, _)| is_index(token, *index)).map(|(_, v)| v)
    } else {
        None
    }
}
