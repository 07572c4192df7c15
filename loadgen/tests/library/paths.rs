//! Checks that the source files named in documents exist.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

const DOCUMENTS: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "docs", "compose/README.md", "loadgen/src/lib.rs"];

fn files(path: &Path, end: &str) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let inside = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let wanted =
        inside.filter(|path| path.is_dir() || path.extension().is_some_and(|it| it == end));
    wanted.flat_map(|path| files(&path, end)).collect()
}

#[test]
fn a_source_file_that_a_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = ["src", "core/src", "tests", "benches", "examples"]
        .map(|name| root.join("loadgen").join(name));
    let sources: Vec<PathBuf> = folders.iter().flat_map(|folder| files(folder, "rs")).collect();
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
