//! Reads the files of a folder in which servers are searched.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Largest number of Python files that are read.
const MOST_FILES: usize = 2_000;

/// Largest size of all Python files that are read, in bytes.
const LARGEST_SUM: usize = 64 << 20;

/// Largest size of a file that is read, in bytes.
const LARGEST: u64 = 1 << 20;

/// Largest number of folders above a file: `src` and two levels of packages, with one to spare.
const DEEPEST: usize = 4;

/// Folders without servers of the project's own.
const SKIPPED: [&str; 9] = [
    "node_modules",
    "site-packages",
    "tests",
    "test",
    "migrations",
    "__pycache__",
    "build",
    "dist",
    "vendor",
];

/// A folder, and the Python files in it.
pub(super) struct Folder {
    root: PathBuf,
    /// Python files, sorted, those of upper folders first.
    pub(super) sources: Vec<Source>,
}

/// A Python file.
pub(super) struct Source {
    /// Path in the folder.
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Folder {
    /// Reads the Python files of the folder. Leaves out environments, tests, packages of others, and hidden
    /// files and folders.
    pub(super) fn read(root: &Path) -> Self {
        let (mut sources, mut sum) = (Vec::new(), 0);
        let mut folders = VecDeque::from([PathBuf::new()]);
        while let Some(inside) = folders.pop_front() {
            let (files, inner) = entries(root, &inside);
            folders.extend(inner);
            for path in files {
                if sources.len() == MOST_FILES || sum >= LARGEST_SUM {
                    return Self { root: root.to_owned(), sources };
                }
                if let Some(text) = small_text(&root.join(&path)) {
                    sum += text.len();
                    sources.push(Source { path, text });
                }
            }
        }
        Self { root: root.to_owned(), sources }
    }

    /// Returns the path of the folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the text of a file; `None` if it is missing, large, or no text.
    pub(super) fn text(&self, inside: impl AsRef<Path>) -> Option<String> {
        small_text(&self.root.join(inside))
    }

    /// Returns the names of the folders in a folder, sorted, without hidden ones.
    pub(super) fn folders(&self, inside: &str) -> Vec<String> {
        let (names, _) = self.names(inside);
        names
    }

    /// Returns the paths of the files in a folder whose names have this extension, sorted.
    pub(super) fn files(&self, inside: &str, extension: &str) -> Vec<PathBuf> {
        let (_, names) = self.names(inside);
        let paths = names.into_iter().map(|name| Path::new(inside).join(name));
        paths.filter(|path| path.extension().is_some_and(|it| it == extension)).collect()
    }

    /// Returns the names of the folders and of the files in a folder.
    fn names(&self, inside: &str) -> (Vec<String>, Vec<String>) {
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(self.root.join(inside)).into_iter().flatten().flatten() {
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else {
                continue;
            };
            match name {
                name if name.starts_with('.') => {}
                name if kind.is_dir() => folders.push(name),
                name => files.push(name),
            }
        }
        folders.sort();
        files.sort();
        (folders, files)
    }

    /// Returns whether the folder has this file or folder.
    pub(super) fn has(&self, inside: impl AsRef<Path>) -> bool {
        self.root.join(inside).exists()
    }
}

/// Returns the Python files and the folders in a folder, sorted.
fn entries(root: &Path, inside: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(root.join(inside)).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), inside.join(entry.file_name()));
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        // A link is not followed: it may lead upwards.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let is_environment = root.join(&path).join("pyvenv.cfg").exists();
            let is_deep = path.components().count() > DEEPEST;
            if !is_environment && !is_deep && !SKIPPED.contains(&name) {
                folders.push(path);
            }
        } else if path.extension().is_some_and(|it| it == "py") && !is_test(name) {
            files.push(path);
        }
    }
    files.sort();
    folders.sort();
    (files, folders)
}

fn is_test(name: &str) -> bool {
    name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py"
}

fn small_text(path: &Path) -> Option<String> {
    let is_small = path.metadata().is_ok_and(|it| it.is_file() && it.len() <= LARGEST);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}
