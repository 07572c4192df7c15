//! Reads the versions of installed packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Returns the installed versions of these Python packages, under the names in `packages`. Omits
/// packages that are not installed.
pub(in crate::lab) fn versions_in(
    site_packages: &Path,
    packages: &[String],
) -> BTreeMap<String, String> {
    let installed: BTreeMap<String, String> = fs::read_dir(site_packages)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let folder = entry.ok()?.path();
            folder.extension().filter(|kind| *kind == "dist-info")?;
            let metadata = fs::read_to_string(folder.join("METADATA")).ok()?;
            let field = |name: &str| {
                let header = metadata.lines().take_while(|line| !line.is_empty());
                header.filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name)
            };
            Some((normalized(field("Name")?.1), field("Version")?.1.to_owned()))
        })
        .collect();
    let version =
        |package: &String| Some((package.clone(), installed.get(&normalized(package))?.clone()));
    packages.iter().filter_map(version).collect()
}

/// Normalizes the name of a Python package, so that all spellings of the name become equal (PEP
/// 503).
pub(in crate::lab) fn normalized(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}
