//! Finds and reads the files that other tests check.

use std::fs;
use std::path::{Path, PathBuf};

/// Source folders of the two crates, relative to the package's folder.
const SOURCES: [&str; 2] = ["src", "core/src"];

/// Returns the folder of the package `loadgen`.
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the files in the folder `path` and its subfolders whose extension is `end`, or `path`
/// itself if it is a file.
pub fn files(path: &Path, end: &str) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let inside = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let wanted =
        inside.filter(|path| path.is_dir() || path.extension().is_some_and(|it| it == end));
    wanted.flat_map(|path| files(&path, end)).collect()
}

/// Returns the source files of both crates: the path of each below its crate's `src`, and its text.
pub fn sources() -> Vec<(String, String)> {
    let roots = SOURCES.map(|folder| package().join(folder));
    let read = |root: &Path, path: &Path| {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        (name, fs::read_to_string(path).unwrap())
    };
    let all: Vec<_> = roots
        .iter()
        .flat_map(|root| files(root, "rs").into_iter().map(move |path| read(root, &path)))
        .collect();
    assert!(all.len() > 100, "the sources are where this test looks for them");
    all
}

/// Returns the lines of a source file without its comments and its tests, each with its number,
/// counted from 0.
pub fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let before_tests = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(text);
    before_tests.lines().map(|line| line.split("//").next().unwrap_or(line)).enumerate()
}
