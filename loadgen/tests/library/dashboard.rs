//! The dashboard for Grafana asks only for what loadgen tells.

use std::collections::BTreeSet;

use loadgen::report::telemetry::metrics::{COMMON, Kind, all, in_prometheus};
use serde_json::Value;

const DASHBOARD: &str = include_str!("../../../docs/dashboards/loadgen.json");

#[test]
fn every_name_in_the_dashboard_is_told() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    let variables = dashboard["templating"]["list"].as_array().unwrap().iter();
    let asked = variables.filter_map(|variable| variable["query"]["query"].as_str());
    let mut known: BTreeSet<String> = COMMON.map(in_prometheus).into();
    for metric in all() {
        let name = metric.name_in_prometheus();
        if metric.kind == Kind::Histogram {
            known.extend(["count", "sum", "bucket"].map(|of| format!("{name}_{of}")));
        }
        known.insert(name);
        known.extend(metric.attributes.iter().map(|name| in_prometheus(name)));
    }
    let names: BTreeSet<&str> = queries
        .iter()
        .copied()
        .chain(asked)
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .filter(|word| word.contains('_') && !word.starts_with("__"))
        .filter(|word| !["histogram_quantile", "histogram_count", "label_values"].contains(word))
        .collect();
    let unknown: Vec<&&str> = names.iter().filter(|name| !known.contains(**name)).collect();
    assert!(names.len() > 10 && unknown.is_empty(), "{unknown:?} of {names:?}");
}
