//! Finds files of other users that would change what runs in a folder.

use std::path::{Path, PathBuf};

/// Files and folders that tools search for in the folders above theirs.
const SEARCHED: [&str; 24] = [
    ".cargo",
    ".envrc",
    ".mvn",
    ".npmrc",
    ".python-version",
    ".tool-versions",
    ".yarnrc",
    ".yarnrc.yml",
    "Cargo.toml",
    "Directory.Build.props",
    "Gemfile",
    "bunfig.toml",
    "deno.json",
    "global.json",
    "go.mod",
    "go.work",
    "mise.toml",
    "node_modules",
    "package.json",
    "pnpm-workspace.yaml",
    "pyproject.toml",
    "rust-toolchain.toml",
    "tsconfig.json",
    "uv.toml",
];

/// Returns a file that `is_trusted` refuses, among those that tools search for, in `folder` or above.
pub fn foreign_above(folder: &Path, is_trusted: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut all = folder.ancestors().flat_map(|above| SEARCHED.map(|name| above.join(name)));
    all.find(|path| path.symlink_metadata().is_ok() && !is_trusted(path))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_others_above_the_folder_are_found() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let folder = place.join("mine/cache");
        fs::create_dir_all(&folder).unwrap();
        fs::write(place.join("go.work"), "").unwrap();
        fs::write(place.join("anything"), "").unwrap();
        std::os::unix::fs::symlink("nowhere", place.join("mine/node_modules")).unwrap();
        let found = |trusted: &[&str]| {
            let is_trusted = |path: &Path| {
                !path.starts_with(&place) || trusted.iter().any(|it| path.ends_with(it))
            };
            foreign_above(&folder, is_trusted)
        };
        assert_eq!(found(&["node_modules"]), Some(place.join("go.work")));
        assert_eq!(found(&["go.work"]), Some(place.join("mine/node_modules")));
        assert_eq!(found(&["go.work", "node_modules"]), None);
    }
}
