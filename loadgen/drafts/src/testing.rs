//! Helpers of the tests of all sources.

use std::fs;

use loadgen_scenario::{load, parse};

use crate::Draft;

/// Returns the text of a draft, which must be a scenario.
#[track_caller]
pub(crate) fn checked(draft: &Draft) -> String {
    let text = draft.text();
    if let Err(error) = parse("draft", "draft.toml", &text) {
        panic!("{text}\n{error:?}");
    }
    text
}

/// Returns the text of a draft with files of rows, which must be a scenario beside these files.
#[track_caller]
pub(crate) fn checked_with_rows(draft: &Draft) -> String {
    let folder = tempfile::tempdir().unwrap();
    for file in &draft.rows {
        fs::write(folder.path().join(&file.file_name), file.csv()).unwrap();
    }
    let (path, text) = (folder.path().join("draft.toml"), draft.text());
    fs::write(&path, &text).unwrap();
    if let Err(error) = load(&path) {
        panic!("{text}\n{error:?}");
    }
    text
}
