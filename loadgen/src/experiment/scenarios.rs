//! Finds scenarios by name or path.

use std::io;
use std::path::{Path, PathBuf};

use crate::failure::{Exit, Failure};
use crate::lab::Home;
use crate::scenario::{self, Scenario, process_environment, read_text};

/// Largest scenario whose text is shown, in bytes.
const LARGEST: u64 = 16 << 20;

/// Loads a scenario by path if `named` ends in `.toml` or contains a `/`, otherwise by name from
/// the project's folder `scenarios/`.
pub fn find(named: &str) -> Result<Scenario, Failure> {
    scenario::load(&path(named)?).map_err(Failure::with(Exit::Usage))
}

/// Like [`find`], but loads the scenario for a run, with values of environment variables filled in.
/// `-` reads the scenario from standard input.
pub fn find_to_run(named: &str) -> Result<Scenario, Failure> {
    if named == "-" {
        let text = io::read_to_string(io::stdin()).map_err(|e| {
            let message = format!("cannot read the scenario from standard input: {e}");
            let help = "pipe a file to loadgen, or name the file";
            Failure::message(Exit::Usage, "unreadable_scenario", message, help)
        })?;
        let read = scenario::parse_to_run("stdin", "standard input", &text, &process_environment);
        return read.map_err(Failure::with(Exit::Usage));
    }
    let path = path(named)?;
    scenario::load_to_run(&path, &process_environment).map_err(Failure::with(Exit::Usage))
}

/// Returns path and text of the file that `named` means; nothing for standard input, for a pipe, which is
/// read only once, and for a file that cannot be read any more.
pub fn text(named: &str) -> Option<(PathBuf, String)> {
    let path = if named == "-" { None } else { path(named).ok() }?;
    let text = read_text(LARGEST, &path).ok()?;
    Some((path, text))
}

/// Returns the path of the scenario that `named` means: see [`find`].
pub(super) fn path(named: &str) -> Result<PathBuf, Failure> {
    if named.ends_with(".toml") || named.contains('/') {
        Ok(PathBuf::from(named))
    } else {
        by_name(&all()?, named).map_err(|help| {
            let message = format!("unknown scenario \"{named}\"");
            Failure::message(Exit::Usage, "unknown_scenario", message, &help)
        })
    }
}

/// Returns the paths of all scenarios of the project, sorted by name.
pub fn all() -> Result<Vec<PathBuf>, Failure> {
    let home = Home::find()?;
    Ok(paths(&home.root().join("scenarios")))
}

/// Returns the name of the scenario at this path: the file name without its extension.
pub fn name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns the path of the file called `named` among these files. The error is advice for a user who
/// gave a name that no file has.
pub(super) fn by_name(paths: &[PathBuf], named: &str) -> Result<PathBuf, String> {
    if let Some(path) = paths.iter().find(|path| name(path) == named) {
        return Ok(path.clone());
    }
    let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
    Err(match scenario::nearest(named, names.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None if names.is_empty() => "name the path of a TOML file".to_owned(),
        None => format!("name one of {}, or the path of a TOML file", names.join(", ")),
    })
}

/// Returns the paths of the TOML files in a folder, sorted; none if there is no such folder.
pub(super) fn paths(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_have_a_text() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("a.toml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        // Reading the pipe would wait for a writer.
        assert_eq!(text(&pipe.to_string_lossy()), None);
        let file = folder.path().join("b.toml");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(text(&file.to_string_lossy()), Some((file, "x".to_owned())));
    }
}
