//! What differs between runs besides what was measured.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::record::RunRecord;

/// Something that is not the same in all runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unlike {
    /// Its place in the record: `environment.kernel`.
    pub what: String,
    /// What it is in each run, in their order; `None` where a run doesn't tell.
    pub values: Vec<Option<String>>,
}

impl Unlike {
    /// Between these runs: their scenarios and steps, environments and loads, and what their targets are.
    #[must_use]
    pub fn between(runs: &[(String, RunRecord)]) -> Vec<Self> {
        let all: Vec<BTreeMap<String, String>> = runs.iter().map(|(_, run)| leaves(run)).collect();
        let places: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        let unlike = places.into_iter().map(|place| Self {
            what: place.clone(),
            values: all.iter().map(|run| run.get(place).cloned()).collect(),
        });
        unlike.filter(|it| it.values.iter().any(|value| *value != it.values[0])).collect()
    }
}

/// All that should be the same, by its place.
fn leaves(run: &RunRecord) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut add = |place: &str, value: serde_json::Result<Value>| {
        // Records of ours are all valid JSON.
        collect(place, &value.unwrap_or_default(), &mut out);
    };
    add("scenario", serde_json::to_value(&run.scenario));
    add("environment", serde_json::to_value(&run.environment));
    add("load", serde_json::to_value(&run.load));
    for target in &run.targets {
        add(&target.name, serde_json::to_value(&target.server));
    }
    let steps: BTreeSet<&str> =
        run.targets.iter().flat_map(|t| t.steps.iter().map(|step| step.name.as_str())).collect();
    add("steps", serde_json::to_value(steps));
    out
}

fn collect(place: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            map.iter().for_each(|(key, inner)| collect(&format!("{place}.{key}"), inner, out));
        }
        Value::String(text) => drop(out.insert(place.to_owned(), text.clone())),
        Value::Array(all) if all.is_empty() => {}
        other => drop(out.insert(place.to_owned(), other.to_string())),
    }
}
