//! Finds and reads the files that other tests check.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates beside the program's own, each in a folder of its name.
pub const CRATES: [&str; 7] =
    ["analysis", "cluster", "drafts", "engine", "measure", "scenario", "text"];

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

/// Returns the source folders of all crates, relative to the package's folder, each after the name
/// of its crate. The program's own crate has no name here.
pub fn source_folders() -> Vec<(&'static str, String)> {
    let others = CRATES.map(|name| (name, format!("{name}/src")));
    [("", "src".to_owned())].into_iter().chain(others).collect()
}

/// Returns the source files of all crates: the path of each below its crate's `src`, after the
/// crate's name, such as `engine/gate.rs`, and its text.
pub fn sources() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, folder) in source_folders() {
        let root = package().join(folder);
        for path in files(&root, "rs") {
            let inside = Path::new(name).join(path.strip_prefix(&root).unwrap());
            all.push((inside.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
    assert!(all.len() > 100, "the sources are where this test looks for them");
    all
}

/// Returns the lines of a source file without its comments and its tests, each with its number,
/// counted from 0.
pub fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let before_tests = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(text);
    before_tests.lines().map(|line| line.split("//").next().unwrap_or(line)).enumerate()
}
