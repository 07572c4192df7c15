//! Finds the Python environment in which pip installed this program together with the targets.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

use super::packages::versions_in;

/// The only key of a target that matters here.
#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    packages: Vec<String>,
}

/// Returns the Python environment that contains `program`, if pip installed loadgen there, and all
/// packages of at least one target in the text `manifest` of `targets.toml`.
pub(super) fn environment_of(program: &Path, manifest: &str) -> Option<PathBuf> {
    let environment = program.parent()?.parent()?;
    let site_packages = site_packages(environment).ok()??;
    let has_all =
        |packages: &[String]| versions_in(&site_packages, packages).len() == packages.len();
    if !has_all(&["loadgen".to_owned()]) {
        return None;
    }
    let targets: toml::Table = toml::from_str(manifest).ok()?;
    let entries = targets.into_iter().filter_map(|(_, target)| target.try_into::<Entry>().ok());
    let mut with_packages = entries.filter(|entry| !entry.packages.is_empty());
    with_packages.any(|entry| has_all(&entry.packages)).then(|| environment.to_owned())
}

/// Returns the folder of the packages in a Python environment; `None` if the folder contains no Python
/// environment.
pub(in crate::lab) fn site_packages(environment: &Path) -> io::Result<Option<PathBuf>> {
    let library = fs::read_dir(environment.join("lib"))?;
    let folders = library.filter_map(|entry| Some(entry.ok()?.path().join("site-packages")));
    Ok(folders.into_iter().find(|folder| folder.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "\
        [proxy]\ncommand = [\"proxy\"]\n\
        [sanic]\npackages = [\"sanic\", \"uvloop\"]\n\
        [flask]\npackages = [\"flask\"]\n";

    /// Returns whether an environment with these packages, and no others, is found.
    fn is_found(packages: &[&str]) -> bool {
        let place = tempfile::tempdir().unwrap();
        for package in packages {
            let folder = place.path().join("lib/python3.12/site-packages");
            let folder = folder.join(format!("{package}-1.0.dist-info"));
            fs::create_dir_all(&folder).unwrap();
            let metadata = format!("Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n");
            fs::write(folder.join("METADATA"), metadata).unwrap();
        }
        let found = environment_of(&place.path().join("bin/loadgen"), MANIFEST);
        assert!(found.as_ref().is_none_or(|found| found == place.path()), "{found:?}");
        found.is_some()
    }

    #[test]
    fn the_environment_needs_loadgen_and_all_packages_of_a_target() {
        assert!(!is_found(&[]));
        assert!(!is_found(&["loadgen"]));
        assert!(!is_found(&["loadgen", "sanic"]));
        assert!(!is_found(&["sanic", "uvloop"]));
        assert!(is_found(&["loadgen", "sanic", "uvloop"]));
        assert!(is_found(&["Loadgen", "flask"]));
    }
}
