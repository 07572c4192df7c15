//! Programs that can start a server: those of the Python environment, and those that the project requires.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::folder::Folder;

/// Files that name the packages of a project.
const LISTS: [&str; 7] =
    ["pyproject.toml", "Pipfile", "uv.lock", "poetry.lock", "pdm.lock", "setup.cfg", "setup.py"];

/// Usual names of environments in a project, besides `.venv`.
const OTHERS: [&str; 3] = ["venv", "env", "virtualenv"];

/// The Python environment of a project, and the packages that it requires.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// Folders with programs: that of the environment, or else those of the PATH.
    bins: Vec<PathBuf>,
    /// Beginning of the path of each program, if loadgen does not find the environment by itself.
    prefix: String,
    /// Text of all lists of packages, in lower case, with spaces between words.
    packages: String,
}

impl Environment {
    /// Finds the environment: the active one, or one in the folder. Without any, programs are those on the PATH.
    pub(super) fn of(folder: &Folder) -> Self {
        let active = env::var_os("VIRTUAL_ENV").filter(|name| !name.is_empty());
        Self::found(folder, active.map(PathBuf::from))
    }

    /// Finds the environment if this one is active.
    pub(super) fn found(folder: &Folder, active: Option<PathBuf>) -> Self {
        let packages = packages(folder);
        let own = folder.root().join(".venv");
        if let Some(venv) = active.or_else(|| own.join("bin").is_dir().then_some(own)) {
            return Self { bins: vec![venv.join("bin")], prefix: String::new(), packages };
        }
        if let Some(inside) = elsewhere(folder) {
            let prefix = format!("{}/bin/", inside.display());
            return Self { bins: vec![folder.root().join(inside).join("bin")], prefix, packages };
        }
        let path = env::var_os("PATH").unwrap_or_default();
        Self { bins: env::split_paths(&path).collect(), prefix: String::new(), packages }
    }

    /// Returns whether the environment has a program.
    pub(super) fn has(&self, program: &str) -> bool {
        self.bins.iter().any(|bin| bin.join(program).is_file())
    }

    /// Returns whether the project requires a package.
    pub(super) fn requires(&self, package: &str) -> bool {
        self.packages.split(' ').any(|word| word == package)
    }

    /// Returns the first of these programs that exists and is required, or else that exists, or else that is
    /// required, or else the first one.
    pub(super) fn best<'a>(&self, programs: &[&'a str]) -> &'a str {
        let package = |program: &str| program.trim_end_matches("-serve").to_owned();
        let rank = |program: &&&str| match (self.has(program), self.requires(&package(program))) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        programs.iter().min_by_key(rank).copied().unwrap_or_default()
    }

    /// Returns the word of a command that names a program of the environment.
    pub(super) fn word(&self, program: &str) -> String {
        match self.has(program) {
            true => format!("{}{program}", self.prefix),
            // Some systems have no `python` outside environments.
            false if program == "python" && self.has("python3") => {
                format!("{}python3", self.prefix)
            }
            false => program.to_owned(),
        }
    }

    /// Returns the environment whose programs are in the folder `bin`.
    #[cfg(test)]
    pub(super) fn of_programs(folder: &Folder, bin: PathBuf) -> Self {
        Self { bins: vec![bin], prefix: String::new(), packages: packages(folder) }
    }
}

/// Returns the environment that loadgen does not find by itself: one of another name, or one in a folder with Python
/// files, such as that of a backend.
fn elsewhere(folder: &Folder) -> Option<PathBuf> {
    let inner = folder.sources.iter().filter_map(|source| source.path.iter().next());
    let inner = inner.map(|first| Path::new(first).join(".venv"));
    let mut all = OTHERS.iter().map(PathBuf::from).chain(inner);
    all.find(|path| folder.has(path.join("pyvenv.cfg")))
}

/// Returns the words of the files that list packages.
fn packages(folder: &Folder) -> String {
    let mut all: Vec<PathBuf> = LISTS.iter().map(PathBuf::from).collect();
    for place in ["", "requirements"] {
        let names = fs::read_dir(folder.root().join(place)).into_iter().flatten().flatten();
        let names = names.map(|entry| PathBuf::from(place).join(entry.file_name()));
        all.extend(names.filter(|path| {
            let text = path.to_string_lossy();
            text.starts_with("requirements") && path.extension().is_some_and(|it| it == "txt")
        }));
    }
    let texts: Vec<String> = all.iter().filter_map(|path| folder.text(path)).collect();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    texts.join("\n").to_lowercase().replace(|c| !is_part(c), " ")
}
