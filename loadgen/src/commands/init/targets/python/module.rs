//! Names of modules, and the folder from which Python imports them.

use std::path::{Component, Path, PathBuf};

use super::source::Code;
use crate::commands::init::targets::folder::Folder;

/// A module, as a server is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Module {
    /// Name with dots, from `base`.
    pub(super) name: String,
    /// Folder from which it is imported; empty for the folder of the project.
    pub(super) base: String,
}

impl Module {
    /// Returns the module of a file. It is imported from the folder of the project, except below `src/`, and where
    /// its own imports begin in a folder below.
    pub(super) fn of(file: &Path, code: &Code, folder: &Folder) -> Self {
        let parent = file.parent().unwrap_or(Path::new(""));
        let mut bases = parent.ancestors().filter(|base| !base.as_os_str().is_empty());
        // Names that the file imports are beside it or in a folder above, but not in the project's folder.
        let base = bases.find(|base| is_base(base, code, folder));
        let base = base.map(Path::to_owned).unwrap_or_default();
        let inner = file.strip_prefix(&base).unwrap_or(file).with_extension("");
        let inner = match inner.file_name().is_some_and(|name| name == "__init__") {
            true => inner.parent().map(Path::to_owned).unwrap_or_default(),
            false => inner,
        };
        Self { name: dotted(&inner), base: base.to_string_lossy().into_owned() }
    }
}

fn is_base(base: &Path, code: &Code, folder: &Folder) -> bool {
    if folder.has(base.join("__init__.py")) {
        return false;
    }
    let is_src = base.file_name().is_some_and(|name| name == "src");
    let inner = folder.sources.iter().filter_map(|source| source.path.strip_prefix(base).ok());
    let mut names = inner.filter_map(first_name);
    is_src || names.any(|name| !is_at_root(&name, folder) && code.imports(&name))
}

/// Returns the first name of a path, without its extension.
fn first_name(path: &Path) -> Option<String> {
    let Some(Component::Normal(first)) = path.components().next() else { return None };
    Path::new(first).file_stem().map(|name| name.to_string_lossy().into_owned())
}

fn is_at_root(name: &str, folder: &Folder) -> bool {
    folder.has(name) || folder.has(format!("{name}.py"))
}

/// Returns the path with dots instead of slashes.
pub(super) fn dotted(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    parts.join(".")
}

/// Returns the path of the module of this name, without an extension.
pub(super) fn path_of(module: &str) -> PathBuf {
    module.split('.').collect()
}
