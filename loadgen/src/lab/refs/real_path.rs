//! Follows the links in a path.

use std::path::{Path, PathBuf};

/// Returns the path without links, as far as it exists.
pub fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| {
        let mut found = above.canonicalize().ok()?;
        found.extend(path.strip_prefix(above).ok()?);
        Some(found)
    });
    found.unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_that_is_partly_missing_has_no_links_either() {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
        fs::create_dir(top.join("folder")).unwrap();
        symlink("folder", top.join("link")).unwrap();
        assert_eq!(real(&top.join("link/a/b")), top.join("folder/a/b"));
        assert_eq!(real(&top.join("link")), top.join("folder"));
    }
}
