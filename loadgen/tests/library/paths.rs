//! Checks that the source files named in documents exist.

use std::fs;
use std::path::PathBuf;

use regex::Regex;

use crate::sources::{files, package, source_folders};

const DOCUMENTS: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "docs", "compose/README.md", "loadgen/src/lib.rs"];

#[test]
fn a_source_file_that_a_document_names_exists() {
    let root = package().parent().unwrap();
    let ours = source_folders().into_iter().map(|(_, folder)| folder);
    let others = ["tests", "examples", "engine/examples", "cluster/examples"].map(str::to_owned);
    let folders = ours.chain(others).map(|name| package().join(name));
    let sources: Vec<PathBuf> = folders.flat_map(|folder| files(&folder, "rs")).collect();
    let name = Regex::new(r"`([\w./-]+\.rs)`").unwrap();
    let mut seen = 0;
    for document in DOCUMENTS.iter().flat_map(|name| files(&root.join(name), "md")) {
        let text = fs::read_to_string(&document).unwrap();
        for (_, [named]) in name.captures_iter(&text).map(|found| found.extract()) {
            let is_there = sources.iter().any(|source| source.ends_with(named));
            assert!(is_there, "{}: there is no {named}", document.display());
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}
