//! Checks that the reference of the result document names each field of the documents.

use std::collections::BTreeSet;
use std::fs;

use regex::Regex;

use crate::sources::{files, package};

/// Folders with snapshots of documents' shapes: in each line the path of a field, such as
/// `.load.rounds`.
const SNAPSHOTS: [&str; 2] = ["tests/program/snapshots", "tests/measured/snapshots"];

/// Names in the shapes that are not fields: the steps of their scenarios.
const STEPS: [&str; 2] = ["hello", "serial"];

/// Sources of the documents' types. A shape lacks the fields of objects that are `null` or empty.
const TYPES: [&str; 6] = [
    "analysis/src/record",
    "measure/src/body_sizes.rs",
    "measure/src/connections.rs",
    "measure/src/resources.rs",
    "measure/src/seconds.rs",
    "measure/src/summary.rs",
];

/// Returns the fields in all shapes. Other keys, such as a version of HTTP or the number of a
/// processor, do not have the form of a field's name.
fn in_shapes() -> BTreeSet<String> {
    let name = Regex::new("^[a-z][a-z0-9_]*$").unwrap();
    let (mut names, mut shapes) = (BTreeSet::new(), 0);
    for file in SNAPSHOTS.iter().flat_map(|folder| files(&package().join(folder), "snap")) {
        let text = fs::read_to_string(file).unwrap();
        // Each snapshot begins with a header between two lines of dashes.
        let mut parts = text.splitn(3, "---\n").skip(1);
        let (header, paths) = (parts.next().unwrap(), parts.next().unwrap());
        if !header.contains("expression: \"shape") {
            continue;
        }
        shapes += 1;
        let keys = paths.split(['.', '\n']).map(|key| key.trim_end_matches("[]"));
        let fields = keys.filter(|key| name.is_match(key) && !STEPS.contains(key));
        names.extend(fields.map(str::to_owned));
    }
    assert!(shapes >= 3, "a run, a comparison and a capacity search have shapes, not {shapes}");
    names
}

/// Returns the fields of the documents' types. A flattened field has no name in a document.
fn in_types() -> BTreeSet<String> {
    let field = Regex::new(r"(?m)^\s+(#\[serde\(flatten\)\]\s+)?pub (\w+): ").unwrap();
    let mut names = BTreeSet::new();
    for source in TYPES.iter().flat_map(|path| files(&package().join(path), "rs")) {
        let text = fs::read_to_string(source).unwrap();
        let fields = field.captures_iter(&text).filter(|found| found.get(1).is_none());
        names.extend(fields.map(|found| found[2].to_owned()));
    }
    names
}

#[test]
fn the_reference_names_each_field_of_the_documents() {
    let page = package().join("../docs/reference/result-document.md");
    let page = fs::read_to_string(page).unwrap();
    for names in [in_shapes(), in_types()] {
        assert!(names.len() >= 100, "{names:?}");
        let missing: Vec<&String> =
            names.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "the reference lacks {missing:?}");
    }
}
