//! Finds differences between the settings and environments of runs.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::record::Unlike;

impl Unlike {
    /// Returns the values in which these runs differ.
    pub(super) fn between(all: &[&Leaves]) -> Vec<Self> {
        let places: BTreeSet<&String> = all.iter().flat_map(|leaves| leaves.0.keys()).collect();
        let unlike = places.into_iter().map(|place| Self {
            what: place.clone(),
            values: all.iter().map(|leaves| leaves.0.get(place).cloned()).collect(),
        });
        unlike.filter(|it| it.values.iter().any(|value| *value != it.values[0])).collect()
    }
}

/// Settings and environment values of a run, by their paths in the record, such as
/// `environment.kernel`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaves(BTreeMap<String, String>);

impl Leaves {
    /// Adds all nested fields of `value`, with paths that begin with `place`.
    pub(crate) fn add<T: Serialize + ?Sized>(&mut self, place: &str, value: &T) {
        // Records of loadgen are valid JSON.
        self.collect(place, &serde_json::to_value(value).unwrap_or_default());
    }

    /// Returns the values by their paths.
    pub(crate) fn into_values(self) -> BTreeMap<String, String> {
        self.0
    }

    fn collect(&mut self, place: &str, value: &Value) {
        match value {
            Value::Null => {}
            Value::Object(map) => {
                map.iter().for_each(|(key, inner)| self.collect(&format!("{place}.{key}"), inner));
            }
            Value::String(text) => drop(self.0.insert(place.to_owned(), text.clone())),
            Value::Array(all) if all.is_empty() => {}
            other => drop(self.0.insert(place.to_owned(), other.to_string())),
        }
    }
}
